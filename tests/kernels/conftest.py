"""Inputs for the kernel tests: sizes, batches, memory layouts, well-conditioned matrices."""

import numpy as np
import pytest


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
