"""Row-major faces of single cuBLAS and cuSOLVER routines, on stacks of matrices. No derivative is seen here.

The libraries are column-major: on a row-major buffer they see the transpose. The flip is made here, once, and
nowhere else:

=========================================  ==============================================================
row-major, wanted                          column-major, called on the same buffer
=========================================  ==============================================================
gemm C = op(A) op(B)                       A and B exchanged, m and n exchanged, each `trans` kept
syrk A Aᵀ, lower                           uplo U, trans 'T'
trsm op(L) X = B, left, lower              side R, uplo U, same trans, m and n exchanged
Cholesky A = L Lᴴ, lower                   potrf 'U'; no conjugation
LQ of A (m <= n)                           geqrf, orgqr (of the transpose)
A = Uᵀ diag(λ) U, rows of U are            syevd 'U' (for the lower triangle): columns of the transpose are
eigenvectors                               rows of U
SVD A = U diag(s) Vh                       gesvdj of the transpose: its left vectors are the rows of Vh, its
                                           right vectors the rows of Uᵀ
LU: A = L U P, U unit upper, P exchanges   getrf (of the transpose: its U is our Lᵀ, its L our Uᵀ, and it
columns                                    exchanges rows where we exchange columns)
A X = B, Aᵀ X = B from LU, X as rows of    getrs 'T', 'N'
its transpose
=========================================  ==============================================================

A stack has the shape (count, m, n), or (1, m, n) for a matrix that all of a batch share. Its rows are
contiguous, its matrices and rows may lie apart: slices ``X[:, i:j, k:l]`` are operands. Empty matrices never
reach a library. The type letter s, d, c, z comes from the dtype, in `_routine` alone.

Handles are CuPy's, of the current device and stream; scalars are read from host memory, products of float32
are as exact as CuPy's own, and the handle's modes are left as they were found. Workspace comes from CuPy's
memory pool.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import cupy
import numpy as np
from cupy._core import get_compute_type
from cupy.cuda import device

from lindiff_cuda import tuning
from lindiff_cuda.parts import parts, slices

__all__ = ["gemm", "geqrf", "gesvdj", "getrf", "getrs", "orgqr", "potrf", "syevd", "syrk", "trsm"]

LETTER = {"f": "s", "d": "d", "F": "c", "D": "z"}

# The flags of both libraries.
OPERATION = {False: 0, True: 1, "C": 2}
UPLO = {True: 1, False: 0}  # our lower triangle is their upper one
SIDE = {False: 1, True: 0}  # our left side is their right one
NON_UNIT = 0
HOST_POINTERS = 0
TF32_MATH = 3
CUPY_TF32 = 7  # CuPy's number of that compute type, which the environment variable of this name asks for
PRODUCTS = {"gemm", "gemmStridedBatched", "syrk"}
VECTORS = 1
CUDA_TYPE = {"f": 0, "d": 1}

BATCHED_SVD = 32  # the largest order that gesvdjBatched takes


# What the batched routines are given at a time: some versions put matrices, and trsmBatched blocks of 8
# vectors, on an axis of the grid that ends at 65 535.
MOST_MATRICES = 65_535
MOST_VECTORS = 1 << 18
MOST_ROWS = np.iinfo(np.int32).max  # what a routine for one matrix counts with


@functools.cache
def _library(name: str) -> ModuleType:
    """CuPy's bindings of a library. They load with the first call: without CUDA's libraries they cannot."""
    try:
        if name == "cublas":
            from cupy_backends.cuda.libs import cublas as library
        else:
            from cupy_backends.cuda.libs import cusolver as library
    except ImportError as error:
        raise RuntimeError(
            f"lindiff_cuda: CuPy is installed but cannot load {name} ({error}), which comes with the "
            "CUDA toolkit, or with pip install 'cupy-cuda12x[ctk]'"
        ) from error
    return library


@functools.cache
def _routine(library: str, name: str, char: str) -> Callable[..., Any]:
    """The routine for a dtype's character, "dgemm" for "gemm" and "d"."""
    return getattr(_library(library), LETTER[char] + name)


@functools.lru_cache(maxsize=1024)
def _scalar(value: float, char: str) -> Any:
    """A number in host memory; the libraries read it before a call returns."""
    return np.array(value, char)


def _blas(name: str, char: str, *arguments: Any) -> None:
    """Call cuBLAS with scalars in host memory, and with TF32 for products where CuPy multiplies so."""
    library, handle = _library("cublas"), device.get_cublas_handle()
    modes = [(library.getPointerMode, library.setPointerMode, HOST_POINTERS)]
    if name in PRODUCTS and char in "fF" and get_compute_type(np.dtype(char)) == CUPY_TF32:
        modes.append((library.getMathMode, library.setMathMode, TF32_MATH))
    found = [get(handle) for get, _, _ in modes]
    try:
        for (_, change, wanted), mode in zip(modes, found, strict=True):
            if mode != wanted:
                change(handle, wanted)
        _routine("cublas", name, char)(handle, *arguments)
    finally:
        for (_, change, wanted), mode in zip(modes, found, strict=True):
            if mode != wanted:
                change(handle, mode)


