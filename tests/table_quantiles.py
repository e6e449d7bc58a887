"""Records of quantiles, percentiles and medians."""

from __future__ import annotations

import numpy as np
from table import Operator, sample
from table_reductions import of_holed

METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
HOLES = [[np.nan, 1.0, 1.0, 1.0], [1.0, 1.0, np.nan, np.nan], [1.0, 1.0, 1.0, 1.0]]


def medians(rng):
    x = rng.standard_normal((3, 4))
    yield sample(rng.standard_normal(5))
    yield sample(rng.standard_normal(()))
    yield sample(x)
    yield sample(x, axis=0)
    yield sample(x, axis=-1, keepdims=True)
    yield sample(x, axis=(0, 1), keepdims=True)
    yield sample(rng.standard_normal((2, 3, 4)), axis=(2, 0))

    yield sample(rng.standard_normal((0, 3)), axis=1)


def quantiles(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, 0.3)
    yield sample(x, 1.0, axis=0)
    yield sample(x, [0.0, 0.25, 0.6], axis=1)
    yield sample(x, 0.4, axis=(1, 0), keepdims=True)
    yield sample(x, [[0.1, 0.5]], axis=0, keepdims=True)
    yield sample(rng.standard_normal((2, 3, 4)), 0.4, axis=(0, 2))
    yield sample(np.array([1.0, 3.0, 2.0]), np.array([0.3, 0.8]))
    yield sample(np.array([[1.0, 3.0, 2.0], [4.0, 2.5, 7.0]]), np.array([[0.3], [0.8]]), axis=1)
    yield sample([1, 3, 2], np.array(0.3), keepdims=True)
    yield sample(rng.standard_normal(()), 0.3)
    yield sample(rng.standard_normal((0, 3)), [0.2, 0.4], axis=1)


def quantiles_by_method(rng):
    x = rng.standard_normal((2, 5))
    for method in METHODS:
        yield sample(x, np.array([0.02, 0.37, 0.57, 0.99]), axis=1, method=method)
    yield sample(x, 0.4, method="inverted_cdf", weights=1 + rng.random((2, 5)))
    yield sample(x, np.array([0.2, 0.7]), axis=1, method="inverted_cdf", weights=[1, 2, 0, 1, 3])
    yield sample(x, [0.0, 1.0], axis=1, method="inverted_cdf", weights=[0, 2, 0, 1, 3], keepdims=True)
    yield sample(
        rng.standard_normal((2, 3, 2)),
        0.3,
        axis=(1, 0),
        method="inverted_cdf",
        weights=[[1, 2], [2, 1], [3, 0]],
    )


def percentiles(rng):
    yield sample(rng.standard_normal((3, 4)), 30.0, axis=1)
    yield sample(rng.standard_normal(5), [10, 20.0])
    yield sample(rng.standard_normal(5), np.array([10.0, 77.0]), method="weibull")


def holed_medians(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, HOLES)
    yield sample(x, HOLES, axis=1)
    yield sample(x, HOLES, axis=0, keepdims=True)
    yield sample(x, HOLES, axis=(1, 0))
    yield sample(rng.standard_normal(4), [1.0] * 4)


def holed_quantiles(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, HOLES, q=0.3)
    yield sample(x, HOLES, q=[0.3, 0.71], axis=1)
    yield sample(x, HOLES, q=np.array([0.3, 0.71]), axis=1)
    yield sample(x, HOLES, q=[[0.2], [1.0]], axis=0, keepdims=True)
    for method in ["averaged_inverted_cdf", "hazen", "nearest"]:
        yield sample(x, HOLES, q=[0.3, 0.9], axis=1, method=method)
    weights = [[1, 2, 0, 1], [1, 1, 5, 2], [2, 1, 1, 1]]
    yield sample(x, HOLES, q=0.3, axis=1, method="inverted_cdf", weights=weights)


def holed_percentiles(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, HOLES, q=30.0, axis=1)
    yield sample(x, HOLES, q=np.array([10.0, 60.0]))


OPERATORS = [
    Operator("median", np.median, medians),
    Operator("quantile", np.quantile, quantiles),
    Operator("quantile by method", np.quantile, quantiles_by_method),
    Operator("percentile", np.percentile, percentiles),
    Operator("nanmedian", np.nanmedian, holed_medians, call=of_holed(np.nanmedian)),
    Operator("nanquantile", np.nanquantile, holed_quantiles, call=of_holed(np.nanquantile)),
    Operator("nanpercentile", np.nanpercentile, holed_percentiles, call=of_holed(np.nanpercentile)),
]
