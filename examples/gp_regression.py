"""Gaussian process regression by maximum marginal likelihood.

The criterion of Seeger et al., "Auto-Differentiating Linear Algebra" (2017), section 3.1: with the Cholesky
factor A = K + noise_var I = L Lᵀ and z = L⁻¹ y,

    -log N(y | 0, A) = ½ (|z|² + n log 2π) + log |L|.

It stands here twice: written in operators, and as the one operator that `gp_logpdf` is.
"""

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
    L = potrf(kernel(x, x, length, amplitude) + noise_var * np.eye(len(x)))
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
    F = cho_factor(kernel(x, x, length, amplitude) + noise_var * np.eye(len(x)))
    variance = 1 / F.diag_inv()
    residual = F.solve(y) * variance
    return -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)


def predict(theta, x, y, x_new):
    """Mean and variance of noisy observations at x_new."""
    L, z = factor_and_targets(theta, x, y)
    length, amplitude, noise_var = np.exp(theta)
    V = trsm(L, kernel(x, x_new, length, amplitude))
    return (V.T @ z)[:, 0], amplitude + noise_var - np.sum(V**2, axis=0)


rng = np.random.default_rng(7)
x = np.sort(rng.uniform(0, 10, 60))
y = np.sin(x) + 0.3 * np.cos(3 * x) + 0.2 * rng.normal(size=x.size)
fit = minimize(ld.value_and_grad(fused_criterion), np.zeros(3), args=(x, y), jac=True, method="L-BFGS-B")
print(f"log marginal likelihood {-fit.fun:.3f} after {fit.nit} iterations")
print(f"the same in single operators {-criterion(fit.x, x, y):.3f}")
print("length {:.3f}, amplitude {:.3f}, noise variance {:.4f}".format(*np.exp(fit.x)))
print(f"log density of left-out observations {leave_one_out(fit.x, x, y).sum():.3f}")

x_new = np.linspace(-1, 11, 400)
mean, variance = predict(fit.x, x, y, x_new)
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.fill_between(x_new, *(mean + s * 2 * np.sqrt(variance) for s in (-1, 1)), alpha=0.2)
axes.plot(x_new, mean)
axes.plot(x, y, "k.")
axes.set(xlabel="x", ylabel="y", title="Gaussian process regression: data, mean ± 2 sd")
figure.savefig(__file__.replace(".py", ".png"), dpi=130)
