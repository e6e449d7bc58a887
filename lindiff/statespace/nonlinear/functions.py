"""Functions that a builder makes anew in each call, and that are the same all the same."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, on_host
from lindiff.core.variable import Variable
from lindiff.statespace.nonlinear.model import NonlinearModel

__all__ = ["are_alike", "with_functions_of"]


def with_functions_of(first: NonlinearModel, model: NonlinearModel) -> NonlinearModel:
    """The model with the functions of the first one, where its own are the same: their programs are known."""
    functions = {name: getattr(first, name) for name in model.constant_fields()}
    return model._replace(**{name: f for name, f in functions.items() if are_alike(f, getattr(model, name))})


def are_alike(x: Any, z: Any) -> bool:
    """Whether two objects are one, or made of the same parts: arrays, numbers, functions with what they read.

    Variables, whose numbers may change, are like no other object.
    """
    return _are_alike(x, z, set())


def _are_alike(x: Any, z: Any, compared: set[tuple[int, int]]) -> bool:
    """`compared` are those whose parts are looked at already: functions may read themselves."""
    if x is z or (id(x), id(z)) in compared:
        return True
    if type(x) is Variable or type(x) is not type(z):
        return False
    if foreign(x) is not None:
        return np.array_equal(on_host(x), on_host(z))
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype == z.dtype and bool(np.array_equal(x, z))
    if isinstance(x, str | bytes | bool | int | float):
        return x == z
    parts, others = _parts(x), _parts(z)
    if parts is None or others is None or len(parts) != len(others):
        return False
    compared.add((id(x), id(z)))
    return all(_are_alike(*pair, compared) for pair in zip(parts, others, strict=True))


def _parts(x: Any) -> tuple[Any, ...] | None:
    """What a container or a function of Python's is made of; None for other objects."""
    if isinstance(x, tuple | list):
        return tuple(x)
    if isinstance(x, dict):
        return tuple(part for item in x.items() for part in item)
    if isinstance(x, functools.partial):
        return x.func, x.args, x.keywords
    if isinstance(x, types.MethodType):
        return x.__func__, x.__self__
    if not isinstance(x, types.FunctionType) or x.__dict__:
        return None
    try:
        cells = tuple(cell.cell_contents for cell in x.__closure__ or ())
    except ValueError:  # one is empty still
        return None
    return x.__code__, id(x.__globals__), x.__defaults__, x.__kwdefaults__, cells
