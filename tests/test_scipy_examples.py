"""SciPy's own examples of ``minimize``, ``least_squares`` and ``root``: only their imports are changed."""

from __future__ import annotations

import doctest
import re

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from lindiff.scipy import optimize

# Smaller problems, the same numbers each time, and a start at which the Jacobian has full rank: from the one
# with two columns alike, rounding decides where SciPy ends.
SHORTER = {
    "n = 100000": "n = 500",
    "75, 75": "20, 20",
    "default_rng()": "default_rng(0)",
    "seed=None": "seed=0",
    "[1.0, 1.0, 0.0]": "[1.0, 1.0, -0.1]",
}
CHANGED = {
    "from scipy import optimize": "from lindiff.scipy import optimize",
    "from scipy.optimize import": "from lindiff.scipy.optimize import",
    "import numpy as np": "import lindiff.numpy as np",
}
FACES = ["minimize", "least_squares", "root"]


def with_lines(source, lines):
    for old, new in lines.items():
        source = source.replace(old, new)
    return source


def statements(name):
    """The examples of a docstring, without those that draw."""
    examples = doctest.DocTestParser().get_examples(getattr(scipy.optimize, name).__doc__)
    return [with_lines(e.source, SHORTER) for e in examples if "plt" not in e.source]


def results(sources):
    """What searches found, by the names that the examples give them."""
    names = {"np": np, "scipy": scipy}
    found = []
    for source in sources:
        exec(source, names)
        assigned = re.match(r"(\w+) = (?:optimize\.)?(?:minimize|least_squares|root)\(", source)
        if assigned:
            found.append((assigned[1], names[assigned[1]]))
    return found


def assert_alike(our, their):
    assert type(our) is np.ndarray
    assert our.shape == their.shape


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FACES)
def test_examples_of_the_docstring(name, capsys):
    sources = statements(name)
    theirs = results(sources)
    ours = results([with_lines(source, CHANGED) for source in sources])
    assert len(ours) == len(theirs) > 0
    for (called, our), (_, their) in zip(ours, theirs, strict=True):
        assert our.success, called
        assert_alike(our.x, their.x)
        np.testing.assert_allclose(our.x, their.x, rtol=1e-4, atol=1e-4, err_msg=called)
        assert set(their) - set(our) <= {"njev"}, called


# -- the tutorial's ways to call --------------------------------------------------------------------------


def rosen(x):
    """With Python's sum, as in the tutorial."""
    return sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


def rosen_with_args(x, a, b):
    return sum(a * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0) + b


def search_by_hand(fun, x0, args=(), maxfev=None, stepsize=0.1, maxiter=100, callback=None, **options):
    """A minimizer of the user's: the best of two steps along each axis."""
    best, value = np.copy(x0), fun(x0)
    for _ in range(maxiter):
        trials = [best + sign * stepsize * unit for unit in np.eye(np.size(x0)) for sign in (-1, 1)]
        values = [fun(trial, *args) for trial in trials]
        if min(values) >= value:
            break
        best, value = trials[int(np.argmin(values))], min(values)
    return scipy.optimize.OptimizeResult(fun=value, x=best, success=True)


