"""Counts and sums by bins.

The bin of an element is piecewise constant; what has a derivative are weights, the edges where they follow
the extremes of the data, and so the density.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import value
from lindiff.rules._common import as_array
from lindiff.rules.indexing.rules import scatter

__all__: list[str] = []


@rule(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    bins = value(x)
    if weights is None:
        return np.bincount(bins, minlength=minlength), None
    return np.bincount(bins, weights, minlength), Linear(
        (None, lambda weights_dot: np.bincount(bins, weights_dot, minlength)),
        (None, lambda y_bar: y_bar[as_array(bins)]),
    )


# -- where the bins are ----------------------------------------------------------------------------------


def edges_of(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """The plain edges; CuPy tells them with the counts alone."""
    if foreign(a) is None:
        return np.histogram_bin_edges(value(a), value(bins), range, value(weights))
    return np.histogram(value(a), value(bins), range)[1]


def edges_along(a: Any, bins: Any, range: Any, plain_edges: Any) -> Any:
    """The edges of bins along one axis: those given, or of equal bins from the least to the greatest element.

    How many there are is seen in ``plain_edges``, which NumPy has found and checked.
    """
    if np.ndim(bins) == 1:
        return as_array(bins)
    if range is not None or a.size == 0:
        return plain_edges
    first, last = np.min(a), np.max(a)
    if value(first) == value(last):
        first, last = first - 0.5, last + 0.5
    return np.astype(np.linspace(first, last, len(plain_edges)), plain_edges.dtype)


@composed(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = placed(as_array(a), weights)
    plain_edges = edges_of(a, bins, range, weights)
    return edges_along(a, bins, range, plain_edges)


# -- what lies in them -----------------------------------------------------------------------------------


def bins_of(x: Any, edges: Any) -> Any:
    """The number of the bin of each element; -1 outside of all.  The last bin includes its right edge."""
    last = len(edges) - 2
    bins = np.where(x == edges[-1], last, np.searchsorted(edges, x, side="right") - 1)
    return np.where(bins > last, -1, bins)


def sums(weights: Any, bins: Any, inside: Any, number: int, dtype: Any) -> Any:
    """The sum of the weights by bins, of the elements that are inside."""
    return scatter(np.ravel(weights)[inside], bins[inside], (number,), dtype)


@composed(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a = placed(as_array(a), weights)
    plain_edges = edges_of(a, bins, range, weights)
    edges = edges_along(a, bins, range, plain_edges)
    if weights is None:
        counts: Any = np.histogram(value(a), value(bins), range)[0]
    else:
        weights = placed(as_array(weights), a)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        found = bins_of(np.ravel(value(a)), plain_edges)
        counts = sums(weights, found, np.flatnonzero(found >= 0), len(plain_edges) - 1, weights.dtype)
    if density:
        counts = counts / np.diff(edges).astype(float) / np.sum(counts)
    return counts, edges


@composed(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]  # the edges along both axes
    counts, (x_edges, y_edges) = np.histogramdd([as_array(x), as_array(y)], bins, range, density, weights)
    return counts, x_edges, y_edges


@composed(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    columns = columns_of(sample)
    columns = [placed(x, *columns, weights) for x in columns]
    counts: Any
    plain_edges: Any
    counts, plain_edges = np.histogramdd(
        [value(x) for x in columns], value(bins), range, weights=value(weights)
    )
    each_bins = bins if hasattr(bins, "__len__") else [bins] * len(columns)
    each_range = [None] * len(columns) if range is None else range
    edges = list(map(edges_along, columns, each_bins, each_range, plain_edges))
    if weights is not None:
        found = np.stack(list(map(bins_of, map(value, columns), plain_edges)))
        inside = np.flatnonzero((found >= 0).all(axis=0))
        bins_in_all = np.ravel_multi_index(tuple(np.maximum(found, 0)), counts.shape)
        total = sums(as_array(weights), bins_in_all, inside, counts.size, np.float64)
        counts = np.reshape(total, counts.shape)
    if density:
        widths = np.meshgrid(*map(np.diff, edges), indexing="ij", sparse=True)
        total = np.sum(counts)
        for width in widths:
            counts = counts / width
        counts = counts / total
    return counts, edges


def columns_of(sample: Any) -> list[Any]:
    """The coordinates of points: an array with a row for each point, or a list of the coordinates."""
    if not hasattr(sample, "shape"):
        return [as_array(x) for x in sample]
    return list(np.transpose(sample)) if sample.ndim == 2 else [np.ravel(sample)]
