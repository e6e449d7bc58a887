"""Covariance functions: scikit-learn's values, derivatives at and off coincident points, tiles, trees."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from typing import Any

import numpy as np
import pytest

import lindiff as ld
from lindiff import gp
from lindiff.core.pytree import flatten
from lindiff.gp import kernels, tiles
from lindiff.gp.kernels import (
    RBF,
    ArcCosine,
    CompoundKernel,
    ConstantKernel,
    Coregionalized,
    DotProduct,
    ExpSineSquared,
    Gibbs,
    Matern,
    Polynomial,
    RationalQuadratic,
    SpectralMixture,
    WhiteKernel,
)
from lindiff.testing import check_grads

SCALES = np.array([1.0, 2.0, 0.5])


def growing(params, X):
    return np.exp(params[0] + X @ params[1])


def layer(weights, X):
    return np.tanh(X @ weights)


def smooth_kernels():
    rng = np.random.default_rng(0)
    return {
        "RBF": RBF(SCALES),
        "RBF of one scale": RBF(0.7),
        "Matern 5/2": Matern(SCALES, nu=2.5),
        "Matern 3.7": Matern(SCALES, nu=3.7),
        "Matern infinite": Matern(SCALES, nu=np.inf),
        "RationalQuadratic": RationalQuadratic(1.3, 0.7),
        "ExpSineSquared": ExpSineSquared(1.2, np.array([2.5, 3.0, 4.0])),
        "DotProduct": DotProduct(0.7),
        "Polynomial": Polynomial(0.5, degree=3),
        "ArcCosine 2": ArcCosine(1.3, 0.4, order=2),
        "SpectralMixture": SpectralMixture(np.array([1.0, 2.0]), *(0.3 * rng.random((2, 2, 3)))),
        "Gibbs": Gibbs(growing, (0.1, np.array([0.2, 0.3, -0.1]))),
        "warped": RBF().warped(layer, rng.standard_normal((3, 2))),
        "sum": 2.0 * RBF(SCALES) + Matern(nu=2.5).on([0, 2]) ** 2,
        "product": (RBF(SCALES) + 0.5) * DotProduct(),
    }


def rough_kernels():
    return {
        "Matern 1/2": Matern(SCALES, nu=0.5),
        "Matern 0.8": Matern(SCALES, nu=0.8),
        "Matern 3/2": Matern(SCALES, nu=1.5),
        "ArcCosine 0": ArcCosine(np.array([1.0, 2.0, 0.5]), 0.4, order=0),
        "ArcCosine 1": ArcCosine(order=1),
    }


ALL = smooth_kernels() | rough_kernels()


def points(*counts):
    rng = np.random.default_rng(1)
    return [rng.standard_normal((count, 3)) for count in counts]


@pytest.mark.parametrize("name", ALL)
def test_matrices(name):
    kernel, (X, Z) = ALL[name], points(7, 5)
    Z[0] = X[0]
    K = kernel(X)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(np.diag(K), kernel.diag(X), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, X), K, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernel(X, Z)[0, 0], K[0, 0], rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    single = kernel(X.astype(np.float32))
    np.testing.assert_allclose(single, K, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_derivatives(name):
    kernel, (X, Z) = ALL[name], points(4, 3)
    W = np.random.default_rng(2).standard_normal((4, 4))
    check_grads(lambda kernel: np.sum(W * kernel(X)), (kernel,), rtol=1e-5)
    check_grads(lambda kernel, X, Z: np.sum(W[:, :3] * kernel(X, Z)), (kernel, X, Z), rtol=1e-5)
    check_grads(lambda X: np.sum(W * kernel(X)), (X,), rtol=1e-5)
    check_grads(lambda kernel, X: np.sum(kernel.diag(X)), (kernel, X), rtol=1e-5)


@pytest.mark.parametrize("name", smooth_kernels())
def test_derivatives_at_coincident_points(name):
    kernel, (X,) = ALL[name], points(4)
    W = np.random.default_rng(2).standard_normal((4, 4))
    check_grads(lambda kernel, X, Z: np.sum(W * kernel(X, Z)), (kernel, X, X.copy()), rtol=1e-5)


@pytest.mark.parametrize(("nu", "slope"), [(1.5, 3.0), (2.5, 5 / 3), (3.7, 3.7 / 2.7), (np.inf, 1.0)])
def test_mean_square_derivatives(nu, slope):
    """``∂²k/∂x∂x' = ν/(ν-1) / l²`` at distance zero."""

    def between(x, z):
        return Matern(nu=nu)(x[None, None], z[None, None])[0, 0]

    x = np.array(0.3)
    (xx, xz), (zx, zz) = ld.hessian(between, argnums=(0, 1))(x, x)
    np.testing.assert_allclose([xx, xz, zx, zz], [-slope, slope, slope, -slope])


