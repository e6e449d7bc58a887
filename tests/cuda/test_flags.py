"""Which routines of the libraries are called, with which flags and sizes."""

import numpy as np
import pytest
from kernels.helpers import general, spd

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
N, T, C = 0, 1, 2
LEFT, RIGHT = 0, 1
LOWER, UPPER = 0, 1

# The column-major call that a row-major one must become, but for its type letter.
TABLE = {
    "gemm": (
        lambda k, x, p: k.gemm2(x(3, 4), x(4, 5)),
        [("gemm", {"transa": N, "transb": N, "m": 5, "n": 3, "k": 4, "lda": 5, "ldb": 4, "ldc": 5})],
    ),
    "gemm, A transposed": (
        lambda k, x, p: k.gemm2(x(4, 3), x(4, 5), transpose_a=True),
        [("gemm", {"transa": N, "transb": T, "m": 5, "n": 3, "k": 4, "lda": 5, "ldb": 3, "ldc": 5})],
    ),
    "gemm, B adjoint": (
        lambda k, x, p: k.gemm2(x(3, 4), x(5, 4), transpose_b="C"),
        [("gemm", {"transa": C, "transb": N, "m": 5, "n": 3, "k": 4, "lda": 4, "ldb": 4, "ldc": 5})],
    ),
    "gemm, a batch with a shared factor": (
        lambda k, x, p: k.gemm2(x(7, 3, 4), x(4, 5)),
        [("gemmStridedBatched", {"strideA": 0, "strideB": 12, "strideC": 15, "m": 5, "batchCount": 7})],
    ),
    "trsm, lower": (
        lambda k, x, p: k.trsm(p(40), x(40, 3)),
        [
            (
                "trsm",
                {"side": RIGHT, "uplo": UPPER, "trans": N, "diag": 0, "m": 3, "n": 40, "lda": 40, "ldb": 3},
            )
        ],
    ),
    "trsm, upper, adjoint, on the right": (
        lambda k, x, p: k.trsm(p(40), x(3, 40), transpose="C", rightside=True, lower=False),
        [("trsm", {"side": LEFT, "uplo": LOWER, "trans": C, "m": 40, "n": 3, "lda": 40, "ldb": 40})],
    ),
    "trsm, a batch": (
        lambda k, x, p: k.trsm(p(2, 40), x(2, 40, 3), transpose=True),
        [("trsmBatched", {"side": RIGHT, "uplo": UPPER, "trans": T, "m": 3, "n": 40, "batchCount": 2})],
    ),
    "trsm, a batch by halves": (
        lambda k, x, p: k.trsm(p(2, 80), x(2, 80, 3)),
        [
            ("trsmBatched", {"m": 3, "n": 40, "lda": 80, "ldb": 3}),
            ("gemmStridedBatched", {"m": 3, "n": 40, "k": 40, "lda": 3, "ldb": 80, "strideB": 6400}),
            ("trsmBatched", {"m": 3, "n": 40, "lda": 80, "ldb": 3}),
        ],
    ),
    "potrf, lower": (lambda k, x, p: k.potrf(p(40)), [("potrf", {"uplo": UPPER, "n": 40, "lda": 40})]),
    "potrf, upper": (lambda k, x, p: k.potrf(p(40), lower=False), [("potrf", {"uplo": LOWER, "n": 40})]),
    "potrf, a batch": (
        lambda k, x, p: k.potrf(p(3, 40)),
        [("potrfBatched", {"uplo": UPPER, "batchSize": 3})],
    ),
    "getrf and getrs": (
        lambda k, x, p: k.getrs(*k.getrf(p(40)), x(40, 3)),
        [("getrf", {"m": 40, "n": 40, "lda": 40}), ("getrs", {"trans": T, "n": 40, "nrhs": 3, "ldb": 40})],
    ),
    "getrs of one matrix for a batch": (
        lambda k, x, p: k.getrs(*k.getrf(p(40)), x(5, 40, 3), transpose=True),
        [("getrf", {}), ("getrs", {"trans": N, "nrhs": 15})],
    ),
    "inverse, a batch": (
        lambda k, x, p: k.inverse(p(3, 40)),
        [("getrfBatched", {"batchSize": 3}), ("getrsBatched", {"trans": N, "nrhs": 40, "batchSize": 3})],
    ),
}
REAL = {
    "syrk": (
        lambda k, x, p: k.syrk(x(5, 3)),
        [("syrk", {"uplo": UPPER, "trans": T, "n": 5, "k": 3, "lda": 3, "ldc": 5})],
    ),
    "syrk, transposed": (
        lambda k, x, p: k.syrk(x(3, 5), transpose=True),
        [("syrk", {"uplo": UPPER, "trans": N, "n": 5, "k": 3, "lda": 5, "ldc": 5})],
    ),
    "gelqf": (
        lambda k, x, p: k.gelqf(x(40, 50)),
        [("geqrf", {"m": 50, "n": 40, "lda": 50}), ("orgqr", {"m": 50, "n": 40, "k": 40, "lda": 50})],
    ),
    "gesdd": (
        lambda k, x, p: k.gesdd(x(40, 50)),
        [("gesvdj", {"jobz": 1, "econ": 1, "m": 50, "n": 40, "lda": 50, "ldu": 50, "ldv": 40})],
    ),
    "gesdd, a batch": (
        lambda k, x, p: k.gesdd(x(3, 4, 5)),
        [("gesvdjBatched", {"m": 5, "n": 4, "lda": 5, "ldu": 5, "ldv": 4, "batchSize": 3})],
    ),
}


