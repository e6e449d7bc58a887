"""Variables as arrays of the Array API standard, whose namespace is ``lindiff.numpy``."""

import math
import operator

import numpy
import pytest

import lindiff as ld
import lindiff.numpy as np
from lindiff.testing import check_grads

# The names of the standard, version 2024.12.
MAIN = """
    e inf nan newaxis pi arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
    ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32
    int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 abs acos acosh add asin asinh atan
    atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil
    clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag
    isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
    logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
    round sign signbit sin sinh square sqrt subtract tan tanh trunc take matmul matrix_transpose tensordot
    vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll
    squeeze stack tile argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts
    unique_inverse unique_values argsort sort max mean min prod std sum var all any diff take_along_axis
    linalg fft
"""
SINCE_2_1 = "unstack cumulative_sum cumulative_prod __array_namespace_info__ __array_api_version__"
LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"


def test_names_of_the_standard():
    wanted = MAIN.split() + (SINCE_2_1.split() if numpy.__array_api_version__ >= "2023.12" else [])
    assert [name for name in wanted if not hasattr(np, name)] == []
    assert [name for name in LINALG.split() if not hasattr(np.linalg, name)] == []
    assert [name for name in FFT.split() if not hasattr(np.fft, name)] == []


def test_namespace_and_device():
    v = ld.Variable([1.0, 2.0])
    assert v.__array_namespace__() is np
    assert v.__array_namespace__(api_version="2022.12") is np
    with pytest.raises(ValueError, match="version"):
        v.__array_namespace__(api_version="2999.12")
    assert v.device == "cpu"
    assert v.to_device("cpu") is v
    with pytest.raises(ValueError, match="device"):
        v.to_device("gpu")
    assert np.zeros(2).__array_namespace__() is np


def softplus_of_distances(x, y):
    """A function as libraries write them for any array type."""
    xp = x.__array_namespace__()
    assert xp.isdtype(x.dtype, "real floating")
    d = xp.expand_dims(x, axis=1) - xp.expand_dims(y, axis=0)
    squares = xp.sum(d * d, axis=-1)
    big = xp.asarray(30.0, dtype=x.dtype, device=x.device)
    smooth = xp.where(squares > big, squares, xp.log1p(xp.exp(xp.minimum(squares, big))))
    weights = xp.astype(xp.arange(1, smooth.shape[1] + 1, device=x.device), x.dtype)
    ends = xp.concat([smooth @ weights, xp.linalg.vector_norm(xp.permute_dims(smooth, (1, 0)), axis=0)])
    total = xp.zeros(ends.shape, dtype=ends.dtype, device=ends.device)
    total[...] = ends
    return xp.cumulative_sum(total) if hasattr(xp, "cumulative_sum") else xp.cumsum(total)


def test_functions_written_against_the_standard():
    rng = numpy.random.default_rng(0)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    check_grads(lambda x: softplus_of_distances(x, np.asarray(y) + 0 * x[0]), (x,), order=2)


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")

    def f(x):
        xp = compat.array_namespace(x)
        assert xp is np
        assert compat.is_array_api_obj(x)
        assert compat.device(x) == "cpu"
        assert compat.size(x) == 3
        return xp.sum(compat.to_device(x, "cpu") ** 2)

    numpy.testing.assert_array_equal(ld.grad(f)(numpy.arange(3.0)), [0.0, 2.0, 4.0])


def test_copies_as_array_api_compat_asks_for_them():
    always, if_needed, never = numpy._CopyMode.ALWAYS, numpy._CopyMode.IF_NEEDED, numpy._CopyMode.NEVER

    def f(x):
        for make in (np.array, np.asarray, np.asanyarray):
            assert make(x, copy=if_needed) is make(x, copy=None) is make(x, copy=never) is x
            assert make(x, copy=always) is not x
            assert make(x, dtype=numpy.float32, copy=if_needed).dtype == numpy.float32
            with pytest.raises(ValueError, match="Unable to avoid copy"):
                make(x, dtype=numpy.float32, copy=never)
        return np.sum(np.array(x, copy=if_needed) * np.array(x, copy=always))

    numpy.testing.assert_array_equal(ld.grad(f)(numpy.arange(3.0)), [0.0, 2.0, 4.0])


