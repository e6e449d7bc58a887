"""``program=True``: the same searches, of which Python sees the first calls."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from test_recorded_programs import calls, count

import lindiff as ld
from lindiff.core import pytree
from lindiff.scipy import optimize

X = np.linspace(0.0, 2.0, 9)
Y = 2.0 * np.exp(-1.3 * X) + 0.05 * np.cos(9.0 * X)


START, C = {"a": np.zeros(2), "b": np.zeros(2)}, np.array([1.0, 0.5])
EQUATIONS = ["the equations", "the Jacobian"]


def valley(x, c):
    return np.sum((x["a"] - c) ** 2) + np.sum((x["b"] - x["a"] ** 2) ** 2)


def given_slope(x, c):
    b = 2 * (x["b"] - x["a"] ** 2)
    return {"a": 2 * (x["a"] - c) - 2 * x["a"] * b, "b": b}


def residuals(x, c):
    return {"a": x["a"] - c, "b": (x["b"] - x["a"] ** 2) * np.ones(2)}


def given_matrix(x, c):
    eye = np.eye(2)
    return np.block([[eye, np.zeros((2, 2))], [-2 * np.diag(x["a"]), eye]])


def decay(x, a, k):
    return a * np.exp(-k * x)


def slopes(x, a, k):
    return np.stack([np.exp(-k * x), -a * x * np.exp(-k * x)], axis=1)


def cubic(x, c):
    return x**3 - c * x - 1


COMPARED = "x", "root", "nfev", "njev", "function_calls"
START, C = {"a": np.zeros(2), "b": np.zeros(2)}, np.array([1.0, 2.0])
PLANE = {"type": "ineq", "fun": lambda x, s: s - np.sum(x["a"]), "args": (2.5,)}
ROUND = scipy.optimize.NonlinearConstraint(lambda x: np.sum(x["a"] ** 2), -np.inf, 2.0)


def searching(function, *args, **options):
    """Of the functions that are searched with, the search for a result that can be compared."""

    def search(f, *more, **program):
        given = {name: more[place] if type(place) is int else place for name, place in options.items()}
        found = function(f, *args, **given, **program)
        return [found[key] for key in COMPARED if key in found] if isinstance(found, dict) else found

    return search


def minimizing(**options):
    return searching(optimize.minimize, START, args=(C,), **options), [valley]


def equations(name, method, **options):
    return searching(getattr(optimize, name), START, args=(C,), method=method, **options), [residuals]


SEARCHES = {
    **{f"minimize {m}": minimizing(method=m) for m in (None, "trust-ncg", "dogleg", "Nelder-Mead", "CG")},
    "minimize bounds": minimizing(bounds={"a": (0.0, 1.5), "b": (None, 3.0)}),
    "minimize SLSQP": minimizing(method="SLSQP", constraints=PLANE),
    "minimize trust-constr": minimizing(method="trust-constr", constraints=ROUND),
    "minimize 2-point": minimizing(jac="2-point"),
    "minimize jac": (minimizing(jac=0)[0], [valley, given_slope]),
    "minimize jac=True": (
        searching(optimize.minimize, START, args=(C,), jac=True),
        [lambda x, c: (valley(x, c), given_slope(x, c))],
    ),
    **{f"least_squares {m}": equations("least_squares", m) for m in ("trf", "dogbox", "lm")},
    "least_squares lsmr": equations("least_squares", "trf", tr_solver="lsmr"),
    "least_squares sparse": equations(
        "least_squares", "trf", jac_sparsity=scipy.sparse.csr_array(np.tile(np.eye(2), (2, 2)))
    ),
    "least_squares jac": (equations("least_squares", "trf", jac=0)[0], [residuals, given_matrix]),
    **{f"root {m}": equations("root", m) for m in ("hybr", "lm", "krylov")},
    "root jac": (equations("root", "hybr", jac=0)[0], [residuals, given_matrix]),
    "root jac=True": (
        equations("root", "hybr", jac=True)[0],
        [lambda x, c: (residuals(x, c), given_matrix(x, c))],
    ),
    "curve_fit": (searching(optimize.curve_fit, X, Y, [1.0, 1.0]), [decay]),
    "curve_fit jac": (searching(optimize.curve_fit, X, Y, [1.0, 1.0], jac=0), [decay, slopes]),
    "curve_fit bounds": (searching(optimize.curve_fit, X, Y, [1.0, 1.0], bounds=(0.0, 1.2)), [decay]),
    **{
        name: (searching(getattr(optimize, name), 0.0, 5.0, args=(1.3,), xtol=1e-14), [cubic])
        for name in ("bisect", "brenth", "brentq", "ridder", "toms748")
    },
    "newton": (searching(optimize.newton, 9.0, args=(1.3,)), [cubic]),
    "newton fprime": (
        searching(optimize.newton, 9.0, args=(1.3,), fprime=0, fprime2=1),
        [cubic, lambda x, c: 3 * x**2 - c, lambda x, c: 6 * x],
    ),
    "newton of many": (searching(optimize.newton, np.array([2.0, 9.0]), args=(C,)), [cubic]),
    "root_scalar": (searching(optimize.root_scalar, args=(1.3,), bracket=[0.0, 9.0]), [cubic]),
    "root_scalar fprime=True": (
        searching(optimize.root_scalar, args=(1.3,), x0=9.0, fprime=True),
        [lambda x, c: (cubic(x, c), 3 * x**2 - c)],
    ),
}  # fmt: skip


def same(found, expected, rtol=1e-12):
    found, expected = (pytree.flatten(tree)[0] for tree in (found, expected))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        if y is not None:
            np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_search_and_fewer_calls(name):
    search, functions = SEARCHES[name]
    plain, fast = ([calls(f) for f in functions] for _ in range(2))
    expected = search(*plain)
    same(search(*fast, program=True), expected)
    for f, g in zip(plain, fast, strict=True):
        assert 2 <= count(g) <= 6 < count(f) or count(g) <= count(f) <= 6


def test_functions_of_constraints():
    """Of a NonlinearConstraint with its own second derivatives."""
    functions = [
        lambda x: np.sum(x["a"] ** 2),
        lambda x: np.concatenate([2 * x["a"], np.zeros(2)])[None],
        lambda x, v: v[0] * np.diag([2.0, 2.0, 0.0, 0.0]),
    ]

    def search(fun, jac, hess, **program):
        ball = scipy.optimize.NonlinearConstraint(fun, -np.inf, 2.0, jac=jac, hess=hess)
        return optimize.minimize(
            valley, START, args=(C,), method="trust-constr", constraints=ball, **program
        ).x

    fast = [calls(f) for f in functions]
    same(search(*fast, program=True), search(*functions), rtol=1e-8)
    assert all(2 <= count(f) <= 6 for f in fast)


@pytest.mark.parametrize(
    "root",
    [
        lambda c, **options: optimize.brentq(cubic, 0.0, 5.0, (c,), xtol=1e-14, **options),
        lambda c, **options: optimize.brentq(lambda x: cubic(x, c), 0.0, 5.0, xtol=1e-14, **options),
        lambda c, **options: optimize.newton(cubic, 2.0, args=(c,), tol=1e-14, **options),
        lambda c, **options: optimize.root_scalar(lambda x: cubic(x, c), bracket=[0, 5], **options).root,
        lambda c, **options: optimize.curve_fit(decay, X, c * Y, **options)[0],
        lambda c, **options: optimize.curve_fit(lambda x, a, k: c * decay(x, a, k), X, Y, **options)[0],
    ],
)
def test_derivatives_of_what_was_found(root):
    def derivative(**options):
        return ld.jacobian(lambda c: root(c, **options))(1.3)

    same(derivative(program=True), derivative(), rtol=1e-9)


def test_the_exact_jacobian_of_a_fit_is_a_program():
    f = calls(decay)

    def search(y, **options):
        return optimize.curve_fit(f, X, y, p0=[9.0, 9.0], **options)[0]

    expected = ld.vjp(search, Y)[0]
    plain = count(f)
    same(ld.vjp(lambda y: search(y, program=True), Y)[0], expected)
    assert count(f) - plain < plain - 4


def test_functions_without_a_program():
    """What cannot be recorded runs as without: random numbers aside, which no search is made for."""

    def sparse(x):
        return scipy.sparse.csr_array(np.diag(2 * x))

    def square(x):
        return x**2 - 2.0

    found = optimize.least_squares(square, np.ones(2), sparse, program=True)
    same(found.x, optimize.least_squares(square, np.ones(2), sparse).x)

    def of_plain_arrays(x):
        return np.sum(np.asarray(ld.value(x)) * 0.0) + np.sum((x - 1.0) ** 4)

    same(
        optimize.minimize(of_plain_arrays, np.zeros(3), program=True).x,
        optimize.minimize(of_plain_arrays, np.zeros(3)).x,
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        root = optimize.brentq(lambda x: float(x) ** 2 - 2.0, 0.0, 2.0, program=True)
    assert root == optimize.brentq(lambda x: float(x) ** 2 - 2.0, 0.0, 2.0)
    assert [w for w in told if "goes another way nearly every time" in str(w.message)]


def test_errors_are_those_of_the_function():
    def fails(x):
        if np.sum(x) > 0.5:
            raise ValueError("too far")
        return np.sum((x - 1.0) ** 2)

    with pytest.raises(ValueError, match="too far"):
        optimize.minimize(fails, np.zeros(2), program=True)


@pytest.mark.parametrize(
    ("search", "names"),
    [
        (lambda: optimize.minimize(valley, START, (C,), program=True), ["the value and the gradient"]),
        (
            lambda: optimize.minimize(valley, START, (C,), method="trust-ncg", program=True),
            ["the value and the gradient", "the Hessian, times a vector"],
        ),
        (
            lambda: optimize.minimize(valley, START, (C,), method="trust-exact", program=True),
            ["the value and the gradient", "the Hessian"],
        ),
        (lambda: optimize.minimize(valley, START, (C,), method="Powell", program=True), ["the value"]),
        (
            lambda: optimize.minimize(valley, START, (C,), jac=given_slope, program=True),
            ["the value", "the gradient"],
        ),
        (lambda: optimize.least_squares(residuals, START, args=(C,), program=True), EQUATIONS),
        (lambda: optimize.root(residuals, START, (C,), program=True), EQUATIONS),
    ],
)
def test_a_search_says_what_its_programs_have_gained(search, names):
    found = search()
    gained = found.explain()
    assert [row.name for row in gained] == names
    assert all(row.by_program > 0 and row.by_python > 0 for row in gained)
    assert [row.ratio for row in gained] == [row.by_python / row.by_program for row in gained]
    assert str(gained).splitlines()[1].startswith(names[0])
    assert gained.reasons == []
    # it is SciPy's in all else
    kept = pickle.loads(pickle.dumps(found))
    assert type(kept) is scipy.optimize.OptimizeResult
    assert list(kept) == list(found)
    np.testing.assert_array_equal(kept.x["b"], found.x["b"])
    assert "explain" not in str(found)


def test_a_search_says_why_a_function_has_no_program():
    found = optimize.minimize(lambda x: np.sum(x**2) + 0 * threading.get_ident(), np.ones(2), program=True)
    assert len(found.explain().reasons) == 1
    assert "without a program: " in str(found.explain())
    assert not hasattr(optimize.minimize(lambda x: np.sum(x**2), np.ones(2)), "explain")


@pytest.mark.filterwarnings("ignore:.*goes another way nearly every time:UserWarning")
@pytest.mark.parametrize("program", [False, True])
@pytest.mark.parametrize("with_result", [False, True])
@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg"])
def test_a_callback_that_changes_the_objective(method, with_result, program):
    class Objective:
        scale = 1.0

        def __call__(self, x):
            return self.scale * np.sum((x - 1) ** 4) + np.sum(x**2)

        def with_slope(self, x):
            return self(x), self.scale * 4 * (x - 1) ** 3 + 2 * x

        def curvature(self, x):
            return np.diag(self.scale * 12 * (x - 1) ** 2 + 2)

    def found(search, **options):
        objective = Objective()
        derivatives = {} if options else {"jac": True, "hess": objective.curvature}

        def change(x):
            objective.scale *= 1.2

        def change_by_result(intermediate_result):
            objective.scale *= 1.2

        callback = change_by_result if with_result else change
        return search(
            objective if options else objective.with_slope,
            np.zeros(3),
            method=method,
            callback=callback,
            options={"maxiter": 8},
            **derivatives,
            **options,
        )

    plain, ours = found(scipy.optimize.minimize), found(optimize.minimize, program=program)
    np.testing.assert_allclose(ours.x, plain.x, rtol=1e-8)
    assert ours.nit == plain.nit
