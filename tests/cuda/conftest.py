"""CuPy, as fixture ``cupy``: the stand-in, and the real one where there is a GPU (``pytest -m gpu``)."""

import pytest
from gpu import real_cupy
from standin import installed


@pytest.fixture(scope="module", params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def cupy(request):
    """A module of CuPy's name whose arrays compute; tests that need it run on both."""
    if request.param == "gpu":
        yield real_cupy()
    else:
        with installed() as cupy:
            yield cupy


@pytest.fixture(scope="module")
def standin():
    """The stand-in alone, for tests of what it checks or records."""
    with installed() as cupy:
        yield cupy