@pytest.fixture
def calls(standin):
    """What has been called of both libraries, in order; emptied."""
    from cupy_backends.cuda.libs import cublas, cusolver

    record = []
    cublas.calls = cusolver.calls = record
    yield record
    cublas.calls, cusolver.calls = [], []


def assert_called(calls, letter, wanted):
    assert [name for name, _ in calls] == [letter + name for name, _ in wanted]
    for (name, got), (_, want) in zip(calls, wanted, strict=True):
        assert {flag: got[flag] for flag in want} == want, name


def makers(cupy, rng, dtype):
    """Matrices of a shape, and positive definite ones of a batch and an order."""
    return (
        lambda *shape: cupy.asarray(general(rng, shape, dtype)),
        lambda *batch: cupy.asarray(spd(rng, batch[:-1], batch[-1], dtype)),
    )


@pytest.mark.parametrize("letter", DTYPES)
@pytest.mark.parametrize("case", TABLE)
def test_calls(standin, rng, calls, letter, case):
    import lindiff_cuda

    call, wanted = TABLE[case]
    call(lindiff_cuda, *makers(standin, rng, DTYPES[letter]))
    assert_called(calls, letter, wanted)


@pytest.mark.parametrize("letter", ["s", "d"])
@pytest.mark.parametrize("case", REAL)
def test_calls_of_real_operators(standin, rng, calls, letter, case):
    import lindiff_cuda

    call, wanted = REAL[case]
    call(lindiff_cuda, *makers(standin, rng, DTYPES[letter]))
    assert_called(calls, letter, wanted)


def test_eigenvalues_go_through_the_interface_of_64_bits(standin, rng, calls):
    import lindiff_cuda

    lindiff_cuda.syevd(standin.asarray(spd(rng, (2,), 40)))
    assert_called(calls, "", 2 * [("xsyevd", {"jobz": 1, "uplo": UPPER, "n": 40, "lda": 40})])
    from cupy_backends.cuda.libs import cusolver

    assert not cusolver.living  # parameters are given back


