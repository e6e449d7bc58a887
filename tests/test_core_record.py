"""The record: order, sharing, release, and what happens when something fails on the way."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import lindiff as ld
from lindiff.core.linearization import Linearization
from lindiff.rules.indexing import compiled


def test_a_record_shared_with_backward_walks_right():
    kept = []

    def f(x):
        for _ in range(100):
            y = np.sin(x)
            kept.append(y)
            x = x + y
        return np.sum(x)

    x = np.linspace(0.1, 1.0, 4)
    expected = ld.grad(f)(x)
    kept.clear()
    _, pullback = ld.vjp(f, x)
    np.testing.assert_allclose(pullback(1.0)[0], expected)
    for y in (kept[-1], kept[3], kept[50]):  # each numbers the same nodes from other results
        y.backward(np.ones(4))
        np.testing.assert_allclose(pullback(1.0)[0], expected)


def test_numbers_travel_as_arrays():
    """NumPy's scalars, as ``x[i]`` of an array gives them, are slow among the kernels."""
    seen = []

    def watched(x):
        def pushforward(x_dot):
            seen.append(x_dot)
            return 2 * x_dot

        def pullback(y_bar):
            seen.append(y_bar)
            return 2 * y_bar

        return 2 * x, ld.Linear(pushforward, pullback)

    watched.__module__ = "lindiff"  # a rule of others is given numbers
    watched = ld.rule(watched)

    def f(x):
        total = watched(np.sum(x))
        return np.array([[total, 1.0], [total * total, total]], like=x)

    _, lin = ld.linearize(f, np.array([1.0, 2.0]))
    np.testing.assert_allclose(lin(np.ones(2)), [[4, 0], [48, 4]])
    np.testing.assert_allclose(lin.T(np.ones((2, 2)))[0], [28, 28])
    assert [type(x) for x in seen] == [np.ndarray, np.ndarray]


def test_a_walk_forward_forgets_tangents_behind_it():
    alive = []

    @ld.rule
    def step(x):
        def pushforward(x_dot):
            alive.append(sum(ref() is not None for ref in tangents))
            y_dot = 2.0 * x_dot
            tangents.append(weakref.ref(y_dot))
            return y_dot

        return 2.0 * x, ld.Linear(pushforward, lambda y_bar: 2.0 * y_bar)

    def f(x):
        for _ in range(10):
            x = step(x)
        return x

    _, lin = ld.linearize(f, np.ones(3))
    tangents = []
    np.testing.assert_allclose(lin(np.ones(3)), 1024)
    assert max(alive) == 1


def filled(x):
    """Reads and writes element by element, and keeps what was there."""
    y = np.zeros(6, like=x)
    y[0] = x[0]
    early = y[:3]
    before = 2 * y
    for i in range(1, 6):
        y[i] = y[i - 1] * x[i] + x[i - 1]
    y[2:4] = y[3:5] * y[0]
    return np.concatenate([y, before, early])


def test_a_walk_forward_writes_only_to_tangents_that_it_needs_no_more():
    x, x_dot = np.linspace(0.5, 1.5, 6), np.linspace(-1.0, 2.0, 6)
    given = x_dot.copy()
    _, lin = ld.linearize(filled, x)
    expected = ld.jvp(filled, (x,), (x_dot,))[1]
    for _ in range(2):
        np.testing.assert_allclose(lin(x_dot), expected, rtol=1e-14)
        np.testing.assert_array_equal(x_dot, given)
    np.testing.assert_allclose(ld.jacobian(filled, mode="forward")(x) @ x_dot, expected, rtol=1e-14)


def test_second_derivatives_of_reads_one_by_one_fill_one_array(monkeypatch):
    made = []
    scatter = compiled.scatter
    monkeypatch.setattr(compiled, "scatter", lambda *args: made.append(args) or scatter(*args))
    x, x_dot = np.linspace(0.5, 1.5, 20), np.linspace(-1.0, 2.0, 20)

    def f(x):
        return sum(x[i] ** 2 * x[i - 1] for i in range(1, 20))

    hessian = np.diag(2 * np.concatenate([[0.0], x[:-1]]))
    hessian += np.diag(2 * x[1:], 1) + np.diag(2 * x[1:], -1)
    np.testing.assert_allclose(ld.hvp(f, (x,), (x_dot,)), hessian @ x_dot, rtol=1e-13)
    slope = ld.grad(lambda x: ld.grad(f)(x) @ x_dot)(x)
    np.testing.assert_allclose(slope, hessian @ x_dot, rtol=1e-13)
    assert len(made) < 10


