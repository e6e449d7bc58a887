"""Which kernels arrays have: NumPy's those of ``lindiff.kernels``, CuPy's those of ``lindiff_cuda``.

Arrays of other libraries may bring their own in an attribute ``__lindiff_kernels__``.
The choice is made here and nowhere else.  CuPy is never imported by us: who has an array of it has done so.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

import lindiff.kernels

__all__ = ["are_cupys", "device_checks", "device_elementwise", "device_in_use", "device_kernels", "kernels"]


def kernels(*arrays: Any, real: bool = False) -> Any:
    """The module with kernels for these arrays (None among them is ignored); None if there is none.

    NumPy's arrays have ``lindiff.kernels``, CuPy's have ``lindiff_cuda``, which refuses NumPy's among them.
    With ``real``, complex arrays have none.
    """
    cupy = sys.modules.get("cupy")
    found: Any = lindiff.kernels
    for array in arrays:
        if real and np.iscomplexobj(array):
            return None
        if array is None or type(array) is np.ndarray:
            continue
        if cupy is not None and isinstance(array, cupy.ndarray):
            found = device_kernels()
        elif hasattr(array, "__array_function__"):
            if not hasattr(type(array), "__lindiff_kernels__"):
                return None
            found = array.__lindiff_kernels__
    return found


def are_cupys(*arrays: Any) -> bool:
    """Whether all of these are plain arrays of CuPy's."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and all(type(array) is cupy.ndarray for array in arrays)


def device_kernels() -> Any:
    """``lindiff_cuda``, which the first array of CuPy's brings in."""
    import lindiff_cuda

    return lindiff_cuda


def device_elementwise() -> ModuleType:
    """The part of ``lindiff_cuda`` that differentials call, which are no operators."""
    from lindiff_cuda import elementwise

    return elementwise


def device_in_use() -> bool:
    """Whether there may be arrays on a device: some kernel for them has been asked for."""
    return "lindiff_cuda" in sys.modules


def device_checks() -> ModuleType | None:
    """``lindiff_cuda.checks``; None as long as no thread has imported it to the end."""
    return sys.modules.get("lindiff_cuda.checks")
