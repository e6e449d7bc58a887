"""Records of matrix functions and matrix equations: ``ld.linalg.expm``, ``lindiff.scipy.linalg``."""

from __future__ import annotations

import scipy.linalg
from table import Operator, sample
from table_operators import SQUARE, matrices

import lindiff as ld
from lindiff.linalg._batches import over_batch


def with_direction(*shapes):
    return lambda rng: [sample(rng.standard_normal(shape), rng.standard_normal(shape)) for shape in shapes]


@over_batch(2, 2)
def frechet_of_scipy(A, E):
    return scipy.linalg.expm_frechet(A, E, compute_expm=False)


OPERATORS = [
    Operator(
        "ld.expm",
        ld.linalg.expm,
        matrices(*SQUARE),
        reference=scipy.linalg.expm,
        complex=True,
    ),
    Operator(
        "ld.expm (large norm)",
        ld.linalg.expm,
        matrices((3, 3)),
        domain=lambda A: 4 * A,
        reference=scipy.linalg.expm,
        complex=True,
        single=False,
    ),
    Operator(
        "ld.expm_frechet",
        ld.linalg.expm_frechet,
        with_direction(*SQUARE),
        reference=lambda A, E: frechet_of_scipy(A, E).astype(A.dtype),  # SciPy gives double precision
        complex=True,
    ),
]
