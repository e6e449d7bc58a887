"""Discrete cosine and sine transforms of types 1 to 4.

Scaled to be orthogonal, the inverse of a transform is its adjoint.  The others differ from that by a factor,
and at an edge of their input or output by √2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array, normalized_axis
from lindiff.rules.fft import Norm, exchanged, lengths_and_axes, of_length
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.fft.fourier import unique

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
# Of a transform and its type, two lists of edges.  At the first the output is √2 times that of the orthogonal
# transform; at the second the input counts 1/√2 of what it counts there.
EDGES = {("dct", 1): ([0, -1], [0, -1]), ("dct", 2): ([0], []), ("dct", 3): ([], [0])}
EDGES |= {("dst", 2): ([-1], []), ("dst", 3): ([], [-1])}


@rule
def _transform(x: Any, name: str, type: int, axis: int, norm: Norm, orthogonal: bool) -> Any:
    """``dct`` or ``dst`` along one axis: T = s L O R with O orthogonal, so Tᵀ = s R Oᵀ L."""
    if isinstance(x, Variable):  # of an enclosing trace
        y = _transform(x, name, type, axis, norm, orthogonal)
    else:
        function = counterpart(getattr(scipy.fft, name), x)
        y = function(x, type, None, axis, norm, orthogonalize=orthogonal)
    n = x.shape[axis]
    period = 2 * (n if type != 1 else n - 1 if name == "dct" else n + 1)
    scale = {"ortho": 1.0, "forward": period**-0.5}.get(norm or "backward", period**0.5)
    larger, smaller = ([], []) if orthogonal else EDGES.get((name, type), ([], []))

    def at_edges(x: Any, where: list[int], factor: float) -> Any:
        if not where:
            return x
        factors = np.ones((n, *[1] * (x.ndim - 1 - axis)), x.real.dtype)
        factors[where] = factor
        return x * placed(factors, x)

    def adjoint(y_bar: Any) -> Any:
        y_bar = at_edges(y_bar, larger, math.sqrt(2.0))
        x_bar = _transform(y_bar, name, INVERSE[type], axis, "ortho", True)
        return at_edges(x_bar, smaller, math.sqrt(0.5)) * scale

    return y, Linear(
        (lambda x_dot: _transform(x_dot, name, type, axis, norm, orthogonal),),
        (adjoint,),
    )


def _run(name: str, x: Any, type: int, n: int | None, axis: int, norm: Norm, orthogonalize: Any) -> Any:
    """``dct``, ``dst`` or the inverse of one along an axis, as SciPy calls it, of an array or Variable."""
    if type not in INVERSE:
        raise ValueError(f"{name}: type is 1, 2, 3 or 4, got {type!r}")
    x = as_array(x)
    axis = normalized_axis(axis, x.ndim)
    if name[0] == "i":
        name, type, norm = name[1:], INVERSE[type], exchanged(norm)
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    x = x if n is None else of_length(x, n, axis)
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    if x.dtype.kind == "c" and orthogonal != (norm == "ortho"):
        raise TypeError(
            f"{name}: SciPy does not heed orthogonalize={orthogonalize} where numbers are complex: write "
            f"{name}(x.real, ...) + 1j * {name}(x.imag, ...)"
        )
    return _transform(x, name, type, axis, norm, orthogonal)


_DOC = """Differentiable in `x`: linear, so backward runs the inverse transform.

`overwrite_x` and `workers` are for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import fft
>>> ld.grad(lambda x: np.sum(fft.{name}(x, norm="ortho") ** 2))(np.ones({shape})).round(6)
{gradient}
"""


def _in_its_place(name: str, transform: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """A transform in the place of SciPy's of this name; the example has an input of this shape."""
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _DOC.format(name=name, shape=shape, gradient=repr(np.full(shape, 2.0)))
    return drop_in(getattr(scipy.fft, name), by_rows=True)(transform)


def _along_axis(name: str) -> Any:
    """The transform of this name along one axis."""

    def transform(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: Norm = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        return _run(name, x, type, n, axis, norm, orthogonalize)

    return _in_its_place(name, transform, (3,))


def _along_axes(name: str) -> Any:
    """The transform of this name along several axes, one after the other."""

    def transform(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Norm = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        x = as_array(x)
        s, axes = (part if part is None else np.atleast_1d(part).tolist() for part in (s, axes))
        unique(axes or [], x.ndim)
        for n, axis in zip(*lengths_and_axes(x, s, axes), strict=True):
            x = _run(name[:-1], x, type, n, axis, norm, orthogonalize)
        return x

    return _in_its_place(name, transform, (1, 3))


dct, idct, dst, idst = map(_along_axis, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_along_axes, ("dctn", "idctn", "dstn", "idstn"))
