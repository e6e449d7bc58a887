"""Spherical harmonics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Elementwise
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array
from lindiff.scipy.special._arguments import drop_in, refuse_variable

__all__ = ["sph_harm_y"]


@rule
def harmonic(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """Y of degree n and order m; by θ from both neighbours (the ladder operators of angular momentum)."""
    nested = isinstance(theta, Variable) or isinstance(phi, Variable)
    n, m = (placed(as_array(part), theta, phi) for part in (n, m))
    function = harmonic if nested else counterpart(special.sph_harm_y, theta, phi)
    y = function(n, m, theta, phi)

    def by_polar_angle() -> Any:
        turn = np.exp(1j * phi)
        up = np.sqrt((n - m) * (n + m + 1)) * harmonic(n, m + 1, theta, phi) / turn
        down = np.sqrt((n + m) * (n - m + 1)) * harmonic(n, m - 1, theta, phi) * turn
        return 0.5 * (up - down)

    return y, Elementwise(None, None, by_polar_angle, lambda: 1j * m * y)


@drop_in(getattr(special, "sph_harm_y", None))
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Differentiable in `theta` and `phi`.

    `diff_n` is for plain arrays: of Variables take derivatives with lindiff.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.special import sph_harm_y
    >>> ld.grad(lambda t: np.real(sph_harm_y(1, 0, t, 0.0)))(np.pi / 2).round(6)
    np.float64(-0.488603)
    """
    refuse_variable("sph_harm_y", "n", n, "it is an integer")
    refuse_variable("sph_harm_y", "m", m, "it is an integer")
    if diff_n:
        raise TypeError("sph_harm_y(..., diff_n=...) of Variables: leave out diff_n and differentiate it")
    return harmonic(n, m, theta, phi)
