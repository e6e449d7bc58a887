"""The logistic sigmoid: value and slope from one exponential.

    σ(x) = 1 / (1 + exp(-x)),    σ'(x) = σ(x) σ(-x).

A pullback that sees only x and y has to compute σ(-x) anew.  Both values have exp(-|x|) in common, which does
not overflow, and the slope, the same for x and -x, is one product more.  It is all that has to be kept.
"""

import numpy as np

import lindiff as ld


@ld.rule
def naive(x):
    """The pullback computes its own exponential."""

    def sigma(x):
        z = np.exp(-np.abs(x))
        return np.where(x >= 0, 1.0, z) / (1 + z)

    y = sigma(x)

    def pullback(y_bar):
        return y_bar * y * sigma(-x)

    return y, pullback


@ld.rule
def sigmoid(x):
    """Both from z = exp(-|x|)."""
    z = np.exp(-np.abs(x))
    s = 1 / (1 + z)
    zs = z * s
    slope = zs * s
    return np.where(x >= 0, s, zs), ld.Elementwise(slope)


SIZES = (1_000, 100_000)


def arguments(size, rng):
    return (rng.normal(size=size),)
