"""Forward mode: ``jvp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from lindiff.core.linearization import push_forward
from lindiff.transforms._arguments import as_tuple, with_keywords

__all__ = ["jvp"]

R = TypeVar("R")
Aux = TypeVar("Aux")


@overload
def jvp(
    function: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
    **kwargs: Any,
) -> tuple[R, R]: ...
@overload
def jvp(
    function: Callable[..., tuple[R, Aux]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
    **kwargs: Any,
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool,
    **kwargs: Any,
) -> tuple[Any, ...]: ...


def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """The value of a function, and its derivative in one direction.

    The tangent is pushed along with the value: nothing is kept, memory does not grow with the number of
    operations.

    Parameters
    ----------
    function : callable
    primals, tangents : sequences of trees of arrays
        The positional arguments and the direction, one tree per argument, of one structure and shapes.
    has_aux : bool
        The function returns ``(value, aux)``; so does this, followed by aux.
    **kwargs
        Keyword arguments of the function, constant.

    Returns
    -------
    value, tangent
        ``function(*primals)`` and J · tangents, in one structure; with ``has_aux`` ``value, tangent, aux``.
        Cost: two to four times the function: of each operation its value and its derivative in one direction,
        which for a product of two changing factors is two products.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.jvp(np.sin, (0.0,), (1.0,))
    (np.float64(0.0), np.float64(1.0))
    """
    value, tangent, aux = push_forward(
        with_keywords(function, kwargs),
        as_tuple(primals, "primals"),
        as_tuple(tangents, "tangents"),
        has_aux,
    )
    return (value, tangent, aux) if has_aux else (value, tangent)
