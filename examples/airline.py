"""Airline passengers: a seasonal ARIMA and a structural model side by side.

The logarithm of the monthly numbers, fitted to the first ten years, forecasts the last two:

    SARIMA (0, 1, 1) × (0, 1, 1)₁₂    (1 - L)(1 - L¹²) y_t = (1 + θ L)(1 + Θ L¹²) e_t
    structural                        y_t = level_t + season_t + noise, the level with a constant slope

Both are state-space models, exactly diffuse where they are not stationary; SciPy gets exact gradients of
their likelihoods.  Box & Jenkins, Time Series Analysis (1976), chapter 9; Harvey, Forecasting, Structural
Time Series Models and the Kalman Filter (1989), section 4.5.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from lindiff import statespace
from lindiff.statespace import invertible, positive

HERE = Path(__file__).parent
HORIZON = 24


def sarima(ma, seasonal_ma, innovation_var):
    """The airline model of Box & Jenkins."""
    return statespace.sarima(
        (),
        ma,
        innovation_var,
        difference=1,
        period=12,
        seasonal_ma=seasonal_ma,
        seasonal_difference=1,
    )


def structural(level_var, seasonal_var, obs_var):
    """Trend, seasonal and noise."""
    return statespace.local_linear_trend(level_var, 0.0, obs_var) + statespace.seasonal(12, seasonal_var)


def fit_sarima(y):
    """From white noise of the variance of the differences."""
    return statespace.fit(
        sarima,
        y,
        start={"ma": [0.0], "seasonal_ma": [0.0], "innovation_var": np.var(np.diff(y[12:] - y[:-12]))},
        transforms={"ma": invertible, "seasonal_ma": invertible, "innovation_var": positive},
    )


def fit_structural(y):
    """From equal shares of the variance of the differences."""
    share = np.var(np.diff(y[12:] - y[:-12])) / 3
    names = ["level_var", "seasonal_var", "obs_var"]
    return statespace.fit(
        structural, y, start=dict.fromkeys(names, share), transforms=dict.fromkeys(names, positive)
    )


def components(y, model):
    """Smoothed trend and season of the structural model, means and standard deviations."""
    smoothed = statespace.kalman_smoother(y, *model)
    for place in (0, 2):  # the level; after it and the slope, the season
        yield smoothed.smoothed_state[:, place], np.sqrt(smoothed.smoothed_state_cov[:, place, place])


def band(axes, t, mean, std, color, label):
    """A curve and its 90 % band, of logarithms, in thousands."""
    axes.plot(t, np.exp(mean), color=color, label=f"{label}, 90 % band")
    low, high = (np.exp(mean + sign * 1.645 * std) for sign in (-1, 1))
    axes.fill_between(t, low, high, color=color, alpha=0.25, linewidth=0)


def plot(t, passengers, y, models, path):
    """Forecasts of both models above, components of the structural one below."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    count = len(y)
    for axis, (name, model) in zip(axes[0], models.items(), strict=True):
        ahead = statespace.forecast(HORIZON, y, *model)
        axis.plot(t[count - 48 :], passengers[count - 48 :], ".-", color="0.3", lw=0.7, label="passengers")
        band(axis, t[count:], ahead.mean[:, 0], np.sqrt(ahead.cov[:, 0, 0]), "tab:red", "forecast")
        axis.set(title=name, ylabel="thousands a month", ylim=(200, 800))
        axis.legend(loc="upper left", frameon=False)
    trend, season = components(y, models["structural"])
    axes[1, 0].plot(t[:count], passengers[:count], color="0.6", lw=0.7, label="passengers")
    band(axes[1, 0], t[:count], *trend, "tab:blue", "trend")
    axes[1, 0].set(title="trend of the structural model", ylabel="thousands a month")
    axes[1, 0].legend(loc="upper left", frameon=False)
    band(axes[1, 1], t[:count], *season, "tab:green", "season")
    axes[1, 1].set(title="season of the structural model", ylabel="factor", ylim=(0.75, 1.35))
    axes[1, 1].legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=130)


def main(folder=HERE):
    """Fit both, print, draw."""
    passengers = np.loadtxt(HERE / "data" / "airline.csv", delimiter=",", skiprows=1, usecols=1)
    t = 1949 + np.arange(len(passengers)) / 12
    y = np.log(passengers[:-HORIZON])
    models = {}
    for name, fit in (("SARIMA", fit_sarima), ("structural", fit_structural)):
        found = fit(y)
        models[name] = found.model
        ahead = statespace.forecast(HORIZON, y, *found.model)
        errors = np.exp(ahead.mean[:, 0]) / passengers[-HORIZON:] - 1
        covered = np.abs(np.log1p(errors)) < 1.645 * np.sqrt(ahead.cov[:, 0, 0])
        print(f"\n{name}\n{found}")
        print(
            f"forecasts of {HORIZON} months: off by {100 * np.sqrt(np.mean(errors**2)):.1f} % (root mean "
            f"square), {np.sum(covered)} of {HORIZON} inside their 90 % bands\n"
        )
    path = Path(folder) / "airline.png"
    plot(t, passengers, y, models, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
