"""What builders are given: numbers and arrays of one real dtype, Variables among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import is_untraced, value
from lindiff.numpy import asarray

__all__ = ["check_integer", "check_shape", "reals"]


def reals(function: str, /, **arguments: Any) -> tuple[Any, ...]:
    """The arguments as arrays of their common dtype, float64 if that is none of floating point.

    Python's numbers and lists, of Variables too, take the dtype of the arrays, and their place on a GPU.

    Raises
    ------
    TypeError
        If one is complex, or no array of numbers; names it.
    """
    arrays = {name: x if hasattr(x, "__array_function__") else _array(x) for name, x in arguments.items()}
    for name, x in arrays.items():
        if x.dtype.kind not in "fiub":
            raise TypeError(f"{function}: {name} has dtype {x.dtype}, real numbers are needed")
    given = [x.dtype for x in arguments.values() if hasattr(x, "dtype")]
    dtype = np.result_type(*given) if given else np.dtype(np.float64)
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    return tuple(
        placed(x if x.dtype == dtype else x.astype(dtype), *arguments.values()) for x in arrays.values()
    )


def _array(x: Any) -> Any:
    """Numbers and lists as an array; a Variable, if they have Variables among them."""
    result = asarray(x)
    return np.asarray(value(result)) if is_untraced(result) else result


def check_shape(function: str, name: str, x: Any, *shapes: str) -> None:
    """Refuse an array that has not as many axes as one of the shapes has letters: ``"kpp"`` is (k, p, p).

    Raises
    ------
    ValueError
    """
    if x.ndim not in map(len, shapes):
        wanted = " or ".join(f"of shape ({', '.join(shape)})" if shape else "a number" for shape in shapes)
        raise ValueError(f"{function}: {name} must be {wanted}, got shape {x.shape}")


def check_integer(function: str, name: str, x: Any, least: int) -> None:
    """Refuse what is no integer, or below `least`.

    Raises
    ------
    TypeError, ValueError
    """
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)):
        raise TypeError(f"{function}: {name} is an integer, got {x!r}")
    if x < least:
        raise ValueError(f"{function}: {name} must be at least {least}, got {x}")
