"""Records of the discrete Fourier transforms."""

from __future__ import annotations

import numpy as np
from table import Operator, sample
from table_shape import arrays_of, call, each, several

NORMS = ["backward", "ortho", "forward"]


def lines(rng):
    """Even and odd lengths, cut and filled up, every norm."""
    for length in [5, 6]:
        yield sample(rng.standard_normal(length))
        for norm in NORMS:
            yield sample(rng.standard_normal((2, length)), norm=norm)
        for n in [1, 2, 4, 7, 9]:
            yield sample(rng.standard_normal(length), n)
    yield sample(rng.standard_normal((4, 2)), axis=0)
    yield sample(rng.standard_normal((3, 4, 2)), 5, 1, "ortho")


def boxes(rng):
    yield sample(rng.standard_normal((2, 3, 4)))
    for norm in NORMS:
        yield sample(rng.standard_normal((3, 2)), norm=norm)
    yield sample(rng.standard_normal((2, 3, 4)), axes=(0, 1))
    yield sample(rng.standard_normal((2, 3, 4)), (5, 2), (-1, 0))
    yield sample(rng.standard_normal((2, 3, 4)), s=(-1, 4), axes=(0, 2))
    yield sample(rng.standard_normal((3, 4)), axes=(1, 1))


SHIFTS = several(arrays_of((5,), (2, 3)), each((2, 3), call(0), call(axes=(1,))))

OPERATORS = [
    *[
        Operator(f"fft.{f.__name__}", f, lines, complex=True)
        for f in [np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft]
    ],
    *[Operator(f"fft.{f.__name__}", f, lines) for f in [np.fft.rfft, np.fft.ihfft]],
    *[
        Operator(f"fft.{f.__name__}", f, boxes, complex=True)
        for f in [np.fft.fftn, np.fft.ifftn, np.fft.irfftn, np.fft.fft2, np.fft.ifft2, np.fft.irfft2]
    ],
    *[Operator(f"fft.{f.__name__}", f, boxes) for f in [np.fft.rfftn, np.fft.rfft2]],
    *[Operator(f"fft.{f.__name__}", f, SHIFTS, complex=True) for f in [np.fft.fftshift, np.fft.ifftshift]],
]
