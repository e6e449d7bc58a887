"""The real CuPy, for tests that run on a GPU where there is one."""

import warnings

import pytest

__all__ = ["real_cupy"]


def real_cupy():
    """CuPy, or a skip that says what is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no CUDA toolkit is found
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed", exc_type=ImportError)
    if not cupy.is_available():
        pytest.skip("there is no GPU")
    return cupy
