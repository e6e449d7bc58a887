"""``lindiff.scipy.spatial.distance``: distance zero, blocks, refusals; the rest is in table_distances.py."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.distance
from table_distances import METRICS

import lindiff as ld
import lindiff.scipy.spatial.distance as distance
from lindiff.testing import check_grads

X = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.0, 2.0, 0.5], [4.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    "metric", ["euclidean", "minkowski", "seuclidean", "mahalanobis", "cityblock", "chebyshev"]
)
def test_the_derivative_is_zero_at_distance_zero(metric):
    """Points that coincide, as all do with themselves, pull neither on each other nor on the rest."""
    given = (
        {"V": np.ones(3)} if metric == "seuclidean" else {"VI": np.eye(3)} if metric == "mahalanobis" else {}
    )

    def matrix(X):
        return distance.cdist(X, X, metric, **given)

    D, pullback = ld.vjp(matrix, X)
    assert np.all(np.diag(D) == 0)
    np.testing.assert_array_equal(D, scipy.spatial.distance.cdist(X, X, metric, **given))
    at_zero = np.where(D == 0, 1.0, 0.0)
    np.testing.assert_array_equal(pullback(at_zero)[0], 0.0)
    far = X[[0, 1, 3]]
    without = ld.grad(lambda far: np.sum(np.sin(distance.cdist(far, far, metric, **given))[1:]))(far)
    got = ld.grad(lambda far: np.sum(np.sin(matrix(far))[1:]))(far)
    np.testing.assert_allclose(got, without)
    assert np.all(np.isfinite(ld.hessian(lambda X: np.sum(matrix(X) ** 2))(X)))
    assert np.all(np.isfinite(ld.jacobian(lambda X: distance.pdist(X, metric, **given))(X)))


def test_distributions_that_are_one():
    """Rows that are near each other, equal, or equal but for their unit."""
    P = np.random.default_rng(0).uniform(0.1, 1, (3, 4))
    P = np.vstack([P, P[:1], 2 * P[1:2], [[0.0, 1.0, 2.0, 0.0]]])
    of = lambda P: np.sum(np.exp(-distance.cdist(P, P, "jensenshannon")))
    near = P[:1] * (1 + 1e-7 * np.array([1.0, -2.0, 0.5, 3.0]))
    assert np.all(np.isfinite(ld.grad(of)(P[:5])))
    np.testing.assert_array_equal(ld.grad(of)(P[[0, 0]]), 0.0)
    to_near = ld.jvp(lambda Q: distance.cdist(Q, near, "jensenshannon"), (P[:1],), (P[:1] - near,))
    np.testing.assert_allclose(to_near[1], to_near[0], rtol=1e-2)  # a cone; SciPy's value has few digits
    value = ld.vjp(lambda P: distance.cdist(P, P, "jensenshannon"), P)[0]
    np.testing.assert_allclose(value, scipy.spatial.distance.cdist(P, P, "jensenshannon"), atol=1e-7)


def test_kernel_matrices_have_second_derivatives_on_the_diagonal():
    def energy(scale, X):
        return np.sum(np.exp(-distance.cdist(X / scale, X / scale, "sqeuclidean")))

    check_grads(energy, (1.3, X))


@pytest.mark.parametrize("metric", METRICS)
def test_block_by_block(metric, monkeypatch):
    """Large matrices are differentiated a few rows at a time."""
    rng = np.random.default_rng(0)
    A, B, C = (
        np.abs(rng.standard_normal((5, 3))),
        np.abs(rng.standard_normal((4, 3))),
        rng.standard_normal((5, 4)),
    )

    def derivatives():
        _, pullback = ld.vjp(lambda A, B: distance.cdist(A, B, metric), A, B)
        d, of_pairs = ld.vjp(lambda A: distance.pdist(A, metric), A)
        return (
            *pullback(C),
            *of_pairs(np.cos(d)),
            ld.jvp(lambda A, B: distance.cdist(A, B, metric), (A, B), (A, B))[1],
            ld.jvp(lambda A: distance.pdist(A, metric), (A,), (A,))[1],
        )

    at_once = derivatives()
    monkeypatch.setattr(distance, "IN_ONE_BLOCK", 24)
    for got, expected in zip(derivatives(), at_once, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_a_metric_of_ones_own():
    def manhattan(u, v):
        return np.sum(np.abs(u - v))

    got = ld.grad(lambda X: np.sum(np.cos(distance.cdist(X, X[:2], manhattan))))(X)
    np.testing.assert_allclose(
        got, ld.grad(lambda X: np.sum(np.cos(distance.cdist(X, X[:2], "cityblock"))))(X)
    )
    got = ld.grad(lambda X: np.sum(np.cos(distance.pdist(X, distance.sqeuclidean))))(X)
    np.testing.assert_allclose(got, ld.grad(lambda X: np.sum(np.cos(distance.pdist(X, "sqeuclidean"))))(X))


def test_weights_and_lists():
    check_grads(
        lambda w: distance.cdist(X, X[1:].tolist(), "minkowski", p=3, w=w), (np.array([1.0, 2.0, 3.0]),)
    )
    check_grads(lambda p: distance.cdist(X, X[:2], "minkowski", p=p), (2.5,))
    to_infinity = ld.jacobian(lambda X: distance.pdist(X, "minkowski", p=np.inf))(X)
    np.testing.assert_array_equal(to_infinity, ld.jacobian(lambda X: distance.pdist(X, "chebyshev"))(X))
    check_grads(lambda V: distance.pdist(X[[0, 1, 3]], "seuclidean", V=V), (np.array([1.0, 2.0, 3.0]),))
    np.testing.assert_allclose(ld.grad(lambda x: distance.euclidean(x, [0, 0]))(X[0, :2]), X[0, :2] / 5**0.5)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: distance.cdist(x, x, "jaccard"), TypeError, r"no derivative.*euclidean.*ld\.value"),
        (lambda x: distance.pdist(x, "no such"), TypeError, "no such"),
        (lambda x: distance.cdist(x, x, out=np.zeros((4, 4))), TypeError, "out has no derivative"),
        (lambda x: distance.cdist(x, x[:, :2]), ValueError, "as many columns"),
        (lambda x: distance.cdist(x, x * 1j), TypeError, "real and imaginary"),
        (lambda x: distance.pdist(x[0]), ValueError, "needs a matrix"),
        (lambda x: distance.pdist(x[:3], "mahalanobis"), ValueError, "singular"),
        (lambda x: distance.jensenshannon(x, x, axis=1), TypeError, "cdist"),
        (lambda x: distance.squareform(x[0, :2]), ValueError, "binomial"),
        (lambda x: distance.hamming(x[0], x[1]), TypeError, "truth values"),
    ],
)
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        ld.vjp(call, X)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1e-80, 1e80, 1e100, 1e300])
def test_angles_do_not_depend_on_units(metric, unit):
    others, x = np.array([[1.0, 2.0, 0.5], [0.3, 0.2, 2.0]]), np.array([1.3, 0.4, 0.8])

    def total(x, unit=1.0):
        return np.sum(distance.cdist(x[None] * unit, others * unit, metric))

    np.testing.assert_allclose(ld.grad(total)(x, unit), ld.grad(total)(x), rtol=1e-12)
    np.testing.assert_allclose(ld.hessian(total)(x, unit), ld.hessian(total)(x), rtol=1e-11, atol=1e-14)