def test_linear_map_after_backward_of_a_part():
    kept = []

    def f(x):
        kept.append(np.exp(x))
        return x * x + kept[0]

    _, lin = ld.linearize(f, np.array([1.0, 2.0]))
    kept[0].backward(np.ones(2))
    np.testing.assert_allclose(lin(np.ones(2)), 2 * np.array([1.0, 2.0]) + np.exp([1.0, 2.0]))


def test_backward_within_the_pullback_of_a_shared_graph():
    w = ld.Variable([1.0, 2.0])
    inner = np.sin(w)

    @ld.rule
    def twice(x):
        def pullback(y_bar):
            inner.backward(np.ones(2))  # renumbers the nodes of the walk that is going on
            return 2 * y_bar

        return 2 * x, pullback

    y = np.sin(w) * inner
    for _ in range(10):
        y = y + twice(y)
    w.grad = None
    np.sum(y).backward()
    expected = 3**10 * 2 * np.sin([1.0, 2.0]) * np.cos([1.0, 2.0])
    np.testing.assert_allclose(w.grad - 10 * np.cos([1.0, 2.0]), expected)


def test_threads_share_a_graph_made_by_hand():
    w = ld.Variable(np.linspace(0.0, 1.0, 3000))  # large enough for NumPy to release the GIL
    chain = [np.sin(w)]
    for _ in range(60):
        chain.append(np.sin(chain[-1]) + w)
    expected = {}
    for k in (10, 35, 60):
        w.grad = None
        chain[k].backward(np.ones(3000))
        expected[k] = w.grad.copy()
    failures = []

    def work(k):
        try:
            for _ in range(20):
                chain[k].backward(np.zeros(3000))
        except Exception as error:
            failures.append(error)

    w.grad = None
    threads = [threading.Thread(target=work, args=(k,)) for k in (10, 35, 60) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not w.grad.any()
    for k, gradient in expected.items():
        w.grad = None
        chain[k].backward(np.ones(3000))
        np.testing.assert_array_equal(w.grad, gradient)


def test_a_consumed_record_cannot_be_walked_again():
    linearization = Linearization(lambda x: x * x, (np.array([1.0, 2.0]),))
    record = linearization.record
    record.pull([np.ones(2)], True)
    assert len(record) == 0
    with pytest.raises(RuntimeError, match="released"):
        record.pull([np.ones(2)], False)
    with pytest.raises(RuntimeError, match="released"):
        record.push([np.ones(2)])


def test_an_exception_in_a_consuming_walk_releases_all():
    @ld.rule
    def fails(x):
        def pullback(y_bar):
            raise ZeroDivisionError("in the pullback")

        return x * 1.0, pullback

    class Big(np.ndarray):  # an ndarray that can be referred to weakly
        pass

    refs = []

    def f(x):
        y = x
        for _ in range(10):
            factor = np.ones(4).view(Big)
            refs.append(weakref.ref(factor))
            y = y * factor
            if len(refs) == 5:
                y = fails(y)
        del factor
        return np.sum(np.sum(y) * 1.0)

    with pytest.raises(ZeroDivisionError, match="in the pullback"):
        ld.grad(f)(np.ones(4))
    gc.collect()
    assert all(ref() is None for ref in refs)
    linearization = Linearization(lambda x: fails(x * 2.0), (np.ones(2),))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            linearization.pull(np.ones(2))


@pytest.mark.parametrize("shared", [False, True])
def test_a_diamond_of_many_paths_is_walked_once(shared):
    def f(x):
        for _ in range(60):  # 2**60 paths
            x = (x + x) * 0.5 if shared else x * 0.5 + 0.5 * x
        return x

    assert ld.grad(f)(3.0) == 1.0
    _, lin = ld.linearize(f, 3.0)
    assert lin(1.0) == 1.0


def test_results_that_are_inputs_or_constants():
    _, pullback = ld.vjp(lambda x, y: (x, y, x, 3.0, x * y), 2.0, 5.0)
    assert pullback((1.0, 10.0, 100.0, 7.0, 1000.0)) == (5101.0, 2010.0)
