"""The ufuncs of ``scipy.special``, where functions for any array library look for them.

SciPy's own, under ``SCIPY_ARRAY_API=1``, ask an array's namespace for ``special``, a proposed extension of
the Array API standard, and turn the array into NumPy's where it is missing.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.special

from lindiff.numpy._function import Function

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    original = inspect.unwrap(getattr(scipy.special, name))
    if not isinstance(original, np.ufunc):
        raise AttributeError(f"scipy.special.{name} is no ufunc")
    globals()[name] = found = Function(original, module=__name__)
    return found
