"""Indexing with a mask: turn it into integers once.

The pullback of `x[mask]` writes the cotangent to the places that were read, and has to find them again.
Turning a mask into indices is most of the work of either direction where few elements are selected; and a
general pullback has to add, because an index may name an element twice, which a mask never does.
"""

import numpy as np

import lindiff as ld


@ld.rule
def naive(x, mask):
    """The mask is gone through in both directions."""

    def pullback(y_bar):
        x_bar = np.zeros(x.shape)
        np.add.at(x_bar, mask, y_bar)
        return x_bar

    return x[mask], pullback


def masked(x, mask):
    """The indices are found once, and known to differ from each other."""
    return gather(x, np.flatnonzero(mask), x.shape)


@ld.rule
def gather(x, places, shape):
    """Elements of an array of this shape; `places` count through it."""
    y = np.reshape(x, -1)[places]
    return y, ld.Linear(
        lambda x_dot: gather(x_dot, places, shape), lambda y_bar: scatter(y_bar, places, shape)
    )


@ld.rule
def scatter(y, places, shape):
    """The transpose: zeros, and `y` at these places, no two of them alike."""
    x = np.zeros(shape, y.dtype)
    x.flat[places] = y
    return x, ld.Linear(
        lambda y_dot: scatter(y_dot, places, shape), lambda x_bar: gather(x_bar, places, shape)
    )


SIZES = (10_000, 1_000_000)


def arguments(size, rng):
    return rng.normal(size=size), rng.random(size) < 0.01
