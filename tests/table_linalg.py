"""Records of ``numpy.linalg``: factorizations and what is built on them, and norms."""

from __future__ import annotations

import math

import numpy as np
from table import Operator, sample
from table_operators import SQUARE, adjoint, heavy_diagonal, matrices, spd


def systems(rng):
    for a, b in [
        ((1, 1), (1,)),
        ((3, 3), (3,)),
        ((4, 4), (4, 2)),
        ((12, 12), (12,)),
        ((2, 3, 3), (3,)),
        ((3, 3), (2, 3, 1)),
        ((2, 1, 3, 3), (4, 3, 2)),
        ((0, 0), (0, 2)),
        ((0, 2, 2), (2,)),
        ((2, 2), (2, 0)),
    ]:
        yield sample(rng.standard_normal(a), rng.standard_normal(b))


def hermitian_samples(rng):
    for shape in SQUARE:
        yield sample(rng.standard_normal(shape))
    yield sample(rng.standard_normal((3, 3)), UPLO="U")


def projected(V):
    """What does not depend on the phases of the columns of V."""
    d = np.arange(1.0, V.shape[-1] + 1).astype(V.dtype)
    return (V * d) @ adjoint(V)


def invariants_of_eigh(A, **options):
    w, V = np.linalg.eigh(spd(A), **options)
    return w, projected(V)


def separated(X):
    """A matrix whose singular values are far apart and from 0."""
    n = min(X.shape[-2:])
    d = np.zeros(X.shape[-2:], X.dtype)
    d[np.arange(n), np.arange(n)] = 2.0 * (1 + np.arange(n))
    return 0.3 * X + d


def invariants_of_svd(A, **options):
    U, s, Vh = np.linalg.svd(separated(A), **options)
    k = s.shape[-1]
    U, V = U[..., :k], adjoint(Vh)[..., :k]
    d = np.arange(1.0, k + 1).astype(A.dtype)
    return s, projected(U), projected(V), (U * d) @ adjoint(V)


def projector_beyond(A):
    """The projector on what U holds beyond the range of a tall matrix."""
    U = np.linalg.svd(separated(A))[0][..., A.shape[-1] :]
    return U @ adjoint(U)


def invariants_of_complete_qr(A, **options):
    """Of the columns of Q beyond those of A the projector on what they span."""
    Q, R = np.linalg.qr(separated(A), **options)
    k = min(A.shape[-2:])
    beyond = Q[..., k:]
    return Q[..., :k], beyond @ adjoint(beyond), R


RECTANGLES = [(1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (3, 0), (0, 2, 3)]


def rectangles(*options, shapes=RECTANGLES):
    return lambda rng: [sample(rng.standard_normal(shape), **o) for shape in shapes for o in options or [{}]]


def low_rank(X):
    """A matrix of rank 1 made of any one: its first column times its first row."""
    return X[..., :, :1] @ X[..., :1, :]


def least_squares(rng):
    for a, b in [((3, 3), (3,)), ((5, 2), (5,)), ((5, 2), (5, 3)), ((2, 4), (2, 2)), ((4, 2), (4,))]:
        yield sample(rng.standard_normal(a), rng.standard_normal(b), rcond=None)


def floats_of_lstsq(a, b, **options):
    x, residuals, _rank, s = np.linalg.lstsq(separated(a), b, **options)
    return x, residuals, s


def lstsq_of_low_rank(a, b):
    return np.linalg.lstsq(low_rank(a), b, rcond=1e-10)[0]


class Apart:
    """Random arrays whose entries differ in size by at least 0.5: extremes and sums have one winner."""

    def __init__(self, rng):
        self.rng = rng

    def standard_normal(self, shape):
        size = int(np.prod(shape))
        sign = self.rng.choice([-1.0, 1.0], size)
        return np.reshape(sign * (0.5 + self.rng.permutation(size) + 0.3 * self.rng.random(size)) / 2, shape)


def norms(rng):
    rng = Apart(rng)
    for order in [None, 1, 2, 3, 2.5, -2, 0.5, np.inf, -np.inf]:
        yield sample(rng.standard_normal(4), order)
        yield sample(rng.standard_normal((2, 3)), order, axis=0, keepdims=True)
        yield sample(rng.standard_normal((2, 3)), order, -1)
    for order in [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]:
        yield sample(rng.standard_normal((3, 2)), order)
        yield sample(rng.standard_normal((2, 3, 4)), order, axis=(2, 0))
        yield sample(rng.standard_normal((2, 3, 3)), order, axis=(-2, -1), keepdims=True)
    yield sample(rng.standard_normal((2, 3, 2)))
    yield sample(rng.standard_normal((2, 3, 2)), keepdims=True)
    yield sample(rng.standard_normal(0))


def vector_norms(rng):
    rng = Apart(rng)
    for order in [1, 2, 3, np.inf, -np.inf]:
        yield sample(rng.standard_normal((2, 3)), ord=order)
        yield sample(rng.standard_normal((2, 3, 2)), axis=(0, 2), keepdims=True, ord=order)
        yield sample(rng.standard_normal((2, 3)), axis=-1, ord=order)


def matrix_norms(rng):
    for order in ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]:
        yield sample(rng.standard_normal((2, 3, 2)), ord=order)
        yield sample(rng.standard_normal((3, 3)), ord=order, keepdims=True)


