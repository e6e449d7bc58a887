"""What is wrong with the numbers of arrays."""

import numpy as np
import pytest
from standin import compiled

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")

CONDITIONS = ("finite", "not_infinite", "not_negative", "covariance")


@pytest.fixture
def faults(cupy):
    from lindiff_cuda import faults

    return faults


def with_entry(X, place, x):
    X = X.copy()
    X[place] = x
    return X


IDENTITIES = np.broadcast_to(np.eye(3), (2, 4, 3, 3))
CASES = [
    (IDENTITIES, ""),
    (0 * IDENTITIES, ""),
    (np.zeros((0, 3, 3)), ""),
    (np.full((2, 2), 4.0), ""),
    (np.array([[1.0, 0.5], [0.5 + 1e-10, 1.0]]), ""),
    (with_entry(IDENTITIES, (1, 2, 0, 1), 0.1), "covariance"),
    (with_entry(IDENTITIES, (1, 3, 2, 2), -0.1), "not_negative covariance"),
    (with_entry(IDENTITIES, (0, 0, 0, 0), np.nan), "finite not_negative covariance"),
    (with_entry(IDENTITIES, (0, 0, 0, 0), np.inf), "finite not_infinite covariance"),
    (np.array([[1.0, -1.1], [-1.1, 1.0]]), "not_negative covariance"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("x", "expected"), CASES)
def test_conditions(cupy, faults, x, expected, dtype):
    device = cupy.asarray(x.astype(dtype))
    found = faults([(condition, device) for condition in CONDITIONS])
    assert found == [condition in expected.split() for condition in CONDITIONS]


def test_nothing_is_read_unchecked(cupy, faults):
    from lindiff_cuda import unchecked

    with unchecked():
        assert faults([("finite", cupy.asarray([np.nan]))]) == [False]
