"""Kernels of what repeats itself: with one period, or with a mixture of frequencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindiff.gp.kernels.base import BOUNDS, STATIC, Bounds, Kernel
from lindiff.gp.kernels.stationary import as_scale, check_scale
from lindiff.gp.scaled_distances import about_center
from lindiff.kernels.matmul import product
from lindiff.linalg import squared_distances

__all__ = ["ExpSineSquared", "SpectralMixture"]


@dataclass(frozen=True, eq=False, repr=False)
class ExpSineSquared(Kernel):
    """The periodic kernel ``exp(-2 Σ_k sin²(π (x_k - x'_k) / p_k) / l²)``.

    Parameters
    ----------
    length_scale : number
    periodicity : number or (d,) array
        p, of all dimensions or of each.
    length_scale_bounds, periodicity_bounds : pair of numbers or "fixed"

    Notes
    -----
    The squared exponential of points on circles, ``(cos 2πx/p, sin 2πx/p)``: MacKay (1998), Introduction to
    Gaussian processes, eq. 47.  For points of one dimension it is scikit-learn's kernel of this name; for
    more, that one takes the sine of the distance, which is no covariance function.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import ExpSineSquared
    >>> ExpSineSquared(periodicity=2.0)(np.array([0.0]), np.array([0.0, 1.0, 2.0])).round(4)
    array([[1.    , 0.1353, 1.    ]])
    """

    length_scale: Any = 1.0
    periodicity: Any = 1.0
    length_scale_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    periodicity_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def features(self, X: Any) -> Any:
        check_scale(X, self.periodicity, "ExpSineSquared")
        return X

    def between(self, F: Any, G: Any) -> Any:
        return np.exp(-0.5 * squared_distances(*map(self._on_circles, about_center(F, G))))

    def _on_circles(self, X: Any) -> Any:
        angles = 2 * np.pi * X / as_scale(self.periodicity)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / self.length_scale

    def variances(self, F: Any) -> Any:
        return 1.0


@dataclass(frozen=True, eq=False, repr=False)
class SpectralMixture(Kernel):
    """``Σ_q w_q cos(2π μ_q·τ) exp(-2π² Σ_k v_qk τ_k²)`` of ``τ = x - x'``: any stationary kernel, nearly.

    Parameters
    ----------
    weights : (Q,) array
        w, the variances of the parts.
    means : (Q, d) array
        μ, frequencies: inverses of periods.
    scales : (Q, d) array
        √v, standard deviations of the frequencies: inverses of 2π times length scales.
    weights_bounds, means_bounds, scales_bounds : pair of numbers or "fixed"

    Notes
    -----
    The spectral density is a mixture of Gaussians: Wilson & Adams (2013), Gaussian process kernels for
    pattern discovery and extrapolation, ICML, eq. 12.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import SpectralMixture
    >>> kernel = SpectralMixture(np.array([2.0]), np.array([[0.5]]), np.array([[0.1]]))
    >>> kernel(np.array([0.0]), np.array([0.0, 2.0])).round(4)
    array([[2.    , 0.9081]])
    """

    weights: Any = 1.0
    means: Any = 1.0
    scales: Any = 1.0
    weights_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    means_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)
    scales_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def features(self, X: Any) -> Any:
        shapes = np.shape(self.weights), np.shape(self.means), np.shape(self.scales)
        if len(shapes[0]) != 1 or any(shape != (*shapes[0], X.shape[1]) for shape in shapes[1:]):
            raise ValueError(
                f"SpectralMixture: weights (Q,), means and scales (Q, d) of d = {X.shape[1]} columns are "
                f"needed, got shapes {', '.join(map(str, shapes))}"
            )
        return X

    def between(self, F: Any, G: Any) -> Any:
        x, z = about_center(F, G)
        return sum(self._part(q, x, z) for q in range(np.shape(self.weights)[0]))

    def _part(self, q: int, x: Any, z: Any) -> Any:
        waves = []
        for points in (x, z):
            angles = 2 * np.pi * product(points, self.means[q])
            waves.append(np.stack([np.cos(angles), np.sin(angles)], axis=1))
        lengths = 2 * np.pi * self.scales[q]
        decay = np.exp(-0.5 * squared_distances(x * lengths, z * lengths))
        return self.weights[q] * product(waves[0], waves[1].T) * decay

    def variances(self, F: Any) -> Any:
        return np.sum(self.weights)
