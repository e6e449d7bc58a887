"""Tiles of matrices of covariances, each by a program of its kernel."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.fields import besides_of
from lindiff.gp.moving import Still, children, flatten, leaves
from lindiff.programs.keys import constant_key
from lindiff.programs.program import Program
from lindiff.transforms.reverse import vjp

__all__ = ["Pulled", "Tiles", "between", "tiles_of"]

IN_ONE_TILE = 2**17  # numbers: a megabyte, of the second cache
ROWS = 256  # of a square tile


def tiles_of(n: int, m: int, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of tiles; of a symmetric matrix those on its diagonal and below."""
    width = ROWS if symmetric else min(max(m, 1), 2 * ROWS)
    height = ROWS if symmetric else max(IN_ONE_TILE // width, 1)
    for row in range(0, n, height):
        for column in range(0, min(m, row + 1) if symmetric else m, width):
            yield slice(row, min(row + height, n)), slice(column, min(column + width, m))


def between(kernel: Any, F: Any, G: Any) -> Any:
    """What a kernel says of two sets of points, as a whole matrix."""
    K = kernel.between(F, G)
    first, second = pytree.flatten(F)[0][0], pytree.flatten(G)[0][0]
    shape = (first.shape[0], second.shape[0])
    if np.shape(K) == shape and K.dtype.kind == "f":
        return K
    return K + np.zeros(shape, first.dtype, like=first)


# -- programs --------------------------------------------------------------------------------------------


class _Form:
    """A tree of a kernel and features without its numbers; equal where it computes the same from them."""

    def __init__(self, tree: Any, restore: Callable[..., Any]) -> None:
        self.restore = restore
        self._key = _key_of(tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Form) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _key_of(tree: Any) -> Any:
    """What a tree is but for its leaves, and for the bounds of searches."""
    if not pytree.is_tree(tree):
        return None
    below = children(tree)
    keys = tuple((key, _key_of(child)) for key, child in below.items())
    if not dataclasses.is_dataclass(tree):
        return type(tree), keys
    others = {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)} | besides_of(tree)
    said = tuple(
        (name, _said(x))
        for name, x in others.items()
        if name not in below and name.removesuffix("_bounds") not in below
    )
    return type(tree), keys, said


def _said(x: Any) -> Any:
    """What is no leaf, as a part of a key."""
    return tuple(map(_said, x)) if type(x) is tuple else constant_key(x)


@functools.lru_cache(maxsize=256)
def _program_of(form: _Form) -> Callable[..., Any]:
    return Program(lambda leaves: between(*form.restore(leaves)), warns=False)  # of any numbers of points


@functools.lru_cache(maxsize=256)
def _pulled_of(form: _Form, active: tuple[bool, ...]) -> Callable[..., Any]:
    """The cotangents of the active leaves, of the leaves and the cotangent of the matrix."""

    def pulled(leaves: list[Any], K_bar: Any) -> Any:
        still = Still(form.restore, leaves, active)
        moving = [x for x, a in zip(leaves, active, strict=True) if a]
        return vjp(lambda *moving: between(*still.tree(moving)), *moving)[1](K_bar)

    return Program(pulled, warns=False)


# -- tiles -----------------------------------------------------------------------------------------------


