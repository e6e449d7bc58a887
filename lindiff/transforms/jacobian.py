"""Whole matrices of derivatives, and second order: ``jacobian``, ``hessian``, ``hvp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.transforms._arguments import one_or_all, select
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import grad

__all__ = ["hessian", "hvp", "jacobian"]


def jacobian(
    function: Callable[..., Any], argnums: int | tuple[int, ...] = 0, mode: str | None = None
) -> Callable[..., Any]:
    """All derivatives of a function's result with respect to its arguments.

    Parameters
    ----------
    function : callable
    argnums : int or tuple of int
    mode : {None, "forward", "reverse"}
        Push one tangent per input element, or pull one cotangent per output element; None takes the fewer.

    Returns
    -------
    callable
        Of the same arguments; returns arrays of shape ``y.shape + x.shape``: in the structure of the result,
        and within it that of the argument (a tuple over arguments if ``argnums`` is a tuple).

    Notes
    -----
    The function runs once; then its record is walked min(x.size, y.size) times.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f'mode is None, "forward" or "reverse", got {mode!r}')

    @functools.wraps(function)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        of_selected, selected = select(function, argnums, args, kwargs)
        linearization = Linearization(of_selected, selected)
        return _jacobian(linearization, argnums, mode)

    return jacobian_of


def _jacobian(linearization: Linearization, argnums: int | tuple[int, ...], mode: str | None) -> Any:
    inputs = linearization.inputs.arrays
    outputs = [y if hasattr(y, "shape") else np.asarray(y) for y in linearization.outputs.arrays]
    if mode is None:
        forward = sum(x.size for x in inputs) <= sum(y.size for y in outputs)
    else:
        forward = mode == "forward"
    rows = (
        _by_pushing(linearization, inputs, outputs)
        if forward
        else _by_pulling(linearization, inputs, outputs)
    )
    _, restore_outputs = pytree.flatten(linearization.value)
    _, restore_inputs = pytree.flatten(linearization.inputs.primals)
    return restore_outputs([one_or_all(argnums, restore_inputs(row)) for row in rows])


def _unit(array: Any, i: int) -> Any:
    e = np.zeros(array.shape, array.dtype)
    e.flat[i] = 1
    return e


def _by_pushing(linearization: Linearization, inputs: list[Any], outputs: list[Any]) -> list[list[Any]]:
    """Columns, one tangent each."""
    rows: list[list[Any]] = [[] for _ in outputs]
    for k, x in enumerate(inputs):
        columns = [linearization.push_leaves(_at(inputs, k, _unit(x, i))) for i in range(x.size)]
        for j, y in enumerate(outputs):
            stacked = (
                np.stack([column[j] for column in columns], axis=-1) if columns else np.zeros((*y.shape, 0))
            )
            rows[j].append(np.reshape(stacked, (*y.shape, *x.shape)))
    return rows


def _by_pulling(linearization: Linearization, inputs: list[Any], outputs: list[Any]) -> list[list[Any]]:
    """Rows, one cotangent each (conjugated: Jᴴ against J)."""
    rows: list[list[Any]] = []
    for j, y in enumerate(outputs):
        pulled = [linearization.pull_arrays(_at(outputs, j, _unit(y, i))) for i in range(y.size)]
        row = []
        for k, x in enumerate(inputs):
            stacked = np.stack([p[k] for p in pulled]) if pulled else np.zeros((0, *x.shape), x.dtype)
            if stacked.dtype.kind == "c":
                stacked = np.conjugate(stacked)
            row.append(np.reshape(stacked, (*y.shape, *x.shape)))
        rows.append(row)
    return rows


def _at(arrays: list[Any], k: int, unit: Any) -> list[Any]:
    """The unit among None, which stands for zero."""
    leaves: list[Any] = [None] * len(arrays)
    leaves[k] = unit
    return leaves


def hessian(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """All second derivatives of a function that returns one real number (forward over reverse).

    Parameters
    ----------
    function : callable
    argnums : int or tuple of int

    Returns
    -------
    callable
        Of the same arguments; returns an array of shape ``x.shape + x.shape`` (nested structures if the
        argument is a tree or ``argnums`` a tuple).  Cost: about x.size gradients.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(grad(function, argnums), argnums, mode="forward")


def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a function that returns one real number, times a vector (forward over reverse).

    Parameters
    ----------
    function : callable
    primals, tangents : sequences of trees of arrays
        One tree per positional argument of ``function``.

    Returns
    -------
    tree or tuple of trees
        In the form of the primals: a tuple if there are several, else the one tree.  Cost: about two
        gradients.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    primals = tuple(primals)
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(function, argnums), primals, tangents)[1]
