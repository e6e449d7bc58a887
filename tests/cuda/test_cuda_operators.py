"""The operators of `lindiff_cuda` where they are not those of NumPy's arrays: large problems, blocks, what
does not wait for the GPU, what is refused, memory that ends.
"""

import itertools

import numpy as np
import pytest
from kernels.helpers import adjoint, assert_close, general, op, separated, spd, t, tri, triangular
from standin import compiled
from standin.array import owners

import lindiff as ld
import lindiff.kernels


@pytest.fixture
def cuda(cupy):
    import lindiff_cuda

    return lindiff_cuda


def host(x):
    return tuple(map(host, x)) if isinstance(x, tuple) else x.get()


FLAGS = list(itertools.product([False, True, "C"], repeat=2))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("of_a", "of_b"), FLAGS)
def test_gemm_of_blocks(cupy, rng, count, of_a, of_b):
    """Blocks of larger matrices are operands, also of the result; what is around it stays."""
    from lindiff_cuda import rowmajor

    A, B, C = (cupy.asarray(general(rng, (count, 9, 11), complex)) for _ in range(3))
    a = A[:, 1:4, 2:7] if not of_a else A[:, 2:7, 1:4]
    b = B[:, 3:8, 4:6] if not of_b else B[:, 4:6, 3:8]
    c, before = C[:, 5:8, 9:], C.get()
    want = before.copy()
    want[:, 5:8, 9:] = 2 * op(a.get(), of_a) @ op(b.get(), of_b) - want[:, 5:8, 9:]
    rowmajor.gemm(a, b, c, of_a, of_b, 2.0, -1.0)
    np.testing.assert_allclose(C.get(), want)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("rightside", "lower"), list(itertools.product([False, True], repeat=2)))
def test_trsm_of_blocks(cupy, rng, count, rightside, lower):
    from lindiff_cuda import rowmajor

    L = cupy.asarray(np.pad(triangular(rng, (count,), 4, complex, lower), ((0, 0), (1, 2), (3, 1))))
    B = cupy.asarray(general(rng, (count, 8, 8), complex))
    l, b = L[:, 1:5, 3:7], B[:, 2:6, 1:5]
    want = B.get()
    T = adjoint(l.get())
    want[:, 2:6, 1:5] = b.get() @ np.linalg.inv(T) if rightside else np.linalg.solve(T, b.get())
    rowmajor.trsm(l, b, rightside, lower, "C")
    np.testing.assert_allclose(B.get(), want)


# ---- every path of large problems, with small ones -----------------------------------------------------


@pytest.fixture
def low_limits(cuda, monkeypatch):
    """Limits that lie far below those of a GPU: recursions are deep, and nothing counts as small."""
    from lindiff_cuda import rowmajor, tuning

    for module, limits in {
        tuning: {"CHOLESKY_LEAF": 3, "CHOLESKY_BATCHED": 2, "TRSM_BATCHED": 3, "LU_BATCHED": 4}
        | {"GEMMT_LEAF": 2, "SYRK_ALONE": 6},
        rowmajor: {"BATCHED_SVD": 3},
    }.items():
        for name, limit in limits.items():
            assert getattr(module, name) > limit
            monkeypatch.setattr(module, name, limit)
    for table in ("FUSED", "BLOCKWISE"):
        monkeypatch.setattr(tuning, table, dict.fromkeys(getattr(tuning, table), (0, 0, 0, 0)))
    return cuda


