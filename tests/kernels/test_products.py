"""gemm, gemm2, syrk."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .helpers import assert_adjoint, assert_close, general, op, t

FLAGS = list(itertools.product([False, True, "C"], repeat=2))


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
def test_gemm2(kernels, rng, dtype, n, batch, transpose_a, transpose_b):
    A = general(rng, (*batch, n, 3) if not transpose_a else (*batch, 3, n), dtype)
    B = general(rng, (*batch, 3, n) if not transpose_b else (*batch, n, 3), dtype)
    want = -1.5 * op(A, transpose_a) @ op(B, transpose_b)
    assert_close(kernels.gemm2(A, B, transpose_a, transpose_b, alpha=-1.5), want, dtype)
    C = general(rng, want.shape, dtype)
    got = kernels.gemm(A, B, C, transpose_a, transpose_b, alpha=-1.5, beta=0.5)
    assert_close(got, want + C / 2, dtype)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    m=st.integers(0, 20),
    n=st.integers(0, 20),
    k=st.integers(0, 20),
    flags=st.sampled_from(FLAGS),
    kind=st.sampled_from([np.float64, np.complex128]),
)
def test_gemm2_of_any_size(kernels, m, n, k, flags, kind):
    rng = np.random.default_rng(m + 100 * n + 10000 * k)
    A, B = general(rng, (m, k), kind), general(rng, (k, n), kind)
    got = kernels.gemm2(op(A, flags[0]), op(B, flags[1]), *flags)
    assert_close(got, A @ B, kind)


def test_gemm_overwrites_and_does_not_read_with_beta_zero(kernels, rng, dtype):
    A, B, C = general(rng, (3, 4), dtype), general(rng, (4, 5), dtype), np.full((3, 5), np.nan, dtype)
    got = kernels.gemm(A, B, C, beta=0.0, overwrite_c=True)
    assert got is C
    assert_close(C, A @ B, dtype)


def test_gemm_does_not_overwrite_its_own_factor(kernels, rng):
    A = general(rng, (4, 4))
    want = A @ A + A
    got = kernels.gemm(A, A, A, overwrite_c=True)
    assert got is not A
    assert_close(got, want)


def gram(A, B, transpose):
    """What `syrk` computes for A = B."""
    return op(A, transpose) @ B if transpose else A @ t(B)


@pytest.mark.parametrize("transpose", [False, True, "C"])
def test_syrk(kernels, rng, dtype, n, batch, transpose):
    A = general(rng, (*batch, 6, n) if transpose else (*batch, n, 6), dtype)
    want = 2.0 * gram(A, A, transpose)
    got = kernels.syrk(A, transpose=transpose, alpha=2.0)
    assert_close(got, want, dtype)
    np.testing.assert_array_equal(got, op(got, transpose or True))


@pytest.mark.parametrize("transpose", [False, True, "C"])
def test_syrk_pullback(kernels, rng, dtype, n, batch, transpose):
    A, A_dot = general(rng, (2, *batch, *((6, n) if transpose else (n, 6))), dtype)
    B_bar = general(rng, (*batch, n, n), dtype)
    B_dot = 0.5 * (gram(A_dot, A, transpose) + gram(A, A_dot, transpose))
    A_bar = kernels.syrk_pullback(A, B_bar, transpose=transpose, alpha=0.5)
    assert_adjoint([(A_bar, A_dot)], [(B_bar, B_dot)], dtype)
    so_far = general(rng, A.shape, dtype)
    want = so_far + A_bar
    added = kernels.syrk_pullback(A, B_bar, transpose=transpose, alpha=0.5, A_bar=so_far)
    assert_close(added, want, dtype)
    options = {"transpose": transpose, "alpha": 0.5, "overwrite_a_bar": True}
    assert kernels.syrk_pullback(A, B_bar, A_bar=so_far, **options) is so_far
    assert_close(so_far, want, dtype)


def test_syrk_pullback_refuses_another_shape(kernels):
    with pytest.raises(ValueError, match="A_bar"):
        kernels.syrk_pullback(np.ones((2, 3)), np.ones((2, 2)), A_bar=np.ones((3, 2)))
