"""What derivatives do not see: ``stop_gradient``."""

from __future__ import annotations

from typing import TypeVar

from lindiff.core.pytree import tree_map
from lindiff.core.variable import value

__all__ = ["stop_gradient"]

Tree = TypeVar("Tree")


def stop_gradient(x: Tree) -> Tree:
    """``x`` as a constant: computing goes on with its value, derivatives of any order take it as fixed.

    Parameters
    ----------
    x : tree of arrays or Variables

    Returns
    -------
    tree of plain arrays

    Examples
    --------
    >>> import lindiff as ld
    >>> ld.grad(lambda x: x * ld.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree_map(value, x)
