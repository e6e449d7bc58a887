"""Images taken at other places: splines through the pixels.

SciPy filters an image to the coefficients of its spline, and sums what the B-splines around each place
contribute.  The filter is its own adjoint but for the weight of the edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage
import scipy.special

from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import along, normalized_axes
from lindiff.scipy.interpolate._bases import basis, combined
from lindiff.scipy.ndimage._arguments import PADDING, each, of_image

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "zoom"]

AROUND = 12  # pixels by which SciPy extends an image for 'nearest' and 'grid-constant' before its filter
SHORT = 64  # pixels up to which SciPy's filter for 'reflect' is not yet symmetric to rounding
# The symmetry by which a spline goes on beyond the edges; for all other modes it is 'mirror'.
SYMMETRY = {"reflect": "reflect", "grid-mirror": "reflect", "nearest": "reflect", "grid-wrap": "grid-wrap"}


@rule
def _filtered(x: Any, order: int, axis: int, mode: str) -> Any:
    """The coefficients c of the spline along one axis: B c = x, where B or, with half the weight of the edges
    ('mirror'), D B is symmetric."""
    if isinstance(x, Variable):  # of an enclosing trace
        y = _filtered(x, order, axis, mode)
    else:
        y = _plainly_filtered(x, order, axis, mode)
    n = x.shape[axis]

    def adjoint(y_bar: Any) -> Any:
        if mode == "reflect" and n <= SHORT:
            transposed = _plainly_filtered(np.eye(n), order, 0, mode).T
            return np.moveaxis(np.tensordot(transposed, y_bar, axes=(1, axis)), 0, axis)
        if mode != "mirror" or n == 1:
            return _filtered(y_bar, order, axis, mode)
        weights = np.ones((n, *[1] * (x.ndim - 1 - axis)))
        weights[[0, -1]] = 0.5
        return weights * _filtered(y_bar / weights, order, axis, mode)

    return y, Linear((lambda x_dot: _filtered(x_dot, order, axis, mode),), (adjoint,))


def _plainly_filtered(x: Any, order: int, axis: int, mode: str) -> Any:
    dtype = np.complex128 if x.dtype.kind == "c" else np.float64
    return scipy.ndimage.spline_filter1d(x, order, axis, dtype, mode)


def _coefficients(x: Any, order: int, mode: str, cval: Any, prefilter: bool) -> tuple[Any, int]:
    """The coefficients of the spline through an image, and by how many pixels they reach beyond it."""
    if order <= 1 or not prefilter:
        return x, 0
    around = AROUND if mode in ("nearest", "grid-constant") else 0
    if around:
        options = {"constant_values": cval} if mode == "grid-constant" else {}
        x = np.pad(x, around, mode=PADDING[mode], **options)
    for axis in range(x.ndim):
        x = _filtered(x, order, axis, SYMMETRY.get(mode, "mirror")) if x.shape[axis] > 1 else x
    return x, around


def _inside(x: Any, n: int, mode: str) -> tuple[Any, Any]:
    """The place within n pixels that stands for one beyond the edges, and the sign with which it moves.

    As in SciPy's ``map_coordinate``: half way between two pixels it matters from which side a place comes.
    """
    ones = np.ones(x.shape)
    before, after = x < 0, x > n - 1
    if mode in ("constant", "grid-constant", "nearest"):  # `_indices` finds the pixels
        return x, ones
    if n == 1 and mode in ("mirror", "wrap"):
        return np.zeros(x.shape), 0.0 * ones
    if mode == "wrap":
        period = n - 1
        y = np.where(before, x + period * (np.floor(-x / period) + 1), x)
        return np.where(after, x - period * np.floor(x / period), y), ones
    if mode == "grid-wrap":
        return np.mod(x, n), ones
    edge = 1 if mode == "mirror" else 0  # 'reflect' repeats the pixel at the edge
    period = 2 * (n - edge)
    left, right = x + period * np.floor(-x / period), x - period * np.floor(x / period)
    turned_left, turned_right = left > edge - n, right >= n
    on_left = np.where(turned_left, edge - 1 - left, left + period)
    on_right = np.where(turned_right, period + edge - 1 - right, right)
    sign = np.where((before & turned_left) | (after & turned_right), -1.0, 1.0)
    return np.where(before, on_left, np.where(after, on_right, x)), sign


def _indices(i: Any, n: int, mode: str) -> Any:
    """The pixels that stand for those beyond the edges."""
    if mode in ("reflect", "grid-mirror"):
        i = np.mod(i, 2 * n)
        return np.where(i >= n, 2 * n - 1 - i, i)
    if mode == "grid-wrap":
        return np.mod(i, n)
    if mode == "nearest":
        return np.clip(i, 0, n - 1)
    if mode == "grid-constant":
        return np.clip(i, -1, n) + 1  # of an image with cval around it
    i = np.mod(i, max(2 * n - 2, 1))
    return np.where(i >= n, 2 * n - 2 - i, i)


def _parts(x: Any, n: int, order: int, mode: str, around: int) -> tuple[list[Any], list[Any], Any]:
    """The pixels that count at places x along an axis, their weights, and which places are in the image."""
    plain = value(x)
    inside = (plain >= 0) & (plain <= n - 2 * around - 1)
    within, sign = _inside(plain + around, n, mode)
    x = sign * x + (within - sign * plain)
    first = np.floor(within if order % 2 == 1 else within + 0.5).astype(np.intp)
    knots = np.arange(2.0 * order + 2)
    fraction = x - first + (order if order % 2 == 1 else order + 0.5)
    weights = basis(knots, order, fraction, np.full(first.shape, order))
    indices = [_indices(first - order // 2 + j, n, mode) for j in range(order + 1)]
    return indices, weights, inside


def _around_constant(c: Any, mode: str, cval: Any) -> Any:
    """The coefficients with `cval` around them, for the mode that looks there."""
    return np.pad(c, 1, constant_values=cval) if mode == "grid-constant" else c


def _at(x: Any, places: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """An image at places, whose coordinates come one axis after the other."""
    c, around = _coefficients(x, order, mode, cval, prefilter)
    shape = places.shape[1:]
    parts = [
        _parts(np.ravel(place), n, order, mode, around) for place, n in zip(places, c.shape, strict=True)
    ]
    y = combined(_around_constant(c, mode, cval), [(indices, weights) for indices, weights, _ in parts])
    if mode == "constant":
        y = np.where(np.all([inside for *_, inside in parts], axis=0), y, cval)
    return np.reshape(y, shape)


def _at_lines(x: Any, places: list[Any], order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """An image at a grid of places: one axis after the other."""
    c, around = _coefficients(x, order, mode, cval, prefilter)
    lengths = c.shape
    c = _around_constant(c, mode, cval)
    within: Any = np.ones((1,) * c.ndim, bool)
    for axis, (place, n) in enumerate(zip(places, lengths, strict=True)):
        indices, weights, inside = _parts(place, n, order, mode, around)
        column = (-1, *[1] * (c.ndim - 1 - axis))
        c = sum(
            c[along(axis, index)] * np.reshape(weight, column)
            for index, weight in zip(indices, weights, strict=True)
        )
        within = within & np.reshape(inside, column)
    return np.where(within, c, cval) if mode == "constant" else c


@of_image(scipy.ndimage.map_coordinates, "coordinates", "cval")
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Differentiable in `input`, `coordinates` and `cval`.

    Raises
    ------
    TypeError
        For an array as `output`.

    Notes
    -----
    The derivative takes ``(order + 1)^ndim`` pixels for each place.  It goes through the filter that makes
    the coefficients of the spline, which is symmetric but for its edges.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import map_coordinates
    >>> image = np.array([[0.0, 1.0], [2.0, 5.0]])
    >>> ld.grad(lambda at: map_coordinates(image, at[:, None], order=1)[0])(np.array([0.5, 0.25]))
    array([2.5, 2. ])
    """
    return _at(input, coordinates.astype(np.float64), order, mode, cval, prefilter)


