"""The functions of CuPy's modules: NumPy's and SciPy's of the same names, on the stand-in's arrays."""

from __future__ import annotations

import importlib

import numpy as np

from standin import names
from standin.array import asarray, call, ndarray

__all__ = ["MODULES", "find"]

MODULES = tuple(names.TABLE["functions"])
OF_NUMPY = (
    *("bool_", "complex64", "complex128", "dtype", "float32", "float64", "int32", "int64"),
    *("e", "inf", "nan", "newaxis", "pi"),
)


def find(module, name):
    """What CuPy's module has under a name."""
    if module == "cupy" and name in OF_NUMPY:
        return getattr(np, name)
    own = OWN.get((module, name))
    if own is not None:
        return own
    if not names.has(module, name):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    origin = (
        module.replace("cupyx.", "", 1) if module.startswith("cupyx.") else module.replace("cupy", "numpy")
    )
    original = getattr(importlib.import_module(origin), name)
    return Ufunc(original) if isinstance(original, np.ufunc) else _function(module, name, original)


def _function(module, name, original):
    def function(*args, **kwargs):
        return call(module, name, original, args, kwargs)

    function.__name__ = name
    return function


class Ufunc:
    """A ufunc of CuPy."""

    def __init__(self, ufunc):
        self.ufunc = ufunc

    def __call__(self, *args, **kwargs):
        return self.run("__call__", *args, **kwargs)

    def __getattr__(self, name):
        if name in names.UFUNC_METHODS:
            return lambda *args, **kwargs: self.run(name, *args, **kwargs)
        return getattr(self.ufunc, name)

    def run(self, method, *args, out=None, **kwargs):
        if out is not None:
            kwargs["out"] = out if isinstance(out, tuple) else (out,)
        result = ndarray(()).__array_ufunc__(self.ufunc, method, *args, **kwargs)
        if result is NotImplemented:
            raise TypeError(f"Unsupported type {[type(x) for x in args]}")
        return result


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    """Any array as NumPy's."""
    return a.get(stream, order, out) if isinstance(a, ndarray) else np.asarray(a, order=order)


def get_array_module(*args):
    """CuPy, if one of the arrays is its."""
    return importlib.import_module("cupy") if any(isinstance(x, ndarray) for x in args) else np


def scatter_add(a, slices, value):
    """CuPy's ``np.add.at``."""
    a.scatter_add(slices, value)


OWN = {
    ("cupy", "array"): asarray,
    ("cupy", "asarray"): asarray,
    ("cupy", "asnumpy"): asnumpy,
    ("cupy", "get_array_module"): get_array_module,
    ("cupy", "ndarray"): ndarray,
    ("cupy", "ufunc"): Ufunc,
    ("cupyx", "scatter_add"): scatter_add,
}
