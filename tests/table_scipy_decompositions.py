"""Records of the factorizations of ``lindiff.scipy.linalg``."""

from __future__ import annotations

import numpy as np
import scipy
from table import Operator, sample
from table_linalg import RECTANGLES, projected, rectangles, separated
from table_operators import adjoint, both_triangles, matrices, spd

from lindiff.scipy.linalg.decompositions import cholesky, ldl, lu
from lindiff.scipy.linalg.qr_factorization import qr, qr_multiply, rq
from lindiff.scipy.linalg.schur_form import schur
from lindiff.scipy.linalg.singular_values import null_space, orth, polar, svd, svdvals

OLD_SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2]) < (1, 14)


def accepted(*shapes):
    """Without matrices that have no entries, which older versions of SciPy refuse."""
    return [shape for shape in shapes if not (OLD_SCIPY and 0 in shape[-2:])]


# of what is composed of functions of numpy.linalg, which have records of their own
FEW = accepted((3, 3), (4, 2), (2, 3, 4), (0, 3))


def with_exchanges(X):
    """A matrix whose pivots are clear and not on its diagonal."""
    k = min(X.shape[-2:])
    D = np.zeros(X.shape[-2:], X.dtype)
    D[(np.arange(k) + 1) % max(k, 1), np.arange(k)] = 2.0 + np.arange(k)
    return 0.3 * X + D


def indefinite(X, hermitian=True):
    """A Hermitian or symmetric matrix whose factorization has blocks of size 1 and 2."""
    n = X.shape[-1]
    D = np.diag(np.where(np.arange(n) % 3 == 2, 5.0, 0.3)).astype(X.dtype)
    for k in range(0, n - 1, 3):
        D[k, k + 1] = D[k + 1, k] = 2.0
    return 0.1 * (X + (adjoint(X) if hermitian else np.swapaxes(X, -1, -2))) + D


def factors_of_ldl(X, hermitian=True, **options):
    return ldl(indefinite(X, hermitian), hermitian=hermitian, **options)[:2]


def products(rng):
    for mode in ["left", "right"]:
        for a in [(3, 3), (4, 2), (2, 4)]:
            k = min(a) if mode == "left" else a[0]
            yield sample(rng.standard_normal(a), rng.standard_normal(k), mode=mode)
            c = (k, 2) if mode == "left" else (2, k)
            yield sample(rng.standard_normal(a), rng.standard_normal(c), mode=mode, conjugate=True)
    yield sample(rng.standard_normal((4, 2)), rng.standard_normal((3, 4)), pivoting=True)
    yield sample(rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 2, 3)))


def full_qr(A, **options):
    """R, and the projector with weights on what Q holds for the columns, and that on what is beyond them."""
    Q, R, *_ = qr(separated(A), **options)
    beyond = Q[..., R.shape[-1] :]
    return R, projected(Q[..., : R.shape[-1]]), beyond @ adjoint(beyond)


def full_rq(A):
    R, Q = rq(separated(A))
    m = R.shape[-2]
    before = Q[..., : max(R.shape[-1] - m, 0), :]
    return R, Q[..., max(R.shape[-1] - m, 0) :, :], adjoint(before) @ before


def distinct(X):
    return 0.1 * X + np.diag(2.0 * np.arange(X.shape[-1])).astype(X.dtype)


def with_pair(X):
    """A real matrix with one pair of complex eigenvalues, the block of which is far from normal."""
    X = distinct(X)
    D = np.zeros(X.shape[-2:])
    D[0, 1], D[1, 0] = 3.0, -2.0
    return X + D


def invariants_of_schur(a, **options):
    """What does not depend on the phases of the columns of Z."""
    T, Z, *_ = schur(a, **options)
    d = np.arange(1.0, T.shape[-1] + 1).astype(T.dtype)
    return np.diagonal(T, axis1=-2, axis2=-1), T * np.conjugate(T), projected(Z), Z @ (T * d) @ adjoint(Z)


def invariants_of_svd(A, **options):
    U, s, Vh = svd(separated(A), **options)
    k = s.shape[-1]
    U, V = U[..., :k], adjoint(Vh)[..., :k]
    d = np.arange(1.0, k + 1).astype(A.dtype)
    return s, projected(U), projected(V), (U * d) @ adjoint(V)


def rank_one(X):
    return (X + 2)[..., :, :1] @ (X + 2)[..., :1, :]


