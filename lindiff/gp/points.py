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
    X = _as_real("points", X)
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
    return _as_real("observations", y)


def _as_real(what: str, x: Any) -> Any:
    """An array of float32 or float64; integers, objects and numbers of other precisions become float64."""
    x = as_array(unmasked(what, x.to_numpy() if hasattr(x, "to_numpy") else x))
    if isinstance(x, np.matrix):  # whose products are others
        x = np.asarray(x)
    if not isinstance(x.dtype, np.dtype):
        raise TypeError(f"{what} are an array of NumPy's or CuPy's, not of {type(x).__module__}")
    if x.dtype.kind == "c":
        raise TypeError(f"{what} are real numbers, got dtype {x.dtype}; put their parts beside each other")
    if x.dtype.kind not in "fiubO":
        raise TypeError(f"{what} are real numbers, got dtype {x.dtype}")
    if x.dtype.kind == "f" and x.dtype.itemsize in (4, 8):
        return x
    try:
        return x.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} are real numbers: {error}") from None


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
