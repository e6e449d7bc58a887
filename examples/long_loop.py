"""The gradient of a long simulation in little memory: checkpointed pieces.

Heat spreads in a rod with a conductivity that depends on the temperature; T time steps, of which reverse mode
keeps every one.  Cut into √T checkpointed pieces it keeps √T states and one piece; halves of halves keep
log T of each.  The price is more runs of the forward steps: one more, or log T.
"""

import time
import tracemalloc

import numpy as np

import lindiff as ld

POINTS = 5_000
STEP = 0.2


def step(u, conductivity):
    """One explicit time step of u' = (c(u) u_x)_x, c = conductivity (1 + u²), with insulated ends."""
    c = conductivity * (1 + 0.5 * (u[1:] ** 2 + u[:-1] ** 2))
    flux = np.concatenate([np.zeros(1), c * (u[1:] - u[:-1]), np.zeros(1)])
    return u + STEP * (flux[1:] - flux[:-1])


def run(u, conductivity, steps):
    for _ in range(steps):
        u = step(u, conductivity)
    return u


def kept(u, conductivity, steps):
    """Reverse mode keeps all steps."""
    return run(u, conductivity, steps)


def in_pieces(u, conductivity, steps):
    """√T pieces of √T steps each."""
    piece = ld.checkpoint(run)
    length = round(steps**0.5)
    for start in range(0, steps, length):
        u = piece(u, conductivity, min(length, steps - start))
    return u


def in_halves(u, conductivity, steps):
    """Halves of halves."""
    if steps <= 4:
        return run(u, conductivity, steps)
    half = ld.checkpoint(in_halves)
    return half(half(u, conductivity, steps // 2), conductivity, steps - steps // 2)


def measured(simulate, steps):
    """Gradient of the final heat's spread, peak memory in states, and seconds."""
    x = np.linspace(0.0, 1.0, POINTS)
    u = np.exp(-50 * (x - 0.3) ** 2)
    conductivity = 0.5 + 0.3 * x[1:]
    gradient = ld.grad(lambda c: np.sum(simulate(u, c, steps) ** 2))
    start = time.perf_counter()
    gradient(conductivity)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    g = gradient(conductivity)
    peak = tracemalloc.get_traced_memory()[1] / u.nbytes
    tracemalloc.stop()
    return g, peak, seconds


if __name__ == "__main__":
    print(f"{'':12}{'T':>6}{'peak, in states':>18}{'seconds':>10}")
    for simulate in (kept, in_pieces, in_halves):
        for steps in (64, 256, 1024):
            _, peak, seconds = measured(simulate, steps)
            print(f"{simulate.__name__:12}{steps:6}{peak:18.0f}{seconds:10.2f}")
