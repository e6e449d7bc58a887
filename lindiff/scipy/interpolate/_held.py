"""Objects of SciPy's whose arrays may be Variables."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Held", "as_held"]


def as_held(x: Any) -> Any:
    """``x`` as SciPy's classes keep it: itself where it is double and lies by rows, else a copy."""
    if x.dtype not in (np.float64, np.complex128):
        return x.astype(np.float64)
    return x if x.flags.c_contiguous else np.copy(x, order="C")


class Held:
    """An attribute of a class of SciPy's, or the Variable that stands in its place.

    The plain array is where SciPy's version keeps it: in the instance, a slot or behind a property.

    Parameters
    ----------
    base : type
        SciPy's class.
    name : str
    """

    def __init__(self, base: type, name: str) -> None:
        self.original = getattr(base, name, None)
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.original
        if instance._variables is not None:
            return instance._variables[self.name]
        return instance.__dict__[self.name] if self.original is None else self.original.__get__(instance)

    def __set__(self, instance: Any, array: Any) -> None:
        if self.original is None:
            instance.__dict__[self.name] = array
        else:
            self.original.__set__(instance, array)
