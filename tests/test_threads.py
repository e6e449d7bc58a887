"""Threads and tasks differentiate side by side; deep records need no deep stack."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lindiff as ld
from lindiff.core.record import current_trace, root_trace


def test_many_threads_different_functions():
    def work(k):
        x = np.linspace(0.1, 1.0, 3 + k % 5)

        def f(x):
            for _ in range(k % 7):
                x = np.sin(x) * k
            return np.sum(x * x)

        for _ in range(20):
            g = ld.grad(f)(x)
            h = ld.hvp(f, (x,), (np.ones_like(x),))
            assert current_trace() is root_trace
        return g, h

    serial = [work(k) for k in range(16)]
    with ThreadPoolExecutor(8) as pool:
        for (g, h), (g_serial, h_serial) in zip(pool.map(work, range(16)), serial, strict=True):
            np.testing.assert_array_equal(g, g_serial)
            np.testing.assert_array_equal(h, h_serial)


@pytest.mark.parametrize("n", [4, 5000])
def test_one_pullback_called_from_many_threads(n):
    x = np.linspace(0.1, 1.0, n)

    def f(x):
        y = x
        for _ in range(30):
            y = np.sin(y) * x + np.sqrt(x) - y / (x + 2.0)
        return y * y

    _, pullback = ld.vjp(f, x)
    _, lin = ld.linearize(f, x)

    def expected(k):
        return pullback(np.full(n, float(k)))[0], lin(np.full(n, float(k)))

    serial = [expected(k) for k in range(20)]
    with ThreadPoolExecutor(8) as pool:
        for got, wanted in zip(pool.map(expected, range(20)), serial, strict=True):
            np.testing.assert_array_equal(got[0], wanted[0])
            np.testing.assert_array_equal(got[1], wanted[1])


def test_gradients_from_many_threads_add_up_in_one_variable():
    x = ld.Variable(np.linspace(1.0, 2.0, 1000))

    def work():
        for _ in range(100):
            np.sum(np.sin(x)).backward()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_allclose(x.grad, 800 * np.cos(ld.value(x)))


def test_tasks():
    seen = []

    async def one(k):
        def f(x):
            seen.append(current_trace())
            return x**3 * k

        await asyncio.sleep(0)
        before = current_trace()
        g = ld.grad(f)(2.0)
        await asyncio.sleep(0.001)
        assert current_trace() is before is root_trace
        return g + ld.grad(ld.grad(f))(2.0)

    async def main():
        return await asyncio.gather(*(one(k) for k in range(50)))

    assert asyncio.run(main()) == [24.0 * k for k in range(50)]
    assert root_trace not in seen


def test_a_task_started_inside_a_function_keeps_its_trace():
    def f(x):
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(context.run, lambda: ld.grad(lambda y: x * y * y)(x)).result()

    assert ld.grad(f)(3.0) == 12.0


def in_thread(function, stack=256 * 1024):
    outcome = []

    def work():
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    old = threading.stack_size(stack)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(old)
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


DEPTH = 1_000_000


def chain(x, depth=DEPTH):
    for _ in range(depth):
        x = x + 1.0
    return x


def test_a_deep_chain_is_differentiated_and_dropped():
    assert in_thread(lambda: ld.grad(chain)(1.0)) == 1.0


def test_a_deep_chain_is_dropped_without_being_walked():
    def drop():
        y = chain(ld.Variable(1.0))
        del y

    in_thread(drop)


def test_a_deep_chain_is_pushed_through():
    assert in_thread(lambda: ld.jvp(chain, (1.0,), (2.0,))[1]) == 2.0

    def linearized():
        _, lin = ld.linearize(lambda x: chain(x, 100_000), 1.0)
        return lin(2.0), lin.T(3.0)[0]

    assert in_thread(linearized) == (2.0, 3.0)


def test_deep_chains_of_python_rules_and_of_several_results():
    @ld.rule
    def swap(x, y, z, w):
        return (y, z, w, x), lambda bars: (bars[3], bars[0], bars[1], bars[2])

    def f(x):
        parts = (x, 2.0 * x, 3.0 * x, 4.0 * x)
        for _ in range(50_000):
            parts = swap(*parts)
        return parts[0] + parts[1] * parts[2] * parts[3]

    assert in_thread(lambda: ld.grad(f)(1.0)) == 73.0

    def drop():
        y = f(ld.Variable(1.0))
        del y

    in_thread(drop)


def test_deep_nested_chains_are_dropped():
    def f(x):
        def g(y):
            for _ in range(50_000):
                y = y * x
                x_now = x * 1.0
            return y * x_now

        y, pullback = ld.vjp(g, 1.0)
        return pullback(1.0)[0] * 1.0 + y

    assert in_thread(lambda: ld.grad(f)(1.0)) == 100_002.0
