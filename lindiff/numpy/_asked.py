"""``isinstance(x, np.ndarray)`` in code that has ``lindiff.numpy`` for ``np``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from lindiff.core.namespaces import classes
from lindiff.core.variable import inside, is_recorded

__all__ = ["ask_in", "class_of_value"]


def class_of_value(variable: Any) -> Any:
    """The class of what a Variable stands for: an array, or one of NumPy's numbers."""
    plain = inside(variable)
    if variable._scalar:
        return plain.dtype.type
    return np.ndarray if is_recorded(plain) or isinstance(plain, np.generic) else type(plain)


# What lindiff.numpy is called in namespaces whose code has asked it for ndarray, by their identity.
_called: dict[int, str] = {}


def ask_in(names: dict[str, Any], module: ModuleType) -> None:
    """Let code of a namespace, which has ``module`` under some name, take Variables with axes for arrays."""
    if id(names) in _called and names.get(_called[id(names)]) is module:
        return
    called = next((name for name, x in [*names.items()] if x is module), None)
    if called is not None:
        _called[id(names)] = called
        classes.setdefault(id(names), lambda variable: _class_of(variable, module))


def _class_of(variable: Any, module: ModuleType) -> Any:
    names = sys._getframe(2).f_globals
    if variable._scalar or names.get(_called[id(names)]) is not module:  # or of another one that is gone
        return type(variable)
    return class_of_value(variable)
