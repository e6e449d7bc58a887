"""Records of the keywords that the other tables leave out: with them, every keyword of every function is
tested (``test_every_keyword_is_in_a_record``).
"""

from __future__ import annotations

import numpy as np
from table import Operator, accepted, sample
from table_selection import undispatched

import lindiff as ld

MASK = np.array([[True, False, True, True], [False, True, True, True], [True, True, False, True]])
HOLES = [[1.0, 1.0, np.nan, 1.0], [1.0, np.nan, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]


def symmetric(x):
    return x + np.swapaxes(x, -1, -2) if x.ndim > 1 else x


def apart(x):
    """Different numbers, so that no order changes and nothing is strongly curved."""
    return x + 3 * np.arange(x.size).reshape(x.shape)


def keywords(function, *samples, name=None, **options):
    """A record of one function, with the samples that its signature in the installed NumPy allows."""
    name = name or f"{function.__name__} keywords"
    return Operator(name, function, lambda rng: accepted(function, *(s(rng) for s in samples)), **options)


def constants(function, *samples, **options):
    return keywords(function, *((lambda rng, s=s: s) for s in samples), constant=True, **options)


def matrix(*args, **kwargs):
    """Samples of a random matrix with these further arguments."""
    return lambda rng: sample(rng.standard_normal((3, 4)), *args, **kwargs)


def square(*args, **kwargs):
    return lambda rng: sample(rng.standard_normal((3, 3)), *args, **kwargs)


def vector(*args, **kwargs):
    return lambda rng: sample(rng.standard_normal(5), *args, **kwargs)


def holed(function, *samples, **options):
    """``function`` of arrays with NaNs in fixed places."""

    def call(x, *args, **kwargs):
        return function(np.where(np.isnan(HOLES), np.nan, x), *args, **kwargs)

    return keywords(function, *samples, call=call, **options)


def like(function, *args, **kwargs):
    """A maker of constants with its keywords, reached through ``like=``."""
    name = f"{function.__name__} keywords"

    def call(x):
        made = function(*args, like=x, **kwargs)
        return made.shape if function == np.empty else ld.value(made)

    return Operator(name, function, lambda rng: [sample(np.ones(2))], call=call, constant=True)


A = np.array([[0.5, -1.5, 2.5], [np.inf, 0.0, -0.5]])
B = np.array([0.5, 0.0, 2.5])

OPERATORS = [
    keywords(np.nan_to_num, matrix(copy=True, neginf=-3.0), matrix(True, 1.0, 2.0, -3.0)),
    keywords(np.real_if_close, matrix(tol=1)),
    keywords(np.clip, matrix(-0.5, 0.5, dtype=np.float64, casting="same_kind", order="F", subok=True)),
    keywords(np.copy, matrix(order="F"), matrix(order="C", subok=True)),
    keywords(np.full_like, lambda rng: sample(np.zeros(2), rng.standard_normal(()), order="F")),
    keywords(
        np.geomspace,
        lambda rng: sample(rng.random(()) + 1, rng.random(3) + 2, 4, False, np.float64, -1),
    ),
    keywords(np.linalg.svd, matrix(compute_uv=False)),
    keywords(
        np.linalg.svd,
        square(compute_uv=False, hermitian=True),
        name="hermitian svd",
        call=lambda x, **options: np.linalg.svd(symmetric(x), **options),
    ),
    keywords(
        np.linalg.pinv,
        square(hermitian=True),
        call=lambda x, **options: np.linalg.pinv(symmetric(x), **options),
    ),
    keywords(
        np.linalg.tensordot,
        lambda rng: sample(rng.standard_normal((2, 3)), rng.standard_normal((3, 2)), axes=([0, 1], [1, 0])),
    ),
    keywords(np.linalg.trace, square(dtype=np.float64, offset=1)),
    keywords(
        np.einsum,
        lambda rng: sample("ij,jk", rng.standard_normal((2, 3)), rng.standard_normal((3, 2)), optimize=True),
        lambda rng: sample("i...,i...->...", *rng.standard_normal((2, 3, 4)), optimize="greedy", order="F"),
        lambda rng: sample("ij->ji", rng.standard_normal((3, 2)), dtype=np.float64, casting="safe", out=None),
        lambda rng: sample(rng.standard_normal((2, 3)), [0, 1], rng.standard_normal((3, 3)), [1, 1], [0]),
        lambda rng: sample(
            rng.standard_normal((2, 3)), [..., 1], rng.standard_normal((3, 2)), [1, 0], optimize=False
        ),
    ),
    keywords(np.cov, matrix(dtype=np.float64)),
    keywords(np.corrcoef, matrix(dtype=np.float64)),
    *(
        keywords(getattr(np, name), matrix(axis=1, dtype=np.float64))
        for name in ["cumulative_sum", "cumulative_prod"]
        if hasattr(np, name)  # NumPy 2.1
    ),
    *(
        keywords(
            f,
            matrix(q, overwrite_input=True, keepdims=True),
            matrix(q, axis=1, method="inverted_cdf", weights=[[1.0, 2.0, 0.5, 0.0]] * 3),
            call=lambda x, *args, f=f, **options: f(np.copy(x), *args, **options),
        )
        for f, q in [(np.quantile, 0.4), (np.percentile, 40), (np.nanquantile, 0.4), (np.nanpercentile, 40)]
    ),
    *(
        keywords(
            f,
            matrix(axis=0, overwrite_input=True, keepdims=True),
            call=lambda x, f=f, **options: f(np.copy(x), **options),
        )
        for f in [np.median, np.nanmedian]
    ),
    keywords(np.histogram_bin_edges, vector(bins=3, weights=[1.0, 2.0, 3.0, 4.0, 5.0])),
    *(
        holed(
            f,
            matrix(axis=1, dtype=np.float64, keepdims=True),
            matrix(axis=0, initial=1.5, where=MASK),
            domain=apart,
        )
        for f in [np.nansum, np.nanprod]
    ),
    holed(np.nanmean, matrix(axis=1, dtype=np.float64, keepdims=True), matrix(axis=0, where=MASK)),
    *(
        holed(
            f,
            matrix(axis=1, dtype=np.float64, keepdims=True, ddof=1),
            matrix(axis=0, where=MASK),
            matrix(correction=1),
            lambda rng: sample(rng.standard_normal((3, 4)), axis=1, mean=rng.standard_normal((3, 1))),
            domain=apart,
        )
        for f in [np.nanvar, np.nanstd]
    ),
    *(
        holed(f, matrix(axis=1, keepdims=True), matrix(axis=0, initial=0.3, where=MASK))
        for f in [np.nanmax, np.nanmin]
    ),
    *(holed(f, matrix(axis=1, dtype=np.float64)) for f in [np.nancumsum, np.nancumprod]),
    keywords(
        np.piecewise,
        lambda rng: sample(
            rng.standard_normal(4), [[True, False, True, False]], [lambda x, a, b: a * x + b, 2.0], 3.0, b=1.0
        ),
    ),
    keywords(np.sort, matrix(axis=1, kind="mergesort", order=None), matrix(axis=1, descending=True)),
    keywords(np.partition, matrix(1, axis=0, kind="introselect", order=None), domain=apart),
    keywords(
        np.unique,
        matrix(equal_nan=False, return_inverse=True),
        matrix(sorted=True),
    ),
    *(
        Operator(
            f"{f.__name__} keywords",
            f,
            lambda rng: [sample(rng.standard_normal(5), assume_unique=True)],
            call=lambda x, f=f, **options: f(x, x[3:], **options),
        )
        for f in [np.setdiff1d, np.setxor1d]
    ),
    Operator(
        "intersect1d keywords",
        np.intersect1d,
        lambda rng: [
            sample(rng.standard_normal(5), assume_unique=unique, return_indices=True)
            for unique in (False, True)
        ],
        call=lambda x, **options: np.intersect1d(x, x[3:], **options),
    ),
    keywords(np.reshape, matrix((4, 3), copy=True), matrix(order="F", shape=(2, 6), copy=None)),
    *(
        keywords(f, lambda rng: sample([*rng.standard_normal((2, 3, 2))], dtype="f8", casting="unsafe"))
        for f in [np.stack, np.vstack, np.hstack, np.concatenate]
    ),
    keywords(np.pad, matrix(1, "constant", constant_values=2.0), matrix(2, "reflect", reflect_type="even")),
    keywords(np.asarray_chkfinite, matrix(dtype=np.float64), call=undispatched(np.asarray_chkfinite)),
    keywords(np.lib.stride_tricks.sliding_window_view, matrix(2, axis=1, writeable=False, subok=False)),
    # zero derivative, and constants
    *(
        constants(f, sample(A, axis=0, keepdims=True), sample(A, axis=1, where=A > 0))
        for f in [np.all, np.any]
    ),
    constants(np.array_equal, sample(A, A, equal_nan=True)),
    *(constants(f, sample(A, A, rtol=1e-3, atol=0.1, equal_nan=True)) for f in [np.allclose, np.isclose]),
    constants(np.isin, sample(B, [0.5, 7], assume_unique=True, invert=True, kind="sort")),
    constants(
        np.ravel_multi_index,
        sample((np.array([0, 5]), np.array([1, 2])), (3, 4), mode="clip"),
        call=lambda index, dims, **options: np.ravel_multi_index(index, dims, **options),
    ),
    constants(np.count_nonzero, sample(A, axis=0, keepdims=True)),
    constants(np.size, sample(A, axis=1)),
    constants(np.can_cast, sample(np.dtype("f8"), np.dtype("f4"), casting="same_kind")),
    *(constants(f, sample(A, A, max_work=1)) for f in [np.may_share_memory, np.shares_memory]),
    *(
        constants(f, sample(A, max_line_width=20, precision=3, suppress_small=True))
        for f in [np.array_repr, np.array_str]
    ),
    constants(
        np.array2string,
        sample(A, 20, 3, True, " ", prefix="a", formatter=None, threshold=3, edgeitems=1, sign="+"),
        sample(A, floatmode="fixed", suffix="b", legacy=False),
    ),
    constants(np.argsort, sample(A, order=None, stable=True), sample(A, descending=True)),
    constants(np.argpartition, sample(A, 1, axis=0, kind="introselect", order=None)),
    constants(np.lexsort, sample(A, axis=0)),
    constants(np.searchsorted, sample(B, 0.3, sorter=np.array([1, 0, 2]))),
    constants(np.digitize, sample(B, np.array([0.0, 1.0]), right=True)),
    constants(
        np.linalg.matrix_rank,
        sample(np.ones((2, 2)), tol=0.1),
        sample(np.ones((2, 2)), rtol=0.1, hermitian=True),
    ),
    *(constants(f, sample(np.ones((3, 3)), k=1)) for f in [np.tril_indices_from, np.triu_indices_from]),
    constants(
        np.zeros_like,
        sample(A, dtype=np.float32, order="F", shape=(2, 2)),
        call=lambda *args, **kwargs: ld.value(np.zeros_like(*args, **kwargs)),
    ),
    constants(
        np.ones_like,
        sample(A, dtype=np.float32, order="F", shape=(2, 2)),
        call=lambda *args, **kwargs: ld.value(np.ones_like(*args, **kwargs)),
    ),
    constants(
        np.empty_like,
        sample(A, dtype=np.float32, order="F", shape=(2, 2)),
        call=lambda *args, **kwargs: np.empty_like(*args, **kwargs).dtype,
    ),
    like(np.arange, start=1, stop=9, step=3, dtype=np.float64),
    like(np.empty, 3, dtype=np.float32, order="F"),
    like(np.eye, N=3, M=2, k=1, dtype=np.float32, order="F"),
    like(np.identity, n=2, dtype=np.float32),
    like(np.ones, (2, 2), dtype=np.float32, order="F"),
    like(np.tri, N=3, M=2, k=1, dtype=np.float32),
    like(np.zeros, (2, 2), dtype=np.float32, order="F"),
]
