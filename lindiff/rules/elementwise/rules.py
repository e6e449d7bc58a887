"""Elementwise functions: one line each, the value and its partial derivatives.

A partial derivative is a function of the value and the arguments.  Where a formula has a hole (0/0, 0 times
infinity), what is written instead is said beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core.umath import clip as clip_ufunc  # type: ignore[attr-defined]  # what np.clip calls

from lindiff.core.arrays import foreign
from lindiff.core.differential import Differential, Elementwise, Linear
from lindiff.core.elementwise import elementwise, elementwise_rule
from lindiff.core.formula import some, unit_step
from lindiff.core.registry import add_entry, composed, rule
from lindiff.core.variable import Variable, in_order_of, value

__all__: list[str] = []


def self_adjoint(ufunc: Callable[..., Any]) -> None:
    """A linear function that is its own pushforward and pullback."""

    def linear_rule(x: Any, **kwargs: Any) -> Any:
        return ufunc(x, **kwargs), Linear((ufunc,), (ufunc,))

    linear_rule.__qualname__ = ufunc.__name__
    rule(ufunc)(linear_rule)


# -- arithmetic --------------------------------------------------------------------------------------------

elementwise(np.add, lambda _, x, y: 1.0, lambda _, x, y: 1.0)
elementwise(np.subtract, lambda _, x, y: 1.0, lambda _, x, y: -1.0)
elementwise(np.multiply, lambda _, x, y: y, lambda _, x, y: x)
elementwise(np.divide, lambda _, x, y: 1.0 / y, lambda z, x, y: -z / y)
elementwise(np.negative, lambda _, x: -1.0)
elementwise(np.positive, lambda _, x: 1.0)
self_adjoint(np.conjugate)
elementwise(np.square, lambda _, x: 2 * x)
elementwise(np.reciprocal, lambda y: -y * y)
elementwise(np.remainder, lambda _, x, y: 1.0, lambda _, x, y: -np.floor_divide(x, y))
elementwise(np.fmod, lambda _, x, y: 1.0, lambda _, x, y: -np.trunc(np.divide(x, y)))

# -- exponentials and logarithms -------------------------------------------------------------------------

elementwise(np.exp, lambda y: y)
elementwise(np.expm1, lambda _, x: np.exp(x))  # y + 1 would cancel
elementwise(np.exp2, lambda y: math.log(2) * y)
# x + 0.0 is 0.0 for -0.0, where the slope is that from the right
elementwise(np.log, lambda _, x: 1 / (x + 0.0))
elementwise(np.log1p, lambda _, x: 1 / (1 + x))
elementwise(np.log2, lambda _, x: 1 / (math.log(2) * x + 0.0))
elementwise(np.log10, lambda _, x: 1 / (math.log(10) * x + 0.0))


def excess(x: Any, y: Any) -> Any:
    """``y - x``, zero where both are the same infinity."""
    return np.where(np.isinf(x) & np.equal(x, y), 0.0, np.subtract(y, x))


elementwise(
    np.logaddexp,
    lambda _, x, y: 1 / (1 + np.exp(excess(x, y))),
    lambda _, x, y: 1 / (1 + np.exp(excess(y, x))),
)
elementwise(
    np.logaddexp2,
    lambda _, x, y: 1 / (1 + np.exp2(excess(x, y))),
    lambda _, x, y: 1 / (1 + np.exp2(excess(y, x))),
)

# -- powers and roots ------------------------------------------------------------------------------------

elementwise(np.sqrt, lambda y: 0.5 / (y + 0.0))  # from the right at -0.0 too
elementwise(np.cbrt, lambda y: 1 / (3 * y * y))


def power_by_base(_: Any, x: Any, y: Any) -> Any:
    """``y x^(y-1)``; zero where y = 0, also where ``1 / x`` is not finite."""
    if isinstance(y, (int, float)):
        return y * x ** (y - 1) if y != 0 else 0.0
    hole = np.equal(y, 0) & np.logical_not(np.isfinite(np.divide(1, x)))
    return y * x ** np.where(hole, 1, np.subtract(y, 1))


def power_by_exponent(z: Any, x: Any, y: Any) -> Any:
    """``x^y log x``; zero where x = 0, NaN for real x < 0."""
    is_zero = np.equal(x, 0)
    return np.where(is_zero, 0, z) * np.log(np.where(is_zero, 1, x))


elementwise(np.power, power_by_base, power_by_exponent)
elementwise(np.float_power, power_by_base, power_by_exponent)


def nonzero(x: Any) -> Any:
    """``x`` with 1 for 0, to divide by where 0/0 is to be 0."""
    zero = np.equal(x, 0)
    return np.where(zero, 1, x) if some(zero) else x


def cosine(z: Any, x: Any) -> Any:
    """``x / z`` for the hypotenuse ``z``; 0 at the origin, ±1 for an infinite ``x``."""
    return np.where(np.isinf(x), np.sign(x), x / nonzero(z))


elementwise(np.hypot, lambda z, x, y: cosine(z, x), lambda z, x, y: cosine(z, y))

# -- trigonometric and hyperbolic ------------------------------------------------------------------------

elementwise(np.sin, lambda _, x: np.cos(x))
elementwise(np.cos, lambda _, x: -np.sin(x))
elementwise(np.tan, lambda y: 1 + y * y)
elementwise(np.arcsin, lambda _, x: 1 / leg(x))
elementwise(np.arccos, lambda _, x: -1 / leg(x))
elementwise(np.arctan, lambda _, x: 1 / (1 + x * x))
elementwise(np.sinh, lambda _, x: np.cosh(x))
elementwise(np.cosh, lambda _, x: np.sinh(x))
elementwise(np.tanh, lambda y: 1 - y * y)


def stretch(x: Any) -> Any:
    """``sqrt(1 + x²)``, of real numbers of any scale."""
    return np.sqrt(1 + x * x) if x.dtype.kind == "c" else np.hypot(1, x)


elementwise(np.arcsinh, lambda _, x: 1 / stretch(x))
elementwise(np.arccosh, lambda _, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)))  # on the principal branch
elementwise(np.arctanh, lambda _, x: 1 / ((1 - x) * (1 + x)))


def leg(x: Any) -> Any:
    """``sqrt(1 - x²)``; on the cuts of complex arcsin the sign of the zero imaginary part says which side."""
    if x.dtype.kind == "c":
        return np.sqrt(-(x - 1)) * np.sqrt(x - (-1))
    return np.sqrt((1 - x) * (1 + x))


def over_squared_radius(x: Any, y: Any) -> Any:
    """``x / (x² + y²)``; 0 at the origin and at infinity."""
    square = np.square(x) + np.square(y)
    limits = np.finfo(square.dtype)
    # so far inside of the range that the square of the square, in second derivatives, is in it
    ordinary = np.greater_equal(square, float(limits.tiny) ** 0.5) & np.less_equal(
        square, float(limits.max) ** 0.5
    )
    if not some(~ordinary):
        return x / square
    r = np.hypot(x, y)  # does not overflow
    return np.where(np.isinf(r), 0, x / nonzero(r) / nonzero(r))


elementwise(
    np.arctan2,
    lambda _, y, x: over_squared_radius(x, y),
    lambda _, y, x: -over_squared_radius(y, x),
)
self_adjoint(np.deg2rad)
self_adjoint(np.radians)
self_adjoint(np.rad2deg)
self_adjoint(np.degrees)


def sinc_series(x: Any, k: int) -> Any:
    """The k-th derivative of sinc at small x: Σₘ π^(k+m) cos((k+m) π/2) xᵐ / (m! (k+m+1))."""
    total, square = 0.0, x * x
    for m in range(22 + k % 2, -1, -2):  # the cosine vanishes for odd k + m
        sign = (-1) ** ((k + m) // 2)
        total = total * square + sign * math.pi ** (k + m) / (math.factorial(m) * (k + m + 1))
    return total * x if k % 2 else total


def sinc_derivative_of_array(x: Any, k: int, below: Any = None) -> Any:
    """The k-th derivative f⁽ᵏ⁾ of sinc, from the one ``below`` it.

    From k derivatives of ``x sinc(x) = sin(π x) / π``: x f⁽ᵏ⁾ + k f⁽ᵏ⁻¹⁾ = π^(k-1) sin(π x + k π/2), and from
    the power series where that cancels.
    """
    if k == 0:
        return np.sinc(x)
    small = np.abs(x) < 0.5
    right = math.pi ** (k - 1) * np.sin(math.pi * x + k * math.pi / 2)
    if below is None:
        below = sinc_derivative_of_array(x, k - 1)
    if not some(small):
        return (right - k * below) / x
    y = (right - k * below) / nonzero(x)
    return np.where(small, sinc_series(np.where(small, x, 0), k), y)


@rule
def sinc_derivative(x: Any, k: int) -> Any:
    of_outer_trace = isinstance(x, Variable)
    y = sinc_derivative(x, k) if of_outer_trace else sinc_derivative_of_array(x, k)
    return y, Elementwise(lambda: sinc_derivative(x, k + 1))


def sinc_slope(y: Any, x: Any) -> Any:
    return sinc_derivative(x, 1) if isinstance(x, Variable) else sinc_derivative_of_array(x, 1, y)


elementwise(np.sinc, lambda y, x: sinc_slope(y, x))


def bessel_i_by_recurrence(x: Any, n: int) -> Any:
    """Iₙ for libraries that have I₀ and I₁: Iₙ = Iₙ₋₂ - 2 (n - 1) Iₙ₋₁ / x, which cancels at small x; there
    the power series Σₘ (x/2)^(2m+n) / (m! (m+n)!) (Abramowitz and Stegun 9.6.26, 9.6.10)."""
    from scipy import special

    if abs(n) < 2:
        return special.i1(x) if n else special.i0(x)
    n = abs(n)
    small = np.abs(x) < 2 * n
    half = np.where(small, x, 0) / 2
    term = half**n / math.factorial(n)
    series = term
    for m in range(1, 10 + 6 * n):
        term = term * (half * half / (m * (m + n)))
        series = series + term
    below, before = bessel_i_by_recurrence(x, n - 1), bessel_i_by_recurrence(x, n - 2)
    return np.where(small, series, before - 2 * (n - 1) * below / np.where(small, 1, x))


@rule
def bessel_i(x: Any, n: int) -> Any:
    """The modified Bessel function Iₙ: Iₙ' = (Iₙ₋₁ + Iₙ₊₁) / 2."""
    if isinstance(x, Variable):  # of an outer trace
        y = bessel_i(x, n)
    else:
        from scipy import special

        y = special.iv(n, x) if foreign(x) is None else bessel_i_by_recurrence(x, n)
    return y, Elementwise(lambda: (bessel_i(x, n - 1) + bessel_i(x, n + 1)) / 2)


