"""One function for many inputs: ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from lindiff.core import pytree
from lindiff.programs.machine import MISSED
from lindiff.programs.mapping import Mapped, assembled
from lindiff.programs.program import Program
from lindiff.transforms._transformed import transformed

__all__ = ["vmap"]

P = ParamSpec("P")

# Along which axis of each leaf: a number, None, or a tree of these like an argument.
Axes = Any


def vmap(function: Callable[P, Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[P, Any]:
    """A function of one element as a function of arrays of them.

    It is called for each element along an axis of its arguments, and its results are stacked.  It need not
    be written for that: its program runs for all elements without Python, on all cores, and these may take
    different branches.  Without branches, blocks of elements go through each operation at once.  Where it has
    no program, Python calls it for each.

    Parameters
    ----------
    function : callable
        Of any nesting of arrays, which returns arrays and numbers, nested.
    in_axes : int, None, or a tree of these
        Along which axis the elements of each positional argument lie; None: all calls are given it as it is.
        A tuple has one entry for each argument, which may be a tree like the argument.  Arrays that are given
        by keyword have their elements along the first axis; all else by keyword is given as it is.
    out_axes : int, or a tree of these
        Along which axis of the results.

    Returns
    -------
    callable
        Of the same arguments.  May be differentiated, and may be of derivatives:
        ``vmap(grad(f), (None, 0))`` has the gradient of each example.  Cost: that of all calls; a gradient
        by an argument that all of them share needs memory for one gradient per element.

    Raises
    ------
    ValueError
        Arguments have different numbers of elements, or none; results differ in shape.

    Notes
    -----
    The function runs as :func:`lindiff.program` has it: it should depend on nothing but its arguments, and
    its prints and counters are those of the first calls alone.  Elements are views, along whichever axis they
    lie: what a function writes into them it writes into the arguments, as in a loop over ``x[i]``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> def distance(x, y):
    ...     return np.sqrt(np.sum((x - y) ** 2))
    >>> X = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> ld.vmap(distance, (0, None))(X, np.zeros(2))
    array([5., 1.])

    Gradients example by example:

    >>> ld.vmap(ld.grad(distance), (0, None))(X, np.zeros(2))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    mapped = Mapped(function if isinstance(function, Program) else Program(function))

    @transformed(vmap, function, in_axes=in_axes, out_axes=out_axes)
    def of_many(*args: Any, **kwargs: Any) -> Any:
        again = mapped.repeated(args, kwargs)
        if again is not MISSED:
            return again
        leaves, restore = pytree.flatten((args, kwargs))
        axes = [*_axes_of_args(args, in_axes), *map(_axis_by_keyword, pytree.flatten(kwargs)[0])]
        many = [axis is not None for axis in axes]
        leaves = [x if axis is None else _first(x, axis) for x, axis in zip(leaves, axes, strict=True)]
        _check_counts([x.shape[0] for x, m in zip(leaves, many, strict=True) if m])
        result = mapped(restore, many, leaves)
        found = pytree.flatten(result)[0]
        to = _axes_of(result, out_axes, "out_axes")
        if not any(to) and None not in to:
            if not any(axes):
                mapped.remember(args, kwargs, many, result)
            return result
        return assembled([result], [_moved(y, axis) for y, axis in zip(found, to, strict=True)])

    return of_many


def _axes_of_args(args: tuple[Any, ...], in_axes: Axes) -> list[int | None]:
    """The axis of each leaf of positional arguments."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"in_axes has {len(in_axes)} entries for {len(args)} positional arguments: give one for each"
        )
    return _axes_of(args, in_axes, "in_axes")


def _axes_of(tree: Any, axes: Axes, what: str) -> list[int | None]:
    """The axis of each leaf of a tree; ``axes`` is a number, None, or has such for parts of the tree."""
    if axes is None or isinstance(axes, (int, np.integer)):
        axis = None if axes is None else int(axes)
        return [axis] * len(pytree.flatten(tree)[0])
    if not pytree.is_tree(tree) or not pytree.is_tree(axes) or pytree.keys(tree) != pytree.keys(axes):
        raise ValueError(
            f"{what} has {axes!r} for {type(tree).__name__}: give a number, None, or a tree of these "
            "with the keys of what it is for"
        )
    parts = [_axes_of(pytree.item(tree, key), pytree.item(axes, key), what) for key in pytree.keys(tree)]
    return [axis for part in parts for axis in part]


def _axis_by_keyword(x: Any) -> int | None:
    return 0 if np.ndim(x) > 0 and hasattr(x, "shape") else None


def _first(x: Any, axis: int) -> Any:
    """An array with its elements along the first axis."""
    if not hasattr(x, "shape"):
        raise ValueError(
            f"vmap takes elements of arrays, and was given a {type(x).__name__}, {x!r}: in_axes None keeps it"
        )
    if not -len(x.shape) <= axis < len(x.shape):
        raise ValueError(
            f"an argument of shape {tuple(x.shape)} has no axis {axis} along which elements lie: see in_axes"
        )
    return x if axis == 0 else np.moveaxis(x, axis, 0)


def _moved(y: Any, axis: int | None) -> Any:
    if y is None:
        return None
    if axis is None:
        raise ValueError("out_axes has None: every result has one element for each call; take y[0]")
    return y if axis == 0 else np.moveaxis(y, 0, axis)


def _check_counts(counts: list[int]) -> None:
    if not counts:
        raise ValueError("vmap needs an array with elements: all of in_axes are None")
    if len(set(counts)) > 1:
        raise ValueError(f"the arguments of vmap have different numbers of elements: {counts}")
    if counts[0] == 0:
        raise ValueError("vmap over no elements: what the function returns is not known")
