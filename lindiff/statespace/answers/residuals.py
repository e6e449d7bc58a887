"""What each observation has that the ones before did not say, on one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["standardized"]


def standardized(errors: Any, covs: Any) -> Any:
    """``L⁻¹ e`` for each step, with ``L Lᵀ`` the covariance of what is observed: independent, variance 1.

    Parameters
    ----------
    errors : (T, p) array
        NaN where nothing is observed.
    covs : (T, p, p) array

    Returns
    -------
    (T, p) array
        NaN where `errors` or `covs` are.

    Notes
    -----
    Durbin & Koopman (2012), section 7.5.  Elements of a step come in their order: each is what those before
    it do not say.  p³/3 flops a step.
    """
    known = np.isfinite(errors) & np.isfinite(np.diagonal(covs, axis1=-2, axis2=-1))
    if errors.shape[1] == 1:
        variances = np.where(known, covs[:, :, 0], 1.0)
        return np.where(known, errors / np.sqrt(variances), np.nan)
    result = np.full(errors.shape, np.nan)
    for t, chosen in enumerate(known):
        if chosen.any():
            L = np.linalg.cholesky(covs[t][np.ix_(chosen, chosen)])
            result[t, chosen] = solve_triangular(L, errors[t, chosen], lower=True)
    return result
