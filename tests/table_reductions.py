"""Records of reductions, cumulative functions, differences and statistics."""

from __future__ import annotations

import numpy as np
from table import Operator, sample

MASK = np.array([[True, False, True], [True, True, True]])


def reductions(rng, masked=True):
    """Every axis, keepdims, dtype and mask."""
    x = rng.standard_normal((2, 3))
    yield sample(rng.standard_normal(()))
    yield sample(rng.standard_normal(4))
    yield sample(x)
    yield sample(x, 0)
    yield sample(x, axis=-1, keepdims=True)
    yield sample(rng.standard_normal((2, 3, 2)), axis=(0, -1))
    yield sample(rng.standard_normal((2, 3, 2)), axis=(0, 2), keepdims=True)
    yield sample(x, keepdims=True)
    yield sample(rng.standard_normal((0, 3)), axis=1)
    if masked:
        yield sample(x, axis=1, where=MASK)
        yield sample(x, where=MASK, keepdims=True)
        yield sample(x, axis=1, where=np.array([True, False, True]), keepdims=True)


def with_dtype(rng):
    yield sample(rng.standard_normal((2, 3)), axis=0, dtype=np.float64)


def sums(rng):
    yield from reductions(rng)
    yield sample(rng.standard_normal((0, 3)), axis=0)
    yield sample(rng.standard_normal((2, 3)), axis=())
    yield sample(rng.standard_normal((2, 3)), axis=1, initial=2.0)


def products(rng):
    yield from sums(rng)
    x = rng.standard_normal((3, 5))
    x[0, 1] = x[1, 2] = x[1, 4] = 0
    yield sample(x, axis=1)
    yield sample(x)
    for n in range(8):
        yield sample(rng.standard_normal(n))


def plain_reductions(rng):
    yield from reductions(rng, masked=False)


def extremes(rng):
    yield from plain_reductions(rng)
    yield sample(rng.standard_normal((2, 3)), axis=1, initial=0.1, where=MASK)
    yield sample(rng.standard_normal((2, 3)), initial=0.1)


def variances(rng):
    for case in reductions(rng):
        if np.ndim(case.args[0]) and case.args[0].size:
            yield case
    x = rng.standard_normal((2, 5))
    yield sample(x, axis=1, ddof=1)
    yield sample(x, axis=1, ddof=2, keepdims=True)
    yield sample(x, axis=0, ddof=0.5)


def apart(x):
    """Different numbers, because the standard deviation of nearly equal ones is strongly curved."""
    return x + 3 * np.arange(x.size).reshape(x.shape)


def with_mean(rng):
    x = rng.standard_normal((2, 5))
    yield sample(x, axis=1, mean=np.ones((2, 1)))
    yield sample(x, axis=1, correction=1)
    yield sample(x, correction=1, mean=np.zeros((1, 1)))


def weighted(rng):
    x = rng.standard_normal((2, 3))
    yield sample(x)
    yield sample(x, 1)
    yield sample(x, weights=1 + rng.random((2, 3)))
    yield sample(x, 1, 1 + rng.random(3))
    yield sample(x, axis=0, weights=1 + rng.random(2), keepdims=True)
    yield sample(rng.standard_normal((2, 3, 4)), axis=(2, 0), weights=1 + rng.random((4, 2)))
    yield sample(x, axis=1, weights=[1.0, 2.0, 3.0], returned=True)
    yield sample(x, axis=1, returned=True)


def cumulatives(rng):
    x = rng.standard_normal((3, 5))
    yield sample(rng.standard_normal(7))
    yield sample(rng.standard_normal(()))
    yield sample(rng.standard_normal(0))
    yield sample(x)
    yield sample(x, 0)
    yield sample(x, axis=-1)
    x = x.copy()
    x[0, 1] = x[1, 2] = x[1, 4] = 0
    yield sample(x, axis=1)


def array_api_cumulatives(rng):
    yield sample(rng.standard_normal(4))
    yield sample(rng.standard_normal((2, 3)), axis=1, include_initial=True)


def with_nans(rng):
    """The NaNs stand in lists: their samples are differentiated through a product with a constant."""
    x = rng.standard_normal((3, 4))
    nan = [[np.nan, 1.0, 1.0, 1.0], [1.0, 1.0, np.nan, np.nan], [1.0, 1.0, 1.0, 1.0]]
    yield sample(x, nan)
    yield sample(x, nan, axis=1)
    yield sample(x, nan, axis=0, keepdims=True)


def cumulative_with_nans(rng):
    yield from list(with_nans(rng))[:2]


def of_holed(function):
    """``function`` of the product of the first two arguments, without differentiating through NaN * 0."""

    def call(x, nan, **kwargs):
        return function(np.where(np.isnan(nan), np.nan, x), **kwargs)

    return call


def without_nans(name, function, samples=with_nans, **options):
    return Operator(name, function, samples, call=of_holed(function), **options)


