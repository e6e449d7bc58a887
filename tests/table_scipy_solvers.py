"""Records of ``lindiff.scipy.linalg``: systems of equations, factors, least squares."""

from __future__ import annotations

import numpy as np
import scipy
import scipy.linalg
from table import Operator, sample
from table_linalg import low_rank, norms, separated
from table_operators import SQUARE, adjoint, heavy_diagonal, matrices, spd

from lindiff.scipy.linalg import banded, factors, least_squares, solvers
from lindiff.scipy.linalg.toeplitz_systems import matmul_toeplitz, solve_circulant, solve_toeplitz

SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2])

# Of any matrix.
STRUCTURES = ["gen", "general", "banded"]

SYSTEMS = [
    ((1, 1), (1,)),
    ((3, 3), (3,)),
    ((4, 4), (4, 2)),
    ((12, 12), (12,)),
    ((2, 3, 3), (3,)),
    ((3, 3), (2, 3, 1)),
    ((2, 1, 2, 2), (3, 2, 1)),
    ((0, 2, 2), (2,)),
    ((2, 2), (2, 0)),
]


FEW_SYSTEMS = [((3, 3), (3,)), ((2, 1, 2, 2), (3, 2, 1)), ((4, 4), (4, 2))]


def with_options(*options, shapes=FEW_SYSTEMS):
    """Samples of all shapes for the first options, of one shape for each of the others."""

    def samples(rng):
        for i, chosen in enumerate(options):
            for a, b in shapes if i == 0 else shapes[:1]:
                yield sample(rng.standard_normal(a), rng.standard_normal(b), **chosen)

    return samples


def symmetric(X):
    """A symmetric matrix, indefinite and not Hermitian, without singular leading parts."""
    n = X.shape[-1]
    return 0.2 * (X + np.swapaxes(X, -1, -2)) + np.diag((-1.0) ** np.arange(n) * (2 + np.arange(n)))


def hermitian(X):
    n = X.shape[-1]
    return 0.2 * (X + adjoint(X)) + np.diag((-1.0) ** np.arange(n) * (2 + np.arange(n))).astype(X.dtype)


def solve_of(make):
    return lambda a, b, **options: solvers.solve(make(a), b, **options)


def direct(make, part=lambda A, **_: A):
    """The reference: NumPy's solve with what is read of the matrix."""

    def solve(a, b, transposed=False, **options):
        A = part(make(a), **options)
        return np.linalg.solve(np.swapaxes(A, -1, -2) if transposed else A, b)

    return solve


def positive_diagonal(X):
    n = X.shape[-1]
    return 0.2 * X + np.diag(2.0 + np.arange(n)).astype(X.dtype)


def reference_triangular(a, b, trans=0, lower=False, unit_diagonal=False, **_):
    A = np.tril(heavy_diagonal(a)) if lower else np.triu(heavy_diagonal(a))
    if unit_diagonal:
        eye = np.eye(A.shape[-1], dtype=A.dtype)
        A = A * (1 - eye) + eye
    if trans in (1, "T"):
        A = np.swapaxes(A, -1, -2)
    return np.linalg.solve(adjoint(A) if trans in (2, "C") else A, b)


def dense_band(ab, below, above):
    n = ab.shape[-1]
    A = np.zeros((*ab.shape[:-2], n, n), ab.dtype)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            A[..., i, j] = ab[..., above + i - j, j]
    return A


def dense_hermitian_band(ab, lower):
    w = ab.shape[-2] - 1
    A = dense_band(ab, w, 0) if lower else dense_band(ab, 0, w)
    diagonal = np.diagonal(A, axis1=-2, axis2=-1)
    return (
        A
        + adjoint(A)
        - np.eye(A.shape[-1], dtype=A.dtype) * diagonal.real[..., None].astype(A.dtype)
        - (1j * np.eye(A.shape[-1]) * diagonal.imag[..., None] * 0 if A.dtype.kind == "c" else 0)
    )


def heavy_row(row):
    """Make the row of band storage that is the diagonal large."""

    def heavy(ab):
        weights = np.zeros((ab.shape[-2], 1), ab.dtype)
        weights[row] = 1
        return 0.3 * ab * (1 - weights) + weights * (3 + 0.1 * ab.real)

    return heavy


