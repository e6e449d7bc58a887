"""Spherical Bessel functions (DLMF 10.51)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Elementwise
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import as_array
from lindiff.scipy.special._arguments import drop_in, refuse_variable

__all__ = ["spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"]


def _family(
    original: Callable[..., Any], below: int, above: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """f as a primitive, and ``f_n' = (± n f_{n-1} ± (n + 1) f_{n+1}) / (2n + 1)``, which has no hole at 0."""

    @rule
    def function(n: Any, z: Any) -> Any:
        y = function(n, z) if isinstance(z, Variable) else counterpart(original, z)(n, z)
        return y, Elementwise(None, lambda: slope(n, z))

    def slope(n: Any, z: Any) -> Any:
        n = placed(as_array(n), z)
        lower = np.where(np.equal(n, 0), 0, function(np.maximum(np.subtract(n, 1), 0), z))
        upper = function(np.add(n, 1), z)
        return (below * n * lower + above * (n + 1) * upper) / (2 * n + 1)

    function.__name__ = original.__name__
    return function, slope


def _drop_in(original: Callable[..., Any], below: int, above: int) -> Callable[..., Any]:
    """A spherical Bessel function in SciPy's place, with the recurrence of its derivative."""
    function, slope = _family(original, below, above)

    def spherical(n: Any, z: Any, derivative: bool = False) -> Any:
        refuse_variable(original.__name__, "n", n, "it is an integer")
        n = np.asarray(value(n)).astype(int)[()]
        return slope(n, as_array(z)) if derivative else function(n, z)

    spherical.__name__ = spherical.__qualname__ = original.__name__
    spherical.__doc__ = f"""Differentiable in `z`, real or complex.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import {original.__name__}
    >>> slope = ld.grad(lambda z: {original.__name__}(2, z))(1.5)
    >>> bool(abs(slope - {original.__name__}(2, 1.5, derivative=True)) < 1e-12)
    True
    """
    return drop_in(original)(spherical)


spherical_jn = _drop_in(special.spherical_jn, +1, -1)
spherical_yn = _drop_in(special.spherical_yn, +1, -1)
spherical_in = _drop_in(special.spherical_in, +1, +1)
spherical_kn = _drop_in(special.spherical_kn, -1, -1)
