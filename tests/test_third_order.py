"""Third derivatives: every mode against differences of the second derivatives, real and complex."""

from __future__ import annotations

import numpy as np
import pytest
from table_linalg import (
    distinct_eigenvalues,
    floats_of_lstsq,
    invariants_of_complete_qr,
    invariants_of_eig,
    invariants_of_eigh,
    invariants_of_svd,
    projector_beyond,
    separated,
)
from table_operators import adjoint, heavy_diagonal, spd

import lindiff as ld
from lindiff.testing import check_grads


def invariants_of_syevd(A):
    U, lam = ld.linalg.syevd(spd(A))
    d = np.arange(1.0, len(A) + 1).astype(A.dtype)
    return lam, adjoint(U) @ (d[:, None] * U)


CASES = {
    "cholesky": (lambda A: np.linalg.cholesky(spd(A)), (3, 3)),
    "solve": (lambda A, b: np.linalg.solve(heavy_diagonal(A), b), (3, 3), (3,)),
    "inv": (lambda A: np.linalg.inv(heavy_diagonal(A)), (3, 3)),
    "det": (np.linalg.det, (3, 3)),
    "slogdet": (lambda A: np.linalg.slogdet(heavy_diagonal(A)), (3, 3)),
    "eigh": (invariants_of_eigh, (3, 3)),
    "eigvalsh": (lambda A: np.linalg.eigvalsh(spd(A)), (3, 3)),
    "eig": (invariants_of_eig, (3, 3)),
    "eigvals": (lambda A: np.linalg.eigvals(distinct_eigenvalues(A)), (3, 3)),
    "svd tall": (invariants_of_svd, (3, 2)),
    "svd wide": (invariants_of_svd, (2, 3)),
    "svd beyond": (projector_beyond, (3, 2)),
    "svdvals": (lambda A: np.linalg.svdvals(separated(A)), (3, 2)),
    "qr tall": (lambda A: np.linalg.qr(separated(A)), (3, 2)),
    "qr wide": (lambda A: np.linalg.qr(separated(A)), (2, 3)),
    "qr r": (lambda A: np.linalg.qr(separated(A), "r"), (3, 2)),
    "qr complete": (lambda A: invariants_of_complete_qr(A, mode="complete"), (3, 2)),
    "pinv": (lambda A: np.linalg.pinv(separated(A)), (3, 2)),
    "lstsq": (lambda A, b: floats_of_lstsq(A, b), (3, 2), (3,)),
    "norm 2": (lambda A: np.linalg.norm(separated(A), 2), (3, 2)),
    "norm nuc": (lambda A: np.linalg.norm(separated(A), "nuc"), (3, 2)),
    "matrix_power": (lambda A: np.linalg.matrix_power(heavy_diagonal(A), -2), (3, 3)),
    "potrf": (lambda A: ld.linalg.potrf(spd(A), lower=False), (3, 3)),
    "potri": (lambda A: ld.linalg.potri(heavy_diagonal(A)), (3, 3)),
    "trmm": (ld.linalg.trmm, (3, 3), (3, 2)),
    "trsm": (lambda A, B: ld.linalg.trsm(heavy_diagonal(A), B), (3, 3), (3, 2)),
    "gelqf": (lambda A: ld.linalg.gelqf(separated(A)), (2, 3)),
    "syevd": (invariants_of_syevd, (3, 3)),
    "syrk": (ld.linalg.syrk, (2, 3)),
    "gemm2": (ld.linalg.gemm2, (2, 3), (3, 2)),
}


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("case", CASES)
def test_third_derivatives(case, dtype, rng):
    f, *shapes = CASES[case]
    args = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    if dtype is complex:
        args = [x + 1j * rng.standard_normal(x.shape) for x in args]
    check_grads(f, args, order=3)
