"""The dense routines of cuSOLVER, evaluated in column-major NumPy and LAPACK on the pointers they are given.

They check what the library checks, want the workspace they have asked for and write all over it, and leave
behind what the library leaves undefined as NaN.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.linalg

from standin.columns import Recorder, addresses, matrix, scribble, triangle, vector
from standin.cublas import factor_lu, solve_lu

__all__ = ["fill", "handle"]

ENUMS = {"EIG_MODE_NOVECTOR": 0, "EIG_MODE_VECTOR": 1}
CUDA_TYPES = {0: np.float32, 1: np.float64}
LIVING = set()  # parameter objects that have been created and not destroyed
NUMBERS = itertools.count(1)


def handle():
    """What stands for the library's handle."""
    return 1


def fill(module):
    """Give a module of CuPy's name the routines."""
    for name, number in ENUMS.items():
        setattr(module, f"CUSOLVER_{name}", number)
    recorder = Recorder("cusolver", module)
    for evaluate in ROUTINES:
        recorder.add(evaluate)
    for evaluate in (orgqr, orgqr_bufferSize):
        recorder.add(evaluate, letters="sd")
    for evaluate in (xsyevd, xsyevd_bufferSize):
        recorder.add(evaluate, letters=("",))
    module.createParams = module.createGesvdjInfo = create
    module.destroyParams = module.destroyGesvdjInfo = destroy
    module.living = LIVING


def create():
    LIVING.add(number := next(NUMBERS))
    return number


def destroy(number):
    LIVING.remove(number)


def work_size(*dimensions):
    """Some number of entries that differs for different problems."""
    return 7 + sum((i + 2) * d for i, d in enumerate(dimensions))


def use(check, dtype, work, lwork, *dimensions):
    check(lwork >= work_size(*dimensions))
    scribble(work, lwork * np.dtype(dtype).itemsize)


# ---- Cholesky --------------------------------------------------------------------------------------


def potrf_bufferSize(check, dtype, handle, uplo, n, A, lda):
    check(uplo in (0, 1) and n >= 0 and lda >= max(1, n))
    return work_size(n)


def potrf(check, dtype, handle, uplo, n, A, lda, work, lwork, devInfo):
    check(uplo in (0, 1) and n >= 0 and lda >= max(1, n))
    use(check, dtype, work, lwork, n)
    vector(devInfo, np.int32, 1)[0] = factor_cholesky(matrix(A, dtype, n, n, lda), uplo)


def potrfBatched(check, dtype, handle, uplo, n, Aarray, lda, infoArray, batchSize):
    check(uplo in (0, 1) and n >= 0 and lda >= max(1, n) and batchSize >= 0)
    info = vector(infoArray, np.int32, batchSize)
    for i, A in enumerate(addresses(Aarray, batchSize)):
        info[i] = factor_cholesky(matrix(A, dtype, n, n, lda), uplo)


def factor_cholesky(X, uplo):
    """In place in the named triangle; NaN from the first bad column on."""
    assert not np.diagonal(X).imag.any(), "a Hermitian matrix with a diagonal that is not real"
    named = triangle(np.ones(X.shape, bool), uplo)
    F, info = scipy.linalg.get_lapack_funcs("potrf", dtype=X.dtype)(triangle(X, uplo), lower=1 - uplo)
    if info > 0:
        F[info - 1 :], F[:, info - 1 :] = np.nan, np.nan
    X[named] = F[named]
    return info


# ---- QR --------------------------------------------------------------------------------------------


def geqrf_bufferSize(check, dtype, handle, m, n, A, lda):
    check(m >= 0 and n >= 0 and lda >= max(1, m))
    return work_size(m, n)


def geqrf(check, dtype, handle, m, n, A, lda, tau, work, lwork, devInfo):
    check(m >= 0 and n >= 0 and lda >= max(1, m))
    use(check, dtype, work, lwork, m, n)
    X = matrix(A, dtype, m, n, lda)
    X[...], t, _, info = scipy.linalg.get_lapack_funcs("geqrf", dtype=dtype)(X)
    vector(tau, dtype, min(m, n))[...] = t
    vector(devInfo, np.int32, 1)[0] = info


def orgqr_bufferSize(check, dtype, handle, m, n, k, A, lda, tau):
    check(m >= n >= k >= 0 and lda >= max(1, m))
    return work_size(m, n, k)


def orgqr(check, dtype, handle, m, n, k, A, lda, tau, work, lwork, devInfo):
    check(m >= n >= k >= 0 and lda >= max(1, m))
    use(check, dtype, work, lwork, m, n, k)
    X = matrix(A, dtype, m, n, lda)
    X[...], _, info = scipy.linalg.get_lapack_funcs("orgqr", dtype=dtype)(X, vector(tau, dtype, k))
    vector(devInfo, np.int32, 1)[0] = info


# ---- eigenvalues and singular values ---------------------------------------------------------------


def xsyevd_bufferSize(
    check, dtype, handle, params, jobz, uplo, n, dataTypeA, A, lda, dataTypeW, W, computeType
):
    assert params in LIVING
    check(jobz in (0, 1) and uplo in (0, 1) and n >= 0 and lda >= max(1, n))
    check(dataTypeA == dataTypeW == computeType)
    return 8 * work_size(n), work_size(n)


