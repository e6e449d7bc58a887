"""``lindiff.scipy.optimize``: SciPy's searches with exact derivatives of functions of trees."""

from __future__ import annotations

import dataclasses
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from lindiff.scipy.optimize import least_squares, minimize, root
from lindiff.scipy.optimize._bounds import bounds_of_tree


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def of_tree(x):
    """A Rosenbrock function of a matrix and a number in a tree."""
    return rosenbrock(np.concatenate([np.ravel(x["a"]), np.reshape(x["b"][0], (1,))]))


START = {"a": np.full((2, 2), 0.5), "b": (0.3,)}

METHODS = [
    *("BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP"),
    *("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr", "trust-exact", None),
]


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
@pytest.mark.parametrize("method", METHODS)
def test_minimize_of_a_tree(method):
    found = minimize(of_tree, START, method=method)
    assert found.success
    assert found.x["a"].shape == (2, 2)
    np.testing.assert_allclose(found.x["a"], 1.0, atol=1e-2)
    np.testing.assert_allclose(found.x["b"][0], 1.0, atol=2e-2)


def test_dogleg():
    found = minimize(lambda x: np.sum(np.cosh(x)), np.array([1.0, 2.0]), method="dogleg")
    np.testing.assert_allclose(found.x, 0.0, atol=1e-5)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA"])
def test_methods_without_gradients_get_none(method):
    found = minimize(lambda x: np.sum((x - 2.0) ** 2), np.zeros((1, 2)), method=method, tol=1e-8)
    assert found.x.shape == (1, 2)
    np.testing.assert_allclose(found.x, 2.0, atol=1e-4)


def test_the_same_search_as_scipys_with_the_gradient():
    x0 = np.tile([-1.2, 1.0], 5)
    ours = minimize(rosenbrock, x0, method="BFGS")
    theirs = scipy.optimize.minimize(rosenbrock, x0, method="BFGS", jac=scipy.optimize.rosen_der)
    assert (ours.nit, ours.nfev) == (theirs.nit, theirs.nfev)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-8)
    assert ours.jac.shape == x0.shape


def test_far_fewer_runs_than_finite_differences():
    """50 unknowns: a gradient costs one run instead of 51."""
    runs = {}
    for name, module in [("exact", minimize), ("differences", scipy.optimize.minimize)]:
        runs[name] = 0

        def counted(x, name=name):
            runs[name] += 1
            return rosenbrock(x)

        module(counted, np.tile([-1.2, 1.0], 25), method="BFGS", options={"maxiter": 20})
    assert 40 * runs["exact"] < runs["differences"]


def test_products_at_one_point_share_a_run():
    runs = 0

    def counted(x):
        nonlocal runs
        runs += 1
        return rosenbrock(x)

    found = minimize(counted, np.tile([-1.2, 1.0], 5), method="trust-ncg")
    assert found.success
    assert runs <= found.nfev + found.nhev


def test_arguments_and_one_that_stands_alone():
    for args in [(3.0,), 3.0]:
        found = minimize(lambda x, c: (x - c) ** 2, 0.0, args=args)
        assert found.x.shape == (1,)
        np.testing.assert_allclose(found.x, 3.0, atol=1e-6)


def test_complex_unknowns():
    target = np.array([1.0 + 2.0j, -0.5j])
    found = minimize(lambda z: np.sum(np.abs(z - target) ** 2), np.zeros(2, complex), method="trust-ncg")
    np.testing.assert_allclose(found.x, target, atol=1e-6)


def test_bounds_of_a_tree_and_of_arrays():
    def f(x):
        return np.sum((x["a"] - 2.0) ** 2) + (x["b"] + 2.0) ** 2

    x0 = {"a": np.zeros((2, 2)), "b": 0.0}
    found = minimize(f, x0, bounds=({"a": -np.inf, "b": -1.0}, {"a": np.array([1.0, 5.0]), "b": np.inf}))
    np.testing.assert_allclose(found.x["a"], [[1.0, 2.0], [1.0, 2.0]], atol=1e-5)
    np.testing.assert_allclose(found.x["b"], -1.0)
    square = np.zeros((2, 2))
    found = minimize(lambda x: np.sum((x - 2.0) ** 2), square, bounds=Bounds(-1.0, [[1.0, 1.5], [3.0, 3.0]]))
    np.testing.assert_allclose(found.x, [[1.0, 1.5], [2.0, 2.0]], atol=1e-5)
    found = minimize(lambda x: np.sum((x - 2.0) ** 2), np.zeros(2), bounds=[(0, 1), (None, None)])
    np.testing.assert_allclose(found.x, [1.0, 2.0], atol=1e-5)
    with pytest.raises(TypeError, match="complex arrays have no bounds"):
        minimize(lambda x: np.abs(x), 1j, bounds=Bounds(0, 1))