def test_small_matrices_call_no_library(standin, rng, calls):
    import lindiff_cuda

    A, X = standin.asarray(spd(rng, (5,), 4)), standin.asarray(general(rng, (5, 4, 4)))
    L = lindiff_cuda.potrf(A)
    lindiff_cuda.potrf_pullback(L, X)
    lindiff_cuda.trsm_pullback(L, X, X)
    lindiff_cuda.syevd_pullback(*lindiff_cuda.syevd(A), X, None)
    assert not calls


def test_nothing_reaches_a_library_empty(standin, calls):
    import lindiff_cuda

    for shape in [(0, 0), (0, 5, 5), (3, 0, 0)]:
        A = standin.zeros(shape)
        for name in ("potrf", "potri", "getrf", "inverse", "gelqf", "syevd", "gesdd", "expm", "slogdet"):
            getattr(lindiff_cuda, name)(A)
        lindiff_cuda.gemm2(A, A)
        lindiff_cuda.trsm(A, A)
    assert (lindiff_cuda.gemm2(standin.zeros((2, 0)), standin.zeros((0, 3))) == 0).all()
    assert not calls


def test_pointer_mode_is_left_as_it_was(standin, rng):
    from cupy_backends.cuda.libs import cublas

    import lindiff_cuda

    A = standin.asarray(general(rng, (4, 4)))
    cublas.setPointerMode(1, cublas.CUBLAS_POINTER_MODE_DEVICE)
    try:
        got = lindiff_cuda.gemm2(A, A)
        assert cublas.getPointerMode(1) == cublas.CUBLAS_POINTER_MODE_DEVICE
        with pytest.raises(RuntimeError, match="INVALID_VALUE"):
            lindiff_cuda.rowmajor.gemm(A[None], standin.zeros((1, 4, 2)), A[None].copy())
        assert cublas.getPointerMode(1) == cublas.CUBLAS_POINTER_MODE_DEVICE
    finally:
        cublas.setPointerMode(1, cublas.CUBLAS_POINTER_MODE_HOST)
    np.testing.assert_allclose(got.get(), A.get() @ A.get())


def in_tf32(X):
    """Numbers with the 10 bits behind the point that TF32 has."""
    mantissa, exponent = np.frexp(X.astype(np.float64))
    digits = np.trunc(np.ldexp(mantissa, 11) + np.copysign(0.5, mantissa))
    return np.ldexp(digits, exponent - 11).astype(np.float32)


@pytest.mark.parametrize("shape", [(40, 40), (3, 40, 40)])
def test_products_of_float32_are_as_exact_as_cupys(standin, rng, shape):
    """With CUPY_TF32, forward and backward; the handle's mode is left as it was."""
    from cupy._core import set_compute_type
    from cupy_backends.cuda.libs import cublas

    import lindiff_cuda as k

    hosts = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    A, B = map(standin.asarray, hosts)
    rounded = [in_tf32(X) for X in hosts]
    exact = k.gemm2(A, B).get()
    np.testing.assert_allclose(exact, hosts[0] @ hosts[1], rtol=0, atol=5e-5)
    set_compute_type(np.float32, 7)  # TF32
    try:
        product = k.gemm2(A, B).get()
        gram = k.syrk(A).get()
        pulled = k.syrk_pullback(A, B).get()
    finally:
        set_compute_type(np.float32, 1)
    # sums of 40 products in any order; what TF32 leaves out is a hundred times as much
    np.testing.assert_allclose(product, rounded[0] @ rounded[1], rtol=0, atol=5e-5)
    np.testing.assert_allclose(gram, rounded[0] @ rounded[0].swapaxes(-1, -2), rtol=0, atol=5e-5)
    twice = in_tf32(hosts[1] + hosts[1].swapaxes(-1, -2))
    np.testing.assert_allclose(pulled, twice @ rounded[0], rtol=0, atol=1e-4)
    assert np.abs(product - exact).max() > 1e-4
    assert cublas.getMathMode(1) == 0
    np.testing.assert_array_equal(k.gemm2(A, B).get(), exact)
