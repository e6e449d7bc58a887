"""What the functions of images have in common."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from lindiff.core.arrays import placed
from lindiff.rules._common import as_array, normalized_axes
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy._drop_in import drop_in

__all__ = ["PADDING", "chosen_axes", "each", "of_image"]

F = TypeVar("F", bound=Callable[..., Any])

# How an image goes on beyond its edges: SciPy's modes, and those of np.pad.
PADDING: dict[str, Any] = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def of_image(
    original: Callable[..., Any], *differentiable: str, check: Callable[..., None] | None = None
) -> Callable[[F], F]:
    """Let the decorated function, a formula, give derivatives to a function of SciPy's, and take its place.

    Parameters
    ----------
    original : callable
        SciPy's, which gives the values.
    *differentiable : str
        The arguments beside the image that may be Variables.  Lists among them become arrays.
    check : callable, optional
        Gets all arguments by name, and raises for those without derivative.
    """

    def decorate(formula: F) -> F:
        signature = inspect.signature(formula)

        @functools.wraps(formula)
        def call(*args: Any, **options: Any) -> Any:
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            given = {**bound.arguments}
            given |= given.pop("options", {})
            if check is not None:
                check(**given)
            x = _image(original.__name__, given["input"], given["output"])
            active = {"input": x, **{name: _beside(x, given[name]) for name in differentiable}}

            def of_scipy(active: dict[str, Any]) -> Any:
                return original(**{**given, **active})

            def by_numpy(active: dict[str, Any]) -> Any:
                return formula(**{**given, **active})

            return by_formula(of_scipy, by_numpy, active)

        return drop_in(original)(call)  # type: ignore[return-value]

    return decorate


def _beside(x: Any, argument: Any) -> Any:
    """An argument on the device of the image, as an array; a number as it is."""
    argument = as_array(argument) if isinstance(argument, (list, tuple)) else argument
    return placed(argument, x) if np.ndim(argument) else argument


def _image(name: str, x: Any, output: Any) -> Any:
    """The image as floats; raises for one without axes, and for an array as `output`."""
    if output is not None and not (isinstance(output, type) and issubclass(output, np.inexact)):
        raise TypeError(
            f"{name}: output={output!r} has no derivative in lindiff: write y = {name}(...), with "
            f".astype(dtype) for another dtype"
        )
    x = as_array(x)
    if x.ndim == 0:
        raise RuntimeError(f"{name}: an image without axes has no derivative in lindiff")
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def chosen_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes that a function works along, as numbers from 0."""
    return tuple(range(ndim)) if axes is None else normalized_axes(axes, ndim)


def each(option: Any, count: int) -> list[Any]:
    """An option as a list with one entry per axis."""
    if isinstance(option, (Sequence, np.ndarray)) and not isinstance(option, str):
        if len(option) != count:
            raise RuntimeError("sequence argument must have length equal to input rank")
        return [*option]
    if getattr(option, "ndim", 0) == 1:
        return [option[i] for i in range(count)]
    return [option] * count
