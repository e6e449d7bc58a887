"""Titsias's bound of the log marginal likelihood, value and gradient fused.

With ``K_uu = L Lᵀ`` of U inducing points, ``A = K_fu L⁻ᵀ`` (n, U), ``B = I + AᵀA/s = M Mᵀ``, ``b = Aᵀy`` and
``w = B⁻¹ b / s`` the bound for noise of variance s is

    log N(y | 0, A Aᵀ + s I) - (tr K_ff - |A|²) / 2s,

Titsias (2009), AISTATS 5, eq. 9; Seeger et al. (2017), section 3.2.  Its derivatives are all of U × U numbers
but for one product of matrices,

    K_fu_bar = (A S L⁻¹ + y wᵀ L⁻¹) / s,   S = I - B⁻¹ - w wᵀ,
    K_uu_bar = -½ L⁻ᵀ (B - 2I + B⁻¹ + w wᵀ) L⁻¹,

by ``B⁻¹ AᵀA = s (I - B⁻¹)``: 4U²n flops for both, of which 2U²n are the value's, and A is all that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.gp.covariances import covariances
from lindiff.gp.moving import Still, apart
from lindiff.gp.tiles import IN_ONE_TILE, Pulled
from lindiff.linalg import potrf, potri, sumlogdiag, syrk, trsm
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["bound"]

LOG_TWO_PI = float(np.log(2 * np.pi))
ROWS = 512  # of K_fu_bar at a time, or as many as are in a tile


def bound(kernel: Any, F: Any, G: Any, K_uu: Any, total: Any, y: Any, s: Any) -> Any:
    """The bound for observations y (n, k) at features F, with inducing points at features G.

    `total` is the sum of the variances of the process at F, s the variance of the noise.
    """
    rest = (K_uu, total, y, s)
    moving, still = apart(((kernel, F, G), rest))
    return _bound(moving, still) if moving else _value(covariances(kernel, F, G), *rest)[0]


def _value(K_fu: Any, K_uu: Any, total: Any, y: Any, s: Any) -> Any:
    """The bound, and L, A, B, M, w."""
    n, k = y.shape
    L = potrf(K_uu)
    A = trsm(L, K_fu, transpose=True, rightside=True, overwrite_a=True)
    square = syrk(A, transpose=True)
    B = square / s + np.eye(len(K_uu), dtype=K_uu.dtype, like=K_uu)
    M = potrf(B)
    c = trsm(M, A.T @ y) / s
    density = 0.5 * (np.sum(c * c) - np.sum(y * y) / s - n * k * (LOG_TWO_PI + np.log(s)))
    value = density - k * sumlogdiag(M) - 0.5 * k * (total - np.trace(square)) / s
    return value, (L, A, B, M, trsm(M, c, transpose=True))


@rule
def _bound(moving: list[Any], still: Still) -> Any:
    tree, rest = still.tree(moving)
    is_outer = depends_on_variables(moving)

    def whole(*moving: Any) -> Any:
        tree, rest = still.tree(moving)
        return _value(covariances(*tree), *rest)[0]

    def push(moving_dot: list[Any]) -> Any:
        return jvp(whole, tuple(moving), tuple(moving_dot))[1]

    def pull_of_whole(value_bar: Any) -> Any:
        return [*vjp(whole, *moving)[1](value_bar)]

    if is_outer:
        return _bound(moving, still), Differential((push,), (pull_of_whole,))
    value, kept = _value(covariances(*tree), *rest)

    def pull(value_bar: Any) -> Any:
        if depends_on_variables(value_bar):
            return pull_of_whole(value_bar)
        found = _Cotangents(kept, rest, value_bar)
        count = len(pytree.flatten(tree)[0])
        pulled = Pulled(tree, still.active[:count])
        if any(still.active[:count]):
            for rows in found.blocks():
                pulled.add_rows(rows, found.K_fu(rows))
        others = (found.K_uu, found.total, found.y, found.s)
        return pulled.total + [bar for bar, a in zip(others, still.active[count:], strict=True) if a]

    return value, Differential((push,), (pull,))


class _Cotangents:
    """Cotangents of the arguments of `_value`; that of K_fu by rows."""

    def __init__(self, kept: Any, rest: Any, value_bar: Any) -> None:
        L, self._A, B, M, w = kept
        _, total, self._y, s = rest
        n, k = self._y.shape
        identity = np.eye(len(L), dtype=L.dtype)
        B_inv, ww = potri(M), w @ w.T
        squares = np.sum(w * w)
        of_density = np.sum(self._y * self._y) / s + k * (total / s - n)
        # wᵀBw = bᵀB⁻¹b/s², and tr AᵀA = s tr (B - I).
        self.s = (
            value_bar
            * 0.5
            / s
            * (of_density - k * (np.trace(B) + np.trace(B_inv) - 2 * len(L)) - np.sum(w * (B @ w)) - squares)
        )
        self.total = -0.5 * k * value_bar / s
        H = k * (B - 2 * identity + B_inv) + ww
        self.K_uu = trsm(L, trsm(L, H, rightside=True, alpha=-0.5 * value_bar), transpose=True)
        S = k * (identity - B_inv) - ww
        self._T = trsm(L, S, rightside=True, alpha=value_bar / s)
        self._v = trsm(L, w, transpose=True, alpha=value_bar / s)
        self.y = value_bar / s * (self._A @ w - self._y)

    def blocks(self) -> Iterator[slice]:
        n, count = self._A.shape
        rows = max(ROWS, IN_ONE_TILE // count)
        return (slice(k, min(k + rows, n)) for k in range(0, n, rows))

    def K_fu(self, rows: slice) -> Any:
        return self._A[rows] @ self._T + self._y[rows] @ self._v.T
