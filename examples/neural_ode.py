"""A neural differential equation: one step is decorated, the loop over steps is Python's.

A network of 16 hidden units learns dy/dt of a spiral from noisy points on it.  A step of Runge and Kutta's
method is a program, so each step of the loop is one operation, forward and backward.  Prints the loss, and
writes `neural_ode.png`.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import lindiff as ld

HERE = Path(__file__).parent
TIMES = np.linspace(0.0, 6.0, 61)
HIDDEN = 16


def spiral(t):
    """What is to be learned: dy/dt = A y."""
    return np.exp(-0.25 * t)[:, None] * np.stack([np.cos(2 * t), -np.sin(2 * t)], axis=1)


def initial(rng):
    return {
        "W1": 0.5 * rng.standard_normal((HIDDEN, 2)),
        "b1": np.zeros(HIDDEN),
        "W2": 0.1 * rng.standard_normal((2, HIDDEN)),
        "b2": np.zeros(2),
    }


def slope(p, y):
    return p["W2"] @ np.tanh(p["W1"] @ y + p["b1"]) + p["b2"]


@ld.program
def step(p, y, h):
    """Runge and Kutta's, of order four."""
    k1 = slope(p, y)
    k2 = slope(p, y + 0.5 * h * k1)
    k3 = slope(p, y + 0.5 * h * k2)
    k4 = slope(p, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def path(p, start):
    """The solution at all times."""
    ys = [start]
    for h in np.diff(TIMES):
        ys.append(step(p, ys[-1], h))
    return np.stack(ys)


def main():
    rng = np.random.default_rng(1)
    seen = spiral(TIMES) + 0.02 * rng.standard_normal((len(TIMES), 2))
    start = spiral(TIMES[:1])[0]
    theta, restore = ld.ravel(initial(rng))

    def loss(theta):
        return np.mean((path(restore(theta), start) - seen) ** 2)

    found = minimize(ld.value_and_grad(loss), theta, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    learned = path(restore(found.x), start)
    print(f"mean square: {loss(theta):.4f} at the start, {found.fun:.6f} after {found.nit} iterations")
    distance = np.sqrt(np.mean((learned - spiral(TIMES)) ** 2))
    print(f"root mean square distance from the true path: {distance:.4f}")

    figure, axes = plt.subplots(figsize=(5, 5))
    axes.plot(*seen.T, ".", label="seen")
    axes.plot(*learned.T, label="learned")
    axes.legend()
    figure.savefig(HERE / "neural_ode.png", dpi=120)


if __name__ == "__main__":
    main()
