"""Facts special to elementwise functions: kinks, ties, edges of domains, keywords."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from table import accepted, sample

import lindiff as ld
from lindiff.testing import check_grads


def gradient(f, *x):
    """The gradients of the sum of ``f`` with respect to all its arguments."""
    y, pullback = ld.vjp(f, *map(np.asarray, x))
    return pullback(np.ones_like(y))


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_ties_are_shared(f):
    assert_allclose(gradient(f, [1.0, 2.0], [1.0, 2.0]), 0.5)


@pytest.mark.parametrize("f", [np.fmax, np.fmin])
def test_fmax_ignores_nan(f):
    x_bar, y_bar = gradient(f, [np.nan, 1.0], [2.0, np.nan])
    assert_allclose(x_bar, [0, 1])
    assert_allclose(y_bar, [1, 0])


def test_absolute_has_slope_0_at_0():
    assert_allclose(gradient(np.abs, [0.0, -2.0, 3.0])[0], [0, -1, 1])
    assert ld.grad(np.abs)(0j) == 0
    assert_allclose(ld.grad(np.abs)(3 + 4j), 0.6 + 0.8j)


def test_hypot_and_arctan2_at_the_origin():
    assert_allclose(gradient(np.hypot, [0.0, 3.0], [0.0, 4.0]), [[0, 0.6], [0, 0.8]])
    assert_allclose(gradient(np.arctan2, [0.0], [0.0]), 0)


def test_power_at_edges():
    x_bar, y_bar = gradient(np.power, [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 3.5])
    assert_allclose(x_bar, [0, 1, 0, 0])
    assert_allclose(y_bar, 0)
    assert_allclose(ld.grad(lambda x: x**0)(0.0), 0)
    assert_allclose(ld.grad(lambda x: x**1.0)(0.0), 1)
    assert_allclose(ld.grad(lambda x: x**3)(-2.0), 12)
    assert_allclose(ld.grad(lambda x: x**-1)(-2.0), -0.25)
    assert np.isinf(ld.grad(lambda x: x**0.5)(0.0))


def test_power_of_a_negative_base_by_the_exponent_is_nan():
    x_bar, y_bar = gradient(np.power, [-2.0], [3.0])
    assert_allclose(x_bar, 12)
    assert np.isnan(y_bar)


def test_power_at_0_has_second_derivatives():
    assert_allclose(ld.hessian(lambda x: x**2)(0.0), 2)
    assert_allclose(ld.hessian(lambda x: x**1)(0.0), 0)
    assert_allclose(ld.hessian(lambda p: p[0] ** p[1])(np.array([0.0, 2.0])), [[2, 0], [0, 0]])
    numerical = [[0, 0.5], [0.5, np.log(2) ** 2]]
    assert_allclose(ld.hessian(lambda p: p[0] ** p[1])(np.array([2.0, 0.0])), numerical, atol=1e-15)


def test_logaddexp_of_infinities():
    inf = np.inf
    x_bar, y_bar = gradient(np.logaddexp, [-inf, inf, -inf, inf, 800.0], [1.0, 1.0, -inf, inf, -800.0])
    assert_allclose(x_bar, [0, 1, 0.5, 0.5, 1])
    assert_allclose(y_bar, [1, 0, 0.5, 0.5, 0], atol=1e-300)


def test_sinc_at_0():
    assert ld.grad(np.sinc)(0.0) == 0
    assert_allclose(ld.hessian(np.sinc)(0.0), -(np.pi**2) / 3)
    assert ld.grad(np.sinc)(np.float32(0.3)).dtype == np.float32


def test_square_root_at_0_of_a_zero_is_0():
    assert ld.grad(lambda x: np.sqrt(np.sum(x * x)))(np.zeros(3)).tolist() == [0, 0, 0]


def test_clip_at_and_beyond_its_bounds():
    x_bar, low_bar, high_bar = gradient(np.clip, [-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0] * 5, [1.0] * 5)
    assert_allclose(x_bar, [0, 0.5, 1, 0.5, 0])
    assert_allclose(low_bar, [1, 0.5, 0, 0, 0])
    assert_allclose(high_bar, [0, 0, 0, 0.5, 1])


def test_clip_keeps_single_precision():
    x = np.array([0.5, 2.0], np.float32)
    assert np.clip(ld.Variable(x), 0.0, 1.0).dtype == np.float32
    assert ld.Variable(x).clip(max=1.0).dtype == np.float32


def test_clip_takes_variables_by_keyword():
    x = np.array([0.0, 3.0])
    assert ld.grad(lambda low: np.sum(np.clip(x, a_min=low, a_max=5.0)))(1.0) == 1
    assert ld.grad(lambda high: np.sum(np.clip(x, a_min=None, a_max=high)))(1.0) == 1
    for keywords in accepted(np.clip, sample(x, min=1.0, max=5.0)):
        assert ld.grad(lambda low, s=keywords: np.sum(np.clip(*s.args, **{**s.kwargs, "min": low})))(1.0) == 1


def test_keywords_of_ufuncs():
    x = ld.Variable([1.0, 2.0])
    assert np.add(x, 1, dtype=np.float32).dtype == np.float32
    assert np.negative(x, dtype=np.float32).dtype == np.float32
    assert ld.grad(lambda x: np.sum(np.multiply(x, x, dtype=np.float32)))(np.ones(2)).dtype == np.float64
    assert ld.value(np.exp(x, out=None)).tolist() == np.exp([1.0, 2.0]).tolist()


def test_out_is_refused():
    x = ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match=r"y = np\.sum"):
        np.sum(x, out=np.zeros(()))
    assert ld.value(np.sum(x, axis=0, out=None)) == 3
    with pytest.raises(TypeError, match=r"y = np\.exp"):
        np.exp(x, out=np.zeros(2))


def test_lists_among_the_arguments():
    assert_allclose(ld.grad(lambda x: np.sum(np.power(x, [2, 3])))(np.array([2.0, 2.0])), [4, 12])
    assert_allclose(ld.grad(lambda x: np.sum(np.maximum([0.0, 3.0], x)))(np.array([2.0, 2.0])), [1, 0])


def test_complex_parts():
    z = 1.0 + 2.0j
    assert ld.grad(np.real)(z) == 1
    assert ld.grad(np.imag)(z) == 1j
    assert ld.grad(lambda z: abs(z) ** 2)(z) == pytest.approx(2 * z)
    assert_allclose(ld.grad(np.angle)(z), 1j * z / abs(z) ** 2)
    assert ld.grad(np.angle)(0j) == 0
    assert ld.grad(lambda z: z**3, holomorphic=True)(z) == pytest.approx(3 * z**2)


def test_unsupported_functions_say_what_to_write():
    x = ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match=r"numpy\.packbits.*acts on integers.*ld\.value"):
        np.packbits(x)


def test_linear_functions_are_linear():
    for f in [
        np.negative,
        np.positive,
        np.deg2rad,
        np.degrees,
        np.conjugate,
        np.cumsum,
        np.diff,
        np.gradient,
    ]:
        y_bar = f(np.ones(4))
        assert ld.linear_transpose(f, np.ones(4))(y_bar)[0].shape == (4,)
    for f in [np.sort, np.abs, np.max, np.prod]:
        with pytest.raises(ValueError, match="not linear"):
            ld.linear_transpose(f, np.ones(4))


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("x", [2.5, -4.0])
def test_derivatives_of_arcsin_and_arccos_on_their_cuts(x, zero):
    z = complex(x, zero)
    expected = 1 / np.cos(np.arcsin(z))
    assert_allclose(ld.grad(np.arcsin, holomorphic=True)(z), expected, rtol=1e-12)
    assert_allclose(ld.grad(np.arccos, holomorphic=True)(z), -expected, rtol=1e-12)


def test_sign_of_complex_numbers():
    """``z / |z|`` turns with its argument; of real numbers the derivative is 0, as at 0."""
    rng = np.random.default_rng(4)
    z, w = rng.standard_normal((2, 5)) + 1j * rng.standard_normal((2, 5))

    def f(z):
        return np.sum(np.real(w * np.sign(z)))

    assert_allclose(ld.grad(f)(z), ld.grad(lambda z: np.sum(np.real(w * (z / np.abs(z)))))(z), rtol=1e-13)
    check_grads(np.sign, (z,), order=3)
    assert ld.grad(lambda z: np.real(np.sign(z)))(0j) == 0
    assert ld.grad(lambda z: np.real(1j * np.sign(z)))(np.complex64(2j)).dtype == np.complex64
    out, mask = np.zeros(5, complex), np.abs(z) > 1
    with pytest.raises(TypeError, match=r"np\.sign\(\.\.\., out=\.\.\.\) cannot write"):
        ld.grad(lambda z: np.real(np.sum(np.sign(z, out=out))))(z)
    masked = ld.grad(lambda z: np.sum(np.real(w * np.sign(z, where=mask, out=0 * z))))(z)
    assert_allclose(masked, np.where(mask, ld.grad(f)(z), 0))
    assert type(ld.jvp(lambda x: np.sign(x), (np.ones(2),), (np.ones(2),))[0]) is np.ndarray


def test_nan_to_num_replaces_parts_of_complex_numbers_one_by_one():
    z = np.array([complex(np.nan, 2.0), complex(1.0, np.inf), 3 + 4j])
    g = ld.grad(
        lambda z: np.sum(np.square(np.real(w := np.nan_to_num(z, posinf=7.0))) + np.square(np.imag(w)))
    )(z)
    assert_allclose(g, [4j, 2, 6 + 8j])
    z_dot = np.array([1 + 2j, 3 + 4j, 5 + 6j])
    assert_allclose(ld.jvp(np.nan_to_num, (z,), (z_dot,))[1], [2j, 3, 5 + 6j])


@pytest.mark.parametrize("exponent", [-1, 0.5])
def test_exponents_that_the_operator_takes_apart(exponent):
    """NumPy's complex ``x ** -1`` is its reciprocal, ``x ** 0.5`` its square root; np.power is neither."""
    z = np.array([np.inf + 0j, -4 - 0j, -1, 2 + 1j])
    with np.errstate(all="ignore"):
        for x in (z, z[3:]):
            np.testing.assert_array_equal(ld.vjp(lambda x: x**exponent, x)[0], x**exponent)
            np.testing.assert_array_equal(
                ld.vjp(lambda x: np.power(x, exponent), x)[0], np.power(x, exponent)
            )
    check_grads(lambda x: np.abs(x**exponent) ** 2, (z[3:],))


@pytest.mark.parametrize("x", [-1e300, -1e160, 1e10, 1e300])
def test_arcsinh_at_any_scale(x):
    np.testing.assert_allclose(ld.grad(np.arcsinh)(x), 1 / abs(x), rtol=1e-14)
