"""What a program depends on besides the numbers in arrays: the form of arguments, and what is no array."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.directions import Directions
from lindiff.core.variable import Variable
from lindiff.programs.machine import form_of
from lindiff.programs.recorded import Recorded, is_number

__all__ = ["PLAIN", "constant_key", "constants_of", "is_array", "key_of", "structure_of"]

# Constants that are what they look like.
PLAIN = (bool, int, float, complex, str, bytes, type(None))

# Arrays with a meaning of their own: the function itself runs on them.
_MANY = (Variable, Recorded, Directions, np.ndarray)


def is_array(x: Any) -> bool:
    """Whether a leaf of the arguments is data, of which a program depends on the form alone."""
    if type(x) is np.ndarray:
        return not x.dtype.hasobject and x.flags.aligned and x.dtype.metadata is None
    return is_number(x)


def key_of(leaves: list[Any], tree: Any) -> Any:
    """What a program depends on besides the numbers in arrays; None where these arguments have none."""
    parts: list[Any] = []
    places: dict[int, int] = {}
    found = False
    for i, x in enumerate(leaves):
        if is_array(x):
            found = True
            place = places.setdefault(id(x), i) if type(x) is np.ndarray else i
            parts.append((form_of(x), place, x.dtype.char))  # two types of whole numbers may be equal
        elif isinstance(x, _MANY):
            return None
        elif type(x) in PLAIN:
            parts.append((type(x), repr(x)))
        else:
            parts.append(_Same(x))
    if not found:
        return None
    structure = structure_of(tree)
    return None if structure is None else (*parts, structure)


class _Same:
    """An object in a key, which nothing but itself equals."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x)


def structure_of(tree: Any) -> Any:
    """What a tree is without its leaves, and what it says to be constant; None if that is not all of it."""
    if type(tree) in (tuple, list):
        parts = tuple(map(structure_of, tree))
        return (
            None if None in parts else (type(tree), (), tuple(zip(_places(len(parts)), parts, strict=True)))
        )
    if type(tree) in pytree.leaf_types or not pytree.is_tree(tree):
        return ()
    keys = pytree.keys(tree)
    constant: list[Any] = []
    if dataclasses.is_dataclass(tree):
        names = {f.name for f in dataclasses.fields(tree)}
        is_given = all(f.init for f in dataclasses.fields(tree)) and not hasattr(tree, "__post_init__")
        if not is_given or not names.issuperset(getattr(tree, "__dict__", ())):
            return None  # it is more than what it is made of
        constant = [constant_key(getattr(tree, name)) for name in sorted(names - set(keys))]
    elif hasattr(tree, "_fields"):
        if getattr(tree, "__dict__", None):
            return None
        constant = [constant_key(part) for i, part in enumerate(tree) if i not in keys]
    elif type(tree) is not dict:
        return None
    named = [(constant_key(key), structure_of(pytree.item(tree, key))) for key in keys]
    if any(part is None for _, part in named):
        return None
    return type(tree), tuple(constant), tuple(named)


@functools.cache
def _places(count: int) -> tuple[Any, ...]:
    """The keys of so many parts of a sequence."""
    return tuple(map(constant_key, range(count)))


def constants_of(tree: Any) -> list[Any]:
    """What is no array in a tree: leaves, constant fields, and the classes that have methods of their own."""
    if not pytree.is_tree(tree):
        return [] if is_array(tree) else [tree]
    keys = pytree.keys(tree)
    found: list[Any] = [] if type(tree) in (tuple, list, dict) else [type(tree)]
    if dataclasses.is_dataclass(tree):
        found += [getattr(tree, f.name) for f in dataclasses.fields(tree) if f.name not in keys]
    elif hasattr(tree, "_fields"):
        found += [part for i, part in enumerate(tree) if i not in keys]
    return found + [x for key in keys for x in constants_of(pytree.item(tree, key))]


def constant_key(x: Any) -> Any:
    """What an object is in a key that is no array."""
    return (type(x), repr(x)) if type(x) in PLAIN else _Same(x)
