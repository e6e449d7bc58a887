"""Records of the elementwise functions."""

from __future__ import annotations

import numpy as np
from table import Operator, accepted, sample


def one_array(rng):
    for shape in [(), (3,), (2, 3), (0,)]:
        yield sample(rng.standard_normal(shape))
    yield sample(rng.standard_normal(70)[::2])


def two_arrays(rng):
    for shapes in [((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2, 3)), ((0, 3), (3,))]:
        yield sample(*(rng.standard_normal(shape) for shape in shapes))
    yield sample(rng.standard_normal(3), 1.5)
    yield sample(-1.5, rng.standard_normal(3))
    yield sample(rng.standard_normal(3), [0.5, 1.0, 2.0])


def unary_with_dtype(rng):
    yield sample(rng.standard_normal(3), dtype=np.float64)


def binary_with_dtype(rng):
    yield sample(rng.standard_normal((2, 1)), rng.standard_normal(3), dtype=np.float64)


def powers(rng):
    x = np.exp(rng.standard_normal((2, 3)))
    for shapes in [((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2, 3)), ((0, 3), (3,))]:
        yield sample(*(rng.standard_normal(shape) for shape in shapes))
    yield sample(1.5, rng.standard_normal(3))
    for exponent in [0, 1, 2, 3, -1, 0.5, 2.5, np.array([0, 2, -2])]:
        yield sample(x, exponent)


def integer_powers(rng):
    x = rng.standard_normal((2, 3))
    for exponent in [0, 1, 2, 3, -1, np.array([0, 2, -2]), np.array(3)]:
        yield sample(x, exponent)


def clips(rng):
    x, low, high = rng.standard_normal((2, 5)), rng.standard_normal(5) - 1, rng.standard_normal((2, 1)) + 1
    yield sample(x, low, high)
    yield sample(x, None, high)
    yield sample(x, low, None)
    yield sample(x, -0.3, 0.4)
    yield sample(x, a_min=low, a_max=0.4)
    yield from accepted(np.clip, sample(x, min=low, max=high), sample(x, min=-0.3), sample(x))
    yield sample(rng.standard_normal(()), 0.0, 1.0)
    yield sample(np.zeros((0, 3)), -1.0, np.ones(3))
    yield sample(x, high, low)  # bounds crossed: the upper one wins


def quotients(rng):
    yield sample(3 * rng.standard_normal((2, 3)), 1.3 + rng.random(3))
    yield sample(3 * rng.standard_normal(3), -0.7)
    yield sample(2.5, rng.standard_normal(()))


def nans(rng):
    yield sample(rng.standard_normal(3))
    yield sample(rng.standard_normal((2, 3)), nan=1.0, posinf=2.0)


def in_degrees(rng):
    yield sample(rng.standard_normal(3), deg=True)


def positive(x):
    return np.exp(x / 2) if x.dtype.kind == "c" else np.abs(x) + 0.3


def away_from_0(x):
    return x + 0.5 * np.sign(x)


def inside_unit(x):
    """Of modulus below 0.9."""
    return 0.9 * x / (1 + np.abs(x))


def above_one(x):
    return 1.1 + np.abs(x)


