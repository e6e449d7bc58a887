"""Objects of SciPy's whose arrays may be Variables."""

from __future__ import annotations

from typing import Any

__all__ = ["Held"]


class Held:
    """An attribute of a class of SciPy's, or the Variable that stands in its place.

    Beside Variables an instance keeps its plain twin of SciPy's, whose code would see them.  The plain array
    is where SciPy's version keeps it: in the instance, a slot or behind a property.

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