def test_one_derivative_is_missing_where_a_kernel_has_a_kink():
    X = np.zeros((2, 1))
    assert np.all(ld.grad(lambda X: np.sum(Matern(nu=0.5)(X, X)))(X) == 0)


def sklearns():
    theirs = pytest.importorskip("sklearn.gaussian_process.kernels")
    return [
        (RBF(SCALES), theirs.RBF(SCALES)),
        *((Matern(SCALES, nu=nu), theirs.Matern(SCALES, nu=nu)) for nu in (0.5, 0.8, 1.5, 2.5, 3.7, np.inf)),
        (RationalQuadratic(1.3, 0.7), theirs.RationalQuadratic(1.3, 0.7)),
        (DotProduct(0.7), theirs.DotProduct(0.7)),
        (ExpSineSquared(0.8, 1.7).on(0), None),
        (
            2.0 * RBF(SCALES) + WhiteKernel(0.3) * Matern(nu=0.5) ** 2 + ConstantKernel(0.5),
            2.0 * theirs.RBF(SCALES)
            + theirs.WhiteKernel(0.3) * theirs.Matern(nu=0.5) ** 2
            + theirs.ConstantKernel(0.5),
        ),
    ]


def test_numbers_of_sklearn():
    for ours, theirs in sklearns():
        if theirs is None:
            continue
        np.testing.assert_array_equal(ours.theta, theirs.theta)
        np.testing.assert_array_equal(ours.bounds, theirs.bounds)
        assert ours.n_dims == theirs.n_dims
        got, expected = ours.get_params(), theirs.get_params()
        assert set(got) == set(expected)
        assert {*ours.get_params(deep=False)} == {*theirs.get_params(deep=False)}
        for mine, other in zip(ours.hyperparameters, theirs.hyperparameters, strict=True):
            assert mine[:2] == other[:2]
            assert mine.n_elements == other.n_elements
            assert mine.fixed == other.fixed
        X = points(6, 4)[0]
        theta = ours.theta + 0.1
        np.testing.assert_allclose(
            ours.clone_with_theta(theta)(X), theirs.clone_with_theta(theta)(X), rtol=1e-12, atol=1e-14
        )


def test_theta_is_that_of_the_kernel_beyond_its_bounds():
    kernel = 2e6 * RBF(1e-7)
    again = kernel.clone_with_theta(kernel.theta)
    np.testing.assert_allclose([again.k1.constant_value, again.k2.length_scale], [2e6, 1e-7])


def test_other_numbers_by_name():
    kernel = 2.0 * RBF(SCALES) ** 2 + WhiteKernel(0.3, "fixed")
    other = kernel.with_params(k2__noise_level=0.5, k1__k2__exponent=3, k1__k2__kernel__length_scale=1.0)
    assert repr(other) == (
        "ConstantKernel(constant_value=2) * RBF(length_scale=1) ** 3 + WhiteKernel(noise_level=0.5)"
    )
    assert kernel.k2.noise_level == 0.3
    assert kernel.k1.k2.exponent == 2
    assert kernel.with_params(k2=RBF()).k2.length_scale == 1.0
    assert [x.fixed for x in kernel.hyperparameters] == [False, False, True]
    for wrong in ("k3", "k1__length", "k2__noise_level__x"):
        with pytest.raises(ValueError, match=f"has no '{wrong.removeprefix('k1__').removeprefix('k2__')}'"):
            kernel.with_params(**{wrong: 1.0})


