"""Records of matrix functions and matrix equations: ``ld.linalg.expm``, ``lindiff.scipy.linalg``."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from table import Operator, sample
from table_operators import SQUARE, matrices

import lindiff as ld
import lindiff.scipy.linalg as functions
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import hermitian_part
from lindiff.scipy.linalg import matrix_equations as equations


def with_direction(*shapes):
    return lambda rng: [sample(rng.standard_normal(shape), rng.standard_normal(shape)) for shape in shapes]


@over_batch(2, 2)
def frechet_of_scipy(A, E):
    if A.size == 0:  # older versions refuse it
        return np.zeros_like(A)
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


def more_riccati_samples(rng):
    m, n, single = (3, 3), (3, 2), (2, 2)
    yield sample(*map(rng.standard_normal, [m, n, m, single]), s=rng.standard_normal(n), balanced=False)
    yield sample(*map(rng.standard_normal, [m, n, m, single]), e=rng.standard_normal(m))
    yield sample(*map(rng.standard_normal, [(2, *m), n, m, (2, *single)]))
    yield sample(*map(rng.standard_normal, [(1, 1)] * 4))


def of_batch(function):
    return over_batch(2)(function)


def near_one(X):
    """Eigenvalues away from zero and the negative axis."""
    return plus(2, X / max(X.shape[-1], 1))


def both_signs(X):
    """Eigenvalues away from the imaginary axis, on both sides."""
    n = X.shape[-1]
    return X / (2 * max(n, 1)) + np.diag(2 * (-1.0) ** np.arange(n)).astype(X.dtype)


def matrix_function(name, domain=near_one, shapes=((1, 1), (3, 3), (2, 2, 2), (0, 2, 2)), **record):
    function = getattr(functions, name)
    of_scipy = of_batch(getattr(scipy.linalg, name))

    def reference(A):
        F = of_scipy(A)  # older versions give some in extended precision
        return F.astype(np.complex128) if F.dtype == np.clongdouble else F

    return Operator(
        f"scipy.linalg.{name}",
        function,
        matrices(*shapes),
        domain=domain,
        reference=reference,
        complex=True,
        **record,
    )


def smooth(x):
    return np.exp(0.3 * x) * np.sin(x) + x**3 / (9 + x * x)


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
        complex=True,
    ),
    Operator(
        "scipy.linalg.solve_continuous_lyapunov",
        equations.solve_continuous_lyapunov,
        arrays(*([shape] * 2 for shape in SQUARE), [(3, 3), (2, 3, 3)]),
        call=lambda a, q: equations.solve_continuous_lyapunov(plus(4, a), q),
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
    *[
        Operator(
            f"scipy.linalg.{solve.__name__}{more}",
            solve,
            samples,
            call=riccati(solve),
            complex=not more,
            rtol=1e-6,
            order=1 if more else 2,
        )
        for solve in [equations.solve_continuous_are, equations.solve_discrete_are]
        for more, samples in [("", riccati_samples), (" (more)", more_riccati_samples)]
    ],
    *[
        matrix_function(name, domain=lambda X: 0.5 * X)
        for name in ["expm", "cosm", "sinm", "coshm", "sinhm", "tanhm", "tanm"]
    ],
    matrix_function("sqrtm"),
    # SciPy takes single precision for inaccurate, and warns
    matrix_function("logm", shapes=[(2, 2), (2, 1, 1), (0, 2, 2)], single=False),
    matrix_function("signm", both_signs),
    Operator(
        "scipy.linalg.expm_frechet",
        functions.expm_frechet,
        with_direction((1, 1), (3, 3), (2, 2, 2)),
        reference=over_batch(2, 2)(scipy.linalg.expm_frechet),
        complex=True,
    ),
    Operator(
        "scipy.linalg.fractional_matrix_power",
        functions.fractional_matrix_power,
        lambda rng: [
            sample(rng.standard_normal((3, 3)), 0.3),
            sample(rng.standard_normal((2, 2, 2)), -1.7),
            sample(rng.standard_normal((2, 2)), 3),
            sample(rng.standard_normal((2, 2)), -2),
        ],
        domain=near_one,
        reference=lambda A, t: of_batch(scipy.linalg.fractional_matrix_power)(A, t),
        complex=True,
        order=1,
    ),
    Operator(
        "scipy.linalg.funm",
        functions.funm,
        lambda rng: [
            sample(rng.standard_normal(shape), func)
            for shape, func in [
                ((1, 1), np.exp),
                ((3, 3), smooth),
                ((2, 2, 2), np.sin),
                ((0, 2, 2), smooth),
            ]
        ],
        domain=lambda X: X / 3 + np.diag(np.arange(X.shape[-1])).astype(X.dtype),
        reference=lambda A, func: of_batch(lambda M: scipy.linalg.funm(M, func))(A),
        complex=True,
        single=False,  # SciPy takes single precision for inaccurate, and says so
    ),
    Operator(
        "scipy.linalg.funm (Hermitian)",
        functions.funm,
        lambda rng: [sample(rng.standard_normal((3, 3)), smooth)],
        call=lambda A, func: functions.funm(hermitian_part(A), func),
        complex=True,
        single=False,  # SciPy takes single precision for inaccurate, and says so
    ),
]
