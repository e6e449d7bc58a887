"""Interpolation on regular grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from lindiff._docstrings import documented_like
from lindiff.core.results import returned
from lindiff.core.variable import value
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy.interpolate._bases import (
    basis,
    combined,
    interval_of,
    knots_through,
    linear_parts,
    spline_coefficients,
)
from lindiff.scipy.interpolate._held import as_held

__all__ = ["RegularGridInterpolator"]

ORDERS = {"slinear": 1, "cubic": 3, "quintic": 5}


@documented_like(scipy.interpolate.RegularGridInterpolator)
class RegularGridInterpolator(scipy.interpolate.RegularGridInterpolator):  # type: ignore[misc]
    """Differentiable in `points`, `values` and the places at which it is evaluated.

    The method 'pchip' is for plain arrays.  SciPy's usual `solver` finds the spline to five digits; the
    derivatives are those of the spline itself.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.interpolate import RegularGridInterpolator
    >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), np.array([[0.0, 2.0], [1.0, 4.0]]))
    >>> ld.grad(lambda at: f(at)[0])(np.array([0.5, 1.0]))
    array([1.5 , 1.25])
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        **options: Any,
    ) -> None:
        super().__init__(value(points), value(values), method, bounds_error, value(fill_value), **options)
        points, values = [as_held(as_array(p)) for p in points], as_array(values)
        self._has_variables = depends_on_variables((points, values, fill_value))
        falling = tuple(axis for axis, p in enumerate(points) if value(p)[0] > value(p)[-1])
        points = [np.flip(p) if axis in falling else p for axis, p in enumerate(points)]
        values = values if values.dtype.kind in "fc" else values.astype(np.float64)
        if self._has_variables and method in ORDERS:  # SciPy makes the spline at once
            points, values = [np.copy(p) for p in points], np.copy(values)
        self._data = (points, np.flip(values, falling) if falling else values)
        self._fill = fill_value
        self._solver = options

    def __call__(self, xi: Any, method: str | None = None, **options: Any) -> Any:
        """The interpolated data at points, whose coordinates are along the last axis; differentiable.

        Parameters
        ----------
        xi : array, or tuple of arrays
        method : str, optional
        nu : sequence of int, optional
            Orders of derivatives, for splines.
        """
        scipys = super().__call__
        if not self._has_variables and not depends_on_variables(xi):
            return scipys(xi, method, **options)
        method = self.method if method is None else method
        if method == "pchip":
            raise TypeError(
                'RegularGridInterpolator: method="pchip" has no derivative in lindiff: write method="cubic"'
            )
        at = np.stack(np.broadcast_arrays(*xi), axis=-1) if isinstance(xi, tuple) else as_array(xi)
        nu = options.get("nu") or [0] * len(self._data[0])

        def of_scipy(points: Any, data: Any, fill: Any, at: Any) -> Any:
            if self.method in ORDERS:
                return scipys(at, method, **options)
            plain = scipy.interpolate.RegularGridInterpolator(
                points, data, self.method, self.bounds_error, fill, **self._solver
            )
            return plain(at, method, **options)

        def formula(points: Any, data: Any, fill: Any, at: Any) -> Any:
            return _on_grid(
                points, data, np.reshape(at, (-1, len(points))), method, nu, at.shape, fill_of(fill)
            )

        def fill_of(fill: Any) -> Any:
            return None if self.bounds_error else fill

        y = by_formula(of_scipy, formula, *self._data, self._fill, at.astype(np.float64))
        if isinstance(xi, tuple) and at.ndim == 1:  # one point without an axis
            y = y[0]
        return returned(y, (at,), "array")


def _on_grid(points: Any, c: Any, at: Any, method: str, nu: Any, shape: tuple[int, ...], fill: Any) -> Any:
    """Data on a grid, interpolated at points, one per row; `fill`, unless None, outside of the grid."""
    parts = []
    for axis, p in enumerate(points):
        x = at[:, axis]
        if method not in ORDERS:
            indices, weights = linear_parts(p, x)
            if method == "nearest":
                nearest = np.where(value(weights[1]) <= 0.5, *indices)
                indices, weights = [nearest], [np.ones(nearest.shape)]
            parts.append((indices, weights))
            continue
        k = ORDERS[method]
        t = knots_through(p, k)
        i = interval_of(t, k, x)
        if k > 1:
            lines = spline_coefficients(p, np.moveaxis(c, axis, 0), t, k, [], [])
            c = np.moveaxis(lines, 0, axis)
        parts.append(([i - k + j for j in range(k + 1)], basis(t, k, x, i, nu[axis])))
    y = combined(c, parts)
    if fill is not None:
        inside = [
            (value(x) >= value(p)[0]) & (value(x) <= value(p)[-1]) for p, x in zip(points, at.T, strict=True)
        ]
        y = np.where(np.reshape(np.all(inside, axis=0), (-1, *[1] * (y.ndim - 1))), y, fill)
    rows = (*shape[:-1],) if len(shape) > 1 else (len(y),)
    return np.reshape(y, (*rows, *y.shape[1:]))
