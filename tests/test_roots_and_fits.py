"""``lindiff.scipy.optimize``: derivatives of roots of one number, of fits to data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose

import lindiff as ld
from lindiff.scipy import optimize
from lindiff.testing import check_grads


def cubic(x, c):
    return x**3 - c * x - 1


METHODS = ["bisect", "brenth", "brentq", "ridder", "toms748"]


@pytest.mark.parametrize("name", METHODS)
def test_roots_in_brackets(name):
    def root(c, b):
        return getattr(optimize, name)(cubic, 0.0, b, (c,), xtol=1e-15)

    def of_closure(c):
        return getattr(optimize, name)(lambda x: cubic(x, c), 0.0, 5.0, xtol=1e-15)

    theirs = getattr(scipy.optimize, name)(cubic, 0.0, 5.0, (1.3,), xtol=1e-15)
    assert root(1.3, 5.0) == theirs
    assert type(root(1.3, 5.0)) is type(theirs)
    assert ld.vjp(root, 1.3, 5.0)[0] == theirs
    check_grads(lambda c: root(c, 5.0), (1.3,))
    check_grads(of_closure, (1.3,))
    assert ld.grad(root, 1)(1.3, 5.0) == 0.0
    x, report = optimize.brentq(cubic, 0.0, 5.0, 1.3, full_output=True)
    assert (x, report.converged) == (report.root, True)


def test_third_derivative_of_a_root():
    def cube_root(c):
        return optimize.brentq(lambda x: x**3 - c, 0.0, 3.0, xtol=1e-15)

    np.testing.assert_allclose(ld.grad(ld.grad(ld.grad(cube_root)))(1.0), 10 / 27, rtol=1e-12)


WAYS = {
    "bracket": {"bracket": [0.0, 5.0], "xtol": 1e-15},
    "method": {"bracket": (0.0, 5.0), "method": "bisect", "xtol": 1e-15},
    "secant": {"x0": 2.0, "x1": 2.1},
    "newton": {"x0": 2.0, "fprime": lambda x, c: 3 * x**2 - c, "xtol": 1e-14},
    "halley": {
        "x0": 2.0,
        "fprime": lambda x, c: 3 * x**2 - c,
        "fprime2": lambda x, c: 6 * x,
        "options": {"xtol": 1e-14},
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_root_scalar(way):
    theirs = scipy.optimize.root_scalar(cubic, (1.3,), **WAYS[way])
    ours = optimize.root_scalar(cubic, (1.3,), **WAYS[way])
    assert dict(ours) == dict(theirs)
    check_grads(lambda c: optimize.root_scalar(cubic, (c,), **WAYS[way]).root, (1.3,))


def test_root_scalar_of_a_function_with_its_derivatives():
    def with_both(x, c):
        return cubic(x, c), 3 * x**2 - c, 6 * x

    check_grads(
        lambda c: optimize.root_scalar(with_both, c, x0=2.0, fprime=True, fprime2=True, xtol=1e-14).root,
        (1.3,),
    )


@pytest.mark.parametrize("fprime", [None, lambda x, c: 3 * x**2 - c])
def test_newton(fprime):
    check_grads(lambda c: optimize.newton(cubic, 2.0, fprime, (c,), tol=1e-14), (1.3,))
    start, c = np.array([2.0, 2.5, 1.0]), np.array([1.3, 0.2, 0.5])

    def roots(c):
        return optimize.newton(cubic, start, fprime, (c,), tol=1e-14)

    np.testing.assert_array_equal(
        ld.vjp(roots, c)[0], scipy.optimize.newton(cubic, start, fprime, (c,), 1e-14)
    )
    check_grads(roots, (c,))
    found = optimize.newton(cubic, start, fprime, (c,), full_output=True)
    assert found.converged.all()
    found = ld.jvp(lambda c: optimize.newton(cubic, start, fprime, (c,), full_output=True).root, (c,), (c,))
    assert np.all(found[1] > 0)


def test_newton_of_many_equations_makes_no_matrix():
    c = np.linspace(1.0, 2.0, 50_000)
    x, pullback = ld.vjp(lambda c: optimize.newton(cubic, np.full(50_000, 2.0), args=(c,)), c)
    np.testing.assert_allclose(pullback(np.ones(50_000))[0], x / (3 * x**2 - c), rtol=1e-6)


def test_newton_of_a_complex_function():
    def root(c):
        return optimize.newton(lambda z: z**2 + c, 1.0j, tol=1e-14)

    np.testing.assert_allclose(ld.grad(lambda c: root(c).imag)(2.0), 0.5 / np.sqrt(2.0))


def test_a_double_root_has_no_derivative():
    with pytest.raises(np.linalg.LinAlgError, match="double root"):
        ld.grad(lambda c: optimize.newton(lambda x: x**2 - c, 0.0, fprime=lambda x: 2 * x + 1e-300))(0.0)
    _, pullback = ld.vjp(
        lambda c: optimize.newton(lambda x: (x - c) ** 3, np.zeros(2), np.ones_like), np.zeros(2)
    )
    with pytest.raises(np.linalg.LinAlgError, match="double root"):
        pullback(np.ones(2))


# -- fits ---------------------------------------------------------------------------------------------------


def decay(x, a, k):
    return a * np.exp(-k * x)


RNG = np.random.default_rng(0)
X = np.linspace(0.0, 2.0, 7)
Y = 2 * np.exp(-1.3 * X) + 0.1 * RNG.standard_normal(7)
SIGMA = RNG.uniform(0.5, 1.0, 7)
COVARIANCE = np.diag(SIGMA**2) + 0.1
TIGHT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
OF_FIT = 1e-5  # a search that compares sums of squares finds the fit to half the digits


@pytest.mark.parametrize(
    "options", [{}, {"absolute_sigma": True}, {"method": "trf"}, {"p0": [1.0, 2.0]}], ids=str
)
def test_fit(options):
    def fit(x, y, sigma):
        return optimize.curve_fit(decay, x, y, sigma=sigma, **options, **TIGHT)

    theirs = scipy.optimize.curve_fit(decay, X, Y, sigma=SIGMA, **options, **TIGHT)
    for ours, rtol in ((fit(X, Y, SIGMA), 0), (ld.vjp(fit, X, Y, SIGMA)[0], 1e-6)):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=rtol)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=rtol)
    check_grads(fit, (X, Y, SIGMA), rtol=OF_FIT)


def test_fit_with_large_residuals_has_the_curvature_of_the_model():
    """Beside Newton's method on the sum of squares; the one of Gauss and Newton would be off by a fifth."""
    y = decay(X, 2.0, 1.3) + np.array([0.0, -0.4, 0.4, -0.5, 0.3, 0.4, -0.2])

    def squares(p, y):
        return np.sum((decay(X, *p) - y) ** 2)

    def newtons(y):
        p = optimize.curve_fit(decay, X, ld.value(y), **TIGHT)[0]
        for _ in range(3):
            p = p - np.linalg.solve(ld.hessian(squares)(p, y), ld.grad(squares)(p, y))
        return p

    got = ld.jacobian(lambda y: optimize.curve_fit(decay, X, y, **TIGHT)[0])(y)
    np.testing.assert_allclose(got, ld.jacobian(newtons)(y), rtol=1e-6)
    J = ld.jacobian(lambda p: decay(X, *p))(newtons(y))
    assert np.max(np.abs(np.linalg.pinv(J) / got - 1)) > 0.2