def xsyevd(
    check, dtype, handle, params, jobz, uplo, n, dataTypeA, A, lda, dataTypeW, W, computeType,
    bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info,
):  # fmt: skip
    sizes = xsyevd_bufferSize(
        check, dtype, handle, params, jobz, uplo, n, dataTypeA, A, lda, dataTypeW, W, computeType
    )
    check(workspaceInBytesOnDevice >= sizes[0] and workspaceInBytesOnHost >= sizes[1])
    scribble(bufferOnDevice, workspaceInBytesOnDevice)
    scribble(bufferOnHost, workspaceInBytesOnHost)
    X = matrix(A, CUDA_TYPES[dataTypeA], n, n, lda)
    T = triangle(X, uplo)
    assert np.isfinite(T).all(), "NaN or infinity given to an eigenvalue routine, which may not return"
    w, v, code = scipy.linalg.get_lapack_funcs("syevd", dtype=X.dtype)(T, lower=1 - uplo)
    vector(W, X.dtype, n)[...] = w
    X[...] = v if jobz else np.nan
    vector(info, np.int32, 1)[0] = code


def gesvdj_bufferSize(check, dtype, handle, jobz, econ, m, n, A, lda, S, U, ldu, V, ldv, params):
    assert params in LIVING
    check(jobz in (0, 1) and econ in (0, 1) and m >= 0 and n >= 0)
    check(lda >= max(1, m) and ldu >= max(1, m) and ldv >= max(1, n))
    return work_size(m, n)


def gesvdj(
    check, dtype, handle, jobz, econ, m, n, A, lda, S, U, ldu, V, ldv, work, lwork, info, params
):  # fmt: skip
    gesvdj_bufferSize(check, dtype, handle, jobz, econ, m, n, A, lda, S, U, ldu, V, ldv, params)
    use(check, dtype, work, lwork, m, n)
    vector(info, np.int32, 1)[0] = decompose(dtype, jobz, econ, m, n, A, lda, S, U, ldu, V, ldv)


def gesvdjBatched_bufferSize(
    check, dtype, handle, jobz, m, n, A, lda, S, U, ldu, V, ldv, params, batchSize
):  # fmt: skip
    assert params in LIVING
    check(jobz in (0, 1) and 0 <= m <= 32 and 0 <= n <= 32 and batchSize >= 0)
    check(lda >= max(1, m) and ldu >= max(1, m) and ldv >= max(1, n))
    return work_size(m, n, batchSize)


def gesvdjBatched(
    check, dtype, handle, jobz, m, n, A, lda, S, U, ldu, V, ldv, work, lwork, info, params, batchSize
):  # fmt: skip
    gesvdjBatched_bufferSize(check, dtype, handle, jobz, m, n, A, lda, S, U, ldu, V, ldv, params, batchSize)
    use(check, dtype, work, lwork, m, n, batchSize)
    size, real = np.dtype(dtype).itemsize, dtype(0).real.itemsize
    for i, code in enumerate(vector(info, np.int32, batchSize)):
        a, u, v = A + i * lda * n * size, U + i * ldu * m * size, V + i * ldv * n * size
        code = decompose(dtype, jobz, 0, m, n, a, lda, S + i * min(m, n) * real, u, ldu, v, ldv)
        vector(info, np.int32, batchSize)[i] = code


def decompose(dtype, jobz, econ, m, n, A, lda, S, U, ldu, V, ldv):
    """A = U diag(S) Vᴴ; A is lost. Returns info."""
    k = min(m, n)
    X = matrix(A, dtype, m, n, lda)
    s = vector(S, dtype(0).real.dtype, k)
    if not np.isfinite(X).all():
        X[...], s[...] = np.nan, np.nan
        return k + 1
    u, s[...], vh = np.linalg.svd(X, full_matrices=not econ)
    X[...] = np.nan
    if jobz:
        matrix(U, dtype, m, k if econ else m, ldu)[...] = u
        matrix(V, dtype, n, k if econ else n, ldv)[...] = vh.conj().T
    return 0


# ---- LU --------------------------------------------------------------------------------------------


def getrf_bufferSize(check, dtype, handle, m, n, A, lda):
    check(m >= 0 and n >= 0 and lda >= max(1, m))
    return work_size(m, n)


def getrf(check, dtype, handle, m, n, A, lda, work, devIpiv, devInfo):
    check(m >= 0 and n >= 0 and lda >= max(1, m))
    scribble(work, work_size(m, n) * np.dtype(dtype).itemsize)
    X = matrix(A, dtype, m, n, lda)
    vector(devInfo, np.int32, 1)[0] = factor_lu(X, vector(devIpiv, np.int32, min(m, n)))


def getrs(check, dtype, handle, trans, n, nrhs, A, lda, devIpiv, B, ldb, devInfo):
    check(trans in (0, 1, 2) and n >= 0 and nrhs >= 0 and lda >= max(1, n) and ldb >= max(1, n))
    LU, X = matrix(A, dtype, n, n, lda), matrix(B, dtype, n, nrhs, ldb)
    solve_lu(LU, vector(devIpiv, np.int32, n), X, trans)
    vector(devInfo, np.int32, 1)[0] = 0


ROUTINES = (
    *(potrf, potrf_bufferSize, potrfBatched, geqrf, geqrf_bufferSize, getrf, getrf_bufferSize, getrs),
    *(gesvdj, gesvdj_bufferSize, gesvdjBatched, gesvdjBatched_bufferSize),
)
