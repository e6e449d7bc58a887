"""Integrals of sampled functions: sums of the samples, weighted by their spacings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate

from lindiff.core.arrays import placed
from lindiff.core.formula import some
from lindiff.core.variable import value
from lindiff.rules._common import as_array, laid_out
from lindiff.scipy._drop_in import drop_in

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


def _samples(y: Any, x: Any, axis: int, name: str) -> tuple[Any, Any]:
    """The samples along the last axis, and their points or None."""
    y = as_array(y)
    if x is not None:
        x = as_array(x)
        if x.ndim != 1:
            if x.ndim != y.ndim:
                raise ValueError(f"{name}: x has one axis, or those of y; got shapes {x.shape} and {y.shape}")
            x = np.moveaxis(x, axis, -1)
        if x.shape[-1] != y.shape[axis]:
            raise ValueError(f"{name}: there are {x.shape[-1]} points for {y.shape[axis]} samples")
    return np.moveaxis(y, axis, -1), x


def _trapezoids(y: Any, x: Any, dx: Any) -> Any:
    """The integral over each interval, by a straight line."""
    h = dx if x is None else np.diff(x)
    return h * (y[..., 1:] + y[..., :-1]) / 2.0


@drop_in(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Differentiable in `y`, `x` and `dx`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import trapezoid
    >>> ld.grad(trapezoid)(np.array([1.0, 2.0, 3.0]))
    array([0.5, 1. , 0.5])
    """
    return np.sum(_trapezoids(*_samples(y, x, axis, "trapezoid"), dx), axis=-1)