OPERATORS = [
    *(
        Operator(f"{ufunc.__name__} with dtype", ufunc, binary_with_dtype, domain=positive)
        for ufunc in [np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum]
    ),
    *(
        Operator(f"{ufunc.__name__} with dtype", ufunc, unary_with_dtype, domain=positive)
        for ufunc in [np.negative, np.exp, np.log, np.absolute]
    ),
    Operator("add", np.add, two_arrays, complex=True),
    Operator("subtract", np.subtract, two_arrays, complex=True),
    Operator("multiply", np.multiply, two_arrays, complex=True),
    Operator("divide", np.divide, two_arrays, domain=positive, complex=True),
    Operator("negative", np.negative, one_array, complex=True),
    Operator("positive", np.positive, one_array, complex=True),
    Operator("square", np.square, one_array, complex=True),
    Operator("reciprocal", np.reciprocal, one_array, domain=positive, complex=True),
    Operator("remainder", np.remainder, quotients),
    Operator("fmod", np.fmod, quotients),
    Operator("divmod", np.divmod, quotients),
    Operator("exp", np.exp, one_array, complex=True),
    Operator("expm1", np.expm1, one_array, complex=True),
    Operator("exp2", np.exp2, one_array, complex=True),
    Operator("log", np.log, one_array, domain=positive, complex=True),
    Operator("log1p", np.log1p, one_array, domain=positive, complex=True),
    Operator("log2", np.log2, one_array, domain=positive, complex=True),
    Operator("log10", np.log10, one_array, domain=positive, complex=True),
    Operator("logaddexp", np.logaddexp, two_arrays),
    Operator("logaddexp2", np.logaddexp2, two_arrays),
    Operator("sqrt", np.sqrt, one_array, domain=positive, complex=True),
    Operator("cbrt", np.cbrt, one_array, domain=positive),
    Operator("power", np.power, powers, domain=positive, complex=True),
    Operator("integer power", np.power, integer_powers, domain=away_from_0, complex=True),
    Operator("float_power", np.float_power, powers, domain=positive),
    Operator("hypot", np.hypot, two_arrays),
    Operator("sin", np.sin, one_array, complex=True),
    Operator("cos", np.cos, one_array, complex=True),
    Operator("tan", np.tan, one_array, domain=inside_unit, complex=True),
    Operator("arcsin", np.arcsin, one_array, domain=inside_unit, complex=True),
    Operator("arccos", np.arccos, one_array, domain=inside_unit, complex=True),
    Operator("arctan", np.arctan, one_array, domain=inside_unit, complex=True),
    Operator("sinh", np.sinh, one_array, complex=True),
    Operator("cosh", np.cosh, one_array, complex=True),
    Operator("tanh", np.tanh, one_array, domain=inside_unit, complex=True),
    Operator("arcsinh", np.arcsinh, one_array, domain=inside_unit, complex=True),
    Operator("arccosh", np.arccosh, one_array, domain=above_one),
    Operator("arctanh", np.arctanh, one_array, domain=inside_unit, complex=True),
    Operator("arctan2", np.arctan2, two_arrays, domain=away_from_0),
    Operator("deg2rad", np.deg2rad, one_array),
    Operator("rad2deg", np.rad2deg, one_array),
    Operator("radians", np.radians, one_array),
    Operator("degrees", np.degrees, one_array),
    Operator("sinc", np.sinc, one_array, order=3),
    Operator("sinc near 0", np.sinc, one_array, domain=lambda x: 1e-3 * x, order=3),
    Operator("i0", np.i0, one_array, order=3),
    Operator("absolute", np.absolute, one_array, complex=True),
    Operator("fabs", np.fabs, one_array),
    Operator("copysign", np.copysign, two_arrays),
    Operator("heaviside", np.heaviside, two_arrays),
    Operator("nextafter", np.nextafter, two_arrays),
    Operator("maximum", np.maximum, two_arrays),
    Operator("minimum", np.minimum, two_arrays),
    Operator("fmax", np.fmax, two_arrays),
    Operator("fmin", np.fmin, two_arrays),
    Operator("clip", np.clip, clips),
    Operator("nan_to_num", np.nan_to_num, nans, complex=True),
    Operator("modf", np.modf, one_array),
    Operator("frexp", np.frexp, one_array, domain=lambda x: 1.5 + 0.1 * x),
    Operator("ldexp", np.ldexp, lambda rng: [sample(rng.standard_normal(3), np.array([1, -2, 3]))]),
    Operator("real", np.real, one_array, complex=True),
    Operator("imag", np.imag, one_array, complex=True),
    Operator("conjugate", np.conjugate, one_array, complex=True),
    Operator("angle", np.angle, one_array, domain=away_from_0, complex=True),
    Operator("angle in degrees", np.angle, in_degrees, domain=away_from_0, complex=True),
    Operator("real_if_close", np.real_if_close, one_array, complex=True),
    Operator("sort_complex", np.sort_complex, lambda rng: [sample(rng.standard_normal(5))], complex=True),
]