@dataclasses.dataclass
class Line:
    slope: object
    offset: object


class Pair(NamedTuple):
    a: object
    b: object


OF_A_DICT = {"a": np.zeros(3), "b": 0.0}
OF_A_PAIR = (np.zeros(3), 0.0)
# x0, bounds, and what they are: lower and upper, flat
BOUNDS_OF_TREES = {
    "pairs": (OF_A_DICT, {"b": (-1, None), "a": (0, 2)}, [0, 0, 0, -1], [2, 2, 2, np.inf]),
    "a list of pairs": (
        OF_A_DICT,
        {"a": [(0, 1), (None, 2), (-1, None)], "b": None},
        [0, -np.inf, -1, -np.inf],
        [1, 2, np.inf, np.inf],
    ),
    "two pairs of two": (
        {"a": np.zeros(2)}, {"a": [(0, 1), (0, None)]}, [0, 0], [1, np.inf]
    ),
    "a pair of arrays": (
        OF_A_DICT, {"a": (np.arange(3), None), "b": (0, 1)}, [0, 1, 2, 0], [np.inf, np.inf, np.inf, 1]
    ),
    "rows": (OF_A_DICT, {"a": np.array([[0, 1], [2, 3], [4, 5]]), "b": (0, 1)}, [0, 2, 4, 0], [1, 3, 5, 1]),
    "Bounds": (
        {"a": np.zeros(2), "b": 0.0}, {"a": Bounds([0, 1], 2), "b": (0, 1)}, [0, 1, 0], [2, 2, 1]
    ),
    "lower and upper": (OF_A_DICT, ({"a": [0, 1, None], "b": 1}, None), [0, 1, -np.inf, 1], [np.inf] * 4),
    "numbers": (OF_A_DICT, (0, 1), [0] * 4, [1] * 4),
    "Bounds of numbers": (OF_A_DICT, Bounds(0, 1), [0] * 4, [1] * 4),
    "Bounds of trees": (OF_A_DICT, Bounds({"a": 0, "b": -1}, {"a": 1, "b": 2}), [0, 0, 0, -1], [1, 1, 1, 2]),
    "nested": (
        {"a": {"x": 0.0, "y": 0.0}, "b": [1.0, np.zeros(1)]},
        {"a": None, "b": [(0, 1), [(0, 3)]]},
        [-np.inf, -np.inf, 0, 0],
        [np.inf, np.inf, 1, 3],
    ),
    "dataclass": (Line(0.0, 0.0), Line((0, 1), (None, 2)), [0, -np.inf], [1, 2]),
    "dataclasses": (Line(0.0, 0.0), (Line(0, None), Line(1, 2)), [0, -np.inf], [1, 2]),
    "named tuple": (Pair(0.0, 0.0), Pair((0, 1), (0, 2)), [0, 0], [1, 2]),
    "a tuple, lower and upper": (
        OF_A_PAIR, ((np.arange(3), 0), (np.full(3, 4), 5)), [0, 1, 2, 0], [4, 4, 4, 5]
    ),
    "a tuple, pairs": (OF_A_PAIR, ([(0, 1), (0, 2), (0, 3)], (0, 5)), [0] * 4, [1, 2, 3, 5]),
    "a tuple, either way": (OF_A_PAIR, ((0, 1), (0, None)), None, None),
    "a tuple of Bounds": (OF_A_PAIR, (Bounds(0, 1), Bounds(0, 2)), [0] * 4, [1, 1, 1, 2]),
    "either way the same": (OF_A_PAIR, ((0, None), (None, 1)), [0] * 3 + [-np.inf], [np.inf] * 3 + [1]),
    "no bounds": (OF_A_PAIR, ((None, None), (None, None)), [-np.inf] * 4, [np.inf] * 4),
    "two arrays of two": ({"a": np.zeros(2)}, {"a": (np.zeros(2), np.ones(2))}, None, None),
    "lists for lower and upper": (OF_A_DICT, {"a": ([0, 0, 0], [1, 1, 1]), "b": None}, None, None),
    "another key": (OF_A_DICT, {"a": (0, 1), "c": (0, 1)}, None, None),
    "too few": (OF_A_DICT, {"a": [(0, 1), (0, 1)], "b": None}, None, None),
    "a number": (OF_A_DICT, {"a": 1, "b": (0, 1)}, None, None),
    "three": (OF_A_DICT, (0, 1, 2), None, None),
    "ragged": (OF_A_DICT, {"a": [(0, 1), 3, (0, 2)], "b": None}, None, None),
    "text": (OF_A_DICT, {"a": ("0", "x"), "b": None}, None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS_OF_TREES)
def test_bounds_of_trees_are_read_by_their_form(name):
    x0, bounds, lower, upper = BOUNDS_OF_TREES[name]
    if lower is None:
        with pytest.raises(ValueError, match=r"bounds of a tree are .*Bounds"):
            minimize(lambda x: 0.0, x0, bounds=bounds)
        return
    found = bounds_of_tree(bounds, x0)
    np.testing.assert_array_equal(found.lb, lower)
    np.testing.assert_array_equal(found.ub, upper)


def test_bounds_that_hold_in_searches():
    def f(x):
        return np.sum((x["a"] - 2.0) ** 2) + (x["b"] + 2.0) ** 2

    x0, bounds = {"a": np.full(2, 0.5), "b": 0.0}, {"a": [(0, 1), (None, None)], "b": (-1, None)}
    found = minimize(f, x0, bounds=bounds)
    np.testing.assert_allclose([*found.x["a"], found.x["b"]], [1, 2, -1], atol=1e-5)
    found = least_squares(lambda x: {"a": x["a"] - 2.0, "b": x["b"] + 2.0}, x0, bounds=bounds)
    np.testing.assert_allclose([*found.x["a"], found.x["b"]], [1, 2, -1], atol=1e-5)
    found = least_squares(lambda x: {"a": x["a"] - 2.0, "b": x["b"] + 2.0}, x0, method="lm")
    np.testing.assert_allclose([*found.x["a"], found.x["b"]], [2, 2, -2])
    target = np.array([1.0 + 2.0j])
    found = least_squares(lambda z: [np.real(z - target), np.imag(z - target)], np.zeros(1, complex))
    np.testing.assert_allclose(found.x, target)
    for start in (np.ones(1), np.ones(1, complex)):
        with pytest.raises(TypeError, match="real and their imaginary parts"):
            least_squares(lambda z: z - target, start)
    with pytest.raises(ValueError, match="a pair"):
        least_squares(lambda x: x, [0.5, 0.5, 0.5], bounds=[(0, 1)] * 3)


def test_constraints_of_a_tree():
    x0 = (np.array([2.0, 0.5]), 1.0)

    def f(x):
        return np.sum(x[0] ** 2) + x[1] ** 2

    def on_plane(x):
        return np.sum(x[0]) + x[1] - 3.0

    expected = np.ones(3)
    found = minimize(f, x0, constraints={"type": "eq", "fun": on_plane})
    np.testing.assert_allclose(np.append(found.x[0], found.x[1]), expected, atol=1e-5)
    given = {"type": "eq", "fun": on_plane, "jac": lambda x: np.ones((1, 3))}
    found = minimize(f, x0, constraints=[given])
    np.testing.assert_allclose(np.append(found.x[0], found.x[1]), expected, atol=1e-5)
    found = minimize(f, x0, constraints=LinearConstraint(np.ones((1, 3)), 3.0, 3.0))
    np.testing.assert_allclose(np.append(found.x[0], found.x[1]), expected, atol=1e-5)


@pytest.mark.parametrize("method", ["trust-constr", "SLSQP"])
def test_nonlinear_constraint_has_exact_derivatives(method):
    circle = NonlinearConstraint(lambda x: [x["p"][0] ** 2 + x["p"][1] ** 2], 1.0, 1.0)
    x0 = {"p": np.array([1.0, 0.2])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # trust-constr: delta_grad == 0.0
        found = minimize(lambda x: x["p"][0] + 2 * x["p"][1], x0, method=method, constraints=circle)
    np.testing.assert_allclose(found.x["p"], -np.array([1.0, 2.0]) / np.sqrt(5), atol=1e-4)


def test_given_derivatives_are_used():
    x0 = {"x": np.array([3.0, 1.0])}
    asked = []

    def f(x):
        return np.sum(x["x"] ** 4)

    def gradient(x):
        asked.append("jac")
        return {"x": 4 * x["x"] ** 3}

    def product(x, p):
        asked.append("hessp")
        return {"x": 12 * x["x"] ** 2 * p["x"]}

    def hessian(x):
        asked.append("hess")
        return np.diag(12 * x["x"] ** 2)

    found = minimize(f, x0, method="trust-ncg", jac=gradient, hessp=product)
    np.testing.assert_allclose(found.x["x"], 0, atol=0.1)
    minimize(f, x0, method="trust-exact", jac=gradient, hess=hessian)
    minimize(lambda x: (f(x), gradient(x)), x0, jac=True)
    minimize(lambda x: float(np.sum(np.cosh(x["x"]))), x0, jac="2-point", method="L-BFGS-B")
    assert set(asked) == {"jac", "hessp", "hess"}


def test_callbacks_get_trees():
    seen = []
    minimize(of_tree, START, method="BFGS", callback=lambda xk: seen.append(xk["a"].shape))

    def stop(intermediate_result):
        seen.append(intermediate_result.x["a"].shape)
        raise StopIteration

    found = minimize(of_tree, START, method="BFGS", callback=stop)
    assert found.nit == 1
    assert set(seen) == {(2, 2)}


# -- least squares and roots -----------------------------------------------------------------------------

T = np.linspace(0.0, 1.0, 8)
Y = 2.0 * np.exp(-3.0 * T) + 0.1


def residuals(p, t=T):
    return {"fit": p["scale"] * np.exp(-p["rates"][0] * t) + p["rates"][1] - Y}


P0 = {"scale": 1.0, "rates": np.array([1.0, 0.0])}


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "lm"}, {"method": "dogbox"}, {"tr_solver": "lsmr"}, {"jac": "3-point"}, {"args": (T,)}],
)
def test_least_squares(options):
    found = least_squares(residuals, P0, **options)
    np.testing.assert_allclose(found.x["scale"], 2.0, rtol=1e-5)
    np.testing.assert_allclose(found.x["rates"], [3.0, 0.1], rtol=1e-5)


