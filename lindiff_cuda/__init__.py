"""The kernels of lindiff for CuPy arrays: arrays in, arrays out, of the names, arguments and meaning of
`lindiff.kernels`.

Matrices are row-major, in the last two axes; leading axes are a batch. float32, float64, complex64 and
complex128 work where `lindiff.kernels` has them, promoted as NumPy promotes them; integers become float64. An
argument is changed only under its `overwrite_*` flag, and then only if its layout allows it: use the returned
array. All work is queued in CuPy's current stream, all memory comes from its pool. An operator that can fail
reads from the GPU whether it has, which waits for it; not within `unchecked`.

In the source, docstrings say what differs from the kernel of the same name, above all the cost on a device;
`help` shows its text on arguments and results with them.

Importing this package needs CuPy; without it the import fails and says what to install. Without a GPU the
first call says so.
"""

from lindiff_cuda._cupy import cupy as cupy  # isort: split

from lindiff import kernels as _kernels
from lindiff._docstrings import documented_like as _documented_like
from lindiff_cuda.checks import unchecked
from lindiff_cuda.cholesky import (
    potrf,
    potrf_pullback,
    potrf_pushforward,
    potri,
    potri_pullback,
    potri_pushforward,
)
from lindiff_cuda.eigh import (
    eigh,
    eigh_pullback,
    eigh_pushforward,
    nearly_equal,
    syevd,
    syevd_pullback,
    syevd_pushforward,
)
from lindiff_cuda.expm import expm, expm_keeping, expm_pullback, expm_pushforward
from lindiff_cuda.faults import faults
from lindiff_cuda.gaussian import log_density, log_density_pullback
from lindiff_cuda.inverse import (
    det,
    getri,
    inverse,
    inverse_pullback,
    inverse_pushforward,
    slogdet,
    slogdet_pullback,
)
from lindiff_cuda.kalman import Sweeps
from lindiff_cuda.lq import (
    gelqf,
    gelqf_l,
    gelqf_l_pullback,
    gelqf_l_pushforward,
    gelqf_pullback,
    gelqf_pushforward,
)
from lindiff_cuda.lu import getrf, getrs
from lindiff_cuda.products import gemm, gemm2, syrk, syrk_pullback
from lindiff_cuda.svd import gesdd, gesdd_pullback, gesdd_pushforward
from lindiff_cuda.triangles import copyltu, onto_unpaired, unpaired
from lindiff_cuda.triangular import trmm, trmm_pullback, trsm, trsm_pullback

__all__ = [
    "Sweeps",
    "copyltu",
    "det",
    "eigh",
    "eigh_pullback",
    "eigh_pushforward",
    "expm",
    "expm_keeping",
    "expm_pullback",
    "expm_pushforward",
    "faults",
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
    "slogdet",
    "slogdet_pullback",
    "syevd",
    "syevd_pullback",
    "syevd_pushforward",
    "syrk",
    "syrk_pullback",
    "trmm",
    "trmm_pullback",
    "trsm",
    "trsm_pullback",
    "unchecked",
    "unpaired",
]


def _document(name: str) -> None:
    """Join a function's docstring with that of the kernel of its name, whose arrays are CuPy's here."""
    function = _documented_like(getattr(_kernels, name))(globals()[name])
    if function.__doc__:
        function.__doc__ = function.__doc__.replace(") ndarray", ") cupy.ndarray")
        function.__doc__ = function.__doc__.replace(") array_like", ") cupy.ndarray")


for _name in __all__:
    if hasattr(_kernels, _name):
        _document(_name)
