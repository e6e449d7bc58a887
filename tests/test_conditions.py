"""A look without Python says only what is surely in order; all else is looked at where errors are made."""

import numpy as np
import pytest

import lindiff as ld
from lindiff import statespace
from lindiff.kernels.conditions import has_nan, model_in_order
from lindiff.statespace import model as models

NAMES = ("y", "transition", "design", "state_cov", "obs_cov", "initial_state", "initial_state_cov")


def ordinary(n=3, p=2, T=5, seed=0):
    rng = np.random.default_rng(seed)
    half, noise, start = (rng.standard_normal((k, k)) for k in (n, p, n))
    covariances = half @ half.T, noise @ noise.T, start @ start.T
    Q, R, P = (0.5 * (X + X.T) for X in covariances)
    y = rng.standard_normal((T, p))
    y[1] = np.nan
    return [y, rng.standard_normal((n, n)), rng.standard_normal((p, n)), Q, R, rng.standard_normal(n), P]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("T", [0, 1, 4])
def test_the_same_system_either_way(n, p, T, monkeypatch):
    arrays = ordinary(n, p, max(T, 2))
    arrays[0] = arrays[0][:T]
    assert model_in_order(*arrays)
    fast = models.canonical("f", *arrays)
    monkeypatch.setattr(models, "model_in_order", lambda *arrays: False)
    for one, other in zip(fast, models.canonical("f", *arrays), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)
        assert np.shape(one) == np.shape(other)


def test_one_number_a_step():
    arrays = ordinary(p=1)
    assert model_in_order(arrays[0][:, 0].copy(), *arrays[1:])
    assert not model_in_order(ordinary()[0][:, 0].copy(), *ordinary()[1:])


def replaced(place, change):
    arrays = ordinary()
    arrays[place] = change(arrays[place])
    return arrays


def with_number(value, at):
    def change(x):
        x = x.copy()
        x.flat[at] = value
        return x

    return change


ELSEWHERE = {  # these are allowed, but not looked at here
    "a list": lambda x: x.tolist(),
    "float32": lambda x: x.astype(np.float32),
    "integers": lambda x: np.round(np.nan_to_num(x)).astype(int),
    "bytes the other way": lambda x: x.astype(x.dtype.newbyteorder()),
    "by columns": lambda x: np.concatenate([x, x])[::2],
    "one axis more": lambda x: x[None],
    "an empty array": lambda x: x[:0],
    "None": lambda x: None,
    "a number": lambda x: 1.0,
}


@pytest.mark.parametrize("place", range(7), ids=NAMES)
@pytest.mark.parametrize("change", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_no_ordinary_array(place, change):
    if place == 0 and change is ELSEWHERE["an empty array"]:
        return  # no step is a series, too
    assert not model_in_order(*replaced(place, change))


WRONG = [
    (0, np.inf, 3, "infinite"),
    (1, np.nan, 4, "transition holds"),
    (2, -np.inf, 5, "design holds"),
    (3, np.nan, 0, "state_cov holds"),
    (3, -1.0, 4, "negative variance"),
    (3, 100.0, 1, "not symmetric"),
    (4, np.inf, 3, "obs_cov holds"),
    (5, np.nan, 2, "initial_state holds"),
    (6, np.nan, 8, "initial_state_cov holds"),
]


@pytest.mark.parametrize(("place", "number", "at", "message"), WRONG)
def test_wrong_numbers(place, number, at, message):
    arrays = replaced(place, with_number(number, at))
    assert not model_in_order(*arrays)
    with pytest.raises(ValueError, match=message):
        statespace.loglikelihood(*arrays)


def test_correlations():
    arrays = ordinary()
    for place in (3, 4, 6):
        X = arrays[place].copy()
        X[0, 1] = X[1, 0] = 1.001 * np.sqrt(X[0, 0] * X[1, 1])
        assert not model_in_order(*replaced(place, lambda _, X=X: X))
        X[0, 1] = X[1, 0] = np.sqrt(X[0, 0] * X[1, 1])  # one
        assert model_in_order(*replaced(place, lambda _, X=X: X))
        X[0] = X[:, 0] = 0
        assert model_in_order(*replaced(place, lambda _, X=X: X))
        X[0, 1] = X[1, 0] = 1e-200
        assert not model_in_order(*replaced(place, lambda _, X=X: X))


@pytest.mark.parametrize(
    "make", [np.copy, np.asfortranarray, lambda x: x.astype(np.float32), lambda x: x[::2]]
)
def test_nans(make):
    x = np.arange(12.0).reshape(4, 3)
    assert not has_nan(make(x))
    x[2, 1] = np.nan
    assert has_nan(make(x))


@pytest.mark.parametrize("n", [1, 3])
def test_variables(n, monkeypatch):
    """Gradients of covariances are symmetric either way."""
    weights = np.random.default_rng(1).standard_normal((n, n))

    def f(*arrays):
        system = models.canonical("f", *arrays)
        parts = system.transition, system.state_cov, system.initial_state_cov
        return sum(np.sum(np.sin(weights * x)) for x in parts)

    arrays = ordinary(n)
    fast = ld.grad(f, argnums=(1, 3, 6))(*arrays)
    for X in fast[1:]:
        np.testing.assert_array_equal(X, X.T)
    monkeypatch.setattr(models, "model_in_order", lambda *arrays: False)
    for one, other in zip(fast, ld.grad(f, argnums=(1, 3, 6))(*arrays), strict=True):
        np.testing.assert_array_equal(one, other)
