"""Functions that read one triangle: exact however the matrix was built, in every mode and order.

What they give depends on the named triangle alone, and so must derivatives with respect to whatever filled
it: those of a symmetric matrix, of a triangle beside zeros or other numbers, and of a mixture are the same.
"""

import numpy as np
import pytest

import lindiff as ld
import lindiff.scipy.linalg as la
from lindiff.linalg._one_triangle import onto_unpaired, unpaired, unpaired_by_formula
from lindiff.scipy import stats
from lindiff.scipy.linalg._arguments import SCIPY


def adjoint(X):
    return np.conjugate(np.swapaxes(X, -1, -2))


def projected(V):
    """What does not depend on the phases of the columns of V."""
    return (V * np.arange(1.0, V.shape[-1] + 1)) @ adjoint(V)


def eigh_of(function, **options):
    def invariants(A):
        w, V = function(A, **options)
        return w, projected(V)

    return invariants


def svd_of(A):
    U, s, Vh = np.linalg.svd(A, hermitian=True)
    return projected(U), s, U @ Vh


def syevd_of(A):
    U, lam = ld.linalg.syevd(A)
    return projected(adjoint(U)), lam


def on_vector(function):
    return lambda A: function(A, np.arange(1.0, A.shape[-1] + 1))


def ldl_of(lower, hermitian=True):
    def product(A):
        L, d, _ = la.ldl(A, lower=lower, hermitian=hermitian)
        return L, d

    return product


def pencil(**options):
    """As the second of two matrices."""
    return lambda B: la.eigvalsh(np.diag(np.arange(1.0, B.shape[-1] + 1)), B, **options)


K = ld.linalg.cho_factor
E = ld.linalg.eigh_factor
BATCHED = {  # name: (function, whether it reads the lower triangle)
    "cholesky": (np.linalg.cholesky, True),
    "cholesky upper": (lambda A: np.linalg.cholesky(A, upper=True), False),
    "eigh": (eigh_of(np.linalg.eigh), True),
    "eigh U": (eigh_of(np.linalg.eigh, UPLO="U"), False),
    "eigvalsh": (np.linalg.eigvalsh, True),
    "eigvalsh u": (lambda A: np.linalg.eigvalsh(A, "u"), False),
    "svd hermitian": (svd_of, True),
    "pinv hermitian": (lambda A: np.linalg.pinv(A, hermitian=True), True),
    "potrf": (ld.linalg.potrf, True),
    "potrf upper": (lambda A: ld.linalg.potrf(A, lower=False), False),
    "syevd": (syevd_of, True),
    "cho_factor L": (lambda A: K(A).L, True),
    "cho_factor solve": (on_vector(lambda A, b: K(A).solve(b[:, None])), True),
    "cho_factor quad": (on_vector(lambda A, b: K(A).quad(b)), True),
    "cho_factor whiten": (on_vector(lambda A, b: K(A).whiten(b[:, None])), True),
    "cho_factor logdet": (lambda A: K(A).logdet(), True),
    "cho_factor inv": (lambda A: K(A).inv(), True),
    "cho_factor diag_inv": (lambda A: K(A).diag_inv(), True),
    "eigh_factor solve": (on_vector(lambda A, b: E(A).solve(b[:, None], 0.5)), True),
    "eigh_factor logdet": (lambda A: E(A).logdet(0.5), True),
    "eigh_factor quad": (on_vector(lambda A, b: E(A).quad(b, 0.5)), True),
    "scipy cholesky": (lambda A: la.cholesky(A, lower=True), True),
    "scipy cholesky upper": (la.cholesky, False),
    "scipy eigh": (eigh_of(la.eigh), True),
    "scipy eigh upper": (eigh_of(la.eigh, lower=False), False),
    "scipy eigvalsh": (la.eigvalsh, True),
    "scipy eigvalsh of pair": (lambda A: la.eigvalsh(A, np.diag([2.0, 1.0, 3.0])), True),
    "scipy eigvalsh of pair, upper": (lambda A: la.eigvalsh(A, np.diag([2.0, 1.0, 3.0]), lower=False), False),
    "scipy eigvalsh of pencil": (pencil(), True),
    "scipy eigvalsh of pencil, upper": (pencil(lower=False), False),
    "scipy pinvh": (la.pinvh, True),
    "scipy pinvh upper": (lambda A: la.pinvh(A, lower=False), False),
    "scipy ldl": (ldl_of(True), True),
    "scipy ldl upper": (ldl_of(False), False),
} | {
    f"scipy solve {kind} {'lower' if lower else 'upper'}": (
        on_vector(lambda A, b, kind=kind, lower=lower: la.solve(A, b[:, None], assume_a=kind, lower=lower)),
        lower,
    )
    for kind in ("pos", "sym", "her")
    for lower in (True, False)
}
if SCIPY >= (1, 17):
    BATCHED |= {
        f"scipy inv {kind} {'lower' if lower else 'upper'}": (
            lambda A, kind=kind, lower=lower: la.inv(A, assume_a=kind, lower=lower),
            lower,
        )
        for kind in ("pos", "sym", "her")
        for lower in (True, False)
    }
