"""Records of the operators of ``lindiff.linalg``."""

from __future__ import annotations

import itertools
import math

import numpy as np
from table import Operator, sample

import lindiff as ld


def adjoint(X):
    return np.conjugate(np.swapaxes(X, -1, -2))


def spd(X):
    """A Hermitian positive definite matrix with distinct eigenvalues, made of any square one."""
    n = X.shape[-1]
    return 0.2 * (X @ adjoint(X)) + np.diag(1 + np.arange(n)).astype(X.dtype)


def in_one_triangle(G, lower):
    """The gradient of an array that was filled in one triangle, where that of a symmetric one is G."""
    G = 0.5 * (G + adjoint(G))
    return np.tril(G) + np.tril(G, -1) if lower else np.triu(G) + np.triu(G, 1)


def heavy_diagonal(X):
    """A matrix whose triangles are well conditioned, with positive diagonal."""
    n = X.shape[-1]
    eye = np.eye(n, dtype=X.dtype)
    return X * (1 - eye) / max(n, 1) + eye * (2 + X * np.conjugate(X))


def matrices(*shapes):
    """Samples of one random array of each shape, without options."""
    return lambda rng: [sample(rng.standard_normal(shape)) for shape in shapes]


SQUARE = [(1, 1), (4, 4), (3, 2, 2), (0, 0), (0, 3, 3)]


def with_triangle(rng):
    """Samples for trmm and trsm: every flag, broadcasting, empty."""
    flags = itertools.product([False, True], [False, True], [False, True])
    for i, (transpose, rightside, lower) in enumerate(flags):
        shape = (2, 3) if rightside else (3, 2)
        alpha = 1.0 if i % 2 else -1.5
        yield sample(
            rng.standard_normal((3, 3)),
            rng.standard_normal(shape),
            transpose=transpose,
            rightside=rightside,
            lower=lower,
            alpha=alpha,
        )
    yield sample(rng.standard_normal((2, 2)), rng.standard_normal((3, 2, 1)))
    yield sample(rng.standard_normal((2, 1, 2, 2)), rng.standard_normal((3, 2, 4)), lower=False)
    yield sample(rng.standard_normal((2, 2)), rng.standard_normal((2, 0)))
    yield sample(rng.standard_normal((0, 0)), rng.standard_normal((0, 2)))
    yield sample(rng.standard_normal((40, 40)), rng.standard_normal((40, 5)))
    for transpose in ["C", True]:
        yield sample(
            rng.standard_normal((3, 3)), rng.standard_normal((2, 3)), transpose=transpose, rightside=True
        )
        yield sample(rng.standard_normal((3, 3)), rng.standard_normal((3, 2)), transpose=transpose)


def reference_triangle(L, lower, transpose):
    M = np.tril(L) if lower else np.triu(L)
    return adjoint(M) if transpose == "C" else np.swapaxes(M, -1, -2) if transpose else M


def reference_trmm(L, A, transpose=False, rightside=False, lower=True, alpha=1.0):
    M = reference_triangle(L, lower, transpose)
    return alpha * (A @ M if rightside else M @ A)


def reference_trsm(L, A, transpose=False, rightside=False, lower=True, alpha=1.0):
    M = reference_triangle(L, lower, transpose)
    return alpha * (A @ np.linalg.inv(M) if rightside else np.linalg.inv(M) @ A)


def two_factors(rng):
    for transpose_a, transpose_b in itertools.product([False, True, "C"], repeat=2):
        a = (2, 3) if transpose_a else (3, 2)
        b = (4, 2) if transpose_b else (2, 4)
        options = {"transpose_a": transpose_a, "transpose_b": transpose_b, "alpha": -0.5}
        yield rng.standard_normal(a), rng.standard_normal(b), options
    yield rng.standard_normal((2, 1, 3, 2)), rng.standard_normal((4, 2, 3)), {}
    yield rng.standard_normal((3, 2)), rng.standard_normal((4, 2, 3)), {}
    yield rng.standard_normal((3, 0)), rng.standard_normal((0, 3)), {}


def products(rng):
    for A, B, options in two_factors(rng):
        yield sample(A, B, **options)


def products_onto(rng):
    for A, B, options in two_factors(rng):
        shape = (ld.linalg.gemm2(A, B, **options)).shape
        yield sample(A, B, rng.standard_normal(shape), **options)
    yield sample(*rng.standard_normal((3, 2, 2)), alpha=2.0, beta=-1.0)


