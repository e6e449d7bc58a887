"""Where a sparse matrix has its entries: an order in which they are near the diagonal, and which columns
have no row in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize._numdiff import group_columns
from scipy.sparse import csc_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

__all__ = ["arranged"]


def arranged(rows: Any, columns: Any, n: int) -> tuple[Any, Any, Any, Any, int, int]:
    """The entries of a matrix, ordered by groups of columns that have no row in common.

    Returns
    -------
    rows, columns : ndarray
        In the order of the groups.
    begins : ndarray
        Where each group begins, and the last one ends.
    place : ndarray
        Of row and column i where these make a narrow band: E. Cuthill, J. McKee (1969), Reducing the
        bandwidth of sparse symmetric matrices.
    below, above : int
        How far the band goes to both sides of the diagonal.
    """
    pattern = csc_array((np.ones(len(rows)), (rows, columns)), (n, n))
    groups = group_columns(pattern)
    order = np.argsort(groups[columns], kind="stable")
    rows, columns = rows[order], columns[order]
    begins = np.searchsorted(groups[columns], np.arange(groups.max() + 2))
    place = np.empty(n, np.intp)
    place[reverse_cuthill_mckee((pattern + pattern.T).tocsr(), symmetric_mode=True)] = np.arange(n)
    distances = place[rows] - place[columns]
    return (
        rows,
        columns,
        begins,
        place,
        int(distances.max(initial=0)),
        int((-distances).max(initial=0)),
    )