def projector(Q):
    return Q @ adjoint(Q)


OPERATORS = [
    Operator(
        "scipy cholesky",
        cholesky,
        both_triangles((1, 1), (3, 2, 2), (0, 3, 3)),
        call=lambda A, lower: cholesky(spd(A), lower=lower),
        complex=True,
    ),
    Operator(
        "scipy lu",
        lu,
        rectangles({"p_indices": True}, {"permute_l": True}),
        call=lambda A, **options: lu(with_exchanges(A), **options)[-2:],
        complex=True,
    ),
    Operator(
        "scipy ldl",
        ldl,
        lambda rng: [
            *both_triangles((1, 1), (4, 4), (2, 3, 3), (0, 0), (0, 3, 3))(rng),
            *(sample(rng.standard_normal((4, 4)), lower=lower, hermitian=False) for lower in [True, False]),
        ],
        call=factors_of_ldl,
        complex=True,
    ),
    Operator(
        "scipy qr",
        qr,
        rectangles({"mode": "economic"}, shapes=FEW),
        call=lambda A, **options: qr(separated(A), **options),
        complex=True,
    ),
    Operator(
        "scipy qr (r)",
        qr,
        rectangles({"mode": "r"}, {"mode": "r", "pivoting": True}, shapes=[(3, 3), (4, 2), (2, 4)]),
        call=lambda A, **options: qr(separated(A), **options),
        complex=True,
    ),
    Operator(
        "scipy qr (full)",
        qr,
        rectangles({}, {"pivoting": True}, shapes=[(3, 3), (4, 2), (2, 4), (2, 3, 1), (3, 0)]),
        call=full_qr,
        complex=True,
    ),
    Operator(
        "scipy rq",
        rq,
        rectangles({"mode": "economic"}, {"mode": "r"}, shapes=FEW),
        call=lambda A, **options: rq(separated(A), **options),
        complex=True,
    ),
    Operator("scipy rq (full)", rq, rectangles(shapes=[(3, 3), (4, 2), (2, 4)]), call=full_rq, complex=True),
    Operator(
        "scipy qr_multiply",
        qr_multiply,
        products,
        domain=lambda X: separated(X) if X.ndim > 1 else X,
        complex=True,
    ),
    Operator(
        "scipy svd",
        svd,
        rectangles({}, {"full_matrices": False}, shapes=FEW),
        call=invariants_of_svd,
        complex=True,
    ),
    Operator(
        "scipy svdvals",
        svdvals,
        rectangles(shapes=FEW),
        call=lambda A: (svdvals(separated(A)), svd(separated(A), compute_uv=False)),
        complex=True,
    ),
    Operator(
        "scipy polar",
        polar,
        rectangles({"side": "right"}, {"side": "left"}, shapes=accepted(*RECTANGLES)),
        call=lambda A, **options: polar(separated(A), **options),
        complex=True,
    ),
    Operator(
        "scipy orth",
        orth,
        rectangles({"rcond": 1e-6}, shapes=[(3, 3), (4, 2), (2, 3), (2, 3, 2)]),
        call=lambda A, rcond: projector(orth(rank_one(A), rcond)),
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
    Operator(
        "scipy null_space",
        null_space,
        rectangles({"rcond": 1e-6}, shapes=[(3, 3), (4, 2), (2, 3), (2, 3, 2)]),
        call=lambda A, rcond: projector(null_space(rank_one(A), rcond)),
        complex=True,
        single=False,  # the rank is not seen in single precision
    ),
    Operator(
        "scipy schur",
        schur,
        lambda rng: [
            *matrices(*accepted((1, 1), (3, 3), (2, 2, 2), (0, 0), (0, 2, 2)))(rng),
            sample(rng.standard_normal((3, 3)), output="complex"),
            sample(rng.standard_normal((3, 3)), sort="rhp"),
        ],
        call=invariants_of_schur,
        domain=distinct,
        complex=True,
    ),
    Operator(
        "scipy schur (pairs)",
        schur,
        lambda rng: [
            sample(rng.standard_normal(shape), output=output)
            for shape in [(2, 2), (3, 3), (2, 3, 3)]
            for output in ["real", "complex"]
        ],
        call=invariants_of_schur,
        domain=with_pair,
        single=False,  # LAPACK orders a pair, and turns its block, in another way in single precision
    ),
]
