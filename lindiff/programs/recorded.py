"""Arrays that record what is done with them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from lindiff.core import chain
from lindiff.core.backends import kernels
from lindiff.core.directions import Apart, Directions
from lindiff.core.variable import Variable
from lindiff.programs.machine import Raised
from lindiff.programs.operands import Slot, leaves_of, replaced
from lindiff.programs.recording import (
    Instruction,
    Leaving,
    Recording,
    Unrecordable,
    is_lindiffs,
    line_of_user,
)

__all__ = ["VIEWS", "Recorded", "method", "record", "recorded"]

# Attributes of an array that are arrays with its memory.
VIEWS = {name: operator.attrgetter(name) for name in ("T", "mT", "real", "imag")}
# Results that are no arrays, and leave the program.
_KNOWN = (bool, int, float, complex, str, bytes, np.dtype, type)
# What operations are given besides arrays.
_CONSTANTS = (*_KNOWN, type(None), type(Ellipsis), type(np._NoValue))
# What would show the memory itself.
_PROTOCOLS = {"__array_interface__", "__array_struct__", "__dlpack__", "__buffer__"}
_MEMORY = {"flat", "data", "ctypes", "setflags", "resize", "tofile", "dump", "dumps", "getfield", "setfield"}


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, or a number, of a function that is being recorded.

    It speaks NumPy's protocols as an array of another library does.  Operations are carried out at once on
    ``array`` and leave an instruction; what Python looks at leaves a guard.
    """

    __slots__ = ("__weakref__", "array", "recording", "slot")

    def __init__(self, recording: Recording, slot: Slot, array: Any) -> None:
        self.recording, self.slot, self.array = recording, slot, array

    # -- what is known without the values ------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.array)

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise Unrecordable("x.shape = ... changes an array in place: write x = x.reshape(...)")

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype if hasattr(self.array, "dtype") else np.dtype(type(self.array))

    @property
    def ndim(self) -> int:
        return np.ndim(self.array)

    @property
    def size(self) -> int:
        return int(np.size(self.array))

    @property
    def base(self) -> Any:
        """None of an array that has all of its memory; of views, and of numbers, something else."""
        return (
            None if getattr(self.array, "base", ...) is None and isinstance(self.array, np.ndarray) else ...
        )

    def __len__(self) -> int:
        return len(self.array)

    @property
    def __lindiff_without_axes__(self) -> bool:
        return isinstance(self.array, np.ndarray) and self.array.ndim == 0

    @property
    def __lindiff_kernels__(self) -> Any:
        """The kernels of the array, as instructions; None where it has none."""
        found = kernels(self.array)
        return None if found is None else _Kernels(found)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For code that is not ours, the class of the array that it stands for."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") in ("abc", "functools"):
            frame = frame.f_back
        return Recorded if is_lindiffs(frame) else type(self.array)

    # -- operations ----------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(not _is_known(x) for x in inputs):
            if any(type(x) is Recorded for x in kwargs.get("out", ())):
                raise Unrecordable("what depends on a Variable is written into a constant")
            return NotImplemented
        return record(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(kind, (Recorded, np.ndarray)) for kind in types):
            return NotImplemented
        return record(function, args, kwargs)

    def __pow__(self, x: Any) -> Any:
        return record(operator.pow, (self, x), {}) if _is_known(x) else NotImplemented

    def __rpow__(self, x: Any) -> Any:
        return record(operator.pow, (x, self), {}) if _is_known(x) else NotImplemented

    def __getitem__(self, index: Any) -> Any:
        return record(operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, item: Any) -> None:
        record(operator.setitem, (self, index, item), {})

    def __getattr__(self, name: str) -> Any:
        if name in _PROTOCOLS:
            raise Unrecordable(f"x.{name} shows the memory of an array")
        if name.startswith("__") or not hasattr(self.array, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in _MEMORY:
            raise Unrecordable(f"x.{name} shows the memory of an array")
        if name in VIEWS:
            return record(VIEWS[name], (self,), {})
        found = getattr(self.array, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: record(method(name), (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, x: Any) -> bool:
        return bool((self == x).any())

    def __copy__(self) -> Any:
        return record(method("copy"), (self,), {})

    def __deepcopy__(self, memo: Any) -> Any:
        return record(method("copy"), (self,), {})

    def __reduce__(self) -> Any:
        raise Unrecordable("an array is pickled")

    # -- in place: numbers are not ---------------------------------------------------------------------------

    def __iadd__(self, x: Any) -> Any:
        return _in_place(np.add, self, x)

    def __isub__(self, x: Any) -> Any:
        return _in_place(np.subtract, self, x)

    def __imul__(self, x: Any) -> Any:
        return _in_place(np.multiply, self, x)

    def __itruediv__(self, x: Any) -> Any:
        return _in_place(np.true_divide, self, x)

    def __ifloordiv__(self, x: Any) -> Any:
        return _in_place(np.floor_divide, self, x)

    def __imod__(self, x: Any) -> Any:
        return _in_place(np.remainder, self, x)

    def __ipow__(self, x: Any) -> Any:
        return _in_place(np.power, self, x)

    def __iand__(self, x: Any) -> Any:
        return _in_place(np.bitwise_and, self, x)

    def __ior__(self, x: Any) -> Any:
        return _in_place(np.bitwise_or, self, x)

    def __ixor__(self, x: Any) -> Any:
        return _in_place(np.bitwise_xor, self, x)

    # -- values that leave ---------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._leave(bool))

    def __int__(self) -> int:
        return int(self._leave(int))

    def __index__(self) -> int:
        return int(self._leave(operator.index))

    def __float__(self) -> float:
        return float(self._leave(float))

    def __complex__(self) -> complex:
        return complex(self._leave(complex))

    def __round__(self, digits: Any = None) -> Any:
        return record(round, (self,) if digits is None else (self, digits), {})

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.array, np.ndarray):  # what is written there, or read later, nobody would see
            raise Unrecordable("an array leaves as a whole")
        content = np.array(self._leave(itself))
        return content if dtype is None else content.astype(dtype, copy=False)

    def item(self, *args: Any) -> Any:
        return record(method("item"), (self, *args), {})

    def tolist(self) -> Any:
        return record(method("tolist"), (self,), {})

    def __bytes__(self) -> bytes:
        return bytes(record(bytes, (self,), {}))

    def __hash__(self) -> int:
        if isinstance(self.array, np.ndarray):
            raise TypeError(f"unhashable type: {type(self.array).__name__!r}")
        return int(self._leave(hash))

    def __repr__(self) -> str:
        return repr(self.array) if self.recording.ended else str(self._leave(repr))

    def __str__(self) -> str:
        return str(self._leave(str))

    def __format__(self, spec: str) -> str:
        return str(record(format, (self, spec), {}))

    def _leave(self, function: Callable[[Any], Any]) -> Any:
        """What Python gets to see; nothing that could be written to."""
        self.recording.refuse_ended(self.slot)
        try:
            value = function(self.array)
        except Exception as error:
            self.recording.add(Leaving(function, self.slot, Raised(type(error)), line_of_user()))
            raise
        self.recording.add(Leaving(function, self.slot, value, line_of_user()))
        return value


# What the chain rule calls of arrays of another library.
_CHAIN = {"product": chain.product, "quotient": chain.quotient_of}


class _Kernels:
    """The kernels of a module, for Recorded arrays; nothing is overwritten."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        kernel = _CHAIN.get(name) or getattr(self._module, name)

        def recording(*args: Any, **options: Any) -> Any:
            return record(kernel, args, {k: v for k, v in options.items() if not k.startswith("overwrite_")})

        return recording


_METHODS: dict[str, Callable[..., Any]] = {}


def method(name: str) -> Callable[..., Any]:
    """The method of an array as a function; always the same one."""
    if name not in _METHODS:

        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(x, name)(*args, **kwargs)

        call.__name__ = name
        _METHODS.setdefault(name, call)
    return _METHODS[name]


def _in_place(ufunc: np.ufunc, x: Recorded, y: Any) -> Any:
    return ufunc(x, y, out=(x,)) if isinstance(x.array, np.ndarray) else ufunc(x, y)


def _is_known(x: Any) -> bool:
    return isinstance(x, (Recorded, np.ndarray, np.generic)) or not hasattr(x, "__array_ufunc__")


def record(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``function(*args, **kwargs)``; with Recorded arrays among these it leaves an instruction."""
    leaves = leaves_of((args, kwargs))
    given = [x for x in leaves if type(x) is Recorded]
    if not given:
        return function(*args, **kwargs)
    recording = given[0].recording

    def slot_of(x: Any) -> Any:
        return x.slot if type(x) is Recorded else constant(x, recording)

    for x in given:
        x.recording.refuse_ended(x.slot)
        if x.recording is not recording:
            raise Unrecordable("arrays of two programs have met")
    slots = replaced(args, slot_of)
    named_slots = replaced(kwargs, slot_of) if kwargs else {}
    line, quiet = line_of_user(), recording.is_quiet()
    for x in written_by(function, args, kwargs):
        if type(x) is Recorded:
            recording.note_write(x.slot)
        elif isinstance(x, np.ndarray):
            raise Unrecordable("it writes into an array that is no argument")
    try:
        plain = replaced(args, _plain)
        value = function(*plain, **replaced(kwargs, _plain)) if kwargs else function(*plain)
        if _are_written(leaves, leaves_of((slots, named_slots))):
            raise Unrecordable("it writes into an array that is no argument")
    except Exception as error:
        recording.add(Instruction(function, slots, named_slots, None, type(error), line, quiet))
        raise

    leaving: list[Leaving] = []

    def result_of(x: Any) -> Any:
        if x is None:
            return x
        if isinstance(x, _KNOWN) and not isinstance(x, np.generic):
            slot = recording.new_slot(x, line)
            leaving.append(Leaving(itself, slot, x, line))
            return Left(slot, x)
        if (type(x) is not np.ndarray and not is_number(x)) or x.dtype.hasobject:
            raise Unrecordable(f"a result that is a {type(x).__name__}")
        for argument in given:
            if argument.array is x:
                return argument
        if any(type(y) is np.ndarray and np.may_share_memory(x, y) for y in leaves):
            raise Unrecordable("what an operation gives lies in an array that is no argument")
        return recorded(recording, x, line, given)

    result = replaced(value, result_of)
    slots_of_result = replaced(result, lambda x: x.slot if type(x) in (Recorded, Left) else x)
    recording.add(Instruction(function, slots, named_slots, slots_of_result, None, line, quiet))
    for guard in leaving:
        recording.add(guard)
    return replaced(result, lambda x: x.value if type(x) is Left else x) if leaving else result


# What writes into its first argument, and the methods that do.
_WRITERS = {
    *(np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal, operator.setitem),
    *map(method, ("fill", "sort", "partition", "put", "itemset", "byteswap")),
}


def written_by(function: Any, args: Any, kwargs: Any) -> list[Any]:
    """The operands that a function writes to."""
    out = kwargs.get("out")
    written = list(out) if isinstance(out, tuple) else [out]
    if getattr(function, "__name__", "") == "at" or (is_hashable(function) and function in _WRITERS):
        written += args[:1]
    if isinstance(function, np.ufunc):
        written += args[function.nin :]
    return written


def is_hashable(function: Any) -> bool:
    """Whether a function may be a key: methods of ufuncs are made anew each time."""
    return not isinstance(getattr(function, "__self__", None), np.ufunc)


def _are_written(now: list[Any], before: list[Any]) -> bool:
    """Whether an array among operands is another one than its copy."""
    return any(type(x) is np.ndarray and x.tobytes() != y.tobytes() for x, y in zip(now, before, strict=True))


class Left:
    """What an operation has given that is no array."""

    __slots__ = ("slot", "value")

    def __init__(self, slot: Slot, value: Any) -> None:
        self.slot, self.value = slot, value


def itself(x: Any) -> Any:
    return x


def is_number(x: Any) -> bool:
    """Whether this is a number of NumPy's, a truth value or a time."""
    return isinstance(x, np.generic) and x.dtype.kind in "biufcmM"


def _plain(x: Any) -> Any:
    return x.array if type(x) is Recorded else x


def constant(x: Any, recording: Recording) -> Any:
    """What an operation is given beside Recorded arrays."""
    if isinstance(x, np.ndarray):
        if x.dtype.hasobject or type(x) is not np.ndarray:
            raise Unrecordable(f"an array of objects or of a class of its own, {type(x).__name__}")
        return recording.constant(x)
    if isinstance(x, (np.generic, *_CONSTANTS)):
        return x
    if type(x) is Directions:
        raise Apart
    if type(x) is Variable:
        raise Unrecordable("what depends on a Variable is written into a constant")
    raise Unrecordable(f"an operation with a {type(x).__name__}")


def recorded(recording: Recording, array: Any, line: str, given: Iterable[Recorded] = ()) -> Recorded:
    """A new array of a recording, which may be a view of one of those ``given``."""
    return Recorded(recording, recording.new_slot(array, line, [x.slot for x in given]), array)