elementwise(np.i0, lambda _, x: bessel_i(x, 1))

# -- kinks: absolute value, extremes, clipping -----------------------------------------------------------


def by_absolute(y: Any, x: Any) -> Any:
    """``sgn x``, for complex x ``x̄ / |x|``; 0 at 0."""
    return np.conjugate(x) * (1 / nonzero(y)) if x.dtype.kind == "c" else np.sign(x)


elementwise(np.absolute, by_absolute)
elementwise(np.fabs, by_absolute)
elementwise(np.copysign, lambda _, x, y: np.sign(x) * np.copysign(1.0, y), None)
elementwise(np.heaviside, None, lambda _, x, y: np.equal(x, 0))
elementwise(np.nextafter, lambda _, x, y: 1.0, None)


def larger(_: Any, x: Any, y: Any) -> Any:
    """A NaN, which is the result whatever the other argument is, has derivative 1 by both."""
    return unit_step(x, y)


def smaller(_: Any, x: Any, y: Any) -> Any:
    return unit_step(y, x)


elementwise(np.maximum, larger, smaller)
elementwise(np.minimum, smaller, larger)


def share(wins: Any, ties: Any) -> Any:
    """1 where an argument is the result, 1/2 where both are."""
    return np.where(ties, 0.5, wins) if some(ties) else wins


