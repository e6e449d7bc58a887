"""Piecewise polynomials, and cubic splines as such."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate

from lindiff._docstrings import documented_like
from lindiff.core.results import returned
from lindiff.core.variable import value
from lindiff.rules._common import as_array, depends_on_variables, normalized_axis
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy.interpolate._bases import basis, combined, interval_of, spline_coefficients
from lindiff.scipy.interpolate._held import Held, as_held

__all__ = ["CubicSpline", "PPoly"]


class _Piecewise:
    """What a piecewise polynomial does where points, coefficients or breakpoints are Variables."""

    c: Any
    x: Any
    axis: int
    extrapolate: Any
    _variables: dict[str, Any] | None = None
    _scipys: Any

    def _hold(self, c: Any, x: Any) -> None:
        """Take Variables in the place of the plain arrays."""
        self._variables = {"c": as_held(c), "x": as_held(x)}

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The derivative of order `nu` at points x; differentiable."""
        if self._variables is None and not depends_on_variables(x):
            return self._scipys.__call__(self, x, nu, extrapolate)
        x = as_array(x).astype(np.float64)
        beyond = self.extrapolate if extrapolate is None else extrapolate

        def of_scipy(c: Any, breakpoints: Any, x: Any) -> Any:
            plain = scipy.interpolate.PPoly.construct_fast(c, breakpoints, self.extrapolate, self.axis)
            return plain(x, nu, extrapolate)

        def formula(c: Any, breakpoints: Any, x: Any) -> Any:
            return _at_points(c, breakpoints, x, nu, beyond, self.axis)

        y = by_formula(of_scipy, formula, self.c, self.x, x)
        return returned(y, (x,), "array")

    def derivative(self, nu: int = 1) -> Any:
        """The derivative of order `nu`, a piecewise polynomial."""
        if self._variables is None:
            return self._scipys.derivative(self, nu)
        if nu < 0:
            return self.antiderivative(-nu)
        return _made_of(_derived(self.c, nu), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """The antiderivative of order `nu`, continuous, a piecewise polynomial that begins with 0."""
        if self._variables is None:
            return self._scipys.antiderivative(self, nu)
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        widths = np.diff(self.x)
        for _ in range(nu):
            powers = np.reshape(np.arange(len(c), 0, -1.0), (-1, *[1] * (c.ndim - 1)))
            c = c / powers
            h = np.reshape(widths, (-1, *[1] * (c.ndim - 2)))
            steps: Any = 0.0
            for part in c:
                steps = (steps + part) * h
            totals = np.cumsum(steps, axis=0)
            start = np.concatenate([np.zeros_like(value(totals[:1])), totals[:-1]])
            c = np.concatenate([c, start[None]])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return _made_of(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b; differentiable."""
        if self._variables is None and not depends_on_variables((a, b)):
            return self._scipys.integrate(self, a, b, extrapolate)
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if beyond == "periodic":
            raise TypeError(
                "integrate: periodic extrapolation has no derivative in lindiff: integrate whole periods and "
                "the rest apart, with extrapolate=False"
            )
        whole = self.antiderivative()
        return returned(whole(b, 0, beyond) - whole(a, 0, beyond), (), "array")

    def roots(self, *args: Any, **options: Any) -> Any:
        """SciPy's, of plain coefficients."""
        return self._plainly("roots", args, options)

    def solve(self, *args: Any, **options: Any) -> Any:
        """SciPy's, of plain coefficients."""
        return self._plainly("solve", args, options)

    def extend(self, *args: Any, **options: Any) -> Any:
        """SciPy's, of plain coefficients."""
        return self._plainly("extend", args, options)

    def _plainly(self, name: str, args: Any, options: Any) -> Any:
        """A method of SciPy's that has no derivative, for plain arguments only."""
        if self._variables is not None or depends_on_variables((args, options)):
            raise TypeError(
                f"{name} of a spline has no derivative in lindiff: make the spline of ld.value(y); a root "
                f"with derivatives is lindiff.scipy.optimize.brentq(spline, a, b)"
            )
        return getattr(self._scipys, name)(self, *args, **options)


@documented_like(scipy.interpolate.PPoly)
class PPoly(_Piecewise, scipy.interpolate.PPoly):  # type: ignore[misc]
    """Differentiable in `c`, `x` and the places at which it is evaluated.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.interpolate import PPoly
    >>> ld.grad(lambda c: PPoly(c, [0.0, 1.0])(2.0))(np.array([[1.0], [0.0], [3.0]])).T
    array([[4., 2., 1.]])
    """

    _scipys = scipy.interpolate.PPoly
    c = Held(scipy.interpolate.PPoly, "c")
    x = Held(scipy.interpolate.PPoly, "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c, x = as_array(c), as_array(x)
        scipy.interpolate.PPoly.__init__(self, value(c), value(x), extrapolate, axis)
        if depends_on_variables((c, x)):
            self._hold(np.moveaxis(c, (axis, axis + 1), (0, 1)), x)


@documented_like(scipy.interpolate.CubicSpline)
class CubicSpline(_Piecewise, scipy.interpolate.CubicSpline):  # type: ignore[misc]
    """Differentiable in `x`, `y`, the values in `bc_type` and the places at which it is evaluated.

    Notes
    -----
    Its coefficients are those of the spline through the data, one system of equations with a band; the
    values are SciPy's.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.interpolate import CubicSpline
    >>> x, y = np.arange(4.0), np.array([0.0, 1.0, 8.0, 27.0])
    >>> ld.grad(lambda at: CubicSpline(x, y)(at))(1.5).round(6)
    np.float64(6.75)
    >>> ld.grad(lambda y: CubicSpline(x, y)(1.5))(y).round(6)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    _scipys = scipy.interpolate.CubicSpline
    c = Held(scipy.interpolate.CubicSpline, "c")
    x = Held(scipy.interpolate.CubicSpline, "x")

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, y = as_array(x), as_array(y)
        scipy.interpolate.CubicSpline.__init__(self, value(x), value(y), axis, value(bc_type), extrapolate)
        if not depends_on_variables((x, y, bc_type)):
            return
        y = np.moveaxis(y, normalized_axis(axis, y.ndim), 0)
        y, x = y if y.dtype.kind == "c" else y.astype(np.float64), x.astype(np.float64)
        plain = self.c

        def of_scipy(x: Any, y: Any, bc: Any) -> Any:
            return np.array(plain)

        self._hold(by_formula(of_scipy, _cubic_coefficients, x, y, _conditions(bc_type)), x)


def _made_of(c: Any, x: Any, extrapolate: Any, axis: int) -> PPoly:
    """A piecewise polynomial whose interpolation axis comes first in the coefficients."""
    return PPoly(np.moveaxis(c, (0, 1), (axis, axis + 1)), x, extrapolate, axis)


def _derived(c: Any, nu: int) -> Any:
    """The coefficients of the derivative of order nu."""
    k = len(c)
    if nu >= k:
        return np.zeros_like(value(c[:1])) * c[:1]
    factors = [math.perm(k - 1 - m, nu) for m in range(k - nu)]
    return c[: k - nu] * np.reshape(np.array(factors, float), (-1, *[1] * (c.ndim - 1)))


def _at_points(c: Any, breakpoints: Any, x: Any, nu: int, extrapolate: Any, axis: int) -> Any:
    """``Σ c_m,i (x - x_i)^m`` of the piece i that x lies in, or its derivative."""
    shape, x = x.shape, np.ravel(x)
    first, last = breakpoints[0], breakpoints[-1]
    if extrapolate == "periodic":
        x = first + np.mod(x - first, last - first)
    plain, at = value(breakpoints), value(x)
    if plain[0] > plain[-1]:
        plain, at = -plain, -at
    i = np.clip(np.searchsorted(plain, at, side="right") - 1, 0, len(plain) - 2)
    c = _derived(c, nu)
    h = np.reshape(x - breakpoints[i], (-1, *[1] * (c.ndim - 2)))
    y: Any = 0.0
    for part in c:
        y = y * h + part[i]
    y = _only_within(y, (at >= plain[0]) & (at <= plain[-1]), extrapolate)
    y = np.reshape(y, (*shape, *y.shape[1:]))
    order = [*range(y.ndim)]
    n = len(shape)
    return np.transpose(y, order[n : n + axis] + order[:n] + order[n + axis :])


def _only_within(y: Any, inside: Any, extrapolate: Any) -> Any:
    """``y``, and NaN outside unless it is extrapolated."""
    if extrapolate or np.all(inside):
        return y
    return np.where(np.reshape(inside, (-1, *[1] * (y.ndim - 1))), y, np.nan)


def _conditions(bc_type: Any) -> list[Any]:
    """The conditions at both ends, by name or order and value."""
    names = {"natural": (2, 0.0), "clamped": (1, 0.0)}
    pair = [bc_type] * 2 if isinstance(bc_type, str) else [*bc_type]
    return [names.get(end, end) if isinstance(end, str) else tuple(end) for end in pair]


def _cubic_coefficients(x: Any, y: Any, conditions: list[Any]) -> Any:
    """The Taylor coefficients at the left end of each interval."""
    n = len(x)
    if n == 2:
        slope = (1, (y[1] - y[0]) / (x[1] - x[0]))
        conditions = [slope if isinstance(end, str) else end for end in conditions]
    k = 2 if n == 3 and conditions == ["not-a-knot"] * 2 else 3
    begin, end = (int(k == 3 and end == "not-a-knot") for end in conditions)
    inner = x[1 + begin : n - 1 - end] if k == 3 else x[:0]
    t = np.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))
    left, right = conditions if conditions[0] == "periodic" else (_given(end) for end in conditions)
    c = spline_coefficients(x, y, t, k, left, right)
    i = interval_of(t, k, x[:-1])
    places = [i - k + j for j in range(k + 1)]
    powers = [combined(c, [(places, basis(t, k, x[:-1], i, nu))]) / math.factorial(nu) for nu in range(4)]
    return np.stack(powers[::-1])


def _given(end: Any) -> list[Any]:
    return [] if isinstance(end, str) else [end]
