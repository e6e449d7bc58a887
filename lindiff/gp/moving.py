"""The arrays of a tree that are differentiated, apart from those that are not."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.variable import Variable, is_untraced, kept_constant

__all__ = ["Still", "apart", "restorer"]


def restorer(tree: Any) -> Callable[[Sequence[Any]], Any]:
    """What puts leaves into their places of a tree, as it is now.

    Dataclasses are copied with whatever else they carry, and are not made anew.
    """
    if not pytree.is_tree(tree):
        return lambda leaves: leaves[0]
    if not dataclasses.is_dataclass(tree):
        keys, node = pytree.keys(tree), tree
        parts = [restorer(pytree.item(tree, key)) for key in keys]
        ends = np.cumsum([len(pytree.flatten(pytree.item(tree, key))[0]) for key in keys])
        return lambda leaves: pytree.replace(node, _filled(parts, ends, leaves))
    node, names = copy.copy(tree), pytree.keys(tree)
    parts = [restorer(getattr(tree, name)) for name in names]
    ends = np.cumsum([len(pytree.flatten(getattr(tree, name))[0]) for name in names])

    def restored(leaves: Sequence[Any]) -> Any:
        other = copy.copy(node)
        for name, x in zip(names, _filled(parts, ends, leaves), strict=True):
            object.__setattr__(other, name, x)
        return other

    return restored


def _filled(parts: list[Any], ends: Any, leaves: Sequence[Any]) -> list[Any]:
    begins = [0, *ends][: len(parts)]
    return [part(leaves[i:j]) for part, i, j in zip(parts, begins, ends, strict=True)]


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
