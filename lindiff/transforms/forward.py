"""Forward mode: ``jvp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lindiff.core.linearization import push_forward

__all__ = ["jvp"]


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function, and its derivative in one direction.

    The tangent is pushed along with the value: nothing is kept, memory does not grow with the number of
    operations.

    Parameters
    ----------
    function : callable
    primals, tangents : sequences of trees of arrays
        The positional arguments and the direction, one tree per argument, of one structure and shapes.

    Returns
    -------
    value, tangent
        ``function(*primals)`` and J · tangents, in one structure.  Cost: about two times the function.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.jvp(np.sin, (0.0,), (1.0,))
    (np.float64(0.0), np.float64(1.0))
    """
    return push_forward(function, as_tuple(primals, "primals"), as_tuple(tangents, "tangents"))


def as_tuple(arguments: Sequence[Any], name: str) -> tuple[Any, ...]:
    """``primals`` or ``tangents`` as a tuple; an array would be taken apart."""
    if not isinstance(arguments, (tuple, list)):
        raise TypeError(f"{name} is a tuple with one entry per argument of the function: write ({name},)")
    return tuple(arguments)
