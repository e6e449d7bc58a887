"""Integrals of functions with many values, over boxes: ``cubature``."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import IntegrationWarning

from lindiff._docstrings import documented_like
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.rules._common import conj, depends_on_variables
from lindiff.scipy.integrate._given import of_variables, refuse_hidden
from lindiff.scipy.integrate._jumps import moved_jump
from lindiff.scipy.integrate._leibniz import in_unit
from lindiff.transforms.forward import jvp
from lindiff.transforms.jacobian import jacobian

__all__ = ["cubature"]

# f(points, params): the values at each point, one a row.
Integrand = Callable[[Any, list[Any]], Any]


@documented_like(scipy.integrate.cubature)
def cubature(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    rule: str = "gk21",
    rtol: float = 1e-8,
    atol: float = 0,
    max_subdivisions: int = 10000,
    args: Any = (),
    workers: Any = 1,
    points: Any = None,
) -> Any:
    """Differentiable in finite limits, and in the arrays in `args`, or that `f` closes over.

    ``estimate`` of the result has derivatives.

    Raises
    ------
    TypeError
        If `f` uses Variables that it is neither given nor closes over; for `points` between limits that move.

    Notes
    -----
    By the rule of Leibniz, over the same box, with the same rule and tolerances; finite limits that move are
    put into the integrand, by ``x = a + (b - a) u``.  In reverse mode all numbers that a derivative is by are
    integrated together: of p numbers, at each point the values' derivatives by them, as
    :func:`lindiff.jacobian` has them.  Where a derivative does not come to the tolerance there is an
    ``IntegrationWarning``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import cubature
    >>> def mass(width):
    ...     return cubature(lambda x: np.exp(-np.sum((x / width) ** 2, -1)), [0.0, 0.0], [1.0, 1.0]).estimate
    >>> print(ld.grad(mass)(1.0).round(6))
    0.56601
    """
    given, variables = of_variables(f, args)
    options = {"rule": rule, "rtol": rtol, "atol": atol, "max_subdivisions": max_subdivisions}
    options |= {"workers": workers, "points": points}
    moves = depends_on_variables((a, b))
    if not moves and not variables:
        return scipy.integrate.cubature(f, a, b, args=args, **options)
    if moves and points is not None:
        raise TypeError("cubature: points between limits that move have no derivative; leave them out")
    box = _Box(a, b)
    params, function = ([*variables, box.a, box.b], box.within(given)) if moves else (variables, given)
    lower, upper = box.still() if moves else (a, b)
    problem = _Problem(function, lower, upper, options)
    estimate = _integral(params, problem)
    found = problem.found
    found.estimate = estimate
    return found


# So many regions, or parts of fewer ones, are looked at for jumps.
REGIONS = 8


def _parts(count: int) -> list[tuple[float, float]]:
    """Those of the interval from 0 to 1."""
    return list(itertools.pairwise(np.linspace(0.0, 1.0, count + 1).tolist()))


def _lines(low: Any, high: Any) -> list[tuple[Any, Any]]:
    """Where lines through a box begin, and their ways: along its axes, and two of its diagonals."""
    middle, whole = 0.5 * (low + high), high - low
    axes = [(np.where(axis, low, middle), whole * axis) for axis in np.eye(len(low))]
    other = np.where(np.arange(len(low)) % 2, high, low)
    diagonals = [(low, whole), (other, low + high - 2 * other)]
    return axes + diagonals if len(low) > 1 else axes


class _Box:
    """Limits that move, and the function between them in numbers u whose limits stand still."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = (np.stack(x) if isinstance(x, (list, tuple)) else x for x in (a, b))
        self._below, self._above = (np.isfinite(value(x)) for x in (self.a, self.b))

    def still(self) -> tuple[Any, Any]:
        """From 0 to 1 between finite limits, from 0 on, up to 0, or over everything."""
        a, b = (np.asarray(value(x), np.float64) for x in (self.a, self.b))
        return np.where(self._below, 0.0, a), np.where(self._above, np.where(self._below, 1.0, 0.0), b)

    def within(self, f: Integrand) -> Integrand:
        def moved(u: Any, params: list[Any]) -> Any:
            *rest, a, b = params
            both = self._below & self._above
            start = np.where(self._below, a, np.where(self._above, b, 0.0))
            length = np.where(both, np.where(both, b, 1.0) - np.where(both, a, 0.0), 1.0)
            y = f(start + length * u, rest)
            return y * np.prod(length)

        return moved


