"""Gaussian log densities and their gradient, from one factorization of the covariance.

    log N(r | 0, A) = -½ (|z|² + n log 2π) - Σ log l_ii,    A = L Lᵀ,  z = L⁻¹ r.

The gradient is ½ Σ p̄ᵢ (αᵢ αᵢᵀ - A⁻¹), α = A⁻¹ r. Vectors are rows: of R, of Z (z) and of α.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda import rowmajor
from lindiff_cuda.arrays import Batch, misfit
from lindiff_cuda.checks import settle, settle_pivots
from lindiff_cuda.cholesky import factored, invert, not_definite
from lindiff_cuda.structure import mirror
from lindiff_cuda.triangles import diagonal
from lindiff_cuda.triangular import solve

__all__ = ["log_density", "log_density_pullback"]

LOG_TWO_PI = float(np.log(2 * np.pi))


def log_density(
    A: Any, R: Any, noise: Any = None, overwrite_a: bool = False, overwrite_r: bool = False
) -> tuple[Any, Any, Any]:
    """n³/3 + mn² flops, no memory but the results and cuSOLVER's workspace.

    Within `unchecked` nothing is raised.
    """
    batch = Batch("log_density", real=True)
    A, R = batch.square(A, "A"), batch.enter(R, "R")
    n = A.shape[-1]
    if R.shape[-1] != n:
        raise misfit("log_density", "A", A, "R", R)
    if noise is not None and batch.enter(noise, "noise", 1).shape[-1] != n:
        raise misfit("log_density", "A", A, "noise", noise)
    batch.keep(noise)
    L = batch.own(A, overwrite_a)
    batch.keep(L)
    Z = batch.own(R, overwrite_r)
    X, Y = batch.stack(L), batch.stack(Z)
    if noise is not None:
        diagonal(X)[...] += batch.read(noise, 1)
    info, pivots = factored(X, True)
    given = None if L is A or noise is not None else A
    settle(info, batch.shape, not_definite(batch, given, pivots, of=" of the covariance"))
    solve(X, Y, True, True, True)
    half_log_det = cupy.log(diagonal(X)).sum(axis=1, dtype=np.float64)
    squares = (Y.astype(np.float64) ** 2).sum(axis=2)
    p = -0.5 * squares - (half_log_det + 0.5 * n * LOG_TWO_PI)[:, None]
    return batch.result(p.astype(batch.dtype)), L, Z


def log_density_pullback(
    L: Any, Z: Any, p_bar: Any, overwrite_l: bool = False, overwrite_z: bool = False
) -> tuple[Any, Any]:
    """2n³ + 3mn² flops, a temporary n × n and an m × n matrix. Rasmussen & Williams (2006), eq. 5.9."""
    batch = Batch("log_density_pullback", real=True)
    L, Z, p_bar = batch.square(L, "L"), batch.enter(Z, "Z"), batch.enter(p_bar, "p_bar", 1)
    if Z.shape[-1] != L.shape[-1]:
        raise misfit("log_density_pullback", "L", L, "Z", Z)
    if p_bar.shape[-1] != Z.shape[-2]:
        raise misfit("log_density_pullback", "Z", Z, "p_bar", p_bar)
    batch.keep(p_bar)
    A_bar = batch.own(L, overwrite_l)
    batch.keep(A_bar)
    R_bar = batch.own(Z, overwrite_z)
    X, Y, weights = batch.stack(A_bar), batch.stack(R_bar), batch.read(p_bar, 1)
    settle_pivots(X, batch, lambda *_: "log_density_pullback: singular factor")
    solve(X, Y, False, True, True)
    alpha = Y.copy()
    Y *= -weights[:, :, None]
    invert(X, X, True)
    X *= -0.5 * weights.sum(axis=1)[:, None, None]
    rowmajor.gemm(alpha, Y, X, True, False, -0.5, 1.0)
    mirror(X)
    return A_bar, R_bar