REAL = {
    "mvn_logpdf": (on_vector(lambda A, b: ld.linalg.mvn_logpdf(b, 0.0, A)), True),
    "gp_logpdf": (on_vector(lambda A, b: ld.linalg.gp_logpdf(b, A, 0.5)), True),
    "multivariate_normal": (on_vector(lambda A, b: stats.multivariate_normal.logpdf(b, cov=A)), True),
}
SINGLE = {
    "scipy cho_factor": (on_vector(lambda A, b: la.cho_solve(la.cho_factor(A, lower=True), b)), True),
    "scipy cho_factor upper": (on_vector(lambda A, b: la.cho_solve(la.cho_factor(A), b)), False),
    "multivariate_normal entropy": (lambda A: stats.multivariate_normal.entropy(cov=A), True),
}
COMPLEX_ALONE = {
    "scipy ldl symmetric": (ldl_of(True, hermitian=False), True),
    "scipy ldl symmetric upper": (ldl_of(False, hermitian=False), False),
}
SYMMETRIC = {f"scipy {name} sym {side}" for name in ("solve", "inv") for side in ("lower", "upper")}
SYMMETRIC |= {*COMPLEX_ALONE}
ALL = BATCHED | REAL | SINGLE
NOT_COMPLEX = {"syevd", "eigh_factor solve", "eigh_factor logdet", "eigh_factor quad"}


