"""Rosenbrock's function, which SciPy's examples minimize."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from lindiff._docstrings import documented_like
from lindiff.rules._common import as_array

__all__ = ["rosen"]


@documented_like(scipy.optimize.rosen)
def rosen(x: Any) -> Any:
    """Differentiable in `x`.

    Examples
    --------
    >>> from lindiff.scipy.optimize import minimize, rosen
    >>> print(minimize(rosen, [1.3, 0.7, 0.8], method="BFGS").x.round(3))
    [1. 1. 1.]
    """
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)
