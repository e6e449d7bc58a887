"""Derivatives of log densities of single steps: compiled, against recursions in functions that dispatch."""

import numpy as np
import pytest

import lindiff as ld
from lindiff.kernels.kalman import Sweep
from lindiff.statespace import loglikelihood
from lindiff.testing import check_grads

ALL = tuple(range(7))


def covariance(rng, *shape):
    G = rng.standard_normal((*shape, shape[-1]))
    return 0.3 * G @ np.swapaxes(G, -1, -2) + 0.2 * np.eye(shape[-1])


def case(rng, T=12, n=3, p=2, series=None, varying=False, missing=False, independent=False):
    """y, transition, design, state_cov, obs_cov, initial_state, initial_state_cov, and weights."""
    steps = (T,) if varying else ()
    many = () if series is None else (series,)
    obs_cov = covariance(rng, *steps, p)
    y = rng.standard_normal((*many, T, p))
    y[rng.random(y.shape) < 0.3 * missing] = np.nan
    return (
        y,
        0.5 * rng.standard_normal((*steps, n, n)),
        rng.standard_normal((*steps, p, n)),
        covariance(rng, *steps, n),
        obs_cov * np.eye(p) if independent else obs_cov,
        rng.standard_normal((*many, n)),
        covariance(rng, n),
    ), rng.standard_normal((*many, T))


CASES = {
    "one": {},
    "elements": {"independent": True},
    "number": {"n": 1, "p": 1},
    "varying": {"varying": True},
    "missing": {"missing": True},
    "missing elements": {"missing": True, "independent": True, "varying": True},
    "many": {"series": 3},
    "many with gaps": {"series": 3, "missing": True, "independent": True},
    "large": {"n": 9, "p": 4, "varying": True},
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_recursions(rng, name):
    arrays, weights = case(rng, **CASES[name])

    def weighted(*arrays, method=None):
        return np.sum(weights * loglikelihood(*arrays, method=method, per_step=True))

    found = ld.grad(weighted, argnums=ALL)(*arrays)
    expected = ld.grad(lambda *arrays: weighted(*arrays, method="square_root"), argnums=ALL)(*arrays)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["one", "missing elements", "many"])
def test_second_derivatives(rng, name):
    (y, *rest), weights = case(rng, T=6, **CASES[name])

    def weighted(scale, noise, weights):
        transition, design, state_cov, obs_cov, *start = rest
        model = scale * transition, design, state_cov, noise * obs_cov, *start
        return np.sum(weights * loglikelihood(y, *model, per_step=True))

    check_grads(weighted, (0.9, 1.2, weights), order=2, rtol=1e-5)


def test_intercepts_of_each_series(rng):
    (y, *model), weights = case(rng, series=3)

    def weighted(intercept, level):
        terms = loglikelihood(y, *model, state_intercept=intercept, obs_intercept=level, per_step=True)
        return np.sum(weights * terms)

    check_grads(weighted, (rng.standard_normal((3, 12, 3)), rng.standard_normal(2)), order=1, rtol=1e-6)


def test_diffuse_states(rng):
    y, weights = np.cumsum(rng.standard_normal(30)), rng.standard_normal(30)

    def weighted(variances):
        level, noise = variances[:, None, None]
        return np.sum(
            weights * loglikelihood(y, np.eye(1), np.eye(1), level, noise, diffuse=True, per_step=True)
        )

    check_grads(weighted, (np.array([0.7, 1.3]),), order=2, rtol=1e-5)


def test_equal_weights_are_the_gradient_of_the_sum(rng):
    arrays, _ = case(rng, T=300, missing=True, independent=True)
    found = ld.grad(lambda *a: np.sum(loglikelihood(*a, per_step=True)), argnums=ALL)(*arrays)
    for x, y in zip(found, ld.grad(loglikelihood, argnums=ALL)(*arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)


def test_scores_of_steps_are_rows_of_the_jacobian(rng):
    (y, *model), _ = case(rng)

    def terms(scale):
        return loglikelihood(y, scale * model[0], *model[1:], per_step=True)

    by_rows = [ld.grad(lambda s, t=t: terms(s)[t])(0.8) for t in range(len(y))]
    np.testing.assert_allclose(by_rows, ld.jvp(terms, (0.8,), (1.0,))[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("block", [0, 4])
def test_sweeps_by_blocks_and_sparse_transitions(rng, block):
    T, n, s = 17, 20, 2
    A = 0.9 * np.eye(n, k=1)
    A[0, 0] = 0.5
    arrays = [rng.standard_normal((T, 2, s)), A, rng.standard_normal((2, n)), 0.1 * np.eye(n), np.ones(2)]
    arrays += [rng.standard_normal((n, s)), np.eye(n), rng.standard_normal((T, n, 1))]
    weights = rng.standard_normal((T, s))

    def value(*arrays):
        sweep = Sweep(*arrays, independent=True, tolerance=-1.0)
        return np.sum(weights * (-0.5 * (sweep.quad + sweep.logdet[:, None])))

    found = Sweep(*arrays, independent=True, block=block).pull_steps(weights, (True,) * 8)
    for i, bar in enumerate(found):
        dot = rng.standard_normal(bar.shape)
        dot = dot + dot.T if i in (3, 6) else dot
        moved = [x.astype(complex) for x in arrays]
        moved[i] += 1e-30j * dot
        np.testing.assert_allclose(np.sum(bar * dot), value(*moved).imag / 1e-30, rtol=1e-9, atol=1e-11)


def test_float32(rng):
    arrays, weights = case(rng)
    single = [np.float32(x) for x in arrays]
    gradient = ld.grad(
        lambda *a: np.sum(np.float32(weights) * loglikelihood(*a, per_step=True)), argnums=(1, 4)
    )
    for x, y in zip(gradient(*single), gradient(*arrays), strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-4)
