"""What is kept, what is freed and when."""

from __future__ import annotations

import functools
import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import lindiff as ld
import lindiff.kernels
from lindiff.core.record import Node, Record, Trace, current_trace, root_trace
from lindiff.scipy.linalg import solve_triangular

N = 1_000_000
SIZE = 8 * N


class Tracked(np.ndarray):
    """An ndarray that can be referred to weakly."""


def peak(run):
    gc.collect()
    tracemalloc.start()
    try:
        result = run()
        return tracemalloc.get_traced_memory()[1] / SIZE, result
    finally:
        tracemalloc.stop()


def chain(x, depth):
    for _ in range(depth):
        x = np.sin(x)
    return x


def test_forward_mode_keeps_nothing():
    x = np.linspace(0.0, 1.0, N)
    short, _ = peak(lambda: ld.jvp(lambda x: np.sum(chain(x, 5)), (x,), (x,)))
    long, _ = peak(lambda: ld.jvp(lambda x: np.sum(chain(x, 40)), (x,), (x,)))
    assert long <= short + 0.1
    assert long <= 6


def test_reverse_mode_keeps_one_array_an_operation():
    x = np.linspace(0.0, 1.0, N)
    five, _ = peak(lambda: ld.grad(lambda x: np.sum(chain(x, 5)))(x))
    twenty, _ = peak(lambda: ld.grad(lambda x: np.sum(chain(x, 20)))(x))
    assert twenty - five <= 15 * 1.02
    assert five <= 5 + 5


def test_linear_operations_keep_nothing():
    x = np.ones(N)

    def f(x):
        for _ in range(30):
            x = x + 1.0
            x = x * 2.0
            x = x - 3.0
        return np.sum(x)

    kept, _ = peak(lambda: ld.grad(f)(x))
    assert kept <= 6


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x, axis=0),
        np.mean,
        lambda x: np.cumsum(x, axis=1),
        lambda x: np.reshape(x, (50, 200)),
        lambda x: np.reshape(x, -1, order="F"),
        np.ravel,
        lambda x: np.squeeze(x[None]),
        lambda x: np.expand_dims(x, (0, 3)),
        lambda x: np.concatenate([x, x], 1),
        lambda x: np.concatenate(x),
        lambda x: np.stack([x, x], 1),
        lambda x: np.broadcast_to(x, (2, 100, 100)),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.roll(x, 3),
        lambda x: np.flip(x, 0),
        lambda x: np.pad(x, 2),
        lambda x: np.repeat(x, 2, 0),
        lambda x: np.diff(x, axis=0),
        lambda x: x[1:, ::2],
        np.diagonal,
        np.trace,
        np.triu,
        np.fft.fft,
        np.fft.rfft,
        np.fft.irfft,
        ld.linalg.extractdiag,
        ld.linalg.extracttrian,
    ],
)
def test_linear_functions_do_not_keep_their_argument(function):
    table = ld.explain(lambda x: function(x + 1.0))(np.ones((100, 100)))
    assert len(table) > 1
    assert table.total.kept < 80_000 // 2


def test_a_gradient_frees_what_it_has_used():
    """The record shrinks while the cotangents of many branches are made."""
    x = np.ones(N)

    def f(x):
        return np.sum(chain(x, 15))

    def held_by_pullback():
        _, pullback = ld.vjp(f, x)
        return pullback(1.0)

    consuming, _ = peak(lambda: ld.grad(f)(x))
    keeping, _ = peak(held_by_pullback)
    assert consuming <= keeping - 0.9


def our_objects():
    return [
        o
        for o in gc.get_objects()
        if isinstance(o, (ld.Variable, Node, Record, Trace)) and o is not root_trace
    ]


@pytest.mark.parametrize(
    "run",
    [
        lambda f, x: ld.grad(f)(x),
        lambda f, x: ld.value_and_grad(f)(x),
        lambda f, x: ld.vjp(f, x)[1](1.0),
        lambda f, x: ld.jvp(f, (x,), (x,)),
        lambda f, x: ld.linearize(f, x)[1](x),
        lambda f, x: ld.hessian(f)(x),
        lambda f, x: ld.hvp(f, (x,), (x,)),
        lambda f, x: f(ld.Variable(x)).backward(),
        lambda f, x: ld.grad(lambda t: f(t["a"]) + f(t["b"][0]))({"a": x, "b": (x,)}),
    ],
)
def test_no_cycles(run):
    def f(x):
        y = np.exp(np.sin(x)) * x / (x + 2.0)
        return np.sum(y @ y + y[0] * y[1:2] + y.T)

    run(f, np.ones(3))
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            run(f, np.ones(3))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_arrays_die_with_the_last_reference():
    gc.disable()
    try:
        x, factor = np.ones(4).view(Tracked), np.full(4, 2.0).view(Tracked)
        refs = weakref.ref(x), weakref.ref(factor)
        counts = sys.getrefcount(x), sys.getrefcount(factor)
        ld.grad(lambda x, factor: np.sum(x * factor))(x, factor)
        assert (sys.getrefcount(x), sys.getrefcount(factor)) == counts
        value, pullback = ld.vjp(functools.partial(np.multiply, factor), x)
        pullback(np.ones(4))
        assert sys.getrefcount(factor) > counts[1]
        del value, pullback
        assert (sys.getrefcount(x), sys.getrefcount(factor)) == counts
        del x, factor
        assert refs[0]() is None
        assert refs[1]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("where", ["function", "rule", "pullback", "pushforward"])
