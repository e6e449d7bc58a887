"""Records of matrix functions and matrix equations: ``ld.linalg.expm``, ``lindiff.scipy.linalg``."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from table import Operator, sample
from table_operators import SQUARE, matrices

import lindiff as ld
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import hermitian_part
from lindiff.scipy.linalg import matrix_equations as equations


def with_direction(*shapes):
    return lambda rng: [sample(rng.standard_normal(shape), rng.standard_normal(shape)) for shape in shapes]


@over_batch(2, 2)
def frechet_of_scipy(A, E):
    return scipy.linalg.expm_frechet(A, E, compute_expm=False)


def arrays(*groups, **options):
    """Samples of random arrays of these shapes."""
    return lambda rng: [sample(*map(rng.standard_normal, shapes), **options) for shapes in groups]


def plus(number, X):
    return X + number * np.eye(X.shape[-1], dtype=X.dtype)


def contraction(X):
    """All eigenvalues are far inside the unit circle."""
    return X / (1 + np.sum(np.abs(X), axis=(-2, -1), keepdims=True))


def sylvester(solve):
    """Coefficients without common eigenvalues."""
    return lambda a, b, q: solve(plus(4, a), plus(4, b), q)


def definite(X):
    """Hermitian to the last bit, as SciPy asks of q and r."""
    return hermitian_part(plus(1, X @ np.conjugate(np.swapaxes(X, -1, -2))))


def riccati(solve):
    def call(a, b, q, r, e=None, s=None, **options):
        e = None if e is None else plus(3, 0.5 * e)
        return solve(a, b, definite(q), definite(r), e, None if s is None else 0.1 * s, **options)

    return call


def riccati_samples(rng):
    m, n, single = (3, 3), (3, 2), (2, 2)
    yield sample(*map(rng.standard_normal, [m, n, m, single]))
    yield sample(*map(rng.standard_normal, [m, n, m, single, m, n]))
    yield sample(*map(rng.standard_normal, [m, n, m, single]), s=rng.standard_normal(n), balanced=False)
    yield sample(*map(rng.standard_normal, [m, n, m, single]), e=rng.standard_normal(m))
    yield sample(*map(rng.standard_normal, [(2, *m), n, m, (2, *single)]))
    yield sample(*map(rng.standard_normal, [(1, 1)] * 4))


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
    Operator(
        "scipy.linalg.solve_sylvester",
        equations.solve_sylvester,
        arrays(
            [(1, 1), (1, 1), (1, 1)],
            [(3, 3), (2, 2), (3, 2)],
            [(4, 4), (4, 4), (4, 4)],
            [(2, 3, 3), (2, 2), (3, 2)],
            [(0, 2, 2), (2, 2), (2, 2)],
            [(0, 0), (2, 2), (0, 2)],
        ),
        call=sylvester(equations.solve_sylvester),
        reference=sylvester(over_batch(2, 2, 2)(scipy.linalg.solve_sylvester)),
        complex=True,
    ),
    Operator(
        "scipy.linalg.solve_continuous_lyapunov",
        equations.solve_continuous_lyapunov,
        arrays(*([shape] * 2 for shape in SQUARE), [(3, 3), (2, 3, 3)]),
        call=lambda a, q: equations.solve_continuous_lyapunov(plus(4, a), q),
        reference=lambda a, q: over_batch(2, 2)(scipy.linalg.solve_continuous_lyapunov)(plus(4, a), q),
        complex=True,
    ),
    *[
        Operator(
            f"scipy.linalg.solve_discrete_lyapunov ({method})",
            equations.solve_discrete_lyapunov,
            arrays(*([shape] * 2 for shape in SQUARE), [(3, 3), (2, 3, 3)], method=method),
            call=lambda a, q, **options: equations.solve_discrete_lyapunov(contraction(a), q, **options),
            complex=True,
        )
        for method in [None, "bilinear"]
    ],
    Operator(
        "scipy.linalg.solve_continuous_are",
        equations.solve_continuous_are,
        riccati_samples,
        call=riccati(equations.solve_continuous_are),
        complex=True,
        rtol=1e-6,
    ),
    Operator(
        "scipy.linalg.solve_discrete_are",
        equations.solve_discrete_are,
        riccati_samples,
        call=riccati(equations.solve_discrete_are),
        complex=True,
        rtol=1e-6,
    ),
]
