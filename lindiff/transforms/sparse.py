"""Jacobians as sparse matrices: columns that have no row in common are found by one direction.

A. R. Curtis, M. J. D. Powell, J. K. Reid (1974), On the estimation of sparse Jacobian matrices; the pattern
comes from the steps of a program (:mod:`lindiff.programs.dependence`), and the groups of columns from
SciPy's greedy colouring (T. F. Coleman, J. J. Moré 1983).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize._numdiff import group_columns
from scipy.sparse import csc_array, csr_array

from lindiff.core import pytree
from lindiff.core.directions import Directions, array_of
from lindiff.core.linearization import Linearization
from lindiff.core.registry import has_rules_of_users, told_apart
from lindiff.core.variable import Variable
from lindiff.programs.dependence import Found, TooLarge, copied, found_by
from lindiff.programs.program import Program
from lindiff.programs.recording import Unrecordable
from lindiff.transforms._arguments import Argnums, linearized, places_of, select

__all__ = ["Compression", "SparseJacobian"]

# Products with the Jacobian for several directions, one raveled product a row; if it is told not to go
# forward, with its transpose.
Walk: TypeAlias = Callable[[bool, Any], Any]

# Walks with several directions carry so many bytes of an array together.
CHUNK_BYTES = 1 << 18

# Shapes whose patterns are kept.
KEPT = 16

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


def _largest(x: Any) -> Any:
    """The largest size of finite numbers."""
    return np.max(np.abs(x), initial=0.0, where=np.isfinite(x))


class SparseJacobian:
    """The Jacobian of a function of an array with an array as its result, as ``scipy.sparse.csr_array``.

    The first call for arguments of a shape finds the pattern, and so does each call of a function that looks
    at values or has no program for others, and those in which other arguments than arrays of numbers have
    changed.  Each call walks once for each group of columns or rows, and once more along random directions:
    of columns, of columns by the sizes of the argument's numbers, and of rows, as a large entry hides what
    its row or its column misses.  Where the matrix does not give the same but for rounding, or what is not
    finite, the pattern is found again, too.  A pattern that has just been found is looked at along halves of
    directions as well.

    Parameters
    ----------
    function : callable
    argnums : int or str
    mode : {None, "fwd", "rev"}
        Groups of columns or of rows; None takes the fewer.
    """

    def __init__(self, function: Callable[..., Any], argnums: Argnums, mode: str | None) -> None:
        self._function, self._argnums, self._mode = function, argnums, mode
        self._kept: dict[Any, Compression] = {}
        self._name = getattr(function, "__name__", "the function")
        self._products = _Products(function, argnums)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], has_aux: bool) -> tuple[Any, Any]:
        """What the function returns, and its Jacobian.

        Raises
        ------
        TypeError
            For arguments or results that are no single real arrays, and a function without a program.
        """
        if isinstance(self._function, Program) and not has_aux and not kwargs and _are_plain(args):
            result, has_written = _called_on_copies(self._function, args)
            _, selected = select(self._function, self._argnums, args, kwargs)
            if not has_written and all(type(x) is np.ndarray for x in (result, *selected)):
                x, y = self._one_of_each(list(selected), [result])
                others = _Others(self._function, self._argnums, args, kwargs)
                return result, self._matrix(x, y, args, kwargs, has_aux, self._products.at(args), others)
        # others are looked at before the function may write to them
        others = _Others(self._function, self._argnums, args, kwargs, copies=self._searches)
        linearization = linearized(self._function, self._argnums, args, kwargs, has_aux)
        x, y = self._one_of_each(linearization.inputs.arrays, linearization.outputs.arrays)
        result = (linearization.value, linearization.aux) if has_aux else linearization.value
        return result, self._matrix(x, y, args, kwargs, has_aux, _walk_of(linearization), others)

    @property
    def _searches(self) -> bool:
        """Whether the next call may have to find a pattern, as far as is known before it."""
        return not self._kept or any(kept.looks for kept in self._kept.values())

    def _matrix(
        self,
        x: Any,
        y: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        has_aux: bool,
        walk: Walk,
        others: _Others,
    ) -> csr_array:
        key = x.shape, y.shape, np.result_type(x, y), others.told
        kept = self._kept.get(key)

        def along(forward: bool, directions: Any) -> Any:
            return walk(forward, directions.reshape(len(directions), *(x if forward else y).shape))

        if kept is not None and not kept.looks:
            matrix, comparisons = kept.matrix(along, x)
            if all(compared.is_rounding() for compared in comparisons):
                return matrix
        _, (at,) = select(self._function, self._argnums, args, kwargs)
        if isinstance(at, (dict, tuple)):
            raise TypeError(
                f"sparse=True is for a function of one array, and {self._name} takes it in a tree"
            )
        at = np.asarray(at, x.dtype)  # where x only tells the form
        found = self._pattern(at, np.empty(y.shape, y.dtype), others, has_aux)
        if kept is None or (found.pattern > kept.pattern).nnz or found.looks > kept.looks:
            pattern = found.pattern if kept is None else found.pattern + kept.pattern
            kept = Compression.of(pattern, found.looks, self._mode, key[2])
        matrix, comparisons = kept.matrix(along, x)
        slope = np.abs(np.ravel(y)) / (_largest(at) or 1.0)
        slope = np.where(np.isfinite(slope), slope, 0.0)
        for compared in (*comparisons, *kept.closer(matrix, along)):
            if compared.misses(slope if compared.forward else 0.0, along):
                raise TypeError(
                    f"{self._name} does not do the same when it is called again: its pattern cannot be "
                    f"found; leave sparse=True away"
                )
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[key] = kept
        return matrix

    def _one_of_each(self, inputs: list[Any], outputs: list[Any]) -> tuple[Any, Any]:
        if len(inputs) != 1 or len(outputs) != 1:
            raise TypeError(
                f"sparse=True is for a function of one array that returns one array; {self._name} has "
                f"{len(inputs)} and {len(outputs)}: concatenate them, or give the number of one in argnums"
            )
        x, y = (z if hasattr(z, "shape") else np.asarray(z) for z in (inputs[0], outputs[0]))
        for array in (x, y):
            if isinstance(array, Variable):
                raise TypeError(
                    "a sparse Jacobian has no derivatives of its own: leave sparse=True away inside of "
                    "another transform"
                )
            if not isinstance(array, (np.ndarray, np.generic)) or array.dtype.char not in "fd":
                raise TypeError(
                    f"sparse=True is for NumPy's arrays of real numbers (of 4 or 8 bytes); {self._name} has "
                    f"{type(array).__name__} of {array.dtype}"
                )
        return x, y

    def _pattern(self, x: Any, y: Any, others: _Others, has_aux: bool) -> Found:
        ways, told = _Ways(self._function, others, x, has_aux), told_apart()
        reasons: list[str] = []
        try:
            found = ways.found_of_value(reasons)
            if found is None or told_apart() != told or has_rules_of_users():
                found = ways.found_of_walks(ways.here, y, self._mode, reasons)
            if found is None:  # that of a walk is there anyway, but for these numbers alone
                found = ways.found_of_walks((), y, self._mode, reasons)
                found = found and found._replace(looks=True)
        except TooLarge as error:
            found, reasons = None, [str(error)]
        if found is None:
            raise TypeError(
                f"the pattern of the Jacobian of {self._name} cannot be found, as no program repeats it: "
                f"{reasons[0]}; leave sparse=True away"
            )
        return found


class _Ways:
    """Programs whose steps tell the pattern of a function's Jacobian.

    Attributes
    ----------
    here : tuple of ndarray
        Where it is looked for: what the Jacobian is by, and other arrays.
    """

    def __init__(self, function: Callable[..., Any], others: _Others, x: Any, has_aux: bool) -> None:
        self._function, self._others, self._has_aux = function, others, has_aux
        self.here = x, *others.arrays

    def found_of_value(self, reasons: list[str]) -> Found | None:
        """By the steps of the value; None where no program repeats it, with the ``reasons``."""
        found = _found(self._value, reasons, *self.here)
        # lindiff.numpy keeps numbers that are Variables
        return found or _found(self._value_of_walk, reasons, *self.here)

    def found_of_walks(
        self, at: tuple[Any, ...], y: Any, mode: str | None, reasons: list[str]
    ) -> Found | None:
        """By the steps of a derivative, for any numbers ``at`` a place or, without one, for these alone."""
        found = None
        if mode != "rev":
            found = _found(self._pushed, reasons, self.here[0], *at)
        if found is None:  # a pullback that is not linear has no pushforward
            found = _found(self._pulled, reasons, np.empty_like(y), *at)
            found = found and found._replace(pattern=csr_array(found.pattern.T))
        return found

    def _value(self, x: Any, *arrays: Any) -> Any:
        result = self._others.called(self._function, x, arrays)
        return result[0] if self._has_aux else result

    def _value_of_walk(self, x: Any, *arrays: Any) -> Any:
        return self._walked(x, *arrays).outputs.arrays[0]

    def _pushed(self, x_dot: Any, *at: Any) -> Any:
        return self._walked(*(at or self.here)).push_leaves([x_dot])[0]

    def _pulled(self, y_bar: Any, *at: Any) -> Any:
        return self._walked(*(at or self.here)).pull_arrays([y_bar])[0]

    def _walked(self, x: Any, *arrays: Any) -> Linearization:
        own = [np.copy(array) if array.ndim else array for array in arrays]  # which it may write to
        called = partial(self._others.called, self._function, arrays=own)
        return Linearization(called, (x,), self._has_aux)


def _found(way: Callable[..., Any], reasons: list[str], x: Any, *others: Any) -> Found | None:
    """What is found of a function; None, and one more of the ``reasons``, where it has no program or numbers
    leave that depend on x."""
    try:
        found = found_by(way, x, *others)
    except TooLarge:
        raise
    except (Unrecordable, TypeError) as reason:
        reasons.append(str(reason))
        return None
    if not found.leaves:
        return found
    reasons.append("numbers leave NumPy, as in float(x[0])")
    return None


class _Others:
    """The arguments beside the one that a Jacobian is by.

    Attributes
    ----------
    arrays : list of ndarray
        Those of real and complex numbers: a pattern holds for any.
    told : tuple
        What else a pattern may depend on.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: Argnums,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        copies: bool = False,
    ) -> None:
        (self._place,) = places_of(function, argnums, len(args), kwargs)
        self._args, self._kwargs = args, kwargs
        self._keys = [key for key in (*range(len(args)), *kwargs) if key != self._place]
        leaves, self._restore = pytree.flatten(
            [args[key] if isinstance(key, int) else kwargs[key] for key in self._keys]
        )
        self._leaves = [np.float64(x) if type(x) is float else x for x in leaves]
        if copies:
            self._leaves = list(map(copied, self._leaves))
        self.arrays = [x for x in self._leaves if _has_numbers(x)]
        self.told = tuple(map(_told, self._leaves))

    def called(self, function: Callable[..., Any], x: Any, arrays: Sequence[Any]) -> Any:
        """The function of x, with other arrays in the place of these."""
        left = iter(arrays)
        # of what is no argument of a program each call gets a copy of its own, to write to
        others = self._restore([next(left) if _has_numbers(x) else copied(x) for x in self._leaves])
        given = {**dict(zip(self._keys, others, strict=True)), self._place: x}
        args = [given[place] for place in range(len(self._args))]
        return function(*args, **{name: given[name] for name in self._kwargs})


