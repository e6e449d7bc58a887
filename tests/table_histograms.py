"""Records of counts and sums by bins."""

from __future__ import annotations

import numpy as np
from table import Operator, sample

EDGES = [-1.2, -0.3, 0.4, 1.4]


def weighted_counts(rng):
    yield sample([0, 3, 1, 3], rng.standard_normal(4))
    yield sample([0, 3, 1, 3], weights=rng.standard_normal(4), minlength=6)
    yield sample(np.array([], int), rng.standard_normal(0), minlength=2)


def edges(rng):
    x = rng.standard_normal(9)
    yield sample(x)
    yield sample(x.reshape(3, 3), 4)
    yield sample(x, "sturges")
    yield sample(x, 3, range=(-1.0, 2.0))
    yield sample(x, np.array(EDGES))
    yield sample([1, 2, 5], np.array(EDGES))
    yield sample(np.zeros(0), 3)


def histograms(rng):
    x, w = rng.standard_normal(9), 0.5 + rng.random(9)
    yield sample(x)
    yield sample(x.reshape(3, 3), 4, density=True)
    yield sample(x, "fd", density=True)
    yield sample(x, 3, (-1.0, 2.0), density=True, weights=w)
    yield sample(x, 6, weights=w)
    yield sample(x, EDGES, weights=w)
    yield sample(x, np.array(EDGES), density=True, weights=w)
    yield sample(list(x), np.array(EDGES), density=True)
    yield sample(list(x), 4, weights=w, density=True)
    yield sample(x, 4, weights=[1] * 9)
    yield sample(np.zeros((0, 2)), 3)


def histograms_with_complex_weights(rng):
    yield sample(list(rng.standard_normal(9)), 3, weights=rng.random(9))
    yield sample(list(rng.standard_normal(9)), EDGES, weights=rng.random(9), density=True)


def planar_histograms(rng):
    x, y, w = rng.standard_normal(9), rng.standard_normal(9), 0.5 + rng.random(9)
    yield sample(x, y)
    yield sample(x, y, 3, density=True)
    yield sample(x, y, [2, EDGES], weights=w)
    yield sample(x, list(y), [3, 2], [[-1.0, 1.0], [-2.0, 2.0]], True, w)
    yield sample(x, y, np.array(EDGES), density=True, weights=w)
    yield sample(x, y, [np.array(EDGES), np.array([-1.0, 0.0, 1.0])], density=True)


def histograms_of_points(rng):
    points, w = rng.standard_normal((9, 3)), 0.5 + rng.random(9)
    yield sample(points, 2)
    yield sample(points, [2, 3, 1], density=True, weights=w)
    yield sample(points, (2, EDGES, 1), [None, None, (-1.0, 1.0)], weights=w)
    yield sample(points[:, 0], 3, weights=w)
    yield sample(list(points.T), 2, density=True, weights=w)
    yield sample([list(x) for x in points.T], 2, weights=w)


OPERATORS = [
    Operator("bincount", np.bincount, weighted_counts),
    Operator("histogram_bin_edges", np.histogram_bin_edges, edges),
    Operator("histogram", np.histogram, histograms),
    Operator("histogram of complex weights", np.histogram, histograms_with_complex_weights, complex=True),
    Operator("histogram2d", np.histogram2d, planar_histograms),
    Operator("histogramdd", np.histogramdd, histograms_of_points),
]
