"""Third derivatives of the operators, in both modes, of real and complex matrices."""

from __future__ import annotations

import numpy as np
import pytest
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
    "syrk": (ld.linalg.syrk, [(3, 2)]),
    "syrk, adjoint": (lambda A: ld.linalg.syrk(A, "C"), [(2, 3)]),
    "gelqf": (ld.linalg.gelqf, [(2, 3)]),
    "syevd": (invariants_of_syevd, [(3, 3)]),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_third_derivatives(name, dtype):
    function, shapes = OPERATORS[name]
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    if dtype is np.complex128:
        arrays = [a + 1j * rng.standard_normal(a.shape) for a in arrays]
    check_grads(function, arrays, order=3)
