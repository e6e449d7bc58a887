"""Whole matrices of derivatives, and second order: ``jacobian``, ``hessian``, ``hvp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.transforms._arguments import one_or_all, select
from lindiff.transforms.forward import as_tuple, jvp
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
    A complex argument is taken for that of a holomorphic function, or, of real results, dy = Re(J dx).  The
    function runs once; then its record is walked min(x.size, y.size) times.

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


def _unit(array: Any, i: int, entry: complex) -> Any:
    e = np.zeros(array.size, array.dtype)
    e[i] = entry
    return np.reshape(e, array.shape)


def _is_complex(array: Any) -> bool:
    return bool(array.dtype.kind == "c")


def _by_pushing(linearization: Linearization, inputs: list[Any], outputs: list[Any]) -> list[list[Any]]:
    """Columns, one tangent each; dy = Re(J dx) where only x is complex."""
    rows: list[list[Any]] = [[] for _ in outputs]
    for k, x in enumerate(inputs):

        def push(entry: complex, k: int = k, x: Any = x) -> list[list[Any]]:
            return [linearization.push_leaves(_at(inputs, k, _unit(x, i, entry))) for i in range(x.size)]

        columns = push(1)
        turned = push(1j) if _is_complex(x) and not all(map(_is_complex, outputs)) else []
        for j, y in enumerate(outputs):
            block = _stacked([column[j] for column in columns], y, -1)
            if turned and not _is_complex(y):
                block = block - 1j * _stacked([column[j] for column in turned], y, -1)
            rows[j].append(_block(block, x, y))
    return rows


def _by_pulling(linearization: Linearization, inputs: list[Any], outputs: list[Any]) -> list[list[Any]]:
    """Rows, one cotangent each, conjugated: Jᴴ against J (real x of complex y see one part at a time)."""
    rows: list[list[Any]] = []
    for j, y in enumerate(outputs):

        def pull(entry: complex, j: int = j, y: Any = y) -> list[list[Any]]:
            return [linearization.pull_arrays(_at(outputs, j, _unit(y, i, entry))) for i in range(y.size)]

        pulled = pull(1)
        turned = pull(1j) if _is_complex(y) and not all(map(_is_complex, inputs)) else []
        row = []
        for k, x in enumerate(inputs):
            block = _stacked([p[k] for p in pulled], x, 0)
            if _is_complex(x):
                block = np.conjugate(block)
            elif turned:
                block = block + 1j * _stacked([p[k] for p in turned], x, 0)
            row.append(_block(block, x, y))
        rows.append(row)
    return rows


def _stacked(parts: list[Any], like: Any, axis: int) -> Any:
    if parts:
        return np.stack(parts, axis=axis)
    return np.zeros((0, *like.shape) if axis == 0 else (*like.shape, 0), like.dtype)


def _block(block: Any, x: Any, y: Any) -> Any:
    dtype = np.result_type(x.dtype, y.dtype)
    block = np.reshape(block, (*y.shape, *x.shape))
    return block if block.dtype == dtype else block.astype(dtype)


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
    primals = as_tuple(primals, "primals")
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(function, argnums), primals, tangents)[1]