def large_problems(rng, batch, n, dtype):
    """Arguments for each operator."""
    L = triangular(rng, batch, n, dtype)
    L = L - np.eye(n, dtype=dtype) * (L - L.real)
    A, X, Y = spd(rng, batch, n, dtype), *general(rng, (2, *batch, n, n), dtype)
    LU = lindiff.kernels.getrf(X)
    problems = {
        "gemm": (X, Y, A),
        "syrk": (X,),
        "syrk_pullback": (X, Y),
        "trmm": (L, X),
        "trsm": (L, X),
        "trmm_pullback": (L, X, Y),
        "trsm_pullback": (L, X, Y),
        "potrf": (A,),
        "potrf_pullback": (L, X),
        "potrf_pushforward": (L, X),
        "potri": (L,),
        "potri_pullback": (L, lindiff.kernels.potri(L), X),
        "potri_pushforward": (L, lindiff.kernels.potri(L), X),
        "getrf": (X,),
        "getrs": (*LU, Y),
        "getri": LU,
        "inverse": (X,),
        "slogdet": (X,),
        "slogdet_pullback": (*LU, general(rng, batch, dtype)),
    }
    if np.dtype(dtype).kind != "c":
        Q, F = lindiff.kernels.gelqf(X)
        U, lam = lindiff.kernels.syevd(separated(rng, batch, n))
        p, F_of_A, Z = lindiff.kernels.log_density(A, X[..., :2, :])
        problems |= {
            "gelqf": (X,),
            "gelqf_l": (X,),
            "gelqf_pullback": (Q, F, X, Y),
            "gelqf_pushforward": (Q, F, X),
            "gelqf_l_pullback": (F, X, Y),
            "gelqf_l_pushforward": (F, X, Y),
            "syevd": (A,),
            "syevd_pullback": (U, lam, X, general(rng, (*batch, n))),
            "syevd_pushforward": (U, lam, X),
            "eigh_pullback": (lam, U, None, X),
            "eigh_pushforward": (lam, U, X),
            "expm": (X,),
            "expm_keeping": (0.0 * X,),
            "log_density": (A, X[..., :2, :]),
            "log_density_pullback": (F_of_A, Z, p),
        }
    return problems


def given(cupy, arguments):
    return [None if x is None else cupy.asarray(x) for x in arguments]


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_large_problems(cupy, low_limits, rng, batch, dtype):
    for name, arguments in large_problems(rng, batch, 13, dtype).items():
        if name == "expm_keeping":
            continue
        wanted = as_tuple(getattr(lindiff.kernels, name)(*arguments))
        got = as_tuple(getattr(low_limits, name)(*given(cupy, arguments)))
        for x, y in zip(got, wanted, strict=True):
            if y.dtype.kind == "i":
                np.testing.assert_array_equal(x.get(), y)
            else:
                assert_close(x.get(), y, y.dtype.type, factor=1000)


@pytest.mark.parametrize(
    "name", ["trmm", "trsm", "trmm_pullback", "trsm_pullback", "potrf", "potrf_pullback", "potrf_pushforward"]
)
def test_large_upper_triangles(cupy, low_limits, rng, name):
    for batch, dtype in itertools.product([(), (2,)], [np.float64, np.complex128]):
        arguments = [x if x is None else t(x) for x in large_problems(rng, batch, 11, dtype)[name]]
        wanted = as_tuple(getattr(lindiff.kernels, name)(*arguments, lower=False))
        got = as_tuple(getattr(low_limits, name)(*given(cupy, arguments), lower=False))
        for x, y in zip(got, wanted, strict=True):
            assert_close(x.get(), y, dtype, factor=1000)


@pytest.mark.parametrize("shape", [(7, 7), (9, 5), (5, 9), (2, 4, 6)])
def test_singular_values_in_every_way(cupy, low_limits, rng, shape):
    A = general(rng, shape)
    U, s, Vh = host(low_limits.gesdd(cupy.asarray(A)))
    assert_close((U * s[..., None, :]) @ Vh, A)
    assert_close(s, np.linalg.svd(A, compute_uv=False))


MANY = 65_537  # more than an axis of a grid may have
FEW = 16


