"""Trees of what an operation is given: arrays in slots, and constants between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Slot", "filled", "leaves_of", "replaced", "same"]


class Slot(int):
    """The number of an array of a recording."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"%{int(self)}"


def replaced(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """A tree of tuples, lists, dicts and slices with ``leaf`` of what is at its leaves."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind([replaced(part, leaf) for part in tree])
    if kind is slice:
        return slice(replaced(tree.start, leaf), replaced(tree.stop, leaf), replaced(tree.step, leaf))
    if kind is dict:
        return {name: replaced(part, leaf) for name, part in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_make"):
        return tree._make([replaced(part, leaf) for part in tree])
    return leaf(tree)


def leaves_of(tree: Any) -> list[Any]:
    """What :func:`replaced` calls ``leaf`` of."""
    found: list[Any] = []
    replaced(tree, found.append)
    return found


def filled(tree: Any, arrays: list[Any]) -> Any:
    """A tree with arrays in their slots."""
    return replaced(tree, lambda x: arrays[x] if type(x) is Slot else x)


def same(a: Any, b: Any) -> bool:
    """Whether two trees are the same to the last bit: constants, slots and structure."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, (np.ndarray, np.generic)):
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and a.dtype != object
            and (isinstance(a, np.generic) or a.strides == b.strides)
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    try:
        return bool(a == b)
    except Exception:
        return False
