"""What a ufunc does beside being called: its keywords ``out`` and ``where``, and its methods.

One mechanism each serves every ufunc.  Those with a function of the same meaning (``np.add.reduce`` is
``np.sum``), or with a better way, are registered with :func:`ufunc_method`.
"""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed
from lindiff.core.refusals import refusal
from lindiff.core.registry import handle, handler_kind, is_constant, on_values, unsupported
from lindiff.core.results import apart
from lindiff.core.variable import (
    Variable,
    in_gaps_of,
    in_order_of,
    inside,
    lying_as,
    places_in_base,
    repeats,
    value,
)
from lindiff.rules._common import along, as_array, depends_on_variables, normalized_axes
from lindiff.rules.indexing.rules import host_parts, scatter
from lindiff.rules.rebinding import is_statement, may_rebind
from lindiff.rules.writers import destination, refuse_repeated

__all__ = ["method_of_ufunc", "operate", "place_of_out", "ufunc_method", "with_out"]

_methods: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}


def ufunc_method(ufunc: np.ufunc, method: str, function: Callable[..., Any]) -> None:
    """Let ``ufunc.method(...)`` on Variables be ``function(...)``."""
    _methods[ufunc, method] = function


def operate(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc(*inputs, **kwargs)`` or ``ufunc.method(...)`` with Variables among the arguments."""
    function = method_of_ufunc(ufunc, method)
    if function is None:
        if handler_kind(ufunc) is None:
            return unsupported(getattr(ufunc, method), inputs, kwargs, ufunc)
        # NumPy says what is wrong with reductions of functions of one argument, or with two results
        return getattr(ufunc, method)(*map(value, inputs), **kwargs)
    if method in ("reduce", "accumulate", "reduceat"):
        kwargs["axis"] = axis_of_method(method, kwargs.get("axis", 0), np.ndim(inputs[0]))
    if method == "at" and isinstance(inputs[0], np.ndarray) and not any(map(depends_on_variables, inputs)):
        return on_values(ufunc.at, inputs, kwargs)  # numbers into an array of numbers
    jumps = is_constant(ufunc, inputs) and not _keeps_elements(ufunc, method)
    if jumps and not any(isinstance(x, Variable) for x in kwargs.get("out", ())):
        return on_values(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)
    if kwargs.get("dtype") is not None and method in ("reduce", "accumulate", "reduceat"):
        require_loop(ufunc, kwargs["dtype"])
    out = kwargs.pop("out", (None,))
    if all(target is None for target in out):
        y = function(*inputs, **kwargs)
        if method == "__call__":
            return y
        y = apart(y, inputs)
        if method == "accumulate":
            return in_order_of(y, inputs[0], copied=False)
        if method == "reduceat" and np.ndim(y) > 1:
            return in_order_of(y, _memory_of_reduceat(y, inputs[0], kwargs["axis"]), copied=False)
        return y[()] if method == "reduce" and np.ndim(y) == 0 else y
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if method != "__call__" or kwargs.get("where", True) is not True:
        for target in out:
            refuse_repeated(target, name)
    if method == "__call__":
        plain = len(out) == 1 and inputs and out[0] is inputs[0] and not isinstance(out[0], Variable)
        if plain and is_statement(sys._getframe(1)):
            return rebound(ufunc, inputs, kwargs, sys._getframe(1))
        kwargs.setdefault("otherwise", out)
    casting = kwargs.pop("casting", "same_kind")
    y = function(*inputs, **kwargs)
    if method in ("reduce", "accumulate", "reduceat"):
        require_reduced_shape(out[0], y, name)
    if ufunc.signature is not None:
        axes = [axis for axis in ufunc.signature.partition("->")[2].strip("()").split(",") if axis]
        optional = sum(axis.endswith("?") for axis in axes)  # those that a vector does not have
        cores = len(axes) - optional + min(optional, sum(np.ndim(x) > 1 for x in inputs))
        if out[0] is not None and cores and np.shape(out[0])[-cores:] != np.shape(y)[-cores:]:
            raise ValueError(
                f"np.{name} gives an array of shape {np.shape(y)}, and out has {np.shape(out[0])}"
            )
    return into(out, name, casting, y)


def axis_of_method(method: str, axis: Any, ndim: int) -> Any:
    """The axis or axes along which a method goes; but for reductions a number, given as a tuple maybe."""
    axis = axis if axis is None or isinstance(axis, tuple) else operator.index(axis)
    if method == "reduce":
        return axis
    if ndim == 0:
        raise TypeError(f"cannot {method} on a scalar")
    axes = tuple(range(ndim)) if axis is None else normalized_axes(axis, ndim)
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]


def require_loop(ufunc: np.ufunc, dtype: Any) -> None:
    """Raise NumPy's TypeError if the ufunc has no loop that begins and ends with this type."""
    dtype = np.dtype(dtype)
    ufunc.resolve_dtypes((dtype, dtype, None), signature=(dtype, dtype, dtype))


def _memory_of_reduceat(y: Any, x: Any, axis: int) -> Any:
    """An array of the shape of ``y`` that lies as ``ufunc.reduceat(x, indices, axis)`` does: NumPy's iterator
    goes through ``x`` without the axis."""
    x = lying_as(x)
    if x is None:
        return y
    others = [-1 if k == axis else k - (k > axis) for k in range(x.ndim)]
    return np.nditer(
        (None, x[along(axis, 0)]),
        ("zerosize_ok",),
        (["writeonly", "allocate"], ["readonly"]),
        op_axes=[[*range(x.ndim)], others],
        itershape=np.shape(y),
    ).operands[0]


def require_reduced_shape(out: Any, y: Any, name: str) -> None:
    """Raise NumPy's ValueError unless ``out`` has the shape of ``y``, which a reduction gives."""
    if np.ndim(out) != np.ndim(y):
        raise ValueError(
            f"output parameter of np.{name} has the wrong number of dimensions: Found {np.ndim(out)} but "
            f"expected {np.ndim(y)}"
        )
    if np.shape(out) != np.shape(y):
        raise ValueError(
            f"output parameter of np.{name} is the wrong size: {np.shape(out)}, not {np.shape(y)}"
        )


def method_of_ufunc(ufunc: np.ufunc, method: str) -> Callable[..., Any] | None:
    """What ``ufunc.method`` is on Variables; None if it is nothing."""
    kind = handler_kind(ufunc)
    if kind is None:
        return _methods.get((ufunc, method))
    if method == "__call__":
        return partial(called, ufunc)
    if method == "at":
        return _methods.get((ufunc, "at")) or partial(at, ufunc)
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        return None
    if kind == "Constant" and not _keeps_elements(ufunc, method):
        plain = getattr(ufunc, method)
        return lambda *args, **kwargs: on_values(plain, args, kwargs)
    registered = _methods.get((ufunc, method))
    return partial(GENERAL[method], ufunc) if registered is None else registered


def _keeps_elements(ufunc: np.ufunc, method: str) -> bool:
    """Whether the results of a method have elements of the array itself among them, as of what
    ``np.floor_divide`` accumulates the first."""
    return method in ("reduce", "accumulate", "reduceat", "at") and "dd->d" in ufunc.types


# -- out= and where= -------------------------------------------------------------------------------------


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a NumPy function by name; of a compiled one older versions of NumPy do not tell."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return _DOT if function is np.dot else {}


_DOT = inspect.signature(lambda a, b, out=None: None).parameters


def place_of_out(function: Callable[..., Any]) -> int:
    """At which place among its arguments a NumPy function takes ``out``; ``sys.maxsize`` if at none."""
    parameters = parameters_of(function)
    if "out" not in parameters or parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY:
        return sys.maxsize
    return [*parameters].index("out")


_ACCUMULATIONS = (np.cumsum, np.cumprod)
# Those that hand out=... on to a ufunc, which then gives an array, also one without axes.
_ARRAYS_BY_ELLIPSIS = tuple(
    getattr(np, name)
    for name in ("clip", "nanmax", "nanmin", "cumulative_sum", "cumulative_prod")
    if hasattr(np, name)
)


def with_out(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function that is no ufunc, called with ``out``; rules know nothing of it."""
    place = place_of_out(function)
    if len(args) > place:
        names = [*parameters_of(function)][place:]
        kwargs = dict(zip(names, args[place:], strict=False)) | kwargs
        args = args[:place]
    if handler_kind(function) == "Constant" and not isinstance(kwargs["out"], Variable):
        return handle(function, args, kwargs)
    kwargs = dict(kwargs)
    out = kwargs.pop("out")
    y = handle(function, args, kwargs)
    if out is None:
        return y
    if out is Ellipsis and function in _ARRAYS_BY_ELLIPSIS:
        y = y if np.ndim(y) else y[...]
    else:
        y = _written(y, out, function, kwargs)
    return y[()] if np.ndim(y) == 0 and _gives_number(function, args[0]) else y


def _written(y: Any, out: Any, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """``out`` with the result ``y`` in it, if it may be written there."""
    if not hasattr(out, "dtype"):
        raise TypeError(f"np.{function.__name__}(..., out=...): out must be an array")
    if "keepdims" in parameters_of(function) or function in _ACCUMULATIONS:
        refuse_repeated(out, function.__name__)
        broadcasts = function is np.median and np.ndim(out) == np.ndim(y)
        if "q" not in parameters_of(function) and function is not np.nanmedian and not broadcasts:
            require_reduced_shape(out, y, function.__name__)
    elif function not in (np.clip, np.outer, np.fix):
        require_its_shape(out, y, function)
    if function is np.clip and "where" in kwargs:
        y = np.where(kwargs["where"], y, out)
    return into((out,), function.__name__, "same_kind", y)


def _gives_number(function: Callable[..., Any], x: Any) -> bool:
    """Whether NumPy writes into an array without axes and gives the number in it, as scalars' methods do."""
    if isinstance(x, Variable) and x._scalar and hasattr(np.ndarray, function.__name__):
        return True
    return function in (np.dot, np.linalg.multi_dot)


def require_its_shape(out: Any, y: Any, function: Callable[..., Any]) -> None:
    """Refuse an ``out`` of another shape than the result's, as functions do that are no ufuncs; rounded
    numbers may have axes of length 1 more."""
    matches = out.size == y.size if function in (np.round, np.around) else out.shape == np.shape(y)
    if not matches:
        raise (TypeError if function is np.choose else ValueError)(
            f"np.{function.__name__}(..., out=...) writes into an array of shape {np.shape(y)}, not "
            f"{out.shape}"
        )


def into(out: tuple[Any, ...], name: str, casting: Any, results: Any) -> Any:
    """``results`` written into the Variables ``out``."""
    several = isinstance(results, tuple)
    parts = list(results) if several else [results]
    for i, target in enumerate(out):
        if target is None:
            continue
        if not isinstance(target, Variable) and depends_on_variables(parts[i]):
            raise TypeError(
                f"np.{name}(..., out=...) cannot write into an array when Variables are among its inputs: "
                f"write y = np.{name}(...)"
            )
        if not np.can_cast(parts[i].dtype, target.dtype, casting):
            raise TypeError(
                f"cannot cast the result of np.{name} from {parts[i].dtype} to {target.dtype} with casting "
                f"rule {casting!r}"
            )
        if np.broadcast_shapes(np.shape(parts[i]), target.shape) != target.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {target.shape} doesn't match the broadcast "
                f"shape {np.shape(parts[i])}"
            )
        target[...] = parts[i] if isinstance(target, Variable) else value(parts[i])
        parts[i] = target
    return tuple(parts) if several else parts[0]


def rebound(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
    """``a += v`` on a plain array, which binds ``a`` to what comes back; ``frame`` is at that statement."""
    a = inputs[0]
    if not a.flags.writeable:
        raise ValueError("output array is read-only")
    if not may_rebind(ufunc, a, frame):
        if not any(map(depends_on_variables, inputs)):
            return into((a,), ufunc.__name__, "same_kind", called(ufunc, *inputs, otherwise=(a,), **kwargs))
        variable = next(x for x in inputs if isinstance(x, Variable))
        raise refusal(variable, "held" if a.base is None else "view")
    if not np.can_cast(np.result_type(*map(value, inputs)), a.dtype, casting="same_kind"):
        raise TypeError(f"an array of {a.dtype} cannot take the result: write a = a + v instead of a += v")
    shape = np.broadcast_shapes(*[np.shape(value(x)) for x in inputs])
    if ufunc.signature is None and shape != a.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {a.shape} doesn't match the broadcast shape {shape}"
        )
    y = called(ufunc, *inputs, otherwise=(a,), **kwargs)
    y = y if y.dtype == a.dtype else np.astype(y, a.dtype)
    contiguous = a.flags.c_contiguous or a.flags.f_contiguous
    y = in_order_of(y, a, copied=False) if contiguous else in_gaps_of(y, a)
    return y[...] if y.ndim == 0 else y  # an array, as ``a`` is one


def called(
    ufunc: np.ufunc, *inputs: Any, where: Any = True, otherwise: Sequence[Any] = (), **kwargs: Any
) -> Any:
    """``ufunc(*inputs)``; where the mask does not hold, it is not computed and ``otherwise`` (or 0) stays."""
    if where is True:
        return handle(ufunc, inputs, kwargs)
    mask = on_host(where).astype(bool)
    shape = np.broadcast_shapes(mask.shape, *map(np.shape, inputs), *map(np.shape, otherwise))
    chosen = np.flatnonzero(np.broadcast_to(mask, shape))
    of_chosen = [np.reshape(np.broadcast_to(x, shape), -1)[chosen] if np.ndim(x) else x for x in inputs]
    results = ufunc(*of_chosen, **kwargs)
    several = isinstance(results, tuple)
    stays = [*otherwise] + [None] * ufunc.nout
    parts = []
    for part, other in zip(results if several else (results,), stays, strict=False):
        part = np.broadcast_to(part, chosen.shape)  # where all inputs have no axes
        y = np.reshape(_set_apart(part, chosen, math.prod(shape)), shape)
        parts.append(np.where(placed(mask, y), y, 0 if other is None else other))
    return tuple(parts) if several else parts[0]


def _set_apart(x: Any, places: Any, size: int) -> Any:
    """A vector that has ``x`` at these places, each of them once, and anything at the others."""
    if not len(places):
        return scatter(x, (places,), (size,), x.dtype)
    sources = np.zeros(size, np.intp)
    sources[places] = np.arange(len(places))
    return x[placed(sources, x)]


# -- methods ---------------------------------------------------------------------------------------------


def outer(ufunc: np.ufunc, x: Any, y: Any, /, **kwargs: Any) -> Any:
    x, y = as_array(x), as_array(y)
    return ufunc(np.reshape(x, x.shape + (1,) * y.ndim), y, **kwargs)


def reduce(
    ufunc: np.ufunc,
    x: Any,
    /,
    axis: Any = 0,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """From left to right along one axis, as NumPy does it for functions whose order matters."""
    x = of_dtype(x, dtype)
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, max(x.ndim, 1))
    if len(axes) > 1:
        raise ValueError(
            f"reduction operation {ufunc.__name__!r} is not reorderable, so at most one axis may be specified"
        )
    if not axes or not x.ndim:
        return x if initial is np._NoValue else ufunc(initial, x)
    axis = axes[0]
    mask = np.broadcast_to(on_host(where).astype(bool), x.shape)
    start = ufunc.identity if initial is np._NoValue else initial
    if start is None and not mask.all():
        raise ValueError(
            f"reduction operation {ufunc.__name__!r} does not have an identity, so to use a where mask one "
            f"has to specify 'initial'"
        )
    rows, masks = list(np.moveaxis(x, axis, 0)), list(np.moveaxis(mask, axis, 0))
    if start is None and rows:
        y = rows[0]
        del rows[0], masks[0]
    elif start is None and math.prod(x.shape[:axis] + x.shape[axis + 1 :]):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    else:
        y = np.full_like(value(x), 0 if start is None else start, shape=x.shape[:axis] + x.shape[axis + 1 :])
    for row, here in zip(rows, masks, strict=True):
        y = ufunc(y, row) if here.all() else np.where(placed(here, y), ufunc(y, row), y)
    return np.expand_dims(y, axis) if keepdims else y


def accumulate(ufunc: np.ufunc, x: Any, /, axis: int = 0, dtype: Any = None) -> Any:
    """From left to right along one axis."""
    x = of_dtype(x, dtype)
    results = [x[along(axis, slice(0, 1))]]
    for k in range(1, x.shape[axis]):
        results.append(ufunc(results[-1], x[along(axis, slice(k, k + 1))]))
    return np.concatenate(results, axis=axis)


def reduceat(ufunc: np.ufunc, x: Any, indices: Any, /, axis: int = 0, dtype: Any = None) -> Any:
    """The reductions of ``x[i:j]`` for neighbours i, j in ``indices``; of ``x[i]`` alone where j <= i."""
    x = of_dtype(x, dtype)
    starts, stops = segments(ufunc, x, indices, axis)
    if not starts.size:
        return x[along(axis, slice(0, 0))]
    lengths = stops - starts
    order = np.argsort(lengths, kind="stable")
    parts = []
    for alike in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):  # as long as each other
        elements = starts[alike, None] + np.arange(lengths[alike[0]])
        parts.append(ufunc.reduce(np.take(x, elements, axis), axis=axis + 1))
    together = np.concatenate(parts, axis=axis)
    return together if len(parts) == 1 else np.take(together, np.argsort(order), axis)


