"""Adding at places, against np.add.at: the same order, so the same bits."""

import numpy as np
import pytest

from lindiff.kernels.places import add_at_places

rng = np.random.default_rng(7)
EVERY = slice(None)
INDICES = {
    "vector": ((7,), rng.integers(-7, 7, 20)),
    "none": ((7,), np.array([], int)),
    "small integers": ((7,), rng.integers(0, 7, 20).astype(np.uint8)),
    "matrix of places": ((7,), rng.integers(-7, 7, (4, 5))),
    "rows": ((7, 3), rng.integers(-7, 7, 20)),
    "columns": ((7, 3), (EVERY, rng.integers(-3, 3, 6))),
    "blocks": ((2, 5, 3), (EVERY, rng.integers(0, 5, (2, 2)))),
    "mask": ((7, 3), rng.random((7, 3)) < 0.5),
    "mask of rows": ((7, 3), rng.random(7) < 0.5),
    "mask of columns": ((2, 7), (EVERY, rng.random(7) < 0.5)),
    "empty mask": ((7,), np.zeros(7, bool)),
    "pairs": ((7, 3), (rng.integers(-7, 7, 20), rng.integers(0, 3, 20))),
    "pairs that broadcast": ((7, 3), (np.arange(7)[:, None], rng.integers(0, 3, (7, 3)))),
    "a number and places": ((7, 3), (-2, rng.integers(0, 3, 20))),
    "pairs of blocks": ((4, 3, 2), (rng.integers(0, 4, 9), rng.integers(0, 3, 9))),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("name", INDICES)
def test_as_numpy(name, dtype):
    shape, index = INDICES[name]
    x = rng.standard_normal(shape).astype(dtype)
    y = (rng.standard_normal(x[index].shape) * (1 + 2j if np.dtype(dtype).kind == "c" else 1)).astype(dtype)
    expected = x.copy()
    np.add.at(expected, index, y)
    assert add_at_places(x, index, y)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    "index",
    [
        np.array([0, 7]),
        np.array([-8, 0]),
        (np.array([0, 1]), np.array([0, 3])),
        np.array([True, False]),
        np.array(True),
        [0, 1],
        slice(2),
        (slice(0, 2), np.array([0, 1])),
        (np.array([0, 1]), EVERY),
        (np.array([0, 1]), None),
        (),
    ],
)
def test_other_indices_change_nothing(index):
    x = np.zeros((7, 3))
    assert not add_at_places(x, index, np.ones((2, 3)))
    assert not x.any()


def test_other_arrays_change_nothing():
    index = np.array([0, 1])
    for x, y in [
        (np.zeros((3, 7)).T, np.ones((2, 3))),
        (np.zeros((7, 3), np.float32), np.ones((2, 3))),
        (np.zeros((7, 3), int), np.ones((2, 3), int)),
        (np.zeros((7, 3)), np.ones((3, 2)).T),
        (np.zeros((7, 3)), np.ones(3)),
        (np.zeros((7, 3)), 1.0),
        ([0.0] * 7, np.ones(2)),
    ]:
        assert not add_at_places(x, index, y)
        assert not np.any(x)
    fixed = np.zeros((7, 3))
    fixed.flags.writeable = False
    assert not add_at_places(fixed, index, np.ones((2, 3)))
