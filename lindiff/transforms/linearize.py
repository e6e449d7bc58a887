"""The linearized program itself: ``linearize`` and ``linear_transpose``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.core.variable import value

__all__ = ["LinearMap", "linear_transpose", "linearize"]


class LinearMap:
    """The derivative of a function at a point, applied by walking its record.

    Made by :func:`lindiff.linearize`.
    """

    def __init__(self, linearization: Linearization) -> None:
        self._linearization = linearization

    def __call__(self, *tangents: Any) -> Any:
        """J · tangents, one tree per primal; in the structure of the function's result."""
        return self._linearization.push(tangents)

    def T(self, y_bar: Any) -> tuple[Any, ...]:
        """Jᴴ · y_bar: a tuple with one tree per primal."""
        return self._linearization.pull(y_bar)

    def as_linear_operator(self) -> Any:
        """The map between flat vectors as a ``scipy.sparse.linalg.LinearOperator``.

        Its shape is (size of the result, size of all primals); trees are flattened leaf by leaf, C order.

        Examples
        --------
        >>> import numpy as np, lindiff as ld
        >>> y, lin = ld.linearize(lambda x: x**2, np.array([1.0, 2.0]))
        >>> lin.as_linear_operator() @ np.array([1.0, 1.0])
        array([2., 4.])
        """
        from scipy.sparse.linalg import LinearOperator

        inputs = self._linearization.inputs.arrays
        outputs = self._linearization.outputs.arrays
        _, restore_inputs = pytree.flatten(self._linearization.inputs.primals)
        _, restore_outputs = pytree.flatten(self._linearization.value)

        def push(flat: Any) -> Any:
            return _flat(self(*restore_inputs(_unflat(flat, inputs))))

        def pull(flat: Any) -> Any:
            return _flat(self.T(restore_outputs(_unflat(flat, outputs))))

        return LinearOperator(
            shape=(sum(y.size for y in outputs), sum(x.size for x in inputs)),
            matvec=push,
            rmatvec=pull,
            dtype=np.result_type(*(array.dtype for array in [*inputs, *outputs])),
        )


def _flat(tree: Any) -> Any:
    leaves, _ = pytree.flatten(tree)
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def _unflat(flat: Any, likes: list[Any]) -> list[Any]:
    parts = np.split(np.ravel(flat), np.cumsum([like.size for like in likes])[:-1])
    return [part.reshape(like.shape).astype(like.dtype) for part, like in zip(parts, likes, strict=True)]


def linearize(function: Callable[..., Any], *primals: Any) -> tuple[Any, LinearMap]:
    """The value of a function, and its derivative as a linear map to apply again and again.

    The function runs once.

    Parameters
    ----------
    function : callable
    *primals : trees of arrays

    Returns
    -------
    value
    lin : LinearMap
        ``lin(*tangents)`` pushes tangents forward, ``lin.T(y_bar)`` pulls a cotangent back to a tuple with
        one tree per primal; ``lin.as_linear_operator()`` serves ``scipy.sparse.linalg``.

    Notes
    -----
    Memory: what the operations keep, until ``lin`` is dropped.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> y, lin = ld.linearize(lambda x: x**2, np.array([1.0, 2.0]))
    >>> lin(np.array([1.0, 0.0])), lin.T(np.array([0.0, 1.0]))
    (array([2., 0.]), (array([0., 4.]),))
    """
    linearization = Linearization(function, primals, kept=True)
    return linearization.value, LinearMap(linearization)


def linear_transpose(function: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function: a walk backward over its record.

    Parameters
    ----------
    function : callable
        Linear in its arguments together (f(0) = 0).
    *primals : trees of arrays
        Only their structure, shapes and dtypes matter.

    Returns
    -------
    callable
        ``f_t(y_bar) -> (x_bar, ...)``, one tree per primal, with ⟨y_bar, f(x)⟩ = ⟨f_t(y_bar), x⟩ (for complex
        arrays ⟨a, b⟩ = Re(aᴴ b): the adjoint).

    Raises
    ------
    ValueError
        The function is not linear; names the operation.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> ld.linear_transpose(lambda x: A @ x, np.zeros(2))(np.array([1.0, 0.0]))
    (array([1., 2.]),)
    """
    linearization = Linearization(function, primals, kept=True)
    name = linearization.record.nonlinear_operation()
    if name is not None:
        raise ValueError(f"linear_transpose: the function is not linear in its arguments (operation {name})")
    at_zero = Linearization(function, pytree.zeros_like(primals))
    leaves, _ = pytree.flatten(value(at_zero.value))
    if any(np.any(leaf) for leaf in leaves):
        raise ValueError("linear_transpose: the function is affine, not linear: it is not zero at zero")
    return linearization.pull
