"""CuPy, or an error that says which one to install."""

try:
    import cupy as cupy
except ImportError as error:
    raise ImportError(
        'lindiff_cuda needs CuPy, which is not installed: pip install "lindiff[cuda]" '
        '(for CUDA 13: "lindiff[cuda13]"; with CUDA itself: "lindiff[cuda-ctk]" or "lindiff[cuda13-ctk]")'
    ) from error

OLDEST = 14  # the first whose cuBLAS has trsmBatched, and whose NumPy has eig

if int(cupy.__version__.partition(".")[0]) < OLDEST:
    raise ImportError(
        f"lindiff_cuda needs CuPy {OLDEST} or newer, installed is {cupy.__version__}: "
        "pip install --upgrade cupy-cuda12x (or cupy-cuda13x)"
    )
if cupy.cuda.runtime.is_hip:
    raise ImportError(
        "lindiff_cuda is written for CUDA, and this CuPy for ROCm: compute with NumPy's arrays, a.get()"
    )