def segments(ufunc: np.ufunc, x: Any, indices: Any, axis: int) -> tuple[Any, Any]:
    """Where each of the parts begins and ends that ``reduceat`` reduces."""
    n = x.shape[axis]
    starts = on_host(indices).astype(int)
    for i in starts[(starts < 0) | (starts >= n)]:
        raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    return starts, np.maximum(np.append(starts[1:], n)[: starts.size], starts + 1)


def of_dtype(x: Any, dtype: Any) -> Any:
    x = as_array(x)
    return x if dtype is None else np.astype(x, np.dtype(dtype))


def at(ufunc: np.ufunc, x: Any, indices: Any, /, *y: Any) -> None:
    """``x[indices] = ufunc(x[indices], y)``, as often as an index is given."""
    x, indices = each_once(destination(x, f"{ufunc.__name__}.at"), indices)
    places = np.arange(x.size).reshape(x.shape)[host_parts(indices)]
    shape, places = places.shape, places.reshape(-1)
    operands = [np.reshape(np.broadcast_to(apart(placed(as_array(part), x), (x,)), shape), -1) for part in y]
    flat = np.reshape(x, -1)
    for now in rounds(places):
        results = ufunc(flat[places[now]], *[part[now] for part in operands])
        x[np.unravel_index(places[now], x.shape)] = results
        flat = np.reshape(x, -1)


