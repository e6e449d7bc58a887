"""Bessel functions and their kin, by the argument (DLMF 10.6, 10.29): also Airy, Kelvin, Struve.

With respect to the order there is no expression in functions that SciPy has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps, some
from lindiff.core.registry import composed, rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import depends_on_variables
from lindiff.rules.special._common import (
    INTEGER,
    NO_FORMULA,
    elementwise,
    horner,
    is_complex,
    log_slope,
    outputs,
    refuse_argument,
)

__all__: list[str] = []

# -- cylinder functions ----------------------------------------------------------------------------------


def cylinder(
    f: Callable[..., Any], sign: int, factor: float = 0.5, rate: complex = 0, order: str = NO_FORMULA
) -> None:
    """``f' = factor (f_{v-1} + sign f_{v+1}) + rate f``; the rate is that of an exponential that scales f."""

    def partial(y: Any, v: Any, z: Any) -> Any:
        below, above = f(np.subtract(v, 1), z), f(np.add(v, 1), z)
        slope = factor * (below + above if sign > 0 else below - above)
        return slope + rate * y if rate else slope

    elementwise(f, order, partial)


cylinder(special.jv, -1)
cylinder(special.yv, -1)
cylinder(special.yn, -1, order=INTEGER)
cylinder(special.hankel1, -1)
cylinder(special.hankel2, -1)
cylinder(special.hankel1e, -1, rate=-1j)
cylinder(special.hankel2e, -1, rate=1j)
cylinder(special.iv, +1)
cylinder(special.kv, +1, -0.5)
cylinder(special.kn, +1, -0.5, order=INTEGER)
cylinder(special.kve, +1, -0.5, rate=1)


def scaled_cylinder(f: Callable[..., Any], sign: int, part: Callable[[Any], Any]) -> None:
    """``f(v, z) = F(v, z) exp(-s)`` for ``s = |part z|``, a function of s and z, in z holomorphic."""

    @rule
    def of_parts(v: Any, z: Any, s: Any, **options: Any) -> Any:
        nested = isinstance(z, Variable) or isinstance(s, Variable)
        y = of_parts(v, z, s, **options) if nested else f(v, z, **options)

        def by_argument() -> Any:
            lower, upper = np.subtract(v, 1, dtype=float), np.add(v, 1, dtype=float)
            below, above = of_parts(lower, z, s), of_parts(upper, z, s)
            return 0.5 * (below + sign * above)

        return y, Elementwise(None, by_argument, lambda: -of_parts(v, z, s))

    @composed(f)
    def call(v: Any, z: Any, **options: Any) -> Any:
        if depends_on_variables(v):
            refuse_argument(f, 0, NO_FORMULA)
        v = value(v)
        constant_scale = part is np.imag and not is_complex(z)
        return of_parts(v, z, 0.0 if constant_scale else np.abs(part(z)), **options)


scaled_cylinder(special.jve, -1, np.imag)
scaled_cylinder(special.yve, -1, np.imag)
scaled_cylinder(special.ive, +1, np.real)

FAR = 30.0  # from here on the series of Hankel, of 14 terms, is exact
TERMS = 14


