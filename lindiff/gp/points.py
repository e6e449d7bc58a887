"""Points that functions of this package take."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.variable import Variable
from lindiff.gp.moving import flatten
from lindiff.rules._common import as_array

__all__ = ["as_observations", "as_points", "check_real", "own", "unmasked"]


def check_real(name: str, x: Any) -> None:
    """Raise TypeError for what are no real numbers."""
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if dtype.kind not in "fiub":
        raise TypeError(f"{name}: real numbers, not {x!r}")


def as_points(X: Any, like: Any = None) -> Any:
    """Points as a matrix (n, d) of real floats; a vector is that of points of one dimension.

    Raises
    ------
    ValueError
        For other shapes, for another width than that of the points `like`, and for masked numbers.
    TypeError
        For what are no real numbers.
    """
    X = as_array(unmasked("points", X.to_numpy() if hasattr(X, "to_numpy") else X))
    if not isinstance(X.dtype, np.dtype):
        raise TypeError(f"points are an array of NumPy's or CuPy's, not of {type(X).__module__}")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"points are real numbers, got dtype {X.dtype}")
    X = X if X.dtype.kind == "f" and X.dtype.itemsize >= 4 else X.astype(np.float64)
    if X.ndim not in (1, 2):
        raise ValueError(f"points are a matrix with a row for each, got shape {X.shape}")
    X = X[:, None] if X.ndim == 1 else X
    if like is not None:
        width = np.shape(like)[1] if np.ndim(like) == 2 else 1
        if X.shape[1] != width:
            raise ValueError(f"points have {X.shape[1]} columns where the others have {width}")
    return X


def as_observations(y: Any) -> Any:
    """Observations as an array of real floats; raises TypeError for what are no real numbers.

    Masked ones raise a ValueError.
    """
    y = as_array(unmasked("observations", y.to_numpy() if hasattr(y, "to_numpy") else y))
    if y.dtype.kind == "c":
        raise TypeError("observations are real numbers; real and imaginary parts are two processes")
    if y.dtype.kind != "O":  # what are numbers in it NumPy knows
        check_real("observations", y)
    return y if y.dtype.kind == "f" else y.astype(np.float64)


def unmasked(what: str, x: Any) -> Any:
    """The numbers of an array that may have a mask; raises ValueError where it hides any."""
    if not isinstance(x, np.ma.MaskedArray):
        return x
    if np.ma.is_masked(x):
        raise ValueError(f"{what} are masked; leave out the points that were not observed")
    return x.data


def own(x: Any) -> Any:
    """A copy of what the caller may change later: an array, or a tree with arrays, as kernels are."""
    if pytree.is_tree(x):
        leaves, restore = flatten(x)
        return restore([own(leaf) for leaf in leaves])
    return x.copy() if hasattr(x, "dtype") and not isinstance(x, Variable) else x