@of_image(scipy.ndimage.shift, "shift", "cval")
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Differentiable in `input`, `shift` and `cval`.

    Raises
    ------
    TypeError
        For an array as `output`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy import ndimage
    >>> ld.grad(lambda by: ndimage.shift(np.array([0.0, 1.0, 4.0]), by, order=1)[1])(0.5)
    np.float64(-1.0)
    """
    places = [np.arange(n) - by for n, by in zip(input.shape, each(shift, input.ndim), strict=True)]
    return _at_lines(input, places, order, mode, cval, prefilter)


@of_image(scipy.ndimage.zoom, "zoom", "cval")
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """Differentiable in `input` and `cval`.

    `zoom` is constant: what it says is rounded to whole numbers of pixels.

    Raises
    ------
    TypeError
        For an array as `output`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy import ndimage
    >>> ld.grad(lambda x: ndimage.zoom(x, 2, order=1)[1])(np.zeros(2)).round(6)
    array([0.666667, 0.333333])
    """
    factors = each(value(zoom), input.ndim)
    if prefilter and all(factor == 1 for factor in factors):
        return 1.0 * input
    lines = [_zoomed(n, round(n * factor), grid_mode) for n, factor in zip(input.shape, factors, strict=True)]
    return _at_lines(input, lines, order, mode, cval, prefilter)


def _zoomed(n: int, m: int, grid_mode: bool) -> Any:
    """Where m pixels lie among n: from middle to middle, or from edge to edge."""
    if grid_mode:
        return (np.arange(m) + 0.5) * (n / max(m, 1)) - 0.5
    return np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 1.0)


def _affine_places(matrix: Any, offset: Any, shape: tuple[int, ...]) -> Any:
    """``offset + matrix @ o`` of all pixels o, summed in SciPy's order: half way between two pixels rounding
    decides."""
    grid = np.indices(shape)
    lines = zip(matrix, offset, strict=True)
    return np.stack([sum((o * a for o, a in zip(grid, row, strict=True)), start=b) for row, b in lines])


@of_image(scipy.ndimage.affine_transform, "matrix", "offset", "cval")
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: tuple[int, ...] | None = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Differentiable in `input`, `matrix`, `offset` and `cval`.

    Raises
    ------
    TypeError
        For an array as `output`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import affine_transform
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> ld.grad(lambda scale: affine_transform(x, scale[None, None], order=1)[1])(np.array(1.5))
    array(3.)
    """
    n, shape = input.ndim, tuple(input.shape if output_shape is None else output_shape)
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    offsets = each(offset, n)
    if matrix.ndim == 1:
        lines = [np.arange(m) * a + b for m, a, b in zip(shape, matrix, offsets, strict=True)]
        return _at_lines(input, lines, order, mode, cval, prefilter)
    return _at(input, _affine_places(matrix, offsets, shape), order, mode, cval, prefilter)


