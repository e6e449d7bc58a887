"""Inputs for the kernel tests: sizes, batches, memory layouts, well-conditioned matrices."""

import contextlib

import numpy as np
import pytest
from gpu import real_cupy
from standin import installed
from standin.handover import OnDevice

import lindiff.kernels


@pytest.fixture(scope="module", params=["numpy", "cupy", pytest.param("gpu", marks=pytest.mark.gpu)])
def kernels(request):
    """The module of kernels: of NumPy's arrays, or of CuPy's, which gets NumPy's all the same."""
    if request.param == "numpy":
        yield lindiff.kernels
        return
    with installed() if request.param == "cupy" else contextlib.nullcontext(real_cupy()) as cupy:
        import lindiff_cuda

        yield OnDevice(lindiff_cuda, cupy)


def pytest_collection_modifyitems(config, items):
    """The stand-in is slow: of the sizes, batches and dtypes that take the same path it gets one.

    Without ``-m gpu``, thousands of tests are not skipped one by one for want of a GPU.
    """
    kept, left_out = [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        (left_out if _is_left_out(params, config.option.markexpr) else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _is_left_out(params, marks):
    n, batch, dtype = (params.get(name) for name in ("n", "batch", "dtype"))
    if params.get("kernels") == "gpu":
        return "gpu" not in marks
    repeats = n in (2, 17) or batch == (3,) or dtype in (np.float32, np.complex128)
    return params.get("kernels") == "cupy" and repeats


@pytest.fixture
def rng():
    return np.random.default_rng(20170710)


@pytest.fixture(
    params=[np.float32, np.float64, np.complex64, np.complex128], ids=["f32", "f64", "c64", "c128"]
)
def dtype(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["lower", "upper"])
def lower(request):
    return request.param


@pytest.fixture(params=[0, 1, 2, 5, 17, 40], ids="n{}".format)
def n(request):
    return request.param


@pytest.fixture(params=[(), (0,), (3,), (2, 1)], ids=str)
def batch(request):
    return request.param
