"""Jacobians as sparse matrices: columns that have no row in common are found by one direction.

The pattern comes from the steps of a program (:mod:`lindiff.programs.dependence`), the directions from
:mod:`lindiff.transforms.compression`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lindiff.core import pytree
from lindiff.core.directions import Directions, array_of
from lindiff.core.linearization import Linearization
from lindiff.core.registry import has_rules_of_users, told_apart
from lindiff.core.variable import Variable
from lindiff.programs.calling import Known
from lindiff.programs.dependence import Found, TooLarge, copied, found_by
from lindiff.programs.machine import MISSED
from lindiff.programs.program import Program
from lindiff.programs.recording import Unrecordable
from lindiff.programs.tree import Tree
from lindiff.transforms._arguments import Argnums, linearized, places_of
from lindiff.transforms.compression import CHUNK_BYTES, Comparison, Compression, Walk, largest

__all__ = ["SparseJacobian"]

# Shapes whose patterns are kept.
KEPT = 16


class SparseJacobian:
    """The Jacobian of a function of an array with an array as its result, as ``scipy.sparse.csr_array``.

    The first call for arguments of a shape finds the pattern, and so does each call of a function that looks
    at values or has no program for others, and those in which other arguments than arrays of numbers have
    changed.  Each call walks once for each group of columns or rows, and once more along random directions:
    of columns, of columns by the sizes of the argument's numbers, and of rows, as a large entry hides what
    its row or its column misses.  Where the matrix does not give the same but for rounding, or what is not
    finite, the pattern is found again, too.  A pattern that has just been found is looked at along halves of
    directions as well.  A program that repeats the steps of the call that found the pattern walks along the
    groups and one random direction alone.

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
        self._repeatable: dict[Any, _Repeatable | None] = {}
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
            others = _Others(self._function, self._argnums, args, kwargs)
            repeated = self._repeated(args, others)
            if repeated is not None:
                return repeated
            result, has_written = _called_on_copies(self._function, args)
            if not has_written and type(result) is type(others.at) is np.ndarray:
                x, y = self._one_of_each([others.at], [result])
                return result, self._matrix(x, y, has_aux, self._products.at(args), others)
        # others are looked at before the function may write to them
        others = _Others(self._function, self._argnums, args, kwargs, copies=self._searches)
        linearization = linearized(self._function, self._argnums, args, kwargs, has_aux)
        x, y = self._one_of_each(linearization.inputs.arrays, linearization.outputs.arrays)
        result = (linearization.value, linearization.aux) if has_aux else linearization.value
        return result, self._matrix(x, y, has_aux, _WalksOfRecord(linearization), others)

    @property
    def _searches(self) -> bool:
        """Whether the next call may have to find a pattern, as far as is known before it."""
        return not self._kept or any(kept.looks for kept in self._kept.values())

    def _matrix(self, x: Any, y: Any, has_aux: bool, walk: _Walks, others: _Others) -> csr_array:
        key = x.shape, y.shape, np.result_type(x, y), others.told
        kept = self._kept.get(key)

        def along(forward: bool, directions: Any) -> Any:
            return walk(forward, directions.reshape(len(directions), *(x if forward else y).shape))

        repeatable = self._repeatable.get(_form_of(x, others))
        if kept is not None and not kept.looks:
            matrix, comparisons = kept.matrix(along, x)
            if not (repeatable and repeatable.has_changed()) and _are_rounding(comparisons):
                return matrix
        if isinstance(others.at, (dict, tuple)):
            raise TypeError(
                f"sparse=True is for a function of one array, and {self._name} takes it in a tree"
            )
        at = np.asarray(others.at, x.dtype)  # where x only tells the form
        with np.errstate(all="ignore"):  # no program repeats what may raise
            found = self._pattern(at, np.empty(y.shape, y.dtype), others, has_aux)
        if kept is None or (found.pattern > kept.pattern).nnz or found.looks > kept.looks:
            pattern = found.pattern if kept is None else found.pattern + kept.pattern
            kept = Compression.of(pattern, found.looks, self._mode, key[2])
        slope = np.abs(np.ravel(y)) / (largest(at) or 1.0)
        slope = np.where(np.isfinite(slope), slope, 0.0)
        matrix = _complete(kept, along, x, slope)
        if matrix is None and self._mode is None:  # what cancels on one way may be there on the other
            kept = Compression.of(kept.pattern, kept.looks, "rev" if kept.forward else "fwd", key[2])
            matrix = _complete(kept, along, x, slope)
        if matrix is None:
            way = "" if self._mode is None else " and mode"
            raise TypeError(
                f"{self._name} does not do the same when it is called again, or rounds away what another "
                f"walk through it keeps: its pattern cannot be found; leave sparse=True{way} away"
            )
        if len(self._kept) >= KEPT:
            self._kept.clear()
            self._repeatable.clear()
        self._kept[key] = kept
        self._repeatable[_form_of(x, others)] = None if kept.looks else walk.repeatable(kept)
        return matrix

    def _repeated(self, args: tuple[Any, ...], others: _Others) -> tuple[Any, csr_array] | None:
        """The result and the matrix, where a program repeats the steps that the pattern was found by."""
        x = others.at
        repeatable = self._repeatable.get(_form_of(x, others)) if type(x) is np.ndarray else None
        return None if repeatable is None else repeatable.at(args)

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
    at
        What the Jacobian is by.
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
        places = places_of(function, argnums, len(args), kwargs)
        if len(places) != 1:
            raise TypeError(
                f"sparse=True is for a function of one array, and argnums={argnums!r} names {len(places)}: "
                f"concatenate them, or give the number of one in argnums"
            )
        (self._place,) = places
        self.at = kwargs[self._place] if isinstance(self._place, str) else args[self._place]
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
            return repr(x), repr(getattr(x, "__dict__", None))
    return x.shape, x.dtype, None if _has_numbers(x) else hash(x.tobytes())


