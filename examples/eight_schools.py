"""Eight schools: the no-U-turn sampler, in NumPy; its gradients are a program's, of all chains at once.

The effects of coaching in eight schools (Rubin 1981; Gelman et al., Bayesian Data Analysis, section 5.5):

    y_j ~ N(theta_j, s_j²), theta_j = mu + tau eta_j, eta_j ~ N(0, 1), mu ~ N(0, 5²), tau ~ half-Cauchy(5).

Hoffman and Gelman (2014), "The no-U-turn sampler", Journal of Machine Learning Research 15, algorithms 3
and 5.  A chain is a generator: it asks for the gradient at a place, and goes on when it has it; so chains of
their own ways share each call of the gradient.  Prints the posterior, whether the chains agree (Gelman's and
Rubin's R̂, 1 where they do), and how long a gradient takes with and without the program.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import lindiff as ld

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
TUNING, DRAWS, CHAINS = 500, 500, 4


def log_density(x):
    """Of x = (mu, log tau, eta), up to a constant; the last term is the Jacobian of the logarithm."""
    mu, log_tau, eta = x[0], x[1], x[2:]
    tau = np.exp(log_tau)
    residuals = (EFFECTS - mu - tau * eta) / ERRORS
    prior = -0.5 * (mu / 5) ** 2 - np.log1p((tau / 5) ** 2) - 0.5 * np.sum(eta**2)
    return prior - 0.5 * np.sum(residuals**2) + log_tau


plain = ld.value_and_grad(log_density)
gradient = ld.program(plain)
gradients = ld.vmap(gradient)


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
    value, slope = yield x
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
        new = yield from leapfrog(s, direction * step)
        return Tree(
            new,
            new,
            new,
            int(log_slice <= new.log_joint),
            log_slice < new.log_joint + 1000,
            min(1.0, float(np.exp(min(0.0, new.log_joint - start)))),
            1,
        )
    tree = yield from build(s, direction, depth - 1, log_slice, step, start, rng)
    if not tree.goes_on:
        return tree
    return (yield from extended(tree, direction, depth - 1, log_slice, step, start, rng))


def extended(tree, direction, depth, log_slice, step, start, rng, whole=False):
    """A tree with another one as large behind or before it."""
    end = tree.last if direction > 0 else tree.first
    other = yield from build(end, direction, depth, log_slice, step, start, rng)
    first, last = (tree.first, other.last) if direction > 0 else (other.first, tree.last)
    count = tree.count + other.count
    chance = other.count / max(tree.count if whole else count, 1)
    chosen = other.chosen if other.goes_on | (not whole) and rng.random() < chance else tree.chosen
    apart = last.x - first.x
    goes_on = other.goes_on and apart @ first.p >= 0 and apart @ last.p >= 0
    return Tree(first, last, chosen, count, goes_on, tree.accepted + other.accepted, tree.steps + other.steps)


def sample(x, rng):
    """Draws after the step has been tuned to accept 0.8 (Nesterov's dual averaging)."""
    value, slope = yield x
    step, smooth, average, error = 0.1, 0.1, 0.0, 0.0
    draws, steps = [], 0
    for m in range(1, TUNING + DRAWS + 1):
        s = State(x, rng.standard_normal(len(x)), value, slope)
        start = s.log_joint
        log_slice = start - rng.exponential()
        tree = Tree(s, s, s, 1, True, 0.0, 0)
        depth = 0
        while tree.goes_on and depth < 8:
            direction = rng.choice([-1, 1])
            tree = yield from extended(tree, direction, depth, log_slice, step, start, rng, whole=True)
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


def run(chains):
    """What generators return, whose gradients are computed together."""
    waiting = {k: next(chain) for k, chain in enumerate(chains)}
    returned = {}
    while waiting:
        values, slopes = gradients(np.stack(list(waiting.values())))
        for k, value, slope in zip(list(waiting), values, slopes, strict=True):
            try:
                waiting[k] = chains[k].send((value, slope))
            except StopIteration as end:
                returned[k] = end.value
                del waiting[k]
    return [returned[k] for k in range(len(chains))]


def scale_reduction(x):
    """Gelman and Rubin's, of (chains, draws)."""
    within = np.mean(np.var(x, axis=1, ddof=1))
    between = np.var(np.mean(x, axis=1), ddof=1)
    return np.sqrt((x.shape[1] - 1) / x.shape[1] + between / within)


def microseconds(function, x):
    times = []
    for _ in range(2000):
        began = perf_counter()
        function(x)
        times.append(perf_counter() - began)
    return 1e6 * np.median(times)


def main():
    rngs = np.random.default_rng(0).spawn(CHAINS)
    found = run([sample(rng.standard_normal(10), rng) for rng in rngs])
    draws = np.stack([of_chain for of_chain, _ in found])
    mu, tau = draws[..., 0], np.exp(draws[..., 1])
    theta = mu[..., None] + tau[..., None] * draws[..., 2:]
    print(f"{CHAINS} chains of {DRAWS} draws, {sum(steps for _, steps in found)} gradients")
    print(f"{'':10}{'mean':>8}{'sd':>8}{'R̂':>7}")
    for name, x in [("mu", mu), ("tau", tau), *((f"school {j + 1}", theta[..., j]) for j in range(8))]:
        print(f"{name:10}{x.mean():8.2f}{x.std():8.2f}{scale_reduction(x):7.2f}")
    x = np.zeros(10)
    print(f"value in NumPy            {microseconds(log_density, x):6.1f} µs")
    print(f"value and gradient        {microseconds(plain, x):6.1f} µs")
    print(f"the same as a program     {microseconds(gradient, x):6.1f} µs")
    print(f"of {CHAINS} chains, at once      {microseconds(gradients, np.zeros((CHAINS, 10))):6.1f} µs")


if __name__ == "__main__":
    main()
