"""Matrix functions and matrix equations: edges, errors, accuracy, repeated eigenvalues, higher orders."""

from __future__ import annotations

import gc
import inspect
import warnings

import numpy as np
import pytest
import scipy.linalg

import lindiff as ld
import lindiff.scipy.linalg as functions
from lindiff.linalg._matrices import hermitian_part
from lindiff.scipy.linalg import matrix_equations as equations
from lindiff.scipy.linalg.any_function import divided_differences
from lindiff.testing import check_grads

LinAlgError = np.linalg.LinAlgError


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def derivative(f, A, E):
    return ld.jvp(f, (A,), (E,))[1]


def rotated(rng, w):
    """A symmetric matrix with these eigenvalues."""
    Q = np.linalg.qr(rng.standard_normal((len(w), len(w))))[0]
    return hermitian_part((Q * np.asarray(w)) @ Q.T)


def close(x, y, rtol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.max(np.abs(y), initial=0.0))


# -- exponential -----------------------------------------------------------------------------------------


def test_expm_to_third_order(rng):
    check_grads(ld.linalg.expm, (rng.standard_normal((2, 2)),), order=3)
    check_grads(ld.linalg.expm_frechet, (rng.standard_normal((2, 2)), rng.standard_normal((2, 2))), order=2)


def test_second_derivative_of_expm_of_nilpotent_matrix():
    """exp(A) = I + A + A²/2, so that D² is (EF + FE)/2 and what the third power of A adds."""
    N = np.diag(np.ones(1), 1)
    E, F = np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([[0.0, 3.0], [0.0, 0.0]])
    second = derivative(lambda A: derivative(ld.linalg.expm, A, E), N, F)
    close(second, np.zeros((2, 2)))
    commuting = derivative(lambda A: derivative(ld.linalg.expm, A, 2 * np.eye(2)), N, 3 * np.eye(2))
    close(commuting, 6 * ld.linalg.expm(N))


def test_expm_mixes_batches(rng):
    A, E = rng.standard_normal((3, 3)), rng.standard_normal((2, 3, 3))
    got = ld.linalg.expm_frechet(A, E)
    for i in range(2):
        close(got[i], ld.linalg.expm_frechet(A, E[i]))
    check_grads(ld.linalg.expm_frechet, (A, E), order=1)


def test_expm_formula_is_the_kernel(rng):
    """The readable formula, which serves complex matrices, against the kernel; each matrix scaled alone."""
    A = np.array([0.1, 3.0, 40.0])[:, None, None] * rng.standard_normal((3, 4, 4))
    close(ld.linalg.expm(A + 0j).real, ld.linalg.expm(A), 1e-11)
    E = rng.standard_normal((3, 4, 4))
    close(ld.linalg.expm_frechet(A + 0j, E + 0j).real, ld.linalg.expm_frechet(A, E), 1e-11)
    assert np.isnan(ld.linalg.expm(np.array([[np.nan, 0], [0, 1j]]))).any()


def test_expm_takes_what_scipy_takes():
    close(functions.expm(2), [[np.exp(2)]])
    close(functions.expm([2.0]), [[np.exp(2)]])
    assert functions.expm(np.eye(2, dtype=int)).dtype == np.float64
    assert functions.expm(np.eye(2, dtype=np.float16)).dtype == np.float32
    for bad in (np.ones(2), np.ones((2, 3))):
        with pytest.raises(LinAlgError):
            scipy.linalg.expm(bad)
        with pytest.raises(LinAlgError):
            functions.expm(bad)
        with pytest.raises(ValueError, match="expm: A must"):
            ld.linalg.expm(bad)


