"""Gaussian process regression by maximum marginal likelihood.

The criterion of Seeger et al., "Auto-Differentiating Linear Algebra" (2017), section 3.1: with the Cholesky
factor A = K + noise_var I = L Lᵀ and z = L⁻¹ y,

    -log N(y | 0, A) = ½ (|z|² + n log 2π) + log |L|.

It stands here twice: written in operators, and as the one operator that `gp_logpdf` is.  With --cuda the same
functions run on a GPU: they get CuPy's arrays.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import lindiff as ld
from lindiff.linalg import cho_factor, gp_logpdf, potrf, sumlogdiag, trsm


def kernel(x1, x2, length, amplitude):
    """Squared exponential covariance between points x1 (n,) and x2 (m,)."""
    return amplitude * np.exp(-0.5 * ((x1[:, None] - x2) / length) ** 2)


def factor_and_targets(theta, x, y):
    """L and z of the criterion; theta holds log length, log amplitude, log noise variance."""
    length, amplitude, noise_var = np.exp(theta)
    L = potrf(kernel(x, x, length, amplitude) + noise_var * np.identity(len(x), like=x))
    return L, trsm(L, y[:, None])


def criterion(theta, x, y):
    """Negative log marginal likelihood."""
    L, z = factor_and_targets(theta, x, y)
    return 0.5 * (np.sum(z**2) + len(x) * np.log(2 * np.pi)) + sumlogdiag(L)


def fused_criterion(theta, x, y):
    """The same in one operator: the gradient overwrites the only matrix that it needs."""
    length, amplitude, noise_var = np.exp(theta)
    return -gp_logpdf(y, kernel(x, x, length, amplitude), noise_var)


def leave_one_out(theta, x, y):
    """Log density of each observation given all others; Rasmussen & Williams (2006), eqs. 5.10 to 5.12."""
    length, amplitude, noise_var = np.exp(theta)
    F = cho_factor(kernel(x, x, length, amplitude) + noise_var * np.identity(len(x), like=x))
    variance = 1 / F.diag_inv()
    residual = F.solve(y) * variance
    return -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)


def predict(theta, x, y, x_new):
    """Mean and variance of noisy observations at x_new."""
    L, z = factor_and_targets(theta, x, y)
    length, amplitude, noise_var = np.exp(theta)
    V = trsm(L, kernel(x, x_new, length, amplitude))
    return (V.T @ z)[:, 0], amplitude + noise_var - np.sum(V**2, axis=0)


def fit(x, y, asarray):
    """The theta of the largest marginal likelihood; SciPy's search sees NumPy's arrays alone."""

    def value_and_gradient(theta):
        value, gradient = ld.value_and_grad(fused_criterion)(asarray(theta), x, y)
        return float(value), on_host(gradient)

    return minimize(value_and_gradient, np.zeros(3), jac=True, method="L-BFGS-B")


def on_host(x):
    """An array as NumPy's."""
    return x.get() if hasattr(x, "get") else x


def plot(x, y, x_new, mean, variance, path):
    """Data, and the prediction with its band."""
    x, y, x_new, mean, variance = map(on_host, (x, y, x_new, mean, variance))
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.fill_between(x_new, *(mean + s * 2 * np.sqrt(variance) for s in (-1, 1)), alpha=0.2)
    axes.plot(x_new, mean)
    axes.plot(x, y, "k.")
    axes.set(xlabel="x", ylabel="y", title="Gaussian process regression: data, mean ± 2 sd")
    figure.savefig(path, dpi=130)


def main(folder, asarray=np.asarray, points=60):
    """Fit, print, predict, draw; `asarray` makes the arrays, and so decides where they are."""
    rng = np.random.default_rng(7)
    x = np.sort(rng.uniform(0, 10, points))
    y = np.sin(x) + 0.3 * np.cos(3 * x) + 0.2 * rng.normal(size=x.size)
    x, y, x_new = asarray(x), asarray(y), asarray(np.linspace(-1, 11, 400))
    found = fit(x, y, asarray)
    theta = asarray(found.x)
    print(f"log marginal likelihood {-found.fun:.3f} after {found.nit} iterations")
    print(f"the same in single operators {-float(criterion(theta, x, y)):.3f}")
    print("length {:.3f}, amplitude {:.3f}, noise variance {:.4f}".format(*np.exp(found.x)))
    print(f"log density of left-out observations {float(leave_one_out(theta, x, y).sum()):.3f}")
    plot(x, y, x_new, *predict(theta, x, y, x_new), folder / "gp_regression.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", action="store_true", help="on a GPU, by CuPy")
    parser.add_argument("--points", type=int, default=60, help="default: %(default)s")
    options = parser.parse_args()
    if options.cuda:
        from cupy import asarray
    else:
        from numpy import asarray
    main(Path(__file__).parent, asarray, options.points)
