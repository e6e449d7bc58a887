"""Groups of columns of a sparse matrix that have no row in common, and what its products say of its pattern.

A. R. Curtis, M. J. D. Powell, J. K. Reid (1974), On the estimation of sparse Jacobian matrices; the groups
are those of SciPy's greedy colouring (T. F. Coleman, J. J. Moré 1983).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize._numdiff import group_columns
from scipy.sparse import csc_array, csr_array

# Products with the Jacobian for several directions, one raveled product a row; if it is told not to go
# forward, with its transpose.
Walk: TypeAlias = Callable[[bool, Any], Any]

# Walks with several directions carry so many bytes of an array together.
CHUNK_BYTES = 1 << 18

# Roundings in each term of a product of the matrix and a direction, and from which part of it on it is
# measured, by its precision, whether a difference is what is rounded on the way.  The directions that measure
# it are as many fractions of the one.
_ROUNDINGS = 8
_FRACTIONS = 16
_NOTICEABLE = {"f": 1e-3, "d": 1e-6}

# The part of a function's slope that entries have which are no rounding themselves.
_SMALL = 1e-3

# How often the columns of a new pattern are halved, where that takes a while: an entry that hides in a row
# behind a larger one is in another half than that, but for one pair of columns in 2**_HALVINGS.
_HALVINGS = 4


@dataclass(frozen=True)
class Comparison:
    """The product of a matrix and a direction beside what a walk along it gives.

    Attributes
    ----------
    forward : bool
        Whether the direction is of columns; else it is of rows.
    direction, product : ndarray
        The walk's.
    apart : ndarray
        How far both products are from each other; NaN where that is not finite, so that it is no less than
        anything.
    matrix : csr_array or csc_array
        Of double precision, transposed for a direction of rows.
    lengths : ndarray
        How many entries there are for each number.
    whole : ndarray, optional
        The direction that this one is a part of.
    """

    forward: bool
    direction: Any
    product: Any
    apart: Any
    matrix: Any
    lengths: Any
    whole: Any = None

    @cached_property
    def terms(self) -> Any:
        """The sizes of what is added up in each number of the product."""
        return abs(self.matrix) @ np.abs(self.direction)

    def is_rounding(self) -> bool:
        """Whether no number is further apart than what is rounded in its terms."""
        unit = _ROUNDINGS * np.finfo(self.direction.dtype).eps
        return not np.any(self._beyond(unit * self.lengths, 0.0))

    def misses(self, slope: Any, walk: Walk) -> bool:
        """Whether the matrix has not all entries: a number is noticeably apart, by more than what is rounded
        on the way to it.  Entries that are much less than the function's ``slope`` may be rounding."""
        far = self._beyond(_NOTICEABLE[self.direction.dtype.char], _SMALL * slope) & ~np.isnan(self.apart)
        if self.direction.size > 1:  # what has an entry everywhere has missed none
            far &= self.lengths < self.direction.size
        if not np.any(far):
            return False
        return bool(np.any(far & ~(self.apart <= _ROUNDINGS * self.lengths * self._noise(walk))))

    def _beyond(self, part: Any, slope: Any) -> Any:
        """Which numbers are apart by more than a part of their size and that of their terms, which are no
        smaller than ``slope``."""
        size = np.abs(self.product)
        beyond = ~(self.apart <= part * size)
        if np.any(beyond):
            beyond &= ~(self.apart <= part * (size + self.terms + np.where(self.terms > 0, slope, 0.0)))
        return beyond

    def _noise(self, walk: Walk) -> Any:
        """How far walks along parts of the direction are from the one along it: what is rounded on the way to
        each number, be the product as small as that.  Parts are fractions, and both sides of halves: what is
        rounded away beside others is not where these are in the other half."""
        odd = np.arange(1, 2 * _FRACTIONS + 2, 2).astype(self.direction.dtype)

        def moved(direction: Any) -> Any:
            products = walk(self.forward, direction / odd[:, None]) * odd[:, None]
            return products[0], np.max(np.abs(products[1:] - products[0]), axis=0)

        product, noise = moved(self.direction)
        for halves in halves_of(self.direction):
            for one, other in zip(halves[::2], halves[1::2], strict=True):
                (first, of_first), (second, of_second) = moved(one), moved(other)
                noise = reduce(np.maximum, (noise, of_first, of_second, np.abs(first + second - product)))
        if self.whole is None:
            return noise
        # entries are rounded by the size of others that they stand beside
        return np.maximum(noise, np.finfo(noise.dtype).eps * (abs(self.matrix) @ np.abs(self.whole)))


