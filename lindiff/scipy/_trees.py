"""Which arguments are trees: SciPy reads lists of numbers as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core import pytree

__all__ = ["is_list_of_numbers", "is_tree"]


def is_list_of_numbers(x: Any) -> bool:
    """Whether x is a list or tuple of numbers, which SciPy makes an array of."""
    return type(x) in (list, tuple) and all(not pytree.is_tree(part) and np.ndim(part) == 0 for part in x)


def is_tree(x: Any) -> bool:
    """Whether x is a tree: a dict, dataclass or named tuple, a list with arrays or trees in it."""
    return pytree.is_tree(x) and not is_list_of_numbers(x)
