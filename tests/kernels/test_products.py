"""gemm, gemm2, syrk."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lindiff import kernels

from .helpers import assert_adjoint, assert_close, general, t

FLAGS = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
def test_gemm2(rng, dtype, n, batch, transpose_a, transpose_b):
    A = general(rng, (*batch, n, 3) if not transpose_a else (*batch, 3, n), dtype)
    B = general(rng, (*batch, 3, n) if not transpose_b else (*batch, n, 3), dtype)
    want = -1.5 * (t(A) if transpose_a else A) @ (t(B) if transpose_b else B)
    assert_close(kernels.gemm2(A, B, transpose_a, transpose_b, alpha=-1.5), want, dtype)
    C = general(rng, want.shape, dtype)
    got = kernels.gemm(A, B, C, transpose_a, transpose_b, alpha=-1.5, beta=0.5)
    assert_close(got, want + C / 2, dtype)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(m=st.integers(0, 20), n=st.integers(0, 20), k=st.integers(0, 20), flags=st.sampled_from(FLAGS))
def test_gemm2_of_any_size(m, n, k, flags):
    rng = np.random.default_rng(m + 100 * n + 10000 * k)
    A, B = general(rng, (m, k)), general(rng, (k, n))
    got = kernels.gemm2(t(A) if flags[0] else A, t(B) if flags[1] else B, *flags)
    assert_close(got, A @ B)


def test_gemm_overwrites_and_does_not_read_with_beta_zero(rng):
    A, B, C = general(rng, (3, 4)), general(rng, (4, 5)), np.full((3, 5), np.nan)
    got = kernels.gemm(A, B, C, beta=0.0, overwrite_c=True)
    assert got is C
    assert_close(C, A @ B)


def test_gemm_does_not_overwrite_its_own_factor(rng):
    A = general(rng, (4, 4))
    want = A @ A + A
    got = kernels.gemm(A, A, A, overwrite_c=True)
    assert got is not A
    assert_close(got, want)


@pytest.mark.parametrize("transpose", [False, True])
def test_syrk(rng, dtype, n, batch, transpose):
    A = general(rng, (*batch, n, 6), dtype)
    if transpose:
        A = np.ascontiguousarray(t(A))
    want = 2.0 * (t(A) @ A if transpose else A @ t(A))
    got = kernels.syrk(A, transpose=transpose, alpha=2.0)
    assert_close(got, want, dtype)
    np.testing.assert_array_equal(got, t(got))


@pytest.mark.parametrize("transpose", [False, True])
def test_syrk_pullback(rng, dtype, n, batch, transpose):
    A, A_dot = general(rng, (2, *batch, *((6, n) if transpose else (n, 6))), dtype)
    B_bar = general(rng, (*batch, n, n), dtype)
    B_dot = 0.5 * (t(A_dot) @ A + t(A) @ A_dot if transpose else A_dot @ t(A) + A @ t(A_dot))
    A_bar = kernels.syrk_pullback(A, B_bar, transpose=transpose, alpha=0.5)
    assert_adjoint([(A_bar, A_dot)], [(B_bar, B_dot)], dtype)
