"""Memory of large results: ordinary arrays, and used again when they have died."""

import gc
import pickle
import threading

import numpy as np
import pytest

from lindiff.kernels import memory, syrk

LIMIT = 64 * 2**20


def large(n=200):
    """Make a result of n*n float64 numbers."""
    return syrk(np.eye(n))


def address(x):
    return x.__array_interface__["data"][0]


@pytest.fixture(autouse=True)
def nothing_retained():
    gc.collect()
    memory.release()
    yield
    memory.release()


def test_memory_is_used_again_by_results_of_the_same_size():
    x = large()
    place = address(x)
    del x
    assert memory.retained() == 200 * 200 * 8
    assert address(large()) == place


def test_memory_is_not_shared_by_living_results():
    results = [large() for _ in range(5)]
    assert len({address(x) for x in results}) == 5
    for i, x in enumerate(results):
        x[...] = i
    for i, x in enumerate(results):
        assert (x == i).all()


def test_much_larger_memory_is_not_taken():
    x = large(400)
    place = address(x)
    del x
    assert address(large(200)) != place


def test_small_results_are_not_retained():
    large(20)
    assert memory.retained() == 0


def test_retained_memory_is_bounded():
    alive = [large(n) for n in range(600, 680)]
    assert sum(x.nbytes for x in alive) > 2 * LIMIT
    del alive
    assert 0 < memory.retained() <= LIMIT
    memory.release()
    assert memory.retained() == 0


def test_more_than_half_of_the_bound_is_not_retained():
    x = large(2200)
    assert x.nbytes > LIMIT // 2
    del x
    assert memory.retained() == 0


def test_results_are_ordinary_arrays():
    x = large()
    assert x.flags.owndata
    assert x.flags.writeable
    assert x.base is None
    assert address(x) % 64 == 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), np.eye(200))
    x.resize((300, 200), refcheck=False)
    np.testing.assert_array_equal(x[:200], np.eye(200))
    assert not x[200:].any()
    x.resize((100, 200), refcheck=False)
    np.testing.assert_array_equal(x, np.eye(200)[:100])


def test_sizes_at_random(rng):
    alive = []
    for n in rng.integers(80, 300, 200):
        x = large(n)
        alive.append((x, n))
        if len(alive) > 4:
            del alive[rng.integers(len(alive))]
        assert all(np.trace(y) == m for y, m in alive)


def test_results_may_die_in_other_threads():
    def work(number):
        for _ in range(50):
            x = large(150)
            x *= number
            assert np.trace(x) == 150 * number

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.retained() <= LIMIT
