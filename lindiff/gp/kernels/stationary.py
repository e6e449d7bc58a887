"""Kernels of the distance between points, measured by a length scale or by one for each dimension."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.kernels.base import BOUNDS, STATIC, Bounds, Kernel
from lindiff.gp.kernels.matern import matern
from lindiff.gp.points import check_real
from lindiff.gp.scaled_distances import scaled_squared_distances
from lindiff.linalg import squared_distances

__all__ = [
    *("RBF", "Matern", "RationalQuadratic", "Stationary", "WhiteKernel", "as_scale", "check_scale"),
]


class Stationary(Kernel):
    """A function of the squared distance of ``x / length_scale``, which is 1 at distance 0."""

    length_scale: Any

    def features(self, X: Any) -> Any:
        check_scale(X, self.length_scale, type(self).__name__)
        return X

    def between(self, F: Any, G: Any) -> Any:
        scale = as_scale(self.length_scale)
        if np.size(scale) != 1:
            return self.of_squared(scaled_squared_distances(F, G, scale))
        # Of the scale no difference of large numbers is taken: derivatives by it are exact at all distances.
        unit = np.exp2(np.round(np.log2(np.abs(value(scale)))))
        return self.of_squared(squared_distances(F / unit, G / unit) * (unit / scale) ** 2)

    def of_squared(self, r2: Any) -> Any:
        """The kernel at squared distances."""
        raise NotImplementedError

    def variances(self, F: Any) -> Any:
        return 1.0


def as_scale(scale: Any) -> Any:
    """A scale, or one for each column, which may be a list."""
    return np.stack(scale) if isinstance(scale, (list, tuple)) else scale


def check_scale(X: Any, scale: Any, name: str) -> None:
    """Raise ValueError for scales that do not fit the points, TypeError for what is none."""
    check_real(f"{name}: length_scale", as_scale(scale))
    shape = np.shape(as_scale(scale))
    if len(shape) > 1 or (len(shape) == 1 and shape[0] not in (1, X.shape[1])):
        raise ValueError(
            f"{name}: length_scale of shape {shape} for points of {X.shape[1]} columns: give a number, or "
            f"one for each column"
        )


@dataclass(frozen=True, eq=False, repr=False)
class RBF(Stationary):
    """The squared exponential kernel ``exp(-½ |x - x'|² / l²)``.

    Parameters
    ----------
    length_scale : number or (d,) array
        l, of all dimensions or of each (automatic relevance determination).
    length_scale_bounds : pair of numbers or "fixed"
        Of a search.

    Notes
    -----
    Rasmussen & Williams (2006), eq. 4.9; scikit-learn's kernel of this name.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.gp.kernels import RBF
    >>> RBF(2.0)(np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> ld.grad(lambda kernel: kernel(np.array([[0.0], [2.0]]))[0, 1])(RBF(2.0))
    RBF(length_scale=0.303)
    """

    length_scale: Any = 1.0
    length_scale_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def of_squared(self, r2: Any) -> Any:
        return np.exp(-0.5 * r2)


@dataclass(frozen=True, eq=False, repr=False)
class Matern(Stationary):
    """Matérn's kernel, of functions that are differentiable ``ν - ½`` times.

    Parameters
    ----------
    length_scale : number or (d,) array
    length_scale_bounds : pair of numbers or "fixed"
    nu : float
        ν > 0, without derivative: 0.5 is the exponential kernel, ``np.inf`` is `RBF`.

    Notes
    -----
    Rasmussen & Williams (2006), eq. 4.14; scikit-learn's kernel of this name.  Derivatives at distance 0 are
    those of the kernel where it has them (by points one for ``ν > 1/2``, two for ``ν > 1``), and 0 elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import Matern
    >>> Matern(nu=0.5)(np.array([[0.0], [1.0]])).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    length_scale: Any = 1.0
    length_scale_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    nu: float = field(default=1.5, metadata=STATIC)

    def of_squared(self, r2: Any) -> Any:
        if np.isinf(self.nu):
            return np.exp(-0.5 * r2)
        return matern(2 * self.nu * r2, self.nu)


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Stationary):
    """``(1 + |x - x'|² / (2 α l²))^-α``, a mixture of squared exponentials of all length scales.

    Parameters
    ----------
    length_scale : number or (d,) array
    alpha : number
    length_scale_bounds, alpha_bounds : pair of numbers or "fixed"

    Notes
    -----
    Rasmussen & Williams (2006), eq. 4.19; scikit-learn's kernel of this name.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=0.5)(np.array([0.0]), np.array([0.0, 1.0])).round(4)
    array([[1.    , 0.7071]])
    """

    length_scale: Any = 1.0
    alpha: Any = 1.0
    length_scale_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    alpha_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def of_squared(self, r2: Any) -> Any:
        return np.exp(-self.alpha * np.log1p(r2 / (2 * self.alpha)))


@dataclass(frozen=True, eq=False, repr=False)
class WhiteKernel(Kernel):
    """Noise: variance of each point that it shares with no other.

    Parameters
    ----------
    noise_level : number
        The variance.
    noise_level_bounds : pair of numbers or "fixed"

    Notes
    -----
    It is on the diagonal of ``kernel(X)`` alone: ``kernel(X, X)`` has none, as scikit-learn's.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import WhiteKernel
    >>> WhiteKernel(0.5)(np.zeros((2, 1)))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    noise_level: Any = 1.0
    noise_level_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def features(self, X: Any) -> Any:
        return X[:, :0]

    def between(self, F: Any, G: Any) -> Any:
        return 0.0

    def variances(self, F: Any) -> Any:
        return 0.0

    def noise(self, F: Any) -> Any:
        if not np.all(np.greater_equal(value(self.noise_level), 0)):
            raise ValueError(f"WhiteKernel: noise_level is a variance, got {value(self.noise_level)}")
        return self.noise_level
