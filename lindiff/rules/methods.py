"""The methods and attributes of an ndarray, as a Variable has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["METHODS", "attribute"]


def _through(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is a NumPy function of the same arguments."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


METHODS: dict[str, Any] = {}


def attribute(name: str) -> Any:
    """The method or property of this name.

    Raises
    ------
    AttributeError
        Names what there is instead.
    """
    try:
        return METHODS[name]
    except KeyError:
        raise AttributeError(f"a Variable has no attribute {name!r}") from None
