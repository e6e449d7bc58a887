"""A deep Gaussian process: a step, which no stationary kernel fits, by two layers.

The doubly stochastic bound of Salimbeni & Deisenroth (2017), NIPS 30: draws of the first layer are the points
of the second one, whose variational bound, less the divergence of the first, is maximized by all numbers of
both.  Beside it an ordinary Gaussian process, fitted to the same data.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lindiff as ld
from lindiff import gp
from lindiff.gp.kernels import RBF


def data(rng, points=100):
    """A step of height 1 at 0, with noise."""
    x = rng.uniform(-1, 1, points)
    return x, (x > 0) + 0.05 * rng.standard_normal(points)


def start(inducing=12):
    """Both layers: kernels and noise by logarithms, inducing points, and variational distributions."""
    Z = np.linspace(-1, 1, inducing)
    layer = {"logs": np.zeros(2), "Z": Z, "m": np.zeros(inducing), "R": 0.1 * np.eye(inducing)}
    return {"first": layer, "second": dict(layer), "log_noise": np.log(0.1)}


def kernel(layer):
    variance, length = np.exp(layer["logs"])
    return variance * RBF(length)


def identity(X):
    return X[:, 0]


def noise(p):
    return gp.Gaussian(np.exp(2 * p["log_noise"]))


def draws(p, x, normal):
    """The first layer at points, for standard normal numbers: the points themselves, and a process."""
    layer = p["first"]
    first = gp.variational_posterior(kernel(layer), layer["Z"], layer["m"], layer["R"], mean=identity)
    mean, var = first.mean_and_var(x)
    return mean + np.sqrt(var + 1e-10) * normal


def bound(p, x, y, normal):
    """An unbiased estimate of the lower bound, by one draw for each point."""
    second = p["second"]
    of_draws = gp.variational_bound(
        kernel(second), draws(p, x, normal), y, second["Z"], second["m"], second["R"], noise(p)
    )
    return of_draws - gp.divergence(p["first"]["m"], p["first"]["R"])


def fit(x, y, rng, steps):
    """Adam, at a rate that falls to a tenth."""
    p, method = start(), ld.descent.adam(ld.descent.cosine(0.02, steps, 0.002))
    state = method.init(p)
    slopes = ld.program(ld.grad(lambda p, normal: -bound(p, x, y, normal)))
    for _ in range(steps):
        p, state = method.update(slopes(p, rng.standard_normal(len(x))), state, p)
    return p


def predict(p, x, rng, size=50):
    """Means and variances of observations of each of some draws of the first layer: (size, m)."""
    second = p["second"]
    posterior = gp.variational_posterior(kernel(second), second["Z"], second["m"], second["R"], noise(p))
    moments = [posterior.mean_and_var(draws(p, x, rng.standard_normal(len(x)))) for _ in range(size)]
    mean, var = map(np.stack, zip(*moments, strict=True))
    return mean, var + np.exp(2 * p["log_noise"])


def log_density(y, mean, var):
    """Of observations under a mixture of normal distributions along the first axis."""
    each = -0.5 * ((y - mean) ** 2 / var + np.log(2 * np.pi * var))
    return np.logaddexp.reduce(each, axis=0) - np.log(len(each))


def plot(x, y, grid, shallow, deep, path):
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    mean, var = deep
    moments = mean.mean(axis=0), var.mean(axis=0) + mean.var(axis=0)
    for axes, title, (mean, var) in zip(panels, ("one layer", "two layers"), (shallow, moments), strict=True):
        axes.fill_between(grid, *(mean + s * 2 * np.sqrt(var) for s in (-1, 1)), alpha=0.2)
        axes.plot(grid, mean)
        axes.plot(x, y, "k.", markersize=3)
        axes.set_title(f"{title}: mean ± 2 sd")
    figure.savefig(path, dpi=130)


def main(folder, steps=3000):
    """Fit both, print log densities of other observations, draw."""
    rng = np.random.default_rng(0)
    (x, y), (new, others) = data(rng), data(rng, 500)
    shallow = gp.fit(x, y).posterior()
    moments = [part[None] for part in shallow.mean_and_var(new, noise=True)]
    print(f"one layer:  log density of an observation {np.mean(log_density(others, *moments)):.3f}")
    p = fit(x, y, rng, steps)
    moments = predict(p, new, rng)
    print(f"two layers: log density of an observation {np.mean(log_density(others, *moments)):.3f}")
    grid = np.linspace(-1.3, 1.3, 300)
    plot(x, y, grid, shallow.mean_and_var(grid, noise=True), predict(p, grid, rng), folder / "deep_gp.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000, help="default: %(default)s")
    main(Path(__file__).parent, parser.parse_args().steps)
