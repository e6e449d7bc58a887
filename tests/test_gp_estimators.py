"""scikit-learn's estimators: its own checks, its values, its tools around them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from sklearn import gaussian_process as theirs
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as their_kernels
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from lindiff.gp import Poisson
from lindiff.gp.estimators import (
    BayesianLinearRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
)
from lindiff.gp.kernels import RBF, Matern, WhiteKernel
from lindiff.gp.kernels.translated import from_sklearn

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (60, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(60)
TWO = np.stack([Y, 3 * np.cos(Y) + 2], axis=1)
NEW = rng.uniform(-2, 2, (5, 2))

ESTIMATORS = [
    GaussianProcessRegressor(),
    # Where a search for inducing points ends depends on rounding, which may differ between two fits.
    SparseGaussianProcessRegressor(n_inducing=5, fixed_inducing=True),
    GaussianProcessClassifier(1.0 * RBF(), optimizer=None),
    BayesianLinearRegression(),
]
CHECKS = [(estimator, check) for each in ESTIMATORS for estimator, check in estimator_checks_generator(each)]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_checks_of_sklearn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("y", [Y, Y[:, None], TWO], ids=["one", "column", "two"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_predictions_of_sklearn(y, normalize, optimizer):
    kernel = 1.0 * their_kernels.RBF([1.0, 1.0]) + their_kernels.WhiteKernel(0.1)
    options = {"normalize_y": normalize, "optimizer": optimizer}
    expected = theirs.GaussianProcessRegressor(kernel, **options).fit(X, y)
    got = GaussianProcessRegressor(kernel, **options).fit(X, y)
    rtol = 1e-7 if optimizer is None else 2e-3
    np.testing.assert_allclose(
        got.log_marginal_likelihood_value_, expected.log_marginal_likelihood_value_, rtol=rtol
    )
    for which in ({}, {"return_std": True}, {"return_cov": True}):
        a, b = got.predict(NEW, **which), expected.predict(NEW, **which)
        for ours, their in zip(*((x,) if not which else x for x in (a, b)), strict=True):
            assert ours.shape == their.shape
            np.testing.assert_allclose(ours, their, rtol=10 * rtol, atol=10 * rtol)
    assert got.sample_y(NEW, 3).shape == expected.sample_y(NEW, 3).shape
    theta = expected.kernel_.theta
    value, gradient = got.log_marginal_likelihood(theta, eval_gradient=True)
    their_value, their_gradient = expected.log_marginal_likelihood(theta, eval_gradient=True)
    np.testing.assert_allclose(value, their_value, rtol=1e-6)
    np.testing.assert_allclose(gradient, their_gradient, rtol=1e-4, atol=2e-2)


def test_before_fit_it_is_the_process():
    kernel = 2.0 * RBF(0.5)
    mean, std = GaussianProcessRegressor(kernel).predict(NEW, return_std=True)
    np.testing.assert_array_equal(mean, 0)
    np.testing.assert_allclose(std, np.sqrt(2))
    assert GaussianProcessRegressor(kernel).sample_y(NEW, 4).shape == (5, 4)


@pytest.mark.parametrize("targets", [None, 1, 3])
def test_numbers_of_targets(targets):
    kernel = their_kernels.RBF(0.5)
    ours, other = (
        g(kernel, n_targets=targets) for g in (GaussianProcessRegressor, theirs.GaussianProcessRegressor)
    )
    for which in ({"return_std": True}, {"return_cov": True}):
        for got, expected in zip(ours.predict(NEW, **which), other.predict(NEW, **which), strict=True):
            np.testing.assert_allclose(got, expected)
    assert ours.sample_y(NEW, 2).shape == other.sample_y(NEW, 2).shape
    if targets == 3:
        with pytest.raises(ValueError, match="number of targets seen"):
            ours.fit(X, Y)


def test_optimizers_of_ones_own():
    def optimizer(objective, theta, *, bounds):
        assert len(theta) > 0
        assert len(bounds) == len(theta)
        _, gradient = objective(theta)
        assert gradient.shape == theta.shape
        return theta + 0.5, objective(theta + 0.5, eval_gradient=False)

    for kind in (GaussianProcessRegressor, SparseGaussianProcessRegressor):
        model = kind(RBF(1.0) + WhiteKernel(0.1, "fixed"), optimizer=optimizer).fit(X, Y)
        np.testing.assert_allclose(model.kernel_.k1.length_scale, np.exp(0.5))
        with pytest.raises(ValueError, match="Unknown optimizer"):
            kind(RBF() + WhiteKernel(), optimizer="newton").fit(X, Y)
        fixed = kind(RBF(1.0, "fixed") + WhiteKernel(0.1, "fixed"), optimizer=optimizer).fit(X, Y)
        assert fixed.kernel_.k1.length_scale == 1.0
    classifier = GaussianProcessClassifier(RBF(1.0), optimizer=optimizer).fit(X, np.digitize(Y, [-0.5, 0.5]))
    assert all(kernel.length_scale == np.exp(0.5) for kernel in classifier.kernels_)
    for kind in (GaussianProcessRegressor, SparseGaussianProcessRegressor, GaussianProcessClassifier):
        with pytest.raises(ValueError, match="n_restarts_optimizer is 0 or more"):
            kind(RBF(), n_restarts_optimizer=-1).fit(X, (Y > 0).astype(int))


def test_restarts_are_drawn_between_bounds():
    X = np.linspace(0, 10, 40)[:, None]
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    kernel = 1e5 * RBF(1e5) + WhiteKernel(1e5)
    model = GaussianProcessRegressor(kernel, n_restarts_optimizer=5, random_state=0).fit(X, y)
    best = GaussianProcessRegressor(1.0 * RBF(1.0) + WhiteKernel(0.01)).fit(X, y)
    np.testing.assert_allclose(
        model.log_marginal_likelihood_value_, best.log_marginal_likelihood_value_, atol=1e-3
    )


@pytest.mark.parametrize("model", [GaussianProcessRegressor(), SparseGaussianProcessRegressor(n_inducing=12)])
@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
def test_targets_far_from_zero(model, y):
    model = model.set_params(random_state=0)
    near, far = (clone(model).fit(X, y + shift) for shift in (0.0, 101325.0))
    np.testing.assert_allclose(far.predict(NEW) - 101325.0, near.predict(NEW), atol=1e-3)
    assert far.score(X, y + 101325.0) > 0.9


def test_by_inducing_points():
    full = GaussianProcessRegressor().fit(X, Y)
    sparse = SparseGaussianProcessRegressor(n_inducing=30, random_state=0).fit(X, Y)
    np.testing.assert_allclose(sparse.predict(NEW), full.predict(NEW), atol=0.1)
    fixed = SparseGaussianProcessRegressor(inducing=X[:20], fixed_inducing=True).fit(X, Y)
    np.testing.assert_array_equal(fixed.inducing_points_, X[:20])


def test_around_them():
    frame, names = pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y)
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor()).fit(frame, names)
    assert model.score(frame, names) > 0.95
    with pytest.raises(ValueError, match="feature names"):
        GaussianProcessRegressor().fit(frame, names).predict(frame[["b", "a"]])
    grid = {"kernel": [RBF() + WhiteKernel(), Matern() + WhiteKernel()], "normalize_y": [False, True]}
    search = GridSearchCV(GaussianProcessRegressor(), grid, cv=2).fit(X, Y)
    assert search.best_score_ > 0.8
    for kernel in (RBF(), their_kernels.RBF()):
        model = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.01)
        scales = GridSearchCV(model, {"kernel__length_scale": [1e-3, 1.0, 1e3]}, cv=2).fit(X, Y)
        assert scales.best_params_ == {"kernel__length_scale": 1.0}
        assert model.kernel.length_scale == 1.0
    parts = {"kernel__k1": [RBF(), Matern(nu=2.5)], "kernel__k1__length_scale": [0.1, 1.0]}
    model = GaussianProcessRegressor(RBF() + WhiteKernel(0.01), optimizer=None)
    scores = GridSearchCV(model, parts, cv=2).fit(X, Y).cv_results_["mean_test_score"]
    assert len({*scores.round(8)}) == 4
    with pytest.raises(ValueError, match="has no 'scale'"):
        GaussianProcessRegressor(RBF()).set_params(kernel__scale=1.0)
    again = clone(search.best_estimator_).fit(X, Y)
    np.testing.assert_allclose(again.predict(NEW), search.predict(NEW))


def test_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], np.array(["a", "b", "c"])[y[::3]]
    model = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    expected = theirs.GaussianProcessClassifier(1.0 * their_kernels.RBF(1.0)).fit(X, y)
    assert model.score(X, y) >= 0.95
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    value = model.log_marginal_likelihood_value_
    np.testing.assert_allclose(value, expected.log_marginal_likelihood_value_, rtol=1e-3)


@pytest.mark.parametrize(
    ("unit_x", "unit_y"), [(1e-170, 1.0), (1e200, 1e-3), (1.0, 1e-170), (1e-200, 1e-200)]
)
def test_linear_regression_in_other_units(unit_x, unit_y):
    X = rng.standard_normal((50, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.standard_normal(50)
    expected, got = (
        BayesianLinearRegression().fit(X, y),
        BayesianLinearRegression().fit(X * unit_x, y * unit_y),
    )
    np.testing.assert_allclose(got.coef_ * unit_x / unit_y, expected.coef_, rtol=1e-6)
    means_and_stds = zip(got.predict(X * unit_x, True), expected.predict(X, True), strict=True)
    for own, other in means_and_stds:
        np.testing.assert_allclose(own / unit_y, other, rtol=1e-6, atol=1e-9)
    density = got.log_marginal_likelihood_value_ + (len(y) - 1) * np.log(unit_y)
    np.testing.assert_allclose(density, expected.log_marginal_likelihood_value_, rtol=1e-6)


def test_evidence_of_linear_regression():
    X = rng.standard_normal((200, 4))
    y = X @ np.array([1.0, -2.0, 0.0, 0.5]) + 3 + 0.3 * rng.standard_normal(200)
    got, expected = BayesianLinearRegression().fit(X, y), BayesianRidge(tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(got.coef_, expected.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got.intercept_, expected.intercept_, rtol=1e-4)
    np.testing.assert_allclose(got.alpha_, expected.alpha_, rtol=0.03)
    np.testing.assert_allclose(
        got.predict(X[:3], return_std=True)[1], expected.predict(X[:3], True)[1], rtol=0.02
    )
    centered = X - X.mean(axis=0)
    A = centered @ centered.T / got.lambda_ + np.eye(200) / got.alpha_
    r = y - y.mean()
    density = -0.5 * (r @ np.linalg.solve(A, r) + np.linalg.slogdet(A)[1] + 200 * np.log(2 * np.pi))
    of_the_mean = -0.5 * np.log(2 * np.pi / got.alpha_)  # which nothing is known of, once it is taken away
    np.testing.assert_allclose(got.log_marginal_likelihood_value_, density - of_the_mean)


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6])
def test_linear_regression_of_columns_of_other_scales(ratio):
    """Where all weights are zero is another maximum."""
    x = rng.standard_normal((40, 2)) * [1, ratio]
    y = 2 * x[:, 0] + 0.1 * rng.standard_normal(40)
    assert BayesianLinearRegression().fit(x, y).score(x, y) > 0.99


@pytest.mark.parametrize(("n", "d"), [(10, 9), (6, 5), (10, 30)])
def test_linear_regression_of_few_points(n, d):
    """With an intercept they have one dimension less."""
    certain = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        x, w = draw.standard_normal((n, d)), draw.standard_normal(d) / 3
        model = BayesianLinearRegression().fit(x, x @ w + 0.5 * draw.standard_normal(n))
        certain += np.median(model.predict(draw.standard_normal((50, d)), True)[1]) < 1e-2
    assert certain <= 6


def test_linear_regression_of_one_point():
    assert BayesianLinearRegression().fit(np.ones((1, 2)), np.array([3.0])).predict(np.zeros((1, 2))) == 3.0


def test_kernels_that_are_none():
    with pytest.raises(TypeError, match="or of scikit-learn; got str"):
        GaussianProcessRegressor("rbf").fit(X, Y)
    with pytest.raises(TypeError, match="scikit-learn's PairwiseKernel is not in"):
        from_sklearn(their_kernels.PairwiseKernel())

    class Matern(their_kernels.Matern):
        def __call__(self, X, Y=None, eval_gradient=False):
            return 2 * super().__call__(X, Y, eval_gradient)

    with pytest.raises(TypeError, match="Matern is a kernel of one's own for scikit-learn"):
        from_sklearn(1.0 * Matern())


def test_periodic_kernels_of_sklearn():
    kernel = their_kernels.ExpSineSquared(0.7, 1.3)
    np.testing.assert_allclose(from_sklearn(kernel)(X[:, :1]), kernel(X[:, :1]))
    np.testing.assert_allclose(from_sklearn(kernel).on(0)(X), kernel(X[:, :1]))
    with pytest.raises(ValueError, match="no covariance function of 2 columns"):
        GaussianProcessRegressor(kernel).fit(X, Y)


def test_masked_data():
    hidden = np.ma.masked_greater(Y, 0.5)
    for model in (GaussianProcessRegressor(), GaussianProcessClassifier(), BayesianLinearRegression()):
        with pytest.raises(ValueError, match="observations are masked"):
            model.fit(X, hidden)


@pytest.mark.parametrize("jobs", [None, 2])
def test_kernels_of_all_classes(jobs):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    kernel = 10.0 * their_kernels.RBF([1.0, 2.0])
    ours = GaussianProcessClassifier(kernel, optimizer=None, n_jobs=jobs).fit(X, y)
    other = theirs.GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    np.testing.assert_array_equal(ours.kernel_.theta, other.kernel_.theta)
    for theta in (kernel.theta + 0.1, other.kernel_.theta + np.linspace(0, 1, 9)):
        value, gradient = ours.log_marginal_likelihood(theta, eval_gradient=True)
        np.testing.assert_allclose(value, other.log_marginal_likelihood(theta), rtol=1e-6)
        by_differences = scipy.optimize.approx_fprime(theta, ours.log_marginal_likelihood)
        np.testing.assert_allclose(gradient, by_differences, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="9 numbers are searched for"):
        ours.log_marginal_likelihood(np.zeros(4))


def test_noise_of_the_process_is_one_of_new_points():
    """As in scikit-learn, which has it in the covariance of the process."""
    X, y = load_iris(return_X_y=True)
    X, y, new = X[40:60, :2], y[40:60], X[::25, :2]
    kernel = 4.0 * their_kernels.RBF(1.0) + their_kernels.WhiteKernel(4.0)
    ours = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    other = theirs.GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), other.predict_proba(new), atol=1e-3)
    latent = other.base_estimator_.latent_mean_and_variance(new)
    np.testing.assert_allclose(ours.latent_mean_and_variance(new), latent, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-8, 1e-5, 1.0, 1e6])
@pytest.mark.parametrize("kind", [GaussianProcessRegressor, SparseGaussianProcessRegressor])
def test_targets_in_other_units_without_a_kernel(kind, unit):
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 6, (40, 1))
    y = np.sin(X[:, 0]) + 0.05 * rng.standard_normal(40)
    options = {"n_inducing": 15, "random_state": 0} if kind is SparseGaussianProcessRegressor else {}
    found = kind(**options).fit(X, unit * y).predict([[np.pi / 2]]) / unit
    np.testing.assert_allclose(found, kind(**options).fit(X, y).predict([[np.pi / 2]]), rtol=1e-2)


def test_masks_other_likelihoods_and_kernels_that_are_not_there():
    X, y = np.linspace(0, 6, 20)[:, None], np.arange(20) % 2
    model = GaussianProcessRegressor(RBF(), alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="points are masked"):
        model.predict(np.ma.array([[1.0]], mask=[[True]]))
    with pytest.raises(TypeError, match="likelihood is of two classes, as Bernoulli, and not Poisson"):
        GaussianProcessClassifier(likelihood=Poisson()).fit(X, y)
    with pytest.raises(ValueError, match="there is no kernel to set kernel__length_scale of"):
        GaussianProcessRegressor().set_params(kernel__length_scale=1.0)


def test_searches_that_end_at_bounds():
    """As scikit-learn says so, too."""
    x = np.linspace(0, 6, 30)[:, None]
    y = np.sin(x[:, 0])
    bounded = 1.0 * RBF(np.ones(1), (1e-2, 0.5)) + WhiteKernel(0.1, "fixed")
    with pytest.warns(ConvergenceWarning, match=r"k1__k2__length_scale has ended at its upper bound, 0\.5"):
        GaussianProcessRegressor(bounded).fit(x, y)
    narrow = 1.0 * RBF(1.0, (5.0, 6.0))
    with pytest.warns(ConvergenceWarning, match="length_scale has ended at its lower bound, 5"):
        GaussianProcessClassifier(narrow).fit(x, (y > 0).astype(int))
    # neither where there is nothing to search, nor where nobody has said between what
    for model in (
        GaussianProcessRegressor(RBF(0.5, (0.5, 0.5)), alpha=0.1),
        GaussianProcessRegressor(RBF(0.5, (0.5, 0.6)), alpha=0.1, optimizer=None),
        GaussianProcessRegressor(),
    ):
        model.fit(x, y)


@pytest.mark.parametrize(("n", "d"), [(100, 150), (40, 80), (10, 30), (10, 27)])
def test_evidence_of_more_columns_than_rows_is_at_its_maximum(n, d):
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d))
    f = X @ (rng.standard_normal(d) * (rng.random(d) < 0.3))
    y = f + np.std(f) * rng.standard_normal(n)
    found = BayesianLinearRegression(fit_intercept=False).fit(X, y)
    values, V = np.linalg.eigh(X @ X.T)
    squares = (V.T @ y) ** 2

    def evidence(weights_var, noise_var):
        variances = weights_var * values + noise_var
        return -0.5 * np.sum(squares / variances + np.log(2 * np.pi * variances))

    best = max(
        evidence(weights_var, noise_var)
        for weights_var in np.var(y) / d * np.exp(np.linspace(-12, 3, 60))
        for noise_var in np.var(y) * np.exp(np.linspace(-15, 1, 60))
    )
    assert found.log_marginal_likelihood_value_ > best - 1e-6
    at = evidence(1 / found.lambda_, 1 / found.alpha_)
    np.testing.assert_allclose(found.log_marginal_likelihood_value_, at, rtol=1e-7)


def test_linear_regressions_deviations_have_that_of_the_intercept():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((6, 2)), rng.standard_normal((3, 2))
    found = BayesianLinearRegression().fit(X, X @ np.ones(2) + 3 + 0.5 * rng.standard_normal(6))
    design, at = (np.column_stack([np.ones(len(x)), x]) for x in (X, new))
    precision = found.alpha_ * design.T @ design + np.diag([0.0, found.lambda_, found.lambda_])
    variances = np.einsum("ij,jk,ik->i", at, np.linalg.inv(precision), at) + 1 / found.alpha_
    np.testing.assert_allclose(found.predict(new, return_std=True)[1], np.sqrt(variances), rtol=1e-9)
