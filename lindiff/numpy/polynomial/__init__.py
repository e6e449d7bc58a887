"""``numpy.polynomial`` with derivatives: with respect to coefficients, points, roots and data.

NumPy's own functions and classes turn coefficients into plain arrays, which no protocol can change.  (What
NumPy's ``chebval(x, c)`` computes with ``x`` a Variable has its derivative for a vector ``c``; for columns of
coefficients it tells arrays from numbers by their type, so take this module's.)

Examples
--------
>>> import lindiff as ld
>>> from lindiff.numpy.polynomial import Chebyshev
>>> ld.grad(lambda c: Chebyshev(c)(0.5))([1.0, 2.0, 3.0])
[np.float64(1.0), np.float64(0.5), np.float64(-0.5)]
>>> from lindiff.numpy.polynomial.legendre import legval
>>> ld.grad(lambda x: legval(x, [0.0, 0.0, 1.0]))(0.5)
np.float64(1.5)
"""

from __future__ import annotations

from numpy.polynomial import polyutils, set_default_printstyle

from lindiff.numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

Polynomial = polynomial.Polynomial
Chebyshev = chebyshev.Chebyshev
Legendre = legendre.Legendre
Laguerre = laguerre.Laguerre
Hermite = hermite.Hermite
HermiteE = hermite_e.HermiteE

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebyshev",
    "hermite",
    "hermite_e",
    "laguerre",
    "legendre",
    "polynomial",
    "polyutils",
    "set_default_printstyle",
]
