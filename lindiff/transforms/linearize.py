"""The linearized program itself: ``linearize`` and ``linear_transpose``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import numpy as np

from lindiff.core import pytree
from lindiff.core.directions import Directions, array_of
from lindiff.core.linearization import Linearization
from lindiff.core.variable import value
from lindiff.transforms._arguments import with_keywords
from lindiff.transforms.jacobian import check_linearization, is_complex, output_arrays

__all__ = ["LinearMap", "linear_transpose", "linearize"]

R = TypeVar("R")
Aux = TypeVar("Aux")


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
        Products with a matrix (``matmat``, ``rmatmat``) take all its columns in one walk.

        Raises
        ------
        TypeError
            The derivative is not linear over the complex numbers: a real result of a complex argument, or a
            function that is not holomorphic.

        Examples
        --------
        >>> import numpy as np, lindiff as ld
        >>> y, lin = ld.linearize(lambda x: x**2, np.array([1.0, 2.0]))
        >>> J = lin.as_linear_operator()
        >>> J @ np.array([1.0, 1.0])
        array([2., 4.])
        >>> from scipy.sparse.linalg import lsmr
        >>> lsmr(J, np.array([2.0, 8.0]))[0].round(6)  # a Gauss-Newton step
        array([1., 2.])
        """
        return linear_operator(self._linearization, lambda products: products)


def linear_operator(linearization: Linearization, seen: Callable[[Any], Any]) -> Any:
    """The derivative as a ``LinearOperator``; SciPy gets ``seen(product)`` for each product."""
    from scipy.sparse.linalg import LinearOperator

    push, pull = _complex_linear(linearization)
    inputs = linearization.inputs.arrays
    outputs = output_arrays(linearization.outputs.arrays)
    return LinearOperator(
        shape=(sum(y.size for y in outputs), sum(x.size for x in inputs)),
        matvec=lambda v: seen(push(np.reshape(v, (1, -1)))[0]),
        rmatvec=lambda u: seen(pull(np.reshape(u, (1, -1)))[0]),
        matmat=lambda V: seen(push(V.T).T),
        rmatmat=lambda U: seen(pull(U.T).T),
        dtype=np.result_type(*(array.dtype for array in [*inputs, *outputs])),
    )


def _complex_linear(linearization: Linearization) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """J and Jᴴ on the rows of plain matrices: linear over the complex numbers, as SciPy expects."""
    inputs = linearization.inputs.arrays
    outputs = output_arrays(linearization.outputs.arrays)
    if any(map(is_complex, inputs)):
        if not all(map(is_complex, [*inputs, *outputs])):
            raise TypeError(
                "as_linear_operator: the derivative of real results with respect to complex arguments, or of "
                "real and complex ones together, is linear over the real numbers only: take real and "
                "imaginary parts as arguments"
            )
        check_linearization(linearization, "the function")

    def push(V: Any) -> Any:
        return _rows(linearization.push_leaves, V, inputs, outputs)

    def pull(U: Any) -> Any:
        return _rows(linearization.pull_arrays, U, outputs, inputs)

    if any(map(is_complex, inputs)):
        return push, pull

    def push_both(V: Any) -> Any:
        return push(V.real) + 1j * push(V.imag) if is_complex(V) else push(V)

    def pull_both(U: Any) -> Any:
        """Re(Jᴴ u) is what is pulled back to real arguments, and Im(Jᴴ u) = Re(Jᴴ(-i u))."""
        if not any(map(is_complex, outputs)):
            return pull(U.real) + 1j * pull(U.imag) if is_complex(U) else pull(U)
        return pull(U) + 1j * pull(-1j * U)

    return push_both, pull_both


def _rows(walk: Callable[[list[Any]], list[Any]], rows: Any, starts: list[Any], ends: list[Any]) -> Any:
    """A walk from every row of a matrix."""
    count = len(rows)
    bounds = np.cumsum([0, *(start.size for start in starts)])
    leaves = [
        np.reshape(rows[:, bounds[k] : bounds[k + 1]], (count, *start.shape)).astype(start.dtype)
        for k, start in enumerate(starts)
    ]
    results = walk([leaf[0] for leaf in leaves] if count == 1 else [Directions(leaf) for leaf in leaves])
    return np.concatenate(
        [
            np.reshape(array_of(result, count), (count, end.size))
            for result, end in zip(results, ends, strict=True)
        ],
        axis=1,
    )


@overload
def linearize(
    function: Callable[..., R], *primals: Any, has_aux: Literal[False] = False, **kwargs: Any
) -> tuple[R, LinearMap]: ...
@overload
def linearize(
    function: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], **kwargs: Any
) -> tuple[R, LinearMap, Aux]: ...
@overload
def linearize(
    function: Callable[..., Any], *primals: Any, has_aux: bool, **kwargs: Any
) -> tuple[Any, ...]: ...
def linearize(
    function: Callable[..., Any], *primals: Any, has_aux: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The value of a function, and its derivative as a linear map to apply again and again.

    The function runs once.

    Parameters
    ----------
    function : callable
    *primals : trees of arrays
    has_aux : bool
        The function returns ``(value, aux)``; then this returns ``value, lin, aux``.
    **kwargs
        Keyword arguments of the function, constant.

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
    linearization = Linearization(with_keywords(function, kwargs), primals, has_aux, kept=True)
    if has_aux:
        return linearization.value, LinearMap(linearization), linearization.aux
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
