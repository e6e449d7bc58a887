"""Which arrays an operation keeps for its derivative."""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lindiff.core.constants import Guard
from lindiff.core.record import Node, Trace
from lindiff.core.variable import Variable

_EMPTY = (int, float, complex, str, bytes, np.generic, np.dtype, type, types.ModuleType, Node, Trace)


def memory(array: Any) -> tuple[int, int]:
    """The identity and the size in bytes of the memory that an array lies in."""
    if not isinstance(array, np.ndarray):  # on another device
        whole = getattr(array, "base", None)
        array = array if whole is None else whole
        return id(array), int(array.nbytes)
    while isinstance(array.base, (np.ndarray, Guard)):
        array = array.base.array if isinstance(array.base, Guard) else array.base
    return id(array), array.nbytes if array.flags.owndata or array.base is not None else 0


def arrays_kept(node: Node) -> Iterator[Any]:
    """The arrays that the differential of an operation holds on to."""
    return arrays_in(_fields(node))


def arrays_in(tree: Any) -> Iterator[Any]:
    """The arrays that can be reached from something: what it contains, what functions close over."""
    seen: set[int] = set()
    stack: list[Any] = [tree]
    while stack:
        x = stack.pop()
        if x is None or isinstance(x, _EMPTY) or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, Variable):
            stack.append(x._value)
        elif isinstance(x, np.ndarray) or hasattr(x, "__cuda_array_interface__"):
            yield x
        else:
            stack.extend(_parts(x))


def _fields(node: Node) -> Any:
    """The C fields of a node: what Cython would pickle of it."""
    return node.__reduce_cython__()[1:]  # type: ignore[attr-defined]


def _parts(x: Any) -> list[Any]:
    """The objects that an object holds."""
    if isinstance(x, types.FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if _is_filled(cell)]
        return [*cells, x.__defaults__, x.__kwdefaults__]
    if isinstance(x, functools.partial):
        return [x.func, x.args, x.keywords]
    # compiled functions and the variables they close over, containers, objects with attributes
    return [part for part in gc.get_referents(x) if not _is_namespace(part)]


def _is_filled(cell: Any) -> bool:
    """Whether a closure's cell holds anything."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _is_namespace(x: Any) -> bool:
    return isinstance(x, types.CodeType) or (isinstance(x, dict) and "__spec__" in x)


def bytes_kept(nodes: list[Node], free: Callable[[int], bool]) -> list[int]:
    """The bytes that each node is the first to keep, in order; memory that is ``free`` is not
    counted."""
    counted: set[int] = set()
    result = []
    for node in nodes:
        total = 0
        for array in arrays_kept(node):
            place, size = memory(array)
            if place not in counted and not free(place):
                counted.add(place)
                total += size
        result.append(total)
    return result
