"""Error functions and what is made of them: normal distribution, Dawson, Faddeeva, Voigt, Fresnel, Owen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.formula import perhaps
from lindiff.rules._common import as_array
from lindiff.rules.special._common import derivatives_of, elementwise, outputs

__all__ = ["normal_density"]

SQRT_PI = math.sqrt(math.pi)
SQRT_2 = math.sqrt(2)
SQRT_2PI = math.sqrt(2 * math.pi)


def normal_density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / SQRT_2PI


elementwise(special.erf, lambda y, x: 2 / SQRT_PI * np.exp(-x * x))
elementwise(special.erfc, lambda y, x: -2 / SQRT_PI * np.exp(-x * x))
elementwise(special.erfi, lambda y, x: 2 / SQRT_PI * np.exp(x * x))
elementwise(special.erfinv, lambda y: SQRT_PI / 2 * np.exp(y * y))
elementwise(special.erfcinv, lambda y: -SQRT_PI / 2 * np.exp(y * y))


# -- y' = α x y + β --------------------------------------------------------------------------------------


def dawson_like(
    ufunc: Callable[..., Any], alpha: float, beta: complex, is_far: Callable[[Any], Any]
) -> Callable[[Any, int], Any]:
    """The rule of a solution of ``y' = α x y + β``, and its derivatives: ``y⁽ᵏ⁺¹⁾ = α (x y⁽ᵏ⁾ + k y⁽ᵏ⁻¹⁾)``.

    Where x is far from 0 that cancels; there from ``y ~ -β / (α x) Σ (2m - 1)!! (-1 / (α x²))ᵐ``.
    """

    def kth(x: Any, k: int) -> Any:
        x = as_array(x)
        far = is_far(x)
        with np.errstate(all="ignore"):
            before, y = 0.0, ufunc(x)
            for j in range(k):
                before, y = y, alpha * (x * y + j * before) + (beta if j == 0 else 0)
            if not perhaps(far):
                return y
            z = np.where(far, x, 1)
            t = -1 / (alpha * z * z)
            series = np.zeros_like(y)
            for m in reversed(range(13)):
                series = series * t + math.prod(range(1, 2 * m, 2)) * math.perm(2 * m + k, k)
            return np.where(far, (-1) ** (k + 1) * beta / alpha * series / z ** (k + 1), y)

    derivative = derivatives_of(kth, f"{ufunc.__name__}_derivative")
    elementwise(ufunc, lambda y, x: derivative(x, 1))
    return derivative


dawson_like(special.dawsn, -2.0, 1.0, lambda x: np.real(x * x) > 100)
dawson_like(special.erfcx, 2.0, -2 / SQRT_PI, lambda x: (np.real(x) >= 0) & (np.abs(x) > 10))
wofz_derivative = dawson_like(
    special.wofz, -2.0, 2j / SQRT_PI, lambda x: (np.imag(x) >= 0) & (np.abs(x) > 10)
)


# -- the normal distribution -----------------------------------------------------------------------------

elementwise(special.ndtr, lambda y, x: normal_density(x))
# φ(x) / Φ(x), also far out on the left
elementwise(special.log_ndtr, lambda y, x: math.sqrt(2 / math.pi) / special.erfcx(x / -SQRT_2))
elementwise(special.ndtri, lambda y: SQRT_2PI * np.exp(0.5 * y * y))
elementwise(special.ndtri_exp, lambda y: math.sqrt(math.pi / 2) * special.erfcx(y / -SQRT_2))
elementwise(
    special.nrdtrimn,
    lambda y, p, std, x: -std * SQRT_2PI * np.exp(0.5 * np.square(special.ndtri(p))),
    lambda y, p, std, x: -special.ndtri(p),
    lambda y, p, std, x: 1.0,
)
elementwise(
    special.nrdtrisd,
    lambda y, mean, p, x: -1 / special.ndtri(p),
    lambda y, mean, p, x: -y * SQRT_2PI * np.exp(0.5 * np.square(special.ndtri(p))) / special.ndtri(p),
    lambda y, mean, p, x: 1 / special.ndtri(p),
)
# T(h, a) = ∫ exp(-h² (1 + t²) / 2) / (1 + t²) dt / (2π) from 0 to a (Owen, 1956)
elementwise(
    special.owens_t,
    lambda y, h, a: -0.5 * normal_density(h) * special.erf(a * h / SQRT_2),
    lambda y, h, a: np.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)


# -- Voigt's profile: Re w(z) / (σ √(2π)) for z = (x + iγ) / (σ √2) ---------------------------------------


def voigt_derivative(x: Any, sigma: Any, gamma: Any, k: int) -> Any:
    """The k-th derivative of ``w(z) / (σ √(2π))`` by x; by γ it is i times that.

    For σ = 0 that of its limit, ``i / (π (x + iγ))``.
    """
    sharp = np.equal(sigma, 0)
    if not perhaps(sharp):
        scale = SQRT_2 * sigma
        return wofz_derivative((x + 1j * gamma) / scale, k) / (SQRT_PI * scale ** (k + 1))
    width = np.where(sharp, 1, sigma)
    limit = (-1) ** k * math.factorial(k) * 1j / (math.pi * np.power(x + 1j * gamma, k + 1))
    return np.where(sharp, limit, voigt_derivative(x, width, gamma, k))


elementwise(
    special.voigt_profile,
    lambda y, x, sigma, gamma: np.real(voigt_derivative(x, sigma, gamma, 1)),
    lambda y, x, sigma, gamma: sigma * np.real(voigt_derivative(x, sigma, gamma, 2)),  # as heat spreads
    lambda y, x, sigma, gamma: -np.imag(voigt_derivative(x, sigma, gamma, 1)),
)


# -- Fresnel's integrals ---------------------------------------------------------------------------------

outputs(
    special.fresnel,
    lambda y, z: (np.sin(math.pi / 2 * z * z), np.cos(math.pi / 2 * z * z)),
)


def modified_fresnel(ufunc: Callable[..., Any], sign: int) -> None:
    """``F(x) = ∫ exp(±i t²) dt`` from x to ∞, and ``K(x) = exp(∓i (x² + π/4)) F(x) / √π``."""
    root = np.exp(-sign * 0.25j * math.pi) / SQRT_PI
    i = sign * 1j
    outputs(ufunc, lambda y, x: (-np.exp(i * (x * x)), -2 * i * x * y[1] - complex(root)))


modified_fresnel(special.modfresnelp, 1)
modified_fresnel(special.modfresnelm, -1)
