"""Two common factors of 20 series with gaps: maximum likelihood, and the factors beside the true ones.

    y_t = loadings f_t + u_t,    f_t = diag(factor_ar) f_{t-1} + N(0, 1),    u_t ~ N(0, diag(obs_var))

A third of the data is missing: series that begin late or end early, stretches without any, single values.
The first series does not follow the second factor, which fixes what the factors are but for their signs.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from lindiff import statespace

HERE = Path(__file__).parent
STEPS, SERIES, FACTORS = 200, 20, 2


def build(first, others, factor_ar, obs_var):
    """The model; `first`: the only loading of the first series, `others`: those of the rest (19, 2)."""
    row = np.stack([first, 0 * first])
    loadings = np.concatenate([row[None], others])
    return statespace.dynamic_factor(loadings, np.diag(factor_ar), obs_var)


def simulate(rng):
    """True parameters, true factors (200, 2), and observations (200, 20) with gaps."""
    truth = {
        "first": np.array(1.5),
        "others": rng.normal(size=(SERIES - 1, FACTORS)),
        "factor_ar": np.array([0.95, 0.7]),
        "obs_var": rng.uniform(0.5, 3.0, SERIES),
    }
    factors, y = statespace.simulate(STEPS, *build(**truth), rng=rng)
    return truth, factors, with_gaps(y, rng)


def with_gaps(y, rng):
    """Late beginnings, early ends, a stretch without most series, and one value in ten."""
    y = np.where(rng.random(y.shape) < 0.1, np.nan, y)
    y[:70, 1::3] = np.nan
    y[150:, 2::4] = np.nan
    y[95:115, 4:] = np.nan
    return y


def start(y):
    """Where the search begins: principal components of what is observed."""
    values, vectors = np.linalg.eigh(np.cov(np.nan_to_num(y).T))
    loadings = vectors[:, -FACTORS:] * np.sqrt(values[-FACTORS:]) / 2
    return {
        "first": loadings[0, 0],
        "others": loadings[1:],
        "factor_ar": np.full(FACTORS, 0.5),
        "obs_var": np.nanvar(y, axis=0),
    }


def fit(y):
    """All 61 parameters, with exact gradients."""
    between = statespace.Transform(np.tanh, np.arctanh)  # autoregressions between -1 and 1
    transforms = {"factor_ar": between, "obs_var": statespace.positive}
    return statespace.fit(build, y, start(y), transforms=transforms, progress=False)


def factors_given(y, found):
    """Smoothed factors and their standard deviations, both (200, 2)."""
    smooth = statespace.kalman_smoother(y, *found.model)
    return smooth.smoothed_state, np.sqrt(np.diagonal(smooth.smoothed_state_cov, axis1=1, axis2=2))


def plot(y, truth, mean, std, path):
    """What is observed, and the factors with their bands."""
    figure, axes = plt.subplots(1 + FACTORS, 1, figsize=(9, 7), sharex=True, layout="constrained")
    axes[0].imshow(np.isnan(y).T, aspect="auto", cmap="Greys", interpolation="none")
    axes[0].set(ylabel="series", title="missing values")
    steps = np.arange(len(y))
    for i, axis in enumerate(axes[1:]):
        axis.plot(steps, truth[:, i], color="0.2", linewidth=1, label="true")
        axis.plot(steps, mean[:, i], color="tab:blue", linewidth=1, label="smoothed, 90 % band")
        low, high = (mean[:, i] + s * 1.645 * std[:, i] for s in (-1, 1))
        axis.fill_between(steps, low, high, color="tab:blue", alpha=0.25, linewidth=0)
        axis.set(ylabel=f"factor {i + 1}")
    axes[1].legend(loc="upper right", frameon=False)
    axes[-1].set(xlabel="time")
    figure.savefig(path, dpi=130)


def main(folder=HERE):
    """Simulate, fit, print, draw."""
    truth, factors, y = simulate(np.random.default_rng(5))
    print(f"{np.isnan(y).mean():.0%} of the data are missing")

    found = fit(y)
    print(f"log likelihood {found.loglikelihood:.2f} after {found.search.nit} iterations")
    at_truth = statespace.loglikelihood(y, *build(**truth))
    print(f"            of the true parameters {at_truth:.2f}")

    mean, std = factors_given(y, found)
    sign = np.sign(np.sum(mean * factors, axis=0))
    mean = mean * sign
    print(f"\n{'':10s} autoregression std. error   true  correlation  in band")
    for i in range(FACTORS):
        correlation = np.corrcoef(mean[:, i], factors[:, i])[0, 1]
        inside = np.mean(np.abs(mean[:, i] - factors[:, i]) < 1.645 * std[:, i])
        print(
            f"factor {i + 1:<3d} {found.params['factor_ar'][i]:14.3f} "
            f"{found.standard_errors['factor_ar'][i]:10.3f} {truth['factor_ar'][i]:6.2f} "
            f"{correlation:12.3f} {inside:8.0%}"
        )
    path = folder / "dynamic_factor.png"
    plot(y, factors, mean, std, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
