"""The routines of cuBLAS, evaluated in column-major NumPy on the pointers they are given.

They check what the library checks (sizes, leading dimensions, flags), read only the triangle they are told
to, and read scalars from host memory, in host pointer mode alone.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from standin.columns import Recorder, addresses, matrix, op, triangle, vector

__all__ = ["factor_lu", "fill", "handle", "solve_lu"]

POINTER_MODE = {"mode": 0}
MATH_MODE = {"mode": 0}
DEFAULT_MATH, TF32_MATH = 0, 3
COMPUTE_TYPES = {}
COMPUTE_TYPE_DEFAULT, COMPUTE_TYPE_TF32 = 1, 7


def handle():
    """What stands for the library's handle."""
    return 1


def fill(module):
    """Give a module of CuPy's name the routines."""
    POINTER_MODE["mode"] = 0
    MATH_MODE["mode"] = DEFAULT_MATH
    COMPUTE_TYPES.clear()
    for name, number in ENUMS.items():
        setattr(module, f"CUBLAS_{name}", number)
    recorder = Recorder("cublas", module)
    for evaluate in ROUTINES:
        recorder.add(evaluate)
    for evaluate in (getPointerMode, setPointerMode, getMathMode, setMathMode):
        recorder.add(evaluate, letters=("",))


ENUMS = {
    "OP_N": 0,
    "OP_T": 1,
    "OP_C": 2,
    "FILL_MODE_LOWER": 0,
    "FILL_MODE_UPPER": 1,
    "SIDE_LEFT": 0,
    "SIDE_RIGHT": 1,
    "DIAG_NON_UNIT": 0,
    "DIAG_UNIT": 1,
    "POINTER_MODE_HOST": 0,
    "POINTER_MODE_DEVICE": 1,
}


def getPointerMode(check, dtype, handle):
    return POINTER_MODE["mode"]


def setPointerMode(check, dtype, handle, mode):
    check(mode in (0, 1))
    POINTER_MODE["mode"] = mode


def getMathMode(check, dtype, handle):
    return MATH_MODE["mode"]


def setMathMode(check, dtype, handle, mode):
    check(mode in (DEFAULT_MATH, TF32_MATH))
    MATH_MODE["mode"] = mode


def get_compute_type(dtype):
    """How CuPy's own products of a type are computed."""
    return COMPUTE_TYPES.get(np.dtype(dtype).char, COMPUTE_TYPE_DEFAULT)


def set_compute_type(dtype, compute_type):
    COMPUTE_TYPES[np.dtype(dtype).char] = compute_type


def as_read(X):
    """The numbers that a product reads: of float32, with TF32, the 10 leading bits behind the point."""
    if MATH_MODE["mode"] != TF32_MATH or X.dtype.char not in "fF":
        return X
    bits = np.ascontiguousarray(X).view(np.uint32)
    return (bits + 0x1000 & 0xFFFFE000).astype(np.uint32).view(X.dtype)


def scalar(dtype, pointer):
    assert POINTER_MODE["mode"] == 0, "a scalar in host memory is read as one in device memory"
    return vector(pointer, dtype, 1)[0]