def diffs(rng):
    x = rng.standard_normal((3, 4))
    yield sample(rng.standard_normal(5))
    yield sample(x)
    yield sample(x, 2, 0)
    yield sample(x, n=0)
    yield sample(x, n=5)
    yield sample(x, axis=0, prepend=np.zeros((1, 4)), append=np.ones((2, 4)))
    yield sample(x, append=0.0)
    yield sample(rng.standard_normal(3), prepend=rng.standard_normal(()))


def gradients(rng):
    x = rng.standard_normal((4, 5))
    h = np.cumsum(0.5 + rng.random(5))
    yield sample(rng.standard_normal(5))
    yield sample(rng.standard_normal(2))
    yield sample(x)
    yield sample(x, 2.0)
    yield sample(x, axis=0)
    yield sample(x, axis=(1, 0), edge_order=2)
    yield sample(x, 0.5, h)
    yield sample(x, h, axis=1, edge_order=2)
    yield sample(x, np.array(0.5), axis=-1)
    yield sample(x, axis=(1,))


def trapezoids(rng):
    y = rng.standard_normal((3, 4))
    yield sample(y)
    yield sample(y, dx=np.array(0.5), axis=0)
    yield sample(y, np.cumsum(rng.random(4)))
    yield sample(y, np.cumsum(rng.random(3)), axis=0)
    yield sample(y, np.cumsum(rng.random((3, 4)), axis=1), axis=-1)


def covariances(rng):
    m = rng.standard_normal((3, 6))
    yield sample(m)
    yield sample(rng.standard_normal(5))
    yield sample(m, rng.standard_normal((2, 6)))
    yield sample(m.T, rowvar=False)
    yield sample(m, bias=True)
    yield sample(m, ddof=0)
    yield sample(m, fweights=[1, 2, 1, 1, 3, 1])
    yield sample(m, fweights=[1, 2, 1, 1, 3, 1], aweights=[1.0, 2.0, 3.0, 1.0, 2.0, 1.0], ddof=2)


def weighted_covariances(rng):
    yield sample(rng.standard_normal((3, 6)), aweights=1 + rng.random(6))


def correlations(rng):
    yield sample(rng.standard_normal((3, 6)))
    yield sample(rng.standard_normal(6), rng.standard_normal(6))
    yield sample(rng.standard_normal((6, 2)), rowvar=False)


OPERATORS = [
    Operator("sum", np.sum, sums, complex=True),
    Operator("mean", np.mean, reductions, complex=True),
    Operator("max", np.max, extremes),
    Operator("min", np.min, extremes),
    Operator("amax", np.amax, extremes),
    Operator("amin", np.amin, extremes),
    Operator("ptp", np.ptp, plain_reductions),
    Operator("var", np.var, variances, complex=True),
    Operator("var with mean", np.var, with_mean, complex=True),
    Operator("std", np.std, variances, domain=apart, complex=True),
    Operator("std with mean", np.std, with_mean, complex=True),
    Operator("prod", np.prod, products, complex=True),
    Operator("average", np.average, weighted, domain=lambda x: x + 2, complex=True),
    Operator("cumsum", np.cumsum, cumulatives, complex=True),
    Operator("cumprod", np.cumprod, cumulatives, complex=True),
    *(
        Operator(name, getattr(np, name), array_api_cumulatives, complex=True)
        for name in ["cumulative_sum", "cumulative_prod"]
        if hasattr(np, name)  # NumPy 2.1
    ),
    Operator("diff", np.diff, diffs, complex=True),
    Operator("ediff1d", np.ediff1d, lambda rng: [sample(rng.standard_normal((2, 3)))], complex=True),
    Operator(
        "ediff1d with ends",
        np.ediff1d,
        lambda rng: [sample(rng.standard_normal(4), to_end=np.ones(2), to_begin=np.zeros(()))],
    ),
    Operator("gradient", np.gradient, gradients, complex=True),
    Operator("trapezoid", np.trapezoid, trapezoids, complex=True),
    Operator("cov", np.cov, covariances, complex=True),
    Operator("cov with weights", np.cov, weighted_covariances),
    Operator("corrcoef", np.corrcoef, correlations, complex=True),
    *(
        Operator(f"{function.__name__} with dtype", function, with_dtype)
        for function in [np.sum, np.mean, np.var, np.std, np.prod, np.cumsum, np.cumprod]
    ),
    without_nans("nansum", np.nansum, complex=True),
    without_nans("nanmean", np.nanmean, complex=True),
    without_nans("nanvar", np.nanvar),
    without_nans("nanstd", np.nanstd),
    without_nans("nanprod", np.nanprod),
    without_nans("nanmax", np.nanmax),
    without_nans("nanmin", np.nanmin),
    without_nans("nancumsum", np.nancumsum, cumulative_with_nans),
    without_nans("nancumprod", np.nancumprod, cumulative_with_nans),
]