@drop_in(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Differentiable in `y`, `x` and `dx`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.integrate import cumulative_trapezoid
    >>> cumulative_trapezoid(np.array([1.0, 2.0, 3.0]), initial=0)
    array([0. , 1.5, 4. ])
    """
    if initial is not None and (np.ndim(initial) or initial != 0):
        raise ValueError("cumulative_trapezoid: initial is None or 0")
    if np.shape(y)[axis] == 0:
        raise ValueError("cumulative_trapezoid: at least one sample is needed")
    total = np.cumsum(_trapezoids(*_samples(y, x, axis, "cumulative_trapezoid"), dx), axis=-1)
    return np.moveaxis(_led_by(total, initial), -1, axis)


def _led_by(total: Any, initial: Any) -> Any:
    """A cumulative integral that begins with `initial`, if there is one."""
    if initial is None:
        return total
    first = np.broadcast_to(placed(np.asarray(initial, total.dtype), total), (*total.shape[:-1], 1))
    return np.concatenate([first, total], axis=-1)


def _ratio(a: Any, b: Any) -> Any:
    """``a / b``, zero where b is: an empty interval has no weight."""
    is_zero = np.equal(value(b), 0)
    return np.where(is_zero, 0.0, a / np.where(is_zero, 1.0, b)) if some(is_zero) else a / b


@drop_in(scipy.integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Differentiable in `y`, `x` and `dx`.

    Notes
    -----
    Parabolas through three points over pairs of intervals; with an odd number of intervals, the last is
    integrated by the parabola through the last three points (Cartwright 2017).

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import simpson
    >>> ld.grad(simpson)(np.zeros(3)).round(6)
    array([0.333333, 1.333333, 0.333333])
    """
    y, x = _samples(y, x, axis, "simpson")
    n, dx = y.shape[-1], dx * 1.0
    if n == 2:
        return np.sum(_trapezoids(y, x, dx), axis=-1)
    odd = n - 1 + n % 2  # the number of points that pairs of intervals cover
    y0, y1, y2 = y[..., : odd - 2 : 2], y[..., 1:odd:2], y[..., 2:odd:2]
    h = None if x is None else np.diff(x).astype(np.float64)
    if h is None:
        total = np.sum(y0 + 4.0 * y1 + y2, axis=-1) * (dx / 3.0)
    else:
        h0, h1 = h[..., : odd - 1 : 2], h[..., 1 : odd - 1 : 2]
        width = h0 + h1
        parabola = (
            (2.0 - _ratio(h1, h0)) * y0 + _ratio(width * width, h0 * h1) * y1 + (2.0 - _ratio(h0, h1)) * y2
        )
        total = np.sum(width / 6.0 * parabola, axis=-1)
    if n % 2:
        return total
    g, h = (dx, dx) if h is None else (h[..., -2], h[..., -1])
    return (
        total
        + _ratio(h * (2 * h + 3 * g), 6 * (g + h)) * y[..., -1]
        + _ratio(h * (h + 3 * g), 6 * g) * y[..., -2]
        - _ratio(h**3, 6 * g * (g + h)) * y[..., -3]
    )


def _first_of_pairs(y: Any, h: Any) -> Any:
    """For three points in a row, the integral of their parabola over the first interval."""
    h0, h1 = h[..., :-1], h[..., 1:]
    r, s = h0 / (h0 + h1), h0 / h1
    return h0 / 6 * ((3 - r) * y[..., :-2] + (3 + r * s + r) * y[..., 1:-1] - r * s * y[..., 2:])


@drop_in(scipy.integrate.cumulative_simpson)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Differentiable in `y`, `x`, `dx` and `initial`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.integrate import cumulative_simpson
    >>> cumulative_simpson(np.array([0.0, 1.0, 4.0]), initial=0).round(6)
    array([0.      , 0.333333, 2.666667])
    """
    y, x = _samples(y, x, axis, "cumulative_simpson")
    dx = np.moveaxis(dx, axis, -1) if np.ndim(dx) else dx
    n = y.shape[-1]
    if n < 3:
        total = np.cumsum(_trapezoids(y, x, dx), axis=-1)
    else:
        if x is None:
            h = placed(np.broadcast_to(dx, (*y.shape[:-1], n - 1)), y)
        else:
            h = np.diff(x)
            if np.any(value(h) <= 0):
                raise ValueError("cumulative_simpson: x must increase")
        first = _first_of_pairs(y, h)
        second = np.flip(_first_of_pairs(np.flip(y, -1), np.flip(h, -1)), -1)
        interval = np.arange(n - 1)
        is_first = (interval % 2 == 0) & (interval < n - 2)
        both = np.concatenate([first, second], axis=-1)
        total = np.cumsum(both[..., np.where(is_first, interval, n - 3 + interval)], axis=-1)
    if initial is not None:
        initial = np.moveaxis(initial, axis, -1) if np.ndim(initial) else initial
        total = np.concatenate(
            [np.broadcast_to(placed(as_array(initial), total), (*total.shape[:-1], 1)), total + initial],
            axis=-1,
        )
    return np.moveaxis(laid_out(total, "C"), -1, axis)


@drop_in(scipy.integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: Any = False) -> Any:
    """Differentiable in `y` and `dx`.

    `show` is for plain arrays.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import romb
    >>> ld.grad(romb)(np.zeros(3)).round(6)
    array([0.333333, 1.333333, 0.333333])
    """
    if show:
        raise TypeError("romb: with Variables there is no table to show; give ld.value(y)")
    y, _ = _samples(y, None, axis, "romb")
    intervals = y.shape[-1] - 1
    if intervals < 1 or intervals & (intervals - 1):
        raise ValueError("romb: the number of samples must be one more than a power of two")
    table: list[Any] = []
    step = intervals
    while step:  # Richardson's extrapolation of the trapezoidal rule, ever finer
        coarse = y[..., ::step]
        row = [np.float64(1.0) * dx * step * np.sum((coarse[..., 1:] + coarse[..., :-1]) / 2.0, axis=-1)]
        for j, before in enumerate(table):
            row.append(row[j] + (row[j] - before) / (4 ** (j + 1) - 1))
        table, step = row, step // 2
    return table[-1]