def reference_gemm(A, B, C, beta=1.0, **options):
    return ld.linalg.gemm2(A, B, **options) + beta * C


def points(rng):
    for n, m, d in [(4, 3, 2), (3, 5, 6), (1, 1, 1), (0, 2, 3), (2, 0, 4), (3, 2, 0)]:
        yield sample(rng.standard_normal((n, d)), rng.standard_normal((m, d)))


def reference_squared_distances(X, Z):
    return np.sum((X[:, None] - Z) ** 2, axis=-1)


def reference_gemm2(A, B, transpose_a=False, transpose_b=False, alpha=1.0):
    return alpha * (reference_op(A, transpose_a) @ reference_op(B, transpose_b))


def reference_op(A, transpose):
    return adjoint(A) if transpose == "C" else np.swapaxes(A, -1, -2) if transpose else A


def reference_syrk(A, transpose=False, alpha=1.0):
    return alpha * (reference_op(A, transpose) @ A if transpose else A @ np.swapaxes(A, -1, -2))


def grams(rng):
    for transpose in [False, True, "C"]:
        yield sample(rng.standard_normal((3, 2)), transpose=transpose, alpha=-0.5)
        yield sample(rng.standard_normal((2, 2, 3)), transpose=transpose)
    yield sample(rng.standard_normal((0, 3)))
    yield sample(rng.standard_normal((3, 0)))


def both_triangles(*shapes):
    return lambda rng: [
        sample(rng.standard_normal(shape), lower=lower) for shape in shapes for lower in [True, False]
    ]


def reference_potrf(A, lower=True):
    L = np.linalg.cholesky(spd(A))
    return L if lower else adjoint(L)


def reference_potri(L, lower=True):
    L = np.tril(L) if lower else np.triu(L)
    return np.linalg.inv(L @ adjoint(L) if lower else adjoint(L) @ L)


def invariants_of_syevd(A):
    """Eigenvalues, and what does not depend on the phase of the eigenvectors."""
    U, lam = ld.linalg.syevd(spd(A))
    d = np.arange(1.0, A.shape[-1] + 1)
    return lam, adjoint(U) @ (d[:, None] * U)


def reference_syevd(A):
    lam, V = np.linalg.eigh(spd(A))
    d = np.arange(1.0, A.shape[-1] + 1)
    return lam, (V * d) @ adjoint(V)


def offsets(make):
    def samples(rng):
        for offset in [0, 1, -2]:
            yield sample(rng.standard_normal(make), offset=offset)
        yield sample(rng.standard_normal((2, 2, *make)), 1)
        yield sample(rng.standard_normal((0,) * len(make)))

    return samples


def triangles(make):
    def samples(rng):
        for offset, lower in [(0, True), (0, False), (1, True), (-1, True), (2, False)]:
            yield sample(rng.standard_normal((2, *make)), offset=offset, lower=lower)
        yield sample(rng.standard_normal((0,) * len(make)))

    return samples


def reference_gelqf(A):
    Q, R = np.linalg.qr(adjoint(A))
    d = np.diagonal(R, axis1=-2, axis2=-1)
    phase = d / np.abs(d)
    return adjoint(Q * phase[..., None, :]), adjoint(R * np.conjugate(phase)[..., :, None])


def with_columns(rng):
    """Samples for the factor objects: matrices and right-hand sides."""
    for a, b in [
        ((1, 1), (1,)),
        ((3, 3), (3, 2)),
        ((40, 40), (40,)),
        ((2, 3, 3), (3,)),
        ((2, 2), (3, 2, 1)),
        ((2, 2), (2, 0)),
        ((0, 0), (0, 2)),
        ((0, 2, 2), (2,)),
    ]:
        yield sample(rng.standard_normal(a), rng.standard_normal(b))


def of_cho_factor(A, b):
    F = ld.linalg.cho_factor(spd(A))
    return F.solve(b), F.quad(b), F.whiten(b), F.logdet(), F.inv(), F.diag_inv(), F.L


def reference_cho_factor(A, b):
    K = spd(A)
    inv, L = np.linalg.inv(K), np.linalg.cholesky(K)
    B = b[:, None] if b.ndim == 1 else b
    x, z = inv @ B, np.linalg.inv(L) @ B
    q = np.sum((np.conj(z) * z).real, axis=-2)
    x, z, q = (x[..., 0], z[..., 0], q[..., 0]) if b.ndim == 1 else (x, z, q)
    return x, q, z, np.linalg.slogdet(K)[1], inv, np.diagonal(inv, axis1=-2, axis2=-1).real, L


