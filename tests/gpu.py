"""The real CuPy, for tests that run on a GPU where there is one."""

import warnings

import pytest

__all__ = ["real_cupy"]


def real_cupy():
    """CuPy, or a skip that says what is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no CUDA toolkit is found
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed", exc_type=ImportError)
    try:
        available = cupy.is_available()
    except cupy.cuda.runtime.CUDARuntimeError as error:  # of CuPy 13, where there is no driver
        pytest.skip(f"there is no GPU: {error}")
    if not available:
        pytest.skip("there is no GPU")
    return cupy
