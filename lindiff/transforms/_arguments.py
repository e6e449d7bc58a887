"""Which arguments a transform differentiates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def select(
    function: Callable[..., Any],
    argnums: int | tuple[int, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """``function`` of the selected arguments alone, and these arguments.

    Raises
    ------
    TypeError, ValueError
        ``argnums`` is no integer or tuple of different integers, or there is no such argument.
    """
    if argnums == 0 and len(args) == 1 and not kwargs:
        return function, args
    places = _places(argnums, len(args))

    def of_selected(*selected: Any) -> Any:
        full = list(args)
        for place, argument in zip(places, selected, strict=True):
            full[place] = argument
        return function(*full, **kwargs)

    return of_selected, tuple(args[place] for place in places)


def _places(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    for place in given:
        if not isinstance(place, int) or isinstance(place, bool):
            raise TypeError(f"argnums is an int or a tuple of ints, got {argnums!r}")
        if not -count <= place < count:
            raise ValueError(
                f"argnums={argnums!r}, but the function was called with {count} positional "
                f"argument{'s' if count != 1 else ''} (keyword arguments are not differentiated)"
            )
    places = tuple(place % count for place in given)
    if len(set(places)) != len(places):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    return places


def one_or_all(argnums: int | tuple[int, ...], results: tuple[Any, ...]) -> Any:
    """Results per selected argument: bare for an int, a tuple for a tuple."""
    return results if isinstance(argnums, tuple) else results[0]