class _Problem:
    """An integrand of points and parameters, and how it is integrated."""

    def __init__(self, function: Integrand, a: Any, b: Any, options: dict[str, Any], of: str = "") -> None:
        self.function, self._a, self._b, self._options, self._of = function, a, b, options, of
        self.found: Any = None

    def of_derivative(self, function: Integrand) -> _Problem:
        return _Problem(function, self._a, self._b, self._options, "the derivative of ")

    def warn_of_moved_jumps(self, params: list[Any]) -> None:
        """Warn of a jump that parameters move, along lines through the regions with the largest errors."""
        limits = np.concatenate([np.ravel(value(self._a)), np.ravel(value(self._b))])
        if not np.all(np.isfinite(limits)):
            return
        plain = [value(p) for p in params]
        regions = sorted(self.found.regions, key=lambda region: -np.max(region.error))[:REGIONS]
        for region in regions:
            for start, way in _lines(np.asarray(region.a), np.asarray(region.b)):

                def along(s: float, of: list[Any], start: Any = start, way: Any = way) -> Any:
                    return value(self.function((start + s * way)[None], [p[()] for p in of]))[0]

                s = moved_jump(along, _parts(REGIONS // len(regions)), plain)
                if s is not None:
                    warnings.warn(
                        f"cubature: {self._of}the integrand jumps at x = {start + s * way}, which the "
                        f"parameters move: the derivative misses that part. Split the integral there, with "
                        f"limits computed from the parameters: limits are differentiated, too",
                        IntegrationWarning,
                        stacklevel=2,
                    )
                    return

    def run(self, params: list[Any]) -> Any:
        """SciPy's estimate for plain parameters."""
        plain = [p[()] for p in params]

        def of_points(x: Any) -> Any:
            y = self.function(x, plain)
            refuse_hidden(y, "the integrand")
            return y

        self.found = scipy.integrate.cubature(of_points, self._a, self._b, **self._options)
        if self._of and self.found.status != "converged":
            warnings.warn(
                f"cubature: {self._of}the integral has not come to its tolerance: the estimate of its error "
                f"is {np.max(self.found.error):.2g}",
                IntegrationWarning,
                stacklevel=2,
            )
        return self.found.estimate


@rule
def _integral(params: list[Any], problem: _Problem) -> Any:
    """``∫ f(x, p) dx`` over a box that stands still: dI = ∫ f_p dp dx."""
    nested = depends_on_variables(params)
    y = _integral(params, problem) if nested else np.asarray(problem.run(params))
    f, n = problem.function, len(params)

    def pushforward(params_dot: list[Any]) -> Any:
        if not nested:
            problem.warn_of_moved_jumps(params)

        def tangent(x: Any, both: list[Any]) -> Any:
            return jvp(lambda *p: f(x, list(p)), tuple(both[:n]), tuple(both[n:]))[1]

        return in_unit(lambda dots: _integral([*params, *dots], problem.of_derivative(tangent)), params_dot)

    def pullback(y_bar: Any) -> list[Any]:
        if not nested:
            problem.warn_of_moved_jumps(params)

        def cotangents(x: Any, given: list[Any]) -> Any:
            *p, y_bar = given
            blocks = jacobian(lambda *p: f(x, list(p)), tuple(range(n)))(*p)
            return np.concatenate(
                [_over_values(block, y_bar, q) for block, q in zip(blocks, p, strict=True)], 1
            )

        total = in_unit(lambda bars: _integral([*params, *bars], problem.of_derivative(cotangents)), [y_bar])
        ends = np.cumsum([int(np.size(value(p))) for p in params])[:-1]
        bars = np.split(total, ends)
        return [np.reshape(bar, np.shape(p)) for bar, p in zip(bars, params, strict=True)]

    return y, Differential(pushforward, pullback)


def _over_values(block: Any, y_bar: Any, p: Any) -> Any:
    """``Σ_v conj(∂f_v/∂p) ȳ_v`` at each point, (points, values..., p...) → (points, size of p)."""
    points, values, size = block.shape[0], int(np.size(value(y_bar))), int(np.size(value(p)))
    bar = np.matmul(np.reshape(y_bar, (1, values)), conj(np.reshape(block, (points, values, size))))
    bar = np.reshape(bar, (points, size))
    return bar if value(p).dtype.kind == "c" else np.real(bar)
