"""What the functions of ``numpy.linalg`` refuse."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.variable import value
from lindiff.linalg._matrices import triangle


def check_square(a: Any, name: str) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(
            f"np.linalg.{name}: the last two axes must make a square matrix, got shape {a.shape}"
        )


def check_stacked(a: Any, name: str) -> None:
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"np.linalg.{name}: needs two axes or more, got shape {a.shape}")


def check_finite(x: Any, name: str) -> None:
    """Raise for NaN and infinity in matrices, of which LAPACK may search for values forever; a look at an
    array on a device would wait for it.
    """
    plain = value(x)
    if foreign(plain) is not None:
        return
    finite = np.isfinite(plain)
    if not finite.all():
        index = tuple(int(k) for k in np.argwhere(~finite.all(axis=(-2, -1)))[0])
        batch = f" (batch index {index})" if index else ""
        raise np.linalg.LinAlgError(f"np.linalg.{name}: the matrix holds NaN or infinity{batch}")


def check_triangle_finite(a: Any, lower: bool, name: str) -> None:
    """`check_finite` of what is read."""
    if a.ndim >= 2:
        check_finite(triangle(value(a), lower), name)