def of_lu_factor(A, b):
    F = ld.linalg.lu_factor(heavy_diagonal(A))
    transposed = [F.solve(b, transpose) for transpose in (False, True, "C")]
    return *transposed, *F.slogdet(), F.inv(), F.diag_inv(), F.logdet()


def reference_lu_factor(A, b):
    A = heavy_diagonal(A)
    inv = np.linalg.inv(A)
    B = b[:, None] if b.ndim == 1 else b
    solutions = [op @ B for op in (inv, np.swapaxes(inv, -1, -2), adjoint(inv))]
    solutions = [x[..., 0] for x in solutions] if b.ndim == 1 else solutions
    sign, logdet = np.linalg.slogdet(A)
    return *solutions, sign, logdet, inv, np.diagonal(inv, axis1=-2, axis2=-1), logdet


def of_eigh_factor(A, b):
    F = ld.linalg.eigh_factor(spd(A))
    return F.solve(b, 0.5), F.quad(b), F.logdet([0.5, 1.0] if A.ndim == 2 else 0.5)


def reference_eigh_factor(A, b):
    K = spd(A)
    eye = np.eye(K.shape[-1], dtype=K.dtype)
    q = reference_cho_factor(A, b)[1]
    B = b[:, None] if b.ndim == 1 else b
    x = np.linalg.inv(K + 0.5 * eye) @ B
    shifts = np.array([0.5, 1.0] if A.ndim == 2 else 0.5)[..., None, None]
    return x[..., 0] if b.ndim == 1 else x, q, np.linalg.slogdet(K + shifts * eye)[1]


def gaussians(rng):
    for x, mean, cov in [
        ((1,), (1,), (1, 1)),
        ((3,), (), (3, 3)),
        ((2, 4, 3), (4, 3), (3, 3)),
        ((4, 1, 3), (3,), (2, 3, 3)),
        ((40,), (40,), (40, 40)),
        ((0, 3), (3,), (3, 3)),
        ((3,), (3,), (0, 3, 3)),
        ((2, 0), (0,), (0, 0)),
    ]:
        yield sample(rng.standard_normal(x), rng.standard_normal(mean), rng.standard_normal(cov))


def observations(rng):
    for y, K, noise in [
        ((1,), (1, 1), ()),
        ((3,), (3, 3), (3,)),
        ((3, 2), (2, 3, 3), ()),
        ((2, 3, 2), (3, 3), (3,)),
        ((2, 3, 1), (2, 3, 3), (2, 3)),
        ((40, 2), (40, 40), ()),
        ((3, 0), (3, 3), ()),
        ((0, 2), (0, 0), ()),
    ]:
        yield sample(rng.standard_normal(y), rng.standard_normal(K), rng.standard_normal(noise))
    yield sample(rng.standard_normal(3), rng.standard_normal((3, 3)))


def reference_mvn_logpdf(x, mean, cov):
    cov = spd(cov)
    r = x - mean
    quad = np.sum(r * (np.linalg.inv(cov) @ r[..., None])[..., 0], axis=-1)
    return -0.5 * (quad + np.linalg.slogdet(cov)[1] + cov.shape[-1] * math.log(2 * math.pi))


def of_gp_logpdf(y, K, *noise):
    return ld.linalg.gp_logpdf(y, spd(K), *(s * s for s in noise))


def reference_gp_logpdf(y, K, *noise):
    A, Y = spd(K), y[:, None] if y.ndim == 1 else y
    n, k = Y.shape[-2:]
    for s in noise:
        A = A + np.broadcast_to(s * s, (*s.shape[:-1], n))[..., None] * np.eye(n, dtype=K.dtype)
    quad = np.sum(Y * (np.linalg.inv(A) @ Y), axis=(-2, -1))
    return -0.5 * (quad + k * (np.linalg.slogdet(A)[1] + n * math.log(2 * math.pi)))


