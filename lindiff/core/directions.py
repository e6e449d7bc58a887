"""Several directions at once: what a walk over a record carries when it pushes or pulls many.

:class:`Directions` is to a rule one tangent or cotangent of the shape it expects, and holds many of them in
one array with a leading axis.  It goes through NumPy's functions as Variables do, by NumPy's protocols; what
each function does to the leading axis is filled in by the rules.  A function that is not among them is called
for one direction after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["TAKES_ONE", "Apart", "Directions", "act", "array_of", "one_by_one"]

# function (or primitive) -> how it acts on Directions; filled in by the rules
functions: dict[Any, Callable[..., Any]] = {}
# ufuncs that are not elementwise (with a signature) and methods of ufuncs, by (ufunc, method)
ufuncs: dict[Any, Callable[..., Any]] = {}
# the methods and attributes of an array, in terms of NumPy's functions
methods: dict[str, Any] = {}


class Apart(Exception):
    """A rule wants to know more of its tangents than holds for all directions.

    It is then called for one by one.
    """


# What code that knows nothing of Directions raises when it meets them; any other error of a rule is its own.
TAKES_ONE = (Apart, AttributeError, TypeError, ValueError)


class Directions(np.lib.mixins.NDArrayOperatorsMixin):
    """Arrays of one shape that are pushed or pulled together.

    Parameters
    ----------
    array : array or Variable
        The leading axis counts the directions; ``shape`` and all operations speak of the other axes.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def count(self) -> int:
        return int(self.array.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape[1:])

    @property
    def ndim(self) -> int:
        return len(self.array.shape) - 1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def T(self) -> Any:
        return np.transpose(self)

    @property
    def real(self) -> Any:
        return np.real(self)

    @property
    def imag(self) -> Any:
        return np.imag(self)

    def copy(self) -> Directions:
        return Directions(self.array.copy())

    def conj(self) -> Any:
        return np.conjugate(self)

    def __getattr__(self, name: str) -> Any:
        try:
            return methods[name].__get__(self, Directions)
        except KeyError:
            raise AttributeError(f"directions have no attribute {name!r}") from None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc.signature is None and "out" not in kwargs:
            results = ufunc(*aligned(inputs), **kwargs)
            return tuple(map(Directions, results)) if isinstance(results, tuple) else Directions(results)
        written = inputs[:1] if method == "at" else kwargs.get("out", ())
        if not all(isinstance(y, Directions) for y in written):
            raise Apart  # one array for all directions
        known = ufuncs.get((ufunc, method))
        if known is not None:
            return known(*inputs, **kwargs)
        return apart_or_together(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if count_of((args, tuple(kwargs.values()))) is None:
            raise Apart  # ``like`` them: an array for each direction
        return act(function, args, kwargs)

    def __getitem__(self, index: Any) -> Directions:
        within = index_within(index)
        if within is None:
            return one_by_one(lambda part: part[index], (self,))
        return Directions(self.array[within])

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        """The truth that holds for all directions."""
        truths = {bool(part) for part in self.array}
        if len(truths) != 1:
            raise Apart
        return truths.pop()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise Apart

    __float__ = __int__ = __complex__ = __array__


def aligned(arrays: tuple[Any, ...]) -> list[Any]:
    """What broadcasts as ``arrays`` do, with the directions in front."""
    axes = max(np.ndim(x) for x in arrays)
    return [leading(x, axes) if isinstance(x, Directions) else x for x in arrays]


def leading(x: Directions, axes: int) -> Any:
    """The array of ``x`` with its directions in front of ``axes`` axes."""
    missing = axes - x.ndim
    if missing <= 0:
        return x.array
    shape = x.array.shape
    return np.reshape(x.array, (shape[0], *(1,) * missing, *shape[1:]))


def index_within(index: Any) -> tuple[Any, ...] | None:
    """``index`` behind the leading axis; None where NumPy would move axes (arrays apart from each other)."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(map(_is_basic, parts)):  # integers next to arrays count as arrays
        integer = (int, np.integer)
        fancy = [i for i, part in enumerate(parts) if isinstance(part, integer) or not _is_basic(part)]
        if fancy[-1] - fancy[0] + 1 != len(fancy) or any(np.ndim(parts[i]) == 0 for i in fancy):
            return None
    return (slice(None), *parts)


def _is_basic(part: Any) -> bool:
    return (
        part is None
        or part is Ellipsis
        or isinstance(part, slice)
        or (isinstance(part, (int, np.integer)) and not isinstance(part, bool))
    )


def count_of(tree: Any) -> int | None:
    """How many directions there are in (nested lists and tuples of) arguments; None without Directions."""
    if isinstance(tree, Directions):
        return tree.count
    if isinstance(tree, (list, tuple)):
        for item in tree:
            count = count_of(item)
            if count is not None:
                return count
    return None


def part_of(tree: Any, k: int) -> Any:
    """``tree`` with direction ``k`` of all Directions in it."""
    if isinstance(tree, Directions):
        return tree.array[k, ...]
    if isinstance(tree, (list, tuple)) and count_of(tree) is not None:
        from lindiff.core.pytree import rebuild

        return rebuild(tree, [part_of(item, k) for item in tree])
    return tree


def stacked(results: list[Any]) -> Any:
    """Results of all directions (arrays, or nested lists and tuples of them, or None for zero) as one."""
    first = next((result for result in results if result is not None), None)
    if first is None:
        return None
    if isinstance(first, (list, tuple)):
        from lindiff.core.pytree import rebuild

        return rebuild(first, [stacked(list(parts)) for parts in zip(*results, strict=True)])
    if any(result is None for result in results):
        zero = np.zeros_like(first)
        results = [zero if result is None else result for result in results]
    return Directions(np.stack(results))


def array_of(x: Any, count: int) -> Any:
    """The array behind Directions; what is the same for all of them is repeated."""
    if isinstance(x, Directions):
        return x.array
    x = np.reshape(x, (1, *np.shape(x)))
    return x if count == 1 else np.repeat(x, count, axis=0)


def act(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``function`` on Directions: as the rules say, or for one after the other."""
    known = functions.get(function)
    if known is not None:
        result = known(*args, **kwargs)
        if result is not NotImplemented:
            return result
    return apart_or_together(function, args, kwargs)


def apart_or_together(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``function`` for one direction after the other, unless it writes into an array that all of them
    have together: into ``out``, or, if it returns nothing, into its first argument."""
    if kwargs.get("out") is not None and not isinstance(kwargs["out"], Directions):
        raise Apart
    result = one_by_one(function, args, kwargs)
    if result is None and not (args and isinstance(args[0], Directions)):
        raise Apart
    return result


def one_by_one(function: Callable[..., Any], args: Any, kwargs: dict[str, Any] | None = None) -> Any:
    """Call ``function`` for one direction after the other."""
    kwargs = kwargs or {}
    names = list(kwargs)
    everything = (tuple(args), tuple(kwargs.values()))
    count = count_of(everything)
    assert count is not None, "one_by_one is for calls with Directions"

    def call(k: int) -> Any:
        positional, by_name = part_of(everything, k)
        return function(*positional, **dict(zip(names, by_name, strict=True)))

    return stacked([call(k) for k in range(count)])
