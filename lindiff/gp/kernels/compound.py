"""Several kernels side by side, those of a classifier for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.gp.hyperparameters import Parameterized
from lindiff.gp.kernels.base import Kernel

__all__ = ["CompoundKernel"]


@dataclass(frozen=True, eq=False, repr=False)
class CompoundKernel(Parameterized):
    """Kernels of several processes; the numbers of all are one vector `theta`.

    It is none of one process itself, and called with points it gives the matrices of all kernels.

    Parameters
    ----------
    kernels : sequence of Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import RBF, CompoundKernel, WhiteKernel
    >>> kernel = CompoundKernel([WhiteKernel(3.0), RBF(2.0)])
    >>> kernel.theta.round(2), kernel(np.zeros((4, 1))).shape
    (array([1.1 , 0.69]), (4, 4, 2))
    """

    kernels: Sequence[Kernel]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """Covariances between points, of each kernel: (n, n, k), or (n, m, k)."""
        return np.stack([kernel(X, Z) for kernel in self.kernels], axis=-1)

    def diag(self, X: Any) -> Any:
        """Variances of points, of each kernel: (n, k)."""
        return np.stack([kernel.diag(X) for kernel in self.kernels], axis=-1)

    def __repr__(self) -> str:
        return f"CompoundKernel([{', '.join(map(repr, self.kernels))}])"