class _Products:
    """Programs of walks."""

    def __init__(self, function: Callable[..., Any], argnums: Argnums) -> None:
        of = function.function if isinstance(function, Program) else function

        def walked(forward: bool, seeds: Any, *args: Any) -> Any:
            linearization = linearized(of, argnums, args, {}, False)
            return linearization.value, _ends(linearization, forward, seeds)

        self._programs = {way: Program(partial(walked, way), warns=False) for way in (True, False)}

    def at(self, args: tuple[Any, ...]) -> _WalksOfProgram:
        """Those from arguments."""
        return _WalksOfProgram(self._programs, args)


class _Walks:
    """Products with the Jacobian for several directions, one raveled product a row; if it is told not to go
    forward, with its transpose."""

    def __call__(self, forward: bool, seeds: Any) -> Any:
        raise NotImplementedError

    def repeatable(self, kept: Compression) -> _Repeatable | None:
        """What repeats the steps of the walks that this pattern was found beside; None where nothing does."""
        return None


class _WalksOfProgram(_Walks):
    """By programs of the value and products."""

    def __init__(self, programs: dict[bool, Program[..., Any]], args: tuple[Any, ...]) -> None:
        self._programs, self._args = programs, args

    def __call__(self, forward: bool, seeds: Any) -> Any:
        return np.concatenate([self._programs[forward](part, *self._args)[1] for part in _parts(seeds)])

    def repeatable(self, kept: Compression) -> _Repeatable | None:
        program, parts = self._programs[kept.forward], []
        for part in _parts(kept.seeds):
            known = program.known_for((part, *self._args), {})
            if known is None or known.tree is None:
                return None
            parts.append((part, known, known.tree))
        found = _Repeatable(kept, program, parts)
        return None if found.has_changed() else found


class _WalksOfRecord(_Walks):
    """Through a record."""

    def __init__(self, linearization: Linearization) -> None:
        self._linearization = linearization

    def __call__(self, forward: bool, seeds: Any) -> Any:
        return np.concatenate([_ends(self._linearization, forward, part) for part in _parts(seeds)])


@dataclass(frozen=True)
class _Repeatable:
    """A pattern, and the steps that it was found by: it holds as long as they are those of the walks.

    Attributes
    ----------
    kept : Compression
    program : Program
        Of the value and the products.
    parts : list of (ndarray, Known, Tree)
        Directions, what is known of walks along them, and the steps of these.
    """

    kept: Compression
    program: Program[..., Any]
    parts: list[tuple[Any, Known, Tree]]

    def has_changed(self) -> bool:
        """Whether the walks have other steps now, or choose among several."""
        return any(known.tree is not tree or tree.ways > 1 for _, known, tree in self.parts)

    def at(self, args: tuple[Any, ...]) -> tuple[Any, csr_array] | None:
        """The value and the matrix; None where the steps are not repeated, or its products are others'."""
        products, value = [], None
        for part, known, tree in self.parts:
            found = self.program.repeated_by((part, *args), known, tree)
            if found is MISSED:
                return None
            value, ends = found
            products.append(ends)
        ends = products[0] if len(products) == 1 else np.concatenate(products)
        matrix = self.kept.matrix_of(ends)
        return (value, matrix) if _are_rounding(self.kept.of_seeds(matrix, ends)) else None


def _complete(kept: Compression, walk: Walk, x: Any, slope: Any) -> csr_array | None:
    """The Jacobian at x; None if its pattern has not all entries of it."""
    matrix, comparisons = kept.matrix(walk, x)
    for compared in (*comparisons, *kept.closer(matrix, walk)):
        if compared.misses(slope if compared.forward else 0.0, walk):
            return None
    return matrix


def _are_rounding(comparisons: list[Comparison]) -> bool:
    return all(compared.is_rounding() for compared in comparisons)


def _form_of(x: Any, others: _Others) -> tuple[Any, ...]:
    return x.shape, x.dtype, others.told


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


def _called_on_copies(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, bool]:
    """What a function returns, and whether it writes into its arguments, of which these stay as they are."""
    leaves, restore = pytree.flatten(args)
    copies = list(map(copied, leaves))
    result = function(*restore(copies))
    return result, any(x.tobytes() != y.tobytes() for x, y in zip(leaves, copies, strict=True) if x is not y)


def _are_plain(args: tuple[Any, ...]) -> bool:
    return not any(isinstance(leaf, Variable) for leaf in pytree.flatten(args)[0])