def each_once(x: Variable, indices: Any) -> tuple[Variable, Any]:
    """An array that has each of its elements once, and the places in it for ``x[indices]``."""
    if not repeats(x):
        return x, indices
    base, places = places_in_base(x)
    return base, tuple(part[host_parts(indices)] for part in places)


def rounds(places: Any) -> list[Any]:
    """Positions in ``places`` such that no round has a place twice, and each place has its turns in order."""
    order = np.argsort(places, kind="stable")
    arranged = places[order]
    begins = np.flatnonzero(np.append(True, arranged[1:] != arranged[:-1])) if places.size else places
    turns = np.empty(places.size, int)
    turns[order] = np.arange(places.size) - np.repeat(begins, np.diff(np.append(begins, places.size)))
    return [np.flatnonzero(turns == turn) for turn in range(turns.max(initial=-1) + 1)]


GENERAL: dict[str, Callable[..., Any]] = {
    "outer": outer,
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
}


def sums_of_segments(x: Any, indices: Any, /, axis: int = 0, dtype: Any = None) -> Any:
    """np.add.reduceat: each element is added where the segments it is in have their sums."""
    x = of_dtype(x, dtype)
    starts, stops = segments(np.add, x, indices, axis)
    lengths = stops - starts
    segment = np.repeat(np.arange(starts.size), lengths)
    element = np.arange(segment.size) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    shape = (*x.shape[:axis], starts.size, *x.shape[axis + 1 :])
    return scatter(np.take(x, element, axis), along(axis, segment), shape, x.dtype)


