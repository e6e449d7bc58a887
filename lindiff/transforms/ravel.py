"""A tree of arrays as one vector, and back: ``ravel``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.variable import differentiable_array
from lindiff.typing import Array

__all__ = ["ravel"]


def ravel(tree: Any) -> tuple[Any, Callable[[Array], Any]]:
    """The arrays of a tree in one vector, and the function that makes the tree of such a vector.

    Parameters
    ----------
    tree : tree of arrays
        Integers become float64.

    Returns
    -------
    vector : array
        The leaves one after the other, each in C order, in the dtype that holds them all.
    unravel : callable
        ``unravel(vector)`` has the structure, shapes and dtypes of ``tree``: of a complex vector, real leaves
        take the real parts.

    Raises
    ------
    ValueError
        From ``unravel``: a vector of another length.

    Notes
    -----
    Both are differentiable.  Cost: a copy.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> vector, unravel = ld.ravel({"a": 1.0, "b": np.array([[2.0], [3.0]])})
    >>> vector
    array([1., 2., 3.])
    >>> unravel(2 * vector)
    {'a': np.float64(2.0), 'b': array([[4.],
           [6.]])}
    """
    leaves, restore = pytree.flatten(tree)
    arrays = [differentiable_array(leaf) for leaf in leaves]
    forms = [(array.shape, array.size, array.dtype) for array in arrays]
    size = sum(size for _, size, _ in forms)

    def unravel(vector: Array) -> Any:
        if np.shape(vector) != (size,):
            raise ValueError(f"unravel takes a vector of shape {(size,)}, got {np.shape(vector)}")
        parts, start = [], 0
        for shape, count, dtype in forms:
            parts.append(_of_dtype(np.reshape(vector[start : start + count], shape), dtype))
            start += count
        return restore(parts)

    if not arrays:
        return np.zeros(0), unravel
    return np.concatenate([np.ravel(array) for array in arrays]), unravel


def _of_dtype(part: Any, dtype: Any) -> Any:
    real = np.real(part) if part.dtype.kind == "c" and dtype.kind != "c" else part
    cast = real if real.dtype == dtype else real.astype(dtype)
    return cast[()] if cast.ndim == 0 else cast
