"""A linear dynamical system whose parameters are given by a network, of what is known at each time.

Demand has a level that wanders.  By how much, how noisy observations are and by how much they are shifted
depends on the hour and on whether a promotion runs: by a network that maximizes the likelihood of the Kalman
filter, Seeger et al., "Auto-Differentiating Linear Algebra" (2017), section 3.4, and Rangapuram et al.,
"Deep State Space Models" (2018).  Beside it the same system with constant parameters.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lindiff as ld
from lindiff import statespace

ONE = np.eye(1)


def data(rng, days):
    """Hourly demand of some days, and what is known beforehand: the hour (sine, cosine), promotions."""
    hours = np.arange(24 * days)
    promoted = np.repeat(rng.random(days) < 0.3, 24) * (hours % 24 > 8)
    phase = 2 * np.pi * hours / 24
    known = np.stack([np.sin(phase), np.cos(phase), np.sin(2 * phase), np.cos(2 * phase), promoted], axis=1)
    level = np.cumsum(rng.standard_normal(len(hours)) * np.where(hours % 24 == 6, 1.0, 0.05))
    shift = 2 * np.exp(-0.5 * ((hours % 24 - 18) / 2.5) ** 2) * (1 + promoted)
    noise = np.where(hours % 24 < 7, 0.1, 0.5) * (1 + promoted)
    return known, level + shift + noise * rng.standard_normal(len(hours))


def start(rng, inputs, width=16):
    """A network of one hidden layer with three outputs, and the same without inputs."""
    first = {"W": rng.normal(0, inputs**-0.5, (inputs, width)), "b": rng.normal(0, 1, width)}
    return {"first": first, "last": {"W": 0.01 * rng.standard_normal((width, 3)), "b": np.zeros(3)}}


def parameters(p, known):
    """Log variances of level and observations, and the shift, of each time: three of (T,)."""
    hidden = np.tanh(known @ p["first"]["W"] + p["first"]["b"])
    return (hidden @ p["last"]["W"] + p["last"]["b"]).T


def log_density(p, known, y, per_step=False):
    """Of all observations, or of each given those before."""
    level, noise, shift = parameters(p, known)
    return statespace.loglikelihood(
        y,
        ONE,
        ONE,
        np.exp(level)[:, None, None],
        np.exp(noise)[:, None, None],
        np.zeros(1),
        10.0 * ONE,
        obs_intercept=shift[:, None],
        per_step=per_step,
    )


def fit(known, y, rng, steps):
    """Adam, at a rate that falls to a hundredth."""
    p, method = start(rng, known.shape[1]), ld.descent.adam(ld.descent.cosine(0.02, steps, 0.0002))
    state = method.init(p)
    slopes = ld.grad(lambda p: -log_density(p, known, y) / len(y))
    for _ in range(steps):
        p, state = method.update(slopes(p), state, p)
    return p


def main(folder, steps=1500):
    """Fit both to the first days, print log densities of the others, draw the parameters of a day."""
    rng = np.random.default_rng(0)
    known, y = data(rng, 60)
    learned = 40 * 24
    found = {}
    for name, inputs in (("constant", np.zeros_like(known)), ("network", known)):
        p = found[name] = fit(inputs[:learned], y[:learned], rng, steps)
        each = log_density(p, inputs, y, per_step=True)
        print(f"{name}: log density of an observation {np.mean(each[learned:]):.3f}")
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
    hours = np.arange(24)
    for promoted in (0.0, 1.0):
        known[:24, 4] = promoted
        level, noise, shift = parameters(found["network"], known[:24])
        shown = {
            "sd of the level's step": np.exp(level / 2),
            "sd of noise": np.exp(noise / 2),
            "shift": shift,
        }
        for axes, (title, values) in zip(panels, shown.items(), strict=True):
            axes.plot(hours, values, label="promotion" if promoted else "none")
            axes.set(title=title, xlabel="hour")
    panels[0].legend()
    figure.savefig(folder / "neural_dynamics.png", dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500, help="default: %(default)s")
    main(Path(__file__).parent, parser.parse_args().steps)
