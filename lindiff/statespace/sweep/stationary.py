"""The exact likelihood of a stationary autoregressive moving average, without its matrices.

Its autocovariances, from as many equations as it has lags, say what the first prediction is; from there on
Chandrasekhar's recursion goes on in vectors: :mod:`lindiff.kernels.chandrasekhar`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.chandrasekhar import ArmaFilter, unexplained
from lindiff.kernels.conditions import has_nan
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace.autocovariances import first_prediction
from lindiff.statespace.sweep.any_order import pulled_in_place, pushed
from lindiff.statespace.sweep.derivatives import is_plain
from lindiff.transforms.reverse import vjp

__all__ = ["arma_loglikelihood"]

FLOAT64 = np.dtype(np.float64)


def arma_loglikelihood(
    y: Any, ar: Any, ma: Any, innovation_var: Any, general: Callable[[Any, Any, Any, Any], Any]
) -> Any:
    """The log likelihood of ``y_t = Σ ar_i y_{t-i} + e_t + Σ ma_j e_{t-j}``; None, if not for such data.

    Parameters
    ----------
    y : (T,) array
    ar, ma : (p,), (q,) arrays
        Of a stationary process.
    innovation_var : number
    general : callable
        Gives the likelihood of y, ar, ma and innovation_var in any case, with derivatives of any order.

    Returns
    -------
    number or None
        None for other numbers than float64 of NumPy's, and where one is missing.

    Notes
    -----
    Some 14 max(p, q + 1) flops a step, and 2/3 max(p, q + 1)³ before the first; the gradient takes as much
    twice again.  Brockwell & Davis (1991), Time Series: Theory and Methods, section 3.3, for autocovariances.
    """
    arrays = y, ar, ma, innovation_var
    plain = tuple(map(value, arrays))
    if any(not isinstance(x, (np.ndarray, np.float64)) or x.dtype != FLOAT64 for x in plain):
        return None
    if plain[0].ndim != 1 or not plain[0].size or has_nan(plain[0]):
        return None
    if not is_plain(*arrays):
        return _loglikelihood(*arrays, general=general)
    sweep, _ = _filtered(y, first_prediction(ar, ma), ar, innovation_var, whole=False)
    return general(*arrays) if sweep.value is None else _density(sweep, y)


@rule
def _loglikelihood(y: Any, ar: Any, ma: Any, innovation_var: Any, *, general: Callable[..., Any]) -> Any:
    arrays = y, ar, ma, innovation_var
    sweep = None
    if is_plain(*arrays):
        start, pull_start = vjp(first_prediction, ar, ma)
        sweep, variance = _filtered(y, start, ar, innovation_var, whole=True)
        sweep = None if sweep.value is None else sweep
    result = general(*arrays) if sweep is None else _density(sweep, y)

    def pushforward(*dots: Any) -> Any:
        return pushed(general, arrays, dots)

    def pullback(bar: Any, active: tuple[int, ...]) -> Any:
        if sweep is None or not is_plain(bar):
            return pulled_in_place(general, arrays, bar, active)
        y_bar, phi_bar, gain_bar, first_bar = sweep.pull(float(bar))
        ar_bar, ma_bar = pull_start((phi_bar, gain_bar, np.float64(first_bar * innovation_var)))
        return y_bar, ar_bar, ma_bar, np.asarray(first_bar * variance)

    return result, Differential(pushforward, pullback, selective=True)


def _filtered(y: Any, start: Any, ar: Any, innovation_var: Any, whole: bool) -> tuple[ArmaFilter, Any]:
    """The filter over plain data, and the variance of the process beside that of its innovations."""
    phi, gain, variance = map(np.ascontiguousarray, start)
    first = float(variance[0] * innovation_var)
    left = unexplained(np.ascontiguousarray(ar))
    return ArmaFilter(np.ascontiguousarray(y), phi, gain, first, left, whole), variance[0]


def _density(sweep: ArmaFilter, y: Any) -> Any:
    return np.float64(sweep.value - 0.5 * LOG_TWO_PI * y.size)
