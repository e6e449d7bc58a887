"""Elementary functions, and functions given by equations: Lambert's W, Wright's ω, Tukey's λ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from lindiff.core.registry import constant
from lindiff.rules.special._common import INTEGER, elementwise
from lindiff.rules.special.information import boxcox_by_lambda

__all__: list[str] = []

DEGREE = math.pi / 180

elementwise(special.cbrt, lambda y: 1 / (3 * y * y))
elementwise(special.exp2, lambda y: math.log(2) * y)
elementwise(special.exp10, lambda y: math.log(10) * y)
elementwise(special.expm1, lambda y, x: np.exp(x))
elementwise(special.log1p, lambda y, x: 1 / (1 + x))
elementwise(special.cosm1, lambda y, x: -np.sin(x))
elementwise(special.sindg, lambda y, x: DEGREE * special.cosdg(x))
elementwise(special.cosdg, lambda y, x: -DEGREE * special.sindg(x))
elementwise(special.tandg, lambda y: DEGREE * (1 + y * y))
elementwise(special.cotdg, lambda y: -DEGREE * (1 + y * y))
elementwise(
    special.radian,
    lambda y, d, m, s: DEGREE,
    lambda y, d, m, s: DEGREE / 60,
    lambda y, d, m, s: DEGREE / 3600,
)
elementwise(
    special.powm1,
    lambda z, x, y: y * np.power(x, np.subtract(y, 1)),
    lambda z, x, y: np.power(x, y) * np.log(np.where(np.equal(x, 0), 1, x)),
)
constant(special.round)

# w exp(w) = z; scipy.special.lambertw calls this ufunc
elementwise(_ufuncs._lambertw, lambda w, z, k, tol: 1 / (np.exp(w) + z), INTEGER, None)
# ω + log ω = z
elementwise(special.wrightomega, lambda w: 1 / (1 + 1 / w))


def tukey_density(y: Any, x: Any, lmbda: Any) -> Any:
    """The reciprocal of the derivative of the quantile ``(p^λ - (1 - p)^λ) / λ``; 0 beyond its ends."""
    rest = special.tklmbda(np.negative(x), lmbda)
    power = np.subtract(lmbda, 1)
    beyond = np.greater(lmbda, 0) & np.greater_equal(np.abs(np.multiply(x, lmbda)), 1)
    return np.where(beyond, 0, 1 / (np.power(y, power) + np.power(rest, power)))


def tukey_by_lambda(y: Any, x: Any, lmbda: Any) -> Any:
    rest = special.tklmbda(np.negative(x), lmbda)
    slope = boxcox_by_lambda(y, lmbda) - boxcox_by_lambda(rest, lmbda)
    return -tukey_density(y, x, lmbda) * slope


elementwise(special.tklmbda, tukey_density, tukey_by_lambda)