class Tiles:
    """The tiles of a matrix of covariances between plain points.

    Parameters
    ----------
    tree : (kernel, F, G)
        G is None for the covariances of F.

    Attributes
    ----------
    given, rows, columns : list
        The leaves of the kernel, of F, and of G, or of F where that is None.
    """

    def __init__(self, tree: Any) -> None:
        kernel, F, G = tree
        self.is_symmetric = G is None
        tree = kernel, F, F if G is None else G
        found, restore = flatten(tree)
        n, m = len(leaves(F)), len(leaves(tree[2]))
        self.given, points = found[: -n - m], found[-n - m :]
        self.rows, self.columns = points[:n], points[n:]
        dtype = self.rows[0].dtype
        # Numbers of Python have the type of the points, and are data of the program as arrays are.
        self._numbers = [np.asarray(x, dtype) if type(x) in (int, float) else x for x in self.given]
        self._form = _Form(tree, restore)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return len(self.rows[0]), len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of each tile; of a symmetric matrix those on its diagonal and below."""
        return tiles_of(*self.shape, self.is_symmetric)

    def leaves(self, rows: slice, columns: slice) -> list[Any]:
        """The numbers that a tile is made of."""
        return [*self._numbers, *(x[rows] for x in self.rows), *(x[columns] for x in self.columns)]

    def tile(self, rows: slice, columns: slice) -> Any:
        """The tile with these rows and columns."""
        return _program_of(self._form)(self.leaves(rows, columns))

    def matrix(self) -> Any:
        """All of them."""
        K = None
        for rows, columns in self:
            tile = self.tile(rows, columns)
            if K is None:
                K = np.empty(self.shape, tile.dtype)
            K[rows, columns] = tile
            if self.is_symmetric and columns.start < rows.start:
                K[columns, rows] = tile.T
        return np.zeros(self.shape, self.rows[0].dtype) if K is None else K

    def pulled(self, active: tuple[bool, ...], rows: slice, columns: slice, K_bar: Any) -> Any:
        """The cotangents of the active leaves of a tile."""
        return _pulled_of(self._form, active)(self.leaves(rows, columns), K_bar)


class Pulled:
    """Cotangents of what a matrix of covariances is made of, summed over its tiles.

    Parameters
    ----------
    tiles : Tiles
        Of the matrix.
    active : tuple of bool
        Which leaves of its tree are differentiated.

    Attributes
    ----------
    total : list of arrays
        The cotangents of the active leaves.
    """

    def __init__(self, tiles: Tiles, active: tuple[bool, ...]) -> None:
        self.tiles = tiles
        kernel, F, G = tiles.given, tiles.rows, [] if tiles.is_symmetric else tiles.columns
        moving = [x for x, a in zip((*kernel, *F, *G), active, strict=True) if a]
        self.total = [np.zeros(np.shape(x), np.result_type(x)) for x in moving]
        of_rows, of_columns = active[len(kernel) : len(kernel) + len(F)], active[len(kernel) + len(F) :]
        self._active = (*active, *of_rows) if self.tiles.is_symmetric else active
        # Where a cotangent goes: to which array, and to which part of it.
        counts = sum(active[: len(kernel)]), sum(of_rows), sum(of_columns)
        ends = np.cumsum(counts)
        self._to = [(k, "all") for k in range(ends[0])]
        self._to += [(k, "rows") for k in range(ends[0], ends[1])]
        others = range(ends[0], ends[1]) if self.tiles.is_symmetric else range(ends[1], ends[2])
        self._to += [(k, "columns") for k in others]

    def add_all(self, K_bar: Any) -> None:
        """Add what the cotangent of the whole matrix contributes."""
        for rows, columns in self.tiles:
            tile = K_bar[rows, columns]
            if self.tiles.is_symmetric and columns.start < rows.start:
                tile = tile + K_bar[columns, rows].T
            self.add(rows, columns, tile)

    def add_rows(self, rows: slice, K_bar: Any) -> None:
        """Add what the cotangent of whole rows contributes."""
        n, m = K_bar.shape
        for inside, columns in tiles_of(n, m, False):
            here = slice(rows.start + inside.start, rows.start + inside.stop)
            self.add(here, columns, K_bar[inside, columns])

    def add(self, rows: slice, columns: slice, K_bar: Any) -> None:
        """Add what the cotangent of a tile contributes."""
        bars = self.tiles.pulled(self._active, rows, columns, K_bar)
        for bar, (k, where) in zip(bars, self._to, strict=True):
            part = ... if where == "all" else rows if where == "rows" else columns
            self.total[k][part] += bar
