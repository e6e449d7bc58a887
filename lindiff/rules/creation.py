"""Arrays made from others or from numbers: copies, casts, fills, grids.

``like=`` brings the makers of arrays here: ``np.array([v, 1.0], like=v)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed
from lindiff.core.differential import Linear
from lindiff.core.record import is_recording
from lindiff.core.refusals import refusal
from lindiff.core.registry import composed, on_values, rule
from lindiff.core.variable import (
    Variable,
    in_order_of,
    in_own_memory,
    inside,
    is_recorded,
    is_untraced,
    untraced,
    use_makers,
    value,
)
from lindiff.rules._common import as_array, as_operand, as_type, laid_out, memory_order

__all__: list[str] = []


def buffer_maker(function: Callable[..., Any]) -> None:
    """Let a maker of constants give arrays that Variables may be written into."""

    def make(*args: Any, **kwargs: Any) -> Any:
        like = kwargs.pop("like", None)
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, Variable)]
        if not given and is_recorded(inside(like)):  # a program, which is going to write to it
            kwargs = {**kwargs, "like": inside(like)}
        made = placed(on_values(function, args, kwargs), like)
        if given and all(map(is_untraced, given)):
            return accepting(made)
        return untraced(made) if made.dtype.kind in "fc" else made  # a walk that runs on Variables records

    composed(function)(make)


_makers: list[Callable[..., Any]] = [
    np.empty, np.empty_like, np.eye, np.identity, np.ones, np.ones_like, np.tri, np.zeros,
    np.zeros_like,
]  # fmt: skip
for _function in _makers:
    buffer_maker(_function)
use_makers(*_makers, np.arange, np.array, np.asanyarray, np.asarray, np.fromiter)


@rule(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    return np.copy(a, order=order), Linear((lambda a_dot: a_dot,), (lambda y_bar: y_bar,))


@rule(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The cotangent is cast back to the dtype of ``x``; an integer result is a constant."""
    y = x.astype(dtype, copy=copy)  # the method, since np.astype takes no NumPy scalars before NumPy 2.1
    if y.dtype.kind not in "fc":
        return y, None
    return y, Linear((lambda x_dot: x_dot.astype(dtype),), (lambda y_bar: y_bar,))


def filled(fill_value: Any, shape: Any, dtype: Any, like: Any = None, order: Any = "C") -> Any:
    extra = np.ndim(fill_value) - np.size(shape)
    if extra > 0:  # NumPy drops leading axes of length 1 where it writes
        fill_value = np.squeeze(fill_value, tuple(range(extra)))
    y = np.broadcast_to(fill_value, shape)
    y = y if like is None else placed(y, like)
    y = y if dtype is None or y.dtype == dtype else np.astype(y, np.dtype(dtype))
    return in_own_memory(y, order)


