"""The local level model of the Nile, fitted with exact derivatives of a plain NumPy Kalman filter.

    level_t+1 = level_t + N(0, level_var),        flow_t = level_t + N(0, noise_var)

The filter knows nothing of lindiff. Its gradient drives the fit, its Hessian gives standard errors, and its
gradient with respect to the *data* gives the smoothed level, without a smoother being written:
log p(y) of a Gaussian has gradient -inv(Cov) (y - mean), and E[noise | y] = -noise_var * gradient.

Durbin & Koopman, Time Series Analysis by State Space Methods, section 2.10: 15099 and 1469.1.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import lindiff as ld

HERE = Path(__file__).parent
HORIZON = 12


def kalman_filter(y, transition, design, state_cov, obs_cov, state, state_cov_0):
    """Log likelihood of observations y (T, p), and mean and covariance of the state after the last.

    The equations of Seeger et al., "Auto-Differentiating Linear Algebra" (2017), section 3.4.
    """
    identity = np.eye(len(state))
    loglik = -0.5 * y.size * np.log(2 * np.pi)
    f, F = state, state_cov_0
    for t in range(len(y)):
        if t > 0:  # at the first step the prior is the prediction
            f, F = transition @ f, transition @ F @ transition.T + state_cov
        S_hv = F @ design.T
        L = np.linalg.cholesky(design @ S_hv + obs_cov)
        delta = y[t] - design @ f
        w = np.linalg.solve(L, delta)
        K = np.linalg.solve(L.T, np.linalg.solve(L, S_hv.T)).T
        I_KB = identity - K @ design
        f, F = f + K @ delta, I_KB @ F @ I_KB.T + K @ obs_cov @ K.T
        loglik = loglik - 0.5 * w @ w - np.sum(np.log(np.diag(L)))
    return loglik, f, F


def local_level(variances, y):
    """The filter of the local level model, exactly diffuse: nothing is known before the first observation,
    which then is the prediction of the next (Durbin & Koopman, section 2.9)."""
    noise_var, level_var = variances[:1, None], variances[1:, None]
    return kalman_filter(y[1:], np.eye(1), np.eye(1), level_var, noise_var, y[0], noise_var + level_var)


def loglikelihood(variances, y):
    """Log likelihood alone."""
    return local_level(variances, y)[0]


def fit(y):
    """Maximum likelihood over the logarithms of the variances (BFGS with the exact gradient)."""
    objective = ld.value_and_grad(lambda theta: -loglikelihood(np.exp(theta), y))
    print("iteration   noise var   level var   log likelihood")
    steps = []

    def report(theta):
        steps.append(theta)
        noise_var, level_var = np.exp(theta)
        print(f"{len(steps):9d} {noise_var:11.1f} {level_var:11.1f} {loglikelihood(np.exp(theta), y):16.6f}")

    start = np.log(np.full(2, np.var(y) / 2))
    result = minimize(objective, start, jac=True, method="BFGS", callback=report, options={"gtol": 1e-6})
    return np.exp(result.x)


def smooth(variances, y):
    """Smoothed level and its standard deviation, from first and second derivatives by the data."""
    noise_var = variances[0]
    score = ld.grad(loglikelihood, argnums=1)
    residual = -noise_var * score(variances, y)[:, 0]
    curvature = np.diagonal(ld.jacobian(lambda data: score(variances, data)[:, 0])(y)[:, :, 0])
    return y[:, 0] - residual, np.sqrt(noise_var + noise_var**2 * curvature)


def plot(years, y, level, level_std, forecast, forecast_std, path):
    """Data, smoothed level with its band, and the forecast."""
    ahead = years[-1] + 1 + np.arange(HORIZON)
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    axes.plot(years, y, ".", color="0.3", label="annual flow")
    axes.plot(years, level, color="tab:blue", label="smoothed level, 90 % band")
    axes.fill_between(years, *(level + s * 1.645 * level_std for s in (-1, 1)), color="tab:blue", alpha=0.2)
    axes.plot(ahead, forecast, color="tab:red", label="forecast, 50 % and 90 % bands")
    for z, alpha in ((0.674, 0.3), (1.645, 0.15)):
        low, high = (forecast + s * z * forecast_std for s in (-1, 1))
        axes.fill_between(ahead, low, high, color="tab:red", alpha=alpha, linewidth=0)
    axes.set(xlabel="year", ylabel="flow at Aswan, $10^8$ m$^3$", title="Nile, local level model")
    axes.legend(loc="upper right", frameon=False)
    figure.savefig(path, dpi=130)


def main():
    """Fit, print, draw."""
    years, flow = np.loadtxt(HERE / "data" / "nile.csv", delimiter=",", skiprows=1, unpack=True)
    y = flow[:, None]
    variances = fit(y)
    covariance = np.linalg.inv(-ld.hessian(loglikelihood)(variances, y))

    print(f"\n{'':10s} {'estimate':>10s} {'std. error':>10s} {'Durbin & Koopman':>17s}")
    std_errors = np.sqrt(np.diag(covariance))
    for k, (name, textbook) in enumerate((("noise var", 15099), ("level var", 1469.1))):
        print(f"{name:10s} {variances[k]:10.1f} {std_errors[k]:10.1f} {textbook:17.1f}")

    loglik, level_end, level_var_end = local_level(variances, y)
    print(f"log likelihood {loglik:.4f}")
    level, level_std = smooth(variances, y)
    forecast = np.full(HORIZON, level_end[0])
    forecast_std = np.sqrt(level_var_end[0, 0] + variances[1] * np.arange(1, HORIZON + 1) + variances[0])
    path = HERE / "nile.png"
    plot(years, y, level, level_std, forecast, forecast_std, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