def test_fit_with_a_covariance_of_the_data():
    def fit(y, covariance):
        return optimize.curve_fit(decay, X, y, sigma=(covariance + covariance.T) / 2, **TIGHT)

    theirs = scipy.optimize.curve_fit(decay, X, Y, sigma=COVARIANCE, **TIGHT)
    np.testing.assert_allclose(ld.vjp(fit, Y, COVARIANCE)[0][1], theirs[1], rtol=1e-6)
    check_grads(fit, (Y, COVARIANCE), rtol=OF_FIT)


def test_fit_of_a_closure_over_a_grid_with_slopes():
    grid = np.stack([X, X**2])

    def plane(x, a, b):
        return a * x[0] + b * x[1]

    def fit(c):
        def of_c(x, a, b):
            return c * plane(x, a, b) + c**2

        return optimize.curve_fit(of_c, tuple(grid), Y, jac=lambda x, a, b: c * np.stack(x, 1), **TIGHT)[0]

    check_grads(fit, (1.5,), rtol=OF_FIT)


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_a_parameter_held_by_a_bound_moves_with_it(method):
    def fit(y, upper):
        return optimize.curve_fit(decay, X, y, bounds=(0.0, upper), method=method, **TIGHT)[0]

    upper = np.array([1.5, 9.0])
    assert fit(Y, upper)[0] == pytest.approx(1.5)
    np.testing.assert_allclose(ld.jacobian(fit, 1)(Y, upper)[0], [1.0, 0.0])
    np.testing.assert_array_equal(ld.jacobian(fit)(Y, upper)[0], 0.0)
    check_grads(fit, (Y, upper), rtol=OF_FIT)
    of_bounds = optimize.curve_fit(
        decay, X, ld.Variable(Y), bounds=scipy.optimize.Bounds(0.0, upper), **TIGHT
    )
    np.testing.assert_allclose(ld.value(of_bounds[0]), fit(Y, upper), rtol=1e-5)


