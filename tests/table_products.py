"""Records of the products and of the functions of diagonals."""

from __future__ import annotations

import numpy as np
from table import Operator, sample
from table_shape import call, each, listed, separate, several


def pairs(*shapes, **kwargs):
    return separate(*[(pair, kwargs) for pair in shapes])


def contractions(rng):
    a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 3, 2))
    yield sample(a, b, 1)
    yield sample(a, b, axes=0)
    yield sample(a, b, axes=([1, 2], [1, 0]))
    yield sample(a, b, ((2, 0), (0, 2)))
    yield sample(a, b, (0, -1))
    yield sample(a, b, ((2, 0, 1), (0, 2, 1)))
    yield sample(a, b.transpose(1, 0, 2), 0)
    yield sample(rng.standard_normal((3, 4)), rng.standard_normal((3, 4)))
    yield sample(rng.standard_normal((2, 0)), rng.standard_normal((0, 3)), 1)


EXPRESSIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 2)),
    ("ij,jk->ki", (2, 3), (3, 2)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iji->j", (2, 3, 2)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),
    ("ij->j", (2, 3)),
    ("ij->", (2, 3)),
    ("ij,k->k", (2, 3), (2,)),  # i and j are in one operand only
    ("iij->", (2, 2, 3)),
    ("ki,ii->k", (2, 3), (3, 3)),
    (",ij->ij", (), (2, 3)),
    ("i,j->ij", (0,), (2,)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("i...,i...->...", (2, 3), (2, 1)),
    ("...,...", (2, 3), (3,)),
    ("...ii->...i", (2, 3, 3)),
    ("ij,ij->i", (1, 3), (2, 3)),
    (" ab, bc ,cd -> ad", (2, 3), (3, 2), (2, 3)),
]


def expressions(rng):
    for subscripts, *shapes in EXPRESSIONS:
        yield sample(subscripts, *[rng.standard_normal(shape) for shape in shapes])
    matrices = [rng.standard_normal(shape) for shape in [(2, 3), (3, 2), (2, 3)]]
    for optimize in [True, "greedy", "optimal", ["einsum_path", (0, 1), (0, 1)]]:
        yield sample("ab,bc,cd->ad", *matrices, optimize=optimize)


def interleaved(rng):
    a, b = rng.standard_normal((2, 2, 3)), rng.standard_normal((3, 2))
    yield sample(a[0], [0, 1], b, [1, 2])
    yield sample(a[0], [30, 1], b, [1, 2])
    yield sample(a, [Ellipsis, 0, 1], b, [1, 2], [2, Ellipsis, 0])
    yield sample(a[:, :, 0], [0, 0], [])


OFFSETS = [call(), call(1), call(-2), call(offset=5)]
ANY_AXES = [call(1, 1, -1), call(offset=-1, axis1=2, axis2=0)]
ROWS = pairs([(4,), (4,)], [(2, 1, 4), (3, 4)])

OPERATORS = [
    Operator(
        "dot",
        np.dot,
        pairs(
            [(3,), (3,)],
            [(), (2, 3)],
            [(2, 3), (3,)],
            [(2,), (2, 3)],
            [(2, 3), (3, 2)],
            [(2, 2, 3), (3,)],
            [(2, 3), (2, 3, 2)],
            [(0,), (0,)],
            [(2, 0), (0, 2)],
        ),
        complex=True,
    ),
    Operator(
        "inner",
        np.inner,
        pairs(
            [(3,), (3,)], [(2, 3), ()], [(2, 3), (3,)], [(3,), (2, 3)], [(2, 3), (2, 3)], [(2, 2, 3), (2, 3)]
        ),
        complex=True,
    ),
    Operator("vdot", np.vdot, pairs([(3,), (3,)], [(2, 3), (6,)], [(), ()]), complex=True),
    Operator("outer", np.outer, pairs([(2,), (3,)], [(2, 2), (3,)], [(), (2,)], [(0,), (2,)]), complex=True),
    Operator("linalg.outer", np.linalg.outer, pairs([(2,), (3,)], [(40,), (30,)]), complex=True),
    Operator(
        "matmul",
        np.matmul,
        several(
            pairs([(3,), (3,)], [(2, 3), (3,)], [(3,), (3, 2)], [(2, 3), (3, 2)], [(2, 1, 2, 3), (4, 3, 2)]),
            pairs([(2, 3), (3, 2)], dtype=np.complex128),
            pairs([(3, 4, 2), (4, 5, 2)], axes=[(0, 1), (0, 1), (0, 1)]),
            pairs([(3, 4, 2), (4, 5, 2)], axes=[(0, 1), (0, 1), (-1, -2)]),
        ),
        complex=True,
    ),
    Operator("linalg.matmul", np.linalg.matmul, pairs([(2, 3), (3, 2)], [(3,), (2, 3, 2)])),
    Operator(
        "vecdot",
        np.vecdot,
        several(
            ROWS,
            pairs([(3, 2), (3, 2)], axis=0),
            pairs([(2, 3), (2, 3)], keepdims=True),
            pairs([(3, 2), (3, 2)], axis=0, keepdims=True),
            pairs([(3, 2), (2, 3)], axes=[0, 1]),
            pairs([(3, 2), (2, 3)], axes=[0, 1, ()]),
        ),
        complex=True,
    ),
    Operator("linalg.vecdot", np.linalg.vecdot, several(ROWS, pairs([(3, 2), (3, 2)], axis=0)), complex=True),
    Operator(
        "linalg.multi_dot",
        np.linalg.multi_dot,
        listed(
            ([(4,), (4, 2), (2, 3), (3,)], (), {}),
            ([(2, 4), (4, 3), (3, 5)], (), {}),
            ([(2, 3), (3,)], (), {}),
        ),
    ),
    Operator(
        "linalg.matrix_power",
        np.linalg.matrix_power,
        several(each((3, 3), call(0), call(1), call(n=2), call(5)), each((2, 3, 3), call(3))),
        complex=True,
    ),
    Operator("tensordot", np.tensordot, contractions, complex=True),
    Operator("linalg.tensordot", np.linalg.tensordot, pairs([(2, 3), (2, 3)], [(2, 3, 2), (3, 2, 4)])),
    Operator("einsum", np.einsum, expressions, complex=True),
    Operator("einsum, interleaved", np.einsum, interleaved),
    Operator(
        "einsum_path",
        np.einsum_path,
        expressions,
        call=lambda *args, **kwargs: np.concatenate(np.einsum_path(*args, **kwargs)[0][1:]),
        constant=True,
    ),
    Operator(
        "diagonal", np.diagonal, several(each((3, 4), *OFFSETS), each((2, 3, 4), *ANY_AXES)), complex=True
    ),
    Operator("linalg.diagonal", np.linalg.diagonal, each((2, 3, 4), call(), call(offset=-1))),
    Operator(
        "diag", np.diag, several(each((3, 4), call(), call(-1)), each((3,), call(), call(k=2))), complex=True
    ),
    Operator("diagflat", np.diagflat, several(each((2, 2), call(), call(k=-1)), each((), call(1)))),
    Operator(
        "trace",
        np.trace,
        several(each((3, 4), *OFFSETS), each((2, 3, 4), *ANY_AXES), each((3, 3), call(dtype=np.complex128))),
        complex=True,
    ),
    Operator("linalg.trace", np.linalg.trace, each((2, 3, 4), call(), call(offset=-1))),
    Operator(
        "kron",
        np.kron,
        pairs([(2, 3), (3, 2)], [(2,), (3,)], [(2,), (2, 2)], [(2, 2, 2), (2, 2)], [(), (2,)], [(2, 2), ()]),
        complex=True,
    ),
    Operator(
        "cross",
        np.cross,
        several(
            pairs([(3,), (3,)], [(4, 1, 3), (2, 3)]),
            pairs([(3, 2), (3, 2)], axis=0),
            pairs([(3, 2), (2, 3)], axisa=0, axisb=1, axisc=0),
        ),
        complex=True,
    ),
    Operator("linalg.cross", np.linalg.cross, several(pairs([(3,), (3,)]), pairs([(3, 2), (3, 2)], axis=0))),
]

if hasattr(np, "matvec"):  # NumPy 2.2
    OPERATORS += [
        Operator(
            "matvec",
            np.matvec,
            several(
                pairs([(2, 3), (3,)], [(2, 2, 3), (2, 3)]), pairs([(3, 4, 2), (4, 2)], axes=[(0, 1), 0, 0])
            ),
            complex=True,
        ),
        Operator("vecmat", np.vecmat, pairs([(2,), (2, 3)], [(2, 2), (2, 2, 3)]), complex=True),
    ]
