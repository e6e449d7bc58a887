"""``scipy.linalg`` with derivatives: the same names, signatures and results, on arrays and on Variables.

SciPy's functions do not speak NumPy's protocols, so this import takes the place of SciPy's own:
``from lindiff.scipy import linalg``.  On plain arrays the functions give what SciPy gives, with any leading
batch axes.  What SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import linalg
>>> ld.grad(lambda A: np.trace(linalg.expm(A)))(np.zeros((2, 2)))
array([[1., 0.],
       [0., 1.]])
"""

from typing import Any

import scipy.linalg

from lindiff.scipy._rest import names_of
from lindiff.scipy.linalg._others import other
from lindiff.scipy.linalg.any_function import funm
from lindiff.scipy.linalg.banded import cho_solve_banded, cholesky_banded, solve_banded, solveh_banded
from lindiff.scipy.linalg.decompositions import cholesky, ldl, lu
from lindiff.scipy.linalg.eigen import eig, eigh, eigvals, eigvalsh
from lindiff.scipy.linalg.eigen_banded import (
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
)
from lindiff.scipy.linalg.exponential import coshm, cosm, expm, expm_frechet, sinhm, sinm, tanhm, tanm
from lindiff.scipy.linalg.factors import cho_factor, cho_solve, lu_factor, lu_solve
from lindiff.scipy.linalg.least_squares import lstsq, pinv, pinvh
from lindiff.scipy.linalg.matrix_equations import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from lindiff.scipy.linalg.qr_factorization import qr, qr_multiply, rq
from lindiff.scipy.linalg.roots_and_logarithms import fractional_matrix_power, logm, signm, sqrtm
from lindiff.scipy.linalg.schur_form import schur
from lindiff.scipy.linalg.singular_values import null_space, orth, polar, svd, svdvals
from lindiff.scipy.linalg.solvers import det, inv, norm, solve, solve_triangular
from lindiff.scipy.linalg.special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    fiedler,
    hankel,
    khatri_rao,
    leslie,
    toeplitz,
)
from lindiff.scipy.linalg.toeplitz_systems import matmul_toeplitz, solve_circulant, solve_toeplitz

solve_lyapunov = solve_continuous_lyapunov  # its older name

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "companion",
    "convolution_matrix",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "inv",
    "khatri_rao",
    "ldl",
    "leslie",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul_toeplitz",
    "norm",
    "null_space",
    "orth",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "qr_multiply",
    "rq",
    "schur",
    "signm",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]


def __getattr__(name: str) -> Any:
    return other(name)


__dir__ = names_of(scipy.linalg, __all__)
