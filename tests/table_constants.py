"""Records of the functions with zero derivative, and of the makers of constants."""

from __future__ import annotations

import numpy as np
from table import Operator, sample

A = np.array([[0.5, -1.5, 2.5], [np.inf, 0.0, -0.5]])
B = np.array([0.5, 0.0, 2.5])
SORTED = np.array([-1.0, 0.0, 1.0, 3.0])


def record(function, *samples):
    """A constant function with these samples."""
    name = (
        f"{function.__module__}.{function.__name__}" if hasattr(function, "__module__") else function.__name__
    )
    return Operator(name, function, lambda rng: samples, constant=True)


def made_like(function, *args):
    """A maker of constants reached through ``like=``."""
    return Operator(
        function.__name__,
        function,
        lambda rng: [sample(np.ones(2))],
        call=lambda x: function(*args, like=x),
        constant=True,
    )


OPERATORS = [
    *(
        record(f, sample(A, B), sample(B, 0.5), sample(0.5, A))
        for f in [
            np.equal,
            np.not_equal,
            np.greater,
            np.greater_equal,
            np.less,
            np.less_equal,
            np.logical_and,
            np.logical_or,
            np.logical_xor,
            np.array_equal,
            np.array_equiv,
            np.allclose,
            np.isclose,
            np.isin,
            np.may_share_memory,
            np.shares_memory,
        ]
    ),
    record(np.floor_divide, sample(B, 0.3), sample(B, np.array([1.0, 2.0, 3.0])), sample(2.0, B + 1)),
    *(
        record(f, sample(A), sample(np.array(0.3)))
        for f in [
            np.logical_not,
            np.all,
            np.any,
            np.count_nonzero,
            np.isfinite,
            np.isinf,
            np.isnan,
            np.isneginf,
            np.isposinf,
            np.signbit,
            np.iscomplex,
            np.isreal,
            np.iscomplexobj,
            np.isrealobj,
            np.ndim,
            np.shape,
            np.size,
            np.common_type,
            np.min_scalar_type,
            np.array_repr,
            np.array_str,
            np.array2string,
            np.ceil,
            np.floor,
            np.trunc,
            np.fix,
            np.rint,
            np.sign,
            np.argwhere,
            np.flatnonzero,
            np.zeros_like,
            np.ones_like,
        ]
    ),
    *(record(f, sample(A), sample(A, 1), sample(A, decimals=1)) for f in [np.round, np.around]),
    *(
        record(f, sample(A), sample(A, axis=0), sample(A, axis=1, keepdims=True))
        for f in [np.argmax, np.argmin, np.nanargmax, np.nanargmin]
    ),
    record(np.spacing, sample(B)),
    record(np.argsort, sample(A), sample(A, axis=0), sample(A, 0, kind="stable")),
    record(np.argpartition, sample(B, 1)),
    record(np.nonzero, sample(A)),
    record(np.lexsort, sample((B, B)), sample(A)),
    record(np.searchsorted, sample(SORTED, B), sample(SORTED, 0.5, side="right")),
    record(np.digitize, sample(B, SORTED)),
    record(np.result_type, sample(A, B), sample(A, np.dtype("f4"))),
    record(np.can_cast, sample(np.dtype("f4"), np.dtype("f8"))),
    record(np.unravel_index, sample([1, 5], (2, 3))),
    record(np.ravel_multi_index, sample(([0, 1], [2, 1]), (2, 3))),
    record(np.einsum_path, sample("ij,jk", np.ones((2, 2)), np.ones((2, 2)))),
    record(np.linalg.matrix_rank, sample(np.ones((2, 2)))),
    *(
        record(f, sample(np.ones((3, 3))))
        for f in [np.diag_indices_from, np.tril_indices_from, np.triu_indices_from]
    ),
    Operator(
        "empty_like",
        np.empty_like,
        lambda rng: [sample(A)],
        call=lambda x: np.empty_like(x).shape,
        constant=True,
    ),
    Operator(
        "empty", np.empty, lambda rng: [sample(B)], call=lambda x: np.empty(3, like=x).shape, constant=True
    ),
    made_like(np.arange, 1, 5, 2),
    made_like(np.eye, 2),
    made_like(np.identity, 2),
    made_like(np.ones, (2, 3)),
    made_like(np.tri, 3),
    made_like(np.zeros, 3),
]
