"""The names of what the steps of programs call: by these a file has them, and no others are looked up."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from lindiff.programs.recorded import VIEWS, itself, method
from lindiff.programs.recording import same_function

__all__ = ["function_named", "name_of_function"]

_BUILTIN = {f.__name__: f for f in (bool, int, float, complex, hash, repr, str, round, bytes, format)}
_METHODS = {name for name in dir(np.ndarray) if not name.startswith("_")} - {
    *("tofile", "dump", "dumps", "setflags", "resize", "data", "ctypes", "flat", "getfield", "setfield"),
}
_COPIES = ("copy", "__copy__")
_OF_UFUNCS = ("reduce", "accumulate", "reduceat", "outer", "at")
_OPERATORS = {name: f for name, f in vars(operator).items() if type(f) is type(len) and name != "call"}
# What NumPy does to files.
_WRITING = {"save", "savez", "savez_compressed", "savetxt"}


def name_of_function(function: Callable[..., Any]) -> str | None:
    """The name of what a step calls; None where it has none.

    Examples
    --------
    >>> name_of_function(np.linalg.cholesky), name_of_function(np.add.reduce)
    ('numpy.linalg.cholesky', 'ufunc numpy.add.reduce')
    """
    name = str(getattr(function, "__name__", ""))
    of = getattr(function, "__self__", None)
    if isinstance(function, np.ufunc):
        candidates = [f"ufunc {place.__name__}.{name}" for place in (np, scipy.special)]
    elif isinstance(of, np.ufunc):
        candidates = [f"ufunc {place.__name__}.{of.__name__}.{name}" for place in (np, scipy.special)]
    else:
        view = next((text for text, view in VIEWS.items() if view is function), "")
        of_module = f"{getattr(function, '__module__', None)}.{name}"
        candidates = [f"builtin {name}", f"operator {name}", f"method {name}", f"view {view}", of_module]
        candidates.append("itself")
    return next((text for text in candidates if same_function(function, _found(text))), None)


def function_named(name: str) -> Callable[..., Any]:
    """The function of this name.

    Raises
    ------
    ValueError
        If steps call nothing of this name.
    """
    found = _found(name)
    if found is None:
        raise ValueError(f"{name!r}, which steps of programs do not call")
    return found


def _found(name: str) -> Any:
    """What has this name, of what steps may call; None of anything else."""
    if name == "itself":
        return itself
    kind, _, rest = name.partition(" ")
    if kind == "builtin":
        return _BUILTIN.get(rest)
    if kind == "operator":
        return _OPERATORS.get(rest)
    if kind == "method":
        return method(rest) if rest in _METHODS or rest in _COPIES else None
    if kind == "view":
        return VIEWS.get(rest)
    if kind == "ufunc":
        return _ufunc_named(rest)
    return _of_module(*name.rpartition(".")[::2])


def _ufunc_named(name: str) -> Any:
    place = next((of for of in (scipy.special, np) if name.startswith(f"{of.__name__}.")), None)
    if place is None:
        return None
    first, _, second = name[len(place.__name__) + 1 :].partition(".")
    ufunc = vars(place).get(first)
    if not isinstance(ufunc, np.ufunc):
        return None
    return getattr(ufunc, second) if second in _OF_UFUNCS else ufunc if not second else None


def _of_module(module: str, name: str) -> Any:
    """A function of NumPy's that asks arrays of other libraries; a kernel, a rule of the chain."""
    top = module.partition(".")[0]
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if top == "numpy" and hasattr(found, "_implementation") and name not in _WRITING:
        return found
    is_ours = module.startswith("lindiff.kernels.") or module == "lindiff.core.chain"
    return found if is_ours and getattr(found, "__module__", None) == module else None