def of_elements(function: Callable[..., Any], x: Any, /, dtype: Any = None, **options: Any) -> Any:
    """``function``, whose results are elements of ``x``, in the given dtype."""
    return function(of_dtype(x, dtype), **options)


def sums_written_at(ufunc: np.ufunc, x: Any, indices: Any, y: Any, /) -> None:
    """np.add.at and np.subtract.at: what comes to one place is summed first."""
    x, index = each_once(destination(x, f"{ufunc.__name__}.at"), value(indices))
    y = np.broadcast_to(placed(as_array(y), x), np.empty(x.shape, bool)[host_parts(index)].shape)
    if (_has_negative_zeros(x) or _has_negative_zeros(y)) and _are_apart(index, x.shape):
        return at(ufunc, x, index, y)  # a sum that begins with 0 would lose the sign
    x[...] = ufunc(x, scatter(y, index, x.shape, x.dtype))


def _has_negative_zeros(x: Any) -> bool:
    plain = inside(x)
    if type(plain) is not np.ndarray or plain.dtype.kind != "f":
        return False
    return bool(np.any(np.signbit(plain) & (plain == 0)))


def _are_apart(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether no place is there twice."""
    places = np.arange(math.prod(shape)).reshape(shape)[host_parts(index)].reshape(-1)
    return bool(np.max(np.bincount(places), initial=0) <= 1)


ufunc_method(np.add, "at", partial(sums_written_at, np.add))
ufunc_method(np.subtract, "at", partial(sums_written_at, np.subtract))
ufunc_method(np.add, "reduce", np.sum)
ufunc_method(np.multiply, "reduce", np.prod)
ufunc_method(np.maximum, "reduce", partial(of_elements, np.max))
ufunc_method(np.minimum, "reduce", partial(of_elements, np.min))
ufunc_method(np.add, "accumulate", np.cumsum)
ufunc_method(np.multiply, "accumulate", np.cumprod)
ufunc_method(np.add, "reduceat", sums_of_segments)
