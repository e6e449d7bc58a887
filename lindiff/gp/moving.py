"""The arrays of a tree that are differentiated, apart from those that are not."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lindiff.core import pytree
from lindiff.core.fields import besides_of
from lindiff.core.variable import Variable, is_untraced, kept_constant

__all__ = ["Still", "apart", "children", "flatten", "leaves", "with_fields"]


def children(tree: Any) -> dict[Any, Any]:
    """The children of an inner node by names; of a dataclass what `__post_init__` makes of them, too."""
    if not dataclasses.is_dataclass(tree):
        return {key: pytree.item(tree, key) for key in pytree.keys(tree)}
    found = {name: getattr(tree, name) for name in pytree.keys(tree)}
    found.update((name, x) for name, x in besides_of(tree).items() if _has_numbers(x))
    return found


def _has_numbers(x: Any) -> bool:
    """Whether there are numbers with a derivative in it."""
    if pytree.is_tree(x):
        return any(map(_has_numbers, children(x).values()))
    return isinstance(x, float) or (hasattr(x, "dtype") and x.dtype.kind in "fc")


def leaves(tree: Any) -> list[Any]:
    """All that has no children, in the order of :func:`flatten`."""
    if not pytree.is_tree(tree):
        return [tree]
    return [leaf for child in children(tree).values() for leaf in leaves(child)]


def with_fields(node: Any, fields: Mapping[str, Any]) -> Any:
    """A dataclass with other fields: a copy with whatever else it carries, which is not made anew."""
    other = copy.copy(node)
    for name, x in fields.items():
        object.__setattr__(other, name, x)
    return other


def flatten(tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The leaves, and what puts others into their places of the tree, as it is now."""
    if not pytree.is_tree(tree):
        return [tree], operator.itemgetter(0)
    is_record, below = dataclasses.is_dataclass(tree), children(tree)
    node = copy.copy(tree) if is_record else tree
    found = [flatten(child) for child in below.values()]
    ends = list(itertools.accumulate(len(leaves) for leaves, _ in found))
    parts = [(restore, begin, end) for (_, restore), begin, end in zip(found, [0, *ends], ends, strict=False)]

    def restored(leaves: Sequence[Any]) -> Any:
        others = [restore(leaves[begin:end]) for restore, begin, end in parts]
        return (
            with_fields(node, dict(zip(below, others, strict=True)))
            if is_record
            else pytree.replace(node, others)
        )

    return [leaf for leaves, _ in found for leaf in leaves], restored


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
    found, restore = flatten(tree)
    active = tuple(isinstance(leaf, Variable) and not is_untraced(leaf) for leaf in found)
    kept = [None if a else kept_constant(leaf) for leaf, a in zip(found, active, strict=True)]
    return [leaf for leaf, a in zip(found, active, strict=True) if a], Still(restore, kept, active)