elementwise(
    np.fmax,
    lambda _, x, y: share(np.greater(x, y) | np.isnan(y), np.equal(x, y)),
    lambda _, x, y: share(np.greater(y, x) | np.isnan(x), np.equal(x, y)),
)
elementwise(
    np.fmin,
    lambda _, x, y: share(np.less(x, y) | np.isnan(y), np.equal(x, y)),
    lambda _, x, y: share(np.less(y, x) | np.isnan(x), np.equal(x, y)),
)


def below_upper(x: Any, lower: Any, upper: Any) -> Any:
    """The part of ``max(x, lower)`` that the upper bound leaves."""
    return smaller(None, np.maximum(x, lower), upper)


def by_clipped(_: Any, x: Any, lower: Any, upper: Any) -> Any:
    """1 between the bounds; on them, what they leave.  Where `larger` is not 0, ``max(x, lower)`` is x."""
    return smaller(None, x, upper) * larger(None, x, lower)


def clip_of_numbers(x: Any, lower: Any, upper: Any, **kwargs: Any) -> Any:
    return np.clip(x, lower, upper, **kwargs)


clip_of_numbers.__name__ = "clip"  # in messages

clip_between = elementwise_rule(
    clip_of_numbers,
    by_clipped,
    lambda _, x, lower, upper: below_upper(x, lower, upper) * larger(None, lower, x),
    lambda _, x, lower, upper: 1 - below_upper(x, lower, upper),
    value=clip_ufunc,
)