def multiply(check, dtype, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    check({transa, transb} <= {0, 1, 2})
    check(m >= 0 and n >= 0 and k >= 0)
    rows_a, columns_a = (k, m) if transa else (m, k)
    rows_b, columns_b = (n, k) if transb else (k, n)
    check(lda >= max(1, rows_a) and ldb >= max(1, rows_b) and ldc >= max(1, m))
    a, b = scalar(dtype, alpha), scalar(dtype, beta)
    X = op(as_read(matrix(A, dtype, rows_a, columns_a, lda)), transa)
    Y = op(as_read(matrix(B, dtype, rows_b, columns_b, ldb)), transb)
    Z = matrix(C, dtype, m, n, ldc)
    Z[...] = a * (X @ Y) if b == 0 else a * (X @ Y) + b * Z


def gemm(check, dtype, handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    multiply(check, dtype, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)


def gemmStridedBatched(
    check, dtype, handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB,
    beta, C, ldc, strideC, batchCount,
):  # fmt: skip
    check(batchCount >= 0)
    check(strideC >= ldc * (n - 1) + m or batchCount <= 1)
    size = np.dtype(dtype).itemsize
    for i in range(batchCount):
        a, b, c = A + i * strideA * size, B + i * strideB * size, C + i * strideC * size
        multiply(check, dtype, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


def syrk(check, dtype, handle, uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
    check(uplo in (0, 1) and trans in (0, 1))
    check(n >= 0 and k >= 0)
    rows, columns = (k, n) if trans else (n, k)
    check(lda >= max(1, rows) and ldc >= max(1, n))
    a, b = scalar(dtype, alpha), scalar(dtype, beta)
    X, Z = op(as_read(matrix(A, dtype, rows, columns, lda)), trans), matrix(C, dtype, n, n, ldc)
    named = triangle(np.ones((n, n), bool), uplo)
    Z[named] = (a * (X @ X.T))[named] if b == 0 else (a * (X @ X.T) + b * Z)[named]


def solve(check, dtype, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb):
    check(side in (0, 1) and uplo in (0, 1) and trans in (0, 1, 2) and diag in (0, 1))
    check(m >= 0 and n >= 0)
    order = n if side else m
    check(lda >= max(1, order) and ldb >= max(1, m))
    L, X = triangle(matrix(A, dtype, order, order, lda), uplo, diag), matrix(B, dtype, m, n, ldb)
    trsm = scipy.linalg.get_blas_funcs("trsm", dtype=dtype)
    X[...] = trsm(scalar(dtype, alpha), L, X, side, 1 - uplo, trans, diag)


def trsm(check, dtype, handle, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb):
    solve(check, dtype, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb)


def trsmBatched(
    check, dtype, handle, side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount
):  # fmt: skip
    for A, B in zip(addresses(Aarray, batchCount), addresses(Barray, batchCount), strict=True):
        solve(check, dtype, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb)


def getrfBatched(check, dtype, handle, n, Aarray, lda, PivotArray, infoArray, batchSize):
    check(n >= 0 and lda >= max(1, n) and batchSize >= 0)
    info = vector(infoArray, np.int32, batchSize)
    piv = vector(PivotArray, np.int32, batchSize * n).reshape(batchSize, n)
    for i, A in enumerate(addresses(Aarray, batchSize)):
        info[i] = factor_lu(matrix(A, dtype, n, n, lda), piv[i])


def getrsBatched(
    check, dtype, handle, trans, n, nrhs, Aarray, lda, devIpiv, Barray, ldb, info, batchSize
):  # fmt: skip
    check(trans in (0, 1, 2))
    check(n >= 0 and nrhs >= 0 and lda >= max(1, n) and ldb >= max(1, n) and batchSize >= 0)
    vector(info, np.int32, 1)[...] = 0  # in host memory
    piv = vector(devIpiv, np.int32, batchSize * n).reshape(batchSize, n)
    pointers = zip(addresses(Aarray, batchSize), addresses(Barray, batchSize), strict=True)
    for i, (A, B) in enumerate(pointers):
        solve_lu(matrix(A, dtype, n, n, lda), piv[i], matrix(B, dtype, n, nrhs, ldb), trans)


def factor_lu(X, piv):
    """LU of X in place, pivots counted from 1; returns info."""
    getrf = scipy.linalg.get_lapack_funcs("getrf", dtype=X.dtype)
    X[...], piv0, info = getrf(X)
    piv[...] = piv0 + 1
    return info


def solve_lu(LU, piv, X, trans):
    assert ((piv >= 1) & (piv <= len(piv))).all(), "a pivot out of range"
    getrs = scipy.linalg.get_lapack_funcs("getrs", dtype=X.dtype)
    X[...] = getrs(LU, piv - 1, X, trans)[0]


ROUTINES = (gemm, gemmStridedBatched, syrk, trsm, trsmBatched, getrfBatched, getrsBatched)
