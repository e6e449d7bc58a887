"""The functions that write into their first argument: copyto, fill_diagonal, put, putmask, place.

Each finds the places it writes to and assigns there, which has its rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed
from lindiff.core.refusals import refusal
from lindiff.core.registry import composed, on_values
from lindiff.core.variable import Variable, as_it_is_read, repeats, value
from lindiff.rules._common import as_array, depends_on_variables, is_array
from lindiff.rules.selection.rules import index_along

__all__: list[str] = []


def writer(function: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The rule of a ``function`` that writes into its first argument; constants go into plain arrays, too."""

    def decorate(implementation: Callable[..., None]) -> Callable[..., None]:
        @composed(function)
        @functools.wraps(implementation)
        def write(*args: Any, **kwargs: Any) -> None:
            if args and isinstance(args[0], np.ndarray) and not any(map(depends_on_variables, args)):
                on_values(function, args, kwargs)
            else:
                implementation(*args, **kwargs)

        return write

    return decorate


def destination(x: Any, function: str) -> Variable:
    """``x`` if Variables can be written into it."""
    if isinstance(x, Variable) and not x._scalar:
        return x
    if isinstance(x, Variable):
        raise TypeError(
            f"np.{function}: a scalar, as np.sum(v), v[0] and v @ v give it, cannot be written to: write "
            "s = ..., or make it an array without axes, s = np.copy(s)"
        )
    raise refusal(None, "room", f"np.{function} cannot write Variables into a plain array")


def refuse_repeated(x: Any, function: str) -> None:
    """Refuse to write one after the other where an element may be in ``x`` several times: what stays depends
    on the order in which NumPy has read and written."""
    if isinstance(x, Variable) and repeats(x):
        raise ValueError(
            f"np.{function} cannot write into a view that has elements several times, as windows that "
            "overlap do: write into a copy, w = view.copy(), and then view[...] = w"
        )


def require_cast(y: Any, x: Any, casting: Any) -> None:
    """Raise NumPy's TypeError unless numbers like those of ``y`` may be written to ``x``."""
    if not np.can_cast(y.dtype, x.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {y.dtype!r} to {x.dtype!r} according to the rule {casting!r}"
        )


def write_flat(a: Variable, places: Any, y: Any) -> None:
    """``a.flat[places] = y``."""
    if a.ndim:
        a[np.unravel_index(places, a.shape)] = y
    elif np.size(places):  # an array without axes keeps what is written last
        a[...] = np.broadcast_to(y, np.shape(places))[(-1,) * np.ndim(places)]


@writer(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    dst, src = destination(dst, "copyto"), as_array(src)
    require_cast(src, dst, casting)
    where = value(where)
    if where is not True and repeats(dst):
        where = np.broadcast_to(on_host(where).astype(bool), dst.shape)
        dst[where] = np.broadcast_to(src, dst.shape)[where]
        return
    dst[...] = src if where is True else np.where(where, src, dst)


@writer(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    a = destination(a, "fill_diagonal")
    on_diagonal = np.zeros(a.shape, bool)
    np.fill_diagonal(on_diagonal, True, wrap=wrap)
    places = np.flatnonzero(on_diagonal)
    val = as_it_is_read(placed(as_array(val), a), a, np.unravel_index(places, a.shape))
    write_flat(a, places, np.resize(val, places.size))


@writer(np.put)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    a = destination(a, "put")
    places = np.ravel(np.take(np.arange(a.size), on_host(ind), mode=mode))
    if np.size(v):
        write_flat(a, places, np.resize(placed(as_array(v), a), places.size))


@writer(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    a = destination(a, "putmask")
    if is_array(values):
        require_cast(values, a, "safe")
    values = np.ravel(values)
    refuse_repeated(a, "putmask")
    if np.shape(mask) != a.shape:
        raise ValueError("putmask: mask and data must be the same size")
    places = np.flatnonzero(on_host(mask))
    if values.size:
        write_flat(a, places, values[places % values.size])


@writer(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    arr = destination(arr, "place")
    if is_array(vals):
        require_cast(vals, arr, "safe")
    refuse_repeated(arr, "place")
    if np.size(mask) != arr.size:
        raise ValueError("place: mask and data must be the same size")
    places = np.flatnonzero(on_host(mask))
    if places.size and not np.size(vals):
        raise ValueError("Cannot insert from an empty array!")
    if places.size:
        vals = placed(as_array(vals), arr)
        if isinstance(vals, Variable) and vals.flags.c_contiguous:  # else NumPy copies them first
            vals = as_it_is_read(vals, arr, np.unravel_index(places, arr.shape))
        write_flat(arr, places, np.resize(vals, places.size))


@writer(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    arr = destination(arr, "put_along_axis")
    if axis is None:
        write_flat(arr, on_host(indices), values)
    else:
        arr[index_along(arr, value(indices), axis)] = values
