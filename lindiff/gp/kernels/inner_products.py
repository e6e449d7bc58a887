"""Kernels of the inner product of points: linear, polynomial, and those of wide networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindiff.core.differential import Elementwise
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.gp.kernels.base import BOUNDS, STATIC, Bounds, Kernel
from lindiff.kernels.matmul import product
from lindiff.linalg import squared_distances

__all__ = ["ArcCosine", "DotProduct", "Polynomial"]


@dataclass(frozen=True, eq=False, repr=False)
class DotProduct(Kernel):
    """The linear kernel ``σ₀² + x·x'``.

    Parameters
    ----------
    sigma_0 : number
        Standard deviation of the intercept.
    sigma_0_bounds : pair of numbers or "fixed"

    Notes
    -----
    Rasmussen & Williams (2006), table 4.1; scikit-learn's kernel of this name.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import DotProduct
    >>> DotProduct(1.0)(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[6., 3.],
           [3., 2.]])
    """

    sigma_0: Any = 1.0
    sigma_0_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def between(self, F: Any, G: Any) -> Any:
        return product(F, G.T) + self.sigma_0**2

    def variances(self, F: Any) -> Any:
        return np.sum(F * F, axis=1) + self.sigma_0**2


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(DotProduct):
    """``(σ₀² + x·x')ᵖ``.

    Parameters
    ----------
    sigma_0 : number
    sigma_0_bounds : pair of numbers or "fixed"
    degree : int
        p, without derivative.

    Notes
    -----
    Rasmussen & Williams (2006), table 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import Polynomial
    >>> Polynomial(1.0, degree=3)(np.array([1.0]), np.array([2.0]))
    array([[27.]])
    """

    degree: int = field(default=2, metadata=STATIC)

    def between(self, F: Any, G: Any) -> Any:
        return super().between(F, G) ** self.degree

    def variances(self, F: Any) -> Any:
        return super().variances(F) ** self.degree


@dataclass(frozen=True, eq=False, repr=False)
class ArcCosine(Kernel):
    """The kernel of an infinitely wide layer of a network whose units are powers of what is positive.

    Parameters
    ----------
    weight_variance : number or (d,) array
        Of the weights of each column.
    bias_variance : number
    weight_variance_bounds, bias_variance_bounds : pair of numbers or "fixed"
    order : 0, 1 or 2
        Of steps, rectified linear or rectified quadratic units.

    Notes
    -----
    ``|x|ⁿ |x'|ⁿ J_n(θ) / π`` of the angle θ between points with the bias as a further column: Cho & Saul
    (2009), Kernel methods for deep learning, NIPS 22, eqs. 3 to 6.  At angle 0 order 0 has no derivative;
    it counts as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import ArcCosine
    >>> ArcCosine(bias_variance=0.0)(np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([[1.    , 0.3183],
           [0.3183, 1.    ]])
    """

    weight_variance: Any = 1.0
    bias_variance: Any = 1.0
    weight_variance_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    bias_variance_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    order: int = field(default=1, metadata=STATIC)

    def features(self, X: Any) -> Any:
        if self.order not in (0, 1, 2):
            raise ValueError(f"ArcCosine: order is 0, 1 or 2, got {self.order}")
        Y = X * np.sqrt(self.weight_variance)
        length = np.sqrt(np.sum(Y * Y, axis=1) + self.bias_variance)
        inverse = 1 / np.where(np.equal(value(length), 0), 1.0, length)
        return Y * inverse[:, None], inverse, length**self.order

    def between(self, F: Any, G: Any) -> Any:
        (directions, inverses, lengths), (others, of_inverses, of_lengths) = F, G
        # The bias is no further column, which would be its root, without a derivative at 0.
        of_bias = self.bias_variance * (inverses[:, None] - of_inverses) ** 2
        angular = _angular(squared_distances(directions, others) + of_bias, self.order)
        return lengths[:, None] * of_lengths / np.pi * angular

    def variances(self, F: Any) -> Any:
        return F[2] ** 2 * (1.0, 1.0, 3.0)[self.order]


@rule
def _angular(r2: Any, order: int) -> Any:
    """``J_n`` of the angle θ between unit vectors of squared distance r², ``cos θ = 1 - r²/2``.

    ``dJ_n/dcos θ = n² J_(n-1)``, and ``1 / sin θ`` for n = 0.
    """
    J = _angular(r2, order) if isinstance(r2, Variable) else _value(r2, order)
    if order:
        return J, Elementwise(lambda: -0.5 * order**2 * _angular(r2, order - 1), None)
    return J, Elementwise(lambda: _slope(r2), None)


def _half(r2: Any) -> Any:
    """The sine of θ/2."""
    return np.minimum(0.5 * np.sqrt(r2), 1.0)


def _value(r2: Any, order: int) -> Any:
    theta = 2 * np.arcsin(_half(r2))
    c, s, rest = np.cos(theta), np.sin(theta), np.pi - theta
    if order == 0:
        return rest
    return s + rest * c if order == 1 else 3 * s * c + rest * (1 + 2 * c * c)


def _slope(r2: Any) -> Any:
    """``-1 / (2 sin θ)``, and 0 where points have the same or opposite directions."""
    is_flat = np.equal(value(r2), 0) | np.greater_equal(value(r2), 4)
    half = _half(np.where(is_flat, 1.0, r2))
    return np.where(is_flat, 0.0, -0.25 / (half * np.sqrt(1 - half * half)))