def test_dlpack():
    """Constants give their memory; what has a derivative refuses, and says what to write."""

    def f(x):
        for constant in (np.zeros(3), np.zeros((2, 3)).T, np.array(2.0)):
            assert type(constant) is ld.Variable
            assert constant.__dlpack_device__() == (1, 0)
            shared = numpy.from_dlpack(constant)
            assert type(shared) is numpy.ndarray
            assert (shared.shape, shared.strides) == (constant.shape, constant.strides)
            constant[...] = 1.0
            assert (shared == 1.0).all()
            with pytest.raises(TypeError):
                constant[...] = x[0]
        freed = np.zeros(3)
        numpy.from_dlpack(freed)
        freed[0] = x[0]
        assert x.__dlpack_device__() == (1, 0)
        for refused in (x, x[0], freed):
            with pytest.raises(TypeError, match=r"ld\.value\("):
                numpy.from_dlpack(refused)
        assert numpy.shares_memory(numpy.from_dlpack(ld.value(x)), ld.value(x))
        return np.sum(freed**2)

    numpy.testing.assert_array_equal(ld.grad(f)(numpy.arange(1.0, 4.0)), [2.0, 0.0, 0.0])
    v = ld.Variable(numpy.arange(3.0))
    with pytest.raises(TypeError, match=r"ld\.value\("):
        numpy.from_dlpack(v)


def test_operators_of_integers_and_booleans():
    """What has no derivative is NumPy's, with all of its operators; floating numbers refuse, as NumPy's."""

    def f(x):
        mask, count = x > 1.0, np.arange(3)
        assert (mask & ~mask).sum() == 0
        assert ((mask | False) ^ True).sum() == (~mask).sum()
        count <<= 1
        count |= 1
        assert [*(count >> 1 & 3)] == [0, 1, 2]
        assert np.array([10, 20, 30])[operator.index(count[0])] == 20
        for op in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift):
            for a, b in ((x, 1), (1, x), (np.zeros(3), 1), (x, count), (count, x)):
                with pytest.raises(TypeError):
                    op(a, b)
        for constant, there in ((np.zeros(()), 0.0), (np.ones((), complex), 1.0)):
            assert complex(constant) == there
        with pytest.raises(TypeError):
            operator.invert(x)
        for to_number in (operator.index, complex, math.trunc):
            with pytest.raises(TypeError):
                to_number(x)
        assert math.trunc(-x[0] * 2.5) == -2
        return np.sum(x[mask])

    numpy.testing.assert_array_equal(ld.grad(f)(numpy.arange(1.0, 4.0)), [0.0, 1.0, 1.0])


SCIPY = """
import numpy as np
import scipy.integrate, scipy.special, scipy.stats
import lindiff as ld
from lindiff.testing import check_grads

x = np.array([0.5, 1.5, 2.5, 3.0])
for name, f in {
    "logsumexp": scipy.special.logsumexp,
    "softmax": scipy.special.softmax,
    "erf": lambda v: scipy.special.erf(v),
    "xlogy": lambda v: scipy.special.xlogy(v, v),
    "gmean": scipy.stats.gmean,
    "skew": scipy.stats.skew,
    "zscore": scipy.stats.zscore,
    "trapezoid": scipy.integrate.trapezoid,
}.items():
    try:
        check_grads(f, (x,), order=1)
    except Exception as error:
        raise AssertionError(name) from error
print("all right")
"""


@pytest.mark.skipif(
    tuple(map(int, __import__("scipy").__version__.split(".")[:2])) < (1, 16), reason="fewer of its functions"
)
def test_scipy_with_array_api(alone):
    """SciPy's functions for any array library; the switch is read when SciPy is imported."""
    assert alone(SCIPY, SCIPY_ARRAY_API="1") == "all right\n"
