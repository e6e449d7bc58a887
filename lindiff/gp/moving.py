"""The arrays of a tree that are differentiated, apart from those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lindiff.core import pytree
from lindiff.core.variable import Variable, is_untraced, kept_constant

__all__ = ["Still", "apart"]


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
    leaves, restore = pytree.flatten(tree)
    active = tuple(isinstance(leaf, Variable) and not is_untraced(leaf) for leaf in leaves)
    kept = [None if a else kept_constant(leaf) for leaf, a in zip(leaves, active, strict=True)]
    return [leaf for leaf, a in zip(leaves, active, strict=True) if a], Still(restore, kept, active)
