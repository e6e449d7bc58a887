"""Records of ``lindiff.scipy.integrate``: sampled functions.  Equations and quadrature: test_integrate.py."""

from __future__ import annotations

import numpy as np
import scipy.integrate
from table import Operator, sample

from lindiff.scipy import integrate


def points(rng, *shape):
    """Increasing along the last axis."""
    return np.cumsum(1.0 + 0.3 * rng.random(shape), axis=-1)


def samples(sizes, **first):
    def of_sizes(rng):
        for n in sizes:
            yield sample(rng.standard_normal((2, n)))
            yield sample(rng.standard_normal((n, 2)), dx=0.3, axis=0)
            yield sample(rng.standard_normal((2, n)), x=points(rng, n))
            yield sample(rng.standard_normal((2, n)), x=points(rng, 2, n))
            if first:
                yield sample(rng.standard_normal((2, n)), x=points(rng, n), **first)

    return of_sizes


def named(name, samples, **options):
    return Operator(
        f"scipy.integrate.{name}",
        getattr(integrate, name),
        samples,
        reference=getattr(scipy.integrate, name),
        **options,
    )


OPERATORS = [
    named("trapezoid", samples([1, 2, 5])),
    named("cumulative_trapezoid", samples([1, 2, 5], initial=0)),
    named("simpson", samples([2, 3, 4, 7, 8]), single=False),  # SciPy's dtype depends on its version
    named("cumulative_simpson", samples([2, 3, 6, 7], initial=0.5), single=False),  # as below
    named(
        "romb",
        lambda rng: [
            sample(rng.standard_normal((2, 9)), 0.5),
            sample(rng.standard_normal((3, 2)), axis=0),
            sample(rng.standard_normal(2)),
        ],
        single=False,  # SciPy's dtype depends on its version
    ),
]
