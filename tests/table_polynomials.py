"""Records of polynomials."""

from __future__ import annotations

import numpy as np
from table import Operator, sample


def values(rng):
    p = rng.standard_normal(4)
    yield sample(p, rng.standard_normal((2, 3)))
    yield sample(p, rng.standard_normal(()))
    yield sample(p, [1, 2])
    yield sample([2, 0.5, 1], rng.standard_normal(3))
    yield sample(p[:1], rng.standard_normal(3))
    yield sample(p[:0], rng.standard_normal(3))
    yield sample(p, rng.standard_normal((0, 2)))


def two_polynomials(rng):
    yield sample(rng.standard_normal(4), rng.standard_normal(2))
    yield sample(rng.standard_normal(2), rng.standard_normal(3))
    yield sample(rng.standard_normal(2), [0.0, 0.0, 1.5])
    yield sample(rng.standard_normal(()), rng.standard_normal(3))


def divisions(rng):
    """By rounded numbers: what is left of the leading coefficients is exactly 0 in every precision."""
    for n, m in [(2, 3), (4, 2), (6, 3), (3, 3), (3, 1)]:
        u, v = np.round(4 * rng.standard_normal(n)) / 4, np.round(4 * rng.standard_normal(m)) / 4
        v[0] = 2.0
        yield sample(u, v)


def derivatives(rng):
    p = rng.standard_normal(5)
    yield sample(p)
    yield sample(p, 3)
    yield sample(p, m=0)
    yield sample(p, 7)


def integrals(rng):
    p = rng.standard_normal(3)
    yield sample(p)
    yield sample(p, 3)
    yield sample(p, m=2, k=[0.5, 2.0])
    yield sample(p, 2, k=rng.standard_normal(2))
    yield sample(p, 2, rng.standard_normal(()))
    yield sample(p, 0)


def zeros(rng):
    yield sample(rng.standard_normal(4))
    yield sample([rng.standard_normal(()), 1.0, rng.standard_normal(())])
    yield sample(np.array([1.0 + 2.0j, 0.5, -1.0j]))
    yield sample(rng.standard_normal((3, 3)) + np.diag([3.0, 0.0, -3.0]))


def with_distinct_roots(rng):
    yield sample(np.array([2.0, -3.0, -5.0, 1.0]))
    yield sample(np.array([1.0, 0.5, 2.0]))
    yield sample(np.array([1.0, 0.5, 2.0, 0.25, 1.0]) + 1j * rng.standard_normal(5))
    yield sample(np.array([1.5, -2.0]))
    yield sample(np.array([1.5]))


def fits(rng):
    x, y = np.linspace(-1, 1.5, 7) + 0.1 * rng.random(7), rng.standard_normal((7, 2))
    w = 0.5 + rng.random(7)
    yield sample(x, y[:, 0], 2)
    yield sample(x, y, 3)
    yield sample(x, y, 0)
    yield sample(x, y[:, 0], 2, w=w)
    yield sample(x, y, 1, None, False, w)
    yield sample(x, y[:, 0], 2, full=True)
    yield sample(x, y, 2, 1e-12, True, w=w)
    yield sample(x, y[:, 0], 2, cov=True)
    yield sample(x, y, 2, w=w, cov=True)
    yield sample(x, y[:, 0], 2, w=w, cov="unscaled")
    yield sample(x, y, 2, cov="unscaled")
    yield sample([1, 2, 4], y[:3, 0], 2)


def complex_fits(rng):
    yield sample(list(np.linspace(-1, 1, 6)), rng.standard_normal(6), 2)


OPERATORS = [
    Operator("polyval", np.polyval, values, complex=True),
    Operator("polyadd", np.polyadd, two_polynomials, complex=True),
    Operator("polysub", np.polysub, two_polynomials, complex=True),
    Operator("polymul", np.polymul, two_polynomials, complex=True),
    Operator("polydiv", np.polydiv, divisions),
    Operator("polydiv of complex", np.polydiv, lambda rng: list(divisions(rng))[1:3], complex=True),
    Operator("polyder", np.polyder, derivatives, complex=True),
    Operator("polyint", np.polyint, integrals, complex=True),
    Operator("poly", np.poly, zeros, complex=True),
    Operator("roots", np.roots, with_distinct_roots),
    Operator("polyfit", np.polyfit, fits),
    Operator("polyfit of complex", np.polyfit, complex_fits, complex=True),
]