def test_fit_without_covariance():
    with pytest.warns(scipy.optimize.OptimizeWarning, match="could not be estimated"):
        popt, pcov = optimize.curve_fit(decay, X[:2], ld.Variable(Y[:2]))
    assert np.all(np.isinf(pcov))
    assert isinstance(popt, ld.Variable)


def test_fit_of_constants_inside_a_transform_is_scipys():
    """Of functions without derivatives, too."""

    def opaque(x, a):
        return np.array([a * float(part) for part in x])

    theirs = scipy.optimize.curve_fit(opaque, X, Y)

    def f(v):
        p, covariance = optimize.curve_fit(opaque, X, Y)
        assert type(p) is np.ndarray
        np.testing.assert_array_equal(covariance, theirs[1])
        return v * p[0]

    assert ld.grad(f)(1.0) == theirs[0][0]


def test_fit_with_full_output_and_refusals():
    found = optimize.curve_fit(decay, X, ld.Variable(Y), full_output=True)
    assert len(found) == 5
    assert found[2]["fvec"].shape == (7,)
    with pytest.raises(TypeError, match="leave out what is NaN before"):
        optimize.curve_fit(decay, X, ld.Variable(Y), nan_policy="omit")
    with pytest.raises(ValueError, match="number of fit parameters"):
        optimize.curve_fit(lambda *p: p[1] * X, X, ld.Variable(Y))


def test_nonnegative_least_squares():
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((6, 4)), rng.standard_normal(6)
    x, norm = optimize.nnls(A, b)
    assert 0 < np.count_nonzero(x) < 4
    ours = ld.vjp(optimize.nnls, A, b)[0]
    np.testing.assert_allclose(ours[0], x, rtol=1e-13)
    np.testing.assert_allclose(ours[1], norm, rtol=1e-13)
    check_grads(optimize.nnls, (A, b))
    assert not np.any(ld.jacobian(lambda b: optimize.nnls(np.eye(3), b)[0])(-np.ones(3)))


def test_a_list_of_arguments_is_unpacked_where_scipy_does():
    function = lambda x, *of: x**2 - np.sum(of[0])
    assert optimize.newton(function, 1.0, args=[4.0, 9.0]) == scipy.optimize.newton(
        function, 1.0, args=[4.0, 9.0]
    )
    t = np.arange(1.0, 4)
    found = optimize.least_squares(lambda x, t, y: x[0] * t - y, [1.0], args=[t, 2 * t])
    np.testing.assert_allclose(found.x, [2.0])
    fixed = optimize.fixed_point(lambda x, a, b: np.cos(x * a) / b, 0.5, args=[1.0, 2.0])
    np.testing.assert_allclose(fixed, np.cos(fixed) / 2)


