"""Trends and cycles that several series have in common."""

from __future__ import annotations

from typing import Any

from lindiff.core.arrays import zeros_beside
from lindiff.core.variable import Variable
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.statespace.builders._arguments import check_shape, reals
from lindiff.statespace.model import Model

__all__ = ["common"]


def common(model: Model, loadings: Any) -> Model:
    """Several series that share what a model observes: ``y_t = Λ z_t`` for its observations z.

    Parameters
    ----------
    model : Model
        Of one series z, or of k: a trend, a cycle, a vector autoregression.
    loadings : (p,) or (p, k) array
        Λ.

    Returns
    -------
    Model
        The same states, seen by p series.  Noise of the observations z, if there is any, is common, too.

    Raises
    ------
    TypeError, ValueError
        If `model` is no Model, or the loadings are no real array or do not fit to what it observes.

    Notes
    -----
    Harvey (1989), section 8.5; Durbin & Koopman (2012), section 3.3.  Scale and sign of z are free beside
    Λ: one loading of each z, or one of its variances, is to be a constant.  A trend that p series have in
    common leaves p - 1 of their levels open, which are constants of their own.

    A loading of 0 leaves a series out, so that parts of single series are of this kind, too; and ``m`` trends
    with variances 1 and the columns of a matrix L as loadings are trends with disturbances of covariance
    ``L Lᵀ``.

    Examples
    --------
    Two series with a cycle in common, each with a level of its own, and independent noise:

    >>> import numpy as np
    >>> from lindiff import statespace
    >>> cycle = statespace.common(statespace.cycle(20.0, 1.0, damping=0.9), [1.0, 0.5])
    >>> first = statespace.common(statespace.local_level(0.1), [1.0, 0.0]).named("level a")
    >>> second = statespace.common(statespace.local_level(0.2), [0.0, 1.0]).named("level b")
    >>> model = (cycle + first + second)._replace(obs_cov=np.array([0.3, 0.4]))
    >>> model.design
    array([[1. , 0. , 1. , 0. ],
           [0.5, 0. , 0. , 1. ]])
    >>> [component.name for component in model.components]
    ['cycle', 'level a', 'level b']
    """
    name = "common"
    if not isinstance(model, Model):
        raise TypeError(f"{name}: model is a {type(model).__name__}; write common(model, loadings)")
    matrices = {"design of the model": model.design, "obs_cov of the model": model.obs_cov}
    loadings, design, obs_cov = reals(name, loadings=loadings, **matrices)
    check_shape(name, "loadings", loadings, "p", "pk")
    given, k = loadings.shape, design.shape[-2]
    loadings = loadings[:, None] if loadings.ndim == 1 else loadings
    if loadings.shape[1] != k:
        raise ValueError(
            f"{name}: loadings of shape {given} do not fit a model that observes {k} numbers a step: "
            f"{'(p,) or ' if k == 1 else ''}(p, {k}) is needed"
        )
    intercept = model.obs_intercept
    return model._replace(
        design=loadings @ design,
        obs_cov=_obs_cov(loadings, obs_cov),
        obs_intercept=None if intercept is None else (loadings @ intercept[..., None])[..., 0],
    )


def _obs_cov(loadings: Any, obs_cov: Any) -> Any:
    """``Λ R Λᵀ``; a row of variances where R is known to be zero."""
    if type(obs_cov) is not Variable and not obs_cov.any():
        return zeros_beside(loadings, (len(loadings),), loadings.dtype)
    rows = obs_cov[None] if obs_cov.ndim == 1 else obs_cov
    k = loadings.shape[1]
    square = rows.shape[-2] == k and k > 1
    mixed = loadings @ rows if square else loadings * rows
    return hermitian_part(mixed @ transposed(loadings))
