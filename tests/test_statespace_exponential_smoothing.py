"""Exponential smoothing: its recursions, statsmodels' likelihoods, ARIMA processes that it is."""

import numpy as np
import pytest

from lindiff import statespace
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)
Y = np.cumsum(RNG.normal(size=40)) + np.tile([1.0, 2.0, -1.0, 0.0], 10)
Y[[17, 18]] = np.nan
FORMS = {
    "ANN": {},
    "AAN": {"smoothing_trend": 0.1},
    "AAdN": {"smoothing_trend": 0.1, "damping": 0.9},
    "ANA": {"smoothing_seasonal": 0.2, "period": 4},
    "AAA": {"smoothing_trend": 0.1, "smoothing_seasonal": 0.2, "period": 4},
    "AAdA": {"smoothing_trend": 0.1, "smoothing_seasonal": 0.2, "period": 4, "damping": 0.9},
    "AAdA of 2": {"smoothing_trend": 0.1, "smoothing_seasonal": 0.2, "period": 2, "damping": 0.9},
}


def start_of(form):
    """Level, slope and seasonals before the data."""
    seasonals = [0.5, -0.2, -0.4, 0.3][: form.get("period", 0)]
    return np.array([0.7, *[0.2] * ("smoothing_trend" in form), *seasonals])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_likelihoods_of_statsmodels(form):
    smoothing = pytest.importorskip("statsmodels.tsa.statespace.exponential_smoothing")
    start, m, trend = start_of(form), form.get("period"), "smoothing_trend" in form
    theirs = smoothing.ExponentialSmoothing(
        Y,
        trend=trend,
        damped_trend="damping" in form,
        seasonal=m,
        initialization_method="known",
        initial_level=start[0],
        initial_trend=start[1] if trend else None,
        initial_seasonal=start[-m:][::-1] if m else None,
        concentrate_scale=False,
    )
    theirs.ssm.tolerance = 0
    smoothings = [form[name] for name in ("smoothing_trend", "smoothing_seasonal", "damping") if name in form]
    expected = theirs.loglike(np.array([0.4, *smoothings, 1.3]))
    model = statespace.exponential_smoothing(0.4, 1.3, **form, initial_state=start)
    np.testing.assert_allclose(statespace.loglikelihood(Y, *model), expected, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_recursions(form):
    """Errors and states of the filter are those of the formulas."""
    start, trend, m = start_of(form), "smoothing_trend" in form, form.get("period", 0)
    beta, gamma, phi = (
        form.get(name, default)
        for name, default in [("smoothing_trend", 0.0), ("smoothing_seasonal", 0.0), ("damping", 1.0)]
    )
    y = Y[:15]
    model = statespace.exponential_smoothing(0.4, 1.3, **form, initial_state=start)
    found = statespace.kalman_filter(y, *model)
    names = [state for component in model.components for state in component.states]
    level, slope, seasonals = start[0], start[1] if trend else 0.0, list(start[len(start) - m :])
    for t in range(15):
        season = seasonals[t] if m else 0.0
        error = y[t] - (level + phi * slope + season)
        level, slope = level + phi * slope + 0.4 * error, phi * slope + beta * error
        seasonals.append(season + gamma * error)
        states = dict(zip(names, found.filtered_state[t], strict=True))
        np.testing.assert_allclose(found.forecast_error[t], error, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(states["level"], level, rtol=1e-10)
        if trend:
            np.testing.assert_allclose(states["slope"], slope, rtol=1e-10)
        if m:
            np.testing.assert_allclose(states[f"seasonal({m})"], seasonals[-1], rtol=1e-10)
            np.testing.assert_allclose(states[f"seasonal({m}).sum"], sum(seasonals[-m:]), rtol=1e-10)


@pytest.mark.parametrize(
    ("form", "difference", "ma"),
    [("ANN", 1, [0.4 - 1]), ("AAN", 2, [0.4 + 0.1 - 2, 1 - 0.4])],
)
def test_diffuse_starts_are_those_of_arima(form, difference, ma):
    model = statespace.exponential_smoothing(0.4, 1.3, **FORMS[form])
    arima = statespace.sarima((), ma, 1.3, difference=difference)
    expected = statespace.loglikelihood(Y, *arima)
    np.testing.assert_allclose(statespace.loglikelihood(Y, *model), expected, rtol=1e-12)


def test_seasonals_start_with_sum_zero():
    """As a large variance of what is diffuse says, in the limit; and the level is that of the data."""
    form, kappa = FORMS["AAA"], 1e7
    diffuse = statespace.exponential_smoothing(0.4, 1.3, **form)
    mask = diffuse.diffuse
    wide = diffuse._replace(diffuse=None, initial_state_cov=diffuse.initial_state_cov + kappa * np.diag(mask))
    limit = statespace.loglikelihood(Y, *wide) + 0.5 * mask.sum() * np.log(kappa)
    np.testing.assert_allclose(statespace.loglikelihood(Y, *diffuse), limit, rtol=1e-5)
    pattern = np.tile([3.0, -1.0, -1.0, -1.0], 6)
    smooth = statespace.kalman_smoother(
        5 + pattern, *statespace.exponential_smoothing(0.4, 1.3, **FORMS["ANA"])
    )
    np.testing.assert_allclose(smooth.smoothed_state[:, 1], 5, rtol=1e-9)
    np.testing.assert_allclose(smooth.smoothed_state[:, 2], pattern, rtol=1e-9)


@pytest.mark.parametrize("known", [False, True])
def test_derivatives(known):
    def loglikelihood(alpha, variance, beta, gamma, phi, *start):
        model = statespace.exponential_smoothing(
            alpha, variance, beta, gamma, period=4, damping=phi, initial_state=start[0] if start else None
        )
        return statespace.loglikelihood(Y[:14], *(model + statespace.cycle(5.0, 0.1, damping=0.5)))

    start = [start_of(FORMS["AAA"])] if known else []
    check_grads(loglikelihood, [0.4, 1.3, 0.1, 0.2, 0.9, *start], rtol=1e-6)


def test_single_precision_is_kept():
    for start in (None, np.float32([0.7, 0.2, 0.5, -0.5])):
        numbers = np.float32([0.4, 1.3, 0.1, 0.2])
        model = statespace.exponential_smoothing(*numbers, period=2, initial_state=start)
        assert {part.dtype.name for part in model if part is not None} <= {"float32", "bool"}


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"damping": 0.9}, ValueError, "damping is that of a trend, and needs smoothing_trend"),
        ({"smoothing_seasonal": 0.1}, ValueError, "smoothing_seasonal and period go together"),
        ({"period": 4}, ValueError, "smoothing_seasonal and period go together"),
        ({"smoothing_seasonal": 0.1, "period": 1}, ValueError, "period must be at least 2, got 1"),
        ({"smoothing_seasonal": 0.1, "period": 4.0}, TypeError, "period is an integer, got 4.0"),
        ({"smoothing_trend": 0.1, "damping": 1.1}, ValueError, "more than 0 and at most 1, got 1.1"),
        ({"smoothing_trend": 0.1, "damping": 0}, ValueError, "more than 0 and at most 1, got 0.0"),
        ({"smoothing_trend": [0.1]}, ValueError, "smoothing_trend must be a number"),
        ({"initial_state": [0.1, 0.2]}, ValueError, r"shape \(1,\), the level, got shape \(2,\)"),
        (
            {"smoothing_trend": 0.1, "smoothing_seasonal": 0.1, "period": 2, "initial_state": [0.1, 0.2]},
            ValueError,
            r"of shape \(4,\), the level, the slope and 2 seasonals, got shape \(2,\)",
        ),
    ],
)
def test_bad_input(arguments, error, says):
    with pytest.raises(error, match=f"exponential_smoothing: .*{says}"):
        statespace.exponential_smoothing(0.4, 1.3, **arguments)
