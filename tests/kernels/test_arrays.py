"""What all kernels share: layouts, dtypes, shapes, errors, ownership, threads."""

import doctest
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lindiff import kernels

from .helpers import assert_close, general, layouts, spd, triangular


def eigenvalues(U):
    return np.arange(U.shape[-1]).astype(U.dtype)


OPERATORS = {
    "gemm2": (kernels.gemm2, 2),
    "gemm": (kernels.gemm, 3),
    "syrk": (kernels.syrk, 1),
    "syrk_pullback": (kernels.syrk_pullback, 2),
    "trmm": (kernels.trmm, 2),
    "trsm": (kernels.trsm, 2),
    "trmm_pullback": (kernels.trmm_pullback, 3),
    "trsm_pullback": (kernels.trsm_pullback, 3),
    "copyltu": (kernels.copyltu, 1),
    "potrf": (kernels.potrf, 1),
    "potrf_pullback": (kernels.potrf_pullback, 2),
    "potrf_pushforward": (kernels.potrf_pushforward, 2),
    "potri": (kernels.potri, 1),
    "potri_pullback": (kernels.potri_pullback, 3),
    "potri_pushforward": (kernels.potri_pushforward, 3),
    "getrf": (kernels.getrf, 1),
    "gelqf": (kernels.gelqf, 1),
    "gelqf_l": (kernels.gelqf_l, 1),
    "gelqf_pullback": (kernels.gelqf_pullback, 4),
    "gelqf_pushforward": (kernels.gelqf_pushforward, 3),
    "gelqf_l_pullback": (kernels.gelqf_l_pullback, 3),
    "gelqf_l_pushforward": (kernels.gelqf_l_pushforward, 3),
    "syevd": (kernels.syevd, 1),
    "syevd_pullback": (lambda U, X: kernels.syevd_pullback(U, eigenvalues(U), X, None), 2),
    "syevd_pushforward": (lambda U, X: kernels.syevd_pushforward(U, eigenvalues(U), X), 2),
    "getrs": (lambda LU, B: kernels.getrs(LU, np.arange(LU.shape[-1]), B), 2),
    "getri": (lambda LU: kernels.getri(LU, np.arange(LU.shape[-1])), 1),
    "expm": (kernels.expm, 1),
    "expm_pullback": (lambda A, X: kernels.expm_pullback(*kernels.expm_keeping(A), X), 2),
    "expm_pushforward": (lambda A, X: kernels.expm_pushforward(*kernels.expm_keeping(A), X), 2),
    "inverse": (kernels.inverse, 1),
    "inverse_pullback": (kernels.inverse_pullback, 2),
    "inverse_pushforward": (kernels.inverse_pushforward, 2),
    "det": (kernels.det, 1),
    "slogdet": (kernels.slogdet, 1),
    "slogdet_pullback": (
        lambda LU: kernels.slogdet_pullback(LU, np.arange(LU.shape[-1]), np.float32(2)),
        1,
    ),
    "eigh": (kernels.eigh, 1),
    "eigh_pullback": (lambda V, X: kernels.eigh_pullback(eigenvalues(V), V, None, X), 2),
    "eigh_pushforward": (lambda V, X: kernels.eigh_pushforward(eigenvalues(V), V, X), 2),
    "gesdd": (kernels.gesdd, 1),
    "gesdd_pullback": (
        lambda U, Vh, U_bar, Vh_bar: kernels.gesdd_pullback(U, eigenvalues(U), Vh, U_bar, None, Vh_bar),
        4,
    ),
    "gesdd_pushforward": (lambda U, Vh, X: kernels.gesdd_pushforward(U, eigenvalues(U), Vh, X), 3),
}


REAL_ONLY = {name for name in OPERATORS if name.startswith(("expm", "gelqf", "syevd", "eigh", "gesdd"))}


def results(y):
    return y if isinstance(y, tuple) else (y,)


@pytest.fixture(params=OPERATORS)
def operator(request):
    return OPERATORS[request.param]


@pytest.fixture(params=[name for name in OPERATORS if name not in REAL_ONLY])
def complex_operator(request):
    return OPERATORS[request.param]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("order", [4, 11])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_layouts(rng, kind, operator, order, batch):
    check_layouts(rng, kind, operator, order, batch)


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("order", [4, 11])
def test_layouts_of_complex(rng, kind, complex_operator, order):
    check_layouts(rng, kind, complex_operator, order, (2,))


def check_layouts(rng, dtype, operator, order, batch):
    f, arguments = operator
    inputs = [layouts(spd(rng, batch, order, dtype)) for _ in range(arguments)]
    want = results(f(*[x["C"] for x in inputs]))
    for layout in inputs[0]:
        given = [x[layout] for x in inputs]
        before = [x.copy() for x in given]
        got = results(f(*given))
        for x, y in zip(got, want, strict=True):
            assert x.dtype == y.dtype
            assert x.flags.c_contiguous
            np.testing.assert_allclose(x, y, rtol=1e-3 if np.finfo(dtype).bits == 32 else 1e-10, atol=1e-5)
        for x, y in zip(given, before, strict=True):
            np.testing.assert_array_equal(x, y)
            assert not any(np.shares_memory(x, y) for y in got)


