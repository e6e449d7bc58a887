"""Bounds of trees, in the forms that SciPy's users write for arrays.

They are read by their form alone, never by their numbers; what can be read in two ways is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds

from lindiff.core import pytree
from lindiff.core.arrays import on_host
from lindiff.core.variable import differentiable_array

__all__ = ["bounds_of_tree"]

FORMS = (
    "The bounds of a tree are a tree of its form with a pair for each array, {'a': (0, 1), 'b': (None, 1)}, "
    "a list of pairs for the elements of one, or Bounds; or two trees of its form, lower and upper, "
    "({'a': 0, 'b': 0}, {'a': 1, 'b': None})"
)


class _OfArray(NamedTuple):
    lower: Any
    upper: Any
    keep_feasible: Any


def bounds_of_tree(bounds: Any, tree: Any) -> Bounds:
    """Bounds of the flat vector that stands for a tree of arrays.

    Parameters
    ----------
    bounds : tree of pairs, pair of trees, or scipy.optimize.Bounds
    tree : tree of arrays

    Raises
    ------
    ValueError
        What has neither of the forms, or could have both and mean different bounds.
    TypeError
        An array is complex.
    """
    leaves = pytree.flatten(tree)[0]
    if any(differentiable_array(leaf).dtype.kind == "c" for leaf in leaves):
        raise TypeError("lindiff.scipy.optimize: complex arrays have no bounds")
    readings, reasons = [], []
    for read in (_tree_of_pairs, _pair_of_trees):
        try:
            readings.append(_in_one_row(read(bounds, tree)))
        except _OtherForm as reason:
            reasons.append(str(reason))
    if not readings:
        raise ValueError(f"bounds: {'; '.join(dict.fromkeys(reasons))}. {FORMS}")
    first = readings[0]
    if any(not np.array_equal(first[k], other[k]) for other in readings[1:] for k in range(3)):
        raise ValueError(
            f"bounds: {bounds!r} can be read as pairs and as lower and upper: give Bounds for each array, "
            f"as in (Bounds(0, 1), Bounds(-np.inf, 1)). {FORMS}"
        )
    return Bounds(*first)


class _OtherForm(ValueError):
    """The bounds do not have the form that was tried."""


def _tree_of_pairs(bounds: Any, tree: Any) -> list[_OfArray]:
    """A tree of the form of ``tree`` with the bounds of one array where that has an array."""
    return _at_leaves(bounds, tree, _pair, lambda entry: entry is None)


def _pair_of_trees(bounds: Any, tree: Any) -> list[_OfArray]:
    """Lower and upper: numbers, None, or trees of the form of ``tree``; in ``Bounds``, too."""
    keep: Any = False
    if isinstance(bounds, Bounds):
        bounds, keep = (_unwrapped(bounds.lb), _unwrapped(bounds.ub)), _unwrapped(bounds.keep_feasible)
    elif type(bounds) not in (tuple, list) or len(bounds) != 2:
        raise _OtherForm(f"{_described(bounds)} is no pair of lower and upper")
    sides = [
        _at_leaves(side, tree, partial(_numbers, none=none), _is_number)
        for side, none in zip((*bounds, keep), (-np.inf, np.inf, 0.0), strict=True)
    ]
    return [_OfArray(*of_array) for of_array in zip(*sides, strict=True)]


def _unwrapped(side: Any) -> Any:
    """What was given to ``Bounds``, which makes an array with one axis of it."""
    return side[0] if np.size(side) == 1 else side


def _at_leaves(
    bounds: Any, tree: Any, read: Callable[[Any, Any], Any], for_all: Callable[[Any], bool]
) -> list[Any]:
    """``read(entry, shape)`` of the entries of ``bounds`` at the arrays of ``tree``.

    What is ``for_all`` stands at all the arrays below its place.
    """
    if not pytree.is_tree(tree):
        return [read(bounds, np.shape(tree))]
    keys = pytree.keys(tree)
    if for_all(bounds):
        entries = [bounds] * len(keys)
    elif isinstance(tree, dict):
        if not isinstance(bounds, dict) or bounds.keys() != tree.keys():
            raise _OtherForm(f"{_described(bounds)} where x0 has {_described(tree)}")
        entries = [bounds[key] for key in keys]
    elif isinstance(tree, (tuple, list)):
        if not isinstance(bounds, (tuple, list)) or len(bounds) != len(tree):
            raise _OtherForm(f"{_described(bounds)} where x0 has {_described(tree)}")
        entries = [bounds[key] for key in keys]
    else:
        if type(bounds) is not type(tree):
            raise _OtherForm(f"{_described(bounds)} where x0 has {_described(tree)}")
        entries = [pytree.item(bounds, key) for key in keys]
    return [
        of_array
        for key, entry in zip(keys, entries, strict=True)
        for of_array in _at_leaves(entry, pytree.item(tree, key), read, for_all)
    ]


def _pair(entry: Any, shape: tuple[int, ...]) -> _OfArray:
    """The bounds of one array: a pair for all its elements, a list of pairs, one for each, or ``Bounds``.

    Lists of numbers are pairs, as in SciPy; lower and upper of an array are arrays.
    """
    if entry is None:
        return _OfArray(np.full(shape, -np.inf), np.full(shape, np.inf), np.full(shape, False))
    if isinstance(entry, Bounds):
        return _OfArray(
            *(_numbers(side, shape, np.nan) for side in (entry.lb, entry.ub, entry.keep_feasible))
        )
    count = int(np.prod(shape))
    if not isinstance(entry, (tuple, list, np.ndarray)) or _is_number(entry):
        raise _OtherForm(f"{_described(entry)} is no pair of bounds")
    if shape and len(entry) == count and all(map(_is_pair_of_numbers, entry)):
        if count == 2 and not all(isinstance(pair, (tuple, list)) for pair in entry):
            raise _OtherForm("arrays of two numbers, which could be lower and upper or two pairs")
        lower, upper = zip(*entry, strict=True)
    elif len(entry) == 2 and not any(isinstance(side, (tuple, list)) for side in entry):
        lower, upper = entry
    else:
        raise _OtherForm(f"{_described(entry)} is neither a pair nor {count} pairs")
    return _OfArray(_numbers(lower, shape, -np.inf), _numbers(upper, shape, np.inf), np.full(shape, False))


def _is_number(bound: Any) -> bool:
    return bound is None or (not pytree.is_tree(bound) and np.ndim(bound) == 0)


def _is_pair_of_numbers(pair: Any) -> bool:
    return not _is_number(pair) and len(pair) == 2 and all(map(_is_number, pair))


def _numbers(bound: Any, shape: tuple[int, ...], none: float) -> Any:
    """A bound of the elements of an array, with ``none`` where it has None."""
    try:
        given = np.asarray(on_host(bound), dtype=object)
        numbers = np.array([none if x is None else x for x in given.ravel()], np.float64)
        if given.shape == (np.prod(shape),):
            return np.reshape(numbers, shape)
        return np.broadcast_to(np.reshape(numbers, given.shape), shape)
    except (TypeError, ValueError):
        raise _OtherForm(f"{_described(bound)} does not broadcast to an array of shape {shape}") from None


def _in_one_row(of_arrays: list[_OfArray]) -> tuple[Any, Any, Any]:
    rows = [np.concatenate([np.zeros(0), *map(np.ravel, side)]) for side in zip(*of_arrays, strict=True)]
    return rows[0], rows[1], rows[2].astype(bool)


def _described(value: Any) -> str:
    """What was given as bounds, in a few words."""
    if isinstance(value, dict):
        return f"a dict with keys {list(value)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of length {len(value)}"
    return repr(value) if np.ndim(value) == 0 else f"an array of shape {np.shape(value)}"
