"""``lindiff.scipy.linalg``'s solvers: structure, bad input, and what is factored how often."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from table_operators import in_one_triangle

import lindiff as ld
import lindiff.kernels
from lindiff.scipy.linalg.banded import cho_solve_banded, cholesky_banded, solve_banded, solveh_banded
from lindiff.scipy.linalg.factors import cho_factor, cho_solve, lu_factor, lu_solve
from lindiff.scipy.linalg.least_squares import lstsq, pinv, pinvh
from lindiff.scipy.linalg.solvers import det, inv, norm, solve, solve_triangular
from lindiff.scipy.linalg.special_matrices import block_diag, companion, khatri_rao, leslie, toeplitz
from lindiff.scipy.linalg.toeplitz_systems import matmul_toeplitz, solve_circulant, solve_toeplitz


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def spd(rng, n):
    X = rng.standard_normal((n, n))
    return X @ X.T + n * np.eye(n)


# -- plain arrays --------------------------------------------------------------------------------------------


def test_plain_arrays_get_what_scipy_gives(rng):
    a, b, ab = rng.standard_normal((4, 4)) + 4 * np.eye(4), rng.standard_normal(4), np.ones((3, 4))
    ab[1] = 4
    k = a @ a.T
    calls = [
        (solve, scipy.linalg.solve, (a, b), {"assume_a": "gen"}),
        (solve, scipy.linalg.solve, (k.tolist(), b.tolist()), {"assume_a": "pos", "lower": True}),
        (solve_triangular, scipy.linalg.solve_triangular, (a, b), {"trans": "T", "lower": True}),
        (inv, scipy.linalg.inv, (a,), {}),
        (det, scipy.linalg.det, (a,), {}),
        (norm, scipy.linalg.norm, (a, "fro"), {}),
        (lu_factor, scipy.linalg.lu_factor, (a,), {}),
        (cho_factor, scipy.linalg.cho_factor, (k,), {"lower": True}),
        (lu_solve, scipy.linalg.lu_solve, (scipy.linalg.lu_factor(a), b), {"trans": 1}),
        (cho_solve, scipy.linalg.cho_solve, (scipy.linalg.cho_factor(k), b), {}),
        (solve_banded, scipy.linalg.solve_banded, ((1, 1), ab, b), {}),
        (solveh_banded, scipy.linalg.solveh_banded, (ab[:2], b), {}),
        (cholesky_banded, scipy.linalg.cholesky_banded, (ab[:2],), {}),
        (cho_solve_banded, scipy.linalg.cho_solve_banded, ((ab[:2], False), b), {}),
        (solve_toeplitz, scipy.linalg.solve_toeplitz, (a[0], b), {}),
        (matmul_toeplitz, scipy.linalg.matmul_toeplitz, ((a[0], a[1]), b), {}),
        (solve_circulant, scipy.linalg.solve_circulant, (a[0], b), {}),
        (pinv, scipy.linalg.pinv, (a,), {"return_rank": True}),
        (pinvh, scipy.linalg.pinvh, (k,), {"lower": False}),
        (lstsq, scipy.linalg.lstsq, (a[:, :2], b), {"lapack_driver": "gelsy"}),
    ]
    for ours, theirs, args, options in calls:
        got, expected = ours(*args, **options), theirs(*args, **options)
        if not isinstance(expected, tuple):
            got, expected = (got,), (expected,)
        for part, wanted in zip(got, expected, strict=True):
            if wanted is None:
                assert part is None
            else:
                assert np.result_type(part) == np.result_type(wanted)
                np.testing.assert_array_equal(part, wanted)


def test_batches_of_plain_arrays_are_their_matrices(rng):
    a = rng.standard_normal((2, 3, 3)) + 3 * np.eye(3)
    b = rng.standard_normal((3, 2))
    for function in [
        solve,
        solve_triangular,
        lambda a, b: lu_solve(lu_factor(a), b),
        lambda a, b: lstsq(a, b)[0],
    ]:
        np.testing.assert_allclose(function(a, b), [function(x, b) for x in a], rtol=1e-12)
    for function in [inv, det, pinv, lambda a: cho_factor(a @ a.mT)[0], lambda a: lu_factor(a)[1]]:
        np.testing.assert_allclose(function(a), [function(x) for x in a], rtol=1e-12)
    assert cho_factor(a @ a.mT, lower=True)[1] is True
    assert solve(a[:0], b).shape == (0, 3, 2)
    assert solve_banded((1, 1), a[:0], b).shape == (0, 3, 2)


def test_overwrite_is_for_plain_arrays(rng):
    a, b = np.asfortranarray(spd(rng, 3)), rng.standard_normal(3)
    kept = a.copy()
    for function in [
        lambda a: solve(a, b, assume_a="pos", overwrite_a=True),
        lambda a: cho_factor(a, overwrite_a=True)[0],
        lambda a: lu_factor(a, overwrite_a=True)[0],
        lambda a: inv(a, overwrite_a=True),
        lambda a: det(a, overwrite_a=True),
    ]:
        ld.vjp(function, a)
        np.testing.assert_array_equal(a, kept)


# -- structure -----------------------------------------------------------------------------------------------


STRUCTURED = {
    "lower triangular": lambda X: np.tril(X),
    "upper triangular": lambda X: np.triu(X),
    "diagonal": lambda X: np.tril(np.triu(X)),
    "tridiagonal": lambda X: np.tril(np.triu(X, -1), 1),
    "band": lambda X: np.tril(np.triu(X, -2), 1),
    "symmetric": lambda X: X + X.mT - 8 * np.eye(X.shape[-1]) * (np.arange(X.shape[-1]) % 2),
    "positive definite": lambda X: X @ X.mT,
    "zero corners": lambda X: X * (np.arange(X.shape[-1]) > 0),
}


@pytest.mark.parametrize("n", [3, 24])
@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("structure", STRUCTURED)
def test_structure_found_changes_no_derivative(structure, batch, n, rng):
    X = 0.3 * rng.standard_normal((*batch, n, n)) + 4 * np.eye(n)
    a, b = STRUCTURED[structure](X), rng.standard_normal((n, 2))
    a = a + (structure == "zero corners") * np.eye(n)
    a_dot, b_dot = rng.standard_normal(a.shape), rng.standard_normal(b.shape)
    y, pullback = ld.vjp(solve, a, b)
    expected, reference = ld.vjp(np.linalg.solve, a, b)
    y_bar = rng.standard_normal(y.shape)
    np.testing.assert_allclose(y, expected, rtol=1e-10, atol=1e-12)
    for got, wanted in zip(pullback(y_bar), reference(y_bar), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-11)
    got, wanted = (ld.jvp(f, (a, b), (a_dot, b_dot))[1] for f in (solve, np.linalg.solve))
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("structure", ["sym", "her", "pos"])
def test_only_the_named_triangle_is_read_and_the_gradient_is_symmetric(structure, lower, rng):
    a, b = spd(rng, 4), rng.standard_normal(4)
    half = np.where(np.tri(4, dtype=bool).T if lower else np.tri(4, dtype=bool), np.nan, a) + 0.0
    half[np.arange(4), np.arange(4)] = np.diagonal(a)

    def f(a):
        return np.sum(solve(a, b, assume_a=structure, lower=lower, check_finite=False))

    value, gradient = ld.value_and_grad(f)(half)
    np.testing.assert_allclose(value, np.sum(np.linalg.solve(a, b)), rtol=1e-12)
    expected = ld.grad(lambda a: np.sum(np.linalg.solve(a, b)))(a)
    np.testing.assert_allclose(gradient, in_one_triangle(expected, lower), rtol=1e-10)
    symmetric = ld.grad(f)(a)
    np.testing.assert_allclose(symmetric, 0.5 * (expected + expected.T), rtol=1e-10)


@pytest.mark.parametrize(
    ("function", "options", "mask"),
    [
        (solve, {"assume_a": "upper triangular"}, np.triu),
        (solve, {"assume_a": "lower triangular"}, np.tril),
        (solve, {"assume_a": "diagonal"}, lambda X: np.tril(np.triu(X))),
        (solve, {"assume_a": "tridiagonal"}, lambda X: np.tril(np.triu(X, -1), 1)),
        (solve_triangular, {"lower": True}, np.tril),
        (solve_triangular, {"unit_diagonal": True}, lambda X: np.triu(X, 1)),
    ],
)
def test_what_is_not_read_may_be_nan_and_gets_zero(function, options, mask, rng):
    a, b = rng.standard_normal((4, 4)) + 4 * np.eye(4), rng.standard_normal(4)
    read = mask(np.ones((4, 4))) != 0
    gradient = ld.grad(lambda a: np.sum(function(a, b, check_finite=False, **options)))(
        np.where(read, a, np.nan)
    )
    assert np.all((gradient != 0) == read)


def test_outside_of_a_band_is_not_read_and_gets_zero(rng):
    ab, b = rng.standard_normal((4, 5)), rng.standard_normal(5)
    ab[1] = 5
    ab[0, 0] = ab[2, -1] = ab[3, -2:] = np.nan
    for function, outside in [
        (lambda ab: solve_banded((2, 1), ab, b, check_finite=False), np.isnan(ab)),
        (lambda ab: solveh_banded(ab[1:], b, lower=True, check_finite=False), np.isnan(ab)),
        (lambda ab: cho_solve_banded((ab[1:], True), b, check_finite=False), np.isnan(ab)),
    ]:
        gradient = ld.grad(lambda ab, f=function: np.sum(f(ab)))(ab)
        assert np.all(gradient[outside] == 0)
        assert np.all(np.isfinite(gradient))
    lower = ab[1:].copy()
    factor, pullback = ld.vjp(lambda ab: cholesky_banded(ab, lower=True, check_finite=False), lower)
    np.testing.assert_array_equal(np.isnan(factor), np.isnan(lower))
    (gradient,) = pullback(np.ones_like(lower))
    assert np.all(gradient[np.isnan(lower)] == 0)
    assert np.all(np.isfinite(gradient))


def test_a_wide_band_in_blocks(rng):
    n, w = 70, 3
    ab = 0.5 * rng.standard_normal((w + 1, n))
    ab[0] = 8
    factor, pullback = ld.vjp(lambda ab: cholesky_banded(ab, lower=True), ab)
    np.testing.assert_allclose(factor, scipy.linalg.cholesky_banded(ab, lower=True), rtol=1e-12)
    ab_dot, L_bar = rng.standard_normal(ab.shape), rng.standard_normal(ab.shape)
    for k in range(w):
        ab_dot[k + 1, n - k - 1 :] = L_bar[k + 1, n - k - 1 :] = 0
    h = 1e-5
    ahead, behind = (scipy.linalg.cholesky_banded(ab + t * ab_dot, lower=True) for t in (h, -h))
    difference = np.sum(L_bar * (ahead - behind)) / (2 * h)
    np.testing.assert_allclose(np.sum(pullback(L_bar)[0] * ab_dot), difference, rtol=1e-6)


def test_the_other_triangle_of_cho_factor_is_constant(rng):
    a = spd(rng, 3)
    for lower in [False, True]:
        _, pullback = ld.vjp(lambda a, lower=lower: cho_factor(a, lower)[0], a)
        other = np.triu(np.ones((3, 3)), 1) if lower else np.tril(np.ones((3, 3)), -1)
        np.testing.assert_array_equal(pullback(other)[0], 0)


# -- one factorization ---------------------------------------------------------------------------------------


class Counted:
    """A kernel that counts its calls."""

    def __init__(self, monkeypatch, name):
        self.calls = 0
        self.function = getattr(lindiff.kernels, name)
        monkeypatch.setattr(lindiff.kernels, name, self)

    def __call__(self, *args, **options):
        self.calls += 1
        return self.function(*args, **options)


@pytest.mark.parametrize(("kernel", "structure"), [("getrf", "gen"), ("potrf", "pos"), ("getrf", "sym")])
def test_one_factorization_serves_all_orders_and_right_hand_sides(kernel, structure, monkeypatch, rng):
    a, b = spd(rng, 4), rng.standard_normal(4)
    counted = Counted(monkeypatch, kernel)

    def f(a, b):
        return solve(a, b, assume_a=structure)

    _, pullback = ld.vjp(f, a, b)
    for _ in range(3):
        pullback(b)
    assert counted.calls == 1
    ld.jvp(f, (a, b), (a, b))
    assert counted.calls == 2
    ld.hvp(lambda a: np.sum(f(a, b) ** 2), (a,), (a,))
    assert counted.calls == 3


def test_a_found_triangle_is_not_factored(monkeypatch, rng):
    counted = Counted(monkeypatch, "getrf"), Counted(monkeypatch, "potrf")
    ld.vjp(solve, np.tril(spd(rng, 4)), np.ones(4))
    assert not any(c.calls for c in counted)


def test_one_decomposition_serves_least_squares(monkeypatch, rng):
    calls = []
    svd = np.linalg.svd

    def counting(*args, **options):
        calls.append(args)
        return svd(*args, **options)

    monkeypatch.setattr(np.linalg, "svd", counting)
    a, b = rng.standard_normal((4, 2)), rng.standard_normal(4)
    (x, residues, rank, s), pullback = ld.vjp(lstsq, a, b)
    pullback((x, residues, rank, s))
    assert len(calls) == 1


# -- constant rank -------------------------------------------------------------------------------------------


def differences(f, t=1e-3):
    a, b, c, d = (np.asarray(f(k * t)) for k in (-2, -1, 1, 2))
    return (8 * (c - b) - (d - a)) / (12 * t)


@pytest.mark.parametrize("shape", [(5, 4), (4, 5), (4, 4)])
def test_derivatives_along_paths_of_constant_rank(shape, rng):
    m, n = shape
    left, right = rng.standard_normal((2, m, 2)), rng.standard_normal((2, 2, n))
    b, b_dot = rng.standard_normal((2, m, 3))

    def path(t):
        return (left[0] + t * left[1]) @ (right[0] + t * right[1])

    a, a_dot = path(0.0), left[1] @ right[0] + left[0] @ right[1]
    X, X_dot = ld.jvp(lambda a: pinv(a, rtol=1e-8), (a,), (a_dot,))
    np.testing.assert_allclose(
        X_dot, differences(lambda t: np.linalg.pinv(path(t), rcond=1e-8)), rtol=1e-6, atol=1e-7
    )
    x_dot = ld.jvp(lambda a, b: lstsq(a, b, cond=1e-8)[0], (a, b), (a_dot, b_dot))[1]
    expected = differences(lambda t: np.linalg.pinv(path(t), rcond=1e-8) @ (b + t * b_dot))
    np.testing.assert_allclose(x_dot, expected, rtol=1e-6, atol=1e-7)
    (x, residues, rank, s), pullback = ld.vjp(lambda a, b: lstsq(a, b, cond=1e-8), a, b)
    assert rank == 2
    assert residues.shape == (0,)
    x_bar = rng.standard_normal(x.shape)
    a_bar, b_bar = pullback((x_bar, residues, 0, np.zeros_like(s)))
    product = np.sum(a_bar * a_dot) + np.sum(b_bar * b_dot)
    np.testing.assert_allclose(product, np.sum(x_bar * x_dot), rtol=1e-9)
    assert X.shape == (n, m)


def test_pinvh_along_a_path_of_constant_rank(rng):
    V = rng.standard_normal((2, 4, 2))

    def path(t):
        W = V[0] + t * V[1]
        return W @ np.diag([1.0, -2.0]) @ W.T

    a_dot = differences(path)
    X_dot = ld.jvp(lambda a: pinvh(a, rtol=1e-8), (path(0.0),), (a_dot,))[1]
    np.testing.assert_allclose(
        X_dot, differences(lambda t: scipy.linalg.pinvh(path(t), rtol=1e-8)), rtol=1e-6, atol=1e-6
    )


# -- bad input -----------------------------------------------------------------------------------------------


def of_variables(function, *args, **options):
    """Call with the arrays among the arguments as Variables."""
    return function(*(ld.Variable(x) if isinstance(x, np.ndarray) else x for x in args), **options)


SINGULAR = np.stack([np.eye(2), np.zeros((2, 2))])
SINGULAR_BANDS = np.array([[[1.0, 1.0], [0.0, 0.0]], np.zeros((2, 2))])  # in the lower form


@pytest.mark.parametrize(
    "call",
    [
        *(
            lambda dtype, structure=structure: of_variables(
                solve, SINGULAR.astype(dtype), np.ones(2), assume_a=structure
            )
            for structure in [None, "gen", "pos", "sym", "her", "upper triangular", "diagonal", "banded"]
        ),
        lambda dtype: of_variables(solve_triangular, SINGULAR.astype(dtype), np.ones(2)),
        lambda dtype: of_variables(cho_factor, SINGULAR),
        lambda dtype: cho_solve((ld.Variable(SINGULAR.astype(dtype)), True), np.ones(2)),
        lambda dtype: lu_solve((ld.Variable(SINGULAR.astype(dtype)), np.array([0, 1])), np.ones(2)),
        lambda dtype: of_variables(solve_banded, (1, 0), SINGULAR_BANDS.astype(dtype), np.ones(2)),
        lambda dtype: of_variables(solveh_banded, SINGULAR_BANDS.astype(dtype), np.ones(2), lower=True),
        lambda dtype: cho_solve_banded((ld.Variable(SINGULAR_BANDS.astype(dtype)), True), np.ones(2)),
        lambda dtype: of_variables(cholesky_banded, SINGULAR_BANDS.astype(dtype), lower=True),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_errors_name_the_singular_matrix_of_a_batch(call, dtype):
    with pytest.raises(np.linalg.LinAlgError, match=r"\(1,\)"):
        call(dtype)


def test_inv_of_a_singular_matrix():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        of_variables(inv, SINGULAR)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        of_variables(solve_circulant, np.zeros(2), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        of_variables(solve_toeplitz, np.zeros(2), np.ones(2))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (solve, (np.eye(2), np.ones(2))),
        (solve_triangular, (np.eye(2), np.ones(2))),
        (inv, (np.eye(2),)),
        (det, (np.eye(2),)),
        (norm, (np.ones(2),)),
        (lu_factor, (np.eye(2),)),
        (cho_factor, (np.eye(2),)),
        (pinv, (np.eye(2),)),
        (pinvh, (np.eye(2),)),
        (lstsq, (np.eye(2), np.ones(2))),
        (solve_toeplitz, (np.ones(2), np.ones(2))),
        (solveh_banded, (np.ones((2, 2)), np.ones(2))),
        (cholesky_banded, (np.ones((2, 2)),)),
    ],
)
def test_nan_is_refused_where_scipy_does(function, args):
    for i in range(len(args)):
        bad = [x.copy() for x in args]
        bad[i][..., -1] = np.nan
        with pytest.raises(ValueError, match="infs or NaNs"):
            function(*bad)
        with pytest.raises(ValueError, match="infs or NaNs"):
            of_variables(function, *bad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: of_variables(solve, np.ones((2, 3)), np.ones(2)), r"a must be square.*\(2, 3\)"),
        (lambda: of_variables(solve, np.eye(2), np.ones(3)), r"\(2, 2\) and b of shape \(3,\)"),
        (lambda: of_variables(solve, np.ones((2, 2, 2)), np.ones((3, 2, 1))), "do not fit"),
        (lambda: of_variables(solve, np.eye(2), np.ones(2), assume_a="round"), "round is not a recognized"),
        (lambda: of_variables(solve_triangular, np.ones((2, 3)), np.ones(2)), "a must be square"),
        (lambda: of_variables(solve_triangular, np.eye(2), np.ones(2), trans=3), "trans must be"),
        (lambda: of_variables(inv, np.ones((2, 3))), "a must be square"),
        (lambda: of_variables(det, np.ones(3)), "a must be square"),
        (lambda: of_variables(cho_factor, np.ones((2, 3))), "a must be square"),
        (lambda: cho_solve((ld.Variable(np.eye(2)), True), np.ones(3)), "c of shape"),
        (lambda: lu_solve((ld.Variable(np.eye(2)), np.arange(2)), np.ones(3)), "lu of shape"),
        (lambda: of_variables(solve_banded, (1, 1), np.ones((2, 2)), np.ones(2)), "3 rows"),
        (lambda: of_variables(solve_banded, (1, 0), np.ones((2, 2)), np.ones(3)), "ab of shape"),
        (lambda: of_variables(solve_toeplitz, np.ones(2), np.ones(3)), "do not fit"),
        (lambda: of_variables(solve_circulant, np.ones(2), np.ones(3)), "length 2"),
        (lambda: of_variables(lstsq, np.eye(2), np.ones(3)), "do not fit"),
        (lambda: of_variables(lstsq, np.eye(2), np.ones(2), lapack_driver="none"), "driver"),
        (lambda: of_variables(pinv, np.ones(2)), "two axes"),
        (lambda: of_variables(pinv, np.eye(2), rtol=-1.0), "must be positive"),
        (lambda: of_variables(khatri_rao, np.eye(2), np.eye(3)), "as many columns"),
        (lambda: of_variables(companion, np.array([0.0, 1.0])), "first coefficient"),
        (lambda: of_variables(leslie, np.ones(2), np.ones(2)), "one shorter"),
    ],
)
def test_shapes_and_options_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_complex_transposed_solve_is_refused_as_in_scipy():
    with pytest.raises(NotImplementedError, match=r"solve\(a.T, b\)"):
        of_variables(solve, np.eye(2, dtype=complex), np.ones(2), transposed=True)


@pytest.mark.parametrize("structure", [None, "gen", "pos", "sym", "upper triangular"])
@pytest.mark.parametrize("dtype", [float, complex])
def test_ill_conditioned_matrices_warn(structure, dtype):
    a = np.diag([1.0, 1e-20]).astype(dtype)
    a[0, 1] = 1e-30
    if structure not in (None, "upper triangular"):
        a[1, 0] = 1e-30
    with pytest.warns(scipy.linalg.LinAlgWarning, match="Ill-conditioned") as caught:
        of_variables(solve, a, np.ones(2), assume_a=structure)
    assert caught[0].filename == __file__


def test_well_conditioned_matrices_do_not_warn(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for structure in [None, "gen", "pos", "sym", "her", "tridiagonal"]:
            of_variables(solve, spd(rng, 5), np.ones(5), assume_a=structure)


def test_a_number_is_a_multiple_of_the_identity():
    x, pullback = ld.vjp(solve, np.array([[2.0]]), np.array([2.0, 4.0]))
    np.testing.assert_array_equal(x, [1.0, 2.0])
    np.testing.assert_allclose(pullback(np.ones(2))[0], [[-1.5]])


def test_integers_and_mixed_precision_are_promoted():
    A = ld.Variable(np.eye(2, dtype=np.float32))
    assert solve(A, [1, 2]).dtype == np.float64
    assert solve(A, np.ones(2, np.complex64)).dtype == np.complex64
    assert ld.grad(lambda a: np.sum(solve(a, np.ones(2))))(np.eye(2, dtype=np.float32)).dtype == np.float32
    assert ld.grad(lambda a: solve(a, 1j * np.ones(2))[0].imag)(np.eye(2)).dtype == np.float64


def test_norm_of_single_precision():
    gradient = ld.grad(norm)(np.array([3.0, 4.0], np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, [0.6, 0.8], rtol=1e-6)


def test_singular_lu_factor_warns_like_scipy():
    with pytest.warns(scipy.linalg.LinAlgWarning, match="ingular"):
        of_variables(lu_factor, np.zeros((2, 2)))


@pytest.mark.parametrize("options", [{}, {"atol": 0.5}, {"rtol": 0.3}])
@pytest.mark.parametrize("function", [pinv, pinvh])
def test_pseudoinverses_of_a_batch_are_scipys(rng, function, options):
    a = rng.standard_normal((3, 4, 4))
    a = a + a.mT if function is pinvh else a
    a[1, :, 0] = a[1, 0, :] = 0
    P, rank = function(a, return_rank=True, **options)
    for i, matrix in enumerate(a):
        expected = getattr(scipy.linalg, function.__name__)(matrix, return_rank=True, **options)
        np.testing.assert_allclose(P[i], expected[0], rtol=1e-10, atol=1e-12)
        assert rank[i] == expected[1]
    with pytest.raises(ValueError, match="negative"):
        function(a, atol=-1.0)


def test_pinvh_of_a_matrix_that_is_not_square():
    for a in [np.ones((0, 3)), np.ones((2, 3)), ld.Variable(np.ones((2, 3)))]:
        with pytest.raises(ValueError, match="pinvh: a must be square"):
            pinvh(a)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda ab, b: solve_banded((0, 1), ab, b), [(2, 0), (0,)]),
        (lambda ab, b: solveh_banded(ab, b), [(2, 0), (0, 2)]),
        (lambda cb, b: cho_solve_banded((cb, True), b), [(2, 0), (0,)]),
        (lambda c, b: solve_toeplitz(c, b), [(0,), (0,)]),
        (lambda c, b: matmul_toeplitz(c, b), [(0,), (0,)]),
        (lambda c, r, b: matmul_toeplitz((c, r), b), [(3,), (0,), (0,)]),
        (lambda c, r, b: matmul_toeplitz((c, r), b), [(0,), (3,), (3, 2)]),
        (lambda c, b: solve_circulant(c, b), [(0,), (0,)]),
    ],
)
def test_systems_without_unknowns(function, shapes):
    arrays = [np.ones(shape) for shape in shapes]
    try:
        expected = np.zeros_like(function(*arrays))
    except ValueError as refusal:
        pytest.skip(f"this SciPy refuses them: {refusal}")
    x, x_dot = ld.jvp(function, arrays, arrays)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(x_dot, expected)
    for a, a_bar in zip(arrays, ld.vjp(function, *arrays)[1](expected), strict=True):
        np.testing.assert_array_equal(a_bar, 0 * a)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_circulant_systems_in_the_precision_of_scipy(dtype):
    c, b = np.array([3, 1], dtype), np.array([1, 2], dtype)
    assert of_variables(solve_circulant, c, b).dtype == scipy.linalg.solve_circulant(c, b).dtype


def test_special_matrices_take_lists_and_numbers_beside_variables():
    v = ld.Variable(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(ld.value(toeplitz(v, [1.0, 3.0])), [[1, 3], [2, 1]])
    np.testing.assert_array_equal(ld.value(block_diag(v, 3.0, [[4.0]])).shape, (3, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda K, b: solve(K, b),
        lambda K, b: solve_triangular(K, b, trans=1),
        lambda K, b: cho_solve(cho_factor(K), b),
        lambda K, b: lu_solve(lu_factor(K), b),
        lambda K, b: solve_banded((1, 1), K, b),
        lambda K, b: solveh_banded(K + np.array([[0.0], [0.0], [50.0]]), b),
        lambda K, b: solve_toeplitz(K[0], b),
        lambda K, b: lstsq(K, b)[0],
        lambda K, b: ld.linalg.trsm(K, b[:, None])[:, 0],
    ],
)
def test_solves_are_linear_in_the_right_hand_side(function, rng):
    K, b, x_bar = spd(rng, 3), rng.standard_normal(3), rng.standard_normal(3)
    K = np.tril(K) + np.triu(K) * 0.1
    K = K @ K.T
    (b_bar,) = ld.linear_transpose(lambda b: function(K, b), b)(x_bar)
    np.testing.assert_allclose(np.sum(b_bar * b), np.sum(x_bar * function(K, b)), rtol=1e-10)
    with pytest.raises(ValueError, match="not linear"):
        ld.linear_transpose(lambda K: function(K, b), K)