def bands(rng):
    for (below, above), ab, b in [
        ((1, 2), (4, 5), (5,)),
        ((1, 1), (3, 4), (4, 2)),
        ((0, 1), (2, 3), (3,)),
        ((2, 0), (3, 4), (4, 1)),
        ((1, 1), (3, 1), (1,)),
        ((2, 1), (4, 2), (2,)),
        ((1, 1), (2, 3, 4), (4,)),
        ((0, 0), (1, 3), (2, 3, 2)),
        ((1, 1), (3, 3), (3, 0)),
        ((1, 0), (0, 2, 3), (3,)),
    ]:
        # lists are not differentiated
        yield sample([below, above], rng.standard_normal(ab), rng.standard_normal(b))


def solve_heavy_band(l_and_u, ab, b):
    return banded.solve_banded(tuple(l_and_u), heavy_row(l_and_u[1])(ab), b)


def reference_band(l_and_u, ab, b):
    return np.linalg.solve(dense_band(heavy_row(l_and_u[1])(ab), *l_and_u), b)


def hermitian_bands(rng):
    for ab, b in [
        ((3, 5), (5,)),
        ((2, 4), (4, 2)),
        ((1, 3), (3,)),
        ((3, 2), (2,)),
        ((2, 3, 4), (4,)),
        ((2, 4), (3, 4, 1)),
        ((2, 3), (3, 0)),
    ]:
        for lower in [False, True]:
            yield sample(rng.standard_normal(ab), rng.standard_normal(b), lower=lower)


def heavy_hermitian(ab, lower):
    return heavy_row(0 if lower else -1)(ab)


def reference_hermitian_band(ab, b, lower):
    return np.linalg.solve(dense_hermitian_band(heavy_hermitian(ab, lower), lower), b)


def reference_cho_solve_banded(cb, b, lower):
    cb = heavy_hermitian(cb, lower)
    w = cb.shape[-2] - 1
    L = dense_band(cb, w, 0) if lower else adjoint(dense_band(cb, 0, w))
    return np.linalg.solve(L @ adjoint(L), b)


def band_factor(ab, lower):
    """The entries inside of the matrix."""
    c = banded.cholesky_banded(heavy_hermitian(ab, lower), lower=lower)
    return c * inside_of(ab, lower)


def inside_of(ab, lower):
    rows, n = ab.shape[-2:]
    k = np.arange(rows)[:, None]
    return (np.arange(n) + k < n if lower else np.arange(n) >= rows - 1 - k).astype(ab.real.dtype)


def reference_band_factor(ab, lower):
    L = np.linalg.cholesky(dense_hermitian_band(heavy_hermitian(ab, lower), lower))
    rows, n = ab.shape[-2:]
    c = np.zeros_like(ab)
    for k in range(min(rows, n)):
        diagonal = np.diagonal(L, -k, -2, -1)
        if lower:
            c[..., k, : n - k] = diagonal
        else:
            c[..., rows - 1 - k, k:] = np.conjugate(diagonal)
    return c


def systems_of_diagonals(rng):
    for c, b in [
        ((4,), (4,)),
        ((3,), (3, 2)),
        ((1,), (1,)),
        ((2, 3), (3,)),
        ((3,), (2, 3, 1)),
        ((3,), (3, 0)),
    ]:
        yield sample(rng.standard_normal(c), rng.standard_normal(c), rng.standard_normal(b))


def heavy_first(c):
    return np.concatenate([3 + 0.2 * c[..., :1], 0.3 * c[..., 1:]], axis=-1)


def dense_toeplitz(c, r):
    i = np.arange(c.shape[-1])[:, None] - np.arange(r.shape[-1])
    return np.where(i >= 0, c[..., np.maximum(i, 0)], r[..., np.maximum(-i, 0)])