@of_image(scipy.ndimage.rotate, "angle", "cval")
def rotate(
    input: Any,
    angle: Any,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Differentiable in `input`, `angle` and `cval`.  The shape of the result is constant.

    Raises
    ------
    TypeError
        For an array as `output`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import rotate
    >>> x = np.array([[0.0, 1.0, 2.0]] * 3)
    >>> (ld.grad(lambda angle: rotate(x, angle, reshape=False, order=1)[0, 1])(10.0) * 180 / np.pi).round(6)
    np.float64(0.984808)
    """
    first, second = sorted(normalized_axes(axes, input.ndim))
    shape = scipy.ndimage.rotate(
        np.zeros(input.shape), value(angle), axes, reshape, order=0, prefilter=False
    ).shape
    n, m = (np.array([of[first], of[second]]) for of in (input.shape, shape))
    c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
    matrix = np.stack([np.stack([c, s]), np.stack([-s, c])])
    offset = (n - 1) / 2 - matrix @ ((m - 1) / 2)  # middle to middle
    places = np.reshape(_affine_places(matrix, offset, (m[0], m[1])), (2, -1))
    planes = np.reshape(np.moveaxis(input, (first, second), (-2, -1)), (-1, *n))
    turned = np.stack([_at(plane, places, order, mode, cval, prefilter) for plane in planes])
    others = [length for axis, length in enumerate(input.shape) if axis not in (first, second)]
    return np.moveaxis(np.reshape(turned, (*others, *m)), (-2, -1), (first, second))