def repeated(arguments):
    """Batches of so many matrices out of few, all of different values."""
    return [x if x is None else np.concatenate([x] * (MANY // FEW) + [x[:1]]) for x in arguments]


def assert_repeated(got, wanted):
    """The first and the last matrices are those of the few, but for the signs of singular vectors."""
    for x, y in zip(as_tuple(got), as_tuple(wanted), strict=True):
        if isinstance(y, np.ndarray):
            assert len(x) == MANY
            ends = np.concatenate([x[:FEW].get(), x[-FEW - 1 :].get()])
            np.testing.assert_allclose(abs(ends), abs(np.concatenate([y, y, y[:1]])), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["gemm", "potrf", "getrf", "getrs", "inverse", "trsm", "gesdd"])
def test_many_matrices_in_libraries(cupy, low_limits, rng, name, monkeypatch):
    """The libraries' routines for batches do not take any number of matrices."""
    monkeypatch.setattr(low_limits.rowmajor, "BATCHED_SVD", 32)
    problems = large_problems(rng, (FEW,), 1, np.float64) | {"gesdd": (general(rng, (FEW, 1, 1)),)}
    wanted = getattr(lindiff.kernels, name)(*problems[name])
    assert_repeated(getattr(low_limits, name)(*given(cupy, repeated(problems[name]))), wanted)


# Operators that act on columns, and which of their arguments have them
COLUMNS = {"gemm": (1, 2), "trmm": (1,), "trsm": (1,), "trmm_pullback": (1, 2), "trsm_pullback": (1, 2)}
COLUMNS |= {"getrs": (2,), "syrk": (0,), "syrk_pullback": (0,)}
PROBLEMS = [
    (name, dtype, one_column)
    for dtype in (np.float64, np.complex128)
    for name in large_problems(np.random.default_rng(0), (1,), 3, dtype)
    for one_column in ([False, True] if name in COLUMNS else [False])
]


@pytest.mark.parametrize("cupy", [pytest.param("gpu", marks=pytest.mark.gpu)], indirect=True)
@pytest.mark.parametrize(("name", "dtype", "one_column"), PROBLEMS)
@pytest.mark.parametrize("in_libraries", [False, True], ids=["fused", "in libraries"])
def test_many_matrices(cupy, cuda, rng, monkeypatch, in_libraries, name, dtype, one_column):
    """Of each operator, by the kernels of small matrices and by the libraries."""
    if in_libraries:
        for table in ("FUSED", "BLOCKWISE"):
            limits = dict.fromkeys(getattr(cuda.tuning, table), (0, 0, 0, 0))
            monkeypatch.setattr(cuda.tuning, table, limits)
    arguments = large_problems(rng, (FEW,), 4, dtype)[name]
    if one_column:
        columns = COLUMNS[name]
        arguments = [x[..., :1] if i in columns else x for i, x in enumerate(arguments)]
    wanted = getattr(lindiff.kernels, name)(*arguments)
    assert_repeated(getattr(cuda, name)(*given(cupy, repeated(arguments))), wanted)


def test_long_batches(cupy, low_limits, rng, monkeypatch):
    """In parts, since the libraries' routines for batches do not take any number of matrices or vectors."""
    monkeypatch.setattr(low_limits.rowmajor, "MOST_MATRICES", 3)
    monkeypatch.setattr(low_limits.rowmajor, "MOST_VECTORS", 2)
    monkeypatch.setattr(low_limits.tuning, "TRSM_BATCHED", 64)
    for name in ("potrf", "getrf", "inverse", "trsm"):
        for dtype in (np.float64, np.complex128):
            arguments = large_problems(rng, (8,), 4, dtype)[name]
            wanted = as_tuple(getattr(lindiff.kernels, name)(*arguments))
            got = as_tuple(getattr(low_limits, name)(*given(cupy, arguments)))
            np.testing.assert_allclose(got[0].get(), wanted[0], rtol=1e-9, atol=1e-9)
    L, X = triangular(rng, (), 4), general(rng, (8, 5, 4))
    got = low_limits.trsm(*given(cupy, (L, X)), rightside=True).get()
    np.testing.assert_allclose(got, X @ np.linalg.inv(L), rtol=1e-9)


def test_singular_values_of_zeros_and_of_nan(cupy, cuda, rng):
    A = general(rng, (3, 4, 6))
    A[1] = 0
    U, s, Vh = host(cuda.gesdd(cupy.asarray(A)))
    assert (s[1] == 0).all()
    assert_close(t(U) @ U, np.broadcast_to(np.eye(4), (3, 4, 4)))
    assert_close((U * s[..., None, :]) @ Vh, A)
    A[2, 1, 1] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match=r"gesdd: no convergence \(batch index \(2,\)\)"):
        cuda.gesdd(cupy.asarray(A))


def test_not_definite_deep_inside(cupy, low_limits, rng):
    A = spd(rng, (3,), 13)
    A[2, 8, 8] = -1
    with pytest.raises(np.linalg.LinAlgError, match=r"leading minor of order 9 .* pivot -.*index \(2,\)"):
        low_limits.potrf(cupy.asarray(A))
    with pytest.raises(np.linalg.LinAlgError, match=r"leading minor of order 9 is not positive definite$"):
        low_limits.potrf(cupy.asarray(A[2]), overwrite_a=True)  # what it was is lost


# ---- layouts -------------------------------------------------------------------------------------------


def test_layouts(cupy, cuda, rng):
    """Arguments in any layout stay as they are; results are C-contiguous."""
    for name, arguments in large_problems(rng, (2,), 4, np.float64).items():
        wanted = as_tuple(getattr(cuda, name)(*given(cupy, arguments)))
        for layout in (as_fortran, as_strided):
            xs = [layout(cupy, x) if isinstance(x, np.ndarray) else x for x in arguments]
            before = [None if x is None else x.get() for x in xs]
            got = as_tuple(getattr(cuda, name)(*xs))
            for x, y in zip(got, wanted, strict=True):
                assert x.flags.c_contiguous
                np.testing.assert_allclose(x.get(), y.get(), rtol=1e-9, atol=1e-9)
            for x, y in zip(xs, before, strict=True):
                assert x is None or (x.get() == y).all()


def as_fortran(cupy, x):
    return cupy.asfortranarray(cupy.asarray(x))


def as_strided(cupy, x):
    wide = cupy.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype) if x.ndim else cupy.zeros(2, x.dtype)
    wide[..., ::2] = cupy.asarray(x)
    return wide[..., ::2]


# ---- without waiting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 40])
def test_unchecked(cupy, cuda, rng, n):
    """A failed matrix becomes NaN, the others do not; the error is back behind the context."""
    A = spd(rng, (3,), n)
    A[1, 2, 2] = -5
    with cuda.unchecked():
        L = cuda.potrf(cupy.asarray(A)).get()
        lam = cuda.syevd(cupy.asarray(A * np.array([1, np.inf, 1])[:, None, None]))[1].get()
    assert np.isnan(L[1][tri(np.ones((n, n))) > 0]).all()
    assert_close(L[::2], np.linalg.cholesky(A[::2]))
    assert np.isnan(lam[1]).all()
    assert np.isfinite(lam[::2]).all()
    with pytest.raises(np.linalg.LinAlgError, match=r"order 3 .*batch index \(1,\)"):
        cuda.potrf(cupy.asarray(A))


@pytest.fixture
def passes(standin, monkeypatch):
    """The names of what makes NaN of results that are there."""
    names, call, copyto = [], compiled.RawKernel.__call__, standin.copyto

    def launched(self, *args, **options):
        if self.name == "refuse":
            names.append(self.name)
        return call(self, *args, **options)

    def copied(*args, **options):
        names.append("copyto")
        return copyto(*args, **options)

    monkeypatch.setattr(compiled.RawKernel, "__call__", launched)
    monkeypatch.setattr(standin, "copyto", copied, raising=False)
    return names


def with_failure(rng, name, n):
    """Arguments of an operator, of which the second matrix of the batch fails."""
    A = spd(rng, (5,), n)
    A[1] = {"inverse": 1.0, "syevd": np.inf, "eigh": np.nan, "gesdd": np.nan}.get(name, A[1])
    if name in ("potrf", "log_density"):
        A[1, -2, -2] = -5
    return (A, general(rng, (5, 2, n))) if name == "log_density" else (A,)


@pytest.mark.parametrize("name", ["potrf", "inverse", "syevd", "eigh", "gesdd", "log_density"])
@pytest.mark.parametrize("n", [5, 40, "large"])
def test_failed_matrices_are_nan_unchecked(standin, rng, passes, name, n):
    """As a whole and alone; in another pass only where a library has made the results."""
    import lindiff_cuda

    if n == "large":  # Cholesky factors by halves, eigenvectors by the library
        n = {"syevd": 260, "eigh": 260, "gesdd": 20}.get(name, 70)
    arguments = with_failure(rng, name, n)
    with lindiff_cuda.unchecked():
        results = as_tuple(getattr(lindiff_cuda, name)(*given(standin, arguments)))
    by_library = {"syevd": n > 256, "eigh": n > 256, "gesdd": n <= 32}.get(name, n > 32)
    copies = 1 if name in ("syevd", "eigh", "gesdd") and by_library else 0  # of what the library must not see
    whole = {"syevd": 2, "eigh": 2, "gesdd": 3}.get(name, 1)
    assert passes == ["copyto"] * copies + ["refuse"] * (whole * by_library)
    good = [0, 2, 3, 4]
    expected = as_tuple(getattr(lindiff_cuda, name)(*(standin.asarray(x[good]) for x in arguments)))
    for x, y in zip(results, expected, strict=True):
        assert np.isnan(x[1].get()).all()
        np.testing.assert_allclose(x[good].get(), y.get(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [5, 40])
def test_unchecked_does_not_wait(standin_device, cupy, cuda, rng, n):
    with cuda.unchecked():
        for name, arguments in large_problems(rng, (2,), n, np.float64).items():
            xs = given(cupy, arguments)
            before = standin_device.synchronizations
            getattr(cuda, name)(*xs)
            waited = standin_device.synchronizations - before
            assert waited == ("expm" in name), name


@pytest.mark.parametrize("n", [5, 40])
def test_one_look_at_what_has_failed(standin_device, cupy, cuda, rng, n):
    for name, arguments in large_problems(rng, (2,), n, np.float64).items():
        xs = given(cupy, arguments)
        before = standin_device.synchronizations
        getattr(cuda, name)(*xs)
        assert standin_device.synchronizations - before <= 1, name


@pytest.fixture
def standin_device(cupy):
    """The stand-in's device, which counts how often the host waits."""
    device = type(cupy.zeros(1).device)
    if not hasattr(device, "synchronizations"):
        pytest.skip("only the stand-in counts")
    return device


# ---- what is refused ------------------------------------------------------------------------------------


def test_numpy_arrays_among_cupy_arrays_of_operators(cupy, cuda):
    A = np.eye(3)
    for call in (
        lambda x, y: ld.linalg.gemm2(x, y),
        lambda x, y: ld.linalg.trsm(x, y),
        lambda x, y: ld.linalg.gp_logpdf(x[0], y),
        lambda x, y: ld.linalg.cho_factor(x).solve(y),
    ):
        for x, y in ((A, cupy.asarray(A)), (cupy.asarray(A), A)):
            for wrap in (lambda z: z, ld.Variable):
                with pytest.raises(
                    TypeError, match=r"numpy\.ndarray.*cupy\.ndarray|cupy\.ndarray.*numpy\.ndarray"
                ):
                    call(wrap(x), y)


def test_numpy_arrays_among_cupy_arrays(cupy, cuda):
    A = cupy.eye(3)
    with pytest.raises(TypeError, match=r"trsm: A is a numpy.ndarray, but .*cupy.ndarray alone"):
        cuda.trsm(A, np.eye(3))
    with pytest.raises(TypeError, match=r"potrf: A is a builtins.list"):
        cuda.potrf([[1.0]])


def test_arrays_of_another_device(standin_device, cupy, cuda, monkeypatch):
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 1)
    with pytest.raises(
        ValueError, match=r"potrf: A is on device 0, but the current device is 1; .*Device\(0\)"
    ):
        cuda.potrf(cupy.eye(3))


def test_no_gpu(standin_device, cupy, cuda, monkeypatch):
    def fail():
        raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", fail)
    with pytest.raises(RuntimeError, match=r"CuPy is installed but finds no GPU \(cudaErrorInsuff.*driver"):
        cuda.potrf(np.eye(3))


def test_dtypes(cupy, cuda):
    assert cuda.potrf(cupy.eye(3, dtype=int)).dtype == np.float64
    assert cuda.gemm2(cupy.eye(3, dtype=np.float32), cupy.eye(3, dtype=np.complex64)).dtype == np.complex64
    assert cuda.gemm2(cupy.eye(3), cupy.eye(3, dtype=np.complex64)).dtype == np.complex128
    with pytest.raises(TypeError, match=r"potrf: A has dtype float16; float32, .* and integers"):
        cuda.potrf(cupy.eye(3, dtype=np.float16))
    with pytest.raises(TypeError, match=r"gelqf: of this operator only float32 and float64 work"):
        cuda.gelqf(cupy.eye(3, dtype=complex))


def test_lengths_beyond_32_bits(cupy, cuda):
    long = cupy.broadcast_to(cupy.zeros((1, 1)), (1, 2**31))
    with pytest.raises(ValueError, match=r"gemm2: A of shape \(1, 2147483648\) is too large"):
        cuda.gemm2(long, long, transpose_b=True)


def test_same_names_as_the_kernels_of_numpy(cuda):
    by_formula = {"Sweep", "squared_distances", "weighted_differences", "directed_differences"}
    by_formula |= {"scaled_squared_distances", "scaled_squared_distances_pullback"}
    assert {*lindiff.kernels.__all__} - by_formula <= {*cuda.__all__}


# ---- memory that ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 40])
def test_out_of_memory(standin_device, cupy, cuda, rng, n, monkeypatch):
    """Wherever memory ends, arguments are unchanged and nothing is left allocated."""

    class OutOfMemoryError(MemoryError):
        pass

    allocations = {"left": 0}
    real = cupy.empty

    def empty(*args, **kwargs):
        if allocations["left"] == 0:
            raise OutOfMemoryError("Out of memory allocating 512 bytes")
        allocations["left"] -= 1
        return real(*args, **kwargs)

    for name, arguments in large_problems(rng, (2,), n, np.float64).items():
        xs = given(cupy, arguments)
        for left in itertools.count():
            monkeypatch.setattr(cupy, "empty", empty, raising=False)
            allocations["left"] = left
            before = len(owners)
            try:
                getattr(cuda, name)(*xs)
                finished = True
            except OutOfMemoryError:
                finished = False
            monkeypatch.undo()
            assert len(owners) <= before, name
            if finished:
                break
        for x, y in zip(xs, arguments, strict=True):
            assert x is None or (x.get() == y).all(), name


def test_docstrings_have_the_kernels_text(cuda):
    names = {*cuda.__all__} & {*vars(lindiff.kernels)}
    assert len(names) > 40
    for name in names:
        kernel, doc = getattr(lindiff.kernels, name), getattr(cuda, name).__doc__
        assert f"like ``lindiff.kernels.{name}``." in doc
        assert ("\nReturns\n" in doc) == ("\nReturns\n" in kernel.__doc__), name
        assert ") ndarray" not in doc
        assert ">>> " not in doc
