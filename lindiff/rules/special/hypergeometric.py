"""Hypergeometric functions by the argument: also Wright's and the parabolic cylinder functions.

A parameter moves by one in every derivative (DLMF 13.3, 15.5); with respect to the parameters there is no
expression in functions that SciPy has.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from lindiff.rules.special._common import NO_FORMULA, elementwise, outputs

__all__: list[str] = []

elementwise(special.hyp0f1, NO_FORMULA, lambda y, v, z: special.hyp0f1(np.add(v, 1), z) / v)
elementwise(
    special.hyp1f1,
    NO_FORMULA,
    NO_FORMULA,
    lambda y, a, b, z: np.divide(a, b) * special.hyp1f1(np.add(a, 1), np.add(b, 1), z),
)
elementwise(
    special.hyp2f1,
    NO_FORMULA,
    NO_FORMULA,
    NO_FORMULA,
    lambda y, a, b, c, z: (
        np.divide(np.multiply(a, b), c) * special.hyp2f1(np.add(a, 1), np.add(b, 1), np.add(c, 1), z)
    ),
)
elementwise(
    special.hyperu,
    NO_FORMULA,
    NO_FORMULA,
    lambda y, a, b, x: np.negative(a) * special.hyperu(np.add(a, 1), np.add(b, 1), x),
)
# Σ xᵏ / (k! Γ(a k + b))
elementwise(
    special.wright_bessel,
    NO_FORMULA,
    NO_FORMULA,
    lambda y, a, b, x: special.wright_bessel(a, np.add(a, b), x),
)
if hasattr(special, "log_wright_bessel"):  # since SciPy 1.14
    elementwise(
        special.log_wright_bessel,
        NO_FORMULA,
        NO_FORMULA,
        lambda y, a, b, x: np.exp(special.log_wright_bessel(a, np.add(a, b), x) - y),
    )

# w and w', where w'' = (x²/4 - v - 1/2) w
outputs(special.pbdv, NO_FORMULA, lambda y, v, x: (y[1], (x * x / 4 - v - 0.5) * y[0]))
outputs(special.pbvv, NO_FORMULA, lambda y, v, x: (y[1], (x * x / 4 - v - 0.5) * y[0]))
outputs(special.pbwa, NO_FORMULA, lambda y, a, x: (y[1], (a - x * x / 4) * y[0]))
