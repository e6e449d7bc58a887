"""Where a filter starts: the stationary distribution, or states of which nothing is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.variable import value
from lindiff.linalg import potrf, trsm
from lindiff.linalg._matrices import transposed
from lindiff.statespace.recursions import Filtered, Group

__all__ = ["Information", "conditioned", "data_rows", "information", "regular"]


# -- diffuse states ----------------------------------------------------------------------------------------


class Information(NamedTuple):
    """What the data up to each step say of the d diffuse states δ, a priori N(0, κ I) with κ to infinity.

    The filter is linear in its start, so its whitened errors are ``z + δ Z``, Z those of the rows for the
    unit vectors.  Least squares: ``δ̂ = -s C⁻¹`` with covariance ``C⁻¹``, ``C = Z Zᵀ``, ``s = z Zᵀ``.

    first: the step whose data are the first to determine δ; C and s: sums up to each step, None before it.
    shift: a constant estimate of δ from all data.  z and s are those of a start there, on which no result
    depends, and which keeps large numbers from cancelling.
    """

    first: int
    shift: Any  # (..., k, d), plain
    z: list[Any]  # (..., k, m), or None
    s: list[Any]  # (..., k, d)
    C: list[Any]  # (..., d, d)


def data_rows(x: Any, group: Group) -> Any:
    """The rows of the data, without those of the diffuse states."""
    return x[..., : x.shape[-2] - group.diffuse, :] if group.diffuse else x


def information(group: Group, run: Filtered, name: str) -> Information:
    """What the data say of the diffuse states; `name` is the public function that errors speak of."""
    d = group.diffuse
    z = [None if step is None else data_rows(step.z, group) for step in run.observed]
    Z = [None if step is None else step.z[..., -d:, :] for step in run.observed]
    products = [None if x is None else x @ transposed(x) for x in Z]
    C = _running_sums(products)
    first = _first_regular([None if x is None else value(x) for x in C])
    if first is None:
        raise ValueError(
            f"{name}: the data{_of_series(group)} never determine the {d} diffuse states; "
            f"give initial_state and initial_state_cov for those that they say nothing about"
        )
    plain = [(value(x), value(y)) for x, y in zip(z, Z, strict=True) if x is not None]
    total = sum(x @ transposed(y) for x, y in plain)
    shift = -transposed(np.linalg.solve(value(C[-1]), transposed(total)))
    z = [None if x is None else x + shift @ y for x, y in zip(z, Z, strict=True)]
    s = _running_sums([None if x is None else x @ transposed(y) for x, y in zip(z, Z, strict=True)])
    nothing: list[Any] = [None] * first
    return Information(first, shift, z, nothing + s[first:], nothing + C[first:])


def _of_series(group: Group) -> str:
    return f" of series {group.series[0]}" if len(group.series) else ""


def _running_sums(terms: list[Any]) -> list[Any]:
    """Sums of the terms so far; None counts as zero, and stands before the first."""
    sums, total = [], None
    for term in terms:
        total = term if total is None else total if term is None else total + term
        sums.append(total)
    return sums


def _first_regular(matrices: list[Any]) -> int | None:
    """The first step with a regular matrix."""
    return next((t for t, C in enumerate(matrices) if C is not None and regular(C)), None)


def regular(C: Any) -> bool:
    """Whether the information C is regular, in the units of its diagonal."""
    if not np.all(np.isfinite(C)):
        return False
    scale = np.sqrt(np.diagonal(C, axis1=-2, axis2=-1))
    if not np.all(scale > 0):
        return False
    least = np.linalg.eigvalsh(C / (scale[..., :, None] * scale[..., None, :]))[..., 0]
    return bool(np.all(least > 1e3 * C.shape[-1] * np.finfo(C.dtype).eps))


def conditioned(m: Any, P: Any, found: Information, t: int) -> tuple[Any, Any]:
    """Mean rows and covariance of states of any step given the data up to step t.

    ``m + δ̂ M`` and ``P + Mᵀ C⁻¹ M``, M the rows of the diffuse states below those of the data.
    """
    d = found.C[t].shape[-1]
    m, M = m[..., :-d, :], m[..., -d:, :]
    L = potrf(found.C[t])
    G = trsm(L, M)
    q = trsm(L, found.s[t], transpose=True, rightside=True)
    return m + found.shift @ M - q @ G, P + transposed(G) @ G
