"""Which parts of a model's matrices the way back needs the cotangents of.

Where each covariance is another one, all of ``Ā`` costs n³ a step, some rows or columns of it n² each: of a
model whose transition has its parameters in one column, as ARIMA models have, that is all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.moving import moving
from lindiff.core.variable import Variable
from lindiff.kernels.kalman import Wanted

__all__ = ["ALL", "Parts", "parts_of"]

# Of transition and state_cov; None: all.
Parts = tuple[Wanted | None, Wanted | None]
ALL: Parts = (None, None)

# Multiplications of all cotangents, from which it is worth to look what of them is needed.
WORTH_A_LOOK = 3e6

# Of these, what a look takes for each operation that has made a matrix; so many are always looked at.
OF_AN_OPERATION, FEW = 3e4, 100


def parts_of(A: Any, Q: Any, steps: int) -> Parts:
    """The parts of ``A, Q (..., n, n)`` that move with what they are made of.

    Of A these are rows or columns, of Q what is in both; None where it is more than half of them, not known,
    or not worth a look.
    """
    n = A.shape[-1]
    if steps * n**3 < WORTH_A_LOOK:
        return ALL
    most = int(max(steps * n**3, FEW * OF_AN_OPERATION) / OF_AN_OPERATION)
    of_A, of_Q = _moving(A, most), _moving(Q, most)
    rows_or_columns = None
    if of_A is not None:
        rows_or_columns = min(
            (_part(axis, of_A.any(axis=1 - axis)) for axis in (0, 1)), key=lambda part: len(part.places)
        )
    both = None if of_Q is None else _part(None, of_Q.any(axis=0) | of_Q.any(axis=1))
    return _if_small(rows_or_columns, n), _if_small(both, n)


def _moving(X: Any, most: int) -> Any:
    """Which entries move in any step, (n, n), or None."""
    found = moving(X, most) if type(X) is Variable else None
    return None if found is None else found.reshape(-1, *X.shape[-2:]).any(axis=0)


def _part(axis: int | None, moves: Any) -> Wanted:
    return Wanted(axis, np.flatnonzero(moves).astype(np.intp))


def _if_small(part: Wanted | None, n: int) -> Wanted | None:
    return part if part is not None and 2 * len(part.places) <= n else None