def test_least_squares_with_a_given_jacobian_and_bounds():
    def jacobian(x, c, *, d=0.0):
        return np.eye(2) * c + d

    found = least_squares(
        lambda x, c, *, d=0.0: c * x - 4.0,
        np.zeros(2),
        jacobian,
        (-np.inf, 1.5),
        args=(2.0,),
        kwargs={"d": 0.0},
    )
    np.testing.assert_allclose(found.x, 1.5, atol=1e-6)
    found = least_squares(residuals, P0, bounds=Bounds(-10.0, 2.5))
    assert found.x["rates"][0] <= 2.5


def test_jacobian_of_few_residuals_is_pulled():
    found = least_squares(lambda x: [np.sum(x) - 1.0], np.zeros(4))
    np.testing.assert_allclose(found.jac, np.ones((1, 4)))


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1"])
def test_root_of_a_tree(method):
    def equations(x):
        return {"u": x["u"] ** 3 - 1.0 + 0.1 * x["v"], "v": x["v"] - x["u"][0]}

    found = root(equations, {"u": np.full(2, 0.9), "v": 0.9}, method=method, tol=1e-9)
    y = equations(found.x)
    np.testing.assert_allclose(np.append(y["u"], y["v"]), 0.0, atol=1e-6)


def test_root_with_given_jacobians():
    def f(x):
        return x**2 - 2.0

    for jac, fun in [
        (lambda x: np.diag(2 * x), f),
        (True, lambda x: (f(x), np.diag(2 * x))),
        (False, f),
    ]:
        np.testing.assert_allclose(root(fun, np.ones(2), jac=jac).x, np.sqrt(2.0))
