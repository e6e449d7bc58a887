"""Maps of unconstrained numbers to parameters: onto what is allowed, one to one, with derivatives."""

from __future__ import annotations

import pydoc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lindiff as ld
from lindiff import statespace
from lindiff.testing import check_grads

# name, numbers of unconstrained ones that it takes
SIZES = {
    "positive": [0, 1, 3],
    "stationary": [0, 1, 2, 5],
    "invertible": [0, 1, 2, 5],
    "covariance": [1, 3, 6, 10],
    "correlation": [1, 3, 6],
}
CASES = [(name, size) for name, sizes in SIZES.items() for size in sizes]


def allowed(name, parameters):
    """Whether parameters are inside of what the transform stands for, by its definition."""
    if name == "positive":
        return np.all(parameters > 0)
    if name in ("stationary", "invertible"):
        companion = np.eye(len(parameters), k=-1)
        companion[:1] = parameters if name == "stationary" else -parameters
        return np.all(np.abs(np.linalg.eigvals(companion)) < 1)
    symmetric = np.allclose(parameters, parameters.T, rtol=1e-14)
    ones = name == "covariance" or np.allclose(np.diag(parameters), 1.0, rtol=1e-14)
    return symmetric and ones and np.linalg.eigvalsh(parameters)[0] > 0


@pytest.mark.parametrize(("name", "size"), CASES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_into_what_is_allowed_and_back(name, size, data):
    x = data.draw(hnp.arrays(np.float64, size, elements=st.floats(-3, 3)))
    transform = getattr(statespace, name)
    parameters = transform.constrain(x)
    assert allowed(name, parameters)
    np.testing.assert_allclose(transform.unconstrain(parameters), x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "size"), CASES)
def test_derivatives(name, size):
    x = np.random.default_rng(1).normal(size=size)
    check_grads(getattr(statespace, name).constrain, [x], order=2)


@pytest.mark.parametrize(("name", "size"), CASES)
def test_leading_axes_and_dtype(name, size):
    x = np.random.default_rng(2).normal(size=(2, 3, size)).astype(np.float32)
    transform = getattr(statespace, name)
    parameters = transform.constrain(x)
    assert parameters.dtype == np.float32
    np.testing.assert_allclose(parameters[1, 2], transform.constrain(x[1, 2]), rtol=1e-6)
    back = transform.unconstrain(parameters)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, x, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 2), (1, 3, 3), (2, 2, 2), (3, 2, 2)])
def test_stationary_vector_autoregressions(shape):
    x = np.random.default_rng(5).normal(size=shape)
    coefficients = statespace.stationary_var.constrain(x)
    assert coefficients.shape == shape
    model = statespace.var(coefficients, np.eye(shape[-1]))  # which refuses what is not stationary
    assert np.linalg.eigvalsh(model.initial_state_cov)[0] > 0
    np.testing.assert_allclose(statespace.stationary_var.unconstrain(coefficients), x, rtol=1e-9, atol=1e-9)
    check_grads(statespace.stationary_var.constrain, [x], order=2)


def test_partial_autocorrelations_of_vectors_are_regressions():
    """x of a vector autoregression of one lag, from the definition by autocovariances."""
    A = np.array([[0.5, 0.3], [-0.2, 0.7]])
    G = statespace.var(A, np.eye(2)).initial_state_cov
    L = np.linalg.cholesky(G)
    P = np.linalg.solve(L, A @ L)  # of y_t and y_{t-1}, both whitened by L
    C = np.linalg.cholesky(np.eye(2) - P @ P.T)
    np.testing.assert_allclose(statespace.stationary_var.unconstrain(A), np.linalg.solve(C, P), rtol=1e-12)


def test_stationary_var_of_one_series_is_stationary():
    x = np.random.default_rng(6).normal(size=4)
    of_matrices = statespace.stationary_var.constrain(x[:, None, None])[:, 0, 0]
    np.testing.assert_allclose(of_matrices, statespace.stationary.constrain(x), rtol=1e-12)


def test_stationary_is_statsmodels():
    """Whose partial autocorrelations have the other sign."""
    tools = pytest.importorskip("statsmodels.tsa.statespace.tools")
    x = np.random.default_rng(3).normal(size=4)
    np.testing.assert_allclose(
        statespace.stationary.constrain(x), tools.constrain_stationary_univariate(-x), rtol=1e-13
    )


def test_first_partial_autocorrelation_is_the_first_autocorrelation():
    """Of an AR(2) process: ar_1 / (1 - ar_2), Monahan (1984)."""
    x = np.array([0.7, -0.4])
    ar = statespace.stationary.constrain(x)
    np.testing.assert_allclose(ar[0] / (1 - ar[1]), x[0] / np.sqrt(1 + x[0] ** 2))


def test_models_of_transformed_parameters():
    """Any unconstrained numbers give a likelihood, and a gradient."""
    y = np.random.default_rng(4).normal(size=20)

    def loglikelihood(x):
        ar, ma = statespace.stationary.constrain(x[:2]), statespace.invertible.constrain(x[2:4])
        return statespace.loglikelihood(y, *statespace.arma(ar, ma, statespace.positive.constrain(x[4])))

    for seed in range(5):
        slopes = ld.grad(loglikelihood)(2 * np.random.default_rng(seed).normal(size=5))
        assert np.all(np.isfinite(slopes))


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("positive", np.array([1.0, 0.0]), r"positive: all of \[1. 0.\] must be greater than 0"),
        ("positive", np.nan, "must be greater than 0"),
        (
            "stationary",
            np.array([1.0]),
            r"stationary: the coefficients \[1.\] are not those of a stationary process",
        ),
        ("stationary", np.array([0.6, 0.6]), r"\[0.6 0.6\] are not those of a stationary"),
        ("invertible", np.array([-2.0, 1.0]), r"\[-2.  1.\] are not those of an invertible"),
        ("stationary", 0.5, r"write \[0.5\]"),
        ("stationary_var", np.eye(2), "are not those of a stationary process"),
        ("stationary_var", np.ones(3), r"are \(k, p, p\) or \(p, p\), got shape \(3,\)"),
        ("covariance", np.ones((2, 2)), "is not positive definite"),
        ("covariance", np.array([[1.0, 0.5], [0.0, 1.0]]), "is not symmetric"),
        ("covariance", np.ones(3), r"a square matrix is needed, got shape \(3,\)"),
        ("correlation", 2 * np.eye(2), "is not one"),
    ],
)
def test_outside_of_what_is_allowed(name, parameters, says):
    with pytest.raises(ValueError, match=says):
        getattr(statespace, name).unconstrain(parameters)


@pytest.mark.parametrize(("name", "size"), [("covariance", 2), ("correlation", 2), ("correlation", 4)])
def test_numbers_that_fill_no_triangle(name, size):
    with pytest.raises(ValueError, match=f"{name}: {size} numbers fill no triangle"):
        getattr(statespace, name).constrain(np.ones(size))


def test_help_tells_what_each_map_is():
    public = {name: getattr(statespace, name) for name in statespace.__all__}
    maps = {name: x for name, x in public.items() if isinstance(x, statespace.Transform)}
    assert len(maps) >= 6
    for transform in maps.values():
        assert transform.__doc__ != statespace.Transform.__doc__
        assert transform.__doc__ in pydoc.render_doc(transform, renderer=pydoc.plaintext).replace(
            "\n    ", "\n"
        )
        constrain, unconstrain = transform
        assert statespace.Transform(constrain, unconstrain) == transform
