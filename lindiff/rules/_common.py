"""What the rules of several families need; no rule is defined here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.formula import some
from lindiff.core.lists import must_be_stacked
from lindiff.core.variable import Variable, in_own_memory, inside, is_untraced, traces_of, value

__all__ = [
    "along",
    "as_array",
    "as_floating",
    "as_operand",
    "as_type",
    "conj",
    "depends_on_variables",
    "depth_of",
    "inverse_permutation",
    "is_array",
    "laid_out",
    "memory_order",
    "normalized_axes",
    "normalized_axis",
    "unused_as_zero",
    "where_asked",
]


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that takes ``part`` of one axis (not negative)."""
    return (*[slice(None)] * axis, part)


def as_array(x: Any) -> Any:
    """``x`` itself if it has a shape; numbers and lists as an array, also lists of Variables."""
    if hasattr(x, "shape"):
        return x
    if not must_be_stacked(x):
        return np.asarray(x)
    parts = [as_array(part) for part in x]
    like = next((part for part in parts if foreign(part) is not None), None)
    return np.stack([placed(part, like) for part in parts])


def as_floating(x: Any) -> Any:
    """``x`` as floating point numbers: differences of integers of few bits, or unsigned ones, are others."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def as_operand(x: Any) -> Any:
    """``x`` as an array, a single number as a scalar of NumPy's, which meets arrays of any library."""
    x = as_array(x)
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x


def as_type(x: Any, dtype: Any) -> Any:
    """The same as numbers of a type."""
    x = as_operand(x)
    return x if x.dtype == dtype else x.astype(dtype)


def depends_on_variables(x: Any) -> bool:
    """Whether there are Variables in ``x``, or in lists, that are part of a transform."""
    if type(x) in (tuple, list):
        return any(map(depends_on_variables, x))
    if x is None or type(x) in (np.ndarray, float, int):
        return False
    return any(isinstance(leaf, Variable) and not is_untraced(leaf) for leaf in pytree.flatten(x)[0])


def depth_of(x: Any) -> int:
    """Of how many transforms, one within the other, the Variables in ``x`` are part at most."""
    return max((len(traces_of(leaf)) for leaf in pytree.flatten(x)[0]), default=0)


def memory_order(x: Any, order: Any) -> str:
    """``order`` with "A" replaced by what it means for this array: "F" if it lies by columns alone."""
    return order if order not in ("A", "a") else "F" if inside(x).flags.fnc else "C"


def laid_out(x: Any, order: Any) -> Any:
    """``x``, a copy if need be, contiguous by rows ("C") or by columns ("F"), or as it lies ("K")."""
    order = memory_order(x, order)
    return x if order == "K" or inside(x).flags[f"{order}_CONTIGUOUS"] else in_own_memory(x, order)


def conj(x: Any) -> Any:
    """The complex conjugate; a real array as it is."""
    return np.conjugate(x) if as_array(x).dtype.kind == "c" else x


def is_array(x: Any) -> bool:
    """Whether ``x`` is an array, and not a number or a list."""
    return not x._scalar if isinstance(x, Variable) else isinstance(x, np.ndarray)


def normalized_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """One axis or several (a sequence or an array) as a tuple of numbers from 0 to ``ndim - 1``."""
    if getattr(axes, "ndim", 0) > 0:
        axes = on_host(axes).tolist()
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(np.lib.array_utils.normalize_axis_index(axis, ndim) for axis in given)


def normalized_axis(axis: Any, ndim: int) -> int:
    """One axis as a number from 0 to ``ndim - 1``; a tuple is refused, as by NumPy."""
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim))


def inverse_permutation(axes: Sequence[int]) -> tuple[int, ...]:
    """Where each axis has gone: undoes ``np.transpose(x, axes)``."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def where_asked(x_bar: Any, y_bar: Any, y: Any) -> Any:
    """The gradient of a reduction with the result ``y``, with 0 for NaN where the cotangent is 0.

    ``y_bar`` has the reduced axes, of length 1.
    """
    return unused_as_zero(x_bar, y_bar) if some(~np.isfinite(value(y))) else x_bar


def unused_as_zero(x_bar: Any, y_bar: Any) -> Any:
    """A gradient with 0 for NaN where the cotangent is 0: of what is not used, 0 · ∞ = 0."""
    return np.where(np.isnan(value(x_bar)) & (value(y_bar) == 0), 0, x_bar)
