"""What derivatives do not see: ``stop_gradient``."""

from __future__ import annotations

from typing import Any, TypeVar

from lindiff.core.likeness import is_number, numbers_in
from lindiff.core.pytree import tree_map
from lindiff.core.variable import Variable, mirrored

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
        Of Variables read-only copies, which see what is written to the Variables later, as ``x`` itself
        would.
        Plain arrays are as they were.

    Examples
    --------
    >>> import lindiff as ld
    >>> ld.grad(lambda x: x * ld.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree_map(_constant, x)


def _constant(x: Any) -> Any:
    if type(x) is Variable:
        return mirrored(x)
    if not is_number(x) and any(type(leaf) is Variable for leaf in numbers_in(x)):
        raise TypeError(
            f"stop_gradient takes arrays and trees of them, and a {type(x).__name__} holds Variables: give "
            f"what is in it, or make it a dict or a dataclass"
        )
    return x
