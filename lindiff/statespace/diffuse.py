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

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.variable import value
from lindiff.kernels import kalman
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, sumlogdiag, trsm
from lindiff.linalg._matrices import transposed

__all__ = [
    "determined",
    "estimate",
    "is_of_one_series",
    "likelihood_terms",
    "never_determined",
    "numbers_of_steps",
    "partial_likelihood_terms",
    "start_variances",
    "well_determined",
]

FLOAT64 = np.dtype(np.float64)

# What is no more than this of what it stands beside is rounding.
ROUNDING = 1e3 * float(np.finfo(np.float64).eps)
# What a loading by the way of other states must be of the one by a shorter way to stand for it, and after how
# many moves more than all states are found within.
BEYOND, DETOUR = 64, 3


def start_variances(A: Any, B: Any, Q: Any, R: Any, mask: Any) -> Any:
    """Variances (S, n) that the filter starts the states of the mask with, so that few digits are lost.

    Nothing that is computed depends on them.  With large ones the digits of a smaller noise cancel, as the
    data take them away again; with small ones those of several states that one element observes, where it has
    no noise of its own.  So a state brings into the data, where they first see it, what a step with little
    noise has: ``min s / L²``, with its loadings L on the elements, or by the way of other states, over
    the longest steps, where that brings far more, too, and the lower quartile s over steps of an element's
    variance.  They change with the units of states, data and time as variances do.

    Parameters
    ----------
    A, B, Q, R : arrays
        transition, design, state_cov and obs_cov of a `System`, plain.
    mask : (n,) array of bool
    """
    n, reads = A.shape[-1], foreign(A) is None
    if Q.shape[1] == R.shape[1] == 1 and all(map(is_of_one_series, (A, B, Q, R))):
        return kalman.start_variances(A, B, Q, R, mask)[None]
    if 0 in (B.shape[2], *(x.shape[1] for x in (A, B, Q, R))):
        return np.ones((1, n))
    A, B, Q, R = (np.abs(x.astype(np.float64)) for x in (A, B, Q, R))
    moving = np.diagonal(Q, axis1=-2, axis2=-1)
    noise = R[..., 0, :] if R.shape[-2] != R.shape[-1] else np.diagonal(R, axis1=-2, axis2=-1)
    L = direct = found = np.sqrt(np.mean(B * B, axis=1)) if B.shape[1] != 1 else B[:, 0]
    step, moves = _longest_step(A), 0
    for moves in range(n):
        if moves == n - 1 or (reads and found.any(axis=1)[:, mask].all()):
            break
        L = L @ step
        found = np.where(found > 0, found, L)
    found = _outshone(found, direct, step, min(n - 1, moves + DETOUR))
    size = _lower_quartile(noise + moving @ transposed(found * found))[:, :, None]
    seen = (size > 0) & (found > 0)
    least = np.min(np.where(seen, size, np.inf) / np.where(seen, found * found, 1), axis=1)
    total = np.sum(size, axis=(1, 2))[:, None]
    others = np.where(total > 0, total, 1)  # of states that no element sees
    return np.where(np.isfinite(least), least, others)


def is_of_one_series(x: Any) -> bool:
    """Whether this is an array (1, ...) as compiled functions take it, with a step and more."""
    return (
        type(x) is np.ndarray
        and x.dtype == FLOAT64
        and x.flags.c_contiguous
        and x.shape[0] == 1 <= x.shape[1]
    )


def _longest_step(A: Any) -> Any:
    """The largest entries over steps of A (S, T, n, n); none for the rounding of an angle, of sin(π)."""
    step = np.max(A, axis=1)
    roots = np.sqrt(step)
    turns, stays = roots * transposed(roots), np.diagonal(roots, axis1=-2, axis2=-1)
    rounding = turns <= ROUNDING * stays[:, :, None] * stays[:, None, :]
    return np.where(rounding & (turns > 0), 0, step)


def _outshone(found: Any, L: Any, step: Any, moves: int) -> Any:
    """Loadings (S, p, n), or far larger ones of the best way by that many moves or fewer.

    L has those without a move.  Sums over all ways would grow with the moves.
    """
    step = np.where(placed(np.eye(step.shape[-1], dtype=bool), step), 0, step)
    for _ in range(moves):
        ways = (L[..., k, None] * step[:, None, k] for k in range(step.shape[-1]))
        L = functools.reduce(np.maximum, ways)
        found = np.where((found > 0) & (BEYOND * found < L), L, found)
    return found


def _lower_quartile(x: Any) -> Any:
    """Of the positive numbers in the second axis of x (S, T, p); 0 where there is none."""
    T = x.shape[1]
    if T == 1:
        return x[:, 0]
    zeros = np.sum(x <= 0, axis=1, keepdims=True)
    place = np.minimum(zeros + (T - zeros) // 4, T - 1)
    return np.take_along_axis(np.sort(x, axis=1), place, axis=1)[:, 0]


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


def partial_likelihood_terms(s: Any, C: Any, variances: Any) -> tuple[Any, Any]:
    """The same of what few data determine: ``½ s C⁺ sᵀ`` of each row of s, and half of the logarithm of the
    product of those eigenvalues of C that are not zero.

    With r states J that determine the others of what is seen, ``X = C[:, J] C[J, J]⁻¹``: that is
    ``½ s[J] C[J, J]⁻¹ s[J]ᵀ`` and ``½ log |C[J, J]| + ½ log |Xᵀ X|``.  `variances` (..., d) are those that
    the filter starts with.
    """
    *lead, k, d = s.shape
    s, C = np.reshape(s, (-1, k, d)), np.reshape(C, (-1, d, d))
    plain, variances = on_host(value(C)), np.broadcast_to(on_host(variances), (len(C), d))
    kinds: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(C)):
        kinds.setdefault(_that_determine(plain[i], variances[i]), []).append(i)
    found = [_terms_of(s[of_kind], C[of_kind], np.array(J, np.intp)) for J, of_kind in kinds.items()]
    order = np.argsort([i for of_kind in kinds.values() for i in of_kind])
    explained, logdet = (np.concatenate(terms)[order] for terms in zip(*found, strict=True))
    return np.reshape(explained, (*lead, k)), np.reshape(logdet, tuple(lead))


def _terms_of(s: Any, C: Any, J: Any) -> tuple[Any, Any]:
    if not len(J):
        return 0 * np.sum(s, axis=-1), 0 * np.sum(C, axis=(-2, -1))
    explained, logdet = likelihood_terms(s[..., J], C[..., J[:, None], J])
    L = potrf(C[..., J[:, None], J])
    X = trsm(L, trsm(L, C[..., J], rightside=True, transpose=True), rightside=True)
    return explained, logdet + sumlogdiag(potrf(product(transposed(X), X)))


def _that_determine(C: Any, variances: Any) -> tuple[int, ...]:
    """Diffuse states that determine the others as far as C (d, d) does: the largest pivots in their units."""
    d = len(C)
    information = np.diagonal(C)
    seen = np.isfinite(information) & (information * variances > ROUNDING**2)
    scale = 1 / np.sqrt(np.where(seen, information, 1))
    rest = np.where(seen[:, None] & seen, C * scale[:, None] * scale, 0)
    found: list[int] = []
    for _ in range(d):
        j = int(np.argmax(np.diagonal(rest)))
        if not rest[j, j] > d * ROUNDING:
            break
        found.append(j)
        rest = rest - rest[:, j : j + 1] * (rest[j] / rest[j, j])
        rest[:, found] = rest[found] = 0
    return tuple(sorted(found))


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