START = [1.3, 0.7, 0.8, 1.9, 1.2]
CIRCLE = scipy.optimize.NonlinearConstraint(lambda x: [x[0] ** 2 + x[1], x[0] ** 2 - x[1]], -np.inf, 1)
PLANE = scipy.optimize.LinearConstraint([[1, 2], [2, 1]], [-np.inf, 1], [1, 1])
CONES = (
    {"type": "ineq", "fun": lambda x: np.stack([1 - x[0] - 2 * x[1], 1 - x[0] ** 2 - x[1]])},
    {"type": "eq", "fun": lambda x: 2 * x[0] + x[1] - 1},
)
BOUNDS = [(0, 1), (-0.5, 2.0)]
# fun, x0, what else: each is called as SciPy's is
CALLS = {
    "list": (rosen, START, {}),
    "tuple": (rosen, tuple(START), {"method": "L-BFGS-B"}),
    "integers": (rosen, (2, 0), {"method": "BFGS"}),
    "array": (rosen, np.array(START), {"method": "CG", "options": {"gtol": 1e-8}}),
    "nelder-mead": (rosen, START, {"method": "nelder-mead", "options": {"xatol": 1e-8, "maxfev": 5000}}),
    "powell": (rosen, START[:2], {"method": "powell"}),
    "arguments": (rosen_with_args, START, {"args": (0.5, 1.0), "method": "BFGS"}),
    "one number": (lambda x: (x - 2.0) ** 2, 0.5, {}),
    "element": (lambda x: -(np.sin(x[0]) ** 2), 0.5, {}),
    "value and gradient": (
        lambda x: (-(np.sin(x[0]) ** 2), -2 * np.sin(x[0]) * np.cos(x[0])), 0.5, {"jac": True}
    ),
    "gradient as a list": (
        lambda x: x[0] ** 2 + (x[1] - 1) ** 2, [1, 2], {"jac": lambda x: [2 * x[0], 2 * x[1] - 2]}
    ),
    "differences": (rosen, START, {"jac": "3-point", "method": "BFGS"}),
    "complex step": (lambda x: np.sum((x - 2.0) ** 2), [0.0, 1.0], {"jac": "cs", "method": "BFGS"}),
    "two bounds": (rosen, [0.5, 0], {"bounds": [(0, 1), (0, None)]}),
    "two bounds of tuples": (rosen, (0.5, 0), {"bounds": ((0, 0.5), (0, None)), "method": "TNC"}),
    "two bounds as rows": (rosen, (0.5, 0), {"bounds": np.array([[0, 0.5], [0, 2]]), "method": "SLSQP"}),
    "Bounds": (rosen, [0.5, 0], {"bounds": scipy.optimize.Bounds([0, -0.5], [0.8, 2.0])}),
    "bounds of simplices": (rosen, [0.5, 0], {"bounds": BOUNDS, "method": "Nelder-Mead"}),
    "trust-constr": (
        rosen,
        np.array([0.5, 0]),
        {"method": "trust-constr", "constraints": [PLANE, CIRCLE], "bounds": BOUNDS},
    ),
    "SLSQP": (rosen, [0.5, 0], {"method": "SLSQP", "constraints": CONES, "bounds": BOUNDS}),
    "COBYLA": (rosen, [0.5, 0], {"method": "COBYLA", "constraints": CONES[0], "options": {"maxiter": 5000}}),
    "a function": (rosen, [1.35, 0.9, 0.8], {"method": search_by_hand, "options": {"stepsize": 0.05}}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
@pytest.mark.parametrize("name", CALLS)
def test_minimize_as_scipys(name):
    fun, x0, options = CALLS[name]
    their = scipy.optimize.minimize(fun, x0, **options)
    our = optimize.minimize(fun, x0, **options)
    assert our.success
    assert_alike(our.x, their.x)
    assert type(our.fun) is type(their.fun) or np.ndim(our.fun) == np.ndim(their.fun) == 0
    np.testing.assert_allclose(our.x, their.x, rtol=2e-3, atol=2e-3)


def test_callbacks_as_scipys():
    seen = []
    optimize.minimize(rosen, START, method="BFGS", callback=seen.append)
    assert all(type(x) is np.ndarray and x.shape == (5,) for x in seen)
    assert len({id(x) for x in seen}) == len(seen) > 5


EQUATIONS = {
    "one number": (lambda x: x + 2 * np.cos(x), 0.3, {}),
    "two": (lambda x: [x[0] * np.cos(x[1]) - 4, x[1] * x[0] - x[1] - 5], [1, 1], {"method": "lm"}),
    "with their Jacobian": (
        lambda x: ([x[0] * x[1] - 2, x[0] - x[1] - 1], [[x[1], x[0]], [1, -1]]), (1, 1), {"jac": True}
    ),
    "broyden": (lambda x: [x[0] - 0.1 * x[1] - 1, x[1] - 0.1 * x[0]], (0, 0), {"method": "broyden1"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUATIONS)
def test_root_as_scipys(name):
    fun, x0, options = EQUATIONS[name]
    their = scipy.optimize.root(fun, x0, **options)
    our = optimize.root(fun, x0, **options)
    assert_alike(our.x, their.x)
    np.testing.assert_allclose(our.x, their.x, rtol=1e-5)


FITS = {
    "one number": ((lambda x: x**2 - 2.0), 1.0, {}),
    "list and lists of bounds": (
        lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), [2, 2], {"bounds": ([-np.inf, 1.5], np.inf)}
    ),
    "tuple": (lambda x: x - 2.0, (0.1, 0.1), {"bounds": ([0, 0], [1, 1])}),
    "arrays of bounds": (lambda x: x - 2.0, (0.1, 0.1), {"bounds": (np.zeros(2), np.ones(2))}),
    "no bounds": (lambda x: x - 2.0, (0.1, 0.1), {"bounds": (-np.inf, np.inf), "method": "lm"}),
    "Bounds": (lambda x: x - 2.0, (0.1, 0.1), {"bounds": scipy.optimize.Bounds([0, 0], 1)}),
    "robust": (
        lambda x, t: x[0] * t - np.sin(t), (0.1,), {"loss": "soft_l1", "args": (np.linspace(0, 1, 5),)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_least_squares_as_scipys(name):
    fun, x0, options = FITS[name]
    their = scipy.optimize.least_squares(fun, x0, **options)
    our = optimize.least_squares(fun, x0, **options)
    assert_alike(our.x, their.x)
    np.testing.assert_allclose(our.x, their.x, rtol=1e-4)


def test_a_sparse_jacobian_is_one():
    """100 000 unknowns: three columns at once, and never a matrix of 10^10 zeros."""

    def broyden(x):
        f = (3 - x) * x + 1
        f[1:] -= x[:-1]
        f[:-1] -= 2 * x[1:]
        return f

    n = 100_000
    tridiagonal = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    found = optimize.least_squares(broyden, -np.ones(n), jac_sparsity=tridiagonal, max_nfev=2)
    x = -np.ones(5)
    small = optimize.least_squares(broyden, x, jac_sparsity=tridiagonal.tocsr()[:5, :5], max_nfev=1)
    dense = optimize.least_squares(broyden, x, max_nfev=1)
    assert scipy.sparse.issparse(found.jac)
    assert found.jac.nnz == 3 * n - 2
    np.testing.assert_allclose(small.jac.toarray(), dense.jac)
