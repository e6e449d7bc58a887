"""Which arguments a transform differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core.linearization import Linearization
from lindiff.core.names import positional_names
from lindiff.core.variable import value

Argnums = int | str | tuple[int | str, ...] | list[int | str]

# The names of modes, short and long.
MODES = {"fwd": "fwd", "forward": "fwd", "rev": "rev", "reverse": "rev"}


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
        ``argnums`` is no integer, name or sequence of different ones, or there is no such argument.
    """
    if argnums == 0 and len(args) == 1 and not kwargs:
        return function, args
    places = places_of(function, argnums, len(args), kwargs)

    def of_selected(*selected: Any) -> Any:
        full, by_name = list(args), dict(kwargs)
        for place, argument in zip(places, selected, strict=True):
            if isinstance(place, str):
                by_name[place] = argument
            else:
                full[place] = argument
        return function(*full, **by_name)

    return of_selected, tuple(kwargs[place] if isinstance(place, str) else args[place] for place in places)


def linearized(
    function: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
) -> Linearization:
    """A call of a function, linearized by its selected arguments."""
    of_selected, selected = select(function, argnums, args, kwargs)
    return Linearization(of_selected, selected, has_aux)


def places_of(
    function: Callable[..., Any], argnums: Argnums, count: int, kwargs: dict[str, Any]
) -> tuple[int | str, ...]:
    """Where a call with so many positional arguments has those of ``argnums``: positions and keywords."""
    given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for place in given:
        if isinstance(place, bool) or not isinstance(place, (int, str)):
            raise TypeError(
                f"argnums is an int, the name of an argument, or a tuple of these, got {argnums!r}"
            )
    places = tuple(_place(function, place, argnums, count, kwargs) for place in given)
    if len(set(places)) != len(places):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    return places


def _place(
    function: Callable[..., Any], place: int | str, argnums: Argnums, count: int, kwargs: dict[str, Any]
) -> int | str:
    """Where the call has an argument: a position, or the name by which it was given."""
    if isinstance(place, str):
        if place in kwargs:
            return place
        names = positional_names(function)
        if place in names[:count]:
            return names.index(place)
        raise ValueError(
            f"argnums={argnums!r}, but the function was called without an argument {place!r}: pass it"
        )
    if -count <= place < count:
        return place % count
    names = positional_names(function)
    if 0 <= place < len(names) and names[place] in kwargs:
        return names[place]
    raise ValueError(
        f"argnums={argnums!r}, but the function was called with {count} positional "
        f"argument{'s' if count != 1 else ''} (a keyword argument is selected by its name)"
    )


def mode_of(mode: str) -> str:
    """``"fwd"`` or ``"rev"``.

    Raises
    ------
    ValueError
    """
    if mode not in MODES:
        raise ValueError(f'a mode is "fwd" (forward) or "rev" (reverse), got {mode!r}')
    return MODES[mode]


def one_or_all(argnums: Argnums, results: tuple[Any, ...]) -> Any:
    """Results per selected argument: bare for an int or a name, a tuple for a tuple or a list."""
    return results if isinstance(argnums, (tuple, list)) else results[0]


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