def double(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def reference_toeplitz(c, r, b):
    return np.linalg.solve(dense_toeplitz(double(heavy_first(c)), double(r)), double(b))


RECTANGLES = [(1, 1), (3, 3), (4, 2), (2, 4), (2, 2, 2), (0, 2, 2)]


def pivots(a):
    """Rows in an order that does not change nearby: each is heaviest in a column of its own."""
    n = min(a.shape[-2:])
    heavy = np.zeros(a.shape[-2:])
    heavy[np.arange(n)[::-1], np.arange(n)] = 4.0 + np.arange(n)
    return 0.4 * a + heavy.astype(a.dtype)


def lu_solve_of(a, b, trans=0):
    lu, piv = factors.lu_factor(pivots(a))
    return factors.lu_solve((lu, piv), b, trans)


def reference_lu_solve(a, b, trans=0):
    A = pivots(a)
    return np.linalg.solve([A, np.swapaxes(A, -1, -2), adjoint(A)][trans], b)


def lu_parts(a):
    lu, piv = factors.lu_factor(pivots(a))
    return lu, piv


def plain_lu(a):
    A = pivots(a)
    if A.ndim == 2:
        return scipy.linalg.lu_factor(A)
    m, n = A.shape[-2:]
    lu, piv = np.zeros_like(A), np.zeros((*A.shape[:-2], min(m, n)), np.int32)
    for i in np.ndindex(*A.shape[:-2]):
        lu[i], piv[i] = scipy.linalg.lu_factor(A[i])
    return lu, piv


def clean(c, lower):
    return np.tril(c) if lower else np.triu(c)


def factor_triangle(a, lower):
    c, same = factors.cho_factor(spd(a), lower)
    assert same is lower
    return clean(c, lower)


def reference_factor(a, lower):
    L = np.linalg.cholesky(spd(a))
    return L if lower else adjoint(L)


def reference_cho_solve(c, b, lower):
    c = clean(heavy_diagonal(c), lower)
    L = c if lower else adjoint(c)
    return np.linalg.solve(L @ adjoint(L), b)


def least_squares_problems(rng):
    for a, b, options in [
        ((3, 3), (3,), {}),
        ((5, 2), (5,), {"cond": 1e-6}),
        ((5, 2), (5, 3), {"lapack_driver": "gelss"}),
        ((2, 4), (2, 2), {}),
        ((4, 2), (4,), {"lapack_driver": "gelsy"}),
        ((2, 4, 2), (4,), {}),
        ((4, 2), (3, 4, 2), {}),
        ((2, 3, 3), (3, 1), {}),
    ]:
        yield sample(rng.standard_normal(a), rng.standard_normal(b), **options)
    yield sample(rng.standard_normal((3, 0)), rng.standard_normal((3, 2)))
    yield sample(rng.standard_normal((0, 3)), rng.standard_normal((0, 2)))


def floats_of_lstsq(a, b, **options):
    x, residues, _rank, s = least_squares.lstsq(separated(a), b, **options)
    return (x, residues) if s is None else (x, residues, s)


INVERSES = [{}, {"assume_a": "gen"}] + (
    [
        {"assume_a": "sym"},
        {"assume_a": "her", "lower": True},
        {"assume_a": "pos"},
        {"assume_a": "upper triangular"},
        {"assume_a": "lower triangular"},
        {"assume_a": "diagonal"},
    ]
    if SCIPY >= (1, 17)
    else []
)


def made_for(assume_a, X):
    makers = {"sym": symmetric, "her": hermitian, "pos": spd}
    if assume_a == "upper triangular":
        return np.triu(heavy_diagonal(X))
    if assume_a == "lower triangular":
        return np.tril(heavy_diagonal(X))
    if assume_a == "diagonal":
        return np.tril(np.triu(heavy_diagonal(X)))
    return makers.get(assume_a, heavy_diagonal)(X)


def band(low, high):
    return lambda A, **_: np.tril(np.triu(A, -low), high)


OPERATORS = [
    Operator(
        "scipy.solve",
        solvers.solve,
        with_options({}, *({"assume_a": a} for a in STRUCTURES), shapes=SYSTEMS),
        call=solve_of(heavy_diagonal),
        reference=direct(heavy_diagonal),
        complex=True,
    ),
    Operator(
        "scipy.solve (transposed)",
        solvers.solve,
        with_options(*({"transposed": True, "assume_a": a} for a in [None, "gen", "upper triangular"])),
        call=lambda a, b, **options: solvers.solve(np.triu(heavy_diagonal(a)), b, **options),
        reference=direct(lambda a: np.triu(heavy_diagonal(a))),
    ),
    Operator(
        "scipy.solve (positive definite)",
        solvers.solve,
        with_options({"assume_a": "pos"}, {"assume_a": "positive definite", "lower": True}, {}),
        call=solve_of(spd),
        reference=direct(spd),
        complex=True,
    ),
    Operator(
        "scipy.solve (symmetric)",
        solvers.solve,
        with_options({"assume_a": "sym"}, {"assume_a": "symmetric", "lower": True}, {}),
        call=solve_of(symmetric),
        reference=direct(symmetric),
        complex=True,
    ),
    Operator(
        "scipy.solve (hermitian)",
        solvers.solve,
        with_options({"assume_a": "her"}, {"assume_a": "hermitian", "lower": True}, {}),
        call=solve_of(hermitian),
        reference=direct(hermitian),
        complex=True,
    ),
    Operator(
        "scipy.solve (upper)",
        solvers.solve,
        with_options({"assume_a": "upper triangular"}),
        call=solve_of(heavy_diagonal),
        reference=direct(heavy_diagonal, lambda A, **_: np.triu(A)),
        complex=True,
    ),
    Operator(
        "scipy.solve (lower)",
        solvers.solve,
        with_options({"assume_a": "lower triangular"}),
        call=solve_of(heavy_diagonal),
        reference=direct(heavy_diagonal, lambda A, **_: np.tril(A)),
        complex=True,
    ),
    Operator(
        "scipy.solve (diagonal)",
        solvers.solve,
        with_options({"assume_a": "diagonal"}),
        call=solve_of(heavy_diagonal),
        reference=direct(heavy_diagonal, band(0, 0)),
        complex=True,
    ),
    Operator(
        "scipy.solve (tridiagonal)",
        solvers.solve,
        with_options({"assume_a": "tridiagonal"}),
        call=solve_of(heavy_diagonal),
        reference=direct(heavy_diagonal, band(1, 1)),
        complex=True,
    ),
    Operator(
        "scipy.solve_triangular",
        solvers.solve_triangular,
        with_options(
            {},
            {"lower": True},
            {"trans": 1, "unit_diagonal": True},
            {"trans": "C", "lower": True},
            {"trans": 2},
            {"trans": "T", "lower": True, "unit_diagonal": True},
        ),
        call=lambda a, b, **options: solvers.solve_triangular(heavy_diagonal(a), b, **options),
        reference=reference_triangular,
        complex=True,
    ),
    Operator(
        "scipy.inv",
        solvers.inv,
        lambda rng: [
            sample(rng.standard_normal(shape), **options)
            for shape in SQUARE
            for options in (INVERSES if shape == (4, 4) else INVERSES[:1])
        ],
        call=lambda a, assume_a=None, **options: (
            solvers.inv(made_for(assume_a, a), **({"assume_a": assume_a} if assume_a else {}), **options)
            if SCIPY >= (1, 17)
            else solvers.inv(made_for(assume_a, a))
        ),
        reference=lambda a, assume_a=None, **_: np.linalg.inv(made_for(assume_a, a)),
        complex=True,
    ),
    Operator("scipy.det", solvers.det, matrices(*SQUARE), complex=True),
    Operator(
        "scipy.norm",
        solvers.norm,
        lambda rng: list(norms(rng))[::3],
        reference=np.linalg.norm,
        complex=True,
        single=False,  # SciPy gives some norms of single precision as Python floats
        rtol=1e-6,
    ),
    Operator(
        "scipy.lu_factor",
        factors.lu_factor,
        matrices(*RECTANGLES),
        call=lu_parts,
        reference=plain_lu,
        complex=True,
    ),
    Operator(
        "scipy.lu_solve",
        factors.lu_solve,
        with_options({}, {"trans": 1}, {"trans": 2}),
        call=lu_solve_of,
        reference=reference_lu_solve,
        complex=True,
    ),
    Operator(
        "scipy.cho_factor",
        factors.cho_factor,
        lambda rng: [
            sample(rng.standard_normal(shape), lower) for shape in SQUARE for lower in [False, True]
        ],
        call=factor_triangle,
        reference=reference_factor,
        complex=True,
    ),
    Operator(
        "scipy.cho_solve",
        factors.cho_solve,
        with_options({"lower": False}, {"lower": True}),
        call=lambda c, b, lower: factors.cho_solve((heavy_diagonal(c), lower), b),
        reference=reference_cho_solve,
        complex=True,
    ),
    Operator(
        "scipy.solve_banded",
        banded.solve_banded,
        bands,
        call=solve_heavy_band,
        reference=reference_band,
        complex=True,
    ),
    Operator(
        "scipy.solveh_banded",
        banded.solveh_banded,
        hermitian_bands,
        call=lambda ab, b, lower: banded.solveh_banded(heavy_hermitian(ab, lower), b, lower=lower),
        reference=reference_hermitian_band,
        complex=True,
    ),
    Operator(
        "scipy.cho_solve_banded",
        banded.cho_solve_banded,
        hermitian_bands,
        call=lambda cb, b, lower: banded.cho_solve_banded((heavy_hermitian(cb, lower), lower), b),
        reference=reference_cho_solve_banded,
        complex=True,
    ),
    Operator(
        "scipy.cholesky_banded",
        banded.cholesky_banded,
        lambda rng: [
            sample(rng.standard_normal(shape), lower=lower)
            for shape in [(3, 5), (2, 4), (1, 3), (3, 2), (2, 2, 3)]
            for lower in [False, True]
        ],
        call=band_factor,
        reference=reference_band_factor,
        complex=True,
    ),
    Operator(
        "scipy.solve_toeplitz",
        solve_toeplitz,
        systems_of_diagonals,
        call=lambda c, r, b: solve_toeplitz((heavy_first(c), r), b),
        reference=reference_toeplitz,
        domain=lambda x: 0.5 * x,
        complex=True,
    ),
    Operator(
        "scipy.solve_toeplitz (column)",
        solve_toeplitz,
        lambda rng: [sample(rng.standard_normal(4), rng.standard_normal((4, 2)))],
        call=lambda c, b: solve_toeplitz(heavy_first(c), b),
        reference=lambda c, b: reference_toeplitz(c, np.conjugate(heavy_first(c)), b),
        complex=True,
    ),
    Operator(
        "scipy.matmul_toeplitz",
        matmul_toeplitz,
        lambda rng: [
            sample(rng.standard_normal(c), rng.standard_normal(r), rng.standard_normal(x))
            for c, r, x in [((3,), (4,), (4,)), ((4,), (2,), (2, 3)), ((2, 3), (3,), (3, 1))]
        ],
        call=lambda c, r, x: matmul_toeplitz((c, r), x),
        reference=lambda c, r, x: dense_toeplitz(double(c), double(r)) @ double(x),
        complex=True,
    ),
    Operator(
        "scipy.solve_circulant",
        solve_circulant,
        lambda rng: [
            sample(rng.standard_normal(4), rng.standard_normal(4)),
            sample(rng.standard_normal(3), rng.standard_normal((3, 2))),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), baxis=-1, outaxis=-1),
            sample(rng.standard_normal((3, 2)), rng.standard_normal(3), caxis=0, singular="lstsq"),
        ],
        call=lambda c, b, **options: solve_circulant(
            c + 5 * (np.arange(c.shape[options.get("caxis", -1)]) == 0)
            if options.get("caxis", -1) == -1
            else c + 5 * (np.arange(c.shape[0]) == 0)[:, None],
            b,
            **options,
        ),
        complex=True,
    ),
    Operator(
        "scipy.pinv",
        least_squares.pinv,
        lambda rng: [
            sample(rng.standard_normal(shape), **options)
            for shape in [(1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 2)]
            for options in [{}, {"atol": 1e-3, "rtol": 1e-4, "return_rank": True}]
        ],
        call=lambda a, **options: least_squares.pinv(separated(a), **options),
        complex=True,
    ),
    Operator(
        "scipy.pinv (low rank)",
        least_squares.pinv,
        matrices((3, 3), (4, 2), (2, 3)),
        call=lambda a: least_squares.pinv(low_rank(a), rtol=1e-6),
        domain=lambda a: a + 2,
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
    Operator(
        "scipy.pinvh",
        least_squares.pinvh,
        lambda rng: [
            sample(rng.standard_normal(shape), lower=lower) for shape in SQUARE for lower in [True, False]
        ],
        call=lambda a, **options: least_squares.pinvh(spd(a), **options),
        complex=True,
    ),
    Operator(
        "scipy.pinvh (low rank)",
        least_squares.pinvh,
        matrices((3, 3), (2, 2, 2)),
        call=lambda a: least_squares.pinvh(a[..., :1] @ adjoint(a[..., :1]), rtol=1e-6, return_rank=True),
        domain=lambda a: a + 2,
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
    Operator("scipy.lstsq", least_squares.lstsq, least_squares_problems, call=floats_of_lstsq, complex=True),
    Operator(
        "scipy.lstsq (low rank)",
        least_squares.lstsq,
        lambda rng: [
            sample(rng.standard_normal((4, 3)), rng.standard_normal((4, 2))),
            sample(rng.standard_normal((2, 4)), rng.standard_normal(2)),
        ],
        call=lambda a, b: least_squares.lstsq(low_rank(a), b, cond=1e-10)[0],
        domain=lambda x: x + 2,
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
]
