"""Kernels whose points are not alike: with a length scale for each place, or several outputs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.gp.kernels.base import BOUNDS, STATIC, Bounds, Kernel, is_none
from lindiff.kernels.matmul import product
from lindiff.linalg import squared_distances

__all__ = ["Coregionalized", "Gibbs"]


@dataclass(frozen=True, eq=False, repr=False)
class Gibbs(Kernel):
    """``(2 l l' / (l² + l'²))^(d/2) exp(-|x - x'|² / (l² + l'²))``: the length scale l is a function of x.

    Parameters
    ----------
    length_scale : callable
        ``length_scale(params, X)`` gives the positive length scale of each point (n,), in functions of NumPy.
    params : tree
        Its parameters; differentiated, and fitted with the kernel.

    Notes
    -----
    Gibbs (1997), thesis, eq. 3.88; Rasmussen & Williams (2006), eq. 4.32.  For a constant it is `RBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import Gibbs
    >>> kernel = Gibbs(lambda slope, X: np.exp(slope * X[:, 0]), 0.5)
    >>> kernel(np.array([0.0, 1.0, 2.0])).round(4)
    array([[1.    , 0.7196, 0.4997],
           [0.7196, 1.    , 0.853 ],
           [0.4997, 0.853 , 1.    ]])
    """

    length_scale: Any = field(default=None, metadata=STATIC)
    params: Any = ()

    def features(self, X: Any) -> Any:
        lengths = self.length_scale(self.params, X)
        if np.shape(lengths) != X.shape[:1]:
            raise ValueError(
                f"Gibbs: length_scale gives shape {np.shape(lengths)} for {len(X)} points; it needs a number "
                f"for each"
            )
        return X, lengths

    def between(self, F: Any, G: Any) -> Any:
        (X, l), (Z, m) = F, G
        total = (l * l)[:, None] + m * m
        ratio = 2 * l[:, None] * m / total
        return ratio ** (X.shape[1] / 2) * np.exp(-squared_distances(X, Z) / total)

    def variances(self, F: Any) -> Any:
        return 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Coregionalized(Kernel):
    """Several outputs: ``B[i, i'] k(x, x')`` with ``B = W Wᵀ + diag(kappa)``.

    Parameters
    ----------
    kernel : Kernel
        k, of the other columns.
    W : (P, r) array
        What each of P outputs has of r processes.
    kappa : (P,) array
        What each has of its own.
    kappa_bounds : pair of numbers or "fixed"
        Of a search, which goes by logarithms of kappa.
    column : int
        Which column of the points holds the number of the output, 0 to P - 1.

    Notes
    -----
    The intrinsic coregionalization model: Álvarez, Rosasco & Lawrence (2012), Kernels for vector-valued
    functions, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import RBF, Coregionalized
    >>> kernel = Coregionalized(RBF(), np.array([[1.0], [0.5]]), np.array([0.0, 0.75]))
    >>> kernel(np.array([[3.0, 0], [3.0, 1]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    kernel: Kernel
    W: Any = None
    kappa: Any = None
    kappa_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    column: int = field(default=-1, metadata=STATIC)

    def features(self, X: Any) -> Any:
        if np.ndim(self.W) != 2 or np.shape(self.kappa) != np.shape(self.W)[:1]:
            raise ValueError(
                f"Coregionalized: W is (P, r) and kappa (P,) for P outputs, got shapes {np.shape(self.W)} "
                f"and {np.shape(self.kappa)}"
            )
        outputs, column = value(X[:, self.column]), self.column % X.shape[1]
        count = np.shape(self.W)[0]
        if not np.all((outputs >= 0) & (outputs < count) & (outputs == np.floor(outputs))):
            raise ValueError(f"Coregionalized: column {self.column} of points holds numbers 0 to {count - 1}")
        which = (outputs[:, None] == placed(np.arange(count), outputs)).astype(X.dtype)
        others = [k for k in range(X.shape[1]) if k != column]
        return self.kernel.features(X[:, others]), which

    def of_features(self) -> Kernel:
        return dataclasses.replace(self, kernel=self.kernel.of_features())

    def _outputs(self) -> Any:
        return product(self.W, self.W.T) + np.diag(self.kappa)

    def between(self, F: Any, G: Any) -> Any:
        return product(F[1], self._outputs(), G[1].T) * self.kernel.between(F[0], G[0])

    def _own(self, F: Any) -> Any:
        return product(F[1], np.sum(self.W * self.W, axis=1) + self.kappa)

    def variances(self, F: Any) -> Any:
        return self._own(F) * self.kernel.variances(F[0])

    def noise(self, F: Any) -> Any:
        noise = self.kernel.noise(F[0])
        return 0.0 if is_none(noise) else self._own(F) * noise
