"""Losses of squared residuals: the cost that is least at a fit, and its Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.transforms.reverse import grad

__all__ = ["cost_of", "scaled_for_loss"]

# ρ(z) of the squares of residuals: SciPy's.
LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def cost_of(r: Any, loss: Any, scale: float) -> Any:
    """``½ C² Σ ρ(r² / C²)``, which least_squares minimizes."""
    z = (r / scale) ** 2
    return 0.5 * scale**2 * np.sum(loss(z)[0] if callable(loss) else LOSSES[loss](z))


def scaled_for_loss(J: Any, r: Any, loss: Any, scale: float) -> Any:
    """``√(ρ' + 2 z ρ'') J``, z = r² / C²: its square is the Gauss-Newton Hessian of the cost, as SciPy's."""
    if loss == "linear":
        return J
    z = (r / scale) ** 2
    slope, curvature = loss(z)[1:] if callable(loss) else _slope_and_curvature(LOSSES[loss], z)
    return np.sqrt(np.maximum(slope + 2 * z * curvature, np.finfo(np.float64).eps))[:, None] * J


def _slope_and_curvature(rho: Callable[[Any], Any], z: Any) -> tuple[Any, Any]:
    slope = grad(lambda z: np.sum(rho(z)))
    return slope(z), grad(lambda z: np.sum(slope(z)))(z)
