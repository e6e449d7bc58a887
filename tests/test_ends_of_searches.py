"""The derivatives of what ``root``, ``fixed_point``, ``minimize`` and ``least_squares`` find."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff.scipy import optimize
from lindiff.testing import check_grads

WAYS_TO_GIVE = ["args", "closure"]
B = np.array([[3.0, 0.5], [-0.25, 2.0]])


def given(way, f, *args):
    """``f(x, *args)`` and its args, as SciPy takes them."""
    return (f, args) if way == "args" else (lambda x: f(x, *args), ())


# -- roots --------------------------------------------------------------------------------------------------


def system(x, p):
    return B @ x + p["cubic"] * x**3 - p["right"]


P = {"cubic": np.array([0.5, 1.0]), "right": np.array([1.0, -2.0])}


@pytest.mark.parametrize("way", WAYS_TO_GIVE)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": "lm"},
        {"method": "krylov", "tol": 1e-10},
        {"jac": False},
        {"jac": lambda x, p=P: B + np.diag(3 * p["cubic"] * x**2)},
        {"program": True},
    ],
    ids=["hybr", "lm", "krylov", "differences", "jac", "program"],
)
def test_roots_of_systems(way, how):
    def found(p):
        f, args = given(way, system, p)
        return optimize.root(f, np.ones(2), args, **{"tol": 1e-12, **how}).x

    assert_allclose(system(found(P), P), 0, atol=1e-8)
    assert_array_equal(ld.vjp(found, P)[0], found(P))
    check_grads(found, (P,), order=2)


def test_a_root_whose_function_gives_its_matrix():
    def both(x, c):
        return x**3 - c, np.diag(3 * x**2)

    found = lambda c: optimize.root(both, np.ones(2), (c,), jac=True, tol=1e-12).x
    assert_allclose(ld.jacobian(found)(np.array([8.0, 1.0])), np.diag([1 / 12, 1 / 3]), rtol=1e-9)


def test_roots_in_trees():
    def equations(x, a):
        return [x["u"] - np.cos(x["v"]) * a, x["v"] ** 3 + x["u"][0] - a[1]]

    def found(a):
        return optimize.root(equations, {"u": np.ones(2), "v": 1.0}, (a,), tol=1e-12).x

    check_grads(found, (np.array([0.5, 2.0]),), order=2)


@pytest.mark.parametrize("way", WAYS_TO_GIVE)
@pytest.mark.parametrize("method", ["del2", "iteration"])
@pytest.mark.parametrize("x0", [0.5, [0.5, 0.75]])
def test_fixed_points(way, method, x0):
    def found(a):
        f, args = given(way, lambda x, a: np.cos(a * x), a)
        return optimize.fixed_point(f, x0, args, xtol=1e-13, method=method)

    theirs = scipy.optimize.fixed_point(lambda x: np.cos(0.7 * x), x0, xtol=1e-13, method=method)
    assert_array_equal(found(0.7), theirs)
    assert type(found(0.7)) is type(theirs)
    check_grads(found, (0.7,), order=2)
    repeated = lambda a: optimize.fixed_point(lambda x: np.cos(a * x), x0, xtol=1e-13, program=True)
    assert_allclose(ld.jacobian(repeated)(0.7), ld.jacobian(found)(0.7), rtol=1e-10)


# -- minima -------------------------------------------------------------------------------------------------


def valley(x, a, b):
    return np.sum((x - a) ** 2) + b * np.sum(x**4) + 0.5 * x[0] * x[1]


A = np.array([1.0, -0.5])


@pytest.mark.parametrize("way", WAYS_TO_GIVE)
@pytest.mark.parametrize(
    "how",
    [
        {"method": name}
        for name in (
            "BFGS",
            "L-BFGS-B",
            "CG",
            "Newton-CG",
            "trust-ncg",
            "trust-exact",
            "trust-krylov",
            "trust-constr",
            "dogleg",
            "SLSQP",
            "TNC",
            "Nelder-Mead",
        )
    ]
    + [{"program": True}, {"jac": "2-point"}],
    ids=str,
)
def test_minima(way, how):
    def found(a, b):
        f, args = given(way, valley, a, b)
        return optimize.minimize(f, np.zeros(2), args, tol=1e-12, **how).x

    def by_newton(a, b):  # from what is found on
        x = ld.value(found(ld.value(a), ld.value(b)))
        for _ in range(3):
            x = x - np.linalg.solve(ld.hessian(valley)(x, a, b), ld.grad(valley)(x, a, b))
        return x

    rtol = 1e-3 if "jac" in how else {"Nelder-Mead": 1e-3, "trust-constr": 1e-4}.get(how.get("method"), 1e-5)
    slopes, expected = (ld.jacobian(f, (0, 1))(A, 0.3) for f in (found, by_newton))
    for ours, theirs in zip(slopes, expected, strict=True):
        assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


def test_minima_to_second_order():
    found = lambda a: optimize.minimize(valley, np.zeros(2), (a, 0.3), tol=1e-13).x
    check_grads(found, (A,), order=2, rtol=1e-5)


def test_the_least_value_has_the_partial_derivative():
    least = lambda a, b: optimize.minimize(valley, np.zeros(2), (a, b), tol=1e-10).fun
    x = optimize.minimize(valley, np.zeros(2), (A, 0.3), tol=1e-10).x
    assert_allclose(ld.grad(least, 1)(A, 0.3), np.sum(x**4), rtol=1e-8)
    assert_allclose(ld.grad(least)(A, 0.3), 2 * (A - x), rtol=1e-6)
    assert isinstance(least(A, 0.3), float)


def test_a_minimum_in_a_tree_of_complex_numbers():
    def f(x, c):
        return np.sum(np.abs(x["z"] - c) ** 2) + np.abs(x["z"][0]) ** 4 + (x["t"] - np.real(c[0])) ** 2

    def found(c):
        return optimize.minimize(f, {"z": np.zeros(2, complex), "t": 0.0}, (c,), tol=1e-12).x

    check_grads(found, (np.array([1.0 + 2.0j, -0.5 + 0.25j]),), rtol=1e-5)
    assert found(np.ones(2))["z"].dtype == np.complex128


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "TNC", "trust-constr"])
@pytest.mark.parametrize(
    "bounds", [[(0.0, 5.0)] * 3, scipy.optimize.Bounds(0.0, [5.0] * 3)], ids=["pairs", "Bounds"]
)
def test_what_a_bound_holds_does_not_move(method, bounds):
    a = np.array([1.0, -2.0, 9.0])  # free, at the lower and at the upper bound
    how = {"method": method, "bounds": bounds, "tol": 1e-12}
    if method == "trust-constr":
        how["options"] = {"gtol": 1e-10, "xtol": 1e-12}

    def found(a):
        return optimize.minimize(lambda x: np.sum((x - a) ** 2) + 0.1 * np.sum(x) ** 2, np.ones(3), **how).x

    atol = 1e-4 if method == "trust-constr" else 1e-8
    assert_allclose(ld.jacobian(found)(a), np.diag([1 / 1.1, 0, 0]), atol=atol)


def test_one_number_in_bounds_whose_search_reports_matrices():
    found = lambda c: optimize.minimize(lambda x, c: (x - c) ** 2, 0.5, (c,), "trust-constr", bounds=[(0, 1)])
    assert ld.jacobian(lambda c: found(c).x)(0.25) == pytest.approx(1.0)
    assert len(found(0.25).jac) == 1


def test_bounds_that_hold_nothing():
    bounds = [(None, None), (-9, 9)]
    found = lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), np.ones(2), bounds=bounds).x
    assert_allclose(ld.jacobian(found)(A), np.eye(2), atol=1e-12)


def test_a_search_in_a_search():
    """The outer search gets the exact derivatives of what the inner one finds."""

    def inner(a):
        f = lambda x: np.sum((x - a) ** 2) + 0.1 * np.sum(x**4)
        return optimize.minimize(f, np.zeros(2), tol=1e-12).x

    goal = inner(A)
    outer = optimize.minimize(lambda a: np.sum((inner(a) - goal) ** 2), np.zeros(2), tol=1e-12)
    assert_allclose(outer.x, A, atol=1e-5)
    assert outer.nfev < 60


def test_searches_beside_what_is_differentiated():
    """A search that depends on no Variable gives constants, inside of a derivative as well."""

    def f(c):
        x = optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2), method="SLSQP").x
        assert type(x) is np.ndarray
        y = optimize.root(lambda x: x**3 - 8.0, np.ones(1)).x
        assert type(y) is np.ndarray
        z = optimize.least_squares(lambda x: x - 2.0, np.zeros(2))
        assert type(z.x) is np.ndarray
        assert isinstance(z.cost, float)
        return c * np.sum(x) + np.sum(y)

    assert_allclose(ld.grad(f)(2.0), 2.0)


# -- least squares ------------------------------------------------------------------------------------------

T = np.linspace(0.0, 2.0, 9)
Y = 2.0 * np.exp(-1.3 * T) + np.array([0.3, -0.2, 0.1, 0.05, -0.1, 0.02, 1.5, -0.03, 0.04])


def residuals(p, y, t=T):
    return p["scale"] * np.exp(-p["rate"] * t) - y


START = {"scale": 1.0, "rate": 1.0}


TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}


@pytest.mark.parametrize("way", WAYS_TO_GIVE)
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_fits(way, loss):
    def found(y):
        f, args = given(way, residuals, y)
        return optimize.least_squares(f, START, args=args, loss=loss, f_scale=0.3, **TIGHT)

    check_grads(lambda y: found(y).x, (Y,), order=2, rtol=1e-4)
    plain = found(Y)
    assert_allclose(ld.vjp(lambda y: found(y).cost, Y)[0], plain.cost, rtol=1e-12)
    assert_allclose(ld.vjp(lambda y: found(y).fun, Y)[0], plain.fun, rtol=1e-12)
    check_grads(lambda y: found(y).cost, (Y,), order=1, rtol=1e-5)


def test_fits_with_a_loss_of_ones_own():
    def own(z):
        return np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])

    def slopes(loss):
        f = lambda y: optimize.least_squares(residuals, START, args=(y,), loss=loss, f_scale=0.3, **TIGHT).x
        return ld.jacobian(f)(Y)

    for ours, named in zip(slopes(own).values(), slopes("cauchy").values(), strict=True):
        assert_allclose(ours, named, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("how", [{}, {"program": True}, {"tr_solver": "lsmr"}, {"method": "lm"}], ids=str)
def test_fits_by_keyword_in_bounds(how):
    how = {**TIGHT, **how}
    if "method" not in how:
        how["bounds"] = ([0.0, 1.5], [9.0, 9.0])

    def found(y):
        f = lambda p, y: residuals({"scale": p[0], "rate": p[1]}, y)
        return optimize.least_squares(f, [1.0, 2.0], kwargs={"y": y}, **how).x

    check_grads(found, (Y,), order=1, rtol=1e-4)
    if "bounds" in how:
        assert found(Y)[1] == pytest.approx(1.5)
        J, E = ld.jacobian(found)(Y), np.exp(-1.5 * T)
        assert_array_equal(J[1], 0)
        assert_allclose(J[0], E / (E @ E), rtol=1e-6)


# -- where the theorem does not hold ------------------------------------------------------------------------


def test_a_search_that_fails_has_no_derivative():
    def found(c):
        return optimize.root(lambda x: x**2 + c, np.ones(1)).x

    assert found(1.0).shape == (1,)  # SciPy's report says that it has failed
    with pytest.raises(
        RuntimeError, match=r"root: what a search has not found has no derivative: .*progress"
    ):
        ld.jacobian(found)(1.0)
    with pytest.raises(RuntimeError, match="minimize: what a search has not found"):
        ld.grad(lambda a: optimize.minimize(valley, np.ones(2), (a, 0.3), options={"maxiter": 1}).fun)(A)
    with pytest.raises(RuntimeError, match="least_squares: what a search has not found"):
        ld.grad(lambda y: optimize.least_squares(residuals, START, args=(y,), max_nfev=1).cost)(Y)


@pytest.mark.parametrize(
    ("method", "bounds"),
    [
        ("Nelder-Mead", None),
        ("L-BFGS-B", None),
        ("SLSQP", None),
        ("trust-constr", None),
        ("Nelder-Mead", [(-1, 1)] * 2),
        ("L-BFGS-B", [(-1, 1)] * 2),
    ],
)
@pytest.mark.parametrize(
    "kinked",
    [
        lambda x, c: np.sum(np.abs(x - c)),
        lambda x, c: np.sum(np.abs(x - c) + 0.1 * (x - 2) ** 2),
        lambda x, c: np.sum((x - c) ** 2 + np.abs(x)),
    ],
)
def test_a_kink_has_no_derivative(kinked, method, bounds):
    c = np.array([0.3, 0.8])
    found = lambda c: optimize.minimize(kinked, np.full(2, 0.9), (c,), method=method, bounds=bounds)
    x = found(c).x
    assert np.min(np.abs(x)) < 1e-3 or np.min(np.abs(x - c)) < 1e-3
    for part in ("x", "fun"):
        with pytest.raises(RuntimeError, match="its equations do not hold there, as at a kink"):
            ld.jacobian(lambda c, part=part: found(c)[part])(c)
    assert ld.grad(lambda a: a * found(c).x[0])(2.0) == x[0]


def test_what_is_least_moves_where_the_minimum_does_not():
    distance = lambda x, c: np.sum((x - 1.0) ** 2) + c**2
    assert ld.grad(lambda c: optimize.minimize(distance, np.zeros(2), (c,)).fun)(1.5) == 3.0
    floor = {"type": "ineq", "fun": lambda x: x - 2.0}
    held = lambda c: optimize.minimize(distance, np.full(2, 3.0), (c,), constraints=[floor]).fun
    assert ld.grad(held)(1.5) == 3.0
    rows = lambda x, c: np.stack([x[0] - 1.0, c])
    fitted = lambda c: optimize.least_squares(rows, np.zeros(1), args=(c,))
    assert ld.grad(lambda c: fitted(c).cost)(1.5) == 1.5
    assert_array_equal(ld.jacobian(lambda c: fitted(c).fun)(1.5), [0.0, 1.0])
    bounded = lambda c: optimize.minimize(lambda x: np.sum((x - c) ** 2), np.ones(1), bounds=[(0, None)]).fun
    assert ld.grad(bounded)(-1.5) == -3.0


def test_a_search_that_ends_early_is_near_enough():
    smooth = lambda x, c: np.sum(np.cosh(x - c)) + 0.5 * x[0] * x[1]
    c = np.array([0.3, 0.8])
    found = lambda c: optimize.minimize(smooth, np.ones(2), (c,), method="Nelder-Mead", tol=1e-2).x
    x = found(c)
    H = np.diag(np.cosh(x - c)) + 0.5 * np.eye(2)[::-1]
    assert_allclose(ld.jacobian(found)(c), np.linalg.solve(H, np.diag(np.cosh(x - c))), rtol=1e-9)


def test_singular_equations_say_so():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ld.jacobian(lambda c: optimize.minimize(lambda x: (x[0] + x[1] - c) ** 2, np.zeros(2)).x)(1.0)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    flat = Q @ np.diag([1.0, 2.0, 0.0]) @ Q.T  # singular but for rounding errors
    found = lambda c: optimize.root(lambda x: flat @ (x - c), np.ones(3)).x
    with pytest.raises(np.linalg.LinAlgError, match=r"singular \(condition \d"):
        ld.jacobian(found)(1.0)


def test_units_are_not_singular():
    units = np.array([1e-12, 1e12])

    def found(c):
        return optimize.root(lambda x: B @ (x / units) - c, units * 0.1, tol=1e-12).x / units

    assert_allclose(ld.jacobian(found)(np.ones(2)), np.linalg.inv(B), rtol=1e-9)


CONSTRAINTS = {
    "dict": lambda c: {"type": "eq", "fun": lambda x: np.sum(x) - c},
    "args": lambda c: {"type": "eq", "fun": lambda x, c: np.sum(x) - c, "args": (c,)},
    "nonlinear": lambda c: scipy.optimize.NonlinearConstraint(lambda x: np.sum(x) - c, 0.0, 0.0),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_are_refused_where_something_depends_on_variables(name):
    def found(a, c):
        constraints = CONSTRAINTS[name](c)
        return np.sum(
            optimize.minimize(lambda x: np.sum((x - a) ** 2), np.ones(2), constraints=constraints).x
        )

    assert_allclose(found(A, 1.0), 1.0)
    for k in (0, 1):
        with pytest.raises(TypeError, match="under constraints has no derivative here"):
            ld.grad(found, k)(A, 1.0)
    assert ld.grad(lambda t: t * found(A, 1.0))(2.0) == pytest.approx(1.0)


def test_variables_in_bounds_are_refused():
    for search in (optimize.minimize, optimize.least_squares):
        for bounds in [[(0.0, ld.Variable(1.0))], {"a": (0.0, ld.Variable(1.0))}]:
            x0 = [0.5] if isinstance(bounds, list) else {"a": 0.5}
            with pytest.raises(TypeError, match="bounds have no derivatives"):
                search(lambda x: 0.0, x0, bounds=bounds)


def test_a_search_that_its_units_end_has_no_derivative():
    """Its gradient is below 1e-5 where it begins."""
    least = lambda p: optimize.minimize(lambda x: np.sum((x - p) ** 4 + (x - p) ** 2), np.zeros(1)).x[0]
    assert ld.grad(least)(1.0).round(3) == 1.0
    with pytest.raises(RuntimeError, match="smaller tol"):
        ld.grad(least)(1e-6)
    with pytest.raises(RuntimeError, match="smaller tol"):  # its first simplex is that small
        ld.grad(
            lambda p: optimize.minimize(lambda x: (x[0] - p) ** 2, [0.0], method="Nelder-Mead", tol=1e-2).x[0]
        )(1.0)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "Powell", "trust-constr"])
def test_what_two_equal_bounds_hold_does_not_move(method):
    def found(p):
        bounds = [(1.0, 1.0), (0.0, 3.0)]
        return optimize.minimize(lambda x: np.sum((x - p) ** 2), [1.0, 0.5], method=method, bounds=bounds).x

    assert_allclose(ld.jacobian(found)(np.array([1.0, 2.0])), np.diag([0.0, 1.0]), atol=1e-12)


NO_ROOTS = {
    "a jump": lambda p: optimize.brentq(lambda x: x + np.sign(x - p), -3.0, 4.0),
    "few iterations": lambda p: optimize.brentq(lambda x: x**3 - p, -3.0, 4.0, maxiter=3, disp=False),
    "few steps": lambda p: optimize.root_scalar(lambda x: x**3 - p, x0=5.0, x1=4.0, maxiter=2).root,
    "none": lambda p: optimize.newton(lambda x: x**2 + p, 1.0, maxiter=20, disp=False),
    "a system's jump": lambda p: optimize.root(lambda x: x + np.sign(x - p), 1.0).x[0],
}


@pytest.mark.parametrize("search", NO_ROOTS.values(), ids=NO_ROOTS.keys())
def test_what_is_no_root_has_no_derivative(search):
    for derivative in (ld.grad(search), lambda p: ld.jvp(search, (p,), (1.0,))):
        with pytest.raises(RuntimeError, match=r"no root|has not found"):
            derivative(0.5)


@pytest.mark.filterwarnings("ignore:some failed to converge")
def test_roots_of_which_one_is_none_have_no_derivative():
    found = lambda p: optimize.newton(lambda x: x**2 - p * np.array([1.0, -1.0]), np.ones(2), maxiter=20)
    with pytest.raises(RuntimeError, match="no root"):
        ld.jacobian(found)(0.5)


def test_roots_in_small_units_and_to_loose_tolerances():
    assert_allclose(ld.grad(lambda p: optimize.brentq(lambda x: 1e-9 * (x - p), -3e-9, 4e-9))(1e-9), 1.0)
    assert_allclose(ld.grad(lambda p: optimize.bisect(lambda x: x - p, -3.0, 4.0, xtol=0.1))(0.5), 1.0)


def writes(x, b):
    x -= b
    return x


def test_functions_that_write_into_what_they_are_given():
    """SciPy gives them copies."""
    found = lambda b: optimize.least_squares(writes, np.ones(2), args=(b,)).x
    assert_allclose(ld.jacobian(found)(np.array([1.0, 2.0])), np.eye(2), atol=1e-12)
    with pytest.raises(TypeError, match=r"write a = a \+ v"):
        ld.jacobian(lambda b: optimize.root(writes, np.ones(2), args=(b,)).x)(np.ones(2))
    fun = lambda b: optimize.least_squares(writes, [2.5], args=(b,), bounds=(2.0, 3.0)).fun
    assert_allclose(ld.jacobian(fun)(np.ones(1)), -np.eye(1), atol=1e-12)


def test_complex_roots():
    found = lambda c: optimize.root(lambda z: z**2 - c, np.array([1.0 + 1.0j]), tol=1e-12).x
    c = np.array([3.0 - 4.0j])
    assert_allclose(found(c), [2 - 1j], rtol=1e-10)
    assert_allclose(ld.jacobian(found, holomorphic=True)(c), np.diag(0.5 / found(c)), rtol=1e-9)
    assert_allclose(ld.grad(lambda c: found(c)[0].real)(-4.0 + 1e-3j), np.conj(0.5 / np.sqrt(-4 + 1e-3j)))


def test_what_is_no_number_is_told():
    with pytest.raises(TypeError, match="may lack its return"):
        optimize.minimize(lambda x: None, np.ones(1))
    with pytest.raises(TypeError, match="may lack its return"):
        optimize.root(lambda x: None, np.ones(1))
    assert_allclose(
        ld.grad(lambda p: optimize.minimize(lambda x: [(x[0] - p) ** 2], np.ones(1)).x[0])(1.0), 1.0
    )


@pytest.mark.parametrize(
    "search",
    [
        lambda f: optimize.golden(f),
        lambda f: optimize.fminbound(f, 0.0, 3.0),
        lambda f: optimize.fmin(f, [1.0]),
        lambda f: optimize.differential_evolution(f, [(0.0, 3.0)]),
        lambda f: optimize.minimize_scalar(f),
        lambda f: optimize.fsolve(f, [1.0]),
    ],
)
def test_searches_without_derivatives_refuse_functions_that_have_some(search):
    for derivative in (ld.grad, ld.jacobian):
        with pytest.raises(
            TypeError, match=r"has no derivative in lindiff: (give what it finds to|search with)"
        ):
            derivative(lambda p: search(lambda x: np.sum((x - p) ** 2)))(1.5)


def by_differences(f, x, h=1e-4):
    return np.array([np.sum(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("loss", ["linear", "cauchy"])
@pytest.mark.parametrize("part", ["jac", "grad", "fun"])
@pytest.mark.parametrize("of_tree", [False, True])
def test_what_else_a_fit_reports(loss, part, of_tree):
    times = np.arange(6.0)
    data = 2 * np.exp(-0.5 * times) + 0.05 * np.cos(7 * times)
    weights = np.sin(np.arange(1.0, 13.0))
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "loss": loss, "f_scale": 0.1}

    def reported(data):
        if of_tree:
            start, bounds = {"a": 1.0, "b": 0.3}, (-np.inf, {"a": 1.9, "b": np.inf})
            residuals = lambda p: p["a"] * np.exp(-p["b"] * times) - data
        else:
            start, bounds = [1.0, 0.3], (-np.inf, [1.9, np.inf])
            residuals = lambda p: p[0] * np.exp(-p[1] * times) - data
        found = np.ravel(optimize.least_squares(residuals, start, bounds=bounds, **tight)[part])
        return weights[: len(found)] * found

    value, gradient = ld.value_and_grad(lambda data: np.sum(reported(data)))(data)
    assert_allclose(value, np.sum(reported(data)), rtol=1e-5)  # what a bound holds is found next to it
    assert_allclose(gradient, by_differences(reported, data), rtol=1e-4, atol=1e-4)


def test_standard_errors_of_a_fit():
    times = np.arange(6.0)
    data = 2 * np.exp(-0.5 * times) + 0.05 * np.cos(7 * times)

    def standard_error(data):
        found = optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * times) - data, [1.0, 0.3], xtol=1e-14)
        return np.sqrt(found.cost / 2 * np.linalg.inv(found.jac.T @ found.jac)[1, 1])

    assert_allclose(ld.grad(standard_error)(data), by_differences(standard_error, data), rtol=1e-4)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP"])
def test_the_slope_that_a_bound_holds(method):
    def slope(p):
        objective = lambda x: np.sum((x - p) ** 2) + x[0] * x[1] * p[0]
        return optimize.minimize(
            objective, np.zeros(2), method=method, bounds=[(0, 1), (0, 9)], tol=1e-12
        ).jac

    p = np.array([3.0, 2.0])
    expected = np.stack([np.append(by_differences(lambda p, i=i: slope(p)[i], p), []) for i in range(2)])
    assert_allclose(ld.jacobian(slope)(p), expected, rtol=1e-5, atol=1e-5)
    assert abs(expected[0, 0]) > 1
