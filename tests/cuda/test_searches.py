"""Stochastic descent, and derivatives of what searches find, with CuPy arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lindiff as ld
from lindiff import descent
from lindiff.scipy import optimize

X = np.random.default_rng(0).standard_normal((12, 3))
Y = X @ np.array([1.0, -2.0, 0.5])


def squares(w, X, y):
    return np.mean((X @ w - y) ** 2)


METHODS = [
    descent.sgd(0.1, momentum=0.9, dampening=0.1),
    descent.adam(descent.warmup(descent.cosine(0.1, 10), 2), amsgrad=True),
    descent.adamw(descent.piecewise([0.1, 0.01], [3])),
    descent.rmsprop(0.1, momentum=0.5, centered=True),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_methods(cupy, method):
    found = descent.Descent(squares, cupy.asarray(np.zeros(3)), method, (cupy.asarray(X), cupy.asarray(Y)))
    expected = descent.Descent(squares, np.zeros(3), method, (X, Y)).run(6, progress=False)
    assert type(found.run(6, progress=False).params) is cupy.ndarray
    assert_allclose(found.params.get(), expected.params, rtol=1e-12)
    assert_allclose(found.losses, expected.losses, rtol=1e-12)


def test_batches(cupy):
    parts = [*descent.minibatches((cupy.asarray(X), cupy.asarray(Y)), 5, rng=1)]
    expected = [*descent.minibatches((X, Y), 5, rng=1)]
    for part, other in zip(parts, expected, strict=True):
        assert_allclose(part[0].get(), other[0])
        assert_allclose(part[1].get(), other[1])


@pytest.mark.parametrize("search", ["minimize", "least_squares", "root"])
@pytest.mark.parametrize("bounds", [None, (0.6, 9.0)], ids=["free", "bounds"])
def test_ends_of_searches(cupy, search, bounds):
    if bounds is not None and search == "root":
        pytest.skip("a root has no bounds")

    def found(c, like):
        if search == "minimize":
            pairs = None if bounds is None else [bounds] * 2
            f = lambda x: np.sum((x - c) ** 2) + 0.1 * np.sum(x**4)
            return optimize.minimize(f, like, tol=1e-10, bounds=pairs).x
        if search == "root":
            return optimize.root(lambda x: x**3 + x - c, like, tol=1e-12).x
        how = {} if bounds is None else {"bounds": bounds}
        return optimize.least_squares(lambda x: x**3 + x - c, like, xtol=1e-14, **how).x

    c, w = np.array([2.0, 0.5]), np.array([1.0, 10.0])
    slope = ld.grad(lambda c: np.sum(found(c, np.ones(2)) * w))(c)
    on_device = cupy.asarray(w)
    got = ld.grad(lambda c: np.sum(found(c, cupy.asarray(np.ones(2))) * on_device))(cupy.asarray(c))
    assert type(got) is cupy.ndarray
    assert_allclose(got.get(), slope, rtol=1e-6)
    if bounds is not None:
        assert slope[1] == 0
