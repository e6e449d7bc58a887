"""Diffuse states: what the data say of them, and where they are determined.

The filter is linear in its start.  For d diffuse states δ, a priori N(0, κ I) with κ to infinity, it runs
beside the data on zero data from their unit vectors: v and V are the innovations, m and M the predicted
states, S and P the covariances (de Jong 1991, "The diffuse Kalman filter").  The sums over steps

    s = Σ vᵀ S⁻¹ V,     C = Σ Vᵀ S⁻¹ V

make least squares: given the data δ has the mean ``-C⁻¹ sᵀ`` and the covariance ``C⁻¹``, and a state

    m - M C⁻¹ sᵀ,     P + M C⁻¹ Mᵀ.

From there the filter goes on as from a proper start: it collapses (de Jong & Chu-Chun-Lin 1994, "Fast
likelihood evaluation and prediction for nonstationary state space models").  The same likelihood and states
result wherever it does.

`composed.augmented` and `sweep` both condition so, each in its own arithmetic.  The one takes Cholesky
factors, in functions that have derivatives of any order.  The other runs backward as well, and in complex
numbers, in which a Cholesky factor is not analytic.  What they decide by is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.linalg import potrf, sumlogdiag, trsm
from lindiff.linalg._matrices import transposed

__all__ = [
    "determined",
    "estimate",
    "likelihood_terms",
    "never_determined",
    "numbers_of_steps",
    "well_determined",
]


def estimate(s: Any, C: Any) -> Any:
    """``-s C⁻¹``: where the data put the diffuse states, (..., k, d) from s of this shape and C (..., d, d).

    For plain arrays, complex ones too.
    """
    return -transposed(np.linalg.solve(C, transposed(s)))


def likelihood_terms(s: Any, C: Any) -> tuple[Any, Any]:
    """``½ s C⁻¹ sᵀ`` of each row of s (..., k, d), and ``½ log |C|``.

    The log likelihood has the one more and the other less than that of the filter from δ = 0 (de Jong 1991,
    eq. 4.3).
    """
    L = potrf(C)
    q = trsm(L, s, transpose=True, rightside=True)
    return 0.5 * np.sum(q * q, axis=-1), sumlogdiag(L)


def determined(C: Any, variances: Any, least: float = 0.0) -> Any:
    """Whether C (..., d, d) determines every diffuse state, of each matrix of a batch, on its device.

    Parameters
    ----------
    variances : (..., d) array
        What the filter starts the diffuse states with.
    least : float
        The smallest eigenvalue of C in the units of its diagonal must be larger; and than rounding.

    Notes
    -----
    ``1 - variance * information`` is what the data leave of a state's variance at the start: one that they
    say nothing about may seem to be observed by rounding, as by ``sin(π)``.
    """
    d, information = C.shape[-1], np.diagonal(C, axis1=-2, axis2=-1)
    rounding = 1e3 * float(np.finfo(C.dtype).eps)
    seen = np.all(information * variances > rounding**2, axis=-1) & np.all(np.isfinite(C), axis=(-2, -1))
    if d == 1:
        return seen
    scale = np.sqrt(np.where(seen[..., None], information, 1))
    scaled = np.where(seen[..., None, None], C / (scale[..., :, None] * scale[..., None, :]), 0)
    return seen & (np.linalg.eigvalsh(scaled)[..., 0] > max(d * rounding, least))


def well_determined(dtype: Any) -> float:
    """The `least` of :func:`determined` from which the filter may collapse: with less a quarter of the digits
    would be lost.
    """
    return float(np.finfo(dtype).eps) ** 0.25


def numbers_of_steps(d: int, T: int) -> Iterator[int]:
    """How many of T steps to look at for d diffuse states, until they are determined: T is the last."""
    steps = 2 * d + 8
    while steps < T:
        yield steps
        steps *= 2
    yield T


def never_determined(name: str, series: Any, d: int) -> ValueError:
    """The error of the function `name`, where the data of these series do not determine d diffuse states."""
    which = f" of series {series[0]}" if len(series) else ""
    return ValueError(
        f"{name}: the data{which} never determine the {d} diffuse states; give initial_state "
        f"and initial_state_cov for those that they say nothing about"
    )
