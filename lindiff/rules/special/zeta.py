"""Riemann's and Hurwitz's zeta functions.

``scipy.special.zeta`` is written in Python and calls one of two ufuncs, which dispatch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array
from lindiff.rules.special._common import elementwise
from lindiff.rules.special.gamma import bernoulli

__all__: list[str] = []

DIRECT_TERMS = 20


def _product(a: Any, b: Any) -> Any:
    """The product of two truncated power series, coefficients along the first axis."""
    return np.stack([sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(len(a))])


def _inverse_power(base: Any, s: Any, order: int) -> Any:
    """The power series of ``base^-(s + ε)`` in ε."""
    step = -np.log(base)
    value = base**-s
    return np.stack([value * step**k / math.factorial(k) for k in range(order + 1)])


def _shift(s: Any, order: int) -> Any:
    """The power series ``s + ε``."""
    s = as_array(s)
    return np.stack([s, np.ones_like(s), *[np.zeros_like(s)] * (order - 1)][: order + 1])


def _zeta_derivative(s: Any, q: Any, order: int) -> Any:
    """The derivative by s of Σ (q + m)⁻ˢ, by Euler and Maclaurin's formula (DLMF 25.11.5) in power series."""
    s, q = np.broadcast_arrays(placed(as_array(s), q), placed(as_array(q), s))
    q = q.astype(np.result_type(s, q))
    with np.errstate(all="ignore"):
        total = sum(_inverse_power(q + m, s, order) for m in range(DIRECT_TERMS))
        a = q + DIRECT_TERMS
        power = _inverse_power(a, s, order)
        reciprocal = np.stack([(-1) ** k / (s - 1) ** (k + 1) for k in range(order + 1)])
        tail = a * _product(power, reciprocal) + 0.5 * power
        rising = _product(power, _shift(s, order)) / a
        for j, b in enumerate(bernoulli(12), start=1):
            tail = tail + b / math.factorial(2 * j) * rising
            rising = _product(rising, _product(_shift(s + 2 * j - 1, order), _shift(s + 2 * j, order))) / a**2
        tail = np.where(np.abs(s) > 200, 0, tail)  # below the last bit of the sum
    return math.factorial(order) * (total[order] + tail[order])


@rule
def zeta_derivative(s: Any, q: Any, order: int) -> Any:
    """The derivative of that order of Hurwitz's ζ(s, q) by s, for Re s ≥ 0; by q from ``-s ζ(s + 1, q)``."""
    if isinstance(s, Variable) or isinstance(q, Variable):  # of an outer trace
        y = zeta_derivative(s, q, order)
    else:
        y = _zeta_derivative(s, q, order)

    def by_q() -> Any:
        lower = (
            counterpart(special.zeta, s, q)(s + 1, q) if order == 1 else zeta_derivative(s + 1, q, order - 1)
        )
        return -s * zeta_derivative(s + 1, q, order) - order * lower

    return y, Elementwise(lambda: zeta_derivative(s, q, order + 1), by_q)


def riemann_derivative(y: Any, s: Any) -> Any:
    """ζ'(s); left of 0 from ``ζ(s) = χ(s) ζ(1 - s)`` with ``χ = (2π)ˢ sin(π s / 2) Γ(1 - s) / π``."""
    left = np.less(np.real(s), 0)
    right_half = zeta_derivative(np.where(left, 2, s), 1.0, 1)
    if not perhaps(left):
        return right_half
    t = np.where(left, s, -0.5)
    sine, cosine = np.sin(math.pi / 2 * t), np.cos(math.pi / 2 * t)
    scale = special.gamma(1 - t) * np.exp(math.log(2 * math.pi) * t) / math.pi
    chi = scale * sine
    chi_slope = scale * ((math.log(2 * math.pi) - special.psi(1 - t)) * sine + math.pi / 2 * cosine)
    mirrored = special.zeta(1 - t)
    return np.where(left, chi_slope * mirrored - chi * zeta_derivative(1 - t, 1.0, 1), right_half)


elementwise(_ufuncs._riemann_zeta, riemann_derivative)
elementwise(special.zetac, riemann_derivative)
elementwise(
    _ufuncs._zeta,
    lambda y, s, q: zeta_derivative(s, q, 1),
    lambda y, s, q: -s * counterpart(special.zeta, s, q)(np.add(s, 1), q),
)
