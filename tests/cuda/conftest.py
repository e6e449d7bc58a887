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


SUMS = """
extern "C" __global__ void sums(const SCALAR *__restrict__ x, SCALAR *y, int count, REAL scale) {
    // every lane adds x of all lanes of its tile
    int i = item();
    if (i >= count) return;
    SCALAR *s = shared_of_tile<SCALAR>(WIDTH);
    s[lane()] = x[i * WIDTH + lane()];
    sync();
    SCALAR other = s[WIDTH - 1 - lane()];
    y[i * WIDTH + lane()] = sum(other) * scale + broadcast(other, 0);
}
"""


@pytest.fixture
def sums():
    """The text of a kernel whose tiles use shared memory, a barrier, and shuffles."""
    return SUMS
