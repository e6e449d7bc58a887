"""Exponential, sine and cosine integrals, and integrals of Bessel functions and their kin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.formula import perhaps
from lindiff.rules.special._common import INTEGER, by_quotient, derivatives_of, elementwise, outputs
from lindiff.rules.special.information import exprel, log1p_over_x

__all__: list[str] = []

elementwise(special.expi, lambda y, x: np.exp(x) / x)
elementwise(special.exp1, lambda y, x: -np.exp(-x) / x)


def expn_slope(y: Any, n: Any, x: Any) -> Any:
    """``-E_{n-1}(x)``, where ``E₋₁(x) = exp(-x) (1 + x) / x²`` (DLMF 8.19.13)."""
    lowest = np.less(n, 1)
    if not perhaps(lowest):
        return -special.expn(np.subtract(n, 1), x)
    lower = special.expn(np.where(lowest, 1, np.subtract(n, 1)), x)
    return -np.where(lowest, np.exp(-x) * (1 + x) / (x * x), lower)


elementwise(special.expn, INTEGER, expn_slope)


def spence_slope(y: Any, z: Any) -> Any:
    """``log(z) / (1 - z)``, where z is far from 1 without rounding of z - 1."""
    near = np.less(np.abs(z - 1), 0.5)
    if not perhaps(~near):
        return -log1p_over_x(z - 1, 0)
    far = np.where(near, 3.0, z).astype(z.dtype)
    return np.where(near, -log1p_over_x(np.where(near, z, 1) - 1, 0), np.log(far) / (1 - far))


elementwise(special.spence, spence_slope)
outputs(special.sici, lambda y, x: (np.sinc(x / math.pi), np.cos(x) / x))
outputs(
    special.shichi,
    lambda y, x: (0.5 * (exprel(x, 0) + exprel(-x, 0)), np.cosh(x) / x),
)


# -- integrals of Bessel functions and their kin ---------------------------------------------------------

outputs(special.itj0y0, lambda y, x: (special.j0(x), special.y0(x)))
outputs(special.iti0k0, lambda y, x: (special.i0(x), special.k0(x)))


def _excess(bessel: Callable[..., Any], derivative: Callable[..., Any], sign: int, name: str) -> Any:
    """``|f(x) - 1| / x`` for f = J₀ or I₀, with its derivatives."""

    def numerator(x: Any, k: int) -> Any:
        return sign * (derivative(0, x, k) if k else bessel(x) - 1)

    def coefficient(m: int) -> float:  # of x^(2j - 1): (-1)ʲ / (4ʲ j!²) in J₀
        j, odd = divmod(m + 1, 2)
        return 0.0 if odd else sign * sign**j / (4**j * math.factorial(j) ** 2)

    return derivatives_of(lambda x, k: by_quotient(x, k, numerator, coefficient, 1.0), name)


j0_excess = _excess(special.j0, special.jvp, -1, "j0_excess")
i0_excess = _excess(special.i0, special.ivp, +1, "i0_excess")
outputs(special.it2j0y0, lambda y, x: (j0_excess(x, 0), -special.y0(x) / x))
outputs(special.it2i0k0, lambda y, x: (i0_excess(x, 0), -special.k0(x) / x))


def _airy_of_both_sides(y: Any, x: Any) -> tuple[Any, ...]:
    Ai, _, Bi, _ = special.airy(x)
    Ai_left, _, Bi_left, _ = special.airy(-x)
    return Ai, Bi, Ai_left, Bi_left


outputs(special.itairy, _airy_of_both_sides)
elementwise(special.itstruve0, lambda y, x: special.struve(0, x))
elementwise(special.it2struve0, lambda y, x: -special.struve(0, x) / x)
elementwise(special.itmodstruve0, lambda y, x: special.modstruve(0, x))
