"""Interpolation along one axis, by name of the kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from lindiff._docstrings import documented_like
from lindiff.core.results import returned
from lindiff.core.variable import value
from lindiff.rules._common import as_array, depends_on_variables, normalized_axis
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy.interpolate._bases import (
    basis,
    combined,
    interval_of,
    knots_through,
    linear_parts,
    spline_coefficients,
)

__all__ = ["interp1d"]

ORDERS: dict[Any, int] = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


@documented_like(scipy.interpolate.interp1d)
class interp1d(scipy.interpolate.interp1d):  # type: ignore[misc]
    """Differentiable in `x`, `y`, the numbers of `fill_value` and the places at which it is evaluated.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.interpolate import interp1d
    >>> ld.grad(lambda y: interp1d([0.0, 1.0, 3.0], y)(1.5))(np.zeros(3))
    array([0.  , 0.75, 0.25])
    >>> ld.grad(interp1d([0.0, 1.0, 3.0], [0.0, 1.0, 5.0]))(1.5)
    np.float64(2.0)
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        x, y = as_array(x), as_array(y)
        super().__init__(value(x), value(y), kind, axis, copy, bounds_error, value(fill_value), assume_sorted)
        if not assume_sorted:
            order = np.argsort(value(x), kind="mergesort")
            x, y = x[order], np.take(y, order, axis=axis)
        self._kind_given = kind
        self._has_variables = depends_on_variables((x, y, fill_value))
        y = y if y.dtype.kind in "fc" else y.astype(np.float64)
        self._data = (x.astype(np.float64), np.moveaxis(y, normalized_axis(axis, y.ndim), 0))
        self._fill = fill_value

    def __call__(self, x: Any) -> Any:
        """The interpolated data at points x; differentiable."""
        scipys = super().__call__
        if not self._has_variables and not depends_on_variables(x):
            return scipys(x)
        new = as_array(x).astype(np.float64)

        def of_scipy(data: Any, fill: Any, new: Any) -> Any:
            return scipys(new)

        return returned(by_formula(of_scipy, self._formula, self._data, self._fill, new), (new,), "array")

    def _formula(self, data: Any, fill: Any, new: Any) -> Any:
        """The interpolated data at `new`, in functions that have rules."""
        (x, y), kind = data, self._kind_given
        shape, new = new.shape, np.ravel(new)
        kind = ORDERS.get(kind, kind)
        if isinstance(kind, int):
            t = knots_through(x, kind)
            i = interval_of(t, kind, new)
            c = y if kind < 2 else spline_coefficients(x, y, t, kind, [], [])
            parts = ([i - kind + j for j in range(kind + 1)], basis(t, kind, new, i))
        elif kind == "linear":
            parts = linear_parts(x, new)
            c = y
        else:
            parts, c = ([_nearest(value(x), value(new), kind)], [np.ones(new.shape)]), y
        out = _filled(combined(c, [parts]), x, new, kind, fill)
        out = np.reshape(out, (*shape, *out.shape[1:]))
        order = [*range(out.ndim)]
        n, axis = len(shape), self.axis
        return np.transpose(out, order[n : n + axis] + order[:n] + order[n + axis :])


def _nearest(x: Any, new: Any, kind: str) -> Any:
    """The data that count at each point."""
    last = len(x) - 1
    if kind == "previous":
        return np.clip(np.searchsorted(x, new, side="right") - 1, 0, last)
    if kind == "next":
        return np.clip(np.searchsorted(x, new, side="left"), 0, last)
    middles = x / 2.0
    side = "left" if kind == "nearest" else "right"
    return np.clip(np.searchsorted(middles[1:] + middles[:-1], new, side=side), 0, last)  # type: ignore[call-overload]


def _filled(y: Any, x: Any, new: Any, kind: Any, fill: Any) -> Any:
    """The result with the fill values at points beyond the data."""
    extrapolates = isinstance(fill, str)
    below, above = (fill, fill) if not (isinstance(fill, tuple) and len(fill) == 2) else fill
    if extrapolates:
        if kind not in ("previous", "next"):
            return y
        below, above = (np.nan, None) if kind == "previous" else (None, np.nan)
    x, new = value(x), value(new)
    for outside, instead in ((new < x[0], below), (new > x[-1], above)):
        if instead is not None and np.any(outside):
            y = np.where(np.reshape(outside, (-1, *[1] * (y.ndim - 1))), instead, y)
    return y
