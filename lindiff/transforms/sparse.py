"""Jacobians as sparse matrices: columns that have no row in common are found by one direction.

A. R. Curtis, M. J. D. Powell, J. K. Reid (1974), On the estimation of sparse Jacobian matrices; the pattern
comes from the steps of a program (:mod:`lindiff.programs.dependence`), and the groups of columns from
SciPy's greedy colouring (T. F. Coleman, J. J. Moré 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize._numdiff import group_columns
from scipy.sparse import csc_array, csr_array

from lindiff.core.directions import Directions, array_of
from lindiff.core.linearization import Linearization
from lindiff.core.variable import Variable
from lindiff.programs.dependence import dependence
from lindiff.programs.recording import Unrecordable
from lindiff.transforms._arguments import Argnums, select

__all__ = ["SparseJacobian"]

# Walks with several directions carry so many bytes of an array together.
CHUNK_BYTES = 1 << 18

# Shapes whose patterns are kept.
KEPT = 16


class SparseJacobian:
    """The Jacobian of a function of an array with an array as its result, as ``scipy.sparse.csr_array``.

    The first call for arguments of a shape finds the pattern.  Each call walks once for each group of columns
    or rows, and once more along a random direction: where the matrix does not give the same, the function
    has gone another way, and the pattern is found again.

    Parameters
    ----------
    function : callable
    argnums : int or str
    mode : {None, "fwd", "rev"}
        Groups of columns or of rows; None takes the fewer.
    """

    def __init__(self, function: Callable[..., Any], argnums: Argnums, mode: str | None) -> None:
        self._function, self._argnums, self._mode = function, argnums, mode
        self._kept: dict[Any, _Compression] = {}
        self._name = getattr(function, "__name__", "the function")

    def __call__(
        self, linearization: Linearization, args: tuple[Any, ...], kwargs: dict[str, Any], has_aux: bool
    ) -> csr_array:
        """The Jacobian at arguments, where the function has been linearized.

        Raises
        ------
        TypeError
            For arguments or results that are no real arrays, and a function without a program.
        """
        x, y = self._one_of_each(linearization)
        key = x.shape, y.shape, np.result_type(x, y)
        compression = self._kept.get(key)
        if compression is not None:
            matrix, is_all = compression.matrix(linearization)
            if is_all:
                return matrix
        pattern = self._pattern(args, kwargs, has_aux, (y.size, x.size))
        if compression is not None:
            pattern = pattern + compression.pattern
        compression = _Compression.of(pattern, self._mode)
        matrix, is_all = compression.matrix(linearization)
        if not is_all:
            raise TypeError(
                f"{self._name} does not do the same when it is called again: its pattern cannot be found; "
                f"leave sparse=True away"
            )
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[key] = compression
        return matrix

    def _one_of_each(self, linearization: Linearization) -> tuple[Any, Any]:
        inputs, outputs = linearization.inputs.arrays, linearization.outputs.arrays
        if len(inputs) != 1 or len(outputs) != 1:
            raise TypeError(
                f"sparse=True is for a function of one array that returns one array; {self._name} has "
                f"{len(inputs)} and {len(outputs)}: concatenate them, or give the number of one in argnums"
            )
        x, y = inputs[0], np.asarray(outputs[0]) if not hasattr(outputs[0], "shape") else outputs[0]
        for array in (x, y):
            if isinstance(array, Variable):
                raise TypeError(
                    "a sparse Jacobian has no derivatives of its own: leave sparse=True away inside of "
                    "another transform"
                )
            if array.dtype.kind != "f":
                raise TypeError(f"sparse=True is for real numbers, and {self._name} has {array.dtype}")
        return x, y

    def _pattern(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], has_aux: bool, shape: tuple[int, int]
    ) -> csr_array:
        of_selected, (x,) = select(self._function, self._argnums, args, kwargs)

        def value_alone(x: Any) -> Any:
            result = of_selected(x)
            return result[0] if has_aux else result

        try:
            pattern = dependence(value_alone, x)
        except Unrecordable as reason:
            raise TypeError(
                f"the pattern of the Jacobian of {self._name} cannot be found, as no program repeats it: "
                f"{reason}; leave sparse=True away"
            ) from None
        return csr_array(pattern.reshape(shape))


@dataclass(frozen=True)
class _Compression:
    """A pattern, and the groups of its columns or rows that have no entry in the same row or column.

    Attributes
    ----------
    pattern : csr_array of bool
        With sorted indices.
    forward : bool
        Whether the groups are of columns.
    groups : ndarray of int
        Of each column or row.
    rows : ndarray of int
        Of each entry.
    """

    pattern: csr_array
    forward: bool
    groups: Any
    rows: Any

    @classmethod
    def of(cls, pattern: csr_array, mode: str | None) -> _Compression:
        pattern = csr_array(pattern, dtype=bool)
        pattern.sum_duplicates()
        pattern.sort_indices()
        found = {}
        if mode != "rev":
            found[True] = group_columns(csc_array(pattern))
        if mode != "fwd":
            found[False] = group_columns(csc_array(pattern.T))
        forward = min(found, key=lambda k: (_count(found[k]), not k))
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        return cls(pattern, forward, found[forward], rows)

    def matrix(self, linearization: Linearization) -> tuple[csr_array, bool]:
        """The Jacobian, and whether it has all entries."""
        (x,), (y,) = linearization.inputs.arrays, linearization.outputs.arrays
        starts, columns = (x, self.pattern.indices) if self.forward else (y, self.rows)
        walk = linearization.push_leaves if self.forward else linearization.pull_arrays
        count = _count(self.groups)
        random = np.random.default_rng(0).standard_normal(np.size(starts))
        seeds = np.zeros((count + 1, np.size(starts)), np.asarray(starts).dtype)
        seeds[self.groups, np.arange(np.size(starts))] = 1.0
        seeds[count] = random
        ends = self._walked(walk, seeds, np.shape(starts))
        other = self.rows if self.forward else self.pattern.indices
        data = ends[self.groups[columns], other]
        shape = self.pattern.shape
        matrix = csr_array((data, self.pattern.indices.copy(), self.pattern.indptr.copy()), shape)
        across = matrix if self.forward else matrix.T
        return matrix, _is_all(across, random, ends[count])

    def _walked(self, walk: Callable[[list[Any]], list[Any]], seeds: Any, shape: tuple[int, ...]) -> Any:
        step = max(CHUNK_BYTES // max(seeds[0].nbytes, 1), 1)
        chunks = []
        for first in range(0, len(seeds), step):
            units = seeds[first : first + step].reshape(-1, *shape)
            start = Directions(units) if len(units) > 1 else units[0]
            chunks.append(np.reshape(array_of(walk([start])[0], len(units)), (len(units), -1)))
        return np.concatenate(chunks)


def _count(groups: Any) -> int:
    return int(groups.max(initial=-1)) + 1


def _is_all(matrix: Any, direction: Any, product: Any) -> bool:
    """Whether a matrix gives the product with a direction, but for rounding."""
    found = matrix @ direction
    scale = abs(matrix) @ abs(direction) + abs(product)
    rounding = np.sqrt(np.finfo(product.dtype).eps)
    with np.errstate(invalid="ignore"):
        return bool(np.all((abs(found - product) <= rounding * scale) | ~np.isfinite(scale)))
