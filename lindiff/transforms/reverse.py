"""Reverse mode: ``vjp``, ``grad`` and ``value_and_grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.transforms._arguments import (
    Argnums,
    check_complex_linear,
    linearized,
    one_or_all,
    with_keywords,
)
from lindiff.transforms._transformed import transformed

__all__ = ["grad", "value_and_grad", "vjp"]

P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")
Pullback = Callable[[Any], tuple[Any, ...]]


@overload
def vjp(
    function: Callable[..., R], *primals: Any, has_aux: Literal[False] = False, **kwargs: Any
) -> tuple[R, Pullback]: ...
@overload
def vjp(
    function: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], **kwargs: Any
) -> tuple[R, Pullback, Aux]: ...
@overload
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool, **kwargs: Any) -> tuple[Any, ...]: ...


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False, **kwargs: Any) -> tuple[Any, ...]:
    """The value of a function, and the pullback of its derivative there.

    Parameters
    ----------
    function : callable
    *primals : trees of arrays
        The function's positional arguments.
    has_aux : bool
        The function returns ``(value, aux)``; then this returns ``value, pullback, aux``.
    **kwargs
        Keyword arguments of the function, constant.

    Returns
    -------
    value
        ``function(*primals)``.
    pullback : callable
        ``pullback(y_bar) -> (x_bar, ...)``: Jᴴ y_bar, one tree per primal, under ⟨a, b⟩ = Re(aᴴ b).  May be
        called any number of times; each costs up to about two times the function.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> y, pullback = ld.vjp(lambda A, x: A @ x, np.eye(2), np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 0.0]))
    (array([[1., 2.],
           [0., 0.]]), array([1., 0.]))
    """
    linearization = Linearization(with_keywords(function, kwargs), primals, has_aux, kept=True)
    if has_aux:
        return linearization.value, linearization.pull, linearization.aux
    return linearization.value, linearization.pull


def grad(
    function: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """The gradient of a function that returns one real number.

    Parameters
    ----------
    function : callable
        Plain NumPy code.
    argnums : int, str or tuple of these
        The arguments to differentiate, any trees of arrays, by number or by the name that the function gives
        them, however they are passed.  All others are passed on as they are.
    has_aux : bool
        The function returns ``(value, aux)``; the gradient function then returns ``(gradient, aux)``.
    holomorphic : bool
        The function is a holomorphic function of complex arguments: returns its complex derivative f′(z)
        instead of the gradient under ⟨a, b⟩ = Re(aᴴ b), which is its conjugate.  Checked, for one more walk.

    Returns
    -------
    callable
        Of the same arguments; returns arrays of the shape and dtype of the selected arguments (a tuple of
        them if ``argnums`` is a tuple).  Cost: up to about three times the function, whatever the size of the
        arguments.

    Raises
    ------
    TypeError
        From the returned function, if ``function`` does not return one real number; with ``holomorphic``, if
        its arguments or its result are not complex, or its derivative is not complex-linear.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])

    By keyword:

    >>> def energy(x, *, stiffness):
    ...     return 0.5 * stiffness * x**2
    >>> ld.grad(energy, argnums=(0, "stiffness"))(3.0, stiffness=2.0)
    (np.float64(6.0), np.float64(4.5))
    """

    @transformed(grad, function, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, gradients = _differentiated(function, argnums, has_aux, holomorphic, args, kwargs)
        return (gradients, found.aux) if has_aux else gradients

    return gradient


def value_and_grad(
    function: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """The value and the gradient of a function that returns one real number, from one run.

    Parameters
    ----------
    function, argnums, has_aux, holomorphic
        As for :func:`lindiff.grad`.

    Returns
    -------
    callable
        Of the same arguments; returns ``(value, gradient)``, with ``has_aux`` ``((value, aux), gradient)``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.value_and_grad(lambda x: x**2)(3.0)
    (np.float64(9.0), np.float64(6.0))
    """

    @transformed(value_and_grad, function, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        found, gradients = _differentiated(function, argnums, has_aux, holomorphic, args, kwargs)
        return ((found.value, found.aux) if has_aux else found.value), gradients

    return value_and_gradient


def _differentiated(
    function: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Linearization, Any]:
    """A call of the function, linearized, and its gradient by the selected arguments."""
    linearization = linearized(function, argnums, args, kwargs, has_aux)
    return linearization, one_or_all(argnums, _gradients(linearization, function, holomorphic))


def _gradients(
    linearization: Linearization, function: Callable[..., Any], holomorphic: bool
) -> tuple[Any, ...]:
    """The gradients by all inputs; raises unless the function returned one real (or complex) number."""
    name = getattr(function, "__name__", "the function")
    arrays = linearization.outputs.arrays
    if not hasattr(linearization.value, "shape"):
        raise TypeError(
            f"grad needs a function that returns one number, {name} returned "
            f"{type(linearization.value).__name__}; for several results use ld.jacobian or ld.vjp, "
            f"for (value, aux) give has_aux=True"
        )
    if arrays[0].shape != ():
        raise TypeError(
            f"grad needs a function that returns one number, {name} returned an array of shape "
            f"{arrays[0].shape}; reduce it (np.sum(...), or y[0, 0] for a 1 x 1 array), or use ld.jacobian"
        )
    is_complex = arrays[0].dtype.kind == "c"
    if is_complex != holomorphic:
        raise TypeError(
            f"grad needs a function that returns one real number, {name} returned a complex one; take "
            f"np.real or np.abs of it, or give holomorphic=True for the complex derivative"
            if is_complex
            else f"holomorphic=True needs a complex result, {name} returned {arrays[0].dtype}"
        )
    if not holomorphic:
        return linearization.pull_one(True)
    for x in linearization.inputs.arrays:
        if x.dtype.kind != "c":
            raise TypeError(f"holomorphic=True needs complex arguments, {name} was given {x.dtype}")
    along, restore = pytree.flatten(linearization.pull(1.0))
    across, _ = pytree.flatten(linearization.pull(1j))
    check_complex_linear(along, across, name)
    return restore.of_derivative([np.conjugate(x_bar) for x_bar in along])
