"""What results share with arguments, and how they lie in memory, for functions composed of others.

What is written to a view is written to the array, and back.  The results of rules tell by their memory.
Some functions give arrays without axes where most give scalars, which cannot be written to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.registry import composed, gives_arrays, gives_itself, gives_views, results_lie
from lindiff.core.variable import Variable, inside, numbered

__all__ = ["use_views"]


def are_two(a: Any, b: Any) -> bool:
    """Whether these are two Variables, of which memory does not tell.

    What has been written to may lie elsewhere till it is seen anew, and a copy where its original does till
    one of them is written to.
    """
    return isinstance(a, Variable) and isinstance(b, Variable) and a is not b


def of_one_memory(a: Any, b: Any) -> bool:
    """Whether two Variables are views of one array."""
    return (a if a.base is None else a.base) is (b if b.base is None else b.base)


def places(x: Any) -> Any:
    """Which parts of the memory that ``x`` is a view of it has; complex numbers have two."""
    numbers = np.ravel(numbered(x))
    return np.concatenate([numbers, numbers + 1]) if x.dtype.kind == "c" else numbers


@composed(np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    if are_two(a, b):
        return of_one_memory(a, b) and bool(np.any(np.isin(places(a), places(b))))
    return np.shares_memory(inside(a), inside(b), max_work)


@composed(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Looks at the bounds alone."""
    if are_two(a, b):
        if not of_one_memory(a, b) or a.size == 0 or b.size == 0:
            return False
        first, second = places(a), places(b)
        return bool(first.min() <= second.max() and second.min() <= first.max())
    return np.may_share_memory(inside(a), inside(b), max_work)


def use_views() -> None:
    """Declare it for all functions that have rules by now."""
    gives_views(
        np.array, np.array_split, np.asanyarray, np.asarray, np.asarray_chkfinite, np.ascontiguousarray,
        np.asfortranarray, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays, np.diag,
        np.diff, np.dsplit, np.fft.fftn, np.fft.ifftn, np.fliplr, np.flipud, np.histogram, np.histogram2d,
        np.histogram_bin_edges, np.histogramdd, np.hsplit, np.ix_, np.lib.stride_tricks.as_strided,
        np.linalg.diagonal, np.linalg.matrix_power, np.linalg.matrix_transpose, np.matrix_transpose,
        np.meshgrid, np.nan_to_num, np.polyder, np.polyint, np.ravel, np.real_if_close, np.require,
        np.rollaxis, np.split, np.trim_zeros, np.vsplit,
    )  # fmt: skip
    gives_itself(np.astype, np.real, np.squeeze)
    results_lie("C", np.choose, np.dot, np.inner, np.resize, np.select, np.take)
    results_lie("A", np.delete, np.insert, np.pad)
    results_lie("K", np.cumprod)
    results_lie("copy", np.gradient, np.partition, np.piecewise, np.sort)
    if hasattr(np, "unstack"):  # NumPy 2.1
        gives_views(np.unstack)
        results_lie("K", np.cumulative_prod)
    gives_arrays(
        np.apply_along_axis, np.array, np.asanyarray, np.asarray, np.asarray_chkfinite, np.block,
        np.broadcast_to, np.copy, np.cov, np.cross, np.empty, np.empty_like, np.expand_dims, np.fft.fftn,
        np.fft.ifftn, np.full, np.full_like, np.i0, np.lib.stride_tricks.as_strided,
        np.lib.stride_tricks.sliding_window_view, np.linalg.tensordot, np.linalg.tensorsolve, np.ones,
        np.ones_like, np.pad, np.piecewise, np.polyint, np.real_if_close, np.require, np.resize, np.roll,
        np.select, np.tensordot, np.tile, np.where, np.zeros, np.zeros_like,
    )  # fmt: skip
    gives_arrays(np.einsum, like_value=True)  # which depends on the path
    gives_arrays(np.astype, np.imag, np.trim_zeros, like_first=True)
