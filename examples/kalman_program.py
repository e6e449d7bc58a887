"""A Kalman filter in plain NumPy, unchanged but for one line: ``@ld.program``.

A vehicle is seen from a beacon that says where it is, with noise; its filter is written as in a textbook, a
Python loop of some thirty NumPy calls a step.  SciPy looks for the variances of the noise with exact
gradients of the likelihood.  Prints how long a call takes without and with the program, and what was found.
"""

from time import perf_counter

import numpy as np
from scipy.optimize import minimize

import lindiff as ld

STEPS, TIME_STEP = 300, 0.1


def transition():
    """Position and velocity in a plane."""
    A = np.eye(4)
    A[0, 2] = A[1, 3] = TIME_STEP
    return A


def simulate(log_std, rng):
    """Positions as the beacon reports them."""
    A, x = transition(), np.array([0.0, 0.0, 1.0, 0.5])
    push, noise = np.exp(log_std)
    seen = []
    for _ in range(STEPS):
        x = A @ x + push * np.array([0.0, 0.0, 1.0, 1.0]) * rng.standard_normal(4)
        seen.append(x[:2] + noise * rng.standard_normal(2))
    return np.array(seen)


def negative_log_likelihood(log_std, y):
    """Harvey (1989), section 3.4, up to a constant."""
    A, C = transition(), np.eye(2, 4)
    push, noise = np.exp(log_std)
    Q = push**2 * np.diag([0.0, 0.0, 1.0, 1.0])
    R = noise**2 * np.eye(2)
    m, P = np.zeros(4), np.eye(4)
    total = 0.0
    for seen in y:
        m, P = A @ m, A @ P @ A.T + Q
        S = C @ P @ C.T + R
        L = np.linalg.cholesky(S)
        K = np.linalg.solve(S, C @ P).T
        v = seen - C @ m
        total = total + 0.5 * np.sum(np.linalg.solve(L, v) ** 2) + np.sum(np.log(np.diag(L)))
        m, P = m + K @ v, P - K @ C @ P
    return total


def seconds(function, *args):
    """The shortest of several calls."""
    times = []
    for _ in range(10):
        began = perf_counter()
        function(*args)
        times.append(perf_counter() - began)
    return min(times)


def main():
    y = simulate(np.log([0.2, 0.5]), np.random.default_rng(0))
    gradient = ld.value_and_grad(negative_log_likelihood)
    fast = ld.program(gradient)  # the one line

    start = np.zeros(2)
    for _ in range(3):  # recorded twice, then made
        fast(start, y)
    print(f"{'NumPy, value':30}{1e3 * seconds(negative_log_likelihood, start, y):8.2f} ms")
    print(f"{'lindiff, value and gradient':30}{1e3 * seconds(gradient, start, y):8.2f} ms")
    print(f"{'program, value and gradient':30}{1e3 * seconds(fast, start, y):8.2f} ms")

    found = minimize(fast, start, args=(y,), jac=True)
    print(f"push {np.exp(found.x[0]):.3f} (true 0.200), noise {np.exp(found.x[1]):.3f} (true 0.500)")


if __name__ == "__main__":
    main()
