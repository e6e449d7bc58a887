"""Derivatives of compiled steps as operations, which have derivatives themselves, of any order.

With the lengths of the steps fixed a solution is a smooth function Y(y₀, p), and what a method makes of the
state beside its tangent s, ``s' = f_y s + f_p ṗ``, is that function beside its own tangent Y'(ẏ₀, ṗ).  Along
the same steps of both, the gradient of ⟨Ȳ, Y'(ẏ₀, ṗ)⟩ by y₀ and p is the tangent of that of ⟨Ȳ, Y⟩: second
derivatives are first ones of the state beside its tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.rules._common import depends_on_variables
from lindiff.scipy.integrate._jumps import warn_of_jump
from lindiff.scipy.integrate._stepping import Stepped
from lindiff.scipy.integrate._witnesses import has_changed

__all__ = ["Find", "has_orders", "pulled_by_steps", "pushed_by_steps"]

# The steps from a plain first state with plain parameters; None where there are none.
Find = Callable[[Any, list[Any]], Stepped | None]


def has_orders(steps: Stepped | None, orders: int) -> bool:
    """Whether there are steps, and those of the state beside its tangent, so many times."""
    for _ in range(orders):
        if steps is None:
            break
        steps = steps.beside_tangents(np.zeros_like(steps.y0), list(map(np.zeros_like, steps.params)))
    return steps is not None


def _beside_tangents(find: Find) -> Find:
    """The steps of the state beside its tangent, along those that are found for the state."""

    def found(both: Any, both_params: list[Any]) -> Stepped | None:
        n, k = len(both) // 2, len(both_params) // 2
        steps = find(both[:n], both_params[:k])
        return None if steps is None else steps.beside_tangents(both[n:], both_params[k:])

    return found


def _found(find: Find, y0: Any, params: list[Any]) -> Stepped:
    steps = find(y0, params)
    if steps is None:
        raise has_changed("the right-hand side")
    warn_of_jump(steps.moved_jump)
    return steps


def _gradient_along(
    y0: Any, params: list[Any], y0_dot: Any, params_dot: list[Any], Y_bar: Any, find: Find
) -> tuple[Any, list[Any], Any, list[Any]]:
    """That of ⟨Ȳ, Y'(ẏ₀, ṗ)⟩ by all four."""
    n, k = len(y0), len(params)
    both, both_params = np.concatenate([y0, y0_dot]), [*params, *params_dot]
    rows_bar = np.concatenate([np.zeros_like(value(Y_bar)), Y_bar], axis=1)
    bar, params_bar = pulled_by_steps(both, both_params, rows_bar, _beside_tangents(find))
    return bar[:n], params_bar[:k], bar[n:], params_bar[k:]


@rule
def pushed_by_steps(y0: Any, params: list[Any], y0_dot: Any, params_dot: list[Any], find: Find) -> Any:
    """The tangents of the states at all times, for those of the first state and of the parameters."""
    given = y0, params, y0_dot, params_dot
    if depends_on_variables(given):
        Y_dot = pushed_by_steps(*given, find)
    else:
        Y_dot = _found(find, y0, params).push(y0_dot, params_dot)

    def pushforward(y0_1: Any, params_1: Any, y0_dot_1: Any, params_dot_1: Any, *_: Any) -> Any:
        both, both_1 = np.concatenate([y0, y0_dot]), np.concatenate([y0_1, y0_dot_1])
        both_params, both_params_1 = [*params, *params_dot], [*params_1, *params_dot_1]
        found = pushed_by_steps(both, both_params, both_1, both_params_1, _beside_tangents(find))
        return found[:, len(y0) :]

    def pullback(Y_dot_bar: Any) -> Any:
        return *_gradient_along(*given, Y_dot_bar, find), None

    return Y_dot, Differential(pushforward, pullback)


@rule
def pulled_by_steps(y0: Any, params: list[Any], Y_bar: Any, find: Find) -> Any:
    """The cotangents of the first state and of the parameters, for those of the states at all times."""
    given = y0, params, Y_bar
    if depends_on_variables(given):
        found = pulled_by_steps(*given, find)
    else:
        found = _found(find, y0, params).pull(Y_bar)

    def along(y0_dot: Any, params_dot: list[Any]) -> tuple[Any, ...]:
        return _gradient_along(y0, params, y0_dot, params_dot, Y_bar, find)[:2]

    def pushforward(y0_dot: Any, params_dot: list[Any], Y_bar_dot: Any, *_: Any) -> Any:
        first, of_params = pulled_by_steps(y0, params, Y_bar_dot, find)
        more, more_of_params = along(y0_dot, params_dot)
        return first + more, [x + y for x, y in zip(of_params, more_of_params, strict=True)]

    def pullback(bars: Any) -> Any:
        y0_2, params_2 = bars
        return *along(y0_2, params_2), pushed_by_steps(y0, params, y0_2, params_2, find), None

    return found, Differential(pushforward, pullback)