def _lapack(name: str, char: str, *arguments: Any) -> Any:
    return _routine("cusolver", name, char)(device.get_cusolver_handle(), *arguments)


def _workspace(name: str, char: str, *arguments: Any) -> tuple[Any, int]:
    """Entries that a routine of cuSOLVER works on, and how many; it counts them in 32 bits."""
    size = _lapack(f"{name}_bufferSize", char, *arguments)
    if size < 0:
        raise ValueError(
            f"lindiff_cuda: matrices too large for cuSOLVER's {LETTER[char]}{name}, "
            "which counts its workspace in 32 bits"
        )
    return cupy.empty(size, np.dtype(char)), size


def _leading(X: Any) -> int:
    """Entries between rows, at least their length."""
    return max(X.strides[1] // X.itemsize if X.shape[1] > 1 else 0, X.shape[2], 1)


def _step(X: Any) -> int:
    """Bytes between matrices; 0 for one that all share."""
    return X.strides[0] if X.shape[0] > 1 else 0


def _pointers(X: Any, count: int) -> Any:
    """The addresses of `count` matrices, on the GPU."""
    step = _step(X)
    if step == 0:
        return cupy.full(count, X.data.ptr, np.int64)
    return cupy.arange(X.data.ptr, X.data.ptr + count * step, step, np.int64)


def _each(X: Any) -> Iterator[int]:
    """The addresses of the matrices, one after the other."""
    step = _step(X)
    return (X.data.ptr + i * step for i in range(X.shape[0]))


# ---- products and triangular solves ----------------------------------------------------------------


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_a: bool | str = False,
    transpose_b: bool | str = False,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> None:
    """C := alpha op(A) op(B) + beta C; with beta = 0, C is not read."""
    count, m, n = C.shape
    k = A.shape[1] if transpose_a else A.shape[2]
    if C.size == 0:
        return
    if k == 0:
        C[...] = 0 if beta == 0 else beta * C
        return
    char = C.dtype.char
    a, b = _scalar(alpha, char), _scalar(beta, char)
    of_product, of_c = a.ctypes.data, b.ctypes.data
    flags = OPERATION[transpose_b], OPERATION[transpose_a], n, m, k
    lda, ldb, ldc = _leading(A), _leading(B), _leading(C)
    if count == 1:
        _blas("gemm", char, *flags, of_product, B.data.ptr, ldb, A.data.ptr, lda, of_c, C.data.ptr, ldc)
        return
    step_a, step_b, step_c = (_step(X) // X.itemsize for X in (A, B, C))
    for X, Y, Z in parts(count, MOST_MATRICES, A, B, C):
        _blas(
            *("gemmStridedBatched", char, *flags, of_product, Y.data.ptr, ldb, step_b),
            *(X.data.ptr, lda, step_a, of_c, Z.data.ptr, ldc, step_c, len(Z)),
        )


def syrk(A: Any, C: Any, transpose: bool = False, alpha: float = 1.0) -> None:
    """The lower triangle of C := alpha A Aᵀ, or alpha Aᵀ A. cuBLAS has no batched one: matrix by matrix."""
    n = C.shape[2]
    k = A.shape[1] if transpose else A.shape[2]
    char = C.dtype.char
    a, b = _scalar(alpha, char), _scalar(0.0, char)
    of_product, of_c = a.ctypes.data, b.ctypes.data
    for pointer_a, pointer_c in zip(_each(A), _each(C), strict=True):
        _blas(
            *("syrk", char, UPLO[True], OPERATION[not transpose], n, k, of_product),
            *(pointer_a, _leading(A), of_c, pointer_c, _leading(C)),
        )


def trsm(
    L: Any,
    B: Any,
    rightside: bool = False,
    lower: bool = True,
    transpose: bool | str = False,
    alpha: float = 1.0,
) -> None:
    """B := alpha op(L)⁻¹ B, or alpha B op(L)⁻¹."""
    count, m, n = B.shape
    if B.size == 0:
        return
    char = B.dtype.char
    factor = _scalar(alpha, char)
    flags = SIDE[rightside], UPLO[lower], OPERATION[transpose], NON_UNIT, n, m, factor.ctypes.data
    if count == 1:
        _blas("trsm", char, *flags, L.data.ptr, _leading(L), B.data.ptr, _leading(B))
        return
    for T, Y in parts(count, MOST_MATRICES, L, B):
        of_l = _pointers(T, len(Y))
        for vectors in slices(m if rightside else n, MOST_VECTORS):
            X = Y[:, vectors] if rightside else Y[:, :, vectors]
            of_x = _pointers(X, len(X))
            sizes = X.shape[2], X.shape[1], factor.ctypes.data
            _blas(
                *("trsmBatched", char, *flags[:4], *sizes, of_l.data.ptr, _leading(L)),
                *(of_x.data.ptr, _leading(B), len(X)),
            )


# ---- factorizations; each returns `info` of each matrix, on the GPU ---------------------------------


def potrf(A: Any, lower: bool = True) -> Any:
    """The named triangle of A := that of L with A = L Lᴴ, or R with A = Rᴴ R; the other is scratch."""
    count, n, _ = A.shape
    char, ld, uplo = A.dtype.char, _leading(A), UPLO[lower]
    info = cupy.zeros(count, np.int32)
    if A.size == 0:
        return info
    if count > 1:
        for X, own_info in parts(count, MOST_MATRICES, A, info):
            of_x = _pointers(X, len(X))
            _lapack("potrfBatched", char, uplo, n, of_x.data.ptr, ld, own_info.data.ptr, len(X))
        return info
    work, size = _workspace("potrf", char, uplo, n, A.data.ptr, ld)
    _lapack("potrf", char, uplo, n, A.data.ptr, ld, work.data.ptr, size, info.data.ptr)
    return info


def geqrf(A: Any, tau: Any) -> None:
    """A, (m, n) with m <= n, := L in its lower triangle, reflections in its rows, with `tau` (m).

    Matrix by matrix: neither library has a batched one in CuPy's bindings.
    """
    m, n = A.shape[1:]
    if A.size == 0:
        return
    char, ld, info = A.dtype.char, _leading(A), cupy.empty(1, np.int32)
    work, size = _workspace("geqrf", char, n, m, A.data.ptr, ld)
    for of_a, of_tau in zip(_each(A), _each(tau), strict=True):
        _lapack("geqrf", char, n, m, of_a, ld, of_tau, work.data.ptr, size, info.data.ptr)


def orgqr(A: Any, tau: Any) -> None:
    """A := Q, orthonormal rows, from what `geqrf` has left. Real matrices only."""
    m, n = A.shape[1:]
    if A.size == 0:
        return
    char, ld, info = A.dtype.char, _leading(A), cupy.empty(1, np.int32)
    work, size = _workspace("orgqr", char, n, m, m, A.data.ptr, ld, tau.data.ptr)
    for of_a, of_tau in zip(_each(A), _each(tau), strict=True):
        _lapack("orgqr", char, n, m, m, of_a, ld, of_tau, work.data.ptr, size, info.data.ptr)


def syevd(A: Any, lam: Any, lower: bool = True) -> Any:
    """A := U, `lam` (count, n) with A = Uᵀ diag(lam) U, from the named triangle. Real matrices only.

    Matrix by matrix, through the 64-bit interface: the workspace of dsyevd, 2n² entries counted in 32 bits,
    ends at n = 32 767.
    """
    count, n, _ = A.shape
    info = cupy.zeros(count, np.int32)
    if A.size == 0:
        return info
    library, handle, kind = _library("cusolver"), device.get_cusolver_handle(), CUDA_TYPE[A.dtype.char]
    ld, of_lam, of_info = _leading(A), lam.data.ptr, info.data.ptr
    params = library.createParams()
    try:
        options = handle, params, VECTORS, UPLO[lower], n, kind
        sizes = library.xsyevd_bufferSize(*options, A.data.ptr, ld, kind, of_lam, kind)
        work, host_work = cupy.empty(sizes[0], np.int8), np.empty(sizes[1], np.int8)
        for i, of_a in enumerate(_each(A)):
            library.xsyevd(
                *(*options, of_a, ld, kind, of_lam + i * n * lam.itemsize, kind, work.data.ptr, sizes[0]),
                *(host_work.ctypes.data, sizes[1], of_info + i * info.itemsize),
            )
    finally:
        library.destroyParams(params)
    return info


def gesvdj(A: Any, s: Any, Ut: Any, Vh: Any) -> Any:
    """A = U diag(s) Vh with Ut = Uᵀ; A is lost. Real matrices only.

    By Jacobi's method, which has work for all threads, where gesvd chases a bulge along a bidiagonal matrix
    (and takes no matrix that is wide to it); small matrices go as a whole batch.
    """
    count, m, n = A.shape
    info = cupy.zeros(count, np.int32)
    if A.size == 0:
        return info
    library = _library("cusolver")
    params = library.createGesvdjInfo()
    try:
        if count > 1 and max(m, n) <= BATCHED_SVD:
            for part in parts(count, MOST_MATRICES, A, s, Ut, Vh, info):
                _gesvdj_batched(part, params)
        else:
            _gesvdj_each(A, s, Ut, Vh, info, params)
    finally:
        library.destroyGesvdjInfo(params)
    return info


def _gesvdj_each(A: Any, s: Any, Ut: Any, Vh: Any, info: Any, params: int) -> None:
    """cuSOLVER's gesvdj, matrix by matrix with one workspace."""
    char, (_, m, n) = A.dtype.char, A.shape
    ld, economic = _leading(A), 1
    options = VECTORS, economic, n, m
    addresses = zip(_each(A), _each(s), _each(Vh), _each(Ut), _each(info), strict=True)
    work, size = _workspace(
        *("gesvdj", char, *options, A.data.ptr, ld, s.data.ptr),
        *(Vh.data.ptr, n, Ut.data.ptr, m, params),
    )
    for of_a, of_s, of_vh, of_ut, of_info in addresses:
        _lapack(
            *("gesvdj", char, *options, of_a, ld, of_s, of_vh, n, of_ut, m),
            *(work.data.ptr, size, of_info, params),
        )


def _gesvdj_batched(stacks: tuple[Any, ...], params: int) -> None:
    """The routine wants contiguous matrices and gives all n and m vectors; the first ones are ours."""
    A, s, Ut, Vh, info = stacks
    char, (count, m, n) = A.dtype.char, A.shape
    full_v, full_u = cupy.empty((count, n, n), A.dtype), cupy.empty((count, m, m), A.dtype)
    arrays = A.data.ptr, n, s.data.ptr, full_v.data.ptr, n, full_u.data.ptr, m
    work, size = _workspace("gesvdjBatched", char, VECTORS, n, m, *arrays, params, count)
    _lapack(
        *("gesvdjBatched", char, VECTORS, n, m, *arrays),
        *(work.data.ptr, size, info.data.ptr, params, count),
    )
    Ut[...], Vh[...] = full_u[:, : Ut.shape[1]], full_v[:, : Vh.shape[1]]


def getrf(A: Any, piv: Any) -> Any:
    """A := L and U of A = L U P; `piv` (count, n), int32: column i was exchanged with column piv[i] - 1.

    A matrix that is singular has factors, too; its info is 1 + the index of the first zero on their diagonal.
    """
    count, n, _ = A.shape
    char, ld = A.dtype.char, _leading(A)
    info = cupy.zeros(count, np.int32)
    if A.size == 0:
        return info
    if count > 1 and n <= tuning.LU_BATCHED:
        for X, own_piv, own_info in parts(count, MOST_MATRICES, A, piv, info):
            of_x = _pointers(X, len(X))
            _blas("getrfBatched", char, n, of_x.data.ptr, ld, own_piv.data.ptr, own_info.data.ptr, len(X))
        return info
    work, _ = _workspace("getrf", char, n, n, A.data.ptr, ld)
    for of_a, of_piv, of_info in zip(_each(A), _each(piv), _each(info), strict=True):
        _lapack("getrf", char, n, n, of_a, ld, work.data.ptr, of_piv, of_info)
    return info


def getrs(LU: Any, piv: Any, Xt: Any, transpose: bool = False) -> None:
    """Xt := Xt A⁻ᵀ, the rows x of Xt solving A x = b for b in its rows; or Xt A⁻¹, for Aᵀ x = b."""
    count, k, n = Xt.shape
    if Xt.size == 0:
        return
    char, ld, ldx = Xt.dtype.char, _leading(LU), _leading(Xt)
    flags = OPERATION[not transpose], n, k
    if count > 1 and n <= tuning.LU_BATCHED:
        status = np.zeros(1, np.int32)
        for F, own_piv, X in parts(count, MOST_MATRICES, LU, piv, Xt):
            of_lu, of_x = _pointers(F, len(X)), _pointers(X, len(X))
            _blas(
                *("getrsBatched", char, *flags, of_lu.data.ptr, ld, own_piv.data.ptr),
                *(of_x.data.ptr, ldx, status.ctypes.data, len(X)),
            )
        return
    info = cupy.empty(1, np.int32)
    step_lu, step_piv = _step(LU), _step(piv)
    for i, of_x in enumerate(_each(Xt)):
        of_lu, of_piv = LU.data.ptr + i * step_lu, piv.data.ptr + i * step_piv
        for rows in slices(k, MOST_ROWS):
            size, own_x = min(k - rows.start, MOST_ROWS), of_x + rows.start * ldx * Xt.itemsize
            _lapack("getrs", char, *flags[:2], size, of_lu, ld, of_piv, own_x, ldx, info.data.ptr)
