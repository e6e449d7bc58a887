"""Selecting elements by conditions, by indices, by size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed
from lindiff.core.differential import Differential, Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import value
from lindiff.rules._common import along, as_array, as_operand, as_type, normalized_axis
from lindiff.rules.indexing.rules import scatter

__all__ = ["index_along"]


@rule(np.where)
def where(condition: Any, *branches: Any) -> Any:
    """Each branch gets the derivative where it is taken, and exactly 0 elsewhere."""
    if not branches:
        return np.where(condition), None
    if not hasattr(condition, "dtype"):
        condition = placed(np.asarray(condition), *branches)
    return np.where(condition, *branches), Linear(
        (None, lambda x_dot: np.where(condition, x_dot, 0), lambda y_dot: np.where(condition, 0, y_dot)),
        (None, lambda z_bar: np.where(condition, z_bar, 0), lambda z_bar: np.where(condition, 0, z_bar)),
    )


@composed(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    for i, condition in enumerate(condlist):
        if as_array(condition).dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [x if type(x) in (int, float, complex) else as_operand(x) for x in (*choicelist, default)]
    dtype = np.result_type(*choices)  # Python's numbers take that of the arrays, not of each other
    *choices, result = (x if np.ndim(x) else as_type(x, dtype) for x in choices)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        result = np.where(condition, choice, result)
    return result


@composed(np.choose)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    index, n = as_array(value(a)), len(choices)
    if not np.can_cast(index.dtype, np.intp, "same_kind"):
        raise TypeError(f"np.choose: the choices are picked by integers, not by {index.dtype} numbers")
    if mode == "raise" and (np.any(index < 0) or np.any(index >= n)):
        raise ValueError("invalid entry in choice array")
    index = index % n if mode == "wrap" else np.clip(index, 0, n - 1)
    result = choices[0]
    if n == 1:
        result = np.broadcast_to(result, np.broadcast_shapes(index.shape, np.shape(result)))
    for k in range(1, n):
        result = np.where(index == k, choices[k], result)
    return result


@composed(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """Each function is called on the elements where its condition is the last that holds."""
    conditions = value(condlist)
    is_one = not isinstance(conditions, (list, tuple)) and np.ndim(conditions) == 0
    if is_one or (np.ndim(conditions[0]) == 0 and np.ndim(x) != 0):
        conditions = [conditions]
    masks = [np.broadcast_to(np.astype(as_array(c), np.dtype(bool)), x.shape) for c in conditions]
    n = len(funclist)
    if n == len(masks) + 1:
        masks.append(~np.any(np.stack(masks), axis=0))
    elif n != len(masks):
        raise ValueError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are expected"
        )
    y = np.zeros_like(value(x))
    for mask, piece in zip(masks, funclist, strict=True):
        if callable(piece):
            if mask.any():
                mask_index = np.nonzero(mask) if mask.ndim else ()
                part = scatter(piece(x[mask_index], *args, **kwargs), mask_index, x.shape, x.dtype)
                y = np.where(mask, part, y)
        else:
            y = np.where(mask, as_type(piece, x.dtype), y)
    return y


@composed(np.take)
def take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    indices = as_array(indices)
    if indices.dtype.kind == "b":  # no mask: 0 and 1
        indices = indices.astype(np.intp)
    if axis is None:
        a, axis = np.ravel(a), 0
    elif a.ndim == 0:
        a = np.reshape(a, (1,))
    axis = normalized_axis(axis, a.ndim)
    n = a.shape[axis]
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    return a[along(axis, indices)]


@composed(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return np.ravel(arr)[indices]
    return arr[index_along(arr, indices, axis)]


def index_along(arr: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """The index that takes ``indices`` along one axis, matching the others."""
    axis = normalized_axis(axis, arr.ndim)
    if as_array(indices).dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if arr.ndim != np.ndim(indices):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    others = np.ogrid[tuple(slice(n) for n in arr.shape)]
    return tuple(indices if k == axis else grid for k, grid in enumerate(others))


@composed(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    if np.ndim(condition) != 1:
        raise ValueError("condition must be a 1-d array")
    return np.take(a, np.flatnonzero(value(condition)), axis=axis)


@composed(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[np.flatnonzero(value(condition))]


@rule
def permuted_along(x: Any, order: Any, axis: int) -> Any:
    """``x`` with its elements along one axis in another order, found from ``x``; the adjoint undoes it."""
    return taken_along(x, order, axis), Differential(
        (lambda x_dot: taken_along(x_dot, order, axis),),
        (lambda y_bar: taken_along(y_bar, inverse_order(order, axis), axis),),
    )


def taken_along(x: Any, order: Any, axis: int) -> Any:
    return x[order] if x.ndim == 1 else np.take_along_axis(x, order, axis)


def inverse_order(order: Any, axis: int) -> Any:
    if foreign(order) is not None:
        return np.argsort(order, axis=axis)
    inverse = np.empty_like(order)
    places = np.arange(order.shape[axis])
    if order.ndim == 1:
        inverse[order] = places
    else:
        places = np.reshape(places, [-1 if k == axis else 1 for k in range(order.ndim)])
        np.put_along_axis(inverse, order, places, axis)
    return inverse


def reordered(x: Any, axis: int | None, order_of: Callable[[Any, int], Any]) -> Any:
    x = as_array(x)
    if axis is None:
        x, axis = np.ravel(x), 0
    axis = normalized_axis(axis, x.ndim)
    return permuted_along(x, order_of(value(x), axis), axis)


@composed(np.sort)
def sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    stable: bool | None = None,
    **descending: Any,  # of that name, since NumPy 2.5
) -> Any:
    options = {"kind": kind, "stable": stable, **descending}
    given = {name: option for name, option in options.items() if option is not None}
    return reordered(a, axis, lambda x, axis: np.argsort(x, axis=axis, **given))


@composed(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: None = None) -> Any:
    given = {} if kind == "introselect" else {"kind": kind}
    return reordered(a, axis, lambda x, axis: order_of_partition(x, kth, axis, given))


def order_of_partition(x: Any, kth: Any, axis: int, given: dict[str, Any]) -> Any:
    """Where the elements come from that ``np.partition`` gives: it may have others before and after the k-th
    one than ``np.argpartition``."""
    like = foreign(x)
    if like is None or hasattr(like, "get"):  # a device's sorts all
        order = np.argpartition(x, kth, axis=axis, **given)
        if like is not None or np.array_equal(
            taken_along(x, order, axis), np.partition(x, kth, axis, **given)
        ):
            return order
    parted = np.partition(x, kth, axis=axis, **given)
    sources, places = (np.argsort(part, axis=axis, kind="stable") for part in (x, parted))
    return taken_along(sources, inverse_order(places, axis), axis)


# -- sets: each element of the result comes from the first of its like -----------------------------------


@composed(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **kwargs: Any,
) -> Any:
    _, index, inverse, counts = np.unique(value(ar), True, True, True, axis, **kwargs)
    if axis is None:
        values = np.take(ar, index)
    else:
        values = np.moveaxis(np.take(np.moveaxis(ar, axis, 0), index, 0), 0, axis)
    wanted = [(index, return_index), (inverse, return_inverse), (counts, return_counts)]
    further = tuple(part for part, is_wanted in wanted if is_wanted)
    return (values, *further) if further else values


def unique_of(function: Callable[..., Any]) -> None:
    """The functions of the Array API that return values and more in a named tuple."""

    @composed(function)
    def implementation(x: Any, /) -> Any:
        found = function(value(x))
        return found._replace(values=np.ravel(x)[np.unique_all(value(x)).indices])


for function in (np.unique_all, np.unique_counts, np.unique_inverse):
    unique_of(function)


@composed(np.unique_values)
def unique_values(x: Any, /) -> Any:
    """In the order in which NumPy finds them: not always a rising one."""
    order = np.argsort(np.argsort(np.unique_values(value(x))))
    return np.ravel(x)[np.unique_all(value(x)).indices[order]]


@composed(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return np.unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))


@composed(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    _, first, second = np.intersect1d(value(ar1), value(ar2), assume_unique, True)
    common = np.astype(np.ravel(ar1)[first], np.result_type(as_array(ar1), as_array(ar2)))
    return (common, first, second) if return_indices else common


@composed(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return first[~np.isin(first, ar2)]


@composed(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    return np.sort(np.concatenate([np.setdiff1d(ar1, ar2), np.setdiff1d(ar2, ar1)]))
