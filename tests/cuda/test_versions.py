"""Which CuPy is taken, and what is said of others."""

import pytest
from standin import installed


@pytest.mark.parametrize("version", ["13.6.0", "9.0"])
def test_older_cupy_is_refused(version):
    with installed() as cupy:
        cupy.__version__ = version
        with pytest.raises(ImportError, match=rf"CuPy 14 or newer, installed is {version}: pip install"):
            import lindiff_cuda  # noqa: F401


def test_rocm_is_refused():
    with installed() as cupy:
        cupy.cuda.runtime.is_hip = True
        with pytest.raises(ImportError, match="written for CUDA, and this CuPy for ROCm"):
            import lindiff_cuda  # noqa: F401


def test_without_a_driver_tests_are_skipped(monkeypatch):
    """CuPy 13 raises where it is asked for a GPU without a driver."""
    from gpu import real_cupy

    class CUDARuntimeError(RuntimeError):
        pass

    def is_available():
        raise CUDARuntimeError("cudaErrorInsufficientDriver")

    with installed() as cupy:
        cupy.cuda.runtime.CUDARuntimeError = CUDARuntimeError
        cupy.is_available = is_available
        with pytest.raises(pytest.skip.Exception, match="cudaErrorInsufficientDriver"):
            real_cupy()
