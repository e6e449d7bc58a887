"""Orthogonal polynomials, associated Legendre, Mathieu and spheroidal wave functions, by the argument.

The derivative of a polynomial of degree n is a multiple of the one of degree n - 1 for raised parameters
(DLMF 18.9); degree and parameters are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.formula import perhaps
from lindiff.rules.special._common import INTEGER, NO_FORMULA, elementwise, outputs

__all__: list[str] = []

DEGREE = math.pi / 180


def polynomial(ufunc: np.ufunc, lower: Callable[..., Any]) -> None:
    """The rule of a polynomial ``ufunc(n, *parameters, x)`` whose derivative is ``lower(n, *parameters, x)``,
    asked only for n ≠ 0."""

    def partial(y: Any, n: Any, *rest: Any) -> Any:
        constant = np.equal(n, 0)
        if not perhaps(constant):
            return lower(n, *rest)
        return np.where(constant, 0, lower(np.where(constant, 1, n), *rest))

    elementwise(ufunc, *[NO_FORMULA] * (ufunc.nin - 1), partial)


polynomial(
    special.eval_jacobi,
    lambda n, a, b, x: (
        0.5 * (n + a + b + 1) * special.eval_jacobi(np.subtract(n, 1), np.add(a, 1), np.add(b, 1), x)
    ),
)
polynomial(
    special.eval_sh_jacobi,
    lambda n, p, q, x: np.multiply(
        n, special.eval_sh_jacobi(np.subtract(n, 1), np.add(p, 2), np.add(q, 1), x)
    ),
)
polynomial(
    special.eval_gegenbauer,
    lambda n, a, x: 2 * np.multiply(a, special.eval_gegenbauer(np.subtract(n, 1), np.add(a, 1), x)),
)
polynomial(
    special.eval_genlaguerre, lambda n, a, x: -special.eval_genlaguerre(np.subtract(n, 1), np.add(a, 1), x)
)
polynomial(special.eval_laguerre, lambda n, x: -special.eval_genlaguerre(np.subtract(n, 1), 1.0, x))


def legendre_derivative(n: Any, x: Any) -> Any:
    """``(n + 1) / 2 P⁽¹¹⁾ₙ₋₁(x)``, where ``P₋ₙ₋₁ = Pₙ`` (DLMF 14.9.5)."""
    n = np.where(np.less(n, 0), -np.add(n, 1), n)
    constant = np.equal(n, 0)
    below = np.where(constant, 0, np.subtract(n, 1))
    return np.where(constant, 0, 0.5 * np.add(n, 1) * special.eval_jacobi(below, 1.0, 1.0, x))


polynomial(special.eval_legendre, legendre_derivative)
polynomial(special.eval_sh_legendre, lambda n, x: 2 * legendre_derivative(n, 2 * x - 1))
polynomial(special.eval_chebyt, lambda n, x: n * special.eval_chebyu(np.subtract(n, 1), x))
polynomial(special.eval_chebyu, lambda n, x: 2 * special.eval_gegenbauer(np.subtract(n, 1), 2.0, x))
polynomial(special.eval_chebyc, lambda n, x: n * special.eval_chebys(np.subtract(n, 1), x))
polynomial(special.eval_chebys, lambda n, x: special.eval_gegenbauer(np.subtract(n, 1), 2.0, 0.5 * x))
polynomial(special.eval_sh_chebyt, lambda n, x: 2 * n * special.eval_chebyu(np.subtract(n, 1), 2 * x - 1))
polynomial(
    special.eval_sh_chebyu, lambda n, x: 4 * special.eval_gegenbauer(np.subtract(n, 1), 2.0, 2 * x - 1)
)
polynomial(special.eval_hermite, lambda n, x: 2 * n * special.eval_hermite(np.subtract(n, 1), x))
polynomial(special.eval_hermitenorm, lambda n, x: n * special.eval_hermitenorm(np.subtract(n, 1), x))

# (x² - 1) P' = v x P_v - (v + m) P_{v-1} (DLMF 14.10.5)
elementwise(
    special.lpmv,
    INTEGER,
    NO_FORMULA,
    lambda y, m, v, x: (v * x * y - np.add(v, m) * special.lpmv(m, np.subtract(v, 1), x)) / (x * x - 1),
)

# -- Mathieu functions: w'' = -(a - 2 q cos 2x) w, modified w'' = (a - 2 q cosh 2x) w --------------------


def mathieu(ufunc: Callable[..., Any], characteristic: Callable[..., Any]) -> None:
    """(w, w') of an angle in degrees."""

    def slopes(y: Any, m: Any, q: Any, x: Any) -> tuple[Any, ...]:
        stiffness = characteristic(m, q) - 2 * q * np.cos(2 * DEGREE * x)
        return DEGREE * y[1], -DEGREE * stiffness * y[0]

    outputs(ufunc, INTEGER, NO_FORMULA, slopes)


def modified_mathieu(ufunc: Callable[..., Any], characteristic: Callable[..., Any]) -> None:
    def slopes(y: Any, m: Any, q: Any, x: Any) -> tuple[Any, ...]:
        return y[1], (characteristic(m, q) - 2 * q * np.cosh(2 * x)) * y[0]

    outputs(ufunc, INTEGER, NO_FORMULA, slopes)


mathieu(special.mathieu_cem, special.mathieu_a)
mathieu(special.mathieu_sem, special.mathieu_b)
modified_mathieu(special.mathieu_modcem1, special.mathieu_a)
modified_mathieu(special.mathieu_modcem2, special.mathieu_a)
modified_mathieu(special.mathieu_modsem1, special.mathieu_b)
modified_mathieu(special.mathieu_modsem2, special.mathieu_b)

# -- spheroidal wave functions (DLMF 30.2.1; of imaginary arguments the radial oblate ones) ---------------


def prolate(value: Any, m: Any, c: Any, x: Any, S: Any, slope: Any) -> Any:
    """``(1 - x²) S'' = 2 x S' - (λ - c² x² - m² / (1 - x²)) S``."""
    gap = 1 - x * x
    return (2 * x * slope - (value - np.square(c * x) - np.square(m) / gap) * S) / gap


def oblate(value: Any, m: Any, c: Any, x: Any, S: Any, slope: Any) -> Any:
    """``(1 - x²) S'' = 2 x S' - (λ + c² x² - m² / (1 - x²)) S``."""
    gap = 1 - x * x
    return (2 * x * slope - (value + np.square(c * x) - np.square(m) / gap) * S) / gap


def radial_oblate(value: Any, m: Any, c: Any, x: Any, S: Any, slope: Any) -> Any:
    """``(1 + x²) S'' = -2 x S' + (λ - c² x² - m² / (1 + x²)) S``."""
    gap = 1 + x * x
    return ((value - np.square(c * x) - np.square(m) / gap) * S - 2 * x * slope) / gap


def spheroidal(
    ufunc: Callable[..., Any],
    of_value: Callable[..., Any],
    equation: Callable[..., Any],
    of_c: Callable[..., Any],
) -> None:
    """(S, S') of m, n, c and x; ``of_value`` is the same function, given λ before x."""

    def slopes(y: Any, m: Any, n: Any, c: Any, x: Any) -> tuple[Any, ...]:
        return y[1], equation(of_c(m, n, c), m, c, x, *y)

    def slopes_of_value(y: Any, m: Any, n: Any, c: Any, value: Any, x: Any) -> tuple[Any, ...]:
        return y[1], equation(value, m, c, x, *y)

    outputs(ufunc, INTEGER, INTEGER, NO_FORMULA, slopes)
    outputs(of_value, INTEGER, INTEGER, NO_FORMULA, NO_FORMULA, slopes_of_value)


spheroidal(special.pro_ang1, special.pro_ang1_cv, prolate, special.pro_cv)
spheroidal(special.pro_rad1, special.pro_rad1_cv, prolate, special.pro_cv)
spheroidal(special.pro_rad2, special.pro_rad2_cv, prolate, special.pro_cv)
spheroidal(special.obl_ang1, special.obl_ang1_cv, oblate, special.obl_cv)
spheroidal(special.obl_rad1, special.obl_rad1_cv, radial_oblate, special.obl_cv)
spheroidal(special.obl_rad2, special.obl_rad2_cv, radial_oblate, special.obl_cv)
