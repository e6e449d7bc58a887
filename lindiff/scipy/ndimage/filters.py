"""Linear filters of images: correlations of the image, continued beyond its edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.rules._common import conj, normalized_axis
from lindiff.scipy.ndimage._arguments import PADDING, chosen_axes, each, of_image
from lindiff.scipy.signal.convolutions import convolve as convolution

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_laplace",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]


def _around(x: Any, widths: list[tuple[int, int]], mode: str, cval: Any) -> Any:
    """The image continued beyond its edges by these widths."""
    if mode not in PADDING:
        raise RuntimeError(f"boundary mode {mode!r} not supported")
    if not any(map(any, widths)):
        return x
    options = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return np.pad(x, widths, mode=PADDING[mode], **options)


def _correlated(x: Any, w: Any, mode: str, cval: Any, origins: list[int]) -> Any:
    """``y_o = Σ w_j x_o+j-n/2-origin``, w having the axes of x."""
    widths = []
    for n, origin in zip(w.shape, origins, strict=True):
        before = n // 2 + origin
        if not 0 <= before < n:
            raise ValueError(f"Invalid origin {origin} of a window of length {n}")
        widths.append((before, n - 1 - before))
    if x.dtype != w.dtype:  # SciPy would convert memory that it has not filled yet
        x = x.astype(np.result_type(x, w))
    return convolution(_around(x, widths, mode, cval), np.flip(w), "valid")


def _convolved(x: Any, w: Any, mode: str, cval: Any, origins: list[int]) -> Any:
    """The convolution: a correlation with the window reversed; a middle between two places moves with it."""
    turned = [-origin - (n + 1) % 2 for n, origin in zip(w.shape, origins, strict=True)]
    return _correlated(x, np.flip(w), mode, cval, turned)


def _of_axes(w: Any, axes: tuple[int, ...], ndim: int) -> Any:
    """A window over some axes, ascending, as one over all."""
    if w.ndim != len(axes):
        raise RuntimeError(f"weights.ndim ({w.ndim}) must match len(axes) ({len(axes)})")
    lengths = dict(zip(axes, w.shape, strict=True))
    return np.reshape(w, [lengths.get(axis, 1) for axis in range(ndim)])


def _ascending(axes: Any = None, **_: Any) -> None:
    """Refuse axes in another order, of which versions of SciPy make different things."""
    if axes is not None and [*np.atleast_1d(axes)] != sorted(np.atleast_1d(axes)):
        raise TypeError(f"write axes in ascending order, and the axes of weights with them, got {axes}")


def _origins(origin: Any, axes: tuple[int, ...], ndim: int) -> list[int]:
    """The origin of a window over some axes, for all axes."""
    given = dict(zip(axes, each(origin, len(axes)), strict=True))
    return [given.get(axis, 0) for axis in range(ndim)]


@of_image(scipy.ndimage.convolve, "weights", "cval", check=_ascending)
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    **options: Any,
) -> Any:
    """Differentiable in `input`, `weights` and `cval`.

    Raises
    ------
    TypeError
        For an array as `output`.

    Notes
    -----
    Linear in both: backward runs SciPy's correlations.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import convolve
    >>> ld.grad(lambda x: convolve(x, np.array([1.0, 2.0, 3.0]))[0])(np.zeros(3))
    array([5., 1., 0.])
    """
    axes = chosen_axes(options.get("axes"), input.ndim)
    window = _of_axes(weights, axes, input.ndim)
    return _convolved(input, window, mode, cval, _origins(origin, axes, input.ndim))


@of_image(scipy.ndimage.correlate, "weights", "cval", check=_ascending)
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    **options: Any,
) -> Any:
    """Differentiable in `input`, `weights` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import correlate
    >>> ld.grad(lambda x: correlate(x, np.array([1.0, 2.0, 3.0]))[0])(np.zeros(3))
    array([3., 3., 0.])
    """
    axes = chosen_axes(options.get("axes"), input.ndim)
    window = _of_axes(conj(weights), axes, input.ndim)
    return _correlated(input, window, mode, cval, _origins(origin, axes, input.ndim))


@of_image(scipy.ndimage.convolve1d, "weights", "cval")
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Differentiable in `input`, `weights` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import convolve1d
    >>> ld.grad(lambda x: convolve1d(x, np.array([1.0, 2.0, 3.0]))[0])(np.zeros(3))
    array([5., 1., 0.])
    """
    axes = chosen_axes(axis, input.ndim)
    window = _of_axes(weights, axes, input.ndim)
    return _convolved(input, window, mode, cval, _origins(origin, axes, input.ndim))


