"""The kernels of lindiff for CuPy arrays: the place where they belong.

Importing this package needs CuPy; without it the import fails and says what to install.
The GPU kernels themselves are not part of this release.
"""

try:
    import cupy as cupy
except ImportError as error:
    raise ImportError(
        "lindiff_cuda needs CuPy, which is not installed: pip install cupy-cuda12x "
        "(or cupy-cuda13x for CUDA 13)"
    ) from error