def test_kernels_side_by_side():
    theirs = pytest.importorskip("sklearn.gaussian_process.kernels")
    X, Z = points(6, 4)
    parts = [k * RBF(1.0 + k) for k in range(1, 13)]
    kernel = CompoundKernel(parts)
    expected = theirs.CompoundKernel([k * theirs.RBF(1.0 + k) for k in range(1, 13)])
    np.testing.assert_array_equal(kernel.theta, expected.theta)
    np.testing.assert_array_equal(kernel.bounds, expected.bounds)
    np.testing.assert_allclose(kernel(X, Z), expected(X, Z), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), expected.diag(X), rtol=1e-12)
    again = kernel.clone_with_theta(kernel.theta)
    np.testing.assert_allclose(again(X), expected(X), rtol=1e-12, atol=1e-14)


def test_values_of_sklearn():
    X, Z = points(6, 4)
    for ours, theirs in sklearns():
        if theirs is not None:
            np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(ours.diag(X), theirs.diag(X), rtol=1e-12)
    from sklearn.gaussian_process.kernels import ExpSineSquared as Theirs

    np.testing.assert_allclose(ExpSineSquared(0.8, 1.7)(X[:, 0]), Theirs(0.8, 1.7)(X[:, :1]))


@pytest.mark.parametrize("n", [255, 256, 257, 600])
@pytest.mark.parametrize("m", [None, 511, 513])
def test_tiles(n, m):
    rng = np.random.default_rng(n)
    X, Z = rng.standard_normal((n, 2)), None if m is None else rng.standard_normal((m, 2))
    kernel = 1.5 * RBF(np.array([1.0, 2.0])) + WhiteKernel(0.1)

    def at_once(kernel, X, Z):
        X = X / kernel.k1.k2.length_scale
        Y = X if Z is None else Z / kernel.k1.k2.length_scale
        K = kernel.k1.k1.constant_value * np.exp(-0.5 * np.sum((X[:, None] - Y) ** 2, axis=-1))
        return K + kernel.k2.noise_level * np.eye(n) if Z is None else K

    W = rng.standard_normal((n, n if m is None else m))
    np.testing.assert_allclose(kernel(X, Z), at_once(kernel, X, Z), rtol=1e-11, atol=1e-300)
    argnums = (0, 1) if m is None else (0, 1, 2)
    functions = [lambda kernel, X, Z: np.sum(W * kernel(X, Z)), lambda *args: np.sum(W * at_once(*args))]
    found, expected = (flatten(ld.grad(f, argnums)(kernel, X, Z))[0] for f in functions)
    assert len(found) == 2 + len(argnums)
    for got, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, other, rtol=1e-8, atol=1e-8)


def test_a_matrix_may_be_overwritten_before_the_way_back():
    X, y = np.random.default_rng(0).standard_normal((300, 2)), np.zeros(300)

    def scaled(kernel):
        K = kernel(X)
        K *= 2.0
        return ld.linalg.gp_logpdf(y, K, 1.0)

    expected = ld.grad(lambda kernel: ld.linalg.gp_logpdf(y, 2 * kernel(X), 1.0))(RBF())
    np.testing.assert_allclose(ld.grad(scaled)(RBF()).length_scale, expected.length_scale)


def test_empty_sets():
    kernel = RBF() + WhiteKernel()
    assert kernel(np.zeros((0, 2))).shape == (0, 0)
    assert kernel(np.zeros((3, 2)), np.zeros((0, 2))).shape == (3, 0)
    assert np.all(ld.grad(lambda X: np.sum(kernel(X)))(np.zeros((0, 2))) == np.zeros((0, 2)))