@of_image(scipy.ndimage.correlate1d, "weights", "cval")
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Differentiable in `input`, `weights` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import correlate1d
    >>> ld.grad(lambda x: correlate1d(x, np.array([1.0, 2.0, 3.0]))[0])(np.zeros(3))
    array([3., 3., 0.])
    """
    axes = chosen_axes(axis, input.ndim)
    window = _of_axes(conj(weights), axes, input.ndim)
    return _correlated(input, window, mode, cval, _origins(origin, axes, input.ndim))


# -- filters with weights of their own --------------------------------------------------------------------


def _along(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0) -> Any:
    """The image correlated with weights along one axis."""
    weights = _of_axes(
        weights if hasattr(weights, "shape") else np.array(weights, x.real.dtype), (axis,), x.ndim
    )
    return _correlated(x, placed(weights, x), mode, cval, [origin if i == axis else 0 for i in range(x.ndim)])


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """Samples of a derivative of the Gaussian, which itself has the sum 1: ``q(x) φ(x)``, where each
    derivative takes q to ``q' - q x / σ²``."""
    x = np.arange(-radius, radius + 1)
    phi = np.exp(-0.5 * x**2 / sigma**2)
    q = [1.0]
    for _ in range(order):
        rising = [(j + 1) * part for j, part in enumerate(q[1:])] + [0.0, 0.0]
        falling = [0.0, *(part / sigma**2 for part in q)]
        q = [a - b for a, b in zip(rising, falling, strict=True)]
    return sum(part * x**j for j, part in enumerate(q)) * (phi / np.sum(phi))


def _gaussian_along(
    x: Any, sigma: Any, axis: int, order: int, mode: str, cval: Any, truncate: float, radius: Any
) -> Any:
    """The image filtered by a Gaussian, or its derivative, along one axis."""
    reach = int(truncate * float(value(sigma)) + 0.5) if radius is None else int(radius)
    return _along(x, np.flip(_gaussian(sigma, order, reach)), axis, mode, cval)


@of_image(scipy.ndimage.gaussian_filter1d, "sigma", "cval")
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    **options: Any,
) -> Any:
    """Differentiable in `input`, `sigma` and `cval`.  The number of weights stays constant.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import gaussian_filter1d
    >>> impulse = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    >>> ld.grad(lambda sigma: gaussian_filter1d(impulse, sigma)[3])(0.7).round(6)
    np.float64(-0.812079)
    """
    axis = normalized_axis(axis, input.ndim)
    return _gaussian_along(input, sigma, axis, order, mode, cval, truncate, options.get("radius"))


def _gaussian_of_axes(
    x: Any, sigma: Any, order: Any, mode: Any, cval: Any, truncate: float, options: dict[str, Any]
) -> Any:
    """The image filtered by a Gaussian along axis after axis; each may have its own options."""
    axes = chosen_axes(options.get("axes"), x.ndim)
    count = len(axes)
    radii = each(options.get("radius"), count)
    each_of = (each(option, count) for option in (sigma, order, mode))
    for axis, width, degree, beyond, radius in zip(axes, *each_of, radii, strict=True):
        if value(width) > 1e-15:
            x = _gaussian_along(x, width, axis, degree, beyond, cval, truncate, radius)
    return x


