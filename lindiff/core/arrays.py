"""Arrays of other libraries than NumPy: what NumPy's protocols leave open about them.

Rules are written in functions that dispatch, and their constants are NumPy's: an index, an identity matrix, a
list turned into an array.  CuPy refuses to compute with those; :func:`placed` makes them its own.
"""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.backends import are_cupys, device_elementwise, device_kernels
from lindiff.core.directions import Directions
from lindiff.core.variable import Variable, inside, type_name, value
from lindiff.kernels.places import add_at_places

__all__ = [
    "add_at",
    "add_product",
    "by_kernel",
    "counterpart",
    "explain_mixture",
    "foreign",
    "on_host",
    "padded_with_zeros",
    "placed",
    "zeros_beside",
]

NUMPY = (np.ndarray, np.generic)


def foreign(x: Any) -> Any:
    """The plain array inside ``x`` if another library than NumPy made it; None otherwise."""
    if type(x) is np.ndarray:
        return None
    if type(x) is Directions:
        x = x.array
    if type(x) is Variable:
        x = inside(x)
    if isinstance(x, NUMPY) or not hasattr(x, "__array_function__"):
        return None
    return x


def placed(constant: Any, *others: Any) -> Any:
    """An array that NumPy made, as one of the library of ``others``, which it is going to meet.

    Anything else than an array of NumPy's is given back as it is, and so is that where all ``others`` are
    NumPy's or numbers.
    """
    for x in others:
        like = foreign(x)
        if like is not None:
            return np.asarray(constant, like=like) if isinstance(constant, np.ndarray) else constant
    return constant


def zeros_beside(x: Any, shape: Any, dtype: Any) -> Any:
    """``np.zeros(shape, dtype)`` of the library of ``x``."""
    like = foreign(x)
    return np.zeros(shape, dtype) if like is None else np.zeros_like(like, shape=shape, dtype=dtype)


def padded_with_zeros(x: Any, widths: Any) -> Any:
    """``np.pad(x, widths)`` by writes and concatenations: a tenth of its time, where arrays are small.

    Parameters
    ----------
    x : array or Variable
    widths : sequence of (before, after)
        Of every axis.
    """
    if type(x) is not np.ndarray:
        result = x
        for axis, (before, after) in enumerate(widths):
            if before or after:
                result = _between_zeros(result, axis, before, after)
        return x.copy() if result is x else result
    sides = list(zip(x.shape, widths, strict=True))
    shape = [before + n + after for n, (before, after) in sides]
    padded = np.zeros(shape, x.dtype, order="F" if x.flags.fnc else "C")
    padded[tuple(slice(before, before + n) for n, (before, _) in sides)] = x
    return padded


def _between_zeros(x: Any, axis: int, before: int, after: int) -> Any:
    sides = [
        zeros_beside(x, (*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype) for count in (before, after)
    ]
    return np.concatenate([sides[0], x, sides[1]], axis)


def on_host(x: Any) -> Any:
    """The plain values in ``x`` as an array of NumPy's, for what is decided by them.

    Of an array on a device it waits for the device, and copies: meant for indices, sizes and masks.
    """
    plain = foreign(x)
    if plain is None:
        return np.asarray(value(x))
    if hasattr(plain, "get"):
        return plain.get()
    return np.reshape(np.asarray(plain.tolist(), plain.dtype), plain.shape)


def counterpart(function: Any, *arrays: Any) -> Any:
    """The function to call on these arrays for one of SciPy's, which does not dispatch.

    For CuPy's that is the one of its name in ``cupyx.scipy``, where there is one; SciPy's own otherwise.
    """
    for x in arrays:
        like = foreign(x)
        if are_cupys(like):
            public = itertools.takewhile(lambda part: part[0] != "_", function.__module__.split("."))
            module = importlib.import_module(".".join(("cupyx", *public)))
            return getattr(module, function.__name__, function)
    return function


class Mixture(TypeError):
    """Arrays of different libraries have met."""


def explain_mixture(arguments: Any, error: Exception) -> None:
    """Raise a TypeError that names both where arrays of NumPy have met those of another library.

    Parameters
    ----------
    arguments : nested lists, tuples and dicts
        Of the call that has failed.
    error : Exception
        What it has failed with.
    """
    if isinstance(error, Mixture):
        raise error
    leaves = pytree.flatten(arguments)[0]
    arrays = [value(leaf) for leaf in leaves if hasattr(leaf, "dtype") and not isinstance(leaf, type)]
    others = sorted({type_name(x) for x in arrays if not isinstance(x, NUMPY)})
    if others and any(type(x) is np.ndarray for x in arrays):
        raise Mixture(
            f"numpy.ndarray and {' and '.join(others)} do not mix ({error}): make all arrays of one library, "
            "with CuPy by cupy.asarray(a), or by a.get() for NumPy's"
        ) from error


def by_kernel(name: str, g: Any, other: Any, *options: Any) -> Any:
    """A kernel of ``lindiff_cuda.elementwise`` on plain arrays of CuPy's, or Directions of them.

    None where there is no kernel for what it gets.
    """
    array = g.array if type(g) is Directions else g
    if type(array) is Variable or type(other) is Variable:
        return None
    for x in (array, other):
        if hasattr(type(x), "__lindiff_kernels__") and array is g:
            return getattr(x.__lindiff_kernels__, name)(array, other, *options)
    if not are_cupys(array) or not (are_cupys(other) or isinstance(other, (float, int, complex, np.generic))):
        return None
    if (np.ndim(other) > g.ndim and array is not g) or np.result_type(array, other).char not in "fdFD":
        return None
    out = getattr(device_elementwise(), name)(array, other, *options)
    return out if array is g else Directions(out)


def add_product(total: Any, x: Any, y: Any, adjoint_x: bool, adjoint_y: bool) -> bool:
    """``total += x @ y`` in place for matrices of CuPy's, x or y being adjoint, a vector being a column.

    False where that is not the case, or they are not of one dtype.
    """
    if not are_cupys(total, x, y) or not x.dtype == y.dtype == total.dtype:
        return False
    if total.dtype.char not in "fdFD" or total.ndim != 2 or not total.flags.c_contiguous:
        return False
    x, y = (z[:, None] if z.ndim == 1 else z for z in (x, y))
    if x.ndim != 2 or y.ndim != 2:
        return False
    device_kernels().gemm(x, y, total, adjoint_x and "C", adjoint_y and "C", overwrite_c=True)
    return True


def add_at(x: Any, index: Any, y: Any) -> None:
    """``np.add.at(x, index, y)``, by the kernel where that is its case.

    Where the arrays have a method for it, by that: CuPy's ``np.add.at`` takes no index of several parts, and
    a GPU adds no complex numbers and no signed ones of 64 bits at once.
    """
    scatter_add = getattr(x, "scatter_add", None)
    if scatter_add is None:
        if not add_at_places(x, index, y):
            np.add.at(x, index, y)
    elif x.dtype.kind == "c":
        add_at(x.real, index, y.real)
        if y.dtype.kind == "c":
            add_at(x.imag, index, y.imag)
    elif x.dtype == np.int64:  # of the same bits
        scatter_add_unsigned = x.view(np.uint64).scatter_add
        scatter_add_unsigned(index, y.astype(np.int64).view(np.uint64))
    else:
        scatter_add(index, y)
