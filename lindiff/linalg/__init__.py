"""Linear algebra operators after LAPACK's names, differentiable and in place: one file a factorization."""

from lindiff.linalg.cholesky import potrf, potri, sumlogdiag
from lindiff.linalg.determinant import det, inverse, slogdet
from lindiff.linalg.diagonals import extractdiag, extracttrian, makediag, maketrian
from lindiff.linalg.distances import squared_distances
from lindiff.linalg.exponential import expm, expm_frechet
from lindiff.linalg.factors import CholeskyFactor, LUFactor, cho_factor, lu_factor
from lindiff.linalg.gaussian import gp_logpdf, mvn_logpdf
from lindiff.linalg.lq import gelqf, gelqf_l
from lindiff.linalg.products import gemm, gemm2, syrk
from lindiff.linalg.shifted import EighFactor, eigh_factor
from lindiff.linalg.symmetric_eigen import syevd
from lindiff.linalg.triangular import trmm, trsm

__all__ = [
    "CholeskyFactor",
    "EighFactor",
    "LUFactor",
    "cho_factor",
    "det",
    "eigh_factor",
    "expm",
    "expm_frechet",
    "extractdiag",
    "extracttrian",
    "gelqf",
    "gelqf_l",
    "gemm",
    "gemm2",
    "gp_logpdf",
    "inverse",
    "lu_factor",
    "makediag",
    "maketrian",
    "mvn_logpdf",
    "potrf",
    "potri",
    "slogdet",
    "squared_distances",
    "sumlogdiag",
    "syevd",
    "syrk",
    "trmm",
    "trsm",
]


def __dir__() -> list[str]:
    return __all__
