"""Linear algebra kernels: arrays in, arrays out. No Variable is ever seen here.

Names follow LAPACK without the type letter, as in Seeger et al. (2017). Matrices are row-major, in the
last two axes; leading axes are a batch. float32, float64, complex64 and complex128 work, promoted as NumPy
promotes them; integers become float64. "Symmetric" means Hermitian for complex matrices, whose formulas
have adjoints for transposes. An argument is changed only under its `overwrite_*` flag, and then only if its
layout allows it: use the returned array.
"""

from lindiff.kernels.cholesky import (
    potrf,
    potrf_pullback,
    potrf_pushforward,
    potri,
    potri_pullback,
    potri_pushforward,
)
from lindiff.kernels.distances import (
    directed_differences,
    scaled_squared_distances,
    scaled_squared_distances_pullback,
    squared_distances,
    weighted_differences,
)
from lindiff.kernels.eigh import (
    eigh,
    eigh_pullback,
    eigh_pushforward,
    nearly_equal,
    syevd,
    syevd_pullback,
    syevd_pushforward,
)
from lindiff.kernels.expm import expm, expm_keeping, expm_pullback, expm_pushforward
from lindiff.kernels.gaussian import log_density, log_density_pullback
from lindiff.kernels.inverse import (
    det,
    getri,
    inverse,
    inverse_pullback,
    inverse_pushforward,
    slogdet,
    slogdet_pullback,
)
from lindiff.kernels.kalman import Sweep
from lindiff.kernels.lq import (
    gelqf,
    gelqf_l,
    gelqf_l_pullback,
    gelqf_l_pushforward,
    gelqf_pullback,
    gelqf_pushforward,
)
from lindiff.kernels.lu import getrf, getrs
from lindiff.kernels.products import gemm, gemm2, syrk, syrk_pullback
from lindiff.kernels.svd import gesdd, gesdd_pullback, gesdd_pushforward
from lindiff.kernels.triangles import copyltu, onto_unpaired, unpaired
from lindiff.kernels.triangular import trmm, trmm_pullback, trsm, trsm_pullback

__all__ = [
    "Sweep",
    "copyltu",
    "det",
    "directed_differences",
    "eigh",
    "eigh_pullback",
    "eigh_pushforward",
    "expm",
    "expm_keeping",
    "expm_pullback",
    "expm_pushforward",
    "gelqf",
    "gelqf_l",
    "gelqf_l_pullback",
    "gelqf_l_pushforward",
    "gelqf_pullback",
    "gelqf_pushforward",
    "gemm",
    "gemm2",
    "gesdd",
    "gesdd_pullback",
    "gesdd_pushforward",
    "getrf",
    "getri",
    "getrs",
    "inverse",
    "inverse_pullback",
    "inverse_pushforward",
    "log_density",
    "log_density_pullback",
    "nearly_equal",
    "onto_unpaired",
    "potrf",
    "potrf_pullback",
    "potrf_pushforward",
    "potri",
    "potri_pullback",
    "potri_pushforward",
    "scaled_squared_distances",
    "scaled_squared_distances_pullback",
    "slogdet",
    "slogdet_pullback",
    "squared_distances",
    "syevd",
    "syevd_pullback",
    "syevd_pushforward",
    "syrk",
    "syrk_pullback",
    "trmm",
    "trmm_pullback",
    "trsm",
    "trsm_pullback",
    "unpaired",
    "weighted_differences",
]