@composed(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    return accepting(filled(fill_value, shape, dtype, order=order))


@composed(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    y = filled(fill_value, np.shape(a) if shape is None else shape, a.dtype if dtype is None else dtype, a)
    y, order = accepting(y), memory_order(a, order)
    if order == "K":
        return in_order_of(y, a) if y.shape == a.shape else y
    return laid_out(y, order)


class Layout:
    """Where the parts of an array are: an array of the plain values, and the places of the Variables."""

    def __init__(self, plain: Any, places: list[tuple[int, ...]]):
        self.plain = plain
        self.places = places


@rule
def assembled(parts: list[Any], layout: Layout) -> Any:
    """The array of a layout, whose values it has already, as a function of its parts."""
    y, places = layout.plain, layout.places
    outer = [(place, part) for place, part in zip(places, parts, strict=True) if isinstance(part, Variable)]
    if outer:
        y = untraced(y)
        for place, part in outer:
            y[place] = part

    def pushforward(parts_dot: list[Any]) -> Any:
        y_dot = np.zeros_like(y)
        if any(isinstance(part_dot, Variable) for part_dot in parts_dot):
            y_dot = untraced(y_dot)
        for place, part_dot in zip(places, parts_dot, strict=True):
            y_dot[place] = part_dot
        return y_dot

    return y, Linear(pushforward, lambda y_bar: [y_bar[place] for place in places])


def survey(nested: Any, place: tuple[int, ...], found: dict[tuple[int, ...], Any]) -> tuple[Any, Any]:
    """Nested lists with the values of Variables in their places, and the shape that NumPy sees in them.

    Collects the Variables and where they are.
    """
    if isinstance(nested, (list, tuple)):
        plain, shape = [], None
        for i, part in enumerate(nested):
            part_plain, part_shape = survey(part, (*place, i), found)
            plain.append(part_plain)
            if i == 0:
                shape = part_shape
            elif part_shape != shape:
                raise ValueError(
                    f"the parts of an array must have the same shape; here {shape} is beside {part_shape}"
                )
        return plain, (len(plain), *(shape or ()))
    if isinstance(nested, Variable):
        found[place] = nested
        return value(nested), nested.shape
    return nested, () if isinstance(nested, (float, int)) else np.shape(nested)


def stacked(nested: Any, dtype: Any = None) -> Any:
    """An array from nested lists, with Variables among them at any depth; plain if there are none."""
    if dtype is None and isinstance(nested, (list, tuple)) and {*map(type, nested)} == {Variable}:
        y = np.stack(nested)
        return y if y.ndim < 2 else laid_out(y, "C")
    found: dict[tuple[int, ...], Any] = {}
    values = survey(nested, (), found)[0]
    if any(foreign(x) is not None for x in found.values()):
        y = as_array(nested)
        return y if dtype is None else np.astype(y, np.dtype(dtype))
    plain = np.array(values, dtype=dtype)
    if found and plain.dtype.kind in "OV":
        kind = "objects" if plain.dtype.kind == "O" else "records"
        variable = next(iter(found.values()))
        raise refusal(variable, kind, f"an array of {kind} would lose the derivative")
    if not found or plain.dtype.kind not in "fc":
        return plain
    return assembled([*found.values()], Layout(plain, [*found]))


def accepting(plain: Any) -> Any:
    """A new array as one that Variables may be written into, if it is of floating point numbers and there may
    be Variables."""
    return untraced(plain) if is_recording() and plain.dtype.kind in "fc" else plain


def with_axes(y: Any, ndmin: int) -> Any:
    """``y`` with axes of length 1 in front, up to ``ndmin``."""
    return np.reshape(y, (1,) * (ndmin - y.ndim) + y.shape) if ndmin > y.ndim else y


def _asked(copy: Any) -> Any:
    """Whether a copy is asked for; None for one if need be.  NumPy's private modes have names for it."""
    name = getattr(copy, "name", None)
    return copy if name is None else {"ALWAYS": True, "NEVER": False, "IF_NEEDED": None}[name]


@composed(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    """Nested lists of Variables, or one Variable."""
    copy = _asked(copy)
    if not isinstance(object, Variable):
        return with_axes(in_order(accepting(placed(stacked(object, dtype), like)), order), ndmin)
    y = asarray(object, dtype, order)
    if y is object and copy:
        y = np.copy(y, order="K" if order is None else order)
    elif y is not object and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested")
    return with_axes(y, ndmin)


@composed(np.asarray)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    """A Variable stays itself, or is cast."""
    if copy is not None:
        return array(a, dtype, copy=copy, order=order, like=like)
    if not isinstance(a, Variable):
        return in_order(accepting(placed(stacked(a, dtype), like)), order)
    return in_order(a if dtype is None or a.dtype == dtype else a.astype(np.dtype(dtype)), order)


def in_order(y: Any, order: Any) -> Any:
    """``y``, a copy if need be, in the order that is asked for, if one is."""
    return laid_out(y, order) if order in ("C", "F") else y


composed(np.asanyarray)(asarray)


@composed(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    items = list(iter)
    return accepting(placed(stacked(items if count < 0 else items[:count], dtype), like))


@composed(np.arange)
def arange(*bounds: Any, dtype: Any = None, device: Any = None, like: Any = None, **named: Any) -> Any:
    """``start + step k``; how many there are is a constant."""
    named = (
        dict(zip(("stop",) if len(bounds) == 1 else ("start", "stop", "step"), bounds, strict=False)) | named
    )
    start, step = named.get("start", 0), named.get("step", 1)
    plain = np.arange(value(start), value(named["stop"]), value(step), dtype=dtype)
    if plain.dtype.kind not in "fc" or not any(isinstance(x, Variable) for x in (start, step)):
        return accepting(placed(plain, like))
    return np.astype(start + step * np.arange(plain.size), plain.dtype)


@composed(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    y = asarray(a, dtype)
    if not np.all(np.isfinite(y)):
        raise ValueError("array must not contain infs or NaNs")
    return in_order(y, order)


@composed(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    return laid_out(np.atleast_1d(asarray(a, dtype)), "C")


@composed(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    return laid_out(np.atleast_1d(asarray(a, dtype)), "F")


@composed(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """Variables are aligned and may be written to; layout and memory of its own are what can be asked for."""
    flags = {flag.upper()[0] for flag in requirements or ()}
    if not flags <= set("AWECFO"):
        raise KeyError(f"requirements are A, W, E, C, F and O, got {requirements}")
    if flags >= set("CF"):
        raise ValueError('Cannot specify both "C" and "F" order')
    y = asarray(a, dtype)
    for order in flags & set("CF"):
        y = laid_out(y, order)
    return y if all(y.flags[flag] for flag in flags & set("OW")) else in_own_memory(y)


@composed(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """An open mesh: arguments that are Variables keep their derivative, the others are indices."""
    vectors = [placed(as_array(x), *args) for x in args]
    if any(x.ndim != 1 for x in vectors):
        raise ValueError("Cross index must be 1 dimensional")
    vectors = [np.flatnonzero(x) if x.dtype.kind == "b" else x for x in vectors]
    shapes = [[-1 if k == place else 1 for k in range(len(args))] for place in range(len(args))]
    return tuple(np.reshape(x, shape) for x, shape in zip(vectors, shapes, strict=True))


@composed(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """``start (1 - t) + stop t``: the same at both ends, to the last bit."""
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = (as_array(x) if isinstance(x, (list, tuple)) else x for x in (start, stop))
    parts = num - 1 if endpoint else num
    difference = np.subtract(stop, start)
    found = np.result_type(start, stop, float(num))
    t = placed(np.arange(num, dtype=found) / max(parts, 1), difference)
    t = np.reshape(t, (num,) + (1,) * np.ndim(difference))
    y = np.moveaxis(start * (1 - t) + stop * t, 0, axis)
    y = np.astype(y, found if dtype is None else np.dtype(dtype))
    return (y, difference / parts if parts > 0 else np.nan * difference) if retstep else y


@composed(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    y = np.linspace(start, stop, num, endpoint, axis=axis)
    base = np.expand_dims(base, axis) if np.ndim(base) else base
    y = np.power(base, y)
    return y if dtype is None else np.astype(y, np.dtype(dtype))


@composed(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Between real numbers of one sign, or along a logarithmic spiral between complex ones."""
    start, stop = as_operand(start), as_operand(stop)
    if np.result_type(start, stop).kind == "c":
        return logarithmic_spiral(start, stop, num, endpoint, dtype, axis)
    dtype_of_logs = np.result_type(start, stop, np.float64)
    start, stop = (x if isinstance(x, Variable) else as_type(x, dtype_of_logs) for x in (start, stop))
    sign = np.sign(value(start))
    if np.any(sign * np.sign(value(stop)) <= 0):
        raise ValueError("np.geomspace on Variables: start and stop must be nonzero and of one sign")
    y = np.exp(np.linspace(np.log(sign * start), np.log(sign * stop), num, endpoint, axis=axis))
    y = (np.expand_dims(sign, axis) if np.ndim(sign) else sign) * y
    return np.astype(y, np.result_type(y.dtype, np.float64) if dtype is None else np.dtype(dtype))


@composed(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    """``I_0(β sqrt(1 - x²)) / I_0(β)`` with x from -1 to 1."""
    if M <= 1:
        return np.ones(max(int(M), 0))
    x = np.linspace(-1, 1, int(M))
    return np.i0(beta * np.sqrt(1 - x * x)) / np.i0(beta)


def logarithmic_spiral(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    """``start (stop / start)^t``, by the principal logarithm."""
    if not (np.all(value(start)) and np.all(value(stop))):
        raise ValueError("Geometric sequence cannot include zero")
    turn = np.log(np.divide(stop, start))
    start = np.broadcast_to(start, np.shape(turn))
    start = np.expand_dims(start, axis) if np.ndim(start) else start
    y = start * np.exp(np.linspace(np.zeros_like(value(turn)), turn, num, endpoint, axis=axis))
    return np.astype(y, np.result_type(y.dtype, np.complex128) if dtype is None else np.dtype(dtype))