@composed(np.clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    where: Any = True,
    **kwargs: Any,
) -> Any:
    lower, upper = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if where is not True:  # elsewhere NumPy leaves memory uninitialized
        return np.where(where, clip(a, lower, upper, **kwargs), 0)
    if lower is None and upper is None:
        return np.positive(a, **kwargs)
    if upper is None:
        return np.maximum(a, lower, **kwargs)
    if lower is None:
        return np.minimum(a, upper, **kwargs)
    return clip_between(a, lower, upper, **kwargs)


add_entry(np.clip, clip_between.entry)


@rule
def finite_numbers(x: Any, fills: dict[str, Any]) -> Any:
    """What is replaced has the derivative 0; of complex numbers the parts are replaced one by one."""
    y = np.nan_to_num(x, **fills)
    if x.dtype.kind != "c":
        return y, Elementwise(lambda: np.isfinite(x))
    real, imaginary = np.isfinite(np.real(value(x))), np.isfinite(np.imag(value(x)))

    def left(x_dot: Any) -> Any:
        return np.where(real, np.real(x_dot), 0) + 1j * np.where(imaginary, np.imag(x_dot), 0)

    return y, Differential((left,), (left,))


@composed(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if any(isinstance(fill, Variable) for fill in (nan, posinf, neginf)):
        raise TypeError(
            "np.nan_to_num: what replaces NaN and infinity cannot be a Variable; write "
            "np.where(np.isnan(x), v, x)"
        )
    y = finite_numbers(x, {"nan": nan, "posinf": posinf, "neginf": neginf})
    if copy:
        return y
    x[...] = y
    return x if x.ndim else x[()]


# -- several results -------------------------------------------------------------------------------------


@composed(np.divmod)
def divmod_(x: Any, y: Any, **kwargs: Any) -> Any:
    return np.floor_divide(x, y, **kwargs), np.remainder(x, y, **kwargs)


@rule(np.modf)
def modf(x: Any, **kwargs: Any) -> Any:
    """The fractional part goes along with ``x``, the integral part is piecewise constant."""
    return np.modf(x, **kwargs), Linear((lambda x_dot: (x_dot, None),), (lambda y_bars: y_bars[0],))


@composed(np.frexp)
def frexp(x: Any, **kwargs: Any) -> Any:
    exponent = np.frexp(value(x), **kwargs)[1]
    return in_order_of(np.ldexp(x, -exponent), exponent), exponent


elementwise(np.ldexp, lambda _, x, i: np.ldexp(1.0, i), None)
