"""Memory of large results: ordinary arrays, and used again when they have died."""

import gc
import pickle
import threading

import numpy as np
import pytest

import lindiff as ld
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


# -- NumPy's own arrays, while a function of large ones is differentiated ----------------------------------


def test_arrays_of_a_transform_are_used_again():
    def f(x):
        assert not made_by_numpy()
        return np.sum(np.exp(x))

    ld.grad(f)(np.linspace(0.0, 1.0, 40_000))
    assert memory.retained() > 0


def test_arrays_of_small_transforms_and_others_are_numpys():
    np.exp(np.linspace(0.0, 1.0, 40_000))
    ld.grad(lambda x: np.sum(np.exp(x)))(np.ones(10))
    assert memory.retained() == 0


def made_by_numpy():
    """Whether an array that NumPy makes is not kept when it dies."""
    memory.release()
    np.ones(40_000)
    return memory.retained() == 0


def test_numpy_makes_its_arrays_again_after_errors():
    def fails(x):
        raise ZeroDivisionError(np.sum(x))

    with pytest.raises(ZeroDivisionError):
        ld.grad(fails)(np.ones(40_000))
    assert made_by_numpy()

    @ld.rule
    def unable(x):
        def pullback(y_bar):
            raise ZeroDivisionError

        return np.sum(x), pullback

    with pytest.raises(ZeroDivisionError):
        ld.grad(unable)(np.ones(40_000))
    assert made_by_numpy()


def test_a_small_argument_of_a_large_computation():
    _, pullback = ld.vjp(lambda s: np.sum(np.exp(np.sin(s + np.linspace(0.0, 1.0, 40_000)))), 0.5)
    pullback(1.0)
    assert memory.retained() > 0
    assert made_by_numpy()


def test_nested_transforms_and_forward_mode():
    x, v = np.linspace(0.0, 1.0, 40_000), np.ones(40_000)
    value, tangent = ld.jvp(ld.grad(lambda x: np.sum(np.sin(x) ** 2)), (x,), (v,))
    np.testing.assert_allclose(value, np.sin(2 * x))
    np.testing.assert_allclose(tangent, 2 * np.cos(2 * x))
    assert made_by_numpy()


def test_arrays_outlive_their_transform():
    kept = {}

    def f(x):
        for n in (0, 1, 5, 1000, 9_000, 40_000):
            kept[n] = np.full(n, float(n))
        kept["empty"] = np.empty((0, 100_000))
        kept["zeros"] = np.zeros(40_000)
        kept["list"] = np.fromiter((i * i for i in range(20_000)), float)
        return np.sum(x * x)

    for _ in range(3):  # new memory, then used memory
        ld.grad(f)(np.ones(40_000))
    gc.collect()
    assert not kept["zeros"].any()
    np.testing.assert_array_equal(kept["list"], np.arange(20_000.0) ** 2)
    for n in (0, 1, 5, 1000, 9_000, 40_000):
        np.testing.assert_array_equal(kept[n], np.full(n, float(n)))
        kept[n].resize(2 * n + 1, refcheck=False)
        np.testing.assert_array_equal(kept[n][:n], n)
        assert not kept[n][n:].any()


def test_transforms_in_threads():
    wrong = []

    def work(number):
        x = np.linspace(0.0, 1.0, 20_000 + 100 * number)
        for _ in range(20):
            if not np.allclose(ld.grad(lambda x: np.sum(np.sin(x * number)))(x), number * np.cos(x * number)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert made_by_numpy()