def _has_numbers(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"


def _told(x: Any) -> Any:
    """What a pattern may depend on, of an argument."""
    if not isinstance(x, (np.ndarray, np.generic)):
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # all of the arrays in it
            return repr(x)
    return x.shape, x.dtype, None if _has_numbers(x) else hash(x.tobytes())


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
        each number, be the product as small as that."""
        parts = np.arange(1, 2 * _FRACTIONS + 2, 2).astype(self.direction.dtype)[:, None]
        products = walk(self.forward, self.direction / parts) * parts
        noise = np.max(np.abs(products[1:] - products[0]), axis=0)
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
        last, seeds, across = len(self.seeds) - 1, self.seeds, self.across[None]
        sizes = _sizes_in(x).astype(across.dtype)
        if self.forward:
            seeds = np.concatenate([seeds, sizes * seeds[last:]])
        else:
            across = np.concatenate([across, sizes * across])
        products = walk(self.forward, seeds)
        matrix = self.matrix_of(products)
        comparisons = [
            self._compared(matrix, self.forward, seeds[k], products[k])
            for k in (*self._apart(matrix.data, products[:last]), *range(last, len(seeds)))
        ]
        return matrix, [*comparisons, *self._compared_across(matrix, across, walk)]

    def closer(self, matrix: csr_array, walk: Walk) -> Iterator[Comparison]:
        """More of these: along halves of the random direction, by the bits of numbers of its columns or
        rows."""
        random = self.seeds[-1]
        numbers = np.random.default_rng(1).permutation(random.size)
        step = max(CHUNK_BYTES // max(random.nbytes, 1), 1)
        count = min(max(random.size - 1, 0).bit_length(), max(step // 2, _HALVINGS))
        sides = [(bit, side) for bit in range(count) for side in (0, 1)]
        for first in range(0, len(sides), step):
            halves = np.stack(
                [random * (numbers >> bit & 1 == side) for bit, side in sides[first : first + step]]
            )
            for half, product in zip(halves, walk(self.forward, halves), strict=True):
                yield replace(self._compared(matrix, self.forward, half, product), whole=random)

    @property
    def directions(self) -> Any:
        """One for each group, each a row."""
        return self.seeds[:-1]

    def matrix_of(self, products: Any) -> csr_array:
        """The matrix whose products with the directions these are, each a row."""
        parts = products[self.places], self.pattern.indices.copy(), self.pattern.indptr.copy()
        return csr_array(parts, self.pattern.shape)

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


def _sizes_in(x: Any) -> Any:
    """The sizes of numbers beside the largest one; the mean for those that have none."""
    sizes = np.abs(np.ravel(x)) / (_largest(x) or 1.0)
    has_one = np.isfinite(sizes) & (sizes > 0)
    return np.where(has_one, sizes, np.mean(sizes[has_one]) if has_one.any() else 1.0)


class _Products:
    """Walks of a program, each of which is a program, too."""

    def __init__(self, function: Callable[..., Any], argnums: Argnums) -> None:
        of = function.function if isinstance(function, Program) else function

        def walked(forward: bool, seeds: Any, *args: Any) -> Any:
            return _ends(linearized(of, argnums, args, {}, False), forward, seeds)

        self._programs = {way: Program(partial(walked, way), warns=False) for way in (True, False)}

    def at(self, args: tuple[Any, ...]) -> Walk:
        """Those from arguments."""

        def walk(forward: bool, seeds: Any) -> Any:
            return np.concatenate([self._programs[forward](part, *args) for part in _parts(seeds)])

        return walk


def _walk_of(linearization: Linearization) -> Walk:
    """Walks through a record."""

    def walk(forward: bool, seeds: Any) -> Any:
        return np.concatenate([_ends(linearization, forward, part) for part in _parts(seeds)])

    return walk


def _parts(seeds: Any) -> Iterator[Any]:
    """As many directions as stay in a cache together."""
    step = max(CHUNK_BYTES // max(seeds[0].nbytes, 1), 1)
    for first in range(0, len(seeds), step):
        yield seeds[first : first + step]


def _ends(linearization: Linearization, forward: bool, seeds: Any) -> Any:
    """The ends of walks from several directions at once, each raveled."""
    go = linearization.push_leaves if forward else linearization.pull_arrays
    end = go([Directions(seeds) if len(seeds) > 1 else seeds[0]])[0]
    return np.reshape(array_of(end, len(seeds)), (len(seeds), -1))


def _groups(pattern: Any) -> Any:
    """Of columns that have no row in common."""
    return group_columns(csc_array(pattern)) if pattern.nnz else np.zeros(pattern.shape[1], np.intp)


def _called_on_copies(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, bool]:
    """What a function returns, and whether it writes into its arguments, of which these stay as they are."""
    leaves, restore = pytree.flatten(args)
    copies = list(map(copied, leaves))
    result = function(*restore(copies))
    return result, any(x.tobytes() != y.tobytes() for x, y in zip(leaves, copies, strict=True) if x is not y)


def _are_plain(args: tuple[Any, ...]) -> bool:
    return not any(isinstance(leaf, Variable) for leaf in pytree.flatten(args)[0])
