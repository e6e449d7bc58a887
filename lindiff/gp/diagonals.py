"""What is added to the diagonal of a covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.rules._common import depends_on_variables

__all__ = ["add_to_diagonal"]


def add_to_diagonal(K: Any, x: Any) -> Any:
    """K with a number, or a vector, added to its diagonal in place; it is contiguous, and nobody else's.

    A new array where x alone is differentiated: what it is added to would not see that.
    """
    if depends_on_variables(x) and not depends_on_variables(K):
        return K + add_to_diagonal(np.zeros_like(K), 1) * x
    diagonal = np.reshape(K, (-1,))[:: len(K) + 1]
    diagonal += x
    return K
