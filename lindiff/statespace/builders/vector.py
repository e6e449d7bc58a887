"""Several series at once: vector autoregressions and dynamic factors.

Lütkepohl (2005), New Introduction to Multiple Time Series Analysis, sections 2.1 and 18.2; Durbin & Koopman
(2012), Time Series Analysis by State Space Methods, section 3.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.linalg._matrices import hermitian_part
from lindiff.statespace.builders._arguments import check_shape, reals
from lindiff.statespace.builders.aggregation import weights_of_series
from lindiff.statespace.components import Component
from lindiff.statespace.initialization import stationary_initialization
from lindiff.statespace.model import Model

__all__ = ["dynamic_factor", "var", "varma"]


def var(coefficients: Any, innovation_cov: Any, intercept: Any = None, obs_var: Any = 0.0) -> Model:
    """A stationary vector autoregression: ``y_t = c + Σ A_i y_{t-i} + e_t``.

    Parameters
    ----------
    coefficients : (k, p, p) or (p, p) array
        A_1, …, A_k, or A_1 alone.
    innovation_cov : (p, p) array
        Covariance of e.
    intercept : (p,) array, optional
        c; zero if not given.
    obs_var : number or (p,) array
        Variances of noise of the observations.

    Returns
    -------
    Model
        kp states, ``y_t, y_{t-1}, …, y_{t-k+1}``, from their stationary distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, or the process is not
        stationary.

    Notes
    -----
    The companion form, Lütkepohl (2005), eq. 2.1.8.  The stationary distribution costs O((kp)³) flops.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> statespace.var(np.diag([0.5, 0.0]), np.eye(2)).initial_state_cov.round(4)
    array([[1.3333, 0.    ],
           [0.    , 1.    ]])
    """
    coefficients, innovation_cov, obs_var = reals(
        "var", coefficients=coefficients, innovation_cov=innovation_cov, obs_var=obs_var
    )
    check_shape("var", "coefficients", coefficients, "pp", "kpp")
    check_shape("var", "innovation_cov", innovation_cov, "pp")
    check_shape("var", "obs_var", obs_var, "", "p")
    lags = coefficients[None] if coefficients.ndim == 2 else coefficients
    k, p, _ = lags.shape
    dtype = lags.dtype
    if lags.shape != (k, p, p) or innovation_cov.shape != (p, p) or obs_var.shape not in ((), (p,)) or not k:
        raise ValueError(
            f"var: coefficients of shape {coefficients.shape}, innovation_cov of shape "
            f"{innovation_cov.shape} and obs_var of shape {obs_var.shape} do not fit together: "
            f"(k, p, p), (p, p) and (p,) are needed"
        )
    n = k * p
    transition = _companion(lags)
    state_cov = np.pad(innovation_cov, (0, n - p))
    state_intercept = _intercept("var", intercept, p, n)
    initial_state, initial_state_cov = stationary_initialization(transition, state_cov, state_intercept)
    return Model(
        transition=transition,
        design=placed(np.eye(p, n, dtype=dtype), lags),
        state_cov=state_cov,
        obs_cov=np.broadcast_to(obs_var, (p,)),
        initial_state=initial_state,
        initial_state_cov=initial_state_cov,
        state_intercept=state_intercept,
    ).of_components((_lagged("var", p, k),))


def varma(ar: Any, ma: Any, innovation_cov: Any, intercept: Any = None, obs_var: Any = 0.0) -> Model:
    """A stationary vector ARMA process: ``y_t = c + Σ A_i y_{t-i} + e_t + Σ M_j e_{t-j}``.

    Parameters
    ----------
    ar : (k, p, p) or (p, p) array
        A_1, …, A_k, or A_1 alone; may be empty: ``()``.
    ma : (q, p, p) or (p, p) array
        M_1, …, M_q, or M_1 alone; may be empty, too.
    innovation_cov : (p, p) array
        Covariance of e.
    intercept : (p,) array, optional
        c; zero if not given.
    obs_var : number or (p,) array
        Variances of noise of the observations.

    Returns
    -------
    Model
        ``p max(k, q + 1)`` states, what is known now of y now and, ``.F1``, ``.F2``, …, of what comes; from
        their stationary distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, or the process is not
        stationary.

    Notes
    -----
    The form of :func:`arma`, with matrices for numbers.  The process may have simpler parameters: then the
    data do not determine these, Lütkepohl (2005), section 12.1.  The stationary distribution costs
    O((p max(k, q + 1))³) flops.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.varma(np.diag([0.5, 0.2]), [[0.3, 0.1], [0.0, 0.4]], np.eye(2))
    >>> model.transition
    array([[0.5, 0. , 1. , 0. ],
           [0. , 0.2, 0. , 1. ],
           [0. , 0. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    name = "varma"
    ar, ma, innovation_cov, obs_var = reals(
        name, ar=ar, ma=ma, innovation_cov=innovation_cov, obs_var=obs_var
    )
    check_shape(name, "innovation_cov", innovation_cov, "pp")
    check_shape(name, "obs_var", obs_var, "", "p")
    p = len(innovation_cov)
    ar, ma = (_matrices(name, argument, x, p) for argument, x in (("ar", ar), ("ma", ma)))
    if innovation_cov.shape != (p, p) or obs_var.shape not in ((), (p,)):
        raise ValueError(
            f"{name}: innovation_cov of shape {innovation_cov.shape} and obs_var of shape {obs_var.shape} do "
            f"not fit together: (p, p) and (p,) are needed"
        )
    lags, dtype = max(len(ar), len(ma) + 1), innovation_cov.dtype
    n = lags * p
    own = placed(np.eye(p, dtype=dtype), innovation_cov)
    loading = np.concatenate([own, _stacked(ma, n - p)])
    shift = placed(np.eye(n, n - p, dtype=dtype), innovation_cov)
    transition = np.concatenate([_stacked(ar, n), shift], axis=1)
    state_cov = hermitian_part(loading @ innovation_cov @ loading.T)
    state_intercept = _intercept(name, intercept, p, n)
    initial_state, initial_state_cov = stationary_initialization(transition, state_cov, state_intercept)
    states = (f"{name}[{i}]" + (f".F{lead}" if lead else "") for lead in range(lags) for i in range(p))
    return Model(
        transition=transition,
        design=placed(np.eye(p, n, dtype=dtype), innovation_cov),
        state_cov=state_cov,
        obs_cov=np.broadcast_to(obs_var, (p,)),
        initial_state=initial_state,
        initial_state_cov=initial_state_cov,
        state_intercept=state_intercept,
    ).of_components((Component(name, tuple(states)),))


def _matrices(name: str, argument: str, x: Any, p: int) -> Any:
    """One (p, p) matrix or none, too, as (k, p, p)."""
    if not x.size and x.ndim == 1:
        return np.reshape(x, (0, p, p))
    check_shape(name, argument, x, "pp", "kpp")
    if x.shape[-2:] != (p, p):
        raise ValueError(
            f"{name}: {argument} of shape {x.shape} does not fit innovation_cov of shape ({p}, {p}): "
            f"(k, {p}, {p}) is needed"
        )
    return x[None] if x.ndim == 2 else x


def _stacked(matrices: Any, n: int) -> Any:
    """One below the other, with zeros up to n rows."""
    k, p, _ = matrices.shape
    return np.pad(np.reshape(matrices, (k * p, p)), ((0, n - k * p), (0, 0)))


def _intercept(name: str, intercept: Any, p: int, n: int) -> Any:
    """None, or as one of n states, of which the first p are observed."""
    if intercept is None:
        return None
    (intercept,) = reals(name, intercept=intercept)
    if intercept.shape != (p,):
        raise ValueError(
            f"{name}: intercept of shape {intercept.shape} does not fit {p} series: ({p},) is needed"
        )
    return np.pad(intercept, (0, n - p))


def _lagged(name: str, p: int, lags: int) -> Component:
    """p numbers of now and of the steps before."""
    return Component(
        name, tuple(f"{name}[{i}]" + (f".L{lag}" if lag else "") for lag in range(lags) for i in range(p))
    )


def dynamic_factor(
    loadings: Any,
    factor_ar: Any,
    obs_var: Any,
    error_ar: Any = None,
    factor_cov: Any = None,
    aggregation: Sequence[Any] | None = None,
) -> Model:
    """Many series that follow a few stationary factors: ``y_t = Λ f_t + u_t``, ``f_t = Σ A_i f_{t-i} + e_t``.

    Parameters
    ----------
    loadings : (p, k) array
        Λ.
    factor_ar : (order, k, k) or (k, k) array
        A_1, …, or A_1 alone.
    obs_var : (p,) array
        Variances of the idiosyncratic parts u or, with `error_ar`, of their innovations.
    error_ar : (p,) array, optional
        ρ of ``u_{t,i} = ρ_i u_{t-1,i} + innovation``, which makes the idiosyncratic parts states.  White
        noise if not given.
    factor_cov : (k, k) array, optional
        Covariance of e; by default the unit matrix, which fixes the scale of the factors.
    aggregation : sequence of p, of None or (m,) arrays, optional
        For a series of a lower frequency the weights w with which it sums up several steps, as
        :func:`aggregation_weights` gives them: ``y_{t,i} = Σ_l w_l (Λ_i f_{t-l} + u_{t-l,i})``, seen at the
        last step of its own period, NaN at the others.  None for the others.

    Returns
    -------
    Model
        The factors now and before, ``order · k`` states or as many more as `aggregation` needs; p more with
        `error_ar`, the idiosyncratic parts; and those before for what `aggregation` sums up.  From their
        stationary distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, or the factors or idiosyncratic
        parts are not stationary.

    Notes
    -----
    Factors and loadings are determined up to an invertible matrix, orthogonal if `factor_cov` is the unit
    matrix: restrict the loadings, to a lower triangle with positive diagonal for instance, or read nothing
    into single factors.

    Mixed frequencies are those of Mariano & Murasawa (2003), Journal of Applied Econometrics 18, section 2,
    and of statsmodels' ``DynamicFactorMQ``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.dynamic_factor([[1.0], [0.5], [2.0]], [[0.9]], np.ones(3))
    >>> model.transition.shape, model.design.shape, model.obs_cov.shape
    ((1, 1), (3, 1), (3,))

    Two monthly series, and a quarterly one of growth rates:

    >>> weights = [None, None, statespace.aggregation_weights("growth", 3)]
    >>> model = statespace.dynamic_factor([[1.0], [0.5], [2.0]], [[0.9]], np.ones(3), aggregation=weights)
    >>> model.design[:, :5]
    array([[1. , 0. , 0. , 0. , 0. ],
           [0.5, 0. , 0. , 0. , 0. ],
           [2. , 4. , 6. , 4. , 2. ]])
    """
    name = "dynamic_factor"
    loadings, factor_ar, obs_var = reals(name, loadings=loadings, factor_ar=factor_ar, obs_var=obs_var)
    check_shape(name, "loadings", loadings, "pk")
    check_shape(name, "factor_ar", factor_ar, "kk", "okk")
    p, k = loadings.shape
    if factor_ar.shape[-2:] != (k, k) or obs_var.shape != (p,):
        raise ValueError(
            f"{name}: loadings of shape {loadings.shape}, factor_ar of shape {factor_ar.shape} and obs_var "
            f"of shape {obs_var.shape} do not fit together: (p, k), (order, k, k) and (p,) are needed"
        )
    weights = weights_of_series(name, aggregation, p).astype(loadings.dtype)
    width = weights.shape[1]
    factors, steps = _factors(factor_ar, factor_cov, width)
    of_steps = np.reshape(placed(weights[:, :, None], loadings) * loadings[:, None], (p, width * k))
    design = np.pad(of_steps, ((0, 0), (0, (steps - width) * k)))
    common = factors._replace(design=design, obs_cov=obs_var)
    common = common.of_components((_lagged("factor", k, steps),))
    if error_ar is not None:
        (error_ar,) = reals(name, error_ar=error_ar)
        if error_ar.shape != (p,):
            raise ValueError(
                f"{name}: error_ar must be of shape ({p},), one for each series, got {error_ar.shape}"
            )
    elif width == 1 and (weights == 1).all():
        return common
    return _with_own_states(common, obs_var, error_ar, weights)


def _factors(factor_ar: Any, factor_cov: Any, steps: int) -> tuple[Model, int]:
    """The vector autoregression with so many steps in its state, or more if it needs them; and how many."""
    lags = factor_ar[None] if factor_ar.ndim == 2 else factor_ar
    k, steps = lags.shape[-1], max(steps, len(lags))
    if factor_cov is None:
        factor_cov = placed(np.eye(k, dtype=lags.dtype), lags)
    return var(np.pad(lags, ((0, steps - len(lags)), (0, 0), (0, 0))), factor_cov), steps


def _with_own_states(common: Model, obs_var: Any, error_ar: Any, weights: Any) -> Model:
    """The model plus idiosyncratic parts, as states where they have a memory or are summed up over steps."""
    p, dtype = len(weights), obs_var.dtype
    lags = np.max(np.where(weights != 0, np.arange(weights.shape[1]), 0), axis=1)
    kept = np.arange(p) if error_ar is not None else np.flatnonzero((lags > 0) | (weights[:, 0] != 1))
    places = [(i, lag) for lag in range(weights.shape[1]) for i in kept if lag <= lags[i]]
    n, m, place_of = len(places), len(kept), {state: place for place, state in enumerate(places)}
    transition, design = np.zeros((n, n), dtype), np.zeros((p, n), dtype)
    for (i, lag), place in place_of.items():
        design[i, place] = weights[i, lag]
        if lag:
            transition[place, place_of[i, lag - 1]] = 1
    transition = placed(transition, obs_var)
    if error_ar is not None:
        transition = transition + np.pad(np.diag(error_ar), (0, n - m))
    state_cov = np.pad(np.diag(obs_var[kept]), (0, n - m))
    initial_state, initial_state_cov = stationary_initialization(transition, state_cov)
    states = tuple(f"own[{i}]" + (f".L{lag}" if lag else "") for i, lag in places)
    observed = np.ones(p, dtype)
    observed[kept] = 0
    own = Model(
        transition=transition,
        design=placed(design, obs_var),
        state_cov=state_cov,
        obs_cov=zeros_beside(obs_var, (p,), dtype),
        initial_state=initial_state,
        initial_state_cov=initial_state_cov,
    ).of_components((Component("own", states),))
    return common._replace(obs_cov=placed(observed, obs_var) * obs_var) + own


def _companion(lags: Any) -> Any:
    """The transition of ``(y_t, …, y_{t-k+1})``."""
    k, p, _ = lags.shape
    top = np.reshape(np.swapaxes(lags, 0, 1), (p, k * p))
    return np.concatenate([top, placed(np.eye((k - 1) * p, k * p, dtype=lags.dtype), lags)])