def distinct_eigenvalues(X):
    n = X.shape[-1]
    return 0.2 * X + np.diag(2.0 * np.arange(n)).astype(X.dtype)


def invariants_of_eig(A):
    """The eigenvalues, and the projectors on the eigenvectors with weights."""
    w, V = np.linalg.eig(distinct_eigenvalues(A))
    d = 1 / (1 + w * w)
    return w, (V * d[..., None, :]) @ adjoint(V)


def conditions(rng):
    for p in [None, 1, -1, 2, -2, "fro", np.inf, -np.inf]:
        yield sample(rng.standard_normal((3, 3)), p)


OPERATORS = [
    Operator(
        "cholesky",
        np.linalg.cholesky,
        lambda rng: [
            sample(rng.standard_normal(shape), upper=upper)
            for shape in [*SQUARE, (12, 12)]
            for upper in [False, True]
        ],
        call=lambda A, **options: np.linalg.cholesky(spd(A), **options),
        complex=True,
    ),
    Operator(
        "solve",
        np.linalg.solve,
        systems,
        call=lambda a, b: np.linalg.solve(heavy_diagonal(a), b),
        complex=True,
    ),
    Operator("inv", np.linalg.inv, matrices(*SQUARE), domain=heavy_diagonal, complex=True),
    Operator("det", np.linalg.det, matrices(*SQUARE), complex=True),
    Operator("slogdet", np.linalg.slogdet, matrices(*SQUARE), domain=heavy_diagonal, complex=True),
    Operator("eigh", np.linalg.eigh, hermitian_samples, call=invariants_of_eigh, complex=True),
    Operator(
        "eigvalsh",
        np.linalg.eigvalsh,
        hermitian_samples,
        call=lambda A, **options: np.linalg.eigvalsh(spd(A), **options),
        complex=True,
    ),
    Operator("eig", np.linalg.eig, matrices((1, 1), (3, 3), (2, 2, 2)), call=invariants_of_eig, complex=True),
    Operator(
        "eigvals",
        np.linalg.eigvals,
        matrices((1, 1), (3, 3), (2, 2, 2)),
        call=lambda A: np.linalg.eigvals(distinct_eigenvalues(A)),
        complex=True,
    ),
    Operator(
        "svd",
        np.linalg.svd,
        rectangles({}, {"full_matrices": False}),
        call=invariants_of_svd,
        complex=True,
    ),
    Operator(
        "svd (values)",
        np.linalg.svd,
        rectangles(),
        call=lambda A: np.linalg.svd(separated(A), compute_uv=False),
        complex=True,
    ),
    Operator(
        "svd (hermitian)",
        np.linalg.svd,
        matrices(*SQUARE),
        call=lambda A: (
            invariants_of_svd(spd(A), hermitian=True),
            np.linalg.svd(-spd(A), hermitian=True, compute_uv=False),
        ),
        complex=True,
    ),
    Operator(
        "svd (beyond)",
        np.linalg.svd,
        matrices((3, 1), (4, 2), (2, 3, 2)),
        call=projector_beyond,
        complex=True,
    ),
    Operator(
        "svdvals",
        np.linalg.svdvals,
        rectangles(),
        call=lambda A: np.linalg.svdvals(separated(A)),
        complex=True,
    ),
    Operator(
        "qr",
        np.linalg.qr,
        rectangles({}, {"mode": "r"}),
        call=lambda A, **options: np.linalg.qr(separated(A), **options),
        complex=True,
    ),
    Operator(
        "qr (complete)",
        np.linalg.qr,
        rectangles({"mode": "complete"}, shapes=[(2, 2), (2, 3), (3, 1), (4, 2), (2, 3, 2), (3, 0), (0, 2)]),
        call=invariants_of_complete_qr,
        complex=True,
    ),
    Operator(
        "pinv",
        np.linalg.pinv,
        rectangles({}, {"rcond": 1e-8}, {"rtol": 1e-8}, shapes=RECTANGLES[:5]),
        call=lambda A, **options: np.linalg.pinv(separated(A), **options),
        complex=True,
        single=False,  # 1e-8 is rounding there
    ),
    Operator(
        "pinv (hermitian)",
        np.linalg.pinv,
        matrices((3, 3), (2, 2, 2)),
        call=lambda A: np.linalg.pinv(spd(A), hermitian=True),
        complex=True,
    ),
    Operator(
        "pinv (low rank)",
        np.linalg.pinv,
        matrices((3, 3), (4, 2), (2, 3)),
        call=lambda A: np.linalg.pinv(low_rank(A), 1e-6),
        domain=lambda A: A + 2,
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
    Operator("lstsq", np.linalg.lstsq, least_squares, call=floats_of_lstsq, complex=True),
    Operator(
        "lstsq (low rank)",
        np.linalg.lstsq,
        lambda rng: [sample(rng.standard_normal((4, 3)), rng.standard_normal((4, 2)))],
        call=lstsq_of_low_rank,
        domain=lambda x: x + 2,
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
    Operator("norm", np.linalg.norm, norms, complex=True, rtol=1e-6),
    Operator("vector_norm", np.linalg.vector_norm, vector_norms, complex=True, rtol=1e-6),
    Operator("matrix_norm", np.linalg.matrix_norm, matrix_norms, complex=True, rtol=1e-6),
    Operator(
        "cond",
        np.linalg.cond,
        conditions,
        call=lambda A, p: np.linalg.cond(separated(A), p),
        complex=True,
        rtol=1e-6,
    ),
    Operator(
        "tensorsolve",
        np.linalg.tensorsolve,
        lambda rng: [
            sample(rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 3))),
            sample(rng.standard_normal((2, 4, 2)), rng.standard_normal(4), axes=(0, 2)),
        ],
        domain=lambda X: 0.3 * X + 2 * np.eye(math.isqrt(X.size)).reshape(X.shape) if X.ndim > 2 else X,
        complex=True,
        single=False,  # LU with exchanges of rows or columns agree to a few roundings of the largest entry
    ),
    Operator(
        "tensorinv",
        np.linalg.tensorinv,
        lambda rng: [
            sample(rng.standard_normal((4, 2, 2)), ind=1),
            sample(rng.standard_normal((2, 3, 6))),
        ],
        domain=lambda X: 0.3 * X + 2 * np.eye(math.isqrt(X.size)).reshape(X.shape) if X.ndim > 2 else X,
        complex=True,
        single=False,  # LU with exchanges of rows or columns agree to a few roundings of the largest entry
    ),
]
