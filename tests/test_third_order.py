"""Third derivatives of the operators and of numpy.linalg, in both modes, of real and complex matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
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
from table_operators import heavy_diagonal, invariants_of_syevd, spd

import lindiff as ld
from lindiff.testing import check_grads

OPERATORS = {
    "potrf": (lambda A: ld.linalg.potrf(spd(A)), [(3, 3)]),
    "potrf, upper": (lambda A: ld.linalg.potrf(spd(A), lower=False), [(2, 2)]),
    "potri": (lambda L: ld.linalg.potri(heavy_diagonal(L)), [(3, 3)]),
    "potri, upper": (lambda L: ld.linalg.potri(heavy_diagonal(L), lower=False), [(2, 2)]),
    "trmm": (ld.linalg.trmm, [(3, 3), (3, 2)]),
    "trmm, adjoint": (lambda L, A: ld.linalg.trmm(L, A, "C", True, False, 2.0), [(2, 2), (3, 2)]),
    "trsm": (lambda L, A: ld.linalg.trsm(heavy_diagonal(L), A), [(3, 3), (3, 2)]),
    "trsm, transpose": (
        lambda L, A: ld.linalg.trsm(heavy_diagonal(L), A, True, True, False, 2.0),
        [(2, 2), (3, 2)],
    ),
    "gemm2": (lambda A, B: ld.linalg.gemm2(A, B, True, "C", 0.5), [(2, 3), (3, 2)]),
    "squared_distances": (ld.linalg.squared_distances, [(3, 2), (2, 2)]),
    "syrk": (ld.linalg.syrk, [(3, 2)]),
    "syrk, adjoint": (lambda A: ld.linalg.syrk(A, "C"), [(2, 3)]),
    "gelqf": (ld.linalg.gelqf, [(2, 3)]),
    "syevd": (invariants_of_syevd, [(3, 3)]),
    "cholesky": (lambda A: np.linalg.cholesky(spd(A)), [(3, 3)]),
    "solve": (lambda A, b: np.linalg.solve(heavy_diagonal(A), b), [(3, 3), (3,)]),
    "inv": (lambda A: np.linalg.inv(heavy_diagonal(A)), [(3, 3)]),
    "det": (np.linalg.det, [(3, 3)]),
    "slogdet": (lambda A: np.linalg.slogdet(heavy_diagonal(A)), [(3, 3)]),
    "matrix_power": (lambda A: np.linalg.matrix_power(heavy_diagonal(A), -2), [(3, 3)]),
    "eigh": (invariants_of_eigh, [(3, 3)]),
    "eigvalsh": (lambda A: np.linalg.eigvalsh(spd(A)), [(3, 3)]),
    "eig": (invariants_of_eig, [(3, 3)]),
    "eigvals": (lambda A: np.linalg.eigvals(distinct_eigenvalues(A)), [(3, 3)]),
    "svd tall": (invariants_of_svd, [(3, 2)]),
    "svd wide": (invariants_of_svd, [(2, 3)]),
    "svd beyond": (projector_beyond, [(3, 2)]),
    "svdvals": (lambda A: np.linalg.svdvals(separated(A)), [(3, 2)]),
    "qr tall": (lambda A: np.linalg.qr(separated(A)), [(3, 2)]),
    "qr wide": (lambda A: np.linalg.qr(separated(A)), [(2, 3)]),
    "qr r": (lambda A: np.linalg.qr(separated(A), "r"), [(3, 2)]),
    "qr complete": (lambda A: invariants_of_complete_qr(A, mode="complete"), [(3, 2)]),
    "pinv": (lambda A: np.linalg.pinv(separated(A)), [(3, 2)]),
    "lstsq": (floats_of_lstsq, [(3, 2), (3,)]),
    "norm 2": (lambda A: np.linalg.norm(separated(A), 2), [(3, 2)]),
    "norm nuc": (lambda A: np.linalg.norm(separated(A), "nuc"), [(3, 2)]),
}
REAL_ONLY = {"squared_distances"}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_third_derivatives(name, dtype):
    if name in REAL_ONLY and dtype is np.complex128:
        pytest.skip("of real numbers alone")
    function, shapes = OPERATORS[name]
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    if dtype is np.complex128:
        arrays = [a + 1j * rng.standard_normal(a.shape) for a in arrays]
    check_grads(function, arrays, order=3)


@pytest.mark.parametrize("rank", [0, 7, 8, 9, 10])
@pytest.mark.parametrize("dtype", [float, complex])
def test_third_derivatives_of_determinants_of_low_rank(rank, dtype):
    """``det(A + t E)`` is a polynomial in t."""
    n, rng = 10, np.random.default_rng(2)
    Q, E = (
        np.linalg.qr(rng.standard_normal((n, n)))[0].astype(dtype),
        (rng.random((n, n)) - 0.5).astype(dtype),
    )
    if dtype is complex:
        E = E + 0.5j * E.T
    A = np.diag((np.arange(n) < rank) + 0.0) @ Q
    t = np.cos(np.pi * np.arange(n + 1) / n)
    expected = 6 * np.real(np.polyfit(t, [np.linalg.det(A + s * E) for s in t], n)[-4])

    def f(A):
        return np.real(np.linalg.det(A))

    def reverse(f):
        return lambda A: np.sum(np.real(np.conj(E) * ld.grad(f)(A)))

    def forward(f):
        return lambda A: ld.jvp(f, (A,), (E,))[1]

    for g in [
        reverse(reverse(reverse(f))),
        forward(forward(forward(f))),
        forward(reverse(reverse(f))),
        reverse(forward(forward(f))),
    ]:
        assert_allclose(g(A), expected, atol=1e-9)
    stacked = np.stack([np.eye(n, dtype=dtype), A])
    E = np.stack([E, E])
    of_all = forward(forward(lambda A: ld.jvp(f, (A,), (E,))[1]))(stacked)
    assert_allclose(of_all[1], expected, atol=1e-9)
