"""Functions that run again in the walk instead of being kept."""

from __future__ import annotations

import concurrent.futures
import gc
import tracemalloc
import types
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_recorded_programs import calls, count

import lindiff as ld
from lindiff.core.linearization import Linearization
from lindiff.core.record import is_recording
from lindiff.core.variable import untraced
from lindiff.testing import check_grads

X = np.array([0.3, -0.7, 1.1])
W = np.array([1.5, 0.5, -0.2])


def same(a, b):
    a, b = (ld.core.pytree.flatten(tree)[0] for tree in (a, b))
    assert len(a) == len(b)
    for left, right in zip(a, b, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-13, atol=1e-14)
        assert np.asarray(left).dtype == np.asarray(right).dtype


def step(x, w, *, times=2, options=None):
    for _ in range(times):
        x = np.sin(x * w) + (0.0 if options is None else options["shift"]) * x
    return x


def plain_loss(x, w, wrap):
    y = wrap(step)(x, w, times=3, options={"shift": 0.5, "name": "a string"})
    y = wrap(step)(y, w)
    return np.sum(y**2)


def unchanged(function):
    return function


@pytest.mark.parametrize("transform", [ld.grad, ld.value_and_grad, ld.hessian, ld.jacobian])
def test_derivatives_are_the_same(transform):
    got = transform(lambda x, w: plain_loss(x, w, ld.checkpoint), (0, 1))(X, W)
    same(got, transform(lambda x, w: plain_loss(x, w, unchanged), (0, 1))(X, W))


def test_any_order_and_mode():
    check_grads(lambda x, w: ld.checkpoint(step)(x, w), (X, W), order=3)
    for outer in (
        lambda f: ld.hvp(f, (X, W), (W, X)),
        lambda f: ld.grad(lambda x: ld.jvp(f, (x, W), (W, X))[1])(X),
        lambda f: ld.jvp(lambda x: ld.jvp(f, (x, W), (W, X))[1], (X,), (W,))[1],
        lambda f: ld.grad(lambda x: np.sum(ld.grad(f)(x, W) ** 2))(X),
        lambda f: ld.jacobian(ld.hessian(f))(X, W),
        lambda f: ld.linearize(f, X, W)[1](W, X),
        lambda f: ld.linearize(f, X, W)[1].T(2.0),
    ):
        same(
            outer(lambda x, w: plain_loss(x, w, ld.checkpoint)),
            outer(lambda x, w: plain_loss(x, w, unchanged)),
        )


def test_closed_over_variables_get_their_gradients():
    def f(x, w, wrap):
        scale = np.exp(w)
        piece = wrap(lambda x: np.sin(scale * x) * w[0] + np.cumsum(np.log(scale)))
        return np.sum(wrap(lambda: piece(piece(x)) * scale)() ** 2)

    for transform in (ld.grad, ld.hessian):
        same(
            transform(lambda x, w: f(x, w, ld.checkpoint), (0, 1))(X, W),
            transform(lambda x, w: f(x, w, unchanged), (0, 1))(X, W),
        )


def test_closed_over_variables_of_two_transforms():
    def f(w, wrap):
        def inner(x):
            return np.sum(wrap(lambda: np.sin(x * w) * w)())

        return np.sum(ld.grad(inner)(X) ** 2)

    same(ld.grad(lambda w: f(w, ld.checkpoint))(W), ld.grad(lambda w: f(w, unchanged))(W))


@dataclass
class State:
    position: object
    history: list


