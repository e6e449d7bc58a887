"""The log likelihood of a state-space model."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import zeros_beside
from lindiff.core.variable import Variable, value
from lindiff.linalg import potrf, sumlogdiag, trsm
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace.collapsed import FAILURES, collapsed
from lindiff.statespace.compiled import compiled, compiled_steps
from lindiff.statespace.initialization import Information, information
from lindiff.statespace.model import System, canonical
from lindiff.statespace.recursions import Filtered, Group, data_rows, filtered, groups, in_order
from lindiff.statespace.square_root import check_method, square_roots
from lindiff.statespace.sweeps import sweeps_for

__all__ = ["composed", "group_loglikelihood", "loglikelihood", "resting_tolerance"]


def composed(system: System, per_step: bool, name: str, method: str | None = None) -> Any:
    """The log likelihoods (S,) or (S, T) in functions that dispatch."""
    found = groups(system)
    parts = []
    for group in found:
        run = filtered(group, name, square_roots(group, method, name))
        parts.append(group_loglikelihood(group, run, information(group, run, name), per_step))
    return in_order(parts, [group.series for group in found])


def group_loglikelihood(
    group: Group, run: Filtered, known: Information | None, per_step: bool = False
) -> Any:
    """(k,), or (k, T) step by step."""
    shape = (len(group.series),)
    terms: list[Any] = []
    for t, step in enumerate(run.observed):
        if step is None:
            terms.append(None)
            continue
        z = data_rows(step.z, group) if known is None else known.z[t]
        constant = 0.5 * z.shape[-1] * LOG_TWO_PI
        terms.append(-0.5 * np.sum(z * z, axis=-1) - sumlogdiag(step.L)[..., None] - constant)
    if known is not None:
        terms = _with_diffuse(terms, known, per_step)
    if not per_step:
        observed = [term for term in terms if term is not None]
        zero = _zeros(shape, group)
        return np.reshape(sum(observed[1:], observed[0]), shape) if observed else zero
    if not terms:
        return _zeros((*shape, 0), group)
    zero = _zeros(shape, group)
    return np.stack([zero if term is None else np.reshape(term, shape) for term in terms], axis=-1)


def _zeros(shape: tuple[int, ...], group: Group) -> Any:
    like = group.initial_state_cov
    return zeros_beside(like, shape, like.dtype)


def _with_diffuse(terms: list[Any], known: Information, per_step: bool) -> list[Any]:
    """Terms whose sums up to each step, from the first that determines them on, have the diffuse states
    integrated out: ``- ½ log |C| + ½ s C⁻¹ sᵀ`` more (de Jong 1991, eq. 4.3).  Steps before have none.
    """
    first, last = known.first, len(terms) - 1
    start = [term for term in terms[: first + 1] if term is not None]
    result = [None] * first + [sum(start[1:], start[0])] + terms[first + 1 :]
    if not per_step:
        result.append(_determined(known, last))
        return result
    before: Any = 0
    for t in range(first, last + 1):
        if t == first or terms[t] is not None:
            now = _determined(known, t)
            result[t] = result[t] + (now - before)
            before = now
    return result


def _determined(known: Information, t: int) -> Any:
    L = potrf(known.C[t])
    q = trsm(L, known.s[t], transpose=True, rightside=True)
    return 0.5 * np.sum(q * q, axis=-1) - sumlogdiag(L)[..., None]


def loglikelihood(
    y: Any,
    transition: Any,
    design: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    state_intercept: Any = None,
    obs_intercept: Any = None,
    diffuse: Any = None,
    *,
    per_step: bool = False,
    method: str | None = None,
    steady_tol: float | None = None,
    checkpoint: bool = False,
) -> Any:
    """Log likelihood of a linear Gaussian state-space model.

    ::

        x[t+1] = transition x[t] + state_intercept + h[t],   h[t] ~ N(0, state_cov)
        y[t]   = design x[t] + obs_intercept + v[t],         v[t] ~ N(0, obs_cov)
        x[0] ~ N(initial_state, initial_state_cov)

    Parameters
    ----------
    y : (T, p), (S, T, p) or, for p = 1, (T,) array
        Observations, of one series or of many; NaN is missing, element by element.
    transition, ..., diffuse
        As :class:`Model` describes them: ``loglikelihood(y, *model)``.
    per_step : bool
        The log densities of each step given those before, instead of their sum.
    method : {None, "composed", "square_root"}
        None: a compiled sweep each way and for Hessian products; a loop over time for higher derivatives.
        "composed": that loop for everything, in public operators, a hundred times slower.
        "square_root": that loop with LQ factorizations of factors of the covariances, whose condition number
        is the square root of theirs: for models so ill-conditioned that covariances become indefinite.
        Derivatives are no more precise than those of the other forms.
    steady_tol : float, optional
        When no entry of the predicted covariance is going to change by more than this, relative to its own
        scale, it is taken as constant until a value is missing; the same holds for the sweep backward.  0:
        never.  By default 50 units in the last place (float32: 4), which gradients hardly show.
    checkpoint : bool
        Keep what the gradient needs of about √T steps at a time, and run the filter again in blocks on the
        way back: for series so long that memory does not hold n² + np + p² numbers a step.

    Returns
    -------
    number, or (S,) array; with `per_step` (T,) or (S, T) array
        One for each series, if `y` or a system matrix has an axis of series.  With diffuse states the limit
        of ``log p(y) + d/2 log κ`` as their d variances κ grow; step by step, zero until the data determine
        all of them.

    Raises
    ------
    TypeError
        If an array is complex.
    ValueError
        If shapes do not fit, numbers other than y are not finite, a covariance is not symmetric, or the data
        do not determine the diffuse states.
    numpy.linalg.LinAlgError
        If the covariance of the observations is not positive definite; names the step and the series.
    OverflowError
        If predictions overflow, as unstable models do; names the step and the series.

    Notes
    -----
    Differentiable with respect to every array.  Covariances have symmetric gradients, missing values zero.

    A step costs about 4n³ + 4n²p + 3np² + p³/3 flops, once for all series that share the system matrices and
    the missing values; 2n² + 4np more for each series.

    CuPy arrays: all series in one launch forward and one backward, each with its own covariances, which do
    not come to rest.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> y = np.array([1.0, np.nan, 3.0, 2.0])
    >>> def loglik(variances):
    ...     one = np.eye(1)
    ...     model = ld.statespace.Model(one, one, variances[0] * one, variances[1] * one, diffuse=True)
    ...     return ld.statespace.loglikelihood(y, *model)
    >>> value, gradient = ld.value_and_grad(loglik)(np.array([0.5, 1.0]))
    >>> print(round(float(value), 6), gradient.round(6))
    -4.385024 [-0.224852 -0.195266]
    """
    system = canonical(
        "loglikelihood",
        y,
        transition,
        design,
        state_cov,
        obs_cov,
        initial_state,
        initial_state_cov,
        state_intercept,
        obs_intercept,
        diffuse,
    )
    result = _by_method(system, per_step, method, steady_tol, checkpoint, "loglikelihood")
    return result if system.many else result[0]


def _by_method(
    system: System, per_step: bool, method: Any, steady_tol: Any, checkpoint: bool, name: str
) -> Any:
    check_method(name, method)
    kind = sweeps_for(tuple(value(x) for x in system[:8]), len(system.diffuse))
    if method is not None or kind is None:
        return composed(system, per_step, name, method)
    tolerance = resting_tolerance(steady_tol, system.y.dtype, name)
    if not per_step:
        return compiled(system, tolerance, checkpoint, name)
    if any(type(x) is Variable for x in system[:9]):
        return composed(system, True, name)
    return compiled_steps(system, tolerance, name) if not system.diffuse else _steps(system, tolerance, name)


def _steps(system: System, tolerance: float, name: str) -> Any:
    """Step by step, by the compiled sweep once the diffuse states are determined."""
    try:
        found = collapsed(system, name)
        parts = [
            np.concatenate([composed(head, True, name), compiled_steps(tail, tolerance, name)], axis=1)
            for _, head, tail in found
        ]
        return in_order(parts, [series for series, _, _ in found])
    except FAILURES:  # they name steps and series of a part
        return composed(system, True, name)


def resting_tolerance(steady_tol: Any, dtype: Any, name: str) -> float:
    """The kernel's tolerance of the steady state: negative for never."""
    if steady_tol is None:  # float32 has no digits to spare
        return (4 if dtype == np.float32 else 50) * float(np.finfo(dtype).eps)
    if not isinstance(steady_tol, float | int | np.floating) or not 0 <= steady_tol < 1:
        raise ValueError(f"{name}: steady_tol must be a number from 0 (never) to 1, not {steady_tol!r}")
    return float(steady_tol) if steady_tol > 0 else -1.0
