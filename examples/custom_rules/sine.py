"""Sine and cosine from one tangent.

The derivative of the sine is the cosine, of the same argument: work that value and derivative can share if
the rule computes them together.  Many libraries have one function for both ("sincos"), NumPy has not.  The
tangent of the half angle gives both with one call instead of two:

    t = tan(x / 2),   sin x = 2 t / (1 + t²),   cos x = (1 - t²) / (1 + t²).

So the primal is computed in another way than `np.sin` does, and differs from it by a few units of the last
place: a rule may do that, as long as it is about as accurate.
"""

import numpy as np

import lindiff as ld


@ld.rule
def naive(x):
    """Value and derivative apart: two transcendental functions."""
    return np.sin(x), lambda y_bar: y_bar * np.cos(x)


@ld.rule
def sine(x):
    """The same from one."""
    t = np.tan(x / 2)
    scale = 1 / (1 + t * t)
    cosine = (1 - t) * (1 + t) * scale

    def pullback(y_bar):
        return y_bar * cosine

    return 2 * t * scale, pullback


SIZES = (10_000, 100_000)


def arguments(size, rng):
    return (rng.normal(size=size),)
