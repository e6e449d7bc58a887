"""What a function makes of a Gaussian: mean and covariance by a Jacobian, or by sigma points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.linalg import potrf, trsm
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.statespace.semidefinite import semidefinite_factor
from lindiff.transforms.jacobian import value_and_jacobian

__all__ = ["Approximation", "Jacobians", "Line", "Moments", "SigmaPoints"]

Function = Callable[[Any], Any]


class Moments(NamedTuple):
    """Of g(x) for x ~ N(m, P)."""

    mean: Any  # (k,)
    cross: Any  # Cov(x, g(x)), (n, k)
    cov: Any  # (k, k)


class Line(NamedTuple):
    """``g(x) = slope x + offset + error``, with an error that does not depend on x, of these moments."""

    slope: Any  # (k, n)
    offset: Any  # (k,)
    error_cov: Any  # (k, k)


class Jacobians(NamedTuple):
    """The function's tangent at the mean: Särkkä (2013), Bayesian Filtering and Smoothing, section 5.1."""

    @property
    def for_singular(self) -> None:
        """Nothing is factorized."""
        return None

    def moments(self, g: Function, m: Any, P: Any) -> Moments:
        """Mean and covariances of g(x)."""
        mean, J = value_and_jacobian(g, mode="forward")(m)
        cross = P @ transposed(J)
        return Moments(mean, cross, hermitian_part(J @ cross))

    def line(self, g: Function, m: Any, P: Any) -> Line:
        """The tangent."""
        mean, J = value_and_jacobian(g, mode="forward")(m)
        return Line(J, mean - J @ m, placed(np.zeros((len(mean), len(mean)), P.dtype), P))


class SigmaPoints(NamedTuple):
    """The scaled unscented transform: van der Merwe (2004), Sigma-point Kalman filters for probabilistic
    inference in dynamic state-space models, section 3.2.2.

    With ``P = L Lᵀ`` and ``c = alpha² (n + kappa)`` the 2n + 1 points are m and ``m ± √c L_i``, with the
    weight ``1 / 2c`` but for that of m.  Written in the even and odd parts of g around m,
    ``s_i = (g₊ + g₋) / 2 - g(m)`` and ``d_i = (g₊ - g₋) / 2``, their weighted moments are ::

        mean   = g(m) + s̄,   s̄ = Σ s_i / c
        cross  = Σ L_i d_iᵀ / √c
        cov    = Σ d_i d_iᵀ / c + Σ s_i s_iᵀ / c + (beta - alpha²) s̄ s̄ᵀ

    without the large weights of both signs that nearly cancel where alpha is small.  The first sum is what a
    line through the points explains, the others are its error, positive semidefinite for ``beta >= alpha²``.
    """

    alpha: float
    beta: float
    kappa: float
    semidefinite: bool = False

    @property
    def for_singular(self) -> SigmaPoints | None:
        """For covariances that may be singular, which takes longer."""
        return None if self.semidefinite else self._replace(semidefinite=True)

    def moments(self, g: Function, m: Any, P: Any) -> Moments:
        """Mean and covariances of g(x)."""
        L = self._factor(P)
        mean, odd, error_cov = self._parts(g, m, L)
        return Moments(mean, L @ odd, transposed(odd) @ odd + error_cov)

    def line(self, g: Function, m: Any, P: Any) -> Line:
        """The line of statistical linear regression: Särkkä (2013), section 9.3."""
        L = self._factor(P)
        mean, odd, error_cov = self._parts(g, m, L)
        # a column of zeros, of a state that is known, has no slope: one on the diagonal leaves it so
        known = np.diagonal(value(L)) == 0
        slope = transposed(trsm(L + np.diag(known.astype(P.dtype)), odd, transpose=True))
        return Line(slope, mean - slope @ m, error_cov)

    def _factor(self, P: Any) -> Any:
        return semidefinite_factor(P, "", "the covariance of the state") if self.semidefinite else potrf(P)

    def _parts(self, g: Function, m: Any, L: Any) -> tuple[Any, Any, Any]:
        """Mean, odd parts as rows, divided by √c, and what a line does not explain."""
        n = len(m)
        c = self.alpha**2 * (n + self.kappa)
        centre, steps = g(m), math.sqrt(c) * transposed(L)
        above, below = (np.stack([g(m + sign * steps[i]) for i in range(n)]) for sign in (1.0, -1.0))
        odd, even = (above - below) / (2 * math.sqrt(c)), 0.5 * (above + below) - centre
        shift, error = np.sum(even, axis=0) / c, even / math.sqrt(c)
        error_cov = transposed(error) @ error + (self.beta - self.alpha**2) * (shift[:, None] @ shift[None])
        return centre + shift, odd, error_cov


Approximation = Jacobians | SigmaPoints
