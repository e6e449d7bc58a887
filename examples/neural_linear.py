"""Bayesian linear regression on features that a network learns, both by the evidence.

The network and the variances of weights and noise maximize the log evidence of the linear regression on its
last layer, which the LQ factorization gives: Seeger et al., "Auto-Differentiating Linear Algebra" (2017),
section 3.3.  The linear part's uncertainty is exact.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lindiff as ld
from lindiff.linalg import gelqf_l, sumlogdiag, trsm


def data(rng, points):
    """Observations of a bend on both sides of a gap."""
    x = np.concatenate([rng.uniform(-4, -1, points), rng.uniform(1.5, 4, points)])
    return x, np.sin(1.5 * x) * np.sqrt(np.abs(x)) + 0.1 * rng.standard_normal(len(x))


def start(rng, width=20):
    """Two layers, and logarithms of the variances of weights and noise."""
    hidden = {"W": rng.normal(0, 1, (width, 1)), "b": rng.normal(0, 2, width)}
    last = {"W": rng.normal(0, width**-0.5, (width, width)), "b": np.zeros(width)}
    return {"layers": [hidden, last], "logs": np.log([1.0, 0.1])}


def features(layers, x):
    """X (d, n) of inputs (n,): the last layer and a constant."""
    X = x[None]
    for layer in layers:
        X = np.tanh(layer["W"] @ X + layer["b"][:, None])
    return np.concatenate([X, np.ones((1, len(x)))])


def factor(p, x, y):
    """L of I + α X Xᵀ and z = L⁻¹ X y, α = prior_var / noise_var."""
    prior_var, noise_var = np.exp(p["logs"])
    X = features(p["layers"], x)
    L = gelqf_l(np.concatenate([np.eye(len(X)), np.sqrt(prior_var / noise_var) * X], axis=1))
    return L, trsm(L, X @ y[:, None])


def log_evidence(p, x, y):
    prior_var, noise_var = np.exp(p["logs"])
    L, z = factor(p, x, y)
    misfit = (y @ y - prior_var / noise_var * np.sum(z**2)) / noise_var
    return -sumlogdiag(L) - 0.5 * (len(y) * np.log(2 * np.pi * noise_var) + misfit)


def predict(p, x, y, new):
    """Means and standard deviations of observations at new inputs."""
    prior_var, noise_var = np.exp(p["logs"])
    L, z = factor(p, x, y)
    V = trsm(L, features(p["layers"], new))
    return prior_var / noise_var * (V.T @ z)[:, 0], np.sqrt(noise_var + prior_var * np.sum(V**2, axis=0))


def fit(x, y, rng, steps):
    """Adam, at a rate that falls to a hundredth."""
    p, method = start(rng), ld.descent.adam(ld.descent.cosine(0.01, steps, 0.0001))
    state = method.init(p)
    slopes = ld.program(ld.grad(lambda p: -log_evidence(p, x, y)))
    for _ in range(steps):
        p, state = method.update(slopes(p), state, p)
    return p


def main(folder, steps=3000):
    """Fit, print the evidence and how wide predictions are, draw."""
    rng = np.random.default_rng(1)
    x, y = data(rng, 40)
    p = fit(x, y, rng, steps)
    at_data, in_gap = (predict(p, x, y, np.array(new))[1].mean() for new in ([-3.0, 3.0], [0.0, 0.5]))
    print(f"log evidence {log_evidence(p, x, y):.2f}, noise sd {np.exp(0.5 * p['logs'][1]):.3f}")
    print(f"sd of a prediction: {at_data:.3f} among the data, {in_gap:.3f} in the gap")
    grid = np.linspace(-5, 5, 400)
    mean, std = predict(p, x, y, grid)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    axes.fill_between(grid, mean - 2 * std, mean + 2 * std, alpha=0.2)
    axes.plot(grid, mean)
    axes.plot(x, y, "k.")
    axes.set(xlabel="x", ylabel="y", title="Linear regression on a network's features: data, mean ± 2 sd")
    figure.savefig(folder / "neural_linear.png", dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000, help="default: %(default)s")
    main(Path(__file__).parent, parser.parse_args().steps)
