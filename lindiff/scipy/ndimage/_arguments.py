"""What the functions of images have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindiff.rules._common import as_array, normalized_axes

__all__ = ["PADDING", "chosen_axes", "each", "image"]

# NumPy's names of how an image goes on beyond its edges.
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


def image(name: str, x: Any, output: Any) -> Any:
    """An image of floats, with axes, whose result SciPy does not write anywhere."""
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
    return tuple(range(ndim)) if axes is None else normalized_axes(axes, ndim)


def each(option: Any, count: int) -> list[Any]:
    """An option for each axis."""
    if isinstance(option, (Sequence, np.ndarray)) and not isinstance(option, str):
        if len(option) != count:
            raise RuntimeError("sequence argument must have length equal to input rank")
        return [*option]
    if getattr(option, "ndim", 0) == 1:
        return [option[i] for i in range(count)]
    return [option] * count
