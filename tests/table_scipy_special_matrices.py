"""Records of ``lindiff.scipy.linalg``: special matrices."""

from __future__ import annotations

import numpy as np
from table import Operator, sample

from lindiff.scipy.linalg import special_matrices as special


def vectors(*shapes, **options):
    """Samples of one array for each shape."""
    return lambda rng: [sample(rng.standard_normal(shape), **options) for shape in shapes]


def pairs(*shapes):
    return lambda rng: [sample(rng.standard_normal(c), rng.standard_normal(r)) for c, r in shapes]


def reference_toeplitz(c, r=None):
    r = np.conjugate(c) if r is None else r
    i = np.arange(c.shape[-1])[:, None] - np.arange(r.shape[-1])
    return np.where(i >= 0, c[..., np.maximum(i, 0)], r[..., np.maximum(-i, 0)])


def reference_hankel(c, r=None):
    r = np.zeros_like(c) if r is None else r
    m = c.shape[-1]
    i = np.arange(m)[:, None] + np.arange(r.shape[-1])
    return np.where(i < m, c[..., np.minimum(i, m - 1)], r[..., np.maximum(i - m + 1, 0)])


def convolutions(rng):
    for m, n in [(3, 2), (2, 4), (1, 3)]:
        for mode in ["full", "same", "valid"]:
            yield sample(rng.standard_normal(m), n, mode)
    yield sample(rng.standard_normal((2, 3)), 2)


def reference_block_diag(*blocks):
    blocks = [np.atleast_2d(block) for block in blocks]
    dtype = np.result_type(*blocks)
    shape = np.sum([block.shape[-2:] for block in blocks], axis=0)
    batch = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    D = np.zeros((*batch, *shape), dtype)
    i = j = 0
    for block in blocks:
        m, n = block.shape[-2:]
        D[..., i : i + m, j : j + n] = block
        i, j = i + m, j + n
    return D


def apart(a):
    return a + 3 * np.arange(a.shape[-1]).astype(a.dtype)


OPERATORS = [
    Operator(
        "scipy.toeplitz",
        special.toeplitz,
        pairs(((3,), (4,)), ((4,), (2,)), ((1,), (1,)), ((2, 3), (3,)), ((0, 3), (2,))),
        reference=reference_toeplitz,
        complex=True,
    ),
    Operator(
        "scipy.toeplitz (column)",
        special.toeplitz,
        vectors((3,), (2, 3)),
        reference=reference_toeplitz,
        complex=True,
    ),
    Operator("scipy.circulant", special.circulant, vectors((3,), (1,)), complex=True),
    Operator(
        "scipy.hankel",
        special.hankel,
        pairs(((3,), (4,)), ((1,), (1,)), ((2, 3), (2,))),
        reference=reference_hankel,
        complex=True,
    ),
    Operator(
        "scipy.hankel (column)",
        special.hankel,
        vectors((3,), (2, 3)),
        reference=reference_hankel,
        complex=True,
    ),
    Operator("scipy.convolution_matrix", special.convolution_matrix, convolutions, complex=True),
    Operator(
        "scipy.block_diag",
        special.block_diag,
        lambda rng: [
            sample(rng.standard_normal((2, 2)), rng.standard_normal((1, 3))),
            sample(rng.standard_normal(3), 2.0, rng.standard_normal((2, 1))),
            sample(rng.standard_normal((2, 1, 2, 2)), rng.standard_normal((3, 1, 1))),
            sample(rng.standard_normal((0, 2)), rng.standard_normal((2, 0)), rng.standard_normal((1, 1))),
            sample(rng.standard_normal((2, 2))),
        ],
        reference=reference_block_diag,
        complex=True,
    ),
    Operator(
        "scipy.khatri_rao",
        special.khatri_rao,
        pairs(((2, 3), (2, 3)), ((2, 2, 3), (1, 3)), ((2, 0), (3, 0))),
        reference=lambda a, b: np.reshape(
            a[..., :, None, :] * b[..., None, :, :],
            (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2] * b.shape[-2], a.shape[-1]),
        ),
        complex=True,
    ),
    Operator(
        "scipy.companion",
        special.companion,
        vectors((4,), (2,), (2, 3)),
        call=lambda a: special.companion(a + 4 * (np.arange(a.shape[-1]) == 0).astype(a.dtype)),
        complex=True,
    ),
    Operator(
        "scipy.fiedler",
        special.fiedler,
        vectors((3,), (2, 2)),
        call=lambda a: special.fiedler(apart(a)),
        reference=lambda a: np.abs(apart(a)[..., :, None] - apart(a)[..., None, :]),
        complex=True,
    ),
    Operator("scipy.leslie", special.leslie, pairs(((3,), (2,)), ((2, 3), (2,))), complex=True),
]
