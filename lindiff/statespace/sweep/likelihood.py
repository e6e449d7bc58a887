"""Log likelihoods by the compiled sweep."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from lindiff.core.variable import Variable, value
from lindiff.kernels.conditions import has_nan
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace import composed
from lindiff.statespace.diffuse import likelihood_terms
from lindiff.statespace.model import System, in_order, in_rows
from lindiff.statespace.sweep.collapsed import collapsed_in_order, collapsed_loglikelihood
from lindiff.statespace.sweep.derivatives import filter_sums, filter_terms
from lindiff.statespace.sweep.handover import in_parts
from lindiff.statespace.sweep.ordinary import ordinary_loglikelihood
from lindiff.statespace.sweep.parts import Parts, parts_of
from lindiff.statespace.sweep.planning import planned, settled, tolerance_of

__all__ = [
    "from_sums",
    "loglikelihood_from_diffuse",
    "loglikelihood_in_order",
    "loglikelihoods",
    "step_loglikelihoods",
]


# Above so many bytes that the way back may need, it runs the filter again: more than that is slow to write
# and to read, too.
MOST_KEPT = 100e6
FLOAT64 = np.dtype(np.float64)


def loglikelihoods(system: System, name: str, steady_tol: float | None, checkpoint: bool | None) -> Any:
    """The log likelihoods (S,) of arrays or Variables; the options are those of :func:`loglikelihood`."""
    block = _block_of(system, checkpoint)
    parts = parts_of(system.transition, system.state_cov, system.y.shape[1])
    by_sums = partial(_by_sums, name=name, steady_tol=steady_tol, block=block, parts=parts)
    tolerance = tolerance_of(steady_tol, system.y.dtype)
    found = None if block else collapsed_loglikelihood(system, tolerance, by_sums, parts)
    return by_sums(system) if found is None else found


def _by_sums(system: System, name: str, steady_tol: float | None, block: int, parts: Parts) -> Any:
    """Of any system that has a sweep."""
    arrays, plan = planned(system, name, steady_tol, block, whole=not system.is_plain)
    return from_sums(settled(plan._replace(parts=parts), partial(filter_sums, *arrays)), system)


def loglikelihood_in_order(
    arrays: tuple[Any, ...], name: str, steady_tol: float | None, checkpoint: bool | None
) -> Any:
    """The log likelihood, a number, of arrays that `model_in_order` has found to be in order."""
    (p, n), T = arrays[2].shape, len(arrays[0])
    block = _block(checkpoint, T, 8 * _most_kept(T, n, p, 1, p == 1))
    options = name, tolerance_of(steady_tol, FLOAT64), block, parts_of(arrays[1], arrays[3], T)
    return ordinary_loglikelihood(arrays, *options)


def loglikelihood_from_diffuse(
    arrays: tuple[Any, ...], diffuse: Any, name: str, steady_tol: float | None, checkpoint: bool | None
) -> Any:
    """The log likelihood, a number, of one series whose state_cov is constant; None: take a closer look.

    Parameters
    ----------
    arrays : tuple of 7
        y, transition, ..., initial_state_cov, as users give them.
    diffuse : array of bool, or True
    name : str
        The public function that errors speak of.
    steady_tol, checkpoint
        Those of :func:`loglikelihood`.
    """
    y, A, B, Q, R, m, P = arrays
    if type(value(Q)) is not np.ndarray or Q.ndim != 2 or checkpoint or Variable in (type(m), type(P)):
        return None
    n = len(Q)
    mask = np.ones(n, bool) if diffuse is True else diffuse
    if type(mask) is not np.ndarray or mask.dtype != bool or mask.shape != (n,):
        return None
    if m is P is None and mask.all():
        m, P = np.zeros(n), np.zeros((n, n))
    if np.shape(R) == (1,):
        R = R.reshape(1, 1)
    arrays = y, A, B, Q, R, m, P
    if not in_order(arrays, timed=True):
        arrays = tuple(map(in_rows, arrays))
        if not in_order(arrays, timed=True):
            return None
    T, p = len(y), B.shape[-2]
    if _block(checkpoint, T, 8 * _most_kept(T, n, p, 1, p == 1)):
        return None
    parts = parts_of(A, Q, T)
    general = partial(_by_sums, name=name, steady_tol=steady_tol, block=0, parts=parts)
    return collapsed_in_order(arrays, mask, tolerance_of(steady_tol, FLOAT64), general, parts)


def _block_of(system: System, checkpoint: bool | None = None) -> int:
    (S, T, p), n = system.y.shape, system.transition.shape[-1]
    alone = S if system.shares_covariances else 1
    numbers = _most_kept(T, n, p, alone, system.obs_cov.shape[-2] == 1) * (S // max(alone, 1))
    return _block(checkpoint, T, numbers * system.y.dtype.itemsize)


def _block(checkpoint: bool | None, T: int, most: int) -> int:
    """Of how many of T steps all is kept, 0 for all of them, where that is as many bytes at the most."""
    checkpoint = most > MOST_KEPT if checkpoint is None else checkpoint
    return math.isqrt(T) if checkpoint else 0


def _most_kept(T: int, n: int, p: int, S: int, independent: bool) -> int:
    """How many numbers the way back needs, if no covariance comes to rest and S series share them."""
    return T * (n * n + n * p + (p if independent else p * p) + (n + p) * S)


def from_sums(sums: tuple[Any, Any, Any, Any], system: System) -> Any:
    """The log likelihoods (S,) that the sums over steps make; see `Sweeps.sums`."""
    quad, cross, info, logdet = sums
    y = value(system.y)
    if type(y) is np.ndarray and not has_nan(y):
        counts = np.full(len(y), y.shape[1] * y.shape[2])
    else:
        counts = np.sum(~np.isnan(y), axis=(1, 2))
    result = -0.5 * (quad + (logdet + (LOG_TWO_PI * counts).astype(system.y.dtype)))
    if not system.diffuse:
        return result
    explained, info_logdet = likelihood_terms(cross[:, None], info)
    return result + explained[:, 0] - info_logdet


def step_loglikelihoods(system: System, name: str, steady_tol: float | None = None) -> Any:
    """The log densities (S, T) of each step given those before, of arrays or Variables."""

    def composed_fields(system: System) -> tuple[Any, ...]:
        return (composed.loglikelihoods(system, name, per_step=True),)

    def swept_fields(system: System) -> tuple[Any, ...]:
        arrays, plan = planned(system, name, steady_tol, _block_of(system), whole=not system.is_plain)
        counts = np.sum(~np.isnan(value(system.y)), axis=2)
        terms = filter_terms(*arrays, plan=plan._replace(stepwise=True))
        return (terms - (0.5 * LOG_TWO_PI * counts).astype(terms.dtype),)

    def joined(head: tuple[Any, ...], tail: tuple[Any, ...]) -> tuple[Any, ...]:
        return (np.concatenate([head[0], tail[0]], axis=1),)

    return in_parts(system, name, composed_fields, swept_fields, joined)[0]
