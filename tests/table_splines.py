"""Records of ``lindiff.scipy.interpolate``: interpolants made of data and taken at points."""

from __future__ import annotations

import numpy as np
import scipy.interpolate
from scipy.sparse.linalg import spsolve
from table import Operator, sample

from lindiff.scipy import interpolate

ROUNDED = 1e-6  # of second derivatives of quotients of small differences


def places(rng, n):
    return 1.2 * np.arange(n) + rng.uniform(0.0, 0.4, n)


def points(rng, x):
    """Points within and beyond, none of them at a knot."""
    return np.array([x[0] - 0.3, x[1] + 0.21, x[-2] + 0.37, x[-1] + 0.2])


def of_data(*options, shape=(), axis=0, lengths=(7,)):
    def samples(rng):
        for how in options:
            for n in lengths:
                x = places(rng, n)
                y = np.moveaxis(rng.standard_normal((n, *shape)), 0, axis)
                yield sample(x, y, points(rng, x), **how)

    return samples


def named(
    name, samples, call=lambda interpolant: lambda x, y, at, **how: interpolant(x, y, **how)(at), what=""
):
    ours, theirs = getattr(interpolate, name), getattr(scipy.interpolate, name)
    return Operator(
        f"scipy.interpolate.{name}{what}",
        ours,
        samples,
        call=call(ours),
        reference=call(theirs),
        single=False,
        rtol=ROUNDED,
    )


def at_grid(interpolator):
    def call(x, y, values, at, **how):
        return interpolator((x, y), values, **how)(at)

    return call


def grids(rng):
    x, y = places(rng, 6), -places(rng, 7)
    at = np.stack([rng.uniform(x[0], x[-1], 3), rng.uniform(y[-1], y[0], 3)], axis=-1)
    exactly = {"solver": spsolve}
    for method, how in [("linear", {}), ("nearest", {}), ("slinear", exactly), ("cubic", exactly)]:
        yield sample(x, y, rng.standard_normal((6, 7)), at, method=method, **how)
    outside = {"bounds_error": False}
    yield sample(x, y, rng.standard_normal((6, 7, 2)), 1.3 * at, fill_value=None, **outside)
    yield sample(x, y, rng.standard_normal((6, 7)), 1.3 * at, fill_value=0.25, **outside)


def knots_and_coefficients(rng):
    for k in [0, 1, 3]:
        t = np.cumsum(rng.uniform(0.5, 1.0, 10))
        yield sample(t, rng.standard_normal((9 - k, 2)), t[k] + np.array([0.1, 1.0, 0.4]), k=k)


def pieces(rng):
    x = places(rng, 4)
    yield sample(rng.standard_normal((3, 3)), x, points(rng, x))
    yield sample(rng.standard_normal((2, 3, 2)), x[::-1].copy(), points(rng, x))


def of_arrays(interpolant):
    return lambda a, b, at, **how: interpolant(a, b, **how)(at)


ENDS = [{"bc_type": name} for name in ("not-a-knot", "natural", "clamped", ("not-a-knot", "natural"))]
KINDS = ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 5]

OPERATORS = [
    named("CubicSpline", of_data(*ENDS, lengths=(2, 3, 6))),
    named(
        "CubicSpline",
        of_data({"axis": 1}, {"axis": 1, "bc_type": "natural"}, shape=(2,), axis=1),
        what=" (axis)",
    ),
    named("make_interp_spline", of_data(*({"k": k} for k in (1, 2, 3, 5)), shape=(2,))),
    named("make_interp_spline", of_data({"bc_type": "natural"}, {"bc_type": "clamped"}), what=" (ends)"),
    named(
        "interp1d",
        of_data(*({"kind": kind, "fill_value": (0.5, 0.25), "bounds_error": False} for kind in KINDS)),
    ),
    named(
        "interp1d",
        of_data({"fill_value": "extrapolate"}, {"kind": 2, "fill_value": "extrapolate"}, shape=(2,), axis=1),
        what=" (extrapolate)",
    ),
    named("RegularGridInterpolator", grids, at_grid),
    named("BSpline", knots_and_coefficients, of_arrays),
    named("PPoly", pieces, of_arrays),
]
