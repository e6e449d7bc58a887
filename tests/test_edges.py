"""The exact values of derivatives at the edges of domains: they are rules, not accidents of rounding.

Outside of its domain a function is NaN.  What its derivative is there is left to the formula; the product
with a cotangent 0 is 0 everywhere.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import lindiff as ld

INF, NAN = math.inf, math.nan
LN2, LN10 = math.log(2), math.log(10)

# function: (argument, derivative), ...
OF_ONE_ARGUMENT = {
    "absolute": [(0.0, 0.0), (-0.0, 0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
    "fabs": [(0.0, 0.0), (-0.0, 0.0), (INF, 1.0), (-INF, -1.0)],
    "sqrt": [(0.0, INF), (-0.0, INF), (INF, 0.0), (1e-200, 5e99)],
    "cbrt": [(0.0, INF), (-0.0, INF), (INF, 0.0), (-8.0, 1 / 12)],
    "square": [(0.0, 0.0), (INF, INF), (-INF, -INF)],
    "reciprocal": [(0.0, -INF), (-0.0, -INF), (INF, 0.0), (-INF, 0.0)],
    "exp": [(-INF, 0.0), (INF, INF), (1000.0, INF), (-1000.0, 0.0)],
    "exp2": [(-INF, 0.0), (INF, INF), (0.0, LN2)],
    "expm1": [(-INF, 0.0), (INF, INF), (0.0, 1.0)],
    "log": [(0.0, INF), (-0.0, INF), (INF, 0.0)],
    "log2": [(0.0, INF), (-0.0, INF), (INF, 0.0), (1.0, 1 / LN2)],
    "log10": [(0.0, INF), (-0.0, INF), (INF, 0.0), (1.0, 1 / LN10)],
    "log1p": [(-1.0, INF), (0.0, 1.0), (INF, 0.0)],
    "sin": [(0.0, 1.0), (INF, NAN)],
    "cos": [(0.0, 0.0), (INF, NAN)],
    "tan": [(0.0, 1.0), (INF, NAN)],
    "arcsin": [(1.0, INF), (-1.0, INF), (0.0, 1.0), (2.0, NAN)],
    "arccos": [(1.0, -INF), (-1.0, -INF), (0.0, -1.0), (2.0, NAN)],
    "arctan": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0)],
    "sinh": [(0.0, 1.0), (INF, INF), (-INF, INF)],
    "cosh": [(0.0, 0.0), (INF, INF), (-INF, -INF)],
    "tanh": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (1000.0, 0.0)],
    "arcsinh": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (1e200, 1e-200)],
    "arccosh": [(1.0, INF), (INF, 0.0), (0.0, NAN)],
    "arctanh": [(1.0, INF), (-1.0, INF), (0.0, 1.0)],
    "sinc": [(0.0, 0.0), (-0.0, 0.0), (1.0, -1.0), (2.0, 0.5)],
    "i0": [(0.0, 0.0), (-0.0, 0.0)],
    "nan_to_num": [(0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, 0.0)],
    "angle": [(0.0, 0.0), (-1.0, 0.0)],
}

# function: (arguments, derivatives), ...
OF_TWO_ARGUMENTS = {
    "power": [
        ((0.0, 0.0), (0.0, 0.0)),
        ((0.0, 1.0), (1.0, 0.0)),
        ((0.0, 2.0), (0.0, 0.0)),
        ((0.0, 0.5), (INF, 0.0)),
        ((0.0, -1.0), (-INF, 0.0)),
        ((-2.0, 3.0), (12.0, NAN)),
        ((-2.0, 0.0), (0.0, NAN)),
        ((-8.0, 1 / 3), (NAN, NAN)),
        ((1.0, INF), (INF, 0.0)),
        ((INF, 1.0), (1.0, INF)),
    ],
    "float_power": [((0.0, 0.0), (0.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)), ((-2.0, 3.0), (12.0, NAN))],
    "divide": [
        ((1.0, 0.0), (INF, -INF)),
        ((-1.0, 0.0), (INF, INF)),
        ((1.0, INF), (0.0, 0.0)),
        ((0.0, 0.5), (2.0, 0.0)),
    ],
    "hypot": [
        ((0.0, 0.0), (0.0, 0.0)),
        ((0.0, -3.0), (0.0, -1.0)),
        ((INF, 1.0), (1.0, 0.0)),
        ((2.0, -INF), (0.0, -1.0)),
        ((3e200, 4e200), (0.6, 0.8)),
    ],
    "arctan2": [
        ((0.0, 0.0), (0.0, 0.0)),
        ((0.0, 1.0), (1.0, 0.0)),
        ((0.0, -1.0), (-1.0, 0.0)),
        ((1.0, 0.0), (0.0, -1.0)),
        ((INF, 1.0), (0.0, 0.0)),
        ((1.0, -INF), (0.0, 0.0)),
        ((INF, INF), (0.0, 0.0)),
        ((1e200, 1e200), (5e-201, -5e-201)),
    ],
    "logaddexp": [
        ((-INF, 1.0), (0.0, 1.0)),
        ((-INF, -INF), (0.5, 0.5)),
        ((INF, INF), (0.5, 0.5)),
        ((INF, 1.0), (1.0, 0.0)),
        ((1e300, -1e300), (1.0, 0.0)),
    ],
    "logaddexp2": [((-INF, 1.0), (0.0, 1.0)), ((-INF, -INF), (0.5, 0.5)), ((1.0, 1.0), (0.5, 0.5))],
    "remainder": [((1.0, INF), (1.0, 0.0)), ((7.0, 2.0), (1.0, -3.0)), ((-7.0, 2.0), (1.0, 4.0))],
    "fmod": [((1.0, INF), (1.0, 0.0)), ((7.0, 2.0), (1.0, -3.0)), ((-7.0, 2.0), (1.0, 3.0))],
    "copysign": [((0.0, -1.0), (0.0, 0.0)), ((2.0, -0.0), (-1.0, 0.0)), ((-2.0, -1.0), (1.0, 0.0))],
    "heaviside": [((0.0, 0.5), (0.0, 1.0)), ((1.0, 0.5), (0.0, 0.0))],
    "maximum": [
        ((1.0, 1.0), (0.5, 0.5)),
        ((0.0, -0.0), (0.5, 0.5)),
        ((INF, INF), (0.5, 0.5)),
        ((NAN, 1.0), (1.0, 1.0)),
    ],
    "minimum": [((1.0, 1.0), (0.5, 0.5)), ((-INF, 1.0), (1.0, 0.0)), ((1.0, NAN), (1.0, 1.0))],
    "fmax": [((1.0, 1.0), (0.5, 0.5)), ((NAN, 1.0), (0.0, 1.0)), ((1.0, NAN), (1.0, 0.0))],
    "fmin": [((1.0, 1.0), (0.5, 0.5)), ((NAN, 1.0), (0.0, 1.0)), ((1.0, NAN), (1.0, 0.0))],
}


def slopes(f, *x):
    """The derivatives with respect to each argument, found in both modes."""
    y, pullback = ld.vjp(f, *x)
    pulled = pullback(np.ones_like(y))
    for k, x_bar in enumerate(pulled):
        x_dot = tuple(np.full_like(a, k == i) for i, a in enumerate(x))
        pushed = ld.jvp(f, x, x_dot)[1]
        np.testing.assert_allclose(pushed, x_bar, rtol=1e-14)
    return pulled


@pytest.mark.parametrize("form", ["array", "number", "single precision"])
@pytest.mark.parametrize("name", OF_ONE_ARGUMENT)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_one_argument(name, form):
    check(getattr(np, name), [((x,), (slope,)) for x, slope in OF_ONE_ARGUMENT[name]], form)


@pytest.mark.parametrize("form", ["array", "number", "single precision"])
@pytest.mark.parametrize("name", OF_TWO_ARGUMENTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_two_arguments(name, form):
    check(getattr(np, name), OF_TWO_ARGUMENTS[name], form)


def check(f, facts, form):
    if form == "single precision":
        facts = [fact for fact in facts if all(abs(x) < 1e30 or not math.isfinite(x) for x in fact[0])]
        facts = [fact for fact in facts if all(abs(x) > 1e-30 or x == 0 for x in fact[0] if x == x)]
    dtype = np.float32 if form == "single precision" else np.float64
    columns = [np.array(column, dtype) for column in zip(*(x for x, _ in facts), strict=True)]
    expected = [np.array(column) for column in zip(*(slope for _, slope in facts), strict=True)]
    rtol = 1e-6 if form == "single precision" else 1e-14
    if form != "number":
        for got, wanted in zip(slopes(f, *columns), expected, strict=True):
            assert got.dtype == (dtype if f is not np.float_power else got.dtype)
            np.testing.assert_allclose(got, wanted, rtol=rtol)
        return
    for x, wanted in facts:
        got = [ld.grad(f, argnums=k)(*x) for k in range(len(x))]
        np.testing.assert_allclose(got, wanted, rtol=rtol)


# -- what is not taken does not matter -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "bad"),
    [
        (np.sqrt, -1.0),
        (np.sqrt, 0.0),
        (np.log, 0.0),
        (np.log, -1.0),
        (np.arcsin, 2.0),
        (np.arccosh, 0.5),
        (np.reciprocal, 0.0),
        (lambda x: x**0.5, -1.0),
        (lambda x: 0.5**x / x, 0.0),
        (lambda x: np.linalg.norm(x[:, None], axis=1), 0.0),
        (lambda x: np.sqrt(x) / x, 0.0),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_with_nan_or_infinity_in_the_branch_not_taken(f, bad):
    x = np.array([bad, 1.5])

    def masked(x):
        return np.sum(np.where(x == bad, 3.0 * x, f(x)))

    expected = ld.grad(lambda x: np.sum(f(x)))(np.array([1.5]))[0]
    np.testing.assert_allclose(ld.grad(masked)(x), [3.0, expected], rtol=1e-14)
    np.testing.assert_allclose(ld.jvp(masked, (x,), (np.ones(2),))[1], 3.0 + expected, rtol=1e-14)


# -- reductions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "slope"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([0.0, 3.0, 4.0], [12.0, 0.0, 0.0]),
        ([0.0, 3.0, 0.0], [0.0, 0.0, 0.0]),
        ([-0.0, 3.0], [3.0, 0.0]),
        ([0.0], [1.0]),
        ([], []),
    ],
)
def test_product_with_zeros(x, slope):
    for f in (np.prod, np.multiply.reduce, lambda x: np.sum(np.cumprod(x)[-1:])):
        np.testing.assert_array_equal(ld.grad(f)(np.array(x)), slope)


def test_hessian_of_a_product_with_two_zeros():
    np.testing.assert_array_equal(
        ld.hessian(np.prod)(np.array([0.0, 0.0, 5.0])), [[0, 5, 0], [5, 0, 0], [0, 0, 0]]
    )


@pytest.mark.parametrize("f", [np.std, np.nanstd, np.var, np.ptp, lambda x: np.linalg.norm(x - np.mean(x))])
def test_spread_of_constants(f):
    np.testing.assert_array_equal(ld.grad(f)(np.full(3, 2.5)), np.zeros(3))
    np.testing.assert_array_equal(ld.grad(f)(np.array([2.5])), np.zeros(1))


@pytest.mark.parametrize("order", [None, 1, 2, 3, 0.5, INF, -INF])
def test_norm_at_zero(order):
    np.testing.assert_array_equal(ld.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("f", [np.max, np.min, np.nanmax, np.maximum.reduce, np.fmin.reduce, np.median])
def test_ties_of_order_statistics_are_shared(f):
    slope = ld.grad(f)(np.array([1.0, 1.0]))
    np.testing.assert_array_equal(slope, [0.5, 0.5])


def test_extremes_with_nan_are_the_nan():
    for f in (np.max, np.min):
        np.testing.assert_array_equal(ld.grad(f)(np.array([1.0, NAN])), [0.0, 1.0])


@pytest.mark.parametrize("f", [np.sum, np.prod, np.add.reduce, np.linalg.norm, np.nansum])
def test_empty_arrays_have_empty_gradients(f):
    for shape in [(0,), (2, 0)]:
        assert ld.grad(lambda x: np.sum(f(x)))(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("f", [np.max, np.min, np.ptp, np.maximum.reduce])
def test_extremes_of_nothing_raise_as_in_numpy(f):
    with pytest.raises(ValueError, match="zero-size array"):
        ld.grad(f)(np.zeros(0))


def test_arrays_without_axes_and_numbers():
    for f in (np.sum, np.mean, np.max, np.prod, np.linalg.norm, np.cumsum, np.sort, np.ravel, np.median):
        summed = lambda x, f=f: np.sum(f(np.reshape(x, (1,))))
        for x in (2.0, np.float32(2.0), np.array(2.0), 2):
            slope = ld.grad(summed)(x)
            assert slope == 1
            assert np.ndim(slope) == 0
            assert slope.dtype == (np.float32 if isinstance(x, np.float32) else np.float64)


@pytest.mark.parametrize("scale", [1e-150, 1e-120, 1e120, 1e150])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, scale: np.linalg.norm(x) / scale,
        lambda x, scale: np.sum(x / np.linalg.norm(x) * np.arange(3.0)),
        lambda x, scale: np.sum(np.linalg.norm(np.stack([x, 2.0 * x + x[::-1]]), axis=1)) / scale,
        lambda x, scale: np.std(x) / scale,
        lambda x, scale: np.arctan2(x[0], x[1]),
        lambda x, scale: np.angle(x[0] + 1j * x[2]),
        lambda x, scale: np.hypot(x[0], x[1]) / scale,
        lambda x, scale: np.corrcoef(x, [1.0, 0.2, 0.5])[0, 1],
    ],
)
def test_second_derivatives_do_not_depend_on_the_unit(f, scale):
    x, d = np.array([1.1, 0.7, -0.4]), np.array([0.3, -0.2, 0.5])
    expected = ld.hvp(lambda x: f(x, 1.0), (x,), (d,))
    at_scale = lambda x: f(x, scale)
    np.testing.assert_allclose(ld.hvp(at_scale, (x * scale,), (d * scale,)) * scale, expected, rtol=1e-10)
    gradient_along = ld.grad(lambda x: ld.grad(at_scale)(x) @ (d * scale))
    np.testing.assert_allclose(gradient_along(x * scale) * scale, expected, rtol=1e-10)
    first = lambda x: ld.jvp(at_scale, (x,), (d * scale,))[1]
    second = ld.jvp(first, (x * scale,), (d * scale,))[1]
    np.testing.assert_allclose(second, expected @ d, rtol=1e-10)
