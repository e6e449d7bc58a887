"""Real and imaginary part, angle, sign: linear over the reals, under ⟨a, b⟩ = Re(aᴴ b)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lindiff.core.differential import Differential, Elementwise, Linear
from lindiff.core.formula import some
from lindiff.core.registry import composed, constant_of_reals, rule
from lindiff.core.variable import value
from lindiff.rules.elementwise.rules import nonzero

__all__: list[str] = []


@rule(np.real)
def real(z: Any) -> Any:
    return np.real(z), Linear((np.real,), (lambda x_bar: x_bar,))


@rule(np.imag)
def imag(z: Any) -> Any:
    return np.imag(z), Linear((np.imag,), (lambda y_bar: 1j * y_bar,))


@rule(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """dθ = Re(-i dz / z); 0 at 0, and for real z."""
    unit = 180 / math.pi if deg else 1.0

    def partial() -> Any:
        zero = np.equal(z, 0)
        return np.where(zero, 0, -1j * unit / nonzero(z)) if some(zero) else -1j * unit / z

    return np.angle(z, deg), Elementwise(partial)


@constant_of_reals(np.sign)
def sign(z: Any, **kwargs: Any) -> Any:
    """``s = z / |z|``: ds = i s Im(s̄ dz) / |z|, the part of dz across s; 0 at 0."""
    s = np.sign(z, **kwargs)

    def across(z_dot: Any) -> Any:
        return 1j * s * (np.imag(np.conjugate(s) * z_dot) / nonzero(np.abs(z)))

    return s, Differential((across,), (across,))


@composed(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    return np.real(a) if np.isrealobj(np.real_if_close(value(a), tol)) else a


@composed(np.sort_complex)
def sort_complex(a: Any) -> Any:
    return np.sort(a) if a.dtype.kind == "c" else np.astype(np.sort(a), np.dtype(np.complex128))
