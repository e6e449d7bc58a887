"""Two reverse modes make a forward mode: their computation graphs side by side.

For y = f(x) the pullback g(v) = Jᵀ v is linear in v, whatever v is; its own pullback is u ↦ J u, the
derivative of f in the direction u (J. Townsend, "A new trick for calculating Jacobian vector products",
2017).
Both programs are run here and drawn as they ran: the sines, and, in colour, what the derivative adds.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lindiff as ld


def f(x):
    return np.sin(np.sin(np.sin(x)))


def forward_mode(x, u):
    """The tangent is pushed along with the value."""
    return ld.jvp(f, (x,), (u,))[1]


def two_reverse_modes(x, u):
    """The pullback of the pullback; the point v at which that is taken does not matter."""
    y, pullback = ld.vjp(f, x)
    _, pullback_of_pullback = ld.vjp(lambda v: pullback(v)[0], np.zeros_like(y))
    return pullback_of_pullback(u)[0]


def main(folder):
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(2, 3))
    print("forward mode      ", forward_mode(x, u))
    print("two reverse modes ", two_reverse_modes(x, u))

    figure, axes = plt.subplots(1, 2, figsize=(11, 7.5), layout="constrained")
    for program, title, side in zip(
        (forward_mode, two_reverse_modes), ("forward mode", "two reverse modes"), axes, strict=True
    ):
        graph = ld.draw(program, argnums=(0, 1))(x, u)
        graph.plot(side)
        side.set_title(title)
        operations = sorted(box.label for box in graph.boxes if box.kind == "operation")
        print(f"{title}: {', '.join(operations)}")
    figure.savefig(folder / "two_reverse_modes.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
