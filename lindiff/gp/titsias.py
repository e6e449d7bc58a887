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

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.gp.covariances import covariances
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.moving import Still, apart
from lindiff.gp.tiles import IN_ONE_TILE, Pulled, Tiles
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, potri, sumlogdiag, syrk, trmm, trsm
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["bound"]

LOG_TWO_PI = float(np.log(2 * np.pi))
ROWS = 512  # of K_fu_bar at a time, or as many as are in a tile


def bound(kernel: Any, F: Any, G: Any, rest: tuple[Any, Any, Any, Any]) -> Any:
    """The bound for observations y (n, k) at features F, with inducing points at features G.

    `rest` are the sum of the variances of the process at F, y, the variance s of the noise, and what is added
    to the diagonal of K_uu.
    """
    kernel = kernel.of_features()
    moving, still = apart(((kernel, F, G), rest))
    if moving:
        return _bound(moving, still)
    return _Factored(covariances(kernel, F, G), covariances(kernel, G), *rest).value


class _Factored:
    """The bound as a function of ``K_fu``, and of ``K_uu``, both of which it overwrites."""

    def __init__(self, K_fu: Any, K_uu: Any, total: Any, y: Any, s: Any, added: Any) -> None:
        n, k = y.shape
        self.L = potrf(add_to_diagonal(K_uu, added), overwrite_a=True)
        self.A = trsm(self.L, K_fu, transpose=True, rightside=True, overwrite_a=True)
        square = syrk(self.A, transpose=True)
        trace = np.trace(square)
        self.M = potrf(add_to_diagonal(square / s, 1), overwrite_a=True)
        c = trsm(self.M, product(self.A.T, y)) / s
        self.w = trsm(self.M, c, transpose=True)
        density = 0.5 * (np.sum(c * c) - np.sum(y * y) / s - n * k * (LOG_TWO_PI + np.log(s)))
        self.value = density - k * sumlogdiag(self.M) - 0.5 * k * (total - trace) / s


@rule
def _bound(moving: list[Any], still: Still) -> Any:
    def whole(*moving: Any) -> Any:
        (kernel, F, G), rest = still.tree(moving)
        return _Factored(covariances(kernel, F, G), covariances(kernel, G), *rest).value

    def push(moving_dot: list[Any]) -> Any:
        return jvp(whole, tuple(moving), tuple(moving_dot))[1]

    def pull_of_whole(value_bar: Any) -> Any:
        return [*vjp(whole, *moving)[1](value_bar)]

    (kernel, F, G), rest = still.tree(moving)
    total, y, s, _ = rest
    if depends_on_variables(moving):
        return _bound(moving, still), Differential((push,), (pull_of_whole,))
    if type(y) is not np.ndarray:
        return whole(*moving), Differential((push,), (pull_of_whole,))
    of_both, of_inducing = Tiles((kernel, F, G)), Tiles((kernel, G, None))
    found = _Factored(of_both.matrix(), of_inducing.matrix(), *rest)

    def pull(value_bar: Any) -> Any:
        if depends_on_variables(value_bar):
            return pull_of_whole(value_bar)
        cotangents = _Cotangents(found, total, y, s, value_bar)
        of_kernel, of_f, of_g = map(len, (of_both.given, of_both.rows, of_both.columns))
        active = still.active[: of_kernel + of_f + of_g]
        # The inducing points and the kernel are in both matrices.
        both = Pulled(of_both, active)
        inducing = Pulled(of_inducing, (*active[:of_kernel], *active[of_kernel + of_f :]))
        added_bar = None
        if any(active) or still.active[-1]:
            K_uu_bar = cotangents.K_uu()
            added_bar = np.trace(K_uu_bar)
        if any(active):
            inducing.add_all(K_uu_bar)
            for rows in cotangents.blocks():
                both.add_rows(rows, cotangents.K_fu(rows))
        bars, of_points = both.total, sum(active[of_kernel : of_kernel + of_f])
        own = sum(active[:of_kernel])
        for k, bar in enumerate(inducing.total):
            bars[k if k < own else k + of_points] += bar
        others = (cotangents.total, cotangents.y, cotangents.s, added_bar)
        return bars + [bar for bar, a in zip(others, still.active[len(active) :], strict=True) if a]

    return found.value, Differential((push,), (pull,))


class _Cotangents:
    """Of the arguments of the bound, in as few arrays as possible; that of K_fu by rows."""

    def __init__(self, found: _Factored, total: Any, y: Any, s: Any, value_bar: Any) -> None:
        self._found, self._y, self._s, w = found, y, s, found.w
        n, k = y.shape
        self._scale = value_bar / s
        S = potri(found.M)
        trace = np.trace(S)
        # wᵀBw = bᵀB⁻¹b/s² = |Mᵀw|², and tr AᵀA = s tr (B - I).
        of_density = np.sum(y * y) / s + k * (total / s - n)
        traces = k * (np.sum(found.M**2) + trace - 2 * len(w))
        squares = np.sum(trmm(found.M, w, transpose=True) ** 2) + np.sum(w * w)
        self.s = 0.5 * self._scale * (of_density - traces - squares)
        self.total = -0.5 * k * self._scale
        self.y = self._scale * (product(found.A, w) - y)
        np.negative(S, out=S)
        S *= k
        S -= product(w, w.T)
        self._T = trsm(found.L, add_to_diagonal(S, k), rightside=True, overwrite_a=True)  # S L⁻¹
        self._v = trsm(found.L, w, transpose=True)

    def K_uu(self) -> Any:
        """``-½ L⁻ᵀ (k (B - I) - S) L⁻¹``."""
        H = add_to_diagonal(syrk(self._found.M), -1)
        L, outputs = self._found.L, float(self._y.shape[1])
        H = trsm(L, H, rightside=True, alpha=outputs, overwrite_a=True)
        H -= self._T
        alpha = -0.5 * float(self._scale * self._s)
        return trsm(L, H, transpose=True, alpha=alpha, overwrite_a=True)

    def blocks(self) -> Iterator[slice]:
        n, count = self._found.A.shape
        rows = max(ROWS, IN_ONE_TILE // max(count, 1))
        return (slice(k, min(k + rows, n)) for k in range(0, n, rows))

    def K_fu(self, rows: slice) -> Any:
        """``(A S L⁻¹ + y wᵀ L⁻¹) / s``."""
        K_bar = product(self._found.A[rows], self._T)
        K_bar += product(self._y[rows], self._v.T)
        K_bar *= self._scale
        return K_bar