@of_image(scipy.ndimage.gaussian_filter, "sigma", "cval")
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    **options: Any,
) -> Any:
    """Differentiable in `input`, `sigma` and `cval`.  The number of weights stays constant.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import gaussian_filter
    >>> ld.grad(lambda x: gaussian_filter(x, 0.5, radius=1)[1])(np.zeros(4)).round(6)
    array([0.106507, 0.786986, 0.106507, 0.      ])
    """
    return _gaussian_of_axes(input, sigma, order, mode, cval, truncate, options)


@of_image(scipy.ndimage.uniform_filter1d, "cval")
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """Differentiable in `input` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import uniform_filter1d
    >>> ld.grad(lambda x: uniform_filter1d(x, 2)[1])(np.zeros(3))
    array([0.5, 0.5, 0. ])
    """
    return _along(input, [1.0 / size] * size, normalized_axis(axis, input.ndim), mode, cval, origin)


@of_image(scipy.ndimage.uniform_filter, "cval")
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    **options: Any,
) -> Any:
    """Differentiable in `input` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import uniform_filter
    >>> ld.grad(lambda x: uniform_filter(x, 2)[1])(np.zeros(3))
    array([0.5, 0.5, 0. ])
    """
    axes = chosen_axes(options.get("axes"), input.ndim)
    each_of = (each(option, len(axes)) for option in (size, mode, origin))
    y = input
    for axis, n, beyond, at in zip(axes, *each_of, strict=True):
        y = _along(y, [1.0 / n] * n, axis, beyond, cval, at) if n > 1 else y
    return y


def _edges(smooth: list[float], x: Any, axis: int, mode: Any, cval: Any) -> Any:
    """Differences along one axis, smoothed along the others."""
    axis, modes = normalized_axis(axis, x.ndim), each(mode, x.ndim)
    y = _along(x, [-1.0, 0.0, 1.0], axis, modes[axis], cval)
    for other in range(x.ndim):
        y = y if other == axis else _along(y, smooth, other, modes[other], cval)
    return y


@of_image(scipy.ndimage.sobel, "cval")
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Differentiable in `input` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import sobel
    >>> ld.grad(lambda x: sobel(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges([1.0, 2.0, 1.0], input, axis, mode, cval)


@of_image(scipy.ndimage.prewitt, "cval")
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Differentiable in `input` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import prewitt
    >>> ld.grad(lambda x: prewitt(x)[1])(np.zeros(3))
    array([-1.,  0.,  1.])
    """
    return _edges([1.0, 1.0, 1.0], input, axis, mode, cval)


@of_image(scipy.ndimage.laplace, "cval")
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, **options: Any) -> Any:
    """Differentiable in `input` and `cval`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import laplace
    >>> ld.grad(lambda x: laplace(x)[1])(np.zeros(3))
    array([ 1., -2.,  1.])
    """
    axes = chosen_axes(options.get("axes"), input.ndim)
    along_each = zip(axes, each(mode, len(axes)), strict=True)
    return sum(_along(input, [1.0, -2.0, 1.0], axis, beyond, cval) for axis, beyond in along_each)


def _all_axes(axes: Any = None, **_: Any) -> None:
    if axes is not None:
        raise TypeError("gaussian_laplace: axes has no derivative in lindiff: add gaussian_filter of order 2")


@of_image(scipy.ndimage.gaussian_laplace, "sigma", "cval", check=_all_axes)
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, **options: Any
) -> Any:
    """Differentiable in `input`, `sigma` and `cval`.  The number of weights stays constant.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import gaussian_laplace
    >>> ld.grad(lambda x: gaussian_laplace(x, 0.5, radius=1)[1])(np.zeros(4)).round(6)
    array([ 1.278084, -3.147944,  1.278084,  0.      ])
    """
    truncate = options.pop("truncate", 4.0)
    orders = (2 * np.eye(input.ndim, dtype=int)).tolist()
    return sum(_gaussian_of_axes(input, sigma, order, mode, cval, truncate, options) for order in orders)
