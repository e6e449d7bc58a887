"""Namespaces whose code takes a Variable for the array or the number that it stands for.

``isinstance`` asks an object that is not of a class itself for its ``__class__``.  In the code of these
namespaces, and nowhere else, that of a Variable is the class of its value.
"""

from __future__ import annotations

import abc
import contextvars
import functools
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["classes", "entered", "is_patched", "patched"]

# How many contexts of ``patch_numpy`` this thread or task is in.
entered: contextvars.ContextVar[int] = contextvars.ContextVar("lindiff.patched", default=0)

# The namespaces that are patched in some thread or task, by identity.
patched: set[int] = set()


def is_patched(names: dict[str, Any]) -> bool:
    """Whether the code of a namespace runs under ``patch_numpy`` here and now."""
    return id(names) in patched and entered.get() > 0


def _asked_for_another(variable: Any) -> Any:
    """The class for ``isinstance(variable, numbers.Real)`` and ``singledispatch``: who calls them decides."""
    names = sys._getframe(2).f_globals
    chosen = classes.get(id(names)) if id(names) not in _ON_BEHALF else None
    return type(variable) if chosen is None else chosen(variable)


_ON_BEHALF = {id(vars(abc)), id(vars(functools))}


# By the identity of a namespace, what gives the class of a Variable there; called from its code.
classes: dict[int, Callable[[Any], Any]] = dict.fromkeys(_ON_BEHALF, _asked_for_another)
