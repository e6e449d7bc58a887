"""What NumPy says of overflows and invalid operations is said of Variables, so that branches are the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lindiff as ld

HUGE = np.array([1e200, 2e200, 1.5e200])
NEAR = HUGE * 0.85e108
OF = {
    "vectors": (lambda x: x @ x, HUGE),
    "matrices": (lambda x: np.diag(x) @ np.diag(x), HUGE),
    "many": (lambda x: np.tile(x, 400) @ np.tile(x, 400), HUGE),
    "stacks": (lambda x: np.stack([np.diag(x)] * 2) @ np.stack([np.diag(x)] * 2), HUGE),
    "complex": (lambda x: (1j * x) @ x, HUGE),
    "dot": (lambda x: np.dot(x, x), HUGE),
    "inner": (lambda x: np.inner(x, x), HUGE),
    "outer": (lambda x: np.outer(x, x), HUGE),
    "tensordot": (lambda x: np.tensordot(x, x, 1), HUGE),
    "multi_dot": (lambda x: np.linalg.multi_dot([x, np.diag(x), x]), HUGE),
    "matrix_power": (lambda x: np.linalg.matrix_power(np.diag(x), 3), HUGE),
    "norm": (np.linalg.norm, HUGE),
    "cross": (lambda x: np.cross(x, x[::-1]), HUGE),
    "cov": (np.cov, HUGE),
    "square": (np.square, HUGE),
    "multiply": (lambda x: x * x, HUGE),
    "prod": (np.prod, HUGE),
    "sum": (np.sum, NEAR),
    "cumsum": (np.cumsum, NEAR),
    "trace": (lambda x: np.trace(np.diag(x)), NEAR),
    "exp": (np.exp, HUGE),
    "log": (lambda x: np.log(-x), HUGE),
    "divide": (lambda x: x / (x - x), HUGE),
    "nanmean": (lambda x: np.nanmean(x[:1] * np.nan), HUGE),
    "nansum": (lambda x: np.nansum(np.exp(x) * [1.0, -1.0, np.nan]), np.array([800.0, 800.0, 1.0])),
    "nansum of infinities": (lambda x: np.nansum(x * [1.0, -1.0, np.nan]), np.array([np.inf, np.inf, 1.0])),
    "nanmean of infinities": (lambda x: np.nanmean(x * [1.0, -1.0, np.nan]), np.array([np.inf, np.inf, 1.0])),
    "finite": (lambda x: np.outer(x, 1 / x) @ x, HUGE),
}


def fails(f, x):
    with np.errstate(over="raise", invalid="raise", divide="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of empty means
        try:
            f(x)
        except FloatingPointError:
            return True
    return False


# Of older versions of NumPy np.dot, and what is made of it, says nothing.
DOT_TELLS = fails(OF["dot"][0], HUGE)
BY_DOT = {"dot", "inner", "tensordot", "multi_dot", "norm", "cov"}


@pytest.mark.parametrize("name", [name for name in OF if DOT_TELLS or name not in BY_DOT])
@pytest.mark.parametrize("mode", [ld.vjp, lambda f, x: ld.jvp(f, (x,), (x,))], ids=["reverse", "forward"])
def test_errors_are_numpys(name, mode):
    f, x = OF[name]
    found = []
    mode(lambda x: (found.append(fails(f, x)), x)[1], x)
    assert found == [fails(f, x)] == [name not in ("nanmean", "finite")]


def test_a_script_that_falls_back():
    def f(x):
        with np.errstate(over="raise"):
            try:
                return np.exp(-(x @ x))
            except FloatingPointError:
                return np.sum(x / 1e200)

    value, gradient = ld.value_and_grad(f)(HUGE)
    assert value == f(HUGE)
    np.testing.assert_allclose(gradient, 1e-200)