def test_several_outputs():
    rng = np.random.default_rng(0)
    W, kappa = rng.standard_normal((3, 2)), np.array([0.1, 0.2, 0.3])
    X = np.column_stack([rng.standard_normal(6), [0, 1, 2, 0, 1, 2], rng.standard_normal(6)])
    kernel = Coregionalized(Matern(nu=1.5), W, kappa, column=1)
    which, B = X[:, 1].astype(int), W @ W.T + np.diag(kappa)
    expected = B[np.ix_(which, which)] * Matern(nu=1.5)(X[:, [0, 2]])
    np.testing.assert_allclose(kernel(X), expected)
    check_grads(lambda kernel: np.sum(np.sin(kernel(X))), (kernel,), rtol=1e-5)
    with pytest.raises(ValueError, match="column 1 of points holds numbers 0 to 2"):
        kernel(X + 1)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("kind", [RBF, Matern, RationalQuadratic])
def test_scales_far_from_one(kind, scale):
    (X,) = points(4)
    K, found = kind(scale)(X), ld.grad(lambda kernel, X: np.sum(kernel(X)), argnums=(0, 1))(kind(scale), X)
    np.testing.assert_allclose(K, np.eye(4) if scale < 1 else np.ones((4, 4)), atol=1e-140)
    assert np.all(np.isfinite(found[0].length_scale))
    assert np.all(np.isfinite(found[1]))


def test_kernels_are_trees():
    kernel = 2.0 * RBF(SCALES) + WhiteKernel(0.5)
    (X,) = points(5)
    gradient = ld.grad(lambda kernel: np.sum(kernel(X)))(kernel)
    assert type(gradient) is kernels.Sum
    np.testing.assert_allclose(gradient.k2.noise_level, 5.0)
    assert repr(kernel) == (
        "ConstantKernel(constant_value=2) * RBF(length_scale=[1, 2, 0.5]) + WhiteKernel(noise_level=0.5)"
    )
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
    by_program = ld.program(lambda scale: np.sum(np.sin(RBF(scale)(X))))
    for scale in (0.5, 2.0):
        np.testing.assert_allclose(by_program(scale), np.sum(np.sin(RBF(scale)(X))))


@pytest.mark.parametrize(("order", "slope"), [(1, 1.00022), (2, 35.58)])
def test_derivatives_where_there_is_no_bias(order, slope):
    X = np.array([[1.0, 2.0]])

    def covariance(bias):
        return ArcCosine(1.0, bias, order=order)(X, X + 0.3)[0, 0]

    found = ld.grad(covariance)
    np.testing.assert_allclose(found(0.0), slope, rtol=1e-5)
    np.testing.assert_allclose(found(0.0), found(1e-9), rtol=1e-6)
    np.testing.assert_allclose(ld.grad(found)(0.0), ld.grad(found)(1e-9), rtol=1e-6)


def test_kernels_of_ones_own():
    @dataclasses.dataclass(frozen=True)
    class Brownian(kernels.Kernel):
        rate: Any = 1.0

        def between(self, F, G):
            return self.rate * np.minimum(F, G.T)

        def variances(self, F):
            return self.rate * F[:, 0]

    t = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal((2.0 * Brownian())(t), 2 * np.minimum(t[:, None], t))
    np.testing.assert_array_equal(Brownian().diag(t), t)
    assert ld.grad(lambda kernel: np.sum(kernel(t)))(Brownian()).rate == 15.0


def test_bad_input():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"RBF: length_scale of shape \(3,\) for points of 2 columns"):
        RBF(np.ones(3))(X)
    with pytest.raises(ValueError, match="points have 1 columns where the others have 2"):
        RBF()(X, np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"points are a matrix with a row for each, got shape \(1, 3, 2\)"):
        RBF()(X[None])
    with pytest.raises(TypeError, match="points are real numbers, got dtype complex128"):
        RBF()(X + 1j)
    with pytest.raises(ValueError, match=r"kernel on columns \[2\]: points have 2 columns"):
        RBF().on(2)(X)
    with pytest.raises(TypeError, match="added to, or multiplied by, a kernel or a number, not a str"):
        RBF() + "x"
    with pytest.raises(ValueError, match="nu must be greater than 0"):
        Matern(nu=-1.0)(X)
    with pytest.raises(ValueError, match=r"a row for each"):
        RBF().warped(lambda params, X: X[:1])(X)
    with pytest.raises(ValueError, match="order is 0, 1 or 2"):
        ArcCosine(order=3)(X)


