"""Variables inside objects of other libraries: quantities with units, labelled arrays, tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core.variable import Variable

__all__ = ["variables_in"]


def variables_in(x: Any) -> Iterator[tuple[Variable, str]]:
    """The Variables inside an object that computes with them, each with what to write behind it to get them.

    Of pint's quantities, xarray's arrays and data sets, pandas' tables of objects.
    """
    kind = type(x)
    if kind is Variable:
        yield x, ""
    elif hasattr(kind, "__lindiff_kernels__"):
        return  # an array
    elif kind is np.ndarray:
        if x.dtype == object:
            yield from ((part, ".tolist()") for part in x.flat if type(part) is Variable)
    elif hasattr(kind, "dimensionality"):
        yield from _behind(".magnitude", getattr(x, "magnitude", None))
    elif hasattr(kind, "data_vars"):
        for name in x.data_vars:
            yield from _behind(f"[{name!r}].data", x[name].data)
    elif hasattr(kind, "to_numpy") and hasattr(kind, "__pandas_priority__"):
        yield from _behind(".to_numpy()", x.to_numpy())
    elif hasattr(kind, "__array_ufunc__") and hasattr(x, "data"):
        yield from _behind(".data", x.data)


def _behind(way: str, inner: Any) -> Iterator[tuple[Variable, str]]:
    return ((variable, way + further) for variable, further in variables_in(inner))
