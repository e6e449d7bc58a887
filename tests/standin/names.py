"""What CuPy has, from the table `cupy_names.json`, and what it says of what it has not."""

from __future__ import annotations

import inspect
import json
from functools import cache
from pathlib import Path

__all__ = ["TABLE", "UFUNC_METHODS", "bind", "has", "ufunc"]

TABLE = json.loads((Path(__file__).parent / "cupy_names.json").read_text())

CALL = "(*args, out=None, dtype=None, casting='same_kind')"
UFUNC_METHODS = {
    "accumulate": "(array, axis=0, dtype=None, out=None)",
    "at": "(a, indices, b=None)",
    "outer": "(A, B, *, out=None, dtype=None, casting='same_kind')",
    "reduce": "(array, axis=0, dtype=None, out=None, keepdims=False)",
    "reduceat": "(array, indices, axis=0, dtype=None, out=None)",
}


def has(module, name):
    """Whether CuPy's module has the function."""
    return name in TABLE["functions"].get(module, ()) or name in TABLE["ufuncs"].get(module, ())


def ufunc(name):
    """What CuPy's ufunc of this name can do: one of NumPy's or of SciPy's; None if it has none."""
    tables = TABLE["ufuncs"]
    return tables["cupy"].get(name) or tables["cupyx.scipy.special"].get(name)


def bind(name, args, kwargs, module=None):
    """Raise a TypeError for arguments that a function does not take; without a module, a method of arrays."""
    text = TABLE["methods"][name] if module is None else TABLE["functions"][module].get(name, CALL)
    bind_to(text, name, args, kwargs)


def bind_to(text, name, args, kwargs):
    try:
        _signature(text).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None


@cache
def _signature(text):
    return inspect.signature(eval(f"lambda {text[1:-1]}: None"))