def hankel(order: int) -> list[float]:
    """The coefficients of ``Σ aₖ(v) / xᵏ`` (DLMF 10.17.1)."""
    a = [1.0]
    for k in range(1, TERMS):
        a.append(a[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return a


HANKEL_K = [log_slope(hankel(v)) for v in (0, 1)]
HANKEL_I = [log_slope([(-1) ** k * a for k, a in enumerate(hankel(v))]) for v in (0, 1)]


def decaying(near: Callable[..., Any], series: list[float]) -> Callable[..., Any]:
    """The slope of ``S(1/x) / √x``, given the series of ``q S'(q) / S(q)``: far out ``-y (1/2 + …) / x``,
    where differences of functions of about the same size, which are fine near 0, cancel (DLMF 10.40.1-2)."""

    def slope(y: Any, x: Any) -> Any:
        far = np.greater(np.abs(x), FAR)
        if not some(far):
            return near(y, x)
        q = 1 / np.where(far, np.abs(x), FAR)
        return np.where(far, -y * np.sign(x) * q * (0.5 + horner(series, q)), near(y, x))

    return slope


elementwise(special.j0, lambda y, x: -special.j1(x))
elementwise(special.j1, lambda y, x: 0.5 * (special.j0(x) - special.jv(2, x)))
elementwise(special.y0, lambda y, x: -special.y1(x))
elementwise(special.y1, lambda y, x: 0.5 * (special.y0(x) - special.yv(2, x)))
elementwise(special.i0, lambda y, x: special.i1(x))
elementwise(special.i1, lambda y, x: 0.5 * (special.i0(x) + special.iv(2, x)))
elementwise(special.i0e, decaying(lambda y, x: special.i1e(x) - np.sign(x) * y, HANKEL_I[0]))
elementwise(
    special.i1e,
    decaying(
        lambda y, x: 0.5 * (special.i0e(x) + special.ive(2, x)) - np.sign(x) * y,
        HANKEL_I[1],
    ),
)
elementwise(special.k0, lambda y, x: -special.k1(x))
elementwise(special.k1, lambda y, x: -special.k0(x) - y / x)
elementwise(special.k0e, decaying(lambda y, x: y - special.k1e(x), HANKEL_K[0]))
elementwise(special.k1e, decaying(lambda y, x: y - special.k0e(x) - y / x, HANKEL_K[1]))

# ∫ t^λ J_v(2 a t) dt from 0 to 1
elementwise(
    special.besselpoly,
    lambda y, a, lmbda, v: (
        special.besselpoly(a, np.add(lmbda, 1), np.subtract(v, 1))
        - special.besselpoly(a, np.add(lmbda, 1), np.add(v, 1))
    ),
    NO_FORMULA,
    NO_FORMULA,
)

# -- Airy functions: w'' = z w ---------------------------------------------------------------------------

outputs(special.airy, lambda y, z: (y[1], z * y[0], y[3], z * y[2]))


def airy_series() -> list[list[float]]:
    """Of ``q S'(q) / S(q)`` for Ai, Ai', Bi, Bi' (DLMF 9.7.5-8)."""
    u = [1.0]
    for k in range(1, TERMS):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / ((2 * k - 1) * 216 * k))
    v = [(6 * k + 1) / (1 - 6 * k) * u[k] for k in range(TERMS)]
    alternating = [[(-1) ** k * c for k, c in enumerate(series)] for series in (u, v)]
    return [log_slope(series) for series in (*alternating, u, v)]


AIRY = airy_series()


def _scaled_airy_slopes(y: Any, x: Any) -> tuple[Any, ...]:
    """Of Ai exp(2/3 x^{3/2}), and Bi exp(-2/3 x^{3/2}), which is not scaled for x < 0."""
    root = np.sqrt(x)
    of_bi = np.where(np.less(x, 0), 0, root)
    Ai, Ai_slope, Bi, Bi_slope = y
    near = Ai_slope + root * Ai, x * Ai + root * Ai_slope, Bi_slope - of_bi * Bi, x * Bi - of_bi * Bi_slope
    far = np.greater(x, FAR)
    if not perhaps(far):
        return near
    t = np.where(far, x, FAR)
    q = 1.5 / (t * np.sqrt(t))  # of exp(-1/q) and exp(1/q)
    return tuple(
        np.where(far, w / t * (power - 1.5 * horner(series, q)), slope)
        for w, slope, power, series in zip(y, near, (-0.25, 0.25, -0.25, 0.25), AIRY, strict=True)
    )


outputs(
    special.airye,
    _scaled_airy_slopes,
    real="airy and np.exp of the scale, which is not holomorphic",
)

# -- Kelvin functions: ber x + i bei x = J₀(x e^{3πi/4}), x² w'' + x w' = i x² w --------------------------


def divided(y: Any, x: Any) -> Any:
    """``y / x``, where both are 0 the limit 0 (of ber')."""
    return y / np.where(np.equal(x, 0), 1, x)


def bei_slope_divided(y: Any, x: Any) -> Any:
    """``bei'(x) / x``, 1/2 at 0."""
    return np.where(np.equal(x, 0), 0.5, divided(y, x))


elementwise(special.ber, lambda y, x: special.berp(x))
elementwise(special.bei, lambda y, x: special.beip(x))
elementwise(special.ker, lambda y, x: special.kerp(x))
elementwise(special.kei, lambda y, x: special.keip(x))
elementwise(special.berp, lambda y, x: -special.bei(x) - divided(y, x))
elementwise(special.beip, lambda y, x: special.ber(x) - bei_slope_divided(y, x))
elementwise(special.kerp, lambda y, x: -special.kei(x) - y / x)
elementwise(special.keip, lambda y, x: special.ker(x) - y / x)
outputs(
    special.kelvin,
    lambda y, x: (
        y[2],
        y[3],
        1j * y[0] - divided(np.real(y[2]), x) - 1j * bei_slope_divided(np.imag(y[2]), x),
        1j * y[1] - y[3] / x,
    ),
)

# -- Struve functions (DLMF 11.4.25) ---------------------------------------------------------------------


def struve(f: Callable[..., Any], sign: int) -> None:
    """``f' = (f_{v-1} + sign f_{v+1}) / 2 + p/2`` with ``p = (x/2)ᵛ / (√π Γ(v + 3/2))``; near 0, where later
    derivatives of that cancel, ``f' = v/x f + sign f_{v+1} + p``."""

    def partial(y: Any, v: Any, x: Any) -> Any:
        below, above = f(np.subtract(v, 1), x), f(np.add(v, 1), x)
        power = np.power(0.5 * x, v) * special.rgamma(np.add(v, 1.5)) / math.sqrt(math.pi)
        slope = 0.5 * (below + sign * above + power)
        near = np.less(np.abs(x), 2) & np.not_equal(x, 0)
        return np.where(near, v / np.where(near, x, 1) * y + sign * above + power, slope)

    elementwise(f, NO_FORMULA, partial)


struve(special.struve, -1)
struve(special.modstruve, +1)
