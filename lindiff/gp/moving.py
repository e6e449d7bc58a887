"""The arrays of a tree that are differentiated, apart from those that are not."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lindiff.core import pytree
from lindiff.core.variable import Variable, is_untraced, kept_constant

__all__ = ["Still", "apart", "restorer", "with_fields"]


def with_fields(node: Any, fields: Mapping[str, Any]) -> Any:
    """A dataclass with other fields: a copy with whatever else it carries, which is not made anew."""
    other = copy.copy(node)
    for name, x in fields.items():
        object.__setattr__(other, name, x)
    return other


def restorer(tree: Any) -> Callable[[Sequence[Any]], Any]:
    """What puts leaves into their places of a tree, as it is now."""
    if not pytree.is_tree(tree):
        return lambda leaves: leaves[0]
    is_record, keys = dataclasses.is_dataclass(tree), pytree.keys(tree)
    node = copy.copy(tree) if is_record else tree
    children = [pytree.item(tree, key) for key in keys]
    parts = [restorer(child) for child in children]
    ends = list(itertools.accumulate(len(pytree.flatten(child)[0]) for child in children))

    def restored(leaves: Sequence[Any]) -> Any:
        begins = [0, *ends][: len(ends)]
        found = [part(leaves[i:j]) for part, i, j in zip(parts, begins, ends, strict=True)]
        return (
            with_fields(node, dict(zip(keys, found, strict=True)))
            if is_record
            else pytree.replace(node, found)
        )

    return restored


class Still:
    """A tree without its arrays that are differentiated.

    Attributes
    ----------
    active : tuple of bool
        Which leaves are missing.
    """

    def __init__(self, restore: Any, leaves: list[Any], active: tuple[bool, ...]) -> None:
        self.active = active
        self._restore, self._leaves = restore, leaves

    def tree(self, moving: Sequence[Any]) -> Any:
        """The whole tree."""
        given = iter(moving)
        return self._restore(
            [next(given) if a else x for x, a in zip(self._leaves, self.active, strict=True)]
        )


def apart(tree: Any) -> tuple[list[Any], Still]:
    """The Variables among the leaves of a tree, and the rest of it, whose arrays are kept as they are now."""
    leaves, restore = pytree.flatten(tree)[0], restorer(tree)
    active = tuple(isinstance(leaf, Variable) and not is_untraced(leaf) for leaf in leaves)
    kept = [None if a else kept_constant(leaf) for leaf, a in zip(leaves, active, strict=True)]
    return [leaf for leaf, a in zip(leaves, active, strict=True) if a], Still(restore, kept, active)
