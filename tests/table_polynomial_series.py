"""Records of numpy.polynomial, in every basis."""

from __future__ import annotations

import numpy as np
from table import Operator, sample, undispatched

from lindiff.rules.polynomial_series import BASES


def values(rng):
    x, c = rng.standard_normal((2, 3)), rng.standard_normal(4)
    yield sample(x, c)
    yield sample(rng.standard_normal(()), rng.standard_normal((3, 2)))
    yield sample(x, rng.standard_normal((3, 2, 1)), tensor=False)
    yield sample(x, [1, 2])
    yield sample(x, c[:1])
    yield sample(rng.standard_normal(0), c)


def at_points(n):
    def samples(rng):
        yield sample(*rng.standard_normal((n, 4)), rng.standard_normal((3, 2, 2)[:n]))

    return samples


def on_grid(n):
    def samples(rng):
        yield sample(*(rng.standard_normal(k) for k in (3, 2, 4)[:n]), rng.standard_normal((3, 2, 2)[:n]))

    return samples


def one_degree(rng):
    yield sample(rng.standard_normal((2, 3)), 3)
    yield sample(rng.standard_normal(2), 0)


def degrees(n):
    return lambda rng: [sample(*rng.standard_normal((n, 4)), [2, 1, 1][:n])]


def derivatives(rng):
    yield sample(rng.standard_normal(5))
    yield sample(rng.standard_normal((2, 4)), 2, 0.5, axis=1)
    yield sample(rng.standard_normal(3), 4)


def integrals(rng):
    yield sample(rng.standard_normal(4))
    yield sample(rng.standard_normal((2, 3)), 2, [1.0], 0.5, 2.0, axis=-1)
    yield sample(rng.standard_normal(3), 2, k=rng.standard_normal(2))


def one_series(rng):
    yield sample(rng.standard_normal(4))
    yield sample(rng.standard_normal(1))


def two_series(rng):
    yield sample(rng.standard_normal(4), rng.standard_normal(3))
    yield sample(rng.standard_normal(2), rng.standard_normal(3))
    yield sample(rng.standard_normal(3), [0.0, 2.0, 0.0])


def divisions(rng):
    for n, m in [(5, 3), (2, 3), (3, 1)]:
        divisor = rng.standard_normal(m)
        divisor[-1] = 2.0
        yield sample(rng.standard_normal(n), divisor)


def powers(rng):
    yield sample(rng.standard_normal(3), 3)
    yield sample(rng.standard_normal(3), 0)


def with_distinct_roots(rng):
    yield sample(np.array([2.0, -3.0, -1.0, 1.5]))
    yield sample(np.array([1.5, -2.0]))


def fits(rng):
    x, y = np.linspace(-1, 1.5, 7) + 0.1 * rng.random(7), rng.standard_normal((7, 2))
    w = 0.5 + rng.random(7)
    yield sample(x, y[:, 0], 2)
    yield sample(x, y, 2, full=True, w=w)
    yield sample(x, y[:, 0], [0, 3], w=w)


def records(prefix, module):
    def record(name, samples, **options):
        function = getattr(module, name)
        return Operator(f"polynomial.{name}", function, samples, call=undispatched(function), **options)

    conversions = [] if prefix == "poly" else [f"{prefix}2poly", f"poly2{prefix}"]
    return [
        record(f"{prefix}val", values, complex=True),
        record(f"{prefix}vander", one_degree, complex=True),
        *(record(f"{prefix}val{n}d", at_points(n)) for n in (2, 3)),
        *(record(f"{prefix}grid{n}d", on_grid(n)) for n in (2, 3)),
        *(record(f"{prefix}vander{n}d", degrees(n)) for n in (2, 3)),
        record(f"{prefix}der", derivatives, order=1),
        record(f"{prefix}int", integrals, order=1),
        *(record(name, one_series, order=1) for name in [f"{prefix}mulx", *conversions]),
        *(record(f"{prefix}{name}", two_series) for name in ["add", "sub", "mul"]),
        record(f"{prefix}div", divisions, single=False),
        record(f"{prefix}pow", powers),
        record(f"{prefix}roots", with_distinct_roots, single=False),
        record(f"{prefix}fromroots", one_series),
        record(f"{prefix}fit", fits, rtol=1e-6),
    ]


OPERATORS = [operator for prefix, module in BASES.items() for operator in records(prefix, module)]