def test_trees_constants_and_no_variables():
    @ld.checkpoint
    def advance(state, dt):
        """Moves on."""
        moved = state.position + dt * np.cos(state.position)
        return State(moved, [*state.history, np.sum(state.position)]), "aux", 7

    assert advance.__name__ == "advance"
    assert advance.__doc__ == "Moves on."
    state, text, number = advance(State(X, [1.0]), 0.1)
    assert type(state.position) is np.ndarray
    assert (text, number) == ("aux", 7)

    def f(x):
        state, text, _ = advance(State(x, [1.0]), 0.1)
        state, _, _ = advance(state, 0.2)
        assert text == "aux"
        return np.sum(state.position) * state.history[1] * state.history[2]

    check_grads(f, (X,))
    assert ld.grad(lambda x: ld.checkpoint(lambda x: 3.0)(x) * x)(2.0) == 3.0  # a constant
    assert ld.grad(lambda x: ld.checkpoint(lambda x: x)(x) * x)(2.0) == 4.0  # its argument
    z = np.array([1 + 2j, 0.5j])
    g = ld.grad(lambda z: np.sum(np.abs(ld.checkpoint(lambda z: z * z)(z))))
    np.testing.assert_allclose(g(z), ld.grad(lambda z: np.sum(np.abs(z * z)))(z))
    assert ld.grad(lambda x: np.sum(ld.checkpoint(np.sin)(x)))(np.ones(2, "f4")).dtype == np.float32


def test_variables_made_by_hand():
    v = ld.Variable(X)
    y = np.sum(ld.checkpoint(lambda x: np.sin(x) * v)(v * 2.0))
    y.backward()
    np.testing.assert_allclose(v.grad, 2 * np.cos(2 * X) * X + np.sin(2 * X))


def test_how_often_it_runs():
    runs = []

    def counted(x):
        runs.append(1)
        return np.sin(x)

    ld.grad(lambda x: np.sum(ld.checkpoint(counted)(x)))(X)
    assert len(runs) == 2
    runs.clear()
    ld.jvp(ld.checkpoint(counted), (X,), (X,))
    assert len(runs) == 1
    runs.clear()
    ld.jacobian(ld.checkpoint(counted))(X)  # all directions together
    assert len(runs) == 2


def test_it_runs_again_in_the_same_surroundings():
    """Functions that make arrays ask whether operations are recorded."""
    seen = []

    def f(x):
        seen.append(is_recording())
        return np.sin(x)

    ld.grad(lambda x: np.sum(ld.checkpoint(f)(x)))(X)
    assert seen == [True, True]


def test_in_place_writes_inside():
    def f(x):
        y = x * 1.0
        y[0] = y[1] * y[2]
        buffer = untraced(np.zeros(2))
        buffer[1:] = y[:1]
        return np.sum(np.sin(y)) * buffer

    check_grads(ld.checkpoint(f), (X,))
    same(ld.hessian(lambda x: ld.checkpoint(f)(x)[1])(X), ld.hessian(lambda x: f(x)[1])(X))


def filling(x, b):
    b[:] = 2.0
    return x * b


def test_what_it_must_not_do():
    def in_place(x):
        x += 1.0
        return x * x

    with pytest.raises(TypeError, match="changes its argument 'x' in place"):
        ld.grad(lambda x: np.sum(ld.checkpoint(in_place)(x * 1.0)))(X)
    buffer = np.zeros(3)
    with pytest.raises(TypeError, match="changes its argument 'b' in place"):
        ld.grad(lambda x: np.sum(ld.checkpoint(filling)(x, buffer)))(X)
    np.testing.assert_array_equal(buffer, 0.0)
    runs = []

    def changing(x, w):
        runs.append(1)
        return x * w if len(runs) == 1 else np.sin(x)

    with pytest.raises(RuntimeError, match="something else"):
        ld.grad(lambda x, w: np.sum(ld.checkpoint(changing)(x, w)), (0, 1))(X, W)


def test_constants_may_be_buffers():
    """Small plain arguments are copied: a loop may write into them."""

    def f(x):
        buffer = np.zeros(3)
        for k in range(3):
            buffer[:] = k
            x = ld.checkpoint(lambda x, b: np.sin(x) + b * x)(x, buffer)
        return np.sum(x)

    check_grads(f, (X,))


def chain(x, steps):
    for _ in range(steps):
        x = np.sin(x)
    return x