def test_dtypes(rng, operator):
    f, arguments = operator
    X = spd(rng, (), 3)
    assert results(f(*[X.astype(np.float32)] * arguments))[0].dtype == np.float32
    assert results(f(*[np.eye(3, dtype=int)] * arguments))[0].dtype == np.float64
    if arguments > 1:
        assert results(f(X.astype(np.float32), *[X] * (arguments - 1)))[0].dtype == np.float64
    for bad in (np.float16, np.longdouble, np.clongdouble, object):
        with pytest.raises(TypeError, match=r"float32.* work"):
            f(*[X.astype(bad)] * arguments)


def test_dtypes_of_complex(rng, complex_operator):
    f, arguments = complex_operator
    X = spd(rng, (), 3, complex)
    assert results(f(*[X] * arguments))[0].dtype == np.complex128
    assert results(f(*[X.astype(np.complex64)] * arguments))[0].dtype == np.complex64
    if arguments > 1:
        others = [X.astype(np.complex64)] * (arguments - 1)
        assert results(f(np.eye(3, dtype=np.float32), *others))[0].dtype == np.complex64
        assert results(f(np.eye(3), *others))[0].dtype == np.complex128


def test_shapes(operator):
    f, arguments = operator
    with pytest.raises(ValueError, match="must have at least 2 axes"):
        f(*[np.ones(3)] * arguments)
    if arguments > 1:
        with pytest.raises(ValueError, match="leading axes of"):
            f(np.ones((2, 3, 3)), *[np.ones((4, 3, 3))] * (arguments - 1))
        with pytest.raises(ValueError, match=r"\(3, 3\).*\(5, 5\)"):
            f(np.eye(3), *[np.eye(5)] * (arguments - 1))


@pytest.mark.parametrize("layout", ["F", "strided", "readonly", "unaligned"])
def test_overwriting_only_what_is_ours(rng, layout):
    A = layouts(spd(rng, (), 6))[layout]
    before = A.copy()
    L = kernels.potrf(A, overwrite_a=True)
    assert_close(L, np.linalg.cholesky(before))
    np.testing.assert_array_equal(A, before)


def test_overwriting_needs_the_common_dtype(rng):
    L, A = np.eye(3), np.ones((3, 2), np.float32)
    assert kernels.trsm(L, A, overwrite_a=True).dtype == np.float64
    assert A.dtype == np.float32


def test_overwriting_takes_no_memory(rng, dtype):
    n = 100
    A, L = spd(rng, (), n, dtype), triangular(rng, (), n, dtype)
    X, Y = general(rng, (2, n, n), dtype)
    for call in (
        lambda: kernels.potrf(A, overwrite_a=True),
        lambda: kernels.potrf_pullback(L, X, overwrite_l_bar=True),
        lambda: kernels.trmm(L, X, transpose="C", overwrite_a=True),
        lambda: kernels.trsm(L, X, transpose=True, overwrite_a=True),
        lambda: kernels.trsm_pullback(L, X, Y, overwrite_b_bar=True, overwrite_l=True),
        lambda: kernels.potri(A, overwrite_l=True),
        lambda: kernels.gemm(X, A, Y, transpose_a="C", overwrite_c=True),
        lambda: kernels.syrk_pullback(X, A, A_bar=Y, overwrite_a_bar=True),
        lambda: kernels.getrf(A, overwrite_a=True)[0],
        lambda: kernels.getrs(A, np.arange(n), X, overwrite_b=True),
        lambda: kernels.copyltu(X, overwrite_x=True),
    ):
        tracemalloc.start()
        try:
            call()
            assert tracemalloc.get_traced_memory()[1] < 5_000
        finally:
            tracemalloc.stop()


def test_lists_and_views_of_subclasses():
    A = np.array([[4.0, 2.0], [2.0, 5.0]]).view(type("Sub", (np.ndarray,), {}))
    assert type(kernels.potrf(A)) is np.ndarray
    assert_close(kernels.potrf(A.tolist()), np.array([[2.0, 0.0], [1.0, 2.0]]))


def test_many_axes(rng):
    A = spd(rng, (1,) * 20 + (2,), 3)
    assert_close(kernels.potrf(A), np.linalg.cholesky(A))


def test_threads(rng):
    matrices = [spd(rng, (5,), 30) for _ in range(16)]
    with ThreadPoolExecutor(4) as pool:
        for A, L in zip(matrices, pool.map(kernels.potrf, matrices), strict=True):
            assert_close(L, np.linalg.cholesky(A))


@pytest.mark.parametrize("name", kernels.__all__)
def test_docstring_examples(name):
    f = getattr(kernels, name)
    example = doctest.DocTestParser().get_doctest(f.__doc__, dict(vars(kernels)), name, None, None)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
