"""Results own what they were made of: arrays that are changed afterwards change nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from lindiff import gp
from lindiff.core.pytree import flatten
from lindiff.gp.kernels import RBF, CompoundKernel, WhiteKernel

rng = np.random.default_rng(0)
X = rng.uniform(0, 3, (20, 2))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(20)
NEW = rng.uniform(0, 3, (4, 2))


def scaled(params, X):
    return X * params["scale"]


def given():
    """What results are made of, anew."""
    return {
        "kernel": RBF(np.array([1.0, 2.0])).warped(scaled, {"scale": np.array([1.0, 0.5])}),
        "X": X.copy(),
        "y": Y.copy(),
        "signs": (Y > 0.5).astype(float),
        "noise": np.full(20, 0.1),
        "Z": X[:6].copy(),
        "m": rng.standard_normal(6),
        "R": np.eye(6),
        "axes": [np.linspace(0, 1, 4), np.linspace(0, 1, 5)],
        "kernels": [RBF(np.array([1.0])), RBF(np.array([2.0]))],
        "field": rng.standard_normal((4, 5)),
    }


def fitted(of, noise, **options):
    found = gp.fit(of["X"], of["y"], of["kernel"], noise, options={"maxiter": 3}, **options)
    return lambda new: found.posterior().mean_and_var(new)


def on_grid(of):
    posterior = gp.condition_on_grid(of["kernels"], of["axes"], of["field"], 0.1)
    return lambda new: (posterior.mean([*new.T]), posterior.var([*new.T]))


def of_signs(condition, of):
    return condition(of["kernel"], of["X"], of["signs"], gp.Bernoulli()).mean_and_var


MADE = {
    "condition": lambda of: gp.condition(of["kernel"], of["X"], of["y"], of["noise"]).mean_and_var,
    "sparse": lambda of: gp.condition_sparse(of["kernel"], of["X"], of["y"], of["Z"], 0.1).mean_and_var,
    "laplace": lambda of: of_signs(gp.condition_laplace, of),
    "ep": lambda of: of_signs(gp.condition_ep, of),
    "variational": lambda of: gp.variational_posterior(of["kernel"], of["Z"], of["m"], of["R"]).mean_and_var,
    "prior paths": lambda of: gp.prior_paths(of["kernel"], 2, 0),
    "fit": lambda of: fitted(of, of["noise"]),
    "fit by inducing points": lambda of: fitted(of, 0.1, inducing=of["Z"], fixed_inducing=True),
    "grid": on_grid,
}


@pytest.mark.parametrize("made", MADE)
def test_arrays_that_are_changed_afterwards(made):
    of = given()
    predicted = MADE[made](of)
    before = copy.deepcopy(predicted(NEW))
    for leaf in flatten(of)[0]:
        leaf *= 3
    for a, b in zip(flatten(before)[0], flatten(predicted(NEW))[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_estimators():
    estimators = pytest.importorskip("lindiff.gp.estimators")
    for kind, options in (
        (estimators.GaussianProcessRegressor, {}),
        (estimators.SparseGaussianProcessRegressor, {"inducing": X[:5].copy()}),
    ):
        scales = np.array([1.0, 2.0])
        model = kind(RBF(scales) + WhiteKernel(0.1), optimizer=None, **options).fit(X, Y)
        before, likelihood = model.predict(NEW), model.log_marginal_likelihood(model.kernel_.theta)
        scales[:] = 5
        for array in options.values():
            array[:] = 7
        np.testing.assert_array_equal(model.predict(NEW), before)
        assert model.log_marginal_likelihood(model.kernel_.theta) == likelihood


def test_kernels_side_by_side():
    kernels = [RBF(1.0)]
    compound = CompoundKernel(kernels)
    kernels.append(RBF(2.0))
    assert len(compound.theta) == 1