def rational(z):
    """Geman and McClure's loss, as SciPy takes it."""
    return np.stack([z / (1 + z), 1 / (1 + z) ** 2, -2 / (1 + z) ** 3])


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan", rational])
def test_fits_by_other_losses(loss):
    x = np.linspace(0.0, 3.0, 12)
    y = 2 * np.exp(-0.8 * x) + 0.05 * np.cos(9 * x)
    y[4] += 0.5

    def fit(y, curve_fit=optimize.curve_fit):
        tolerances = dict.fromkeys(["xtol", "ftol", "gtol"], 1e-15)
        return curve_fit(
            lambda x, a, b: a * np.exp(-b * x),
            x,
            y,
            [1.0, 1.0],
            loss=loss,
            f_scale=0.2,
            method="trf",
            **tolerances,
        )

    for found, plain in zip(ld.vjp(fit, y)[0], fit(y, scipy.optimize.curve_fit), strict=True):
        assert_allclose(found, plain, rtol=1e-5)
    for k in range(2):
        J = ld.jacobian(lambda y, k=k: fit(y)[k])(y)
        differences = [(fit(y + d)[k] - fit(y - d)[k]) / 2e-4 for d in 1e-4 * np.eye(12)]
        assert_allclose(J, np.stack(differences, axis=-1), atol=2e-3 * np.max(np.abs(J)))


def test_one_number_for_all_sigmas():
    x = np.linspace(0.0, 1.0, 9)
    y = np.exp(-x) + 0.01 * np.sin(20 * x)
    fit = lambda sigma, y: optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), x, y, sigma=sigma)
    for sigma in (0.1, [0.1]):
        for k in range(2):
            J, wanted = (ld.jacobian(lambda y, k=k, s=s: fit(s, y)[k])(y) for s in (sigma, np.full(9, 0.1)))
            assert_allclose(J, wanted, rtol=1e-6, atol=1e-9)


def test_a_start_within_the_tolerance_is_no_root():
    root = lambda p, start: optimize.newton(lambda x: x**2 - 4 * p**2, start)
    np.testing.assert_allclose(ld.grad(root)(1.0, 3.0), 2.0, rtol=1e-9)
    with pytest.raises(RuntimeError, match="no root and has no derivative"):
        ld.grad(root)(1e-12, 3e-12)
    assert ld.grad(lambda p: optimize.newton(lambda x: x - p, 1e-10))(0.0) == 1.0


@pytest.mark.parametrize("method", ["bisect", "brenth", "brentq", "ridder"])
@pytest.mark.parametrize("result", [lambda x: np.array([x - 1.0]), lambda x: [x - 1.0]])
def test_a_function_that_gives_no_number(method, result):
    with pytest.raises(TypeError, match=r"returns an array of shape \(1,\)"):
        getattr(optimize, method)(result, 0.0, 3.0)


@pytest.mark.parametrize("options", [{}, {"sigma": np.linspace(0.1, 0.3, 9)}, {"method": "trf"}])
def test_the_residuals_of_a_fit(options):
    x = np.linspace(0.0, 2.0, 9)
    weights = np.sin(np.arange(1.0, 10.0))

    def residuals(y):
        model = lambda x, a, b: a * np.exp(-b * x)
        found = optimize.curve_fit(model, x, y, full_output=True, xtol=1e-14, ftol=1e-14, **options)
        return np.sum(weights * found[2]["fvec"])

    y = np.exp(-x) + 0.1 * np.sin(20 * x)
    differences = [(residuals(y + d) - residuals(y - d)) / 2e-4 for d in 1e-4 * np.eye(9)]
    value, gradient = ld.value_and_grad(residuals)(y)
    assert_allclose(value, residuals(y), rtol=1e-7)
    assert_allclose(gradient, differences, rtol=1e-4, atol=1e-6)
