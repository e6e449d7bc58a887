"""The function that SciPy's examples minimize, for Variables, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.rules._common import as_array

__all__ = ["rosen"]


def rosen(x: Any) -> Any:
    """The Rosenbrock function, like ``scipy.optimize.rosen``: Σ 100 (x_{i+1} - x_i²)² + (1 - x_i)².

    Parameters
    ----------
    x : array_like
        Over its first axis.

    Returns
    -------
    number or array

    Examples
    --------
    >>> from lindiff.scipy.optimize import minimize, rosen
    >>> print(minimize(rosen, [1.3, 0.7, 0.8], method="BFGS").x.round(3))
    [1. 1. 1.]
    """
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)
