"""Objects of SciPy's whose arrays may be Variables."""

from __future__ import annotations

from typing import Any

__all__ = ["Held"]


class Held:
    """An attribute of a class of SciPy's, or the Variable that stands in its place.

    SciPy's own code sees the plain array, which it keeps in the instance, a slot or a property as its version
    does.

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
