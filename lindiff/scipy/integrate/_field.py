"""Right-hand sides of differential equations, and their programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.record import is_recording
from lindiff.core.sealing import called
from lindiff.core.variable import Variable, kept_constant
from lindiff.programs.closures import Opened, closed_over, program_of
from lindiff.programs.program import Program
from lindiff.transforms.forward import jvp

__all__ = ["Field", "Variational", "as_numbers", "as_vector"]


def as_numbers(params: list[Any]) -> list[Any]:
    """Arrays without axes as numbers, which a function may have been given."""
    return [p[()] if hasattr(p, "shape") else p for p in params]


class Field:
    """A right-hand side ``fun(t, y, *args)`` as a function of the Variables that it is given or closes over.

    Parameters
    ----------
    fun : callable
    args : tuple
        Trees of anything.

    Attributes
    ----------
    params : list of Variable
    """

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._fun, self._opened = fun, Opened(fun)
        self._as_it_was = self._opened.as_it_is() if is_recording() else fun
        self._count = len(self._opened.contents)
        leaves, self._restore = pytree.flatten(args)
        leaves = [*self._opened.contents, *leaves]
        self._places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
        self._leaves = [leaf if isinstance(leaf, Variable) else kept_constant(leaf) for leaf in leaves]
        self._closes_over_variables = any(i < self._count for i in self._places)
        self.params = [self._leaves[i] for i in self._places]

    def __call__(self, t: Any, y: Any, params: list[Any]) -> Any:
        return self._slopes(self._as_it_was, t, y, params)

    def asked(self, t: Any, y: Any, params: list[Any]) -> Any:
        """The same of the user's own function: what it notes down outside, it notes there."""
        return self._slopes(self._fun, t, y, params)

    def _slopes(self, fun: Callable[..., Any], t: Any, y: Any, params: list[Any]) -> Any:
        contents, args = self._filled(params)
        given = t, y, *args
        if self._closes_over_variables:
            y_dot = called(partial(closed_over, self._opened.closing_over, contents), (given,))
        else:
            y_dot = called(fun, given)
        return y_dot if y.ndim == 2 else _like_state(y_dot, y)

    def _filled(self, params: list[Any]) -> tuple[list[Any], Any]:
        leaves = [*self._leaves]
        for i, p in zip(self._places, params, strict=True):
            leaves[i] = p
        return leaves[: self._count], self._restore(leaves[self._count :])

    def program(self) -> Program[..., Any]:
        """Of ``(contents, t, y, args)``, one for all functions of the same code."""
        return program_of(self._opened, _of_contents)

    def arguments(self, t: Any, y: Any, params: list[Any]) -> tuple[Any, ...]:
        """Those of the program."""
        contents, args = self._filled(as_numbers(params))
        return contents, t, y, args

    @property
    def place_of_time(self) -> int:
        """Among the leaves of the program's arguments; the state comes next."""
        return self._count

    @property
    def count_of_args(self) -> int:
        """Leaves of the program's last argument."""
        return len(self._leaves) - self._count

    @property
    def places_of_params(self) -> list[int]:
        return [i if i < self._count else i + 2 for i in self._places]


class Variational:
    """A right-hand side beside that of its tangent, of the state (y, s) and of parameters (p, ṗ).

    ``y' = f(t, y, p)``, ``s' = f_y s + f_p ṗ``

    Parameters
    ----------
    field : Field or Variational
    """

    def __init__(self, field: Field | Variational) -> None:
        self._field = field

    def __call__(self, t: Any, both: Any, params: list[Any]) -> Any:
        n, k = len(both) // 2, len(params) // 2
        slopes = jvp(
            lambda y, *p: self._field(t, y, list(p)), (both[:n], *params[:k]), (both[n:], *params[k:])
        )
        return np.concatenate(slopes)

    def program(self) -> Program[..., Any]:
        """Of ``(contents, t, both, (args, ṗ))``."""
        moving = self._field.place_of_time + 1, *self._field.places_of_params
        return self._field.program().derived(("variational", moving), partial(_variational, moving))

    def arguments(self, t: Any, both: Any, params: list[Any]) -> tuple[Any, ...]:
        n, k = len(both) // 2, len(params) // 2
        contents, _, _, args = self._field.arguments(t, both[:n], params[:k])
        return contents, t, both, (args, as_numbers(params[k:]))

    @property
    def place_of_time(self) -> int:
        return self._field.place_of_time

    @property
    def count_of_args(self) -> int:
        return self._field.count_of_args + len(self._field.places_of_params)

    @property
    def places_of_params(self) -> list[int]:
        places = self._field.places_of_params
        first = self.place_of_time + 2 + self._field.count_of_args
        return [*places, *range(first, first + len(places))]


def _variational(moving: tuple[int, ...], function: Callable[..., Any]) -> Callable[..., Any]:
    """A right-hand side beside that of its tangent; `moving` are the leaves of its state and parameters."""

    def right_hand_side(contents: list[Any], t: Any, both: Any, args: tuple[Any, Any]) -> Any:
        n, (given, dots) = len(both) // 2, args
        leaves, restore = pytree.flatten((contents, t, both[:n], given))

        def slopes(*moved: Any) -> Any:
            filled = [*leaves]
            for place, x in zip(moving, moved, strict=True):
                filled[place] = x
            return function(*restore(filled))

        return np.concatenate(jvp(slopes, tuple(leaves[i] for i in moving), (both[n:], *dots)))

    return right_hand_side


def _of_contents(closing_over: Callable[[Any], Any]) -> Callable[..., Any]:
    def right_hand_side(contents: list[Any], t: Any, y: Any, args: tuple[Any, ...]) -> Any:
        y_dot = closed_over(closing_over, contents, (t, y, *args))
        is_new = isinstance(y_dot, (list, tuple))  # what may be the state itself is copied
        return as_vector(y_dot).astype(np.float64, copy=not is_new)

    return right_hand_side


def _like_state(y_dot: Any, y: Any) -> Any:
    """Slopes as a vector for each number of the state; SciPy, too, repeats one."""
    slopes = as_vector(y_dot)
    if slopes.ndim > 1:
        raise ValueError(
            f"the right-hand side returns an array of shape {slopes.shape} for a state of shape {y.shape}: "
            f"let it return a vector, as by np.ravel"
        )
    return slopes if slopes.shape == y.shape else np.broadcast_to(slopes, y.shape)


def as_vector(y_dot: Any) -> Any:
    """What a right-hand side returns, a list of numbers too, as a vector; a matrix is none."""
    if isinstance(y_dot, (list, tuple)) and y_dot:
        if all(np.ndim(part) == 0 for part in y_dot):
            return np.stack(y_dot)
        return np.concatenate([np.ravel(part) for part in y_dot])
    return y_dot if getattr(y_dot, "ndim", 0) > 1 else np.ravel(y_dot)
