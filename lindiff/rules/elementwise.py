"""Elementwise functions: one line each, the value and its partial derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.differential import Elementwise
from lindiff.core.registry import rule


def elementwise(ufunc: Callable[..., Any], *partials: Callable[..., Any]) -> None:
    """Give an elementwise function its partial derivatives, each a function of the value and the arguments."""

    @rule(ufunc)
    def elementwise_rule(*args: Any, **kwargs: Any) -> Any:
        y = ufunc(*args, **kwargs)
        return y, Elementwise(*[lambda p=p: p(y, *args) for p in partials])


elementwise(np.exp, lambda y, x: y)
elementwise(np.log, lambda y, x: 1 / x)
elementwise(np.log1p, lambda y, x: 1 / (1 + x))
elementwise(np.expm1, lambda y, x: np.exp(x))  # y + 1 would cancel
elementwise(np.sqrt, lambda y, x: 0.5 / y)
elementwise(np.square, lambda y, x: 2 * x)
elementwise(np.reciprocal, lambda y, x: -y * y)
elementwise(np.sin, lambda y, x: np.cos(x))
elementwise(np.cos, lambda y, x: -np.sin(x))
elementwise(np.tanh, lambda y, x: 1 - y * y)
