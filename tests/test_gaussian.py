"""Gaussian log densities: against SciPy and the composed form, and what they cost."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

import lindiff as ld
from lindiff import kernels
from lindiff.linalg import cho_factor, gp_logpdf, mvn_logpdf, potrf, sumlogdiag, trsm
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)


def spd(*shape):
    X = RNG.standard_normal(shape)
    return X @ np.swapaxes(X, -1, -2) / max(shape[-1], 1) + np.eye(shape[-1])


def symmetric(K):
    return 0.5 * (K + np.swapaxes(K, -1, -2))


def composed(y, K, noise):
    """As in the example of Gaussian process regression."""
    L = potrf(K + noise * np.eye(K.shape[-1]))
    z = trsm(L, y[:, None] if y.ndim == 1 else y)
    k = z.shape[-1]
    return -0.5 * (np.sum(z**2) + z.size * np.log(2 * np.pi)) - k * sumlogdiag(L)


def with_object(y, K, noise):
    F = cho_factor(K + noise * np.eye(K.shape[-1]))
    k = 1 if y.ndim == 1 else y.shape[-1]
    return -0.5 * (np.sum(F.quad(y)) + k * F.logdet() + y.size * np.log(2 * np.pi))


# -- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 40])
def test_mvn_logpdf_is_that_of_scipy(n):
    cov, mean, points = spd(n, n), RNG.standard_normal(n), RNG.standard_normal((5, 4, n))
    got = mvn_logpdf(points, mean, cov)
    assert_allclose(got, np.reshape(multivariate_normal(mean, cov).logpdf(points), (5, 4)), rtol=1e-10)
    one = mvn_logpdf(points[0, 0], mean, cov)
    assert one.shape == ()
    assert_allclose(one, got[0, 0])


@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [
        ((3,), (4, 3), (3, 3)),
        ((5, 3), (3,), (5, 3, 3)),
        ((7, 1, 3), (3,), (5, 3, 3)),
        ((5, 3), (), (1, 3, 3)),
        ((2, 1, 3), (1, 4, 3), (2, 1, 3, 3)),
        ((2, 1, 3), (1, 4, 3), (1, 4, 3, 3)),
        ((3,), (3,), (6, 1, 2, 3, 3)),
        ((5, 2, 3), (3,), (6, 1, 1, 3, 3)),
        ((0, 3), (3,), (3, 3)),
        ((3,), (3,), (0, 3, 3)),
        ((4, 0), (0,), (0, 0)),
        ((1, 3), None, (4, 1, 3, 3)),
    ],
)
def test_mvn_logpdf_broadcasts(x, mean, cov):
    x, cov = RNG.standard_normal(x), spd(*cov)
    mean = None if mean is None else RNG.standard_normal(mean)
    r = x - (0 if mean is None else mean)
    n = cov.shape[-1]
    shape = np.broadcast_shapes(r.shape[:-1], cov.shape[:-2])
    r, covs = np.broadcast_to(r, (*shape, n)), np.broadcast_to(cov, (*shape, n, n))
    solved = np.linalg.solve(covs, r[..., None])[..., 0]
    expected = -0.5 * (np.sum(r * solved, axis=-1) + np.linalg.slogdet(covs)[1] + n * np.log(2 * np.pi))
    got = mvn_logpdf(x, mean, cov)
    assert got.shape == shape
    assert_allclose(got, expected, rtol=1e-11)
    arrays = (x, cov) if mean is None else (x, mean, cov)
    check_grads(lambda *a: mvn_logpdf(a[0], None if mean is None else a[1], symmetric(a[-1])), arrays, 1)


def test_one_covariance_is_factored_once_for_all_points(monkeypatch):
    batches = []
    kernel = kernels.log_density

    def counted(A, *args, **options):
        batches.append(A.shape[:-2])
        return kernel(A, *args, **options)

    monkeypatch.setattr(kernels, "log_density", counted)
    mvn_logpdf(np.ones((7, 1, 3)), None, spd(5, 3, 3))
    mvn_logpdf(np.ones((7, 3)), None, spd(1, 3, 3))
    assert batches == [(5,), ()]
    ld.grad(lambda cov: np.sum(mvn_logpdf(np.ones((7, 2, 5, 3)), None, cov)))(spd(2, 1, 3, 3))
    assert batches[2:] == [(2,)]


@pytest.mark.parametrize("columns", [(), (1,), (3,)])
@pytest.mark.parametrize("n", [1, 4, 40])
def test_gp_logpdf_is_the_composed_form(n, columns):
    K, y, noise = spd(n, n), RNG.standard_normal((n, *columns)), 0.3
    for other in [composed, with_object]:
        assert_allclose(gp_logpdf(y, K, noise), other(y, K, noise), rtol=1e-11)
        value, gradients = ld.value_and_grad(gp_logpdf, (0, 1, 2))(y, K, noise)
        expected_value, expected = ld.value_and_grad(other, (0, 1, 2))(y, K, noise)
        assert_allclose(value, expected_value, rtol=1e-11)
        for got, wanted in zip(gradients, expected, strict=True):
            assert np.shape(got) == np.shape(wanted)
            assert_allclose(got, wanted, rtol=1e-9, atol=1e-11)
        v = tuple(RNG.standard_normal(np.shape(a)) for a in (y, K, noise))
        assert_allclose(ld.jvp(gp_logpdf, (y, K, noise), v), ld.jvp(other, (y, K, noise), v), rtol=1e-9)
        if n <= 4:
            for got, wanted in zip(
                ld.hvp(gp_logpdf, (y, K, noise), v), ld.hvp(other, (y, K, noise), v), strict=True
            ):
                assert_allclose(got, wanted, rtol=1e-8, atol=1e-11)


def test_gp_logpdf_of_batches_and_noises():
    K, y = spd(2, 3, 3), RNG.standard_normal((2, 3, 4))
    for noise in [None, 0.1, np.array([0.1, 0.2, 0.3]), RNG.uniform(0.1, 1, (2, 3)), np.full((5, 1, 3), 0.1)]:
        args = (y, K) if noise is None else (y, K, noise)
        got = gp_logpdf(*args)
        diagonal = np.broadcast_to(0.0 if noise is None else noise, (*np.shape(noise)[:-1], 3))
        batch = np.broadcast_shapes((2,), diagonal.shape[:-1])
        A = np.broadcast_to(K + diagonal[..., None] * np.eye(3), (*batch, 3, 3))
        assert got.shape == batch
        for index in np.ndindex(*batch):
            expected = multivariate_normal(np.zeros(3), A[index]).logpdf(y[index[-1]].T).sum()
            assert_allclose(got[index], expected)
        check_grads(lambda y, K, *noise: gp_logpdf(y, symmetric(K), *noise), args)


# -- derivatives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3])
def test_third_order(n):
    K, y = spd(n, n), RNG.standard_normal(n)
    check_grads(lambda y, K, s: gp_logpdf(y, symmetric(K), s), (y, K, 0.2), 3)
    check_grads(lambda x, m, K: mvn_logpdf(x, m, symmetric(K)), (np.stack([y, 2 * y]), y**2, K), 3)


@pytest.mark.parametrize("argnums", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
def test_every_set_of_arguments(argnums):
    args = (RNG.standard_normal(3), spd(3, 3), np.array([0.1, 0.2, 0.3]))
    expected = ld.grad(gp_logpdf, (0, 1, 2))(*args)

    def f(*active):
        full = list(args)
        for i, x in zip(argnums, active, strict=True):
            full[i] = x
        return gp_logpdf(*full)

    active = tuple(args[i] for i in argnums)
    for i, got in zip(argnums, ld.grad(f, tuple(range(len(argnums))))(*active), strict=True):
        assert_allclose(got, expected[i], rtol=1e-12)
    v = tuple(RNG.standard_normal(x.shape) for x in active)
    v = tuple(symmetric(x_dot) if x_dot.ndim == 2 else x_dot for x_dot in v)
    slope = sum(np.sum(expected[i] * x_dot) for i, x_dot in zip(argnums, v, strict=True))
    assert_allclose(ld.jvp(f, active, v)[1], slope)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_and_symmetry(dtype):
    K, y = spd(4, 4).astype(dtype), RNG.standard_normal((2, 4)).astype(dtype)
    value, (x_bar, K_bar) = ld.value_and_grad(lambda x, K: np.sum(mvn_logpdf(x, None, K)), (0, 1))(y, K)
    assert value.dtype == x_bar.dtype == K_bar.dtype == dtype
    assert_array_equal(K_bar, K_bar.T)
    unread = np.where(np.triu(np.ones((4, 4), bool), 1), np.nan, K).astype(dtype)
    got = ld.grad(lambda K: np.sum(mvn_logpdf(y, None, K)))(unread)
    assert_allclose(got, np.tril(K_bar) + np.tril(K_bar, -1), rtol=1e-6)  # nothing stands opposite


def test_a_pullback_may_be_called_again_and_the_value_used_twice():
    K, y = spd(4, 4), RNG.standard_normal(4)
    _, pullback = ld.vjp(gp_logpdf, y, K)
    for scale in [1.0, 2.0]:
        for got, expected in zip(pullback(scale), ld.grad(gp_logpdf, (0, 1))(y, K), strict=True):
            assert_allclose(got, scale * expected)

    def twice(K):
        p = gp_logpdf(y, K)
        return p * p + np.sum(K**2)

    check_grads(lambda K: twice(symmetric(K)), (K,), 1)
    _, pullback = ld.vjp(lambda y, K: mvn_logpdf(np.stack([y, y]), None, K), y, K)
    second = ld.jvp(lambda p_bar: pullback(p_bar), (np.ones(2),), (np.array([1.0, 0.0]),))[1]
    for got, expected in zip(second, pullback(np.array([1.0, 0.0])), strict=True):
        assert_allclose(got, expected)


def test_by_hand_backward_twice():
    K = ld.Variable(spd(3, 3))
    p = gp_logpdf(np.ones(3), K)
    p.backward()
    once = K.grad.copy()
    p.backward()
    assert_allclose(K.grad, 2 * once)


# -- cost ------------------------------------------------------------------------------------------------


def peak_of(function, *args):
    """Arrays of the size of the last argument that are alive at once, beyond the arguments."""
    function(*args)
    tracemalloc.start()
    try:
        result = function(*args)
        return tracemalloc.get_traced_memory()[1] / args[-1].nbytes, result
    finally:
        tracemalloc.stop()


def test_value_and_gradient_take_one_matrix():
    n = 300
    K, y = spd(n, n), RNG.standard_normal(n)
    peak, (_, K_bar) = peak_of(ld.value_and_grad(lambda K: gp_logpdf(y, K, 0.1)), K)
    assert peak < 1.1
    assert K_bar.flags.writeable
    peak, _ = peak_of(lambda K: gp_logpdf(y, K), K)
    assert peak < 1.1
    peak, _ = peak_of(lambda K: gp_logpdf(y, K, overwrite_k=True), K.copy() + n * np.eye(n))
    assert peak < 0.1


def test_overwriting_is_for_plain_arrays():
    K, y = spd(3, 3), RNG.standard_normal(3)
    kept = K.copy()
    expected = gp_logpdf(y, K)
    assert_array_equal(K, kept)
    ld.grad(lambda K: gp_logpdf(y, K, overwrite_k=True) + mvn_logpdf(y, 0, K, overwrite_cov=True))(K)
    assert_array_equal(K, kept)
    assert_allclose(mvn_logpdf(y, None, K, overwrite_cov=True), expected)
    assert not np.array_equal(K, kept)


def test_kernels_on_strided_and_overwritten_arrays():
    A, R, p_bar = spd(2, 3, 3), RNG.standard_normal((2, 4, 3)), RNG.standard_normal((2, 4))
    p, L, Z = kernels.log_density(A, R, np.full(3, 0.5))
    others = [np.asfortranarray(A), np.repeat(R, 2, axis=1)[:, ::2]]
    for got, expected in zip(kernels.log_density(*others, [0.5] * 3), (p, L, Z), strict=True):
        assert_array_equal(got, expected)
    A_bar, R_bar = kernels.log_density_pullback(L, Z, p_bar)
    in_place = kernels.log_density_pullback(L, Z, p_bar, overwrite_l=True, overwrite_z=True)
    assert in_place[0] is L
    assert in_place[1] is Z
    assert_array_equal(L, A_bar)
    assert_array_equal(Z, R_bar)


# -- errors ----------------------------------------------------------------------------------------------


def test_errors():
    bad = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])
    for f in [lambda K: np.sum(mvn_logpdf(np.ones(3), None, K)), lambda K: np.sum(gp_logpdf(np.ones(3), K))]:
        for run in [f, ld.grad(f)]:
            with pytest.raises(np.linalg.LinAlgError, match=r"order 2 .*pivot -1 \(batch index \(1,\)\)"):
                run(bad)
    eye = np.eye(3)
    for call, match in [
        (lambda: mvn_logpdf(np.ones(2), None, eye), r"mvn_logpdf: x of shape \(2,\) and cov of shape"),
        (lambda: mvn_logpdf(np.ones(3), np.ones(2), eye), r"mvn_logpdf: mean of shape \(2,\)"),
        (lambda: mvn_logpdf(np.ones(3), None, np.ones(3)), r"mvn_logpdf: cov must be square"),
        (lambda: mvn_logpdf(1.0, None, eye), r"mvn_logpdf: x of shape \(\)"),
        (lambda: gp_logpdf(np.ones(2), eye), r"gp_logpdf: y of shape \(2,\) and K of shape"),
        (lambda: gp_logpdf(1.0, eye), r"gp_logpdf: y of shape \(\) and K of shape"),
        (lambda: gp_logpdf(np.ones(3), eye, np.ones(2)), r"gp_logpdf: noise of shape \(2,\)"),
        (lambda: gp_logpdf(np.ones(3), np.ones((2, 3))), r"gp_logpdf: K must be square"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()
    with pytest.raises(TypeError, match=r"mvn_logpdf: x has dtype complex128, real numbers .*twice"):
        mvn_logpdf(np.ones(3) * 1j, None, eye)
    with pytest.raises(TypeError, match=r"gp_logpdf: K has dtype complex128"):
        gp_logpdf(np.ones(3), ld.Variable(eye * 1j))


def test_integers_and_lists():
    assert_allclose(mvn_logpdf([2], [0], [[4]]), multivariate_normal(0, 4).logpdf(2))
    assert ld.grad(lambda K: gp_logpdf([1, 2], K, 1))(np.eye(2)).shape == (2, 2)


def test_mvn_names_the_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"x of shape \(3,\) and cov of shape \(2, 2\)"):
        ld.linalg.mvn_logpdf(np.ones(3), np.ones(2), np.eye(2))
