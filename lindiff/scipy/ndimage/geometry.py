"""Images taken at other places: splines through the pixels.

SciPy filters an image to the coefficients of its spline, and sums what the B-splines around each place
contribute.  The filter is its own adjoint but for the weight of the edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage
import scipy.special

from lindiff.core.arrays import placed
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import along, as_array, normalized_axes
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy.interpolate._bases import basis, combined
from lindiff.scipy.linalg._drop_in import drop_in
from lindiff.scipy.ndimage._arguments import PADDING, each, image

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "zoom"]

AROUND = 12  # pixels by which SciPy extends an image for 'nearest' and 'grid-constant' before its filter
SHORT = 64  # pixels up to which SciPy's filter for 'reflect' is not yet symmetric to rounding
# By which symmetry the spline goes on beyond the edges; all others by 'mirror'.
SYMMETRY = {"reflect": "reflect", "grid-mirror": "reflect", "nearest": "reflect", "grid-wrap": "grid-wrap"}


@rule
def _filtered(x: Any, order: int, axis: int, mode: str) -> Any:
    """The coefficients c of the spline along one axis: B c = x, where B or, with half the weight of the edges
    ('mirror'), D B is symmetric."""
    if isinstance(x, Variable):  # of an outer trace
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
    """Where a place beyond the edges is found within n pixels, and with which sign it moves there.

    As in SciPy's ``map_coordinate``: half way between two pixels it matters from which side a place comes.
    """
    ones = np.ones(x.shape)
    before, after = x < 0, x > n - 1
    if mode in ("constant", "grid-constant", "nearest"):  # which pixels are beyond
        return x, ones
    if n == 1 and mode in ("mirror", "wrap"):
        return np.zeros(x.shape), 0.0 * ones
    if mode == "wrap":
        period = n - 1
        y = np.where(before, x + period * (np.floor(-x / period) + 1), x)
        return np.where(after, x - period * np.floor(x / period), y), ones
    if mode == "grid-wrap":
        return np.mod(x, n), ones
    edge = 1 if mode == "mirror" else 0  # which the mirror of 'reflect' repeats
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


def _checked(name: str, input: Any, output: Any, order: int, mode: str) -> Any:
    x = image(name, input, output)
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in PADDING:
        raise RuntimeError(f"boundary mode {mode!r} not supported")
    return x


@drop_in(scipy.ndimage.map_coordinates)
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
    x = _checked("map_coordinates", input, output, order, mode)
    places = as_array(coordinates)
    if places.ndim < 2 or len(places) != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")

    def of_scipy(x: Any, places: Any, cval: Any) -> Any:
        return scipy.ndimage.map_coordinates(x, places, output, order, mode, cval, prefilter)

    def formula(x: Any, places: Any, cval: Any) -> Any:
        return _at(x, places, order, mode, cval, prefilter)

    return by_formula(of_scipy, formula, x, placed(places, x).astype(np.float64), cval)


@drop_in(scipy.ndimage.shift)
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

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy import ndimage
    >>> ld.grad(lambda by: ndimage.shift(np.array([0.0, 1.0, 4.0]), by, order=1)[1])(0.5)
    np.float64(-1.0)
    """
    x = _checked("shift", input, output, order, mode)

    def of_scipy(x: Any, by: Any, cval: Any) -> Any:
        return scipy.ndimage.shift(x, by, output, order, mode, cval, prefilter)

    def formula(x: Any, by: Any, cval: Any) -> Any:
        places = [np.arange(n) - part for n, part in zip(x.shape, each(by, x.ndim), strict=True)]
        return _at_lines(x, places, order, mode, cval, prefilter)

    return by_formula(of_scipy, formula, x, shift, cval)


@drop_in(scipy.ndimage.zoom)
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

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy import ndimage
    >>> ld.grad(lambda x: ndimage.zoom(x, 2, order=1)[1])(np.zeros(2)).round(6)
    array([0.666667, 0.333333])
    """
    x = _checked("zoom", input, output, order, mode)
    factors = value(zoom)

    def of_scipy(x: Any, cval: Any) -> Any:
        return scipy.ndimage.zoom(x, factors, output, order, mode, cval, prefilter, grid_mode=grid_mode)

    def formula(x: Any, cval: Any) -> Any:
        each_of = each(factors, x.ndim)
        if prefilter and all(factor == 1 for factor in each_of):
            return 1.0 * x
        lines = [_zoomed(n, round(n * factor), grid_mode) for n, factor in zip(x.shape, each_of, strict=True)]
        return _at_lines(x, lines, order, mode, cval, prefilter)

    return by_formula(of_scipy, formula, x, cval)


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


@drop_in(scipy.ndimage.affine_transform)
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

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import affine_transform
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> ld.grad(lambda scale: affine_transform(x, scale[None, None], order=1)[1])(np.array(1.5))
    array(3.)
    """
    x = _checked("affine_transform", input, output, order, mode)
    matrix = as_array(matrix)
    offset = as_array(offset) if isinstance(offset, (list, tuple)) else offset
    shape = tuple(x.shape if output_shape is None else output_shape)
    n = x.ndim

    def of_scipy(x: Any, matrix: Any, offset: Any, cval: Any) -> Any:
        return scipy.ndimage.affine_transform(x, matrix, offset, shape, output, order, mode, cval, prefilter)

    def formula(x: Any, matrix: Any, offset: Any, cval: Any) -> Any:
        if matrix.ndim == 2 and matrix.shape[1] == n + 1:
            matrix, offset = matrix[:n, :n], matrix[:n, n]
        offsets = each(offset, n)
        if matrix.ndim == 1:
            lines = [np.arange(m) * a + b for m, a, b in zip(shape, matrix, offsets, strict=True)]
            return _at_lines(x, lines, order, mode, cval, prefilter)
        return _at(x, _affine_places(matrix, offsets, shape), order, mode, cval, prefilter)

    return by_formula(of_scipy, formula, x, placed(matrix, x), offset, cval)


@drop_in(scipy.ndimage.rotate)
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

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.ndimage import rotate
    >>> x = np.array([[0.0, 1.0, 2.0]] * 3)
    >>> (ld.grad(lambda angle: rotate(x, angle, reshape=False, order=1)[0, 1])(10.0) * 180 / np.pi).round(6)
    np.float64(0.984808)
    """
    x = _checked("rotate", input, output, order, mode)
    first, second = sorted(normalized_axes(axes, x.ndim))
    shape = scipy.ndimage.rotate(
        np.zeros(x.shape), value(angle), axes, reshape, order=0, prefilter=False
    ).shape
    n, m = (np.array([of[first], of[second]]) for of in (x.shape, shape))

    def of_scipy(x: Any, angle: Any, cval: Any) -> Any:
        return scipy.ndimage.rotate(x, angle, axes, reshape, output, order, mode, cval, prefilter)

    def formula(x: Any, angle: Any, cval: Any) -> Any:
        c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
        matrix = np.stack([np.stack([c, s]), np.stack([-s, c])])
        offset = (n - 1) / 2 - matrix @ ((m - 1) / 2)  # middle to middle
        places = np.reshape(_affine_places(matrix, offset, (m[0], m[1])), (2, -1))
        planes = np.reshape(np.moveaxis(x, (first, second), (-2, -1)), (-1, *n))
        turned = np.stack([_at(plane, places, order, mode, cval, prefilter) for plane in planes])
        others = [length for axis, length in enumerate(x.shape) if axis not in (first, second)]
        return np.moveaxis(np.reshape(turned, (*others, *m)), (-2, -1), (first, second))

    return by_formula(of_scipy, formula, x, angle, cval)
