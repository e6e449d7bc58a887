"""NumPy's classes and objects that take arrays, where those may be Variables."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lindiff.core.variable import Variable, in_order_of, is_untraced, value
from lindiff.rules.creation import accepting, stacked

__all__ = [
    "Grid",
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
        if self.signature is not None:
            return self._of_parts(func, args)
        return self._of_numbers(func, args) if args else func()

    def _of_numbers(self, func: Callable[..., Any], args: list[Any]) -> Any:
        """A call for each element in the order of memory, as NumPy's, and one before to see what comes."""
        dtypes: Any = self.otypes
        found = []
        if dtypes is None:
            firsts = [x if isinstance(x, Variable) else np.asarray(x) for x in args]
            if any(x.size == 0 for x in firsts):
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            found = [func(*(x[(0,) * x.ndim] for x in firsts))]
            dtypes = _dtypes(found[0])
        # numbers come as Python's, as NumPy gives them
        arrays = [x if isinstance(x, Variable) else np.asanyarray(x, dtype=object) for x in args]
        patterns = [np.empty_like(value(x), object) if isinstance(x, Variable) else x for x in arrays]
        operands: Any = [*patterns, None]
        modes: Any = [["readonly"]] * len(patterns) + [["writeonly", "allocate"]]
        kinds = [None] * len(patterns) + [object]
        steps = np.nditer(operands, ["multi_index", "refs_ok", "zerosize_ok"], modes, kinds)
        like = steps.operands[-1]
        shape = like.shape
        arrays = [np.broadcast_to(x, shape) for x in arrays]
        outcomes = [None] * steps.itersize
        for step, _ in enumerate(steps):
            index = steps.multi_index
            known = self.cache and step == 0 and found
            outcome = found[0] if known else func(*(x[index] for x in arrays))
            outcomes[np.ravel_multi_index(index, shape) if shape else 0] = outcome
        results = self._filled(outcomes, shape, dtypes)
        ordered = tuple(in_order_of(y, like, copied=False) for y in results)
        return ordered[0] if len(ordered) == 1 else ordered

    def _of_parts(self, func: Callable[..., Any], args: list[Any]) -> Any:
        """A call for each part that the signature names."""
        core = str(self.signature).replace(" ", "").split("->")[0]
        ranks = [len([*filter(None, part.split(","))]) for part in core.strip("()").split("),(")]
        arrays = [x if isinstance(x, Variable) else np.asanyarray(x) for x in args]
        leads = [x.ndim - rank for x, rank in zip(arrays, ranks, strict=True)]
        shape = np.broadcast_shapes(*(x.shape[:lead] for x, lead in zip(arrays, leads, strict=True)))
        arrays = [np.broadcast_to(x, shape + x.shape[lead:]) for x, lead in zip(arrays, leads, strict=True)]
        outcomes = [func(*(x[index] for x in arrays)) for index in np.ndindex(shape)]
        if not outcomes and not self.otypes:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        results = self._filled(outcomes, shape, self.otypes or _dtypes(outcomes[0]))
        return results[0] if len(results) == 1 else results

    def _filled(self, outcomes: list[Any], shape: tuple[int, ...], dtypes: Sequence[Any]) -> tuple[Any, ...]:
        """The results of all calls as arrays, of the dtypes of the first."""
        if not outcomes:
            return tuple(_accepting(np.empty(shape, dtype), self.wanted) for dtype in dtypes)
        several = isinstance(outcomes[0], tuple)
        columns = [*zip(*outcomes, strict=True)] if several else [outcomes]
        found = [
            _accepting(stacked([*column], dtype), self.wanted)
            for column, dtype in zip(columns, dtypes, strict=True)
        ]
        return tuple(np.reshape(y, shape + y.shape[1:]) for y in found)


def _dtypes(outcome: Any) -> list[Any]:
    """The dtypes of what a function has returned, one result or a tuple of them."""
    parts = outcome if isinstance(outcome, tuple) else (outcome,)
    return [part.dtype if isinstance(part, Variable) else np.asarray(value(part)).dtype for part in parts]


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
        # Again with the numbers 1, 2, ... of elements in the place of Variables and 0 elsewhere.
        ends = np.cumsum([0, *(part.size for part in variables)])
        numbers = iter([np.arange(a, b) + 1 for a, b in itertools.pairwise(ends)])
        numbered = [
            np.reshape(next(numbers), part.shape) if isinstance(part, Variable) else self._zeros(part)
            for part in parts
        ]
        number = self._original[tuple(numbered)]
        elements = np.concatenate([np.ravel(part) for part in variables])
        y = np.where(number > 0, elements[np.maximum(number - 1, 0)], plain)
        return in_order_of(y, plain, False)

    def _zeros(self, part: Any) -> Any:
        """Zeros in the shape of a constant part; directives as they are."""
        if isinstance(part, str):
            return part
        return np.zeros(np.shape(np.r_[part] if isinstance(part, slice) else part), int)

    def __len__(self) -> int:
        return 0


class Grid:
    """``np.mgrid`` and ``np.ogrid``, whose arrays accept Variables."""

    def __init__(self, original: Any, wanted: Callable[[], bool] | None = None):
        self._original = original
        self._wanted = wanted

    def __getitem__(self, key: Any) -> Any:
        made = self._original[key]
        if isinstance(made, tuple):
            return tuple(_accepting(part, self._wanted) for part in made)
        return _accepting(made, self._wanted)


def _accepting(y: Any, wanted: Callable[[], bool] | None) -> Any:
    """A new array as one that Variables may be written into, where that is wanted."""
    return accepting(y) if wanted is None or wanted() else y


r_ = Rows(np.r_)
c_ = Rows(np.c_)
mgrid = Grid(np.mgrid)
ogrid = Grid(np.ogrid)


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


def broadcast(*args: Any) -> Any:
    """numpy.broadcast: the shape that arrays have together, and their elements side by side."""
    plain = np.broadcast(*value(args))
    varies = any(isinstance(x, Variable) and not is_untraced(x) for x in args)
    return _Broadcast(args, plain) if varies else plain


class _Broadcast:
    """``np.broadcast`` of Variables: an iterator over tuples of elements."""

    def __init__(self, args: Sequence[Any], plain: np.broadcast):
        self._arrays = [np.broadcast_to(x, plain.shape) for x in args]
        self._plain = plain

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        place = self._plain.index
        next(self._plain)  # ends the iteration
        index = np.unravel_index(place, self._plain.shape) if self._plain.ndim else ()
        return tuple(x[index] for x in self._arrays)

    @property
    def iters(self) -> tuple[Any, ...]:
        """The elements of each array in the order of the broadcast."""
        return tuple(iter(x.flat) for x in self._arrays)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)
