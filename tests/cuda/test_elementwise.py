"""The products and quotients of elementwise differentials, against their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from standin.compiled import compiler

from lindiff.core.arrays import by_kernel

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")


@pytest.fixture
def elementwise(cupy):
    from lindiff_cuda import elementwise

    return elementwise


def samples(rng, shape, dtype):
    """Numbers with zeros, infinities and NaNs among them."""
    x = rng.standard_normal(shape).astype(dtype)
    if x.dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape).astype(x.real.dtype)
        return x
    return np.where(x > 1, np.inf, np.where(x < -1, 0, x)).astype(dtype)


SHAPES = [((4, 5), (4, 5)), ((4, 5), (5,)), ((3, 1), (2, 1, 4)), ((), (3,)), ((0, 2), (2,)), ((2,), ())]
DTYPES = ["ff", "fd", "dF", "DD"]


@pytest.mark.parametrize(("of_g", "of_p"), SHAPES)
@pytest.mark.parametrize("dtypes", DTYPES)
@pytest.mark.parametrize("conjugated", [False, True])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_product_and_quotient(cupy, elementwise, rng, of_g, of_p, dtypes, conjugated):
    g, p = (samples(rng, shape, np.dtype(letter)) for shape, letter in zip((of_g, of_p), dtypes, strict=True))
    q = np.conj(p) if conjugated else p
    wanted = np.where((g == 0) | (q == 0), 0, g * q)
    got = elementwise.product(cupy.asarray(g), cupy.asarray(p), conjugated)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got.get(), wanted, rtol=1e-6)
    got = elementwise.quotient(cupy.asarray(g), cupy.asarray(p + 3))
    np.testing.assert_allclose(got.get(), np.where(g == 0, 0, g / (p + 3)), rtol=1e-5)


@pytest.mark.parametrize("number", [2.0, 3, 1.0 + 2.0j, np.float32(0.5), np.float64(0.5)])
def test_numbers(cupy, elementwise, number):
    g = cupy.asarray(np.array([1.0, 2.0], np.float32))
    got = elementwise.product(g, number, True)
    assert got.dtype == np.result_type(np.float32, number)
    np.testing.assert_allclose(got.get(), np.array([1.0, 2.0]) * np.conj(number))


def test_zero_times_infinity_and_zero_by_zero(cupy, elementwise):
    g, p = cupy.asarray(np.array([0.0, np.inf, 0.0])), cupy.asarray(np.array([np.inf, 0.0, np.nan]))
    assert elementwise.product(g, p).tolist() == [0.0, 0.0, 0.0]
    zero = cupy.asarray(np.zeros(2))
    assert elementwise.quotient(zero, zero).tolist() == [0.0, 0.0]


def test_memory_is_reused_where_it_may_be(cupy, elementwise):
    g, p = cupy.asarray(np.ones((2, 3))), cupy.asarray(np.full(3, 2.0))
    assert elementwise.product(g, p, overwrite=True) is g
    assert g.tolist() == [[2.0] * 3] * 2
    view, complex_p = g[:1], cupy.asarray(np.full(3, 1j))
    assert elementwise.product(view, p, overwrite=True) is not view
    assert elementwise.product(g, complex_p, overwrite=True) is not g
    assert elementwise.product(p, g, overwrite=True) is not p
    assert g.tolist() == [[2.0] * 3] * 2


def test_what_has_no_kernel(cupy):
    x = cupy.asarray(np.ones(2))
    assert by_kernel("product", np.ones(2), 2.0) is None
    assert by_kernel("product", x, np.ones(2)) is None
    assert by_kernel("product", x, 2.0).tolist() == [2.0, 2.0]
