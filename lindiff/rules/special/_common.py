"""What the rules of special functions have in common; no rule is defined here."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from lindiff.core import elementwise as rules_of_elementwise
from lindiff.core.arrays import placed
from lindiff.core.differential import Differential, Elementwise
from lindiff.core.elementwise import elementwise_rule
from lindiff.core.registry import composed, full_name, rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array, conj, depends_on_variables

__all__ = [
    "INTEGER",
    "NO_FORMULA",
    "by_quotient",
    "derivatives_of",
    "elementwise",
    "horner",
    "is_complex",
    "log_slope",
    "outputs",
    "refuse_argument",
    "times_partial",
    "with_partials",
]

Partial = Callable[..., Any]

# Why there is no derivative with respect to an argument.
NO_FORMULA = "it has no expression in functions that SciPy has"
INTEGER = "it is an integer"


def elementwise(ufunc: Callable[..., Any], *partials: Partial | str | None) -> None:
    """Give an elementwise function its partial derivatives.

    Each is a function of the value and the arguments, or of the value alone; None where it is zero; a string
    where there is none, which says why: a Variable in that place is refused at the call.
    """
    reasons = {i: partial for i, partial in enumerate(partials) if isinstance(partial, str)}
    known = [None if isinstance(partial, str) else partial for partial in partials]
    if reasons:
        _refusing(ufunc, elementwise_rule(ufunc, *known), reasons)
    else:
        rules_of_elementwise.elementwise(ufunc, *known)


def outputs(
    ufunc: Callable[..., Any], *jacobian: Callable[..., tuple[Any, ...]] | str, real: str = ""
) -> None:
    """Give an elementwise function with several results its partial derivatives.

    For each argument a function of the tuple of results and the arguments, to the tuple of the derivatives of
    the results; or a string that says why there is none.  `real` says what to write instead for complex
    arguments, of which the function is not holomorphic.
    """
    reasons = {i: column for i, column in enumerate(jacobian) if isinstance(column, str)}
    known = [None if isinstance(column, str) else column for column in jacobian]

    def by_columns(*args: Any, **kwargs: Any) -> tuple[Any, Differential]:
        ys = ufunc(*args, **kwargs)
        args = tuple(placed(np.asarray(x), *args) if isinstance(x, (list, tuple)) else x for x in args)
        columns = [None if column is None else _once(column, ys, args) for column in known]

        def pushforward_by(column: Callable[[], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
            return lambda x_dot: _Sum(times_partial(x_dot, partial) for partial in column())

        def pullback_by(column: Callable[[], tuple[Any, ...]]) -> Callable[[Any], Any]:
            def pullback(y_bars: Any) -> Any:
                pairs = zip(y_bars, column(), strict=True)
                return sum(
                    times_partial(y_bar, conj(partial)) for y_bar, partial in pairs if y_bar is not None
                )

            return pullback

        return ys, Differential(
            tuple(None if column is None else pushforward_by(column) for column in columns),
            tuple(None if column is None else pullback_by(column) for column in columns),
            symbolic_zeros=True,
        )

    by_columns.__qualname__ = ufunc.__name__
    if reasons or real:
        _refusing(ufunc, rule(by_columns), reasons, real)
    else:
        rule(ufunc)(by_columns)


class _Sum(tuple):
    """Tangents of several results, which add up result by result."""

    def __add__(self, other: Any) -> _Sum:
        return _Sum(a + b for a, b in zip(self, other, strict=True))


def _once(
    column: Callable[..., tuple[Any, ...]], ys: Any, args: tuple[Any, ...]
) -> Callable[[], tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []

    def partials() -> tuple[Any, ...]:
        if not found:
            with np.errstate(all="ignore"):
                found.append(column(ys, *args))
        return found[0]

    return partials


def times_partial(g: Any, partial: Any) -> Any:
    """``g * partial`` with 0 · ∞ = 0."""
    with np.errstate(all="ignore"):
        y = np.multiply(g, partial)
        return np.where(np.isnan(y) & (np.equal(g, 0) | np.equal(partial, 0)), 0, y)


def _refusing(
    ufunc: Callable[..., Any], primitive: Callable[..., Any], reasons: dict[int, str], real: str = ""
) -> None:
    """Let `ufunc` on Variables be the primitive, after what it cannot take is refused."""

    @composed(ufunc)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for i, reason in reasons.items():
            if depends_on_variables(args[i]):
                refuse_argument(ufunc, i, reason)
        if real and any(is_complex(x) for x in args):
            raise TypeError(
                f"{full_name(ufunc)} of complex arguments is not holomorphic: write it with {real}"
            )
        return primitive(*args, **kwargs)


def refuse_argument(function: Callable[..., Any], i: int, reason: str) -> NoReturn:
    raise TypeError(
        f"{full_name(function)} has no derivative with respect to argument {i} in lindiff: {reason}. "
        f"Give ld.value(v) there if that derivative does not matter"
    )


def is_complex(x: Any) -> bool:
    return bool(as_array(x).dtype.kind == "c")


def derivatives_of(values: Callable[..., Any], name: str) -> Callable[[Any, int], Any]:
    """All derivatives of a function of one variable, as a primitive ``derivative(x, k)``.

    Parameters
    ----------
    values : callable
        ``values(x, k)``: the k-th derivative, of plain arrays.
    name : str
    """

    def kth(x: Any, k: int) -> Any:
        y = derivative(x, k) if isinstance(x, Variable) else values(x, k)
        return y, Elementwise(lambda: derivative(x, k + 1))

    kth.__qualname__ = kth.__name__ = name
    derivative = rule(kth)
    return derivative


def with_partials(formula: Callable[..., Any], *partials: Callable[..., Any]) -> Callable[..., Any]:
    """An elementwise function with these partial derivatives, where those of its formula would cancel.

    Each is a function of the arguments.  Of plain arguments, and where formulas are read, the formula itself.
    """

    def call(*args: Any) -> Any:
        return primitive(*args) if any(isinstance(x, Variable) for x in args) else formula(*args)

    def by_partials(*args: Any) -> tuple[Any, Differential]:
        return call(*args), Elementwise(*(functools.partial(partial, *args) for partial in partials))

    by_partials.__qualname__ = by_partials.__name__ = getattr(formula, "__name__", "formula")
    primitive = rule(by_partials)
    return call


def log_slope(coefficients: Sequence[float]) -> list[float]:
    """The power series of ``q S'(q) / S(q)``, for the series S with these coefficients, the first one 1."""
    slope: list[float] = []
    for k, c in enumerate(coefficients):
        slope.append(k * c - sum(slope[j] * coefficients[k - j] for j in range(k)))
    return slope


