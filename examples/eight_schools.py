"""Eight schools: the no-U-turn sampler, in NumPy, with the posterior's gradient as a program.

The effects of coaching in eight schools (Rubin 1981; Gelman et al., Bayesian Data Analysis, section 5.5):

    y_j ~ N(theta_j, s_j²), theta_j = mu + tau eta_j, eta_j ~ N(0, 1), mu ~ N(0, 5²), tau ~ half-Cauchy(5).

Hoffman and Gelman (2014), "The no-U-turn sampler", Journal of Machine Learning Research 15, algorithms 3, 5.
Prints the posterior, and how long a gradient takes with and without the program.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import lindiff as ld

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
TUNING, DRAWS = 500, 2000


def log_density(x):
    """Of x = (mu, log tau, eta), up to a constant; the last term is the Jacobian of the logarithm."""
    mu, log_tau, eta = x[0], x[1], x[2:]
    tau = np.exp(log_tau)
    residuals = (EFFECTS - mu - tau * eta) / ERRORS
    prior = -0.5 * (mu / 5) ** 2 - np.log1p((tau / 5) ** 2) - 0.5 * np.sum(eta**2)
    return prior - 0.5 * np.sum(residuals**2) + log_tau


plain = ld.value_and_grad(log_density)
gradient = ld.program(plain)


@dataclass
class State:
    """A place, a momentum, and the log density and its gradient there."""

    x: Any
    p: Any
    log_density: Any
    slope: Any

    @property
    def log_joint(self):
        return self.log_density - 0.5 * self.p @ self.p


def leapfrog(s, step):
    p = s.p + 0.5 * step * s.slope
    x = s.x + step * p
    value, slope = gradient(x)
    return State(x, p + 0.5 * step * slope, value, slope)


@dataclass
class Tree:
    """States in a row: the first and the last, one that is chosen, of how many, and whether they go on."""

    first: State
    last: State
    chosen: State
    count: int
    goes_on: bool
    accepted: float
    steps: int


def build(s, direction, depth, log_slice, step, start, rng):
    if depth == 0:
        new = leapfrog(s, direction * step)
        return Tree(
            new,
            new,
            new,
            int(log_slice <= new.log_joint),
            log_slice < new.log_joint + 1000,
            min(1.0, float(np.exp(min(0.0, new.log_joint - start)))),
            1,
        )
    tree = build(s, direction, depth - 1, log_slice, step, start, rng)
    return extended(tree, direction, depth - 1, log_slice, step, start, rng) if tree.goes_on else tree


def extended(tree, direction, depth, log_slice, step, start, rng, whole=False):
    """A tree with another one as large behind or before it."""
    end = tree.last if direction > 0 else tree.first
    other = build(end, direction, depth, log_slice, step, start, rng)
    first, last = (tree.first, other.last) if direction > 0 else (other.first, tree.last)
    count = tree.count + other.count
    chance = other.count / max(tree.count if whole else count, 1)
    chosen = other.chosen if other.goes_on | (not whole) and rng.random() < chance else tree.chosen
    apart = last.x - first.x
    goes_on = other.goes_on and apart @ first.p >= 0 and apart @ last.p >= 0
    return Tree(first, last, chosen, count, goes_on, tree.accepted + other.accepted, tree.steps + other.steps)


def sample(x, rng):
    """Draws after the step has been tuned to accept 0.8 (Nesterov's dual averaging)."""
    value, slope = gradient(x)
    step, smooth, average, error = 0.1, 0.1, 0.0, 0.0
    draws, steps = [], 0
    for m in range(1, TUNING + DRAWS + 1):
        s = State(x, rng.standard_normal(len(x)), value, slope)
        start = s.log_joint
        log_slice = start - rng.exponential()
        tree = Tree(s, s, s, 1, True, 0.0, 0)
        depth = 0
        while tree.goes_on and depth < 8:
            tree = extended(tree, rng.choice([-1, 1]), depth, log_slice, step, start, rng, whole=True)
            depth += 1
        x, value, slope = tree.chosen.x, tree.chosen.log_density, tree.chosen.slope
        steps += tree.steps
        if m <= TUNING:
            error += (0.8 - tree.accepted / tree.steps - error) / (m + 10)
            step = float(np.exp(-np.sqrt(m) / 0.05 * error))
            weight = m**-0.75
            average = weight * np.log(step) + (1 - weight) * average
            smooth = float(np.exp(average))
        else:
            step = smooth
            draws.append(x)
    return np.array(draws), steps


def microseconds(function, x):
    times = []
    for _ in range(2000):
        began = perf_counter()
        function(x)
        times.append(perf_counter() - began)
    return 1e6 * np.median(times)


def main():
    rng = np.random.default_rng(0)
    draws, steps = sample(np.zeros(10), rng)
    mu, tau = draws[:, 0], np.exp(draws[:, 1])
    theta = mu[:, None] + tau[:, None] * draws[:, 2:]
    print(f"{len(draws)} draws, {steps} gradients")
    print(f"{'':10}{'mean':>8}{'sd':>8}")
    for name, values in [("mu", mu), ("tau", tau), *((f"school {j + 1}", theta[:, j]) for j in range(8))]:
        print(f"{name:10}{values.mean():8.2f}{values.std():8.2f}")
    x = np.zeros(10)
    print(f"value in NumPy          {microseconds(log_density, x):6.1f} µs")
    print(f"value and gradient      {microseconds(plain, x):6.1f} µs")
    print(f"the same as a program   {microseconds(gradient, x):6.1f} µs")


if __name__ == "__main__":
    main()
