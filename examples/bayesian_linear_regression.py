"""Bayesian linear regression through the LQ factorization, its features learned by the evidence.

Seeger et al., "Auto-Differentiating Linear Algebra" (2017), section 3.3: with features X (d, n),
α = prior_var / noise_var and B = [I, √α X] = L Q, the factor L is that of I + α X Xᵀ without forming it, and

    -log P(y) = log |L| + ½ (n log 2π noise_var + (|y|² - α |L⁻¹ X y|²) / noise_var).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import lindiff as ld
from lindiff.linalg import gelqf, sumlogdiag, trsm

CENTRES = np.linspace(-4, 4, 17)


def features(x, width):
    """Radial basis functions and a constant: X (d, n) for inputs x (n,)."""
    bumps = np.exp(-0.5 * ((x - CENTRES[:, None]) / width) ** 2)
    return np.concatenate([bumps, np.ones((1, len(x)))])


def factor(theta, x, y):
    """L and z = L⁻¹ X y; theta holds log width, log prior variance, log noise variance."""
    width, prior_var, noise_var = np.exp(theta)
    X = features(x, width)
    _, L = gelqf(np.concatenate([np.eye(len(X)), np.sqrt(prior_var / noise_var) * X], axis=1))
    return L, trsm(L, X @ y[:, None])


def criterion(theta, x, y):
    """Negative log evidence."""
    _, prior_var, noise_var = np.exp(theta)
    L, z = factor(theta, x, y)
    fit = (y @ y - prior_var / noise_var * np.sum(z**2)) / noise_var
    return sumlogdiag(L) + 0.5 * (len(y) * np.log(2 * np.pi * noise_var) + fit)


rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-4, 4, 80))
y = np.tanh(2 * x) + 0.5 * np.cos(2 * x) + 0.15 * rng.normal(size=x.size)
fit = minimize(ld.value_and_grad(criterion), np.zeros(3), args=(x, y), jac=True, method="L-BFGS-B")
width, prior_var, noise_var = np.exp(fit.x)
print(f"log evidence {-fit.fun:.3f}, {width=:.3f}, {prior_var=:.3f}, {noise_var=:.4f}")
x_new = np.linspace(-5, 5, 400)
L, z = factor(fit.x, x, y)
V = trsm(L, features(x_new, width))
mean = prior_var / noise_var * (V.T @ z)[:, 0]
std = np.sqrt(noise_var + prior_var * np.sum(V**2, axis=0))
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.fill_between(x_new, mean - 2 * std, mean + 2 * std, alpha=0.2)
axes.plot(x_new, mean)
axes.plot(x, y, "k.")
axes.set(xlabel="x", ylabel="y", title="Bayesian linear regression by LQ: data, mean ± 2 sd")
figure.savefig(__file__.replace(".py", ".png"), dpi=130)