def test_expm_frechet_options(rng):
    A, E = rng.standard_normal((2, 3, 3))
    for method in (None, "SPS", "blockEnlarge"):
        X, L = functions.expm_frechet(A, E, method)
        close(X, scipy.linalg.expm(A))
        close(L, scipy.linalg.expm_frechet(A, E, method, compute_expm=False))
    with pytest.raises(ValueError, match="Unknown implementation magic"):
        functions.expm_frechet(A, E, "magic")
    with pytest.raises(ValueError, match="infs or NaNs"):
        functions.expm_frechet(A, np.full((3, 3), np.nan))
    assert np.isnan(functions.expm_frechet(A, np.full((3, 3), np.nan), check_finite=False)[1]).all()
    with pytest.raises(ValueError, match="same shape"):
        functions.expm_frechet(A, np.eye(2))
    with pytest.raises(ValueError, match="E to be a square"):
        functions.expm_frechet(A, np.ones(3))


# -- trigonometric functions, root, sign, logarithm, powers ----------------------------------------------


@pytest.mark.parametrize("A", [np.ones((2, 3)), np.ones(3), [1.0, 2.0]], ids=["wide", "vector", "list"])
@pytest.mark.parametrize("name", ["cosm", "sqrtm", "logm", "signm"])
def test_matrices_must_be_square(name, A):
    with pytest.raises(ValueError, match=f"{name}: expected square"):
        getattr(functions, name)(A)


def test_lists_are_arrays():
    close(functions.cosm([[0.0, 0.0], [0.0, 0.0]]), np.eye(2))
    close(functions.sqrtm([[4, 0], [0, 9]]), np.diag([2.0, 3.0]))
    close(functions.fractional_matrix_power([[4, 0], [0, 9]], 0.5), np.diag([2.0, 3.0]))


@pytest.mark.parametrize("function", [functions.expm_frechet, ld.linalg.expm_frechet])
def test_frechet_takes_lists_beside_variables(function):
    def trace(A, E):
        L = function(A, E)
        return np.trace(L[1] if isinstance(L, tuple) else L)

    zero, one = np.zeros((2, 2)), np.eye(2)
    close(ld.grad(lambda E: trace(zero.tolist(), E))(one), one)
    close(ld.grad(lambda A: trace(A, one.tolist()))(zero), one)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_real_matrices_with_negative_eigenvalues(rng, name):
    """A complex value of a real matrix; its derivative along real directions."""
    A = np.diag([2.0, -3.0, -1.0]) + 0.1 * rng.standard_normal((3, 3))
    function = getattr(functions, name)
    assert function(A).dtype == np.complex128
    check_grads(function, (A,), order=1)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name", ["logm", "root"])
def test_all_derivatives_are_on_one_side_of_the_branch_cut(rng, name):
    f = functions.logm if name == "logm" else lambda A: functions.fractional_matrix_power(A, 0.5)
    for _ in range(4):
        V = rng.standard_normal((4, 4)) + 3 * np.eye(4)
        A = V @ np.diag([0.9, -0.7, -2.0, 3.0]) @ np.linalg.inv(V)
        check_grads(f, (A,), step=1e-4, rtol=1e-6, adjoint_rtol=1e-9)


