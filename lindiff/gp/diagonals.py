"""What is added to the diagonal of a covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["add_to_diagonal"]


def add_to_diagonal(K: Any, x: Any) -> Any:
    """K with a number, or a vector, added to its diagonal in place; it is contiguous, and nobody else's."""
    diagonal = np.reshape(K, (-1,))[:: len(K) + 1]
    diagonal += x
    return K
