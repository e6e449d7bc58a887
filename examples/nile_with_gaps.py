"""The Nile with two gaps of 20 years: the local level model fitted by maximum likelihood, the gaps filled.

    level_t+1 = level_t + N(0, level_var),        flow_t = level_t + N(0, obs_var)

Missing values are NaN, nothing else changes.  In a gap the smoothed level goes straight from one side to the
other, and its band widens like a bridge's: Durbin & Koopman, Time Series Analysis by State Space Methods,
section 2.7.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from lindiff import statespace

HERE = Path(__file__).parent
GAPS = (1891, 1910), (1931, 1950)
HORIZON = 15


def with_gaps(years, flow):
    """The flow without what was measured in the gaps."""
    missing = np.any([(first <= years) & (years <= last) for first, last in GAPS], axis=0)
    return np.where(missing, np.nan, flow)


def fit(y):
    """Both variances, positive, from equal shares of the variance of the data."""
    share = np.nanvar(y) / 2
    return statespace.fit(
        statespace.local_level,
        y,
        start={"level_var": share, "obs_var": share},
        transforms={"level_var": statespace.positive, "obs_var": statespace.positive},
    )


def plot(years, flow, y, smoothed, ahead, path):
    """Data and what was left out, smoothed level and forecasts with their 90 % bands."""
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    axes.plot(years, y, ".", color="0.3", label="annual flow")
    axes.plot(years[np.isnan(y)], flow[np.isnan(y)], "o", mfc="none", mec="0.6", ms=4, label="left out")
    later = years[-1] + 1 + np.arange(HORIZON)
    for t, mean, var, color, label in [
        (years, smoothed.smoothed_state, smoothed.smoothed_state_cov, "tab:blue", "smoothed level"),
        (later, ahead.mean, ahead.cov, "tab:red", "forecast"),
    ]:
        mean, half = mean[:, 0], 1.645 * np.sqrt(var[:, 0, 0])
        axes.plot(t, mean, color=color, label=f"{label}, 90 % band")
        axes.fill_between(t, mean - half, mean + half, color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="year", ylabel="flow at Aswan, $10^8$ m$^3$", title="Nile with gaps, local level model")
    axes.legend(loc="upper right", frameon=False)
    figure.savefig(path, dpi=130)


def main(folder=HERE):
    """Fit, print, draw."""
    years, flow = np.loadtxt(HERE / "data" / "nile.csv", delimiter=",", skiprows=1, unpack=True)
    y = with_gaps(years, flow)
    found = fit(y)
    print(f"\n{found}")
    smoothed = statespace.kalman_smoother(y, *found.model)
    ahead = statespace.forecast(HORIZON, y, *found.model)
    std = np.sqrt(smoothed.smoothed_state_cov[:, 0, 0])
    for first, last in GAPS:
        inside = (first <= years) & (years <= last)
        print(
            f"{first} to {last}: level {smoothed.smoothed_state[inside, 0].mean():.0f}, its standard "
            f"deviation up to {std[inside].max():.0f}; mean of the flow left out {flow[inside].mean():.0f}"
        )
    path = Path(folder) / "nile_with_gaps.png"
    plot(years, flow, y, smoothed, ahead, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