def test_ill_conditioned_root(rng):
    """Against the solution of X L + L X = E in many digits."""
    mpmath = pytest.importorskip("mpmath")
    A, E = rotated(rng, [1.0, 1e-2, 1e-4, 1e-6]), rng.standard_normal((4, 4))
    with mpmath.workdps(60):
        lam, V = mpmath.eigsy(mpmath.matrix(A.tolist()))
        M = V.T * mpmath.matrix(E.tolist()) * V
        for i in range(4):
            for j in range(4):
                M[i, j] /= mpmath.sqrt(lam[i]) + mpmath.sqrt(lam[j])
        exact = np.array((V * M * V.T).tolist(), dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy may call it ill-conditioned
        close(derivative(functions.sqrtm, A, E), exact, 1e-9)


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_singular_root_has_no_derivative():
    A = np.diag([4.0, 0.0])
    y, pullback = ld.vjp(functions.sqrtm, A)
    close(y, np.diag([2.0, 0.0]))
    with pytest.raises(LinAlgError, match="sqrtm: A is singular"):
        pullback(np.eye(2))


def test_logarithm_of_the_identity_and_of_a_jordan_block(rng):
    E = rng.standard_normal((3, 3))
    close(derivative(functions.logm, np.eye(3), E), E)
    J = np.eye(3) + np.diag(np.ones(2), 1)
    L = derivative(functions.logm, J, E)
    close(ld.linalg.expm_frechet(functions.logm(J), L), E)  # the inverse of the derivative of expm


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_logarithm_far_from_the_identity(rng):
    A = rng.standard_normal((5, 5))
    A = 1e6 * (A @ A.T + 1e-3 * np.eye(5)) + np.triu(1e5 * rng.standard_normal((5, 5)))
    E = rng.standard_normal((5, 5))
    X, L = ld.jvp(functions.logm, (A,), (E,))
    close(ld.linalg.expm_frechet(X, L), E, 1e-8)


@pytest.mark.parametrize("name", ["expm", "sqrtm", "signm", "logm", "cosm"])
def test_derivatives_leave_no_cycles(name):
    def run():
        return ld.grad(lambda A: np.sum(getattr(functions, name)(A)))(np.array([[2.0, 1.0], [0.5, 3.0]]))

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_singular_logarithm_has_no_derivative():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns
        pullback = ld.vjp(functions.logm, np.diag([1.0, 0.0]))[1]
    with pytest.raises(LinAlgError, match="logm: A is singular"):
        pullback(np.eye(2))


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_logarithm_in_single_precision(rng):
    A = (2 * np.eye(3) + 0.3 * rng.standard_normal((3, 3))).astype(np.float32)
    check_grads(functions.logm, (A,), order=1)


def test_power_by_its_exponent(rng):
    A = 2 * np.eye(2) + 0.3 * rng.standard_normal((2, 2))
    check_grads(functions.fractional_matrix_power, (A, 0.7), order=1)
    check_grads(lambda A: functions.fractional_matrix_power(A, 0.7), (A,), order=2, modes=["rev"])
    check_grads(lambda t: functions.fractional_matrix_power(A, t), (0.7,), order=2)
    slope = ld.grad(lambda t: np.trace(functions.fractional_matrix_power(A, t)))(2.0)
    close(slope, np.trace(scipy.linalg.logm(A) @ A @ A))


def test_integer_powers_need_no_logarithm():
    A, E = np.diag([2.0, 0.0]), np.ones((2, 2))
    close(derivative(lambda X: functions.fractional_matrix_power(X, 2), A, E), A @ E + E @ A)


def test_sign_on_the_imaginary_axis():
    A = np.array([[0.0, 1.0], [-1.0, 0.0]])
    pullback = ld.vjp(functions.signm, np.diag([1.0, -2.0]))[1]
    assert np.isfinite(pullback(np.eye(2))).all()
    with pytest.raises(LinAlgError, match=r"signm: .* imaginary axis"):
        ld.vjp(functions.signm, A)[1](np.eye(2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_error_estimates(name):
    """``disp=False`` adds what SciPy estimates; on Variables beside the differentiable value."""
    A = np.array([[4.0, 1.0], [0.0, 9.0]])
    function, plain = getattr(functions, name), getattr(scipy.linalg, name)
    if "disp" not in inspect.signature(plain).parameters:
        pytest.skip("this SciPy has no such keyword")
    X, estimate = plain(A, disp=False)
    got = function(A, disp=False)
    close(got[0], X)
    assert got[1] == estimate
    assert len(function(np.stack([A, A]), disp=False)[1]) == 2
    E = np.ones((2, 2))
    close(derivative(lambda A: function(A, disp=False)[0], A, E), derivative(function, A, E))
    close(derivative(lambda A: function(A, disp=True), A, E), derivative(function, A, E))


def test_deprecated_keywords_warn_as_scipy_does():
    A = np.diag([4.0, 9.0])
    if "disp" not in inspect.signature(scipy.linalg.sqrtm).parameters:
        with pytest.raises(TypeError, match="disp"):
            functions.sqrtm(A, disp=True)
        return
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        scipy.linalg.sqrtm(A, disp=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        functions.sqrtm(A, disp=True)
    assert [w.category for w in found] == [w.category for w in expected]


# -- any function ----------------------------------------------------------------------------------------


def test_repeated_eigenvalues(rng):
    """Exact where eigenvalues are equal, nearly equal, and apart: the exponential is known."""
    E = rng.standard_normal((6, 6))
    A = rotated(rng, [1.0, 1.0, 1.0 + 1e-9, 2.0, 2.0, -1.0])
    for B in (A, 2 * np.eye(6), np.zeros((6, 6)), 1e-9 * A):
        close(derivative(lambda X: functions.funm(X, np.exp), B, E), ld.linalg.expm_frechet(B, E), 1e-11)
        gradient = ld.vjp(lambda X: functions.funm(X, np.exp), B)[1](E)[0]
        close(gradient, ld.linalg.expm_frechet(B.T, E), 1e-11)


def test_repeated_eigenvalues_to_second_order(rng):
    A, E, F = rotated(rng, [1.0, 1.0, 1.0 + 1e-7, 3.0]), *rng.standard_normal((2, 4, 4))

    def second(f):
        return derivative(lambda X: derivative(f, X, E), A, F)

    close(second(lambda X: functions.funm(X, np.exp)), second(ld.linalg.expm), 1e-9)
    gradient = ld.grad(lambda X: np.sum(F * functions.funm(X, np.exp)))
    expected = ld.grad(lambda X: np.sum(F * ld.linalg.expm(X)))
    close(ld.jvp(gradient, (A,), (E,))[1], ld.jvp(expected, (A,), (E,))[1], 1e-9)


@pytest.mark.parametrize("w", [[1e-8, 2e-8, 1.0], [1e-8, 1e-4, 1e-4 + 1e-12], [3.0, 3.0, 5.0]], ids=str)
def test_functions_with_a_singularity_nearby(w):
    """The square root near zero: by divided differences alone, 1 / (√x + √y)."""
    x = np.asarray(w, complex)
    pairs = np.stack(np.broadcast_arrays(x[:, None], x), axis=-1)
    got, error = divided_differences(np.sqrt, pairs)
    root = np.sqrt(x)
    np.testing.assert_allclose(got, 1 / (root[:, None] + root), rtol=1e-10)
    assert np.all(np.abs(got - 1 / (root[:, None] + root)) <= 10 * error)


def test_divided_differences_of_second_order(rng):
    x = np.array([0.0, 0.0, 1e-9, 1e-3, 1.0, 4.0]) + 0j
    nodes = np.stack(np.broadcast_arrays(x[:, None, None], x[:, None], x), axis=-1)
    got, _ = divided_differences(lambda z: z**4, nodes)
    a, b, c = np.moveaxis(nodes, -1, 0)
    close(got, a * a + b * b + c * c + a * b + b * c + a * c, 1e-9)


def test_funm_agrees_with_root_and_logarithm(rng):
    A, E = rotated(rng, [1.0, 2.0, 2.0, 5.0]), rng.standard_normal((4, 4))
    close(derivative(lambda X: functions.funm(X, np.sqrt), A, E), derivative(functions.sqrtm, A, E), 1e-10)
    close(derivative(lambda X: functions.funm(X, np.log), A, E), derivative(functions.logm, A, E), 1e-10)
    B = A + 0.5 * rng.standard_normal((4, 4))
    close(derivative(lambda X: functions.funm(X, np.sin), B, E), derivative(functions.sinm, B, E), 1e-10)


def test_errors_of_derivatives_have_the_batch_index():
    good, singular, J = np.diag([4.0, 9.0]), np.diag([4.0, 0.0]), np.array([[1.0, 1.0], [0.0, 1.0]])
    for function, bad in [
        (functions.sqrtm, singular),
        (functions.logm, singular),
        (lambda A: functions.funm(A, np.exp), J),
        (lambda A: equations.solve_continuous_lyapunov(A - A.T, np.eye(2)), J),
    ]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pullback = ld.vjp(function, np.stack([good, bad]))[1]
        with pytest.raises(LinAlgError, match=r"batch index \((0|1),\)"):
            pullback(np.ones((2, 2, 2)))


def test_funm_refuses(rng):
    J = np.array([[1.0, 1.0], [0.0, 1.0]])
    pullback = ld.vjp(lambda X: functions.funm(X, np.exp), J)[1]
    with pytest.raises(LinAlgError, match="no basis of eigenvectors"):
        pullback(np.eye(2))
    near = np.array([[1.0, 1.0], [0.0, 1.00001]])
    pullback = ld.vjp(lambda X: functions.funm(X, np.exp), near)[1]
    with pytest.warns(RuntimeWarning, match="nearly parallel eigenvectors"):
        got = pullback(np.eye(2))[0]
    close(got, ld.linalg.expm_frechet(near.T, np.eye(2)), 1e-5)
    try:  # SciPy's loop assigns what the function returns to a plain array, but for older versions
        slope = ld.grad(lambda t: np.sum(functions.funm(np.eye(2), lambda x: t * x)))(1.0)
    except TypeError:
        pass
    else:
        assert slope == 2.0


def test_symmetric_to_rounding(rng):
    """Repeated eigenvalues of a matrix that rounding has made not quite symmetric."""
    A = rotated(rng, [1.0, 1.0, 1.0, 2.0, 2.0])
    A = A + 1e-16 * rng.standard_normal((5, 5))
    E = rng.standard_normal((5, 5))
    close(derivative(lambda X: functions.funm(X, np.exp), A, E), ld.linalg.expm_frechet(A, E), 1e-11)


def test_funm_with_estimate(rng):
    A = rotated(rng, [1.0, 2.0])
    F, estimate = functions.funm(A, np.exp, disp=False)
    close(F, scipy.linalg.expm(A))
    assert estimate < 1e-10
    E = rng.standard_normal((2, 2))
    close(derivative(lambda X: functions.funm(X, np.exp, disp=False)[0], A, E), ld.linalg.expm_frechet(A, E))


# -- equations -------------------------------------------------------------------------------------------


def test_coefficients_of_different_kinds(rng):
    """A real coefficient with complex eigenvalues beside a complex one: the residual vanishes."""
    a, b, q = rng.standard_normal((3, 4, 4))
    q = q + 1j * rng.standard_normal((4, 4))
    b = b + 4 * np.eye(4)
    a = a + 4 * np.eye(4)
    for left, right in ((a, b), (a + 0.5j, b), (a, b + 0.5j)):
        for X in (
            equations.solve_sylvester(left, right, q),
            ld.vjp(equations.solve_sylvester, left, right, q)[0],
        ):
            close(left @ X + X @ right, q, 1e-11)
    check_grads(lambda a: equations.solve_sylvester(a, b, q), (a,), order=1)
    check_grads(lambda a: equations.solve_continuous_lyapunov(a, q), (a,), order=1)
    check_grads(lambda a: equations.solve_discrete_lyapunov(a / 20, q), (a,), order=1)


def test_lists_beside_variables(rng):
    a, q = 3 * np.eye(2) + rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
    solve = equations.solve_sylvester
    check_grads(lambda a: solve(a, [[4, 1], [0, 5]], q.tolist()), (a,), order=1)
    check_grads(lambda q: equations.solve_continuous_lyapunov(a.tolist(), q), (q,), order=1)
    check_grads(lambda q: equations.solve_discrete_lyapunov((a / 9).tolist(), q), (q,), order=1)
    check_grads(lambda a: equations.solve_continuous_are(a, [[1], [0]], np.eye(2), 1), (a,), order=1)


@pytest.mark.parametrize("name", ["solve_sylvester", "solve_continuous_lyapunov", "solve_discrete_lyapunov"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, int])
def test_plain_equations_are_solved_by_scipy(rng, name, dtype):
    count = 3 if name == "solve_sylvester" else 2
    matrices = [(5 * x).astype(dtype) for x in rng.standard_normal((count, 3, 3))]
    if dtype is int and name == "solve_sylvester":
        matrices = [x + 9 * np.eye(3, dtype=int) for x in matrices]
    got, expected = getattr(equations, name)(*matrices), getattr(scipy.linalg, name)(*matrices)
    assert got.dtype == expected.dtype
    close(got, expected, 1e-5 if dtype in (np.float32, np.complex64) else 1e-12)
    stacked = getattr(equations, name)(np.stack(matrices[:1] * 2), *matrices[1:])
    np.testing.assert_array_equal(stacked, np.stack([got, got]))


def test_singular_equations(rng):
    a, q = np.diag([1.0, -1.0]), np.ones((2, 2))
    with pytest.warns(RuntimeWarning, match="solve_continuous_lyapunov: two eigenvalues"):
        pullback = ld.vjp(equations.solve_continuous_lyapunov, a, q)[1]
    with pytest.raises(LinAlgError, match=r"λ \+ μ\* = 0.* no derivative"):
        pullback(q)
    with pytest.warns(RuntimeWarning, match="eigenvalue in common"):
        pullback = ld.vjp(equations.solve_sylvester, a, a, q)[1]
    with pytest.raises(LinAlgError, match="eigenvalue in common"):
        pullback(q)
    for unit in (np.diag([1.0, 0.5]), np.diag([2.0, 0.5])):
        with pytest.warns(RuntimeWarning, match="solve_discrete_lyapunov: two eigenvalues"):
            pullback = ld.vjp(equations.solve_discrete_lyapunov, unit, q)[1]
        with pytest.raises(LinAlgError, match="no derivative"):
            pullback(q)
    with pytest.raises(LinAlgError, match=r"solve_discrete_lyapunov: .*\(-1\)"):
        ld.vjp(equations.solve_discrete_lyapunov, -np.eye(2), q)


@pytest.mark.parametrize(
    "solve",
    [
        lambda q: equations.solve_sylvester(np.diag([1.0, 2.0]), np.eye(2), q),
        lambda q: equations.solve_continuous_lyapunov(np.diag([1.0, 2.0]), q),
        lambda q: equations.solve_discrete_lyapunov(np.diag([0.5, 0.2]), q, method="bilinear"),
    ],
)
def test_nan_is_not_called_singular(solve):
    q = np.array([[np.nan, 0.0], [0.0, 1.0]])
    X, pullback = ld.vjp(solve, q)
    assert np.isnan(X).any()
    assert np.isnan(pullback(q)[0]).any()


def test_unstable_is_not_singular(rng):
    """Lyapunov equations have solutions for unstable systems, too."""
    a, q = np.diag([3.0, 0.5]) + 0.1 * rng.standard_normal((2, 2)), np.eye(2)
    X = ld.vjp(equations.solve_discrete_lyapunov, a, q)[0]
    close(a @ X @ a.T + q, X)
    check_grads(equations.solve_discrete_lyapunov, (a, q))


def test_discrete_lyapunov_gradient_of_symmetric_data(rng):
    """Q̄ = Λ, Ā = 2 Λ A P with Λ = Aᵀ Λ A + P̄."""
    a, q, P_bar = 0.3 * rng.standard_normal((3, 3)), *map(hermitian_part, rng.standard_normal((2, 3, 3)))
    P, pullback = ld.vjp(equations.solve_discrete_lyapunov, a, q)
    a_bar, q_bar = pullback(P_bar)
    close(q_bar, scipy.linalg.solve_discrete_lyapunov(a.T, P_bar), 1e-11)
    close(a_bar, 2 * q_bar @ a @ P, 1e-11)


def test_methods_of_the_discrete_equation(rng):
    a, q = 0.3 * rng.standard_normal((2, 3, 3))
    direct = equations.solve_discrete_lyapunov(a, q, "direct")
    close(equations.solve_discrete_lyapunov(a, q, method="Bilinear"), direct)
    with pytest.raises(ValueError, match="Unknown solver magic"):
        equations.solve_discrete_lyapunov(a, q, "magic")
    with pytest.raises(ValueError, match="Unknown solver magic"):
        ld.vjp(lambda a: equations.solve_discrete_lyapunov(a, q, "magic"), a)


@pytest.mark.parametrize("solve", [equations.solve_continuous_lyapunov, equations.solve_discrete_lyapunov])
def test_shapes_that_do_not_fit(solve):
    for call in (solve, lambda a, q: ld.vjp(solve, a, q)):
        with pytest.raises(ValueError, match=rf"{solve.__name__}: q of shape \(3, 3\) .* \(2, 2\)"):
            call(np.eye(2), np.eye(3))
        with pytest.raises(ValueError, match=rf"{solve.__name__}: a of shape \(2, 3\) must be square"):
            call(np.ones((2, 3)), np.eye(2))


def test_sylvester_shapes_that_do_not_fit():
    solve = equations.solve_sylvester
    for call in (solve, lambda *args: ld.vjp(solve, *args)):
        with pytest.raises(ValueError, match=r"q of shape \(2, 2\) .* \(2, 3\)"):
            call(np.eye(2), np.eye(3), np.ones((2, 2)))
        with pytest.raises(ValueError, match=r"b of shape \(3,\) must be square"):
            call(np.eye(2), np.ones(3), np.ones((2, 2)))


RICCATI = [equations.solve_continuous_are, equations.solve_discrete_are]


@pytest.mark.parametrize("solve", RICCATI)
def test_riccati_gradients_are_hermitian(rng, solve):
    a, b = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
    q, r = np.eye(3), np.eye(2)
    bars = ld.vjp(solve, a, b, q, r)[1](rng.standard_normal((3, 3)))
    close(bars[2], bars[2].T)
    close(bars[3], bars[3].T)
    names = ["solve_continuous_are", "solve_discrete_are"]
    close(solve(a, b, q, r), getattr(scipy.linalg, names[RICCATI.index(solve)])(a, b, q, r))


@pytest.mark.parametrize("solve", RICCATI)
def test_riccati_errors(rng, solve):
    a, b, q, r = rng.standard_normal((3, 3)), rng.standard_normal((3, 2)), np.eye(3), np.eye(2)
    with pytest.raises(ValueError, match="symmetric"):
        ld.vjp(solve, a, b, q + np.triu(np.ones((3, 3)), 1), r)
    with pytest.raises(LinAlgError, match=r"batch index \(1,\)"):
        solve(np.stack([a, 2 * np.eye(3)]), np.stack([b, 0 * b]), q, r)
    with pytest.raises(ValueError, match="infs or NaNs"):
        solve(a * np.nan, b, q, r)


def test_generalized_riccati_equation_is_solved(rng):
    """With e, whatever `balanced` says; the coefficients would be balanced strongly."""
    d = np.diag([1e-3, 1.0, 1e3])
    a, b = d @ rng.standard_normal((3, 3)) @ np.linalg.inv(d), d @ rng.standard_normal((3, 2))
    e, q, r = np.eye(3) + 0.1 * rng.standard_normal((3, 3)), np.eye(3), np.eye(2)
    X = equations.solve_continuous_are(a, b, q, r, e)
    K = b.T @ X @ e
    residual = e.T @ X @ a + a.T @ X @ e - K.T @ K + q
    assert np.abs(residual).max() < 1e-6 * np.abs(X).max()


def test_scalars_are_matrices():
    close(equations.solve_continuous_are(0.0, 1.0, 4.0, 1.0), [[2.0]])
    gradient = ld.grad(lambda q: equations.solve_continuous_are(0.0, 1.0, q, 1.0)[0, 0])(4.0)
    close(gradient, 0.25)  # X = √q
