"""The methods and attributes of an ndarray, as a Variable has them.

Each calls the NumPy function of its meaning, which dispatches to the rules.
"""

from __future__ import annotations

import builtins
import difflib
import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.namespaces import is_patched
from lindiff.core.results import apart
from lindiff.core.variable import call, inside, is_untraced, is_writable, value
from lindiff.rules._common import laid_out
from lindiff.rules.writers import refuse_repeated

__all__ = ["METHODS", "attribute", "use_namespace"]


def _through(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is a NumPy function of the same arguments."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _of_value(name: str) -> property:
    """An attribute of the plain array."""
    return property(lambda self: getattr(value(self), name))


def _with_axes(name: str) -> property:
    """A method that arrays have and numbers have not."""

    def get(self: Any) -> Any:
        if self._scalar:
            raise AttributeError(f"a number has no {name!r}")
        return getattr(type(self), name).__get__(self)

    return property(get)


class Flags:
    """What an ndarray's ``flags`` say: how it lies in memory, and whether it may be written to."""

    def __init__(self, x: Any):
        plain, writable = inside(x).flags, is_writable(x)
        own = {"WRITEABLE": writable, "OWNDATA": x.base is None}
        own |= {"BEHAVED": writable, "CARRAY": writable and plain.c_contiguous}
        own |= {"FARRAY": writable and plain.fnc}
        vars(self).update(_plain=plain, _own=own)

    def __getattr__(self, name: str) -> Any:
        return self._own[name.upper()] if name.upper() in self._own else getattr(self._plain, name)

    def __getitem__(self, name: str) -> Any:
        name = _FLAGS.get(name, name.upper())
        return self._own[name] if name in self._own else self._plain[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if bool(value) != self[name]:
            raise TypeError(_FLAG_SET)

    __setitem__ = __setattr__

    def __repr__(self) -> str:
        names = [line.split(":")[0].strip() for line in repr(self._plain).splitlines()]
        return "\n".join(f"  {name} : {self[name]}" for name in names)


_FLAG_SET = (
    "the flags of a Variable cannot be set: give a copy of it away, v.copy(), which nobody else writes to"
)
_FLAGS = {"W": "WRITEABLE", "O": "OWNDATA", "B": "BEHAVED", "CA": "CARRAY", "FA": "FARRAY"}


def _refused(name: str, instead: str) -> Callable[..., Any]:
    """A method that would lose the derivative; an untraced Variable has it from its array."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_untraced(self):
            plain = value(self)[...]
            if isinstance(plain, np.ndarray):
                plain.flags.writeable = False
            return getattr(plain, name)(*args, **kwargs)
        raise TypeError(f"a Variable has no {name}(...): {instead}")

    method.__name__ = name
    return method


def _never(name: str, instead: str) -> Callable[..., Any]:
    """A method that changes an array in a way that others who have it would not see."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"a Variable has no {name}(...): {instead}")

    method.__name__ = name
    return method


def setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """What is so already may be set."""
    for name, flag in (("WRITEABLE", write), ("ALIGNED", align), ("WRITEBACKIFCOPY", uic)):
        if flag is not None:
            self.flags[name] = flag


def _unpacked(arguments: tuple[Any, ...]) -> Any:
    """``(2, 3)`` for both ``f(2, 3)`` and ``f((2, 3))``."""
    return arguments[0] if len(arguments) == 1 else arguments


_item = _refused("item", "write v[i] to go on computing, or ld.value(v).item(i) for the plain number")


def item(self: Any, *index: Any) -> Any:
    """An element, which keeps its derivative in code that ``patch_numpy`` reaches."""
    if is_untraced(self) or not is_patched(sys._getframe(1).f_globals):
        return _item(self, *index)
    value(self).item(*index)  # raises what NumPy's raises
    place = _unpacked(index) if index else 0
    return self[place] if isinstance(place, tuple) else np.reshape(self, -1)[place]


def reshape(self: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    """``v.reshape(2, 3)`` or ``v.reshape((2, 3))``: np.reshape."""
    keywords = {} if order == "C" else {"order": order}
    return call(np.reshape, (self, _unpacked(shape)), keywords if copy is None else keywords | {"copy": copy})


def transpose(self: Any, *axes: Any) -> Any:
    """``v.transpose(1, 0)`` or ``v.transpose((1, 0))``: np.transpose."""
    return call(np.transpose, (self, _unpacked(axes)) if axes else (self,), {})


def flatten(self: Any, order: Any = "C") -> Any:
    """The array as a vector, copied."""
    return apart(np.ravel(self, order=order), (self,))


def conjugate(self: Any, *args: Any, **kwargs: Any) -> Any:
    """np.conjugate; a real array itself."""
    return np.conjugate(self, *args, **kwargs) if self.dtype.kind == "c" or args or kwargs else self


def astype(
    self: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """The array in another dtype; the derivative goes on where that is a floating one."""
    if not np.can_cast(self.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} "
            f"according to the rule {casting!r}"
        )
    if np.dtype(dtype).kind in "OV" and not is_untraced(self):
        raise TypeError(
            f"an array of {np.dtype(dtype)} would lose the derivative: use ld.value(v).astype({dtype!r})"
        )
    return laid_out(np.astype(self, np.dtype(dtype), copy=copy), order)


def copy(self: Any, order: Any = "C") -> Any:
    """The array, copied; a scalar stays one, as no method makes an array of it."""
    return self[()] if self._scalar else call(np.copy, (self,), {"order": order})


def compress(self: Any, condition: Any, axis: Any = None, *out: Any, **kwargs: Any) -> Any:
    """np.compress, which takes the condition first."""
    return np.compress(condition, self, axis, *out, **kwargs)


def clip(self: Any, min: Any = None, max: Any = None, *out: Any, **kwargs: Any) -> Any:
    """np.clip, which has taken ``min`` and ``max`` by keyword, or only one of them, since NumPy 2.1."""
    return np.clip(self, min, max, *out, **kwargs)


def fill(self: Any, value: Any) -> None:
    """Write one number everywhere."""
    self[...] = value


def sort(self: Any, axis: int = -1, kind: Any = None, order: None = None, **options: Any) -> None:
    """np.sort, in place; ``stable``, and from NumPy 2.5 on ``descending``, by keyword."""
    refuse_repeated(self, "ndarray.sort")
    self[...] = np.sort(self, axis, kind, order, **options)


def partition(self: Any, kth: Any, axis: int = -1, kind: Any = "introselect", order: None = None) -> None:
    """np.partition, in place."""
    refuse_repeated(self, "ndarray.partition")
    self[...] = np.partition(self, kth, axis, kind, order)


def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
    """The same array under another name; its bytes cannot be read as another dtype."""
    kind = dtype if type is None else type
    if isinstance(kind, builtins.type) and issubclass(kind, np.ndarray) and kind is not np.ndarray:
        raise TypeError(
            f"a Variable cannot be seen as a {kind.__name__}, which holds plain numbers: write "
            f"ld.value(v).view({kind.__name__}) where its derivative does not matter"
        )
    if kind is np.ndarray:
        dtype = type = None
    if type is not None or (dtype is not None and np.dtype(dtype) != self.dtype):
        raise TypeError(
            "the bytes of a Variable cannot be seen as another type: write v.astype(dtype) "
            "for its numbers in another type, np.stack([v.real, v.imag], axis=-1) for their parts"
        )
    return self[()] if self._scalar else self[...]


_namespace: ModuleType | None = None


def use_namespace(module: ModuleType) -> None:
    """Let ``v.__array_namespace__()`` be this module, ``lindiff.numpy``."""
    global _namespace
    _namespace = module


def namespace(self: Any, *, api_version: str | None = None) -> Any:
    """``lindiff.numpy``, for functions written against the Array API standard."""
    known = getattr(np, "__array_api_version__", "2022.12")
    if api_version is not None and api_version > known:
        raise ValueError(f"lindiff.numpy has version {known} of the Array API, not {api_version!r}")
    return _namespace


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The array itself: it is on the only device that it can be on."""
    if device != self.device or stream is not None:
        raise ValueError(f"a Variable on the device {self.device!r} cannot be moved to {device!r}")
    return self


def dlpack(self: Any, **how: Any) -> Any:
    """The memory of a constant, for arrays of other libraries; a Variable that is traced refuses."""
    there = foreign(self) if is_untraced(self) else None
    return (np.asarray(self) if there is None else there).__dlpack__(**how)


def dlpack_device(self: Any) -> Any:
    """On which device the memory is, in the numbers of DLPack."""
    there = foreign(self)
    return (np.empty(0) if there is None else there).__dlpack_device__()


METHODS: dict[str, Any] = {
    name: _through(getattr(np, name))
    for name in [
        "all",
        "any",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "put",
        "ravel",
        "repeat",
        "round",
        "searchsorted",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "var",
    ]
}
METHODS |= {
    "__array_namespace__": namespace,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "astype": astype,
    "clip": clip,
    "compress": compress,
    "copy": copy,
    "fill": fill,
    "partition": partition,
    "sort": sort,
    "view": view,
    "conj": conjugate,
    "conjugate": conjugate,
    "flatten": flatten,
    "reshape": reshape,
    "to_device": to_device,
    "transpose": transpose,
    "mT": property(lambda self: np.matrix_transpose(self)),
}
METHODS["flags"] = property(Flags)
METHODS |= {name: _with_axes(name) for name in ["__contains__", "__iter__", "__len__", "__setitem__"]}
METHODS |= {name: _of_value(name) for name in ["device", "itemsize", "nbytes", "strides"]}
METHODS |= {
    name: _refused(name, f"it would lose the derivative; write ld.value(v).{name}(...)")
    for name in [
        "byteswap",
        "choose",
        "dump",
        "dumps",
        "getfield",
        "tobytes",
        "tofile",
    ]
}
METHODS |= {
    "item": item,
    "tolist": _refused("tolist", "write list(v) to go on computing, or ld.value(v).tolist()"),
    "resize": _never("resize", "write v = np.reshape(v, shape), np.resize or np.pad"),
    "setfield": _never("setfield", "write v[...] = new"),
    "setflags": setflags,
}


def attribute(name: str) -> Any:
    """The method or property of this name.

    Raises
    ------
    AttributeError
        Names what there is instead.
    """
    try:
        return METHODS[name]
    except KeyError:
        raise AttributeError(_missing(name)) from None


# How one asks arrays of other libraries for plain ones.
_OF_OTHERS = {"asnumpy", "detach", "numpy", "to_numpy", "values"}


@functools.lru_cache(maxsize=256)  # who asks whether an array has some attribute asks often
def _missing(name: str) -> str:
    """That a Variable has no such attribute, and which one was meant."""
    message = f"a Variable has no attribute {name!r}"
    if not name.startswith("_"):  # protocols look for such names
        known = [*METHODS, "T", "shape", "ndim", "size", "dtype", "grad", "backward"]
        near = difflib.get_close_matches(name, known, n=2)
        # the class also lists names that have expired; "get" brings CuPy's arrays to the host
        if name in _OF_OTHERS:
            message += "; its plain array is ld.value(v)"
        elif name == "get" or hasattr(np.empty(0), name):
            message += f"; its plain array has: ld.value(v).{name}"
        elif near:
            message += f"; near: {', '.join(near)}"
    return message
