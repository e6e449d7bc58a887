"""NumPy's classes and objects that take arrays, where those may be Variables."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from lindiff.core.variable import Variable, is_untraced, value
from lindiff.rules.creation import accepting, stacked

__all__ = [
    "Rows",
    "broadcast",
    "c_",
    "fromiter",
    "isscalar",
    "mgrid",
    "ndenumerate",
    "nditer",
    "ogrid",
    "r_",
    "vectorize",
]


@functools.wraps(np.nditer, updated=())
def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """numpy.nditer, of constants as well; it hands out plain arrays, so it refuses Variables."""
    operands = op if isinstance(op, (list, tuple)) else [op]
    if any(isinstance(x, Variable) and not is_untraced(x) for x in operands):
        raise TypeError(
            "np.nditer hands out plain arrays, the derivatives of a Variable v would be lost: write "
            "`for x in v.flat`, or `for index in np.ndindex(v.shape)` and v[index]"
        )
    plain = [value(x) for x in operands]
    return np.nditer(plain if isinstance(op, (list, tuple)) else plain[0], *args, **kwargs)


class vectorize(np.vectorize):
    """A function of numbers as a function of arrays: numpy.vectorize, whose function may return Variables."""

    wanted: Callable[[], bool] | None = None

    def _vectorize_call(self, func: Callable[..., Any], args: list[Any]) -> Any:
        if self.signature is None:
            ranks = [0] * len(args)
        else:
            core = self.signature.replace(" ", "").split("->")[0]
            ranks = [len([*filter(None, part.split(","))]) for part in core.strip("()").split("),(")]
        kind = object if self.signature is None else None  # numbers come as Python's, as NumPy gives them
        arrays = [x if isinstance(x, Variable) else np.asanyarray(x, dtype=kind) for x in args]
        leads = [x.ndim - rank for x, rank in zip(arrays, ranks, strict=True)]
        shape = np.broadcast_shapes(*(x.shape[:lead] for x, lead in zip(arrays, leads, strict=True)))
        arrays = [np.broadcast_to(x, shape + x.shape[lead:]) for x, lead in zip(arrays, leads, strict=True)]
        outcomes = [func(*(x[index] for x in arrays)) for index in np.ndindex(shape)]
        if not outcomes:
            if not self.otypes:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            empty = [_accepting(np.empty(shape, kind), self.wanted) for kind in self.otypes]
            return empty[0] if len(empty) == 1 else tuple(empty)
        if isinstance(outcomes[0], tuple):
            columns = zip(*outcomes, strict=True)
            return tuple(self._filled(column, shape, i) for i, column in enumerate(columns))
        return self._filled(outcomes, shape, 0)

    def _filled(self, outcomes: Any, shape: tuple[int, ...], i: int) -> Any:
        """The results of all calls, the ``i``-th of each, as an array."""
        y = _accepting(stacked([*outcomes], self.otypes[i] if self.otypes else None), self.wanted)
        return np.reshape(y, shape + y.shape[1:])


class Rows:
    """``np.r_`` and ``np.c_``, with Variables among what is put together."""

    def __init__(self, original: Any, wanted: Callable[[], bool] | None = None):
        self._original = original
        self._wanted = wanted

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        parts = [stacked(part) if isinstance(part, (list, tuple)) else part for part in parts]
        plain = self._original[tuple(value(parts))]
        variables = [part for part in parts if isinstance(part, Variable)]
        if not variables:
            return _accepting(plain, self._wanted)
        # The same again with numbers of elements, 1, 2, ..., in the place of Variables and 0 elsewhere.
        ends = np.cumsum([0, *(part.size for part in variables)])
        numbers = iter([np.arange(a, b) + 1 for a, b in itertools.pairwise(ends)])
        numbered = [
            np.reshape(next(numbers), part.shape) if isinstance(part, Variable) else self._zeros(part)
            for part in parts
        ]
        number = self._original[tuple(numbered)]
        elements = np.concatenate([np.ravel(part) for part in variables])
        return np.where(number > 0, elements[np.maximum(number - 1, 0)], plain)

    def _zeros(self, part: Any) -> Any:
        """Zeros in the shape of a constant part; directives as they are."""
        if isinstance(part, str):
            return part
        return np.zeros(np.shape(np.r_[part] if isinstance(part, slice) else part), int)

    def __len__(self) -> int:
        return 0


class _Grid:
    """``np.mgrid`` and ``np.ogrid``, whose arrays accept Variables."""

    def __init__(self, original: Any):
        self._original = original

    def __getitem__(self, key: Any) -> Any:
        return _each_accepting(self._original[key])


def _accepting(y: Any, wanted: Callable[[], bool] | None) -> Any:
    """A new array as one that Variables may be written into, where that is wanted."""
    return accepting(y) if wanted is None or wanted() else y


def _each_accepting(made: Any) -> Any:
    return tuple(accepting(part) for part in made) if isinstance(made, tuple) else accepting(made)


r_ = Rows(np.r_)
c_ = Rows(np.c_)
mgrid = _Grid(np.mgrid)
ogrid = _Grid(np.ogrid)


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Pairs of index and element, as numpy.ndenumerate."""
    arr = arr if isinstance(arr, Variable) else np.asarray(arr)
    return ((index, arr[index]) for index in np.ndindex(arr.shape))


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """The vector of what an iterable gives, as numpy.fromiter."""
    items = list(itertools.islice(iter, None if count < 0 else count))
    if any(isinstance(item, Variable) for item in items):
        return accepting(stacked(items, dtype))
    return accepting(np.fromiter(items, dtype, count))


def isscalar(element: Any) -> bool:
    """numpy.isscalar; a Variable is a scalar where NumPy would have one."""
    return element._scalar if isinstance(element, Variable) else np.isscalar(element)


def broadcast(*args: Any) -> np.broadcast:
    """numpy.broadcast of the plain values: the shape that arrays have together."""
    return np.broadcast(*value(args))