def test_nodes_kept():
    """What is kept of a piece is one operation and its result, however long it is."""

    def nodes(pieces, steps, wrap):
        def f(x):
            for _ in range(pieces):
                x = wrap(chain)(x, steps)
            return x

        return len(Linearization(f, (X,)).record)

    assert nodes(4, 10, unchanged) == 1 + 40
    assert nodes(4, 10, ld.checkpoint) == nodes(4, 100, ld.checkpoint) == 1 + 2 * 4


def peak_arrays(run, size):
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / size
    finally:
        tracemalloc.stop()


def in_pieces(x, steps):
    """√T pieces of √T steps."""
    piece = ld.checkpoint(chain)
    root = round(steps**0.5)
    for _ in range(root):
        x = piece(x, root)
    return np.sum(x)


def halved(x, steps):
    """Halves of halves: log T levels."""
    if steps == 1:
        return np.sin(x)
    return ld.checkpoint(halved)(ld.checkpoint(halved)(x, steps // 2), steps - steps // 2)


def test_memory_of_a_loop():
    x = np.linspace(0.0, 1.0, 8_000)
    for T in (16, 144):
        whole = peak_arrays(lambda T=T: ld.grad(lambda x: np.sum(chain(x, T)))(x), x.nbytes)
        pieces = peak_arrays(lambda T=T: ld.grad(lambda x: in_pieces(x, T))(x), x.nbytes)
        binary = peak_arrays(lambda T=T: ld.grad(lambda x: np.sum(halved(x, T)))(x), x.nbytes)
        second = peak_arrays(lambda T=T: ld.hvp(lambda x: in_pieces(x, T), (x,), (x,)), x.nbytes)
        assert whole > T
        assert pieces < 2 * T**0.5 + 8
        assert binary < 3 * np.log2(T) + 8
        assert second < 6 * T**0.5 + 16
    same(ld.grad(lambda x: in_pieces(x, 64))(X), ld.grad(lambda x: np.sum(chain(x, 64)))(X))
    same(ld.grad(lambda x: np.sum(halved(x, 50)))(X), ld.grad(lambda x: np.sum(chain(x, 50)))(X))


def doubling(rng):
    return lambda x: np.sum(x * rng.standard_normal(x.shape))


def test_another_result_of_the_second_run_raises():
    rng = np.random.default_rng(0)
    buffer = np.ones(5_000)  # too large to be copied

    def loop(x):
        total = 0.0
        for i in range(3):
            total = total + ld.checkpoint(lambda x: x**i)(np.sum(x))  # noqa: B023
        return total

    def refilled(x):
        y = ld.checkpoint(lambda x, b: np.sum(x) * b)(x, buffer)
        buffer[:] = 7.0
        return np.sum(y)

    for function in (ld.checkpoint(doubling(rng)), loop):
        with pytest.raises(RuntimeError, match="something else when it ran again"):
            ld.grad(function)(np.ones(3))
        _, linear = ld.linearize(function, np.ones(3))
        with pytest.raises(RuntimeError, match="Random numbers"):
            linear(np.ones(3))
    with pytest.raises(RuntimeError, match=r"checkpoint\(<lambda>\).*written to since"):
        ld.grad(refilled)(np.ones(3))
    buffer[:] = 1.0
    _, linear = ld.linearize(refilled, np.ones(3))
    with pytest.raises(RuntimeError, match="written to since"):
        linear(np.ones(3))


def test_another_run_with_the_same_results_raises():
    """Where weights are zero, results do not tell."""
    rng = np.random.default_rng(0)
    zero, cell = np.zeros(3), np.ones(3)

    def noise_under_a_weight(x, w):
        return np.sum(w * np.tanh(x + rng.standard_normal(3)))

    def dropout(x, w):
        return np.sum(np.where(rng.random(40) < 0.5, np.repeat(w[:1], 40), 0.0))

    def global_generator(x, w):
        return np.sum(np.random.random(3) * w)  # noqa: NPY002

    def late(x, w):
        total = 0.0
        for i in range(3):
            total = total + ld.checkpoint(lambda w: w[i])(w)  # noqa: B023
        return total

    def late_power(x, w):
        total = 0.0
        for i in range(1, 4):
            total = total + ld.checkpoint(lambda x: np.sum(x**i))(x / x)  # noqa: B023
        return total

    def refilled(x, w):
        y = ld.checkpoint(lambda w: np.sum(cell * w))(w)
        cell[:] += 1.0
        return y

    def inside_of_another(x, w):
        return ld.checkpoint(lambda w: ld.checkpoint(global_generator)(x, w))(w)

    for function in (
        ld.checkpoint(noise_under_a_weight), ld.checkpoint(dropout), ld.checkpoint(global_generator),
        late, late_power, refilled, inside_of_another,
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="something else when it ran again"):
            ld.grad(function, (0, 1))(np.array([1.0, 2.0, 3.0]), zero)
        with pytest.raises(RuntimeError, match="something else when it ran again"):
            ld.linearize(function, np.ones(3), zero)[1](np.ones(3), np.ones(3))


def test_the_same_run_does_not_raise():
    """Counters, generators with a seed of their own, what is drawn and not used, threads at work."""
    runs = []

    def f(x):
        runs.append(len(runs))
        rng = np.random.default_rng(3)
        np.random.random()  # noqa: NPY002
        y = x * rng.standard_normal(x.shape)
        for k in range(3):
            y = np.sin(y[::-1]) @ np.diag(1.0 + np.arange(3)) + k
        return np.sum(np.linalg.solve(np.outer(y, y) + np.eye(3), y))

    def plain(x):
        return sum(f(x * k) for k in range(1, 4))

    def pieces(x):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return sum(pool.map(lambda k: ld.checkpoint(f)(x * k), range(1, 4)))

    for transform in (ld.grad, ld.hessian):
        same(transform(pieces)(X), transform(plain)(X))
        same(transform(ld.checkpoint(plain))(X), transform(plain)(X))


ORDERS = {
    "grad": lambda f: ld.grad(f, (0, 1))(X, W),
    "hessian": lambda f: ld.hessian(f)(X, W),
    "jvp": lambda f: ld.jvp(f, (X, W), (W, X)),
    "hvp": lambda f: ld.hvp(f, (X, W), (W, X)),
    "third": lambda f: ld.jacobian(ld.hessian(f))(X, W),
}


@pytest.mark.parametrize("order", ORDERS)
def test_by_a_program(order):
    """The step runs without Python, in the call as in the walk."""
    counted = calls(step)
    piece = ld.checkpoint(counted, program=True)

    def loss(x, w, piece):
        for _ in range(5):
            x = piece(x, w, times=3, options={"shift": 0.5})
        return np.sum(x**2)

    expected = ORDERS[order](lambda x, w: loss(x, w, step))
    runs = []
    for _ in range(4):
        same(ORDERS[order](lambda x, w: loss(x, w, piece)), expected)
        runs.append(count(counted))
    assert runs[-1] == runs[1] < 40


def test_memory_of_a_loop_of_programs():
    x, piece = np.linspace(0.0, 1.0, 8_000), ld.checkpoint(chain, program=True)

    def in_programs(x, steps):
        for _ in range(steps // 12):
            x = piece(x, 12)
        return np.sum(x)

    for _ in range(3):
        same(ld.grad(lambda x: in_programs(x, 36))(x), ld.grad(lambda x: np.sum(chain(x, 36)))(x))
    assert peak_arrays(lambda: ld.grad(lambda x: in_programs(x, 144))(x), x.nbytes) < 2 * 12 + 8


def test_where_there_is_no_program_it_is_as_without():
    """A function that closes over Variables, that asks for plain arrays, that goes another way each time."""

    def closing(x, w, wrap):
        for _ in range(3):
            x = wrap(lambda x: np.sin(x * w))(x)
        return np.sum(x)

    def nodes(wrap):
        return len(Linearization(lambda x: closing(x, W * np.sum(x), wrap), (X,)).record)

    def in_programs(f):
        return ld.checkpoint(f, program=True)

    same(ld.grad(closing, (0, 1))(X, W, in_programs), ld.grad(closing, (0, 1))(X, W, unchanged))
    assert nodes(in_programs) == nodes(ld.checkpoint)
    for f in (lambda x: x * np.asarray(ld.value(x)), every_way):
        piece = in_programs(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(4):
                same(
                    ld.grad(lambda x, f=piece: np.sum(f(f(f(x)))))(X),
                    ld.grad(lambda x, f=f: np.sum(f(f(f(x)))))(X),
                )


def test_a_program_must_not_write_to_its_arguments():
    def writing(x):
        x[0] = 1.0
        return np.sin(x)

    piece = ld.checkpoint(writing, program=True)
    for _ in range(3):
        with pytest.raises(TypeError, match="changes its argument 'x' in place"):
            ld.grad(lambda x: np.sum(piece(x)))(X)


def slope(x):
    return ld.grad(lambda z: np.sum(np.sin(z) ** 2))(x)


def each_slope(x):
    return ld.vmap(ld.grad(lambda z: np.sin(z) ** 2))(x)


def own_checkpoint(x):
    return ld.checkpoint(lambda z: np.sin(z) * x)(x)


def every_way(x):
    """One that hardly ever goes the same way: a program gives up."""
    turns = int(ld.value(np.abs(x[0] * 1e6))) % 97
    return np.sin(x) + 0.001 * turns


@pytest.mark.parametrize("step", [slope, each_slope, own_checkpoint, every_way])
@pytest.mark.parametrize("wrap", [ld.program, unchanged])
def test_what_programs_know_is_no_difference(step, wrap):
    """In the call they are recorded, in the walk they run without operations, or not any more."""

    def loss(step, part):
        def of(x):
            for _ in range(6):
                x = part(lambda x: step(0.5 * step(x)))(x)
            return np.sum(x)

        return of

    plain = loss(step, unchanged)
    one = wrap(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scale in (1.0, 1.0, 1.0, 1.3):
            same(ld.grad(loss(one, ld.checkpoint))(scale * X), ld.grad(plain)(scale * X))
        same(ld.hessian(loss(one, ld.checkpoint))(X), ld.hessian(plain)(X))


def test_a_vmap_that_is_there_already():
    mapped = ld.vmap(ld.grad(lambda z: np.sin(z) ** 2))
    for _ in range(4):
        same(
            ld.grad(lambda x: np.sum(ld.checkpoint(lambda x: mapped(mapped(x)))(x)))(X),
            ld.grad(lambda x: np.sum(slope(slope(x))))(X),
        )


def test_a_program_with_other_arguments_in_the_walk_raises():
    power = ld.program(lambda x, i: np.sum(x**i))

    def late(x):
        total = 0.0
        for i in range(1, 4):
            total = total + ld.checkpoint(lambda x: power(x, i))(x / x)  # noqa: B023
        return total

    for _ in range(4):
        with pytest.raises(RuntimeError, match="something else when it ran again"):
            ld.grad(late)(X)


def test_arguments_are_those_of_the_call():
    def f(x):
        y = x * 1.0
        z = ld.checkpoint(lambda y: np.sin(y))(y)
        y *= 3.0
        y[0] = 0.0
        return np.sum(z * y)

    def g(x):
        y = np.concatenate([np.zeros(1), 3 * x[1:]])
        return np.sum(np.sin(x) * y)

    same(ld.grad(f)(X), ld.grad(g)(X))
    same(ld.hessian(f)(X), ld.hessian(g)(X))


def test_results_that_are_not_finite_are_the_same():
    def f(x):
        return np.log(x)

    x = np.array([-1.0, 0.0, 2.0])
    with np.errstate(all="ignore"):
        same(
            ld.grad(lambda x: np.sum(np.where(x > 1, ld.checkpoint(f)(x), 0)))(x),
            ld.grad(lambda x: np.sum(np.where(x > 1, f(x), 0)))(x),
        )


def test_a_part_inside_of_another_thread():
    """A thread begins without the context of the one that starts it."""

    def f(x):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(ld.checkpoint(lambda x: np.sum(np.sin(x) * x)), x).result()

    same(ld.grad(f)(X), np.sin(X) + X * np.cos(X))


def test_forward_inside_reverse_inside_a_checkpoint():
    def inner(x, s):
        return ld.jvp(ld.checkpoint(lambda x: np.sum(np.sin(x * s))), (x,), (x,))[1]

    same(
        ld.grad(lambda s: ld.checkpoint(inner)(X, s))(0.7),
        ld.grad(lambda s: np.sum(X * s * np.cos(X * s)))(0.7),
    )


def twice(q):
    return (q * 2,) * 2


def and_a_view(q):
    h = q * 2
    return h, h[1:]


def two_views_of_what_is_dropped(q):
    h = q * 2
    return h[:2], h[1:]


def itself(q):
    return q * 2, q


def a_view_of_itself(q):
    return q * 2, q[1:]


@pytest.mark.parametrize("step", [twice, and_a_view, two_views_of_what_is_dropped, itself, a_view_of_itself])
def test_results_share_memory_as_without(step):
    x = np.array([0.7, 1.3, -0.4])

    def f(x, step):
        p = x * 1.0
        a, b = step(p)
        b[0] = 4.0 * b[1]
        return np.sum(a**3) + np.sum(b**2) + np.sum(p**2)

    checkpointed = ld.checkpoint(step)
    np.testing.assert_allclose(f(x, checkpointed), f(x, step), rtol=1e-15)
    for derivative in (ld.value_and_grad, ld.hessian, ld.jacobian):
        for found, expected in zip(
            derivative(lambda x: f(x, checkpointed))(x), derivative(lambda x: f(x, step))(x), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(
        ld.jvp(ld.grad(lambda x: f(x, checkpointed)), (x,), (x,))[1], ld.hessian(lambda x: f(x, step))(x) @ x
    )


def test_a_result_that_it_closes_over_is_itself():
    def f(x, transform):
        y = x * 2.0
        a = transform(lambda: y)()
        a[0] = 4.0
        return np.sum(a * y)

    x = np.array([0.7, 1.3, -0.4])
    np.testing.assert_allclose(ld.grad(lambda x: f(x, ld.checkpoint))(x), [0.0, 8 * x[1], 8 * x[2]])


KEPT = types.SimpleNamespace()


def beside(y):
    KEPT.square = y**2
    return lambda: KEPT.square


def in_a_class(y):
    square = y**2

    class Model:
        def predict(self):
            return square

    return Model().predict


def in_a_generator(y):
    square = y**2

    def squares():
        yield square

    return squares().__next__


def on_a_function(y):
    def predict():
        return predict.square

    predict.square = y**2
    return predict


@pytest.mark.parametrize("hide", [beside, in_a_class, in_a_generator, on_a_function])
@pytest.mark.parametrize("program", [False, True])
def test_variables_that_nobody_finds_have_their_derivatives(hide, program):
    def step(x):
        y = 3 * x
        return y, hide(y)

    def f(x, once_more=lambda step: step):
        y, square = once_more(step)(x)
        return np.sum(y + square())

    def saving(x):
        return f(x, partial(ld.checkpoint, program=program))

    x = np.array([1.0, 2.0])
    assert_allclose(ld.grad(saving)(x), 3 + 18 * x)
    assert_allclose(ld.hessian(saving)(x), 18 * np.eye(2))
