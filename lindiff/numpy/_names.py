"""How each of NumPy's names is taken over."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from lindiff.numpy._function import Function

__all__ = ["names_of_numpy", "public_names", "take_over", "taken_over"]

# Functions that NumPy does not dispatch and that make arrays, or views.
_MAKERS: list[Callable[..., Any]] = [
    np.arange,
    np.array,
    np.asanyarray,
    np.asarray,
    np.asarray_chkfinite,
    np.ascontiguousarray,
    np.asfortranarray,
    np.bartlett,
    np.blackman,
    np.empty,
    np.eye,
    np.from_dlpack,
    np.frombuffer,
    np.fromfile,
    np.fromfunction,
    np.fromiter,
    np.fromregex,
    np.fromstring,
    np.full,
    np.genfromtxt,
    np.hamming,
    np.hanning,
    np.identity,
    np.indices,
    np.kaiser,
    np.lib.stride_tricks.as_strided,
    np.loadtxt,
    np.ones,
    np.require,
    np.tri,
    np.zeros,
]

# What lists are to a function, where they are not arrays themselves.
_LISTS: dict[Callable[..., Any], str] = dict.fromkeys(
    [
        np.choose,
        np.column_stack,
        np.concatenate,
        np.dstack,
        np.histogram2d,
        np.histogramdd,
        np.hstack,
        np.lexsort,
        np.linalg.multi_dot,
        np.piecewise,
        np.select,
        np.stack,
        np.vstack,
    ],
    "sequences",
)
_LISTS |= dict.fromkeys(
    [
        np.array,
        np.asanyarray,
        np.asarray,
        np.asarray_chkfinite,
        np.ascontiguousarray,
        np.asfortranarray,
        np.block,
        np.require,
    ],
    "nested",
)


def public_names(module: ModuleType) -> list[str]:
    """What ``dir`` shows of a module, without the private."""
    return [name for name in dir(module) if not name.startswith("_")]


@functools.cache
def _kinds() -> tuple[type, ...]:
    return np.ufunc, type(np.sum)


def taken_over(original: Any, wanted: Callable[[], bool] | None = None) -> Any:
    """NumPy's ``original`` as it is in ``lindiff.numpy``: functions of arrays wrapped, the rest as it is."""
    if isinstance(original, _kinds()) or any(original is maker for maker in _MAKERS):
        return _function(original, wanted)
    return original


@functools.cache
def _function(original: Any, wanted: Callable[[], bool] | None) -> Function:
    """One for all names that NumPy has for a function."""
    return Function(original, _LISTS.get(original, "arrays"), wanted)


def names_of_numpy(
    names: dict[str, Any], take: Callable[..., Any] | None = None
) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """``__all__``, ``__dir__`` and ``__getattr__`` of a module that has the names of one of NumPy's.

    Parameters
    ----------
    names : dict
        The ``globals()`` of ``lindiff.numpy.fft``, for instance, which has the names of ``numpy.fft``.
    take : callable, optional
        Makes of ``(module, name, names)`` what is found under a name; `take_over` if not given.
    """
    module = importlib.import_module(names["__name__"].removeprefix("lindiff."))
    public = public_names(module)
    return public, lambda: public, lambda name: (take or take_over)(module, name, names)


def take_over(
    module: ModuleType, name: str, names: dict[str, Any], wanted: Callable[[], bool] | None = None
) -> Any:
    """What ``module`` has under ``name``, taken over and kept in ``names``."""
    names[name] = found = taken_over(getattr(module, name), wanted)
    return found
