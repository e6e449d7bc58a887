"""B-splines: their values at points, and those that interpolate data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from lindiff._docstrings import documented_like
from lindiff.core.results import returned
from lindiff.core.variable import value
from lindiff.rules._common import as_array, depends_on_variables, normalized_axis
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy.interpolate._bases import basis, combined, interval_of, knots_through, spline_coefficients
from lindiff.scipy.interpolate._held import Held, as_held
from lindiff.scipy.interpolate.piecewise import _conditions, _only_within

__all__ = ["BSpline", "make_interp_spline"]


@documented_like(scipy.interpolate.BSpline)
class BSpline(scipy.interpolate.BSpline):  # type: ignore[misc]
    """Differentiable in `t`, `c` and the places at which it is evaluated.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.interpolate import BSpline
    >>> ld.grad(lambda c: BSpline([0.0, 0.0, 1.0, 2.0, 2.0], c, 1)(0.25))(np.array([1.0, 2.0, 0.0]))
    array([0.75, 0.25, 0.  ])
    """

    _variables: dict[str, Any] | None = None
    t = Held(scipy.interpolate.BSpline, "t")
    c = Held(scipy.interpolate.BSpline, "c")

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        t, c = as_array(t), as_array(c)
        super().__init__(value(t), value(c), k, extrapolate, axis)
        if depends_on_variables((t, c)):
            self._hold(t, np.moveaxis(c, self.axis, 0))

    def _hold(self, t: Any, c: Any) -> None:
        """Take Variables in the place of the plain arrays."""
        self._variables = {"t": as_held(t), "c": as_held(c)}

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The derivative of order `nu` at points x; differentiable."""
        if self._variables is None and not depends_on_variables(x):
            return super().__call__(x, nu, extrapolate)
        x = as_array(x).astype(np.float64)
        beyond = self.extrapolate if extrapolate is None else extrapolate

        def of_scipy(t: Any, c: Any, x: Any) -> Any:
            plain = scipy.interpolate.BSpline.construct_fast(t, c, self.k, self.extrapolate, self.axis)
            return plain(x, nu, extrapolate)

        def formula(t: Any, c: Any, x: Any) -> Any:
            return _at_points(t, c, self.k, x, nu, beyond, self.axis)

        y = by_formula(of_scipy, formula, self.t, self.c, x)
        return returned(y, (x,), "array")

    def derivative(self, nu: int = 1) -> Any:
        """The derivative of order `nu`, a spline."""
        if self._variables is None:
            return super().derivative(nu)
        t, c, k = self.t, self.c, self.k
        c = c[: len(t) - k - 1]
        for _ in range(nu):
            widths = np.reshape(t[k + 1 : -1] - t[1 : -k - 1], (-1, *[1] * (c.ndim - 1)))
            empty = value(widths) == 0
            c = np.where(empty, 0.0, (c[1:] - c[:-1]) * k / np.where(empty, 1.0, widths))
            t, k = t[1:-1], k - 1
        return BSpline(t, np.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """The antiderivative of order `nu`, a spline that begins with 0."""
        if self._variables is None:
            return super().antiderivative(nu)
        t, c, k = self.t, self.c, self.k
        c = c[: len(t) - k - 1]
        for _ in range(nu):
            widths = np.reshape(t[k + 1 :] - t[: -k - 1], (-1, *[1] * (c.ndim - 1)))
            totals = np.cumsum(c * widths, axis=0) / (k + 1)
            c = np.concatenate([np.zeros_like(value(totals[:1])), totals])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline(t, np.moveaxis(c, 0, self.axis), k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b; differentiable."""
        if self._variables is None and not depends_on_variables((a, b)):
            return super().integrate(a, b, extrapolate)
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if beyond == "periodic":
            raise TypeError(
                "integrate: periodic extrapolation has no derivative in lindiff: integrate whole periods and "
                "the rest apart, with extrapolate=False"
            )
        if not beyond:  # the spline is zero outside
            first, last = self.t[self.k], self.t[len(self.t) - self.k - 1]
            a, b = (np.minimum(np.maximum(limit, first), last) for limit in (a, b))
        whole = self.antiderivative()
        return returned(whole(b, 0, True) - whole(a, 0, True), (), "array")


def _at_points(t: Any, c: Any, k: int, x: Any, nu: int, extrapolate: Any, axis: int) -> Any:
    """The spline, or its derivative of order `nu`, at points x, by the B-splines around each."""
    shape, x = x.shape, np.ravel(x)
    first, last = t[k], t[len(t) - k - 1]
    if extrapolate == "periodic":
        x = first + np.mod(x - first, last - first)
    i = interval_of(t, k, x)
    y = combined(c, [([i - k + j for j in range(k + 1)], basis(t, k, x, i, nu))])
    at = value(x)
    y = _only_within(y, (at >= value(first)) & (at <= value(last)), extrapolate)
    y = np.reshape(y, (*shape, *y.shape[1:]))
    order = [*range(y.ndim)]
    n = len(shape)
    return np.transpose(y, order[n : n + axis] + order[:n] + order[n + axis :])


@documented_like(scipy.interpolate.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `x`, `y` and `t`.

    Raises
    ------
    TypeError
        For ``bc_type="periodic"`` with Variables.
    ValueError
        As in SciPy; of one place, or fewer than ``2 * k + 2`` knots.

    Notes
    -----
    One system of equations with a band, for value and derivatives.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.interpolate import make_interp_spline
    >>> x, y = np.arange(4.0), np.array([0.0, 1.0, 8.0, 27.0])
    >>> ld.grad(lambda y: make_interp_spline(x, y)(1.5))(y).round(6)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """
    x, y = as_array(x), as_array(y)
    # SciPy would read beyond its arrays.
    if k > 1 and (np.size(x) < 2 or (t is not None and np.size(t) < 2 * k + 2)):
        raise ValueError(f"a spline of degree {k} needs 2 places and {2 * k + 2} knots at least")
    plain = scipy.interpolate.make_interp_spline(
        value(x), value(y), k, value(t), value(bc_type), axis, check_finite
    )
    spline = BSpline.construct_fast(plain.t, plain.c, plain.k, plain.extrapolate, plain.axis)
    if not depends_on_variables((x, y, t, bc_type)):
        return spline
    if bc_type == "periodic":
        raise TypeError(
            'make_interp_spline: bc_type="periodic" has no derivative in lindiff: write '
            'CubicSpline(x, y, bc_type="periodic")'
        )
    x = as_held(x)
    y = as_held(np.moveaxis(y, normalized_axis(axis, y.ndim), 0))
    ends = [[], []] if bc_type in (None, "not-a-knot") else [*map(_several, _of_ends(bc_type, y))]
    t = knots_through(x, k, any(ends)) if t is None else as_array(t).astype(np.float64)

    def of_scipy(x: Any, y: Any, t: Any, ends: Any) -> Any:
        return np.array(plain.c)

    def formula(x: Any, y: Any, t: Any, ends: Any) -> Any:
        return spline_coefficients(x, y, t, k, *ends)

    spline._hold(t, y if k < 2 and ends == [[], []] else by_formula(of_scipy, formula, x, y, t, ends))
    return spline


def _of_ends(bc_type: Any, y: Any) -> list[Any]:
    if isinstance(bc_type, str):
        return _conditions(bc_type)
    return [_conditions(end)[0] if isinstance(end, str) else end for end in bc_type]


def _several(conditions: Any) -> list[Any]:
    """What holds at one end: nothing, or derivatives ``(order, value)``."""
    if conditions is None:
        return []
    return [conditions] if isinstance(conditions, tuple) and np.ndim(conditions[0]) == 0 else [*conditions]