def test_noise_is_not_negative():
    with pytest.raises(ValueError, match="WhiteKernel: noise_level is a variance"):
        (RBF() + WhiteKernel(-0.01))(np.arange(3.0))


def test_tiles_are_smaller_than_these_matrices():
    assert tiles.ROWS < 600
    assert tiles.IN_ONE_TILE < 600 * 513


@pytest.mark.parametrize("kernel", [RBF(0.1), Matern(0.1, nu=2.5), ExpSineSquared(1.0, 0.7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_do_not_depend_on_where_zero_is(kernel, dtype):
    exact = dtype(2.0) ** -6  # so that times after the shift are the same numbers
    t = (np.random.default_rng(0).integers(0, 200, 60) * exact).astype(dtype)
    shift = dtype(2**30 if dtype is np.float64 else 2**12)
    W = np.random.default_rng(1).standard_normal((60, 60)).astype(dtype)

    def slope(t):
        found = ld.grad(lambda kernel, t: np.sum(W * kernel(t)), argnums=(0, 1))(kernel, t)
        return np.concatenate([np.ravel(leaf) for leaf in flatten(found)[0]])

    near, far = slope(t), slope(t + shift)
    np.testing.assert_allclose(far, near, rtol=1e-3 if dtype is np.float32 else 1e-10, atol=1e-3)


@dataclasses.dataclass(eq=False)
class Power(kernels.Kernel):
    """One with more than its fields."""

    scale: Any = 1.0
    p = 2

    def between(self, F, G):
        return self.scale * (1 + F @ G.T) ** self.p

    def variances(self, F):
        return self.scale * (1 + np.sum(F * F, axis=1)) ** self.p


@dataclasses.dataclass(frozen=True, eq=False)
class Squared(kernels.Kernel):
    """One that changes its number when it is made."""

    scale: Any = 3.0

    def __post_init__(self):
        object.__setattr__(self, "scale", self.scale**2)

    def between(self, F, G):
        return self.scale * np.exp(-np.abs(F - G.T))

    def variances(self, F):
        return self.scale


@dataclasses.dataclass(frozen=True)
class Clipped(kernels.Kernel):
    """One whose bounds are part of what it computes."""

    scale: Any = 1.0
    clip_bounds: tuple = dataclasses.field(default=(0.0, 1.0), metadata={"static": True})

    def between(self, F, G):
        return self.scale * np.clip(F @ G.T, *self.clip_bounds)

    def variances(self, F):
        return self.scale * np.clip(F[:, 0] ** 2, *self.clip_bounds)


def test_what_kernels_carry_besides_their_numbers():
    X = np.arange(1.0, 4.0)
    kernel = Power()
    for power in (2, 3, 2, 5):
        kernel.p = power
        np.testing.assert_allclose(np.diag(kernel(X)), kernel.diag(X))
        np.testing.assert_allclose(kernel(X), (1 + np.multiply.outer(X, X)) ** power)
        slope = ld.grad(lambda scale, kernel=kernel: np.sum(scale * kernel(X)))(1.0)
        np.testing.assert_allclose(slope, np.sum(kernel(X)))
    np.testing.assert_allclose(np.diag(Squared()(X)), 9.0)
    for top in (1.0, 5.0, 1.0):
        kernel = Clipped(1.0, (0.0, top))
        np.testing.assert_allclose(np.diag(kernel(X)), kernel.diag(X))


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared(kernels.Kernel):
    """One that makes of its fields what it computes with."""

    length: Any = 2.0
    rates: Any = dataclasses.field(init=False, metadata={"static": True})

    def __post_init__(self):
        object.__setattr__(self, "rates", np.stack([1 / self.length, 0.5 * self.length]))
        object.__setattr__(self, "inner", {"smooth": self.rates[0] * RBF(1.0)})

    @functools.cached_property
    def variance(self):
        return self.rates[1] ** 2

    def between(self, F, G):
        return self.variance * self.inner["smooth"].between((F[:, :0], F), (G[:, :0], G))

    def variances(self, F):
        return self.variance * self.rates[0]


def test_what_post_init_makes_of_fields():
    X = np.linspace(0, 3, 7)

    def expected(length):
        return 0.25 * length * RBF(1.0)(X)

    kernel = Prepared()
    np.testing.assert_allclose(kernel(X), expected(2.0))
    assert kernel.variance == 1.0
    slope = np.sum(expected(1.0))
    for length in (3.0, np.array(5.0)):
        others = kernel.with_params(length=length), kernel.clone_with_theta(np.array([length]))
        for other in (*others, Prepared(length)):
            np.testing.assert_allclose(other(X), expected(length))
            np.testing.assert_allclose(np.diag(other(X)), other.diag(X))
            found = ld.grad(lambda kernel: np.sum(kernel(X)))(other)
            np.testing.assert_allclose(found.length, slope)
        by_argument = ld.grad(lambda length: np.sum(Prepared(length)(X)))(length)
        by_name = ld.grad(lambda length: np.sum(kernel.with_params(length=length)(X)))(length)
        np.testing.assert_allclose([by_argument, by_name], slope)
        by_theta = ld.grad(lambda theta: np.sum(kernel.clone_with_theta(theta)(X)))(np.array([length]))
        np.testing.assert_allclose(by_theta, [slope])
    before = tiles._program_of.cache_info().misses
    for length in (1.5, 2.5):
        np.testing.assert_allclose(Prepared(length)(X), expected(length))
    assert tiles._program_of.cache_info().misses <= before + 1
    Z = X[::3]
    check_grads(lambda length: gp.sparse_bound(Prepared(length), X, np.sin(X), Z, 0.1), (1.3,), order=1)
    found = gp.fit(X, np.sin(X), kernel, 0.01).kernel
    np.testing.assert_allclose(found(X), expected(found.length))
    assert Squared().with_params(scale=2.0).scale == 2.0


def test_functions_that_are_made_anew_need_no_program_of_their_own():
    X = np.random.default_rng(0).standard_normal((5, 1))
    before = tiles._program_of.cache_info().misses
    for factor in (1.0, 2.0, 3.0):
        kernel = (1.0 * RBF().warped(lambda p, X, factor=factor: factor * X, ())).on([0])
        np.testing.assert_allclose(kernel(X), RBF()(factor * X))
    assert tiles._program_of.cache_info().misses <= before + 1


@pytest.mark.parametrize(
    ("nu", "r"), [(2.0, 1e-160), (50.0, 1e-8), (200.0, 0.1), (200.0, 1e-300), (0.3, 1e-200)]
)
def test_matern_where_bessel_functions_are_too_large(nu, r):
    mpmath = pytest.importorskip("mpmath")
    s = mpmath.sqrt(2 * nu) * mpmath.mpf(r)
    expected = 2 ** mpmath.mpf(1 - nu) / mpmath.gamma(nu) * s**nu * mpmath.besselk(nu, s)
    np.testing.assert_allclose(Matern(nu=nu)(np.array([0.0]), np.array([r])), float(expected), rtol=1e-12)


@pytest.mark.parametrize(
    "other", [DotProduct(), ArcCosine(), Coregionalized(RBF(), np.ones((2, 1)), np.ones(2))]
)
def test_kernels_without_noise_have_none(other):
    F = other.features(np.array([[0.5, 0.0], [1.5, 1.0]]))
    assert other.noise(F) == 0.0
    product = RBF() * other
    assert product.noise(product.features(np.array([[0.5, 0.0], [1.5, 1.0]]))) == 0.0


def test_columns_by_numpys_integers():
    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(RBF().on(np.int64(1))(X), RBF()(X[:, 1]))


@pytest.mark.parametrize(
    ("nu", "expected"),
    [  # by mpmath, 30 digits, at distances 0.5, 3 and 6
        (250.0, [0.8820819848304945, 0.01135737855514674, 2.586340432140616e-8]),
        (1000.0, [0.8823934071215124, 0.0111713857086034, 1.753337314359115e-8]),
        (1e6, [0.8824967991669118, 0.01110905902624863, 1.523217297008301e-8]),
    ],
)
def test_matern_of_large_orders(nu, expected):
    np.testing.assert_allclose(
        Matern(1.0, nu=nu)(np.zeros(1), np.array([0.5, 3.0, 6.0]))[0], expected, rtol=1e-11
    )


def test_columns_by_a_mask():
    points = np.array([[0.0, 0.0, 0.0], [1.0, 5.0, 9.0]])
    mask = np.array([True, False, True])
    np.testing.assert_array_equal(RBF().on(mask)(points), RBF().on([0, 2])(points))
    with pytest.raises(TypeError):
        RBF().on([0.9])


@pytest.mark.parametrize("nu", [0.25, 0.5, 1.0])
def test_points_that_differ_by_rounding(nu):
    """Both ways agree with differences, as the slope of the kernel is large there."""
    steps = np.arange(30)
    t = np.concatenate([0.1 * steps, steps / 10])
    y = np.sin(t) + 0.2 * np.random.default_rng(0).standard_normal(60)

    def density(scale):
        return gp.log_marginal_likelihood(Matern(scale, nu=nu) + WhiteKernel(0.1), t, y)

    check_grads(density, (1.0,), order=2, rtol=1e-5)


def test_what_is_no_covariance_function():
    X = np.eye(2)
    for wrong, says in [
        (lambda: RBF() ** -1, "to the power -1 is no covariance function"),
        (lambda: -1.0 * RBF(), "the factor or summand -1.0"),
        (lambda: kernels.ConstantKernel(np.ones(2))(X), r"constant_value is a number, got shape \(2,\)"),
        (lambda: kernels.Coregionalized(RBF())(X), r"W is \(P, r\) and kappa \(P,\)"),
        (lambda: kernels.Coregionalized(RBF(), X, np.ones(3))(X), r"got shapes \(2, 2\) and \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=says):
            wrong()
    assert sum([RBF(), RBF()]).n_dims == 2

    class InColumns(RBF):
        def variances(self, F):
            return np.ones((len(F), 1))

    with pytest.raises(ValueError, match=r"variances gives shape \(3, 1\) for 3 points"):
        InColumns().diag(np.ones((3, 2)))


@pytest.mark.parametrize("columns", [2, 40])
@pytest.mark.parametrize("size", [1e8, 1e12, 1e16, 1e20])
def test_points_far_off_leave_the_others_as_they_are(size, columns):
    X = np.random.default_rng(0).standard_normal((20, columns))
    far = X.copy()
    far[0, 1] = size
    scales = np.linspace(1.0, 2.0, columns) * columns**0.5
    for make in (
        lambda s: kernels.RBF(s),
        lambda s: kernels.Matern(s, nu=2.5),
        lambda s: kernels.ExpSineSquared(2.0, 3.0 * s),
        lambda s: kernels.SpectralMixture(np.ones(1), 0.1 / s[None], 1 / s[None]),
    ):

        def others(s, points, make=make):
            return make(s)(points)[1:, 1:]

        np.testing.assert_allclose(others(scales, far), others(scales, X), rtol=0, atol=1e-14)
        slopes = (ld.grad(lambda s, p=p: np.sum(others(s, p) ** 2))(scales) for p in (far, X))
        np.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-12)


def test_points_that_are_not_finite_spoil_their_own_covariances_alone():
    X = np.random.default_rng(0).standard_normal((20, 2))
    for wrong in (np.inf, np.nan):
        Z = X[:5].copy()
        Z[2, 1] = wrong
        K = kernels.RBF(np.array([1.0, 2.0]))(X, Z)
        assert np.isfinite(np.delete(K, 2, axis=1)).all()