def horner(coefficients: Sequence[float], q: Any) -> Any:
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * q + c
    return total


def by_quotient(
    x: Any, k: int, numerator: Callable[[Any, int], Any], coefficient: Callable[[int], float], radius: float
) -> Any:
    """The k-th derivative of ``f(x) = h(x) / x`` where ``h(0) = 0``.

    From k derivatives of ``x f = h``: ``x f⁽ᵏ⁾ + k f⁽ᵏ⁻¹⁾ = h⁽ᵏ⁾``; where that cancels, within `radius` of 0,
    from the power series of f.

    Parameters
    ----------
    numerator : callable
        ``numerator(x, k)``: the k-th derivative of h.
    coefficient : callable
        ``coefficient(m)`` of xᵐ in f.
    """
    x = as_array(x)
    near = np.abs(x) < radius
    far_x, near_x = np.where(near, 1, x).astype(x.dtype), np.where(near, x, 0)
    with np.errstate(all="ignore"):
        far = numerator(far_x, 0) / far_x
        for j in range(1, k + 1):
            far = (numerator(far_x, j) - j * far) / far_x
    series = np.zeros_like(near_x)
    for m in reversed(range(k, k + 40)):
        series = series * near_x + coefficient(m) * math.perm(m, k)
    return np.where(near, series, far).astype(x.dtype)
