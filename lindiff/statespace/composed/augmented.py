"""The augmented filter in functions that dispatch: what the data of a group say of its diffuse states.

The filter has run on rows for the data and for the unit vectors of the d diffuse states.  With its whitened
errors z and Z of these rows the sums of `lindiff.statespace.diffuse` are ``s = Σ z Zᵀ`` and ``C = Σ Z Zᵀ``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, trsm
from lindiff.linalg._matrices import transposed
from lindiff.statespace.composed.grouping import Group, zeros_for
from lindiff.statespace.composed.recursions import Filtered
from lindiff.statespace.diffuse import determined, estimate, never_determined

__all__ = ["Information", "conditioned", "determined_after", "information", "information_from", "starts"]


class Information(NamedTuple):
    """What the data say of the d diffuse states.

    z and s are those of a filter that starts the states at the shift.  It is a constant near their estimate,
    so that large numbers do not cancel; no result depends on it.  Lists of sums have T + 1 entries: the entry
    t is the sum over the first t steps.
    """

    shift: Any  # (..., k, d), plain
    z: list[Any]  # whitened errors of a step (..., k, m), None where nothing is observed
    s: list[Any]  # sums (..., k, d)
    C: list[Any]  # sums (..., d, d)
    steps: int  # the number of steps that determine the states


def information(group: Group, run: Filtered, name: str) -> Information | None:
    """The information in all data, None without diffuse states.

    Raises
    ------
    ValueError
        If they are never determined; `name` is the function that it speaks of.
    """
    if not group.diffuse:
        return None
    steps = determined_after(group, run)
    if steps is None:
        raise never_determined(name, group.series, group.diffuse)
    return information_from(group, run, steps)


def information_from(group: Group, run: Filtered, steps: int, shift: Any = None) -> Information:
    """The information on states that so many steps determine; `shift`: by default where all data put them."""
    m, d = group.initial_state, group.diffuse
    *lead, rows, _ = m.shape
    z = [None if step is None else step.z[..., :-d, :] for step in run.observed]
    Z = [None if step is None else step.z[..., -d:, :] for step in run.observed]
    C = _sums_of_products(Z, Z, zeros_for(group, (*lead, d, d)))
    if shift is None:
        pairs = [(value(x), value(y)) for x, y in zip(z, Z, strict=True) if x is not None]
        shift = estimate(sum(product(x, transposed(y)) for x, y in pairs), value(C[-1]))
    z = [None if x is None else x + product(shift, y) for x, y in zip(z, Z, strict=True)]
    return Information(shift, z, _sums_of_products(z, Z, zeros_for(group, (*lead, rows - d, d))), C, steps)


def _sums_of_products(x: list[Any], y: list[Any], zero: Any) -> list[Any]:
    """The sums of ``x[i] y[i]ᵀ`` over the first t steps, for every t from 0 on; nothing where x is None."""
    sums = [zero]
    for each, other in zip(x, y, strict=True):
        sums.append(sums[-1] if each is None else sums[-1] + product(each, transposed(other)))
    return sums


def determined_after(group: Group, run: Filtered, least: float = 0.0) -> int | None:
    """The smallest number of steps whose data determine all diffuse states, None if there is none.

    In all series of the group; `least` is that of `determined`.
    """
    d, C, count = group.diffuse, 0, 0
    variances = starts(group)
    for t, step in enumerate(run.observed):
        if step is not None:
            Z = value(step.z)[..., -d:, :]
            C, count = C + product(Z, transposed(Z)), count + Z.shape[-1]
            if count >= d and determined(C, variances, least).all():
                return t + 1
    return None


def starts(group: Group) -> Any:
    """The variances (..., d) that the filter starts the diffuse states with."""
    units, P = value(group.initial_state)[..., -group.diffuse :, :], value(group.initial_state_cov)
    return np.sum(np.diagonal(P, axis1=-2, axis2=-1)[..., None, :] * units, axis=-1)


def conditioned(m: Any, P: Any, found: Information, t: int) -> tuple[Any, Any]:
    """Mean rows (..., k, n) and covariance (..., n, n) of a state, given what the first t steps say of δ.

    m (..., k + d, n) and P are what the filter or the smoother has for it: see `lindiff.statespace.diffuse`.
    """
    d = found.C[t].shape[-1]
    m, M = m[..., :-d, :], m[..., -d:, :]
    L = potrf(found.C[t])
    G = trsm(L, M)
    q = trsm(L, found.s[t], transpose=True, rightside=True)
    return m + product(found.shift, M) - product(q, G), P + product(transposed(G), G)
