"""Data in parts: ``minibatches``."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core import pytree

__all__ = ["Passes", "minibatches"]


class Rows:
    """A tree of arrays, row by row.

    Parameters
    ----------
    data : tree of arrays
        With the same number of rows, along the first axis.
    """

    def __init__(self, data: Any) -> None:
        leaves, self._restore = pytree.flatten(data)
        self._leaves = [x if hasattr(x, "__array_function__") else np.asarray(x) for x in leaves]
        shapes = [leaf.shape for leaf in self._leaves]
        if not shapes or () in shapes:
            raise ValueError(f"data must be arrays with rows, got shapes {shapes}")
        if len({shape[0] for shape in shapes}) > 1:
            raise ValueError(f"the arrays of data must have the same number of rows, got shapes {shapes}")
        self.count: int = shapes[0][0]
        if self.count == 0:
            raise ValueError("data has no rows")

    def __getitem__(self, index: Any) -> Any:
        """The tree of some rows."""
        return self._restore([leaf[index] for leaf in self._leaves])


def batch_size(size: int, count: int) -> int:
    """How many rows a batch has, of so many."""
    if size < 1:
        raise ValueError(f"size must be 1 or more, got {size}")
    return min(operator.index(size), count)


class Passes:
    """Batches by the number of a step, in passes over the data that are shuffled one after the other.

    Parameters
    ----------
    data : tree of arrays
    size : int or None
        The rows of a batch.  None, or all rows: they come as they are, as views.
    rng : numpy.random.Generator

    Attributes
    ----------
    steps : int
        Of one pass.
    """

    def __init__(self, data: Any, size: int | None, rng: np.random.Generator) -> None:
        self._rows = Rows(data)
        self._size = self._rows.count if size is None else batch_size(size, self._rows.count)
        self.steps = -(-self._rows.count // self._size)
        self._rng, self._pass = rng, -1
        self._order: Any = None
        self._shuffled: dict[str, Any] | None = None

    def at(self, step: int) -> Any:
        """The batch after so many steps, which are asked for one after the other."""
        number, k = divmod(step, self.steps)
        if number != self._pass and self.steps > 1:
            self._shuffle(number)
        return self._rows[part(self._order, k * self._size, self._size)]

    def shuffled(self, step: int) -> dict[str, Any] | None:
        """The state of the generator from which the pass of the batch after so many steps is shuffled.

        That may have been done, by a step that was not completed.
        """
        if self.steps == 1:
            return None
        done = step // self.steps == self._pass
        return copy.deepcopy(self._shuffled if done else dict(self._rng.bit_generator.state))

    def restore(self, shuffled: dict[str, Any] | None) -> None:
        """Shuffle the pass of the next batch that is asked for from this state of a generator."""
        self._pass, self._order, self._shuffled = -1, None, None
        if shuffled is not None:
            self._rng = np.random.Generator(getattr(np.random, shuffled["bit_generator"])())
            self._rng.bit_generator.state = copy.deepcopy(shuffled)

    def _shuffle(self, number: int) -> None:
        self._shuffled = copy.deepcopy(dict(self._rng.bit_generator.state))
        self._order = self._rng.permutation(self._rows.count)
        self._pass = number


def minibatches(
    data: Any, size: int, rng: int | np.random.Generator | None = None, *, drop_last: bool = False
) -> Iterator[Any]:
    """One pass over data in batches of rows.

    Parameters
    ----------
    data : tree of arrays
        With the same number of rows, along the first axis: ``(X, y)``, a dict.
    size : int
        The rows of a batch; the last one has what is left.
    rng : numpy.random.Generator or int, optional
        Shuffles the rows.  Without it they come in their order, as views.
    drop_last : bool, optional
        Leave out a last batch that is smaller than ``size``.

    Returns
    -------
    iterator
        Of trees like ``data``.

    Raises
    ------
    ValueError
        If the arrays have no rows, or not the same number of them; if ``size`` is less than 1.

    Notes
    -----
    Cost: a permutation of the rows, and a copy of each batch as it is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(10.0).reshape(5, 2), np.arange(5)
    >>> [part.tolist() for _, part in minibatches((X, y), 2)]
    [[0, 1], [2, 3], [4]]
    >>> sorted(row for _, part in minibatches((X, y), 2, rng=0) for row in part.tolist())
    [0, 1, 2, 3, 4]
    """
    rows = Rows(data)
    size = batch_size(size, rows.count)
    order = None if rng is None else np.random.default_rng(rng).permutation(rows.count)
    stop = rows.count - rows.count % size if drop_last else rows.count
    return (rows[part(order, start, size)] for start in range(0, stop, size))


def part(order: Any, start: int, size: int) -> Any:
    """The index of a batch of rows, which come in their order if there is none."""
    rows = slice(start, start + size)
    return rows if order is None else order[rows]
