"""What functions of ``lindiff.scipy.linalg`` do with their arguments before they compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import value

__all__ = ["as_checked", "axes_of", "require_square"]


def axes_of(b: Any) -> int:
    """Of one right-hand side or one matrix of them: SciPy takes only an array with one axis as a vector."""
    return min(np.ndim(b), 2)


def as_checked(x: Any, check_finite: bool) -> Any:
    """An array or Variable as it is, anything else as an array; NaN and infinity refused as in SciPy."""
    plain = value(x)
    plain = np.asarray_chkfinite(plain) if check_finite else np.asarray(plain)
    if plain.dtype.kind == "O":
        raise ValueError("object arrays are not supported")
    return x if hasattr(x, "shape") else plain


def require_square(a: Any, function: str, name: str = "a") -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{function}: {name} must be square in its last two axes, got shape {a.shape}")