def test_exceptions_leave_nothing_behind(where):
    @ld.rule
    def fails(x):
        if where == "rule":
            raise KeyError(where)

        def forward(x_dot):
            raise KeyError(where)

        def backward(y_bar):
            raise KeyError(where)

        return x * 1.0, ld.Linear(forward if where == "pushforward" else lambda t: t, backward)

    def f(x):
        y = np.sin(x) * x
        if where == "function":
            raise KeyError(where)
        return np.sum(fails(np.exp(y)))

    x = np.ones(3).view(Tracked)
    ref, count = weakref.ref(x), sys.getrefcount(x)
    for _ in range(3):
        with pytest.raises(KeyError, match=where):
            ld.jvp(f, (x,), (np.ones(3),)) if where == "pushforward" else ld.grad(f)(x)
        assert current_trace() is root_trace
    gc.collect()
    assert sys.getrefcount(x) == count
    assert ld.grad(lambda x: np.sum(x * x))(x).tolist() == [2.0, 2.0, 2.0]
    del x
    assert ref() is None


def test_nested_exceptions_restore_each_trace():
    def f(x):
        outer = current_trace()
        with pytest.raises(ZeroDivisionError):
            ld.grad(lambda y: y * (1 / 0))(x)
        assert current_trace() is outer
        return x * ld.grad(lambda y: y * y * x)(x)

    assert ld.grad(f)(2.0) == 24.0
    assert current_trace() is root_trace


def test_sparse_gaussian_process_needs_three_matrices():
    """Kept: exp of the kernel, L⁻¹K; one cotangent, which every pullback overwrites or adds to."""
    inducing, points = 40, 4000
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((points, 2)), rng.standard_normal(points)

    def kernel(X1, X2, scale):
        Z1, Z2 = X1 / scale, X2 / scale
        return np.exp(np.sum(Z1**2, 1)[:, None] * -0.5 - 0.5 * np.sum(Z2**2, 1) + Z1 @ Z2.T)

    def bound(Z, scale):
        L = np.linalg.cholesky(kernel(Z, Z, scale) + 1e-3 * np.eye(inducing))
        B = solve_triangular(L, kernel(Z, X, scale), lower=True)
        M = np.linalg.cholesky(ld.linalg.syrk(B) + np.eye(inducing))
        z = solve_triangular(M, B @ y, lower=True)
        return np.sum(np.log(np.diagonal(M))) - np.sum(z * z) - np.sum(B * B)

    gradient = ld.grad(bound, (0, 1))
    Z, scale = rng.standard_normal((inducing, 2)), np.ones(2)
    gradient(Z, scale)
    needed, _ = peak(lambda: gradient(Z, scale))
    assert needed * SIZE / (8 * inducing * points) < 3.5


def test_many_calls_keep_memory_constant():
    A = np.ones((4, 4))
    f = ld.grad(lambda x: np.sum(np.sin(x @ A) * x + x[0, 1:2] / (x.T + 2.0)))
    for _ in range(50):
        f(A)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        f(A)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 5_000


@pytest.mark.parametrize(
    ("function", "matrices"),
    [
        (lambda A: np.linalg.slogdet(A)[1], 2),
        (np.linalg.det, 2),
        (lambda A: ld.linalg.cho_factor(A).logdet(), 2),
        (lambda A: ld.linalg.gp_logpdf(A[0], A), 1),
        (lambda A: np.sum(ld.linalg.potrf(A)), 2),
    ],
    ids=["slogdet", "det", "cho_factor", "gp_logpdf", "potrf"],
)
def test_matrices_beside_the_argument(function, matrices):
    """As the table of operators.md has it: the factor, and what the gradient is made of."""
    n = 300
    A = np.eye(n) + 0.1 / n
    value_and_grad = ld.value_and_grad(function)
    value_and_grad(A)
    lindiff.kernels.memory.release()
    found, _ = peak(lambda: value_and_grad(A))
    assert found * SIZE / A.nbytes <= matrices + 0.2
