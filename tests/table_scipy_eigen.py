"""Records of eigenvalues and eigenvectors of ``lindiff.scipy.linalg``."""

from __future__ import annotations

import numpy as np
from table import Operator, sample
from table_linalg import distinct_eigenvalues, projected
from table_operators import both_triangles, matrices, spd
from table_scipy_decompositions import accepted

from lindiff.scipy.linalg.eigen import eig, eigh, eigvals, eigvalsh
from lindiff.scipy.linalg.eigen_banded import (
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
)

PAIRS = accepted((3, 3), (2, 2, 2), (0, 0), (0, 2, 2))


def pairs(*options):
    return lambda rng: [
        sample(rng.standard_normal(shape), rng.standard_normal(shape), **o)
        for shape in PAIRS
        for o in options or [{}]
    ]


def invariants(w, V):
    """What does not depend on the phases of the columns of V."""
    return w, projected(V)


def apart(X):
    """A Hermitian matrix with eigenvalues far apart."""
    return 3 * spd(X)


def hermitian_subsets(rng):
    for shape in [(3, 3), (2, 3, 3)]:
        yield sample(rng.standard_normal(shape), subset_by_index=[1, 2])
        yield sample(rng.standard_normal(shape), subset_by_value=[-np.inf, np.inf])
    yield sample(rng.standard_normal((3, 3)), rng.standard_normal((3, 3)), subset_by_index=[0, 0])


def subset(function):
    def call(a, b=None, **options):
        return function(apart(a), None if b is None else spd(b), **options)

    return call


def left_and_right(a, b=None, **options):
    a = distinct_eigenvalues(a)
    b = None if b is None else 0.1 * b + np.eye(b.shape[-1])
    w, vl, vr = eig(a, b, left=True, **options)
    d = 1 / (1 + w * w)
    return w, *((v * d[..., None, :]) @ np.conjugate(np.swapaxes(v, -1, -2)) for v in (vl, vr))


def tridiagonals(*options):
    return lambda rng: [
        sample(rng.standard_normal((*batch, n)), rng.standard_normal((*batch, n - 1)), **o)
        for batch, n in [((), 1), ((), 4), ((2,), 3), ((0,), 3)]
        for o in options
    ]


def spread(d):
    return d + 4.0 * np.arange(d.shape[-1], dtype=d.dtype)


def bands(*options):
    return lambda rng: [
        sample(rng.standard_normal(shape), lower=lower, **o)
        for shape in [(1, 3), (3, 3), (2, 2, 3)]
        for lower in [True, False]
        for o in options
    ]


def banded(function):
    """With real main diagonals far apart."""

    def call(a_band, lower, **options):
        rows, n = a_band.shape[-2:]
        main = np.zeros((rows, n), bool)
        main[0 if lower else -1] = True
        real = np.where(main, np.real(a_band), a_band)
        return function(real + (main * 4 * np.arange(n)).astype(a_band.dtype), lower, **options)

    return call


OPERATORS = [
    Operator(
        "scipy eigh",
        eigh,
        both_triangles((1, 1), (3, 3), (0, 2, 2)),
        call=lambda a, lower: invariants(*eigh(spd(a), lower=lower)),
        complex=True,
    ),
    Operator(
        "scipy eigh (pair)",
        eigh,
        pairs({}, {"type": 2}, {"type": 3, "lower": False}),
        call=lambda a, b, **options: invariants(*eigh(apart(a), spd(b), **options)),
        complex=True,
    ),
    Operator(
        "scipy eigh (subset)",
        eigh,
        hermitian_subsets,
        call=lambda a, b=None, **options: invariants(*subset(eigh)(a, b, **options)),
        complex=True,
    ),
    Operator(
        "scipy eigvalsh",
        eigvalsh,
        lambda rng: [*hermitian_subsets(rng), *pairs({})(rng), *both_triangles((2, 2))(rng)],
        call=subset(eigvalsh),
        complex=True,
    ),
    Operator(
        "scipy eig",
        eig,
        lambda rng: [
            sample(rng.standard_normal((3, 3))),
            sample(rng.standard_normal((2, 2, 2))),
            sample(rng.standard_normal((3, 3)), rng.standard_normal((3, 3))),
            sample(rng.standard_normal((2, 2)), rng.standard_normal((3, 2, 2))),
        ],
        call=left_and_right,
        complex=True,
    ),
    Operator(
        "scipy eig (right)",
        eig,
        matrices(*accepted((1, 1), (3, 3), (0, 0), (0, 2, 2))),
        call=lambda a: invariants(*eig(distinct_eigenvalues(a))),
        complex=True,
    ),
    Operator(
        "scipy eigvals",
        eigvals,
        lambda rng: [
            sample(rng.standard_normal((3, 3))),
            sample(rng.standard_normal((2, 2, 2)), homogeneous_eigvals=True),
            sample(rng.standard_normal((3, 3)), rng.standard_normal((3, 3))),
        ],
        call=lambda a, b=None, **options: eigvals(
            distinct_eigenvalues(a), None if b is None else 0.1 * b + np.eye(b.shape[-1]), **options
        ),
        complex=True,
    ),
    Operator(
        "scipy eigh_tridiagonal",
        eigh_tridiagonal,
        tridiagonals({}, {"select": "i", "select_range": (0, 0)}),
        call=lambda d, e, **options: invariants(*eigh_tridiagonal(spread(d), e, **options)),
    ),
    Operator(
        "scipy eigvalsh_tridiagonal",
        eigvalsh_tridiagonal,
        tridiagonals({}, {"select": "i", "select_range": (0, 0)}),
        call=lambda d, e, **options: eigvalsh_tridiagonal(spread(d), e, **options),
    ),
    Operator(
        "scipy eig_banded",
        eig_banded,
        bands({}, {"select": "i", "select_range": (1, 2)}),
        call=lambda *args, **options: invariants(*banded(eig_banded)(*args, **options)),
        complex=True,
    ),
    Operator(
        "scipy eigvals_banded",
        eigvals_banded,
        bands({}),
        call=banded(eigvals_banded),
        complex=True,
    ),
]
