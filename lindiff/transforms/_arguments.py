"""Which arguments a transform differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core.variable import value

Argnums = int | str | tuple[int | str, ...]


def select(
    function: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """``function`` of the selected arguments alone, and these arguments.

    Raises
    ------
    TypeError, ValueError
        ``argnums`` is no integer, name or tuple of different ones, or there is no such argument.
    """
    if argnums == 0 and len(args) == 1 and not kwargs:
        return function, args
    places = _places(argnums, len(args), kwargs)

    def of_selected(*selected: Any) -> Any:
        full, by_name = list(args), dict(kwargs)
        for place, argument in zip(places, selected, strict=True):
            if isinstance(place, str):
                by_name[place] = argument
            else:
                full[place] = argument
        return function(*full, **by_name)

    return of_selected, tuple(kwargs[place] if isinstance(place, str) else args[place] for place in places)


def _places(argnums: Argnums, count: int, kwargs: dict[str, Any]) -> tuple[int | str, ...]:
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    for place in given:
        if isinstance(place, bool) or not isinstance(place, (int, str)):
            raise TypeError(
                f"argnums is an int, the name of a keyword argument, or a tuple of these, got {argnums!r}"
            )
        if isinstance(place, str):
            if place not in kwargs:
                raise ValueError(
                    f"argnums={argnums!r}, but the function was called without a keyword argument {place!r}"
                )
        elif not -count <= place < count:
            raise ValueError(
                f"argnums={argnums!r}, but the function was called with {count} positional "
                f"argument{'s' if count != 1 else ''} (a keyword argument is selected by its name)"
            )
    places = tuple(place if isinstance(place, str) else place % count for place in given)
    if len(set(places)) != len(places):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    return places


def one_or_all(argnums: Argnums, results: tuple[Any, ...]) -> Any:
    """Results per selected argument: bare for an int or a name, a tuple for a tuple."""
    return results if isinstance(argnums, tuple) else results[0]


def as_tuple(arguments: Sequence[Any], name: str) -> tuple[Any, ...]:
    """``primals`` or ``tangents`` as a tuple; an array would be taken apart."""
    if not isinstance(arguments, (tuple, list)):
        raise TypeError(f"{name} is a tuple with one entry per argument of the function: write ({name},)")
    return tuple(arguments)


def with_keywords(function: Callable[..., Any], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """``function`` of its positional arguments alone; what is given by keyword stays constant."""
    if not kwargs:
        return function
    return lambda *primals: function(*primals, **kwargs)


def check_complex_linear(along: list[Any], across: list[Any], name: str) -> None:
    """Refuse a derivative that is not complex-linear, from its values at v and at iv.

    Raises
    ------
    TypeError
    """
    for v, iv in zip(map(value, along), map(value, across), strict=True):
        tolerance = 1e3 * np.finfo(v.dtype).eps * (np.max(np.abs(v)) if v.size else 0.0)
        if np.any(np.abs(iv - 1j * v) > tolerance):
            raise TypeError(
                f"the derivative of {name} is not complex-linear at this point (it takes a conjugate, a "
                f"modulus or a part of its argument): it is no complex number or matrix. Use ld.grad of a "
                f"real function, ld.jvp, ld.vjp or ld.hvp, or differentiate with respect to real and "
                f"imaginary parts"
            )