def parameters(rng, n, dtype, batch=()):
    """The entries of one triangle of a positive definite matrix with eigenvalues that are far apart."""
    X = rng.standard_normal((*batch, n, n)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        X = X + 1j * rng.standard_normal((*batch, n, n))
    A = 0.1 * (X @ adjoint(X)) + np.diag(1.0 + np.arange(n) + n / 3)
    i, j = np.tril_indices(n)
    t = A[..., i, j].astype(dtype)
    return np.where(i == j, t.real, t)


def build(t, n, lower, kind, rng, hermitian=True):
    """A matrix with the entries t in its named triangle; what the other holds is the kind of construction."""
    i, j = np.tril_indices(n)
    P = np.zeros((*t.shape[:-1], n, n), t.dtype)
    if type(t) is ld.Variable:
        place = np.zeros((n, n), int)
        place[i, j] = np.arange(len(i))
        P = np.where(np.tri(n, dtype=bool), t[..., place], 0.0)
    else:
        P[..., i, j] = t
    strict = np.tril(P, -1)
    image = adjoint(strict) if hermitian else np.swapaxes(strict, -1, -2)
    if kind == "symmetric":
        beside = image
    else:
        other = np.triu(rng.standard_normal((n, n)), 1)
        beside = {"zeros": 0 * other, "others": other, "mixed": None}[kind]
        if beside is None:
            paired = np.triu(rng.random((n, n)) < 0.5, 1)
            beside = np.where(paired, image, np.where(rng.random((n, n)) < 0.5, other, 0))
    A = P + beside
    if lower:
        return A
    return adjoint(A) if hermitian else np.swapaxes(A, -1, -2)


def summed(tree, seed=5):
    """A real number that every entry of the results counts in."""
    total = 0.0
    for y in tree if isinstance(tree, tuple) else (tree,):
        rng = np.random.default_rng(seed)
        weights = rng.standard_normal(np.shape(y))
        total = total + np.sum(np.real(y) * weights)
        if np.iscomplexobj(ld.value(y)):
            total = total + np.sum(np.imag(y) * rng.standard_normal(np.shape(y)))
    return total


def functions_of(name, function, lower, n, kinds=("symmetric", "zeros", "others", "mixed")):
    for kind in kinds:

        def f(t, kind=kind):
            A = build(t, n, lower, kind, np.random.default_rng(3), name not in SYMMETRIC)
            return summed(function(A))

        yield kind, f


def slope_of(f, t, v, h=1e-5):
    return (f(t + h * v) - f(t - h * v)) / (2 * h)


def inner(x, y):
    return np.sum(np.real(np.conjugate(x) * y))


def cases(groups, complex_too=True):
    found = []
    for name, (function, lower) in groups.items():
        found.append(pytest.param(name, function, lower, float, id=name))
        if complex_too and name not in NOT_COMPLEX and name not in REAL and "multivariate" not in name:
            found.append(pytest.param(name, function, lower, complex, id=f"{name} complex"))
    return found


@pytest.mark.parametrize(
    ("name", "function", "lower", "dtype"),
    [
        *cases(ALL),
        *(pytest.param(name, *reader, complex, id=name) for name, reader in COMPLEX_ALONE.items()),
    ],
)
def test_first_and_second_order(name, function, lower, dtype, rng):
    n = 3
    t, v, u = (parameters(rng, n, dtype) for _ in range(3))
    found = {}
    for kind, f in functions_of(name, function, lower, n):
        np.testing.assert_allclose(ld.jvp(f, (t,), (v,))[1], slope_of(f, t, v), rtol=1e-6, atol=1e-8)
        g = ld.grad(f)
        found[kind] = {
            "reverse": g(t),
            "forward": [ld.jvp(f, (t,), (e,))[1] for e in np.eye(len(t))],
            "forward over reverse": ld.hvp(f, (t,), (v,)),
            "reverse over reverse": ld.grad(lambda t, g=g: inner(g(t), v))(t),
            "reverse over forward": ld.grad(lambda t, f=f: ld.jvp(f, (t,), (v,))[1])(t),
            "forward over forward": ld.jvp(lambda t, f=f: ld.jvp(f, (t,), (v,))[1], (t,), (u,))[1],
        }
    wanted = found["symmetric"]
    np.testing.assert_allclose(np.real(wanted["reverse"]), wanted["forward"], rtol=1e-8, atol=1e-10)
    curvature = wanted["forward over reverse"]
    np.testing.assert_allclose(
        slope_of(lambda t: inner(ld.grad(f)(t), v), t, u), inner(curvature, u), rtol=1e-5, atol=1e-7
    )
    for kind, one in found.items():
        for mode in ("reverse over reverse", "reverse over forward"):
            np.testing.assert_allclose(one[mode], curvature, rtol=1e-8, atol=1e-9, err_msg=f"{kind}, {mode}")
        for mode in one:
            np.testing.assert_allclose(
                one[mode], wanted[mode], rtol=1e-8, atol=1e-9, err_msg=f"{kind}, {mode}"
            )


@pytest.mark.parametrize(
    ("name", "function", "lower", "dtype"),
    cases({name: reader for name, reader in ALL.items() if "pair" not in name}, complex_too=False),
)
def test_large(name, function, lower, dtype, rng):
    """Beyond the order of the loops for small matrices, and of one tile."""
    n = 37
    t = parameters(rng, n, dtype)
    grads = {kind: ld.grad(f)(t) for kind, f in functions_of(name, function, lower, n)}
    scale = np.abs(grads["symmetric"]).max()
    for kind, g in grads.items():
        np.testing.assert_allclose(g, grads["symmetric"], rtol=1e-7, atol=1e-9 * scale, err_msg=kind)


@pytest.mark.parametrize(("name", "function", "lower", "dtype"), cases(BATCHED))
def test_batches(name, function, lower, dtype, rng):
    n = 3
    t = parameters(rng, n, dtype, (2, 2))
    v = parameters(rng, n, dtype, (2, 2))
    functions = dict(functions_of(name, function, lower, n))
    wanted, curvature = ld.grad(functions["symmetric"])(t), ld.hvp(functions["symmetric"], (t,), (v,))
    for kind, f in functions.items():
        np.testing.assert_allclose(ld.grad(f)(t), wanted, rtol=1e-8, atol=1e-10, err_msg=kind)
        np.testing.assert_allclose(ld.hvp(f, (t,), (v,)), curvature, rtol=1e-7, atol=1e-9, err_msg=kind)


@pytest.mark.parametrize(("name", "function", "lower", "dtype"), cases(ALL))
def test_gradients_of_symmetric_arrays_are_symmetric(name, function, lower, dtype, rng):
    hermitian = name not in SYMMETRIC
    A = build(parameters(rng, 3, dtype), 3, True, "symmetric", rng, hermitian)
    g = ld.grad(lambda A: summed(function(A)))(A)
    np.testing.assert_allclose(g, adjoint(g) if hermitian else g.T, rtol=1e-12, atol=1e-14)
    rounded = A * (1 + 1e-14 * np.triu(np.ones((3, 3)), 1))
    np.testing.assert_allclose(
        ld.grad(lambda A: summed(function(A)))(rounded), g, rtol=1e-8, atol=1e-10
    )  # not twice in one triangle


@pytest.mark.parametrize(("name", "function", "lower", "dtype"), cases(ALL))
def test_the_other_triangle_has_no_gradient_where_it_differs(name, function, lower, dtype, rng):
    A = build(parameters(rng, 3, dtype), 3, lower, "others", rng, name not in SYMMETRIC)
    g = ld.grad(lambda A: summed(function(A)))(A)
    assert not np.triu(g if lower else g.T, 1).any()
    A_dot = rng.standard_normal((3, 3))
    A_dot = np.triu(A_dot, 1) if lower else np.tril(A_dot, -1)
    assert ld.jvp(lambda A: summed(function(A)), (A,), (A_dot.astype(A.dtype),))[1] == 0


def test_the_example():
    def f(t):
        return np.linalg.eigvalsh(np.stack([np.stack([t * 0 + 1, t * 0]), np.stack([t, t * 0 + 2])]))[0]

    np.testing.assert_allclose(ld.grad(f)(0.5), -(0.5**0.5), rtol=1e-14)
    below, diagonal = np.array([[0.0, 0.0], [1.0, 0.0]]), np.diag([1.0, 9.0])
    assert ld.grad(lambda t: np.linalg.cholesky(t * below + diagonal)[1, 0])(0.0) == 1


def test_singular_zero_and_not_finite_images():
    nan = np.nan
    A = np.array([[1.0, nan, 0.0], [2.0, 3.0, 1e-300], [0.0, 1e-300, np.inf]])
    np.testing.assert_array_equal(unpaired(A), [[0, 0, 0], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(unpaired(A, lower=False), [[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert unpaired(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert unpaired(np.zeros((0, 0))) is None
    assert unpaired(np.zeros((3, 1, 1))) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (70, 70), (2, 4, 4), (0, 2, 2)], ids=str)
def test_the_kernels_do_what_the_formulas_say(shape, lower, hermitian, dtype, rng):
    X = rng.standard_normal(shape).astype(dtype)
    X = X * dtype(1 + 1j) if X.dtype.kind == "c" else X
    A = np.where(rng.random(shape) < 0.7, X + (adjoint(X) if hermitian else np.swapaxes(X, -1, -2)), X)
    A = np.where(rng.random(shape) < 0.1, 0, A).astype(dtype)
    found = unpaired(A, lower=lower, hermitian=hermitian)
    by_formula = unpaired_by_formula(A, lower, hermitian)
    np.testing.assert_array_equal(np.zeros(shape, bool) if found is None else found, by_formula)
    if found is not None:
        M_bar = X + adjoint(X)
        wanted = onto_unpaired.__wrapped__(M_bar, found)
        given = onto_unpaired(M_bar, found)
        np.testing.assert_array_equal(given, wanted)
        assert given.dtype == wanted.dtype == dtype
        broadcast = onto_unpaired(M_bar + np.zeros((2, *(1,) * len(shape)), dtype), found)
        np.testing.assert_array_equal(broadcast, np.stack([wanted, wanted]))
        onto_unpaired(M_bar, found, overwrite_m_bar=True)
        np.testing.assert_array_equal(M_bar, wanted)


def test_what_a_matrix_is_made_of_may_change(rng):
    """Which entries are paired was seen when the function was called."""
    t = parameters(rng, 3, float)

    def f(t, changed):
        A = build(t, 3, True, "zeros", rng)
        L = np.linalg.cholesky(A)
        if changed:
            A[0, 1] = A[1, 0]
        return summed(L)

    np.testing.assert_array_equal(ld.grad(f)(t, True), ld.grad(f)(t, False))


@pytest.mark.parametrize("n", [12, 40])
def test_symmetric_matrices_in_any_layout(n, rng):
    """What kernels look at is held while they look: a copy, where the matrix does not lie by rows."""
    A = rng.standard_normal((n, n))
    A = A @ A.T + n * np.eye(n)
    A = (A + A.T) / 2
    wide = np.zeros((n, 2 * n))
    wide[:, ::2] = A
    L_bar = rng.standard_normal((n, n))
    expected = ld.vjp(np.linalg.cholesky, A)[1](L_bar)[0]
    for X in (np.asfortranarray(A), wide[:, ::2], np.stack([A, A], 2)[..., 0]):
        for _ in range(5):
            assert unpaired(X, True) is None
            np.testing.assert_allclose(ld.vjp(np.linalg.cholesky, X)[1](L_bar)[0], expected, rtol=1e-12)