OPERATORS = [
    Operator(
        "ld.cho_factor",
        ld.linalg.cho_factor,
        with_columns,
        call=of_cho_factor,
        reference=reference_cho_factor,
        complex=True,
        single=False,  # two algorithms do not agree to 1e-5 of every entry
    ),
    Operator(
        "ld.lu_factor",
        ld.linalg.lu_factor,
        with_columns,
        call=of_lu_factor,
        reference=reference_lu_factor,
        complex=True,
        single=False,
    ),
    Operator(
        "ld.eigh_factor",
        ld.linalg.eigh_factor,
        with_columns,
        call=of_eigh_factor,
        reference=reference_eigh_factor,
        complex=True,
        single=False,
    ),
    Operator(
        "ld.mvn_logpdf",
        ld.linalg.mvn_logpdf,
        gaussians,
        call=lambda x, mean, cov: ld.linalg.mvn_logpdf(x, mean, spd(cov)),
        reference=reference_mvn_logpdf,
    ),
    Operator(
        "ld.gp_logpdf", ld.linalg.gp_logpdf, observations, call=of_gp_logpdf, reference=reference_gp_logpdf
    ),
    Operator(
        "ld.squared_distances", ld.linalg.squared_distances, points, reference=reference_squared_distances
    ),
    Operator("ld.gemm2", ld.linalg.gemm2, products, reference=reference_gemm2, complex=True),
    Operator("ld.gemm", ld.linalg.gemm, products_onto, reference=reference_gemm, complex=True),
    Operator("ld.syrk", ld.linalg.syrk, grams, reference=reference_syrk, complex=True),
    Operator("ld.trmm", ld.linalg.trmm, with_triangle, reference=reference_trmm, complex=True),
    Operator(
        "ld.trsm",
        ld.linalg.trsm,
        with_triangle,
        call=lambda L, A, **options: ld.linalg.trsm(heavy_diagonal(L), A, **options),
        reference=lambda L, A, **options: reference_trsm(heavy_diagonal(L), A, **options),
        complex=True,
    ),
    Operator(
        "ld.potrf",
        ld.linalg.potrf,
        both_triangles(*SQUARE),
        call=lambda A, **options: ld.linalg.potrf(spd(A), **options),
        reference=reference_potrf,
        complex=True,
    ),
    Operator(
        "ld.potrf (large)",
        ld.linalg.potrf,
        both_triangles((40, 40)),
        call=lambda A, **options: ld.linalg.potrf(spd(A), **options),
        reference=reference_potrf,
        complex=True,
        single=False,  # two algorithms do not agree to 1e-5 of every entry
    ),
    Operator(
        "ld.potri",
        ld.linalg.potri,
        both_triangles(*SQUARE),
        domain=heavy_diagonal,
        reference=reference_potri,
        complex=True,
    ),
    Operator(
        "ld.gelqf",
        ld.linalg.gelqf,
        matrices((1, 1), (3, 3), (2, 4), (2, 3, 5), (0, 2, 3), (0, 3)),
        reference=reference_gelqf,
        complex=True,
    ),
    Operator(
        "ld.gelqf_l",
        ld.linalg.gelqf_l,
        matrices((1, 1), (3, 3), (2, 4), (2, 3, 5), (0, 2, 3), (0, 3)),
        reference=lambda A: reference_gelqf(A)[1],
        complex=True,
    ),
    Operator(
        "ld.syevd",
        ld.linalg.syevd,
        matrices(*SQUARE),
        call=invariants_of_syevd,
        reference=reference_syevd,
        complex=True,
        single=False,  # two algorithms do not agree to 1e-5 of every entry
    ),
    Operator(
        "ld.inverse",
        ld.linalg.inverse,
        matrices(*SQUARE),
        domain=heavy_diagonal,
        reference=np.linalg.inv,
        complex=True,
    ),
    Operator("ld.det", ld.linalg.det, matrices(*SQUARE), reference=np.linalg.det, complex=True),
    Operator(
        "ld.slogdet",
        ld.linalg.slogdet,
        matrices(*SQUARE),
        domain=heavy_diagonal,
        reference=np.linalg.slogdet,
        complex=True,
    ),
    Operator(
        "ld.sumlogdiag",
        ld.linalg.sumlogdiag,
        matrices(*SQUARE),
        domain=heavy_diagonal,
        reference=lambda A: np.sum(np.log(np.diagonal(A, axis1=-2, axis2=-1)), axis=-1),
        complex=True,
    ),
    Operator("ld.extractdiag", ld.linalg.extractdiag, offsets((4, 4)), complex=True),
    Operator("ld.makediag", ld.linalg.makediag, offsets((3,)), complex=True),
    Operator("ld.extracttrian", ld.linalg.extracttrian, triangles((4, 4)), complex=True),
    Operator("ld.maketrian", ld.linalg.maketrian, triangles((6,)), complex=True),
]
