"""Regression on explanatory variables: a design that varies with time."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.core.variable import value
from lindiff.statespace.builders._arguments import check_shape, reals
from lindiff.statespace.columns import columns_by_name, dates_of, index_of_dates
from lindiff.statespace.components import Component
from lindiff.statespace.model import Model, in_rows

__all__ = ["regression"]


def regression(exog: Any, coefficient_var: Any = 0.0, obs_var: Any = 0.0, coefficients: Any = None) -> Model:
    """A regression ``y_t = x_t b_t + v_t`` whose coefficients are constant or random walks.

    Parameters
    ----------
    exog : (T, k), (T, p, k) or, for k = 1, (T,) array
        x_t, for one or p series.  Or a data frame, a series of pandas, a dict of columns (T,) or (T, p), or a
        list of such: what :func:`pulse` and its like make of dates.
    coefficient_var : number or (k,) array
        Variances of ``b_{t+1} - b_t``: zeros for constant coefficients.
    obs_var : number or (p,) array
        Variances of v.
    coefficients : (k,) array, optional
        ``b_0``, parameters like the others; if not given, it is diffuse.

    Returns
    -------
    Model
        k states, the coefficients, with the names of the columns of `exog` if it has names.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, `exog` has NaN or two columns
        of one name.

    Notes
    -----
    Durbin & Koopman (2012), section 3.6.  With constant coefficients the smoothed state at any time is their
    generalized least squares estimate.  With diffuse ones the likelihood is the restricted one, as that of
    statsmodels with ``mle_regression=False``; that of given `coefficients`, for `fit` to find, is the full
    one, as with ``mle_regression=True``.

    Until the data have determined all diffuse coefficients there are no predictions and residuals: before an
    intervention, whose regressor is zero till then, there are those of given `coefficients` only.

    A regression with ARIMA errors is a sum: ``regression(exog) + sarima(...)``.  With ``difference=1``
    it is the regression of the differences with ARMA errors, but for missing values, which stay single.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> exog = {"price": np.array([3.0, 2.5, 2.5]), "holiday": np.array([0.0, 0.0, 1.0])}
    >>> model = statespace.regression(exog) + statespace.sarima([0.5], (), 1.0)
    >>> model.design.shape
    (3, 1, 3)
    >>> model.components[0].states
    ('price', 'holiday')
    """
    name = "regression"
    names, dates, exog = _columns(exog)
    exog, coefficient_var, obs_var = reals(name, exog=exog, coefficient_var=coefficient_var, obs_var=obs_var)
    exog = exog[:, None] if exog.ndim == 1 else exog
    check_shape(name, "exog", exog, "Tk", "Tpk")
    missing = np.isnan(value(exog))
    if missing.any():
        of = "" if names is None else f" in {', '.join(sorted({names[i] for i in np.nonzero(missing)[-1]}))}"
        raise ValueError(f"{name}: exog has NaN{of}; only observations can be missing")
    design = in_rows(exog[:, None] if exog.ndim == 2 else exog)
    _, p, k = design.shape
    if coefficient_var.shape not in ((), (k,)) or obs_var.shape not in ((), (p,)):
        raise ValueError(
            f"{name}: exog of shape {exog.shape}, coefficient_var of shape {coefficient_var.shape} and "
            f"obs_var of shape {obs_var.shape} do not fit together: ({k},) and ({p},) are needed, or numbers"
        )
    model = Model(
        transition=placed(np.eye(k, dtype=design.dtype), design),
        design=design,
        state_cov=np.diag(np.broadcast_to(coefficient_var, (k,))),
        obs_cov=np.broadcast_to(obs_var, (p,)),
        diffuse=np.ones(k, bool),
    ).of_components((Component(name, names or tuple(f"coefficient[{i}]" for i in range(k)), True),))
    model = model.at_dates(dates)
    if coefficients is None:
        return model
    (coefficients,) = reals(name, coefficients=coefficients)
    if coefficients.shape != (k,):
        raise ValueError(f"{name}: coefficients must be of shape ({k},), got {coefficients.shape}")
    return model._replace(
        initial_state=coefficients,
        initial_state_cov=zeros_beside(coefficients, (k, k), coefficients.dtype),
        diffuse=None,
    )


def _columns(exog: Any) -> tuple[tuple[str, ...] | None, Any, Any]:
    """Names and dates of the columns, if they have them, and all of them in one array."""
    named = columns_by_name("regression", exog)
    if named is None:
        return None, index_of_dates(exog), exog
    dates, columns = dates_of("regression", named), reals("regression", **named)
    if len({x.shape for x in columns}) > 1 or columns[0].ndim not in (1, 2):
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(named, columns, strict=True))
        raise ValueError(
            f"regression: the columns of exog must all be of shape (T,), or (T, p), got those of {shapes}"
        )
    return tuple(named), dates, np.stack(columns, axis=-1)
