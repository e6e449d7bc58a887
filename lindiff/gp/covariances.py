"""Matrices of covariances, and their derivatives, tile by tile.

A tile of the matrix fits the cache, and the kernel is a program on it: NumPy's functions without Python
between them and without arrays on their way.  On the way back each tile is computed anew from the points, so
that nothing of the size of the matrix is kept, and the matrix itself may be overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.gp.moving import Still, apart
from lindiff.programs import program
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["Pulled", "covariances"]

IN_ONE_TILE = 2**17  # numbers: a megabyte, of the second cache
ROWS = 256  # of a square tile


def covariances(kernel: Any, F: Any, G: Any = None) -> Any:
    """Covariances (n, m) between points of features F and of G, or (n, n) of those of F.

    Differentiable in the numbers of the kernel and in both features.

    Notes
    -----
    One array, its result.  That of F alone is symmetric, and computed by half; so are its derivatives.
    """
    tree = (kernel, F, G)
    moving, still = apart(tree)
    return _covariances(moving, still) if moving else _filled(tree)


@rule
def _covariances(moving: list[Any], still: Still) -> Any:
    is_outer = depends_on_variables(moving)
    K = _covariances(moving, still) if is_outer else _filled(still.tree(moving))

    def whole(*moving: Any) -> Any:
        kernel, F, G = still.tree(moving)
        return _tile(kernel, F, F if G is None else G)

    def push(moving_dot: list[Any]) -> Any:
        return jvp(whole, tuple(moving), tuple(moving_dot))[1]

    def pull(K_bar: Any) -> Any:
        if is_outer or type(K_bar) is not np.ndarray:
            return [*vjp(whole, *moving)[1](K_bar)]
        pulled = Pulled(still.tree(moving), still.active)
        n, m = K_bar.shape
        for rows, columns in _tiles(n, m, pulled.is_symmetric):
            tile = K_bar[rows, columns]
            if pulled.is_symmetric and columns.start < rows.start:
                tile = tile + K_bar[columns, rows].T
            pulled.add(rows, columns, tile)
        return pulled.total

    return K, Differential((push,), (pull,))


# -- tiles -----------------------------------------------------------------------------------------------


def _tiles(n: int, m: int, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of tiles; of a symmetric matrix those on its diagonal and below."""
    width = ROWS if symmetric else min(max(m, 1), 2 * ROWS)
    height = ROWS if symmetric else max(IN_ONE_TILE // width, 1)
    for row in range(0, n, height):
        for column in range(0, min(m, row + 1) if symmetric else m, width):
            yield slice(row, min(row + height, n)), slice(column, min(column + width, m))


def _rows(tree: Any, rows: slice) -> Any:
    return pytree.tree_map(lambda x: x[rows], tree)


def _filled(tree: Any) -> Any:
    kernel, F, G = tree
    first = pytree.flatten(F)[0][0]
    n, m = len(first), len(pytree.flatten(F if G is None else G)[0][0])
    if any(type(x) is not np.ndarray for x in pytree.flatten((F, G))[0]):
        return _tile(kernel, F, F if G is None else G)
    K = None
    for rows, columns in _tiles(n, m, G is None):
        tile = _tile_by_program(kernel, _rows(F, rows), _rows(F if G is None else G, columns))
        if K is None:
            K = np.empty((n, m), tile.dtype)
        K[rows, columns] = tile
        if G is None and columns.start < rows.start:
            K[columns, rows] = tile.T
    return np.zeros((n, m), first.dtype) if K is None else K


def _tile(kernel: Any, F: Any, G: Any) -> Any:
    K = kernel.between(F, G)
    first, second = pytree.flatten(F)[0][0], pytree.flatten(G)[0][0]
    shape = (first.shape[0], second.shape[0])
    return K if np.shape(K) == shape else K + np.zeros(shape, first.dtype, like=first)


_tile_by_program = program(_tile)


@program
def _pulled(tree: Any, active: tuple[bool, ...], K_bar: Any) -> Any:
    """The cotangents of the active leaves of (kernel, F, G)."""
    leaves, restore = pytree.flatten(tree)
    still = Still(restore, leaves, active)
    given = [x for x, a in zip(leaves, active, strict=True) if a]
    return vjp(lambda *moving: _tile(*still.tree(moving)), *given)[1](K_bar)


class Pulled:
    """Cotangents of what a matrix of covariances is made of, summed over its tiles.

    Parameters
    ----------
    tree : (kernel, F, G)
        G is None for the covariances of F.
    active : tuple of bool
        Which leaves of it are differentiated.

    Attributes
    ----------
    total : list of arrays
        The cotangents of the active leaves.
    """

    def __init__(self, tree: Any, active: tuple[bool, ...]) -> None:
        self._kernel, self._F, G = tree
        self.is_symmetric = G is None
        self._G = self._F if G is None else G
        of_kernel, of_f = (len(pytree.flatten(x)[0]) for x in (self._kernel, self._F))
        of_g = 0 if G is None else len(pytree.flatten(G)[0])
        leaves = [x for x, a in zip(pytree.flatten(tree)[0], active, strict=True) if a]
        self.total = [np.zeros(np.shape(x), np.result_type(x)) for x in leaves]
        parts = (), active[of_kernel : of_kernel + of_f], active[of_kernel + of_f :]
        self._active = (*active, *parts[1]) if G is None else active
        index = {place: k for k, place in enumerate(i for i, a in enumerate(active) if a)}
        # Where a cotangent goes: to which array, and by rows or columns of it.
        self._to: list[tuple[int, str]] = [(index[i], "all") for i in range(of_kernel) if active[i]]
        first = [index[of_kernel + i] for i in range(of_f) if parts[1][i]]
        second = first if G is None else [index[of_kernel + of_f + i] for i in range(of_g) if parts[2][i]]
        self._to += [(k, "rows") for k in first] + [(k, "columns") for k in second]

    def add_rows(self, rows: slice, tile: Any) -> None:
        """Add what the cotangent of whole rows contributes."""
        n, m = tile.shape
        for inside, columns in _tiles(n, m, False):
            here = slice(rows.start + inside.start, rows.start + inside.stop)
            self.add(here, columns, tile[inside, columns])

    def add(self, rows: slice, columns: slice, tile: Any) -> None:
        """Add what the cotangent of a tile contributes."""
        tree = self._kernel, _rows(self._F, rows), _rows(self._G, columns)
        bars = _pulled(tree, self._active, tile)
        for bar, (k, where) in zip(bars, self._to, strict=True):
            part = ... if where == "all" else rows if where == "rows" else columns
            self.total[k][part] += bar
