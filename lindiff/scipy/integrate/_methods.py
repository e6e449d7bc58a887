"""The coefficients of explicit Runge-Kutta methods, from SciPy's classes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.integrate

from lindiff.scipy.integrate._runge_kutta import Method

__all__ = ["method_of"]


@functools.cache
def method_of(solver: Any) -> Method:
    """The coefficients of ``RK23``, ``RK45`` or ``DOP853``."""
    s = solver.n_stages
    A = np.zeros((s + 1, s + 1))
    A[:s, : solver.A.shape[1]], A[s, :s] = solver.A, solver.B
    C = np.append(solver.C, 1.0)
    if solver is not scipy.integrate.DOP853:
        order = solver.error_estimator_order
        return Method(A, C, s, solver.E[None], order, solver.P, False)
    further = len(solver.C_EXTRA)
    A = np.pad(A, ((0, further), (0, further)))
    A[s + 1 :, : solver.A_EXTRA.shape[1]] = solver.A_EXTRA
    C = np.append(C, solver.C_EXTRA)
    # Hairer et al., II.6: polynomials for Δy, h f₀ - Δy, 2 Δy - h (f₀ + f₁) and four combinations of stages.
    W = np.zeros((len(C), 7))
    W[:s, 0], W[:s, 1], W[:s, 2] = solver.B, -solver.B, 2 * solver.B
    W[0, 1] += 1
    W[0, 2] -= 1
    W[s, 2] -= 1
    W[:, 3:] = solver.D.T
    E = np.stack([solver.E5, solver.E3])
    return Method(A, C, s, E, solver.error_estimator_order, W, True)
