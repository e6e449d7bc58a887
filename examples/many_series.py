"""A thousand short series with the same parameters, at once.

    y_t = level_t + c_t,  level_{t+1} = level_t + N(0, level_var),  c_t = ar c_{t-1} + N(0, innovation_var)

The covariances of the filter depend on the parameters, not on the data: for all series that miss the same
values they are computed once, and each series adds a few products of a matrix and a vector.  With --cuda the
arrays are CuPy's: then every series has its own few threads of a GPU.
"""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lindiff as ld
from lindiff import statespace

HERE = Path(__file__).parent
SERIES, STEPS = 1000, 60
TRUTH = {"level_var": 0.05, "ar": np.array([0.6]), "innovation_var": 0.5}


def build(level_var, ar, innovation_var):
    """A random walk plus an autoregression; the level starts anywhere."""
    return statespace.local_level(level_var) + statespace.arma(ar, (), innovation_var)


def simulate(rng):
    """(1000, 60) observations; a quarter of the series begins at step 20, another has no steps 30 to 39."""
    model = build(**TRUTH)._replace(
        initial_state_cov=np.diag([100.0, TRUTH["innovation_var"] / (1 - TRUTH["ar"][0] ** 2)]), diffuse=None
    )
    _, y = statespace.simulate(STEPS, *model, rng=rng, size=SERIES)
    y[::4, :20] = np.nan
    y[1::4, 30:40] = np.nan
    return y


def loglikelihood(params, y):
    """Of one series or of many."""
    return np.sum(statespace.loglikelihood(y, *build(**params)))


def seconds(function):
    """Of the fastest run, among those of the first third of a second."""
    runs = []
    while sum(runs) < 0.3:
        begin = time.perf_counter()
        function()
        runs.append(time.perf_counter() - begin)
    return min(runs)


def times(y, params):
    """Seconds of value and gradient: number of series, at once, one by one."""

    def both(y):
        value, _ = ld.value_and_grad(loglikelihood)(params, y)
        return float(value)  # a GPU works on while Python goes on: wait

    rows = []
    for count in (10**k for k in range(4) if 10**k <= len(y)):
        some = y[:count]
        rows.append(
            (
                count,
                seconds(lambda some=some: both(some)),
                seconds(lambda some=some: [both(one) for one in some]),
            )
        )
    return np.array(rows)


def fit(y):
    """The three parameters that all series share."""
    start = {"level_var": 0.5, "ar": np.array([0.1]), "innovation_var": 0.5}
    transforms = {
        "level_var": statespace.positive,
        "ar": statespace.stationary,
        "innovation_var": statespace.positive,
    }
    return statespace.fit(build, y, start, transforms=transforms, progress=False)


def plot(y, found, timed, path):
    """Smoothed levels of three series, and the times."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=(1.6, 1), layout="constrained")
    smooth = statespace.kalman_smoother(y[:3], *found.model)
    y, level, variance = map(
        on_host, (y[:3], smooth.smoothed_state[..., 0], smooth.smoothed_state_cov[..., 0, 0])
    )
    std = np.sqrt(variance)
    steps = np.arange(STEPS)
    for i, colour in enumerate(("tab:blue", "tab:red", "tab:green")):
        left.plot(steps, y[i, :, 0], ".", color=colour, markersize=4)
        left.plot(steps, level[i], color=colour)
        left.fill_between(
            steps, level[i] - 1.645 * std[i], level[i] + 1.645 * std[i], color=colour, alpha=0.2, linewidth=0
        )
    left.set(xlabel="time", title="three of the series, levels with 90 % bands")
    right.loglog(timed[:, 0], timed[:, 1], "o-", label="at once")
    right.loglog(timed[:, 0], timed[:, 2], "s-", label="one by one")
    right.set(xlabel="number of series", ylabel="seconds", title="value and gradient")
    right.legend(frameon=False)
    figure.savefig(path, dpi=130)


def on_host(x):
    """An array as NumPy's."""
    return x.get() if hasattr(x, "get") else x


def main(folder=HERE, asarray=np.asarray):
    """Simulate, measure, fit, print, draw; `asarray` makes the arrays, and so decides where they are."""
    y = asarray(simulate(np.random.default_rng(0)))
    params = {name: asarray(x) for name, x in TRUTH.items()}
    value, gradient = ld.value_and_grad(loglikelihood)(params, y)
    print(f"log likelihood of the true parameters {float(value):.2f}, its gradient")
    for name, slope in gradient.items():
        print(f"    {name:15s} {float(np.sum(slope)):10.2f}")

    timed = times(y, params)
    print(f"\n{'series':>8s} {'at once':>10s} {'one by one':>11s} {'ratio':>7s}")
    for count, at_once, one_by_one in timed:
        print(f"{count:8.0f} {at_once:8.4f} s {one_by_one:9.4f} s {one_by_one / at_once:6.1f}×")

    found = fit(y)
    print(f"\n{found}\n{found.search.nit} iterations; true: {TRUTH}")
    path = folder / "many_series.png"
    plot(y, found, timed, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", action="store_true", help="on a GPU, by CuPy")
    if parser.parse_args().cuda:
        from cupy import asarray
    else:
        from numpy import asarray
    main(HERE, asarray)