@dataclass(frozen=True)
class Compression:
    """A pattern, and the groups of its columns or rows that have no entry in the same row or column.

    Attributes
    ----------
    pattern : csr_array of bool
        With sorted indices.
    looks : bool
        Whether the function looks at values.
    lengths : (ndarray of int, ndarray of int)
        How many entries each column and each row has, 1 for none.
    forward : bool
        Whether the groups are of columns.
    seeds : ndarray
        A direction for each group, and a random one, each a row.
    across : ndarray
        A random direction of rows or columns, of which the groups are not.
    places : (ndarray of int, ndarray of int)
        Of each entry in the products with the seeds.
    """

    pattern: csr_array
    looks: bool
    lengths: tuple[Any, Any]
    forward: bool
    seeds: Any
    across: Any
    places: tuple[Any, Any]

    @classmethod
    def of(cls, pattern: csr_array, looks: bool, mode: str | None, dtype: np.dtype[Any]) -> Compression:
        pattern = csr_array(pattern, dtype=bool)
        pattern.sum_duplicates()
        rows, columns = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices
        found = {}
        if mode != "rev":
            found[True] = _groups(pattern)
        if mode != "fwd":
            found[False] = _groups(pattern.T)
        forward = min(found, key=lambda k: (found[k].max(initial=-1), not k))
        groups = found[forward]
        count = int(groups.max(initial=-1)) + 1
        random = np.random.default_rng(0)
        seeds = np.zeros((count + 1, groups.size), dtype)
        seeds[groups, np.arange(groups.size)] = 1.0
        seeds[count] = random.standard_normal(groups.size)
        seeds.flags.writeable = False
        across = random.standard_normal(pattern.shape[0 if forward else 1]).astype(dtype)
        places = (groups[columns], rows) if forward else (groups[rows], columns)
        lengths = (
            np.maximum(np.bincount(columns, minlength=pattern.shape[1]), 1),
            np.maximum(np.diff(pattern.indptr), 1),
        )
        return cls(pattern, looks, lengths, forward, seeds, across, places)

    def matrix(self, walk: Walk, x: Any) -> tuple[csr_array, list[Comparison]]:
        """The Jacobian at x, and products with it beside those of walks."""
        products = walk(self.forward, self.seeds)
        matrix, across = self.matrix_of(products), self.across[None]
        comparisons, sizes = self.of_seeds(matrix, products), _sizes_in(x).astype(across.dtype)
        if self.forward:
            scaled = sizes * self.seeds[-1]
            comparisons.append(self._compared(matrix, True, scaled, walk(True, scaled[None])[0]))
        else:
            across = np.concatenate([across, sizes * across])
        return matrix, [*comparisons, *self._compared_across(matrix, across, walk)]

    def of_seeds(self, matrix: csr_array, products: Any) -> list[Comparison]:
        """The matrix that is made of the products with the seeds beside that with the random one, and with
        those that have numbers where there is no entry."""
        last = len(self.seeds) - 1
        return [
            self._compared(matrix, self.forward, self.seeds[k], products[k])
            for k in (*self._apart(matrix.data, products[:last]), last)
        ]

    def closer(self, matrix: csr_array, walk: Walk) -> Iterator[Comparison]:
        """More of these: along halves of the random direction, by the bits of numbers of its columns or
        rows."""
        for halves in halves_of(self.seeds[-1]):
            for half, product in zip(halves, walk(self.forward, halves), strict=True):
                yield replace(self._compared(matrix, self.forward, half, product), whole=self.seeds[-1])

    @property
    def directions(self) -> Any:
        """One for each group, each a row."""
        return self.seeds[:-1]

    def matrix_of(self, products: Any) -> csr_array:
        """The matrix whose products with the directions these are, each a row."""
        data = products[self.places].astype(self.seeds.dtype, copy=False)
        return csr_array((data, self.pattern.indices.copy(), self.pattern.indptr.copy()), self.pattern.shape)

    def _compared_across(self, matrix: csr_array, directions: Any, walk: Walk) -> list[Comparison]:
        try:
            products = walk(not self.forward, directions)
        except TypeError:  # a pullback that is not linear has no transpose
            return []
        pairs = zip(directions, products, strict=True)
        return [self._compared(matrix, not self.forward, direction, product) for direction, product in pairs]

    def _compared(self, matrix: csr_array, forward: bool, direction: Any, product: Any) -> Comparison:
        own = matrix.astype(np.float64, copy=False)
        own = own if forward else own.T
        with np.errstate(invalid="ignore"):
            apart = np.abs(own @ direction - product)
        apart[np.isinf(apart)] = np.nan
        return Comparison(forward, direction, product, apart, own, self.lengths[forward])

    def _apart(self, data: Any, products: Any) -> Sequence[int]:
        """Groups whose products have numbers where there is no entry."""
        if np.count_nonzero(products) == np.count_nonzero(data):
            return []
        groups, _ = self.places
        entries = np.bincount(groups[data != 0], minlength=len(products))
        return np.flatnonzero(np.count_nonzero(products, axis=1) != entries).tolist()


def halves_of(direction: Any) -> Iterator[Any]:
    """Both sides of halves of a direction, one behind the other, by the bits of numbers of its places in a
    random order: any two places are apart in one of them, unless they are very many."""
    numbers = np.random.default_rng(1).permutation(direction.size)
    step = max(CHUNK_BYTES // max(2 * direction.nbytes, 1), 1)
    count = min(max(direction.size - 1, 0).bit_length(), max(step, _HALVINGS))
    for first in range(0, count, step):
        yield np.stack(
            [
                direction * (numbers >> bit & 1 == side)
                for bit in range(first, min(first + step, count))
                for side in (0, 1)
            ]
        )


def _sizes_in(x: Any) -> Any:
    """The sizes of numbers beside the largest one; the mean for those that have none."""
    sizes = np.abs(np.ravel(x)) / (largest(x) or 1.0)
    has_one = np.isfinite(sizes) & (sizes > 0)
    return np.where(has_one, sizes, np.mean(sizes[has_one]) if has_one.any() else 1.0)


def largest(x: Any) -> Any:
    """The largest size of finite numbers."""
    return np.max(np.abs(x), initial=0.0, where=np.isfinite(x))


def _groups(pattern: Any) -> Any:
    """Of columns that have no row in common."""
    return group_columns(csc_array(pattern)) if pattern.nnz else np.zeros(pattern.shape[1], np.intp)
