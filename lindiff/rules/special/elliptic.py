"""Elliptic integrals and functions.

Everything comes down to Carlson's symmetric integrals and their derivatives, which are of the same kind
``∫ Π (t + zⱼ)^(-bⱼ) dt``: differentiating by zⱼ raises bⱼ (DLMF 19.18, 19.25).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules.special._common import elementwise, outputs

__all__: list[str] = []

BLOCK = 256  # elements integrated at a time
STEP = 0.4  # of the trapezoidal rule in log t; its error is e^(-2π² / step) for positive zⱼ
SHORTEST = STEP / 32


@rule
def symmetric_integral(exponents: tuple[float, ...], power: float, *z: Any) -> Any:
    """``∫ t^(power - 1) Π (t + zⱼ)^(-bⱼ) dt`` from 0 to ∞, for zⱼ off the negative axis."""
    if any(isinstance(part, Variable) for part in z):  # of an outer trace
        y = symmetric_integral(exponents, power, *z)
    else:
        y = _symmetric_integral(exponents, power, z)

    def by(j: int) -> Any:
        raised = tuple(b + (i == j) for i, b in enumerate(exponents))
        return lambda: -exponents[j] * symmetric_integral(raised, power, *z)

    return y, Elementwise(None, None, *(by(j) for j in range(len(z))))


def _symmetric_integral(exponents: tuple[float, ...], power: float, z: tuple[Any, ...]) -> Any:
    """By the trapezoidal rule in log t, where the integrand is analytic and decays at both ends."""
    z = np.broadcast_arrays(*z)
    kind = np.result_type(*z, np.float32)
    columns = [part.reshape(-1, 1).astype(np.result_type(kind, np.float64)) for part in z]
    out = np.empty(columns[0].shape[0], columns[0].dtype)
    for start in range(0, out.size, BLOCK):
        out[start : start + BLOCK] = _trapezoidal(
            exponents, power, [column[start : start + BLOCK] for column in columns]
        )
    return out.reshape(z[0].shape).astype(kind)


def _trapezoidal(exponents: tuple[float, ...], power: float, z: list[Any]) -> Any:
    """The zⱼ of each integral are turned to both sides of the positive axis first: it is homogeneous.

    In log t the nearest singularity is then as far from the real axis as the outermost zⱼ from the negative
    one.
    """
    together = np.concatenate(z, axis=1)
    negative = (together.real < 0) & (together.imag == 0)
    angles = np.where(negative | (together == 0), np.nan, np.angle(together))
    first, last = np.fmin.reduce(angles, axis=1), np.fmax.reduce(angles, axis=1)
    turn = np.nan_to_num((first + last) / 2)
    distance = math.pi - np.fmax.reduce((last - first) / 2, initial=0.0)
    sizes = np.abs(together)
    positive = sizes[(sizes > 0) & np.isfinite(sizes)]
    low, high = (np.log(positive.min()), np.log(positive.max())) if positive.size else (0.0, 0.0)
    rise = power - sum(b * (part == 0) for b, part in zip(exponents, z, strict=True))[:, 0]
    fall = sum(exponents) - power
    slowest = min(rise[rise > 0], default=power)
    step = max(STEP * distance / math.pi, SHORTEST)
    u = np.arange(low - 40 / slowest, high + 40 / fall, step)
    turned = z if not turn.any() else [part * np.exp(-1j * turn)[:, None] for part in z]
    with np.errstate(all="ignore"):
        logarithm = power * u
        for b, part in zip(exponents, turned, strict=True):
            logarithm = logarithm - b * _log_of_sum(u, part)
        value = step * np.exp(logarithm).sum(axis=1)
    if turn.any():
        value = value * np.exp(-1j * fall * turn)
    return np.where(negative.any(axis=1), np.nan, np.where(rise > 0, value, np.inf))


def _log_of_sum(u: Any, z: Any) -> Any:
    """``log(eᵘ + z)``, also beyond the range of the exponential."""
    if z.dtype.kind != "c":
        return np.logaddexp(u, np.log(z))
    return np.where(z == 0, u, np.log(np.exp(u) + z))


# -- Carlson's integrals ---------------------------------------------------------------------------------


def carlson(ufunc: Any, exponents: tuple[float, ...], power: float, factor: float) -> None:
    """The partial derivatives of ``factor ∫ t^(power - 1) Π (t + zⱼ)^(-bⱼ) dt``."""

    def by(j: int) -> Any:
        raised = tuple(b + (i == j) for i, b in enumerate(exponents))

        def partial(y: Any, *z: Any) -> Any:
            return -factor * exponents[j] * symmetric_integral(raised, power, *z)

        return partial

    elementwise(ufunc, *(by(j) for j in range(len(exponents))))


carlson(special.elliprc, (0.5, 1.0), 1.0, 0.5)
carlson(special.elliprd, (0.5, 0.5, 1.5), 1.0, 1.5)
carlson(special.elliprj, (0.5, 0.5, 0.5, 1.0), 1.0, 1.5)
# R_G = R_{1/2}, whose derivatives are of the same kind
carlson(special.elliprg, (0.5, 0.5, 0.5), 2.0, -0.25)
elementwise(
    special.elliprf,
    lambda w, x, y, z: special.elliprd(y, z, x) / -6,
    lambda w, x, y, z: special.elliprd(z, x, y) / -6,
    lambda w, x, y, z: special.elliprd(x, y, z) / -6,
)

# -- Legendre's integrals, by DLMF 19.25.1 and 19.25.5-9 -------------------------------------------------

elementwise(special.ellipk, lambda K, m: special.elliprd(0, 1, 1 - m) / 6)
elementwise(special.ellipkm1, lambda K, p: special.elliprd(0, 1, p) / -6)
elementwise(special.ellipe, lambda E, m: special.elliprd(0, 1 - m, 1) / -6)


@rule
def legendre_integral(phi: Any, m: Any, q: float, k: int) -> Any:
    """``∫ sin²ᵏθ (1 - m sin²θ)^-q dθ`` from 0 to φ."""
    if isinstance(phi, Variable) or isinstance(m, Variable):  # of an outer trace
        y = legendre_integral(phi, m, q, k)
    else:
        half_turns = np.round(phi / math.pi)
        angle = phi - half_turns * math.pi
        y = _within_quarter(np.sin(angle), np.square(np.cos(angle)), m, q, k)
        if np.any(half_turns != 0):
            turned = half_turns != 0  # elsewhere the complete integral, infinite for m ≥ 1, does not enter
            y = y + np.where(turned, 2 * half_turns * _within_quarter(1.0, 0.0, m, q, k), 0.0)

    def by_angle() -> Any:
        square = np.square(np.sin(phi))
        return np.power(square, k) / np.power(1 - m * square, q)

    return y, Elementwise(by_angle, lambda: q * legendre_integral(phi, m, q + 1, k + 1))


def _within_quarter(s: Any, cosine_squared: Any, m: Any, q: float, k: int) -> Any:
    """For |φ| ≤ π/2, with ``t = 1/sin²θ - 1/sin²φ``; one R_D for the first derivatives of F and E."""
    rest = 1 - m * s * s
    if (q, k) == (1.5, 1):
        return s**3 / 3 * special.elliprd(cosine_squared, 1, rest)
    if (q, k) == (0.5, 1):
        return s**3 / 3 * special.elliprd(cosine_squared, rest, 1)
    return 0.5 * s ** (2 * k + 1) * symmetric_integral((k + 1 - q, 0.5, q), 1.0, 1.0, cosine_squared, rest)


def first_kind_by_parameter(phi: Any, m: Any) -> Any:
    return 0.5 * legendre_integral(phi, m, 1.5, 1)


elementwise(
    special.ellipkinc,
    lambda F, phi, m: 1 / np.sqrt(1 - m * np.square(np.sin(phi))),
    lambda F, phi, m: first_kind_by_parameter(phi, m),
)
elementwise(
    special.ellipeinc,
    lambda E, phi, m: np.sqrt(1 - m * np.square(np.sin(phi))),
    lambda E, phi, m: -0.5 * legendre_integral(phi, m, 0.5, 1),
)

# -- Jacobi's functions: F(am, m) = u --------------------------------------------------------------------


def jacobi_by_argument(y: Any, u: Any, m: Any) -> tuple[Any, ...]:
    sn, cn, dn, _ = y
    return cn * dn, -sn * dn, -m * sn * cn, dn


def jacobi_by_parameter(y: Any, u: Any, m: Any) -> tuple[Any, ...]:
    """``∂am/∂m = -dn ∂F/∂m``, and ``dn² = 1 - m sn²``."""
    sn, cn, dn, amplitude = y
    turn = -dn * first_kind_by_parameter(amplitude, m)
    return cn * turn, -sn * turn, -(0.5 * sn * sn + m * sn * cn * turn) / dn, turn


outputs(special.ellipj, jacobi_by_argument, jacobi_by_parameter)

# -- the arithmetic-geometric mean: π a / (2 K(1 - b²/a²)) (Gauss) ---------------------------------------


APART = 1e-9  # K(m) = log(4 a/b) to the last bit


def mean_by_second(a: Any, b: Any) -> Any:
    """``π b / (a K²) ∂K/∂m`` with ``m = 1 - b²/a²``; where one argument is small beside the other, the
    derivative of ``π/2 a / log(4 a/b)``."""
    low, high = (np.less(np.abs(s), APART * np.abs(t)) for s, t in ((b, a), (a, b)))
    apart = low | high
    if not perhaps(apart):
        return _mean_by_second(a, b)
    a, b, near_a, near_b = (
        np.where(mask, t, 1.0) for mask, t in ((apart, a), (apart, b), (~apart, a), (~apart, b))
    )
    L = math.log(4) + np.abs(np.log(np.abs(a)) - np.log(np.abs(b)))
    far = math.pi / 2 * np.where(low, a / b / L, 1 - 1 / L) / L
    return np.where(apart, far, _mean_by_second(near_a, near_b))


def _mean_by_second(a: Any, b: Any) -> Any:
    p = np.square(np.divide(b, a))
    return math.pi / 6 * b / a * special.elliprd(0, 1, p) / np.square(special.ellipkm1(p))


elementwise(special.agm, lambda y, a, b: mean_by_second(b, a), lambda y, a, b: mean_by_second(a, b))
