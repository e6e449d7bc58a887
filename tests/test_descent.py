"""Stochastic descent: methods and rates beside PyTorch's, batches, and a loop that stops and goes on."""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
import torch_steps
from numpy.testing import assert_allclose, assert_array_equal
from torch_steps import CURVATURES, METHODS, RATES, START, STEPS, TARGETS

import lindiff as ld
from lindiff import descent
from lindiff.testing import check_grads

REFERENCE = json.loads(torch_steps.FILE.read_text(encoding="utf-8"))
OURS = {"SGD": descent.sgd, "Adam": descent.adam, "AdamW": descent.adamw, "RMSprop": descent.rmsprop}
RATE = 0.2
SCHEDULES = {
    "ExponentialLR": descent.exponential(RATE, 0.5),
    "StepLR": descent.exponential(RATE, 0.1, 2, staircase=True),
    "MultiStepLR": descent.piecewise([RATE, 0.1 * RATE, 0.01 * RATE], [1, 4]),
    "CosineAnnealingLR": descent.cosine(RATE, 5, end=0.01),
    "LinearLR": descent.linear(RATE, 0.25 * RATE, 4),
}


def method_of(name, options):
    """Ours, of PyTorch's words."""
    words = {"lr": "rate"}
    ours = {words.get(key, key): x for key, x in options.items() if key != "betas"}
    ours |= dict(zip(("beta_1", "beta_2"), options.get("betas", ()), strict=False))
    if name == "SGD" and "lr" not in options:
        ours["rate"] = 1e-3
    return OURS[name](**ours)


def bowl(x):
    return 0.5 * np.sum(np.array(CURVATURES) * (x - np.array(TARGETS)) ** 2)


ALL = [(name, k) for name, all_of in METHODS.items() for k in range(len(all_of))]


@pytest.mark.parametrize("form", ["plain", "program", "single", "tree", "complex"])
@pytest.mark.parametrize(("name", "k"), ALL)
def test_steps_are_those_of_torch(name, k, form):
    method = method_of(name, METHODS[name][k])
    x = np.array(START)
    rtol = 1e-12
    if form == "single":
        x, rtol = x.astype(np.float32), 1e-5
    gradient = ld.grad(bowl)

    def step(x, state):
        return method.update(gradient(x), state, x)

    if form == "program":
        step = ld.program(step)
    elif form == "tree":
        x = {"a": x[:1], "b": [x[1], x[2:]]}
        joined = lambda p: np.concatenate([p["a"], np.reshape(p["b"][0], (1,)), p["b"][1]])
        gradient = ld.grad(lambda p: bowl(joined(p)))
    elif form == "complex":
        x = x + 1j * x[::-1]
        gradient = ld.grad(lambda z: bowl(np.real(z)) + bowl(np.imag(z)[::-1]))
    state = method.init(x)
    for i in range(STEPS):
        x, state = step(x, state)
        expected = REFERENCE["steps"][name][k][i]
        if form == "tree":
            assert_allclose(joined(x), expected, rtol=rtol)
        elif form == "complex":
            assert_allclose(np.real(x), expected, rtol=rtol)
            assert_allclose(np.imag(x)[::-1], expected, rtol=rtol)
        else:
            assert_allclose(x, expected, rtol=rtol)
            assert x.dtype == (np.float32 if form == "single" else np.float64)
            assert all(m.dtype == x.dtype for m in state.moments.values())
        assert state.step == i + 1


@pytest.mark.parametrize("name", RATES)
def test_rates_are_those_of_torch(name):
    assert_allclose(SCHEDULES[name](np.arange(STEPS)), REFERENCE["rates"][name], rtol=1e-12)
    assert_allclose([SCHEDULES[name](k) for k in range(STEPS)], REFERENCE["rates"][name], rtol=1e-12)


@pytest.mark.parametrize("rate", [descent.warmup(descent.cosine(0.3, 3), 2), lambda step: 0.1 / (step + 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rate_that_changes_is_data_of_a_program(rate, dtype):
    method = descent.adam(rate)
    gradient = ld.grad(lambda x: np.sum(x * x))
    step = lambda x, state: method.update(gradient(x), state, x)
    program = ld.program(step)
    x = y = np.array([1.0, -2.0], dtype)
    state_x = state_y = method.init(x)
    for _ in range(8):
        x, state_x = step(x, state_x)
        y, state_y = program(y, state_y)
        assert_allclose(y, x, rtol=1e-6 if dtype == np.float32 else 1e-15)
        assert x.dtype == y.dtype == dtype
    (explained,) = program.explain()
    assert explained.recordings == 2


def test_a_search_is_differentiated_by_its_rate():
    start = np.array([1.0, -2.0])

    def after(rate, momentum):
        method = descent.sgd(0.1, momentum=0.5)
        x, state = start, method.init(start)
        for _ in range(3):
            gradient = x * np.array([1.0, 3.0])
            x = x - rate * gradient
            x, state = method.update(momentum * gradient, state, x)
        return np.sum(x * x)

    check_grads(after, (0.05, 0.3), order=2)


METHODS_WITH_MOMENTS = [
    descent.sgd(0.1, momentum=0.9),
    descent.adam(amsgrad=True),
    descent.adamw(),
    descent.rmsprop(momentum=0.5, centered=True),
]


@pytest.mark.parametrize("method", METHODS_WITH_MOMENTS)
def test_methods_and_states_pickle(method):
    x = {"a": np.ones(2)}
    state = method.init(x)
    again, kept = pickle.loads(pickle.dumps((method, state)))
    assert again == method
    for found, expected in zip(
        again.update({"a": np.array([1.0, 2.0])}, kept, x)[1].moments.values(),
        method.update({"a": np.array([1.0, 2.0])}, state, x)[1].moments.values(),
        strict=True,
    ):
        assert_array_equal(found["a"], expected["a"])


@pytest.mark.parametrize("method", METHODS_WITH_MOMENTS)
def test_inputs_stay_as_they_are(method):
    x, g = np.ones(3), np.full(3, 2.0)
    state = method.init(x)
    method.update(g, state, x)
    assert_array_equal(x, np.ones(3))
    assert_array_equal(g, np.full(3, 2.0))
    assert all(not np.any(m) for m in state.moments.values())


# -- batches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (100, [7])])
def test_every_row_comes_once(size, sizes):
    data = {"X": np.arange(14.0).reshape(7, 2), "y": np.arange(7)}
    for rng in (None, 0, np.random.default_rng(5)):
        found = [*descent.minibatches(data, size, rng)]
        assert [len(part["y"]) for part in found] == sizes
        assert sorted(np.concatenate([part["y"] for part in found])) == [*range(7)]
        for part in found:
            assert_array_equal(part["X"][:, 0], 2 * part["y"])
    whole = [*descent.minibatches(data, size, drop_last=True)]
    assert [len(part["y"]) for part in whole] == [s for s in sizes if s == min(size, 7)]


def test_data_frames_are_rows():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=[7, 8, 9])
    found = [*descent.minibatches((frame, frame["a"]), 2)]
    assert_array_equal(found[0][0], [[1, 4], [2, 5]])
    assert_array_equal(found[1][1], [3])


# -- the loop -----------------------------------------------------------------------------------------------


def regression(rows=53, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    return X, X @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.standard_normal(rows)


def squares(w, X, y):
    return np.mean((X @ w - y) ** 2)


def training(**how):
    how = {"size": 10, "rng": 4, **how}
    return descent.Descent(squares, np.zeros(3), descent.adam(0.05), regression(), **how)


@pytest.mark.parametrize("program", [False, True])
def test_it_finds_the_solution(program):
    X, y = regression()
    found = training(program=program).run(epochs=150, progress=False)
    assert_allclose(found.params, np.linalg.lstsq(X, y)[0], atol=0.05)
    assert found.step == 150 * 6 == found.losses.size
    assert found.losses[-6:].mean() < 0.02 < found.losses[0]
    whole = descent.Descent(squares, np.zeros(3), descent.sgd(0.3), (X, y), program=program)
    assert_allclose(whole.run(epochs=200, progress=False).params, np.linalg.lstsq(X, y)[0], rtol=1e-6)


def test_a_program_makes_the_same_steps():
    found, expected = (training(program=p).run(40, progress=False) for p in (True, False))
    assert_allclose(found.losses, expected.losses, rtol=1e-12)


@pytest.mark.parametrize("stop", [0, 1, 5, 6, 7, 12, 15])
def test_a_snapshot_goes_on_as_if_nothing_had_been(stop):
    whole = training().run(20, progress=False)
    snapshot = pickle.loads(pickle.dumps(training().run(stop, progress=False).snapshot()))
    again = training(rng=999).resume(snapshot)
    assert again.step == stop
    again.run(20, progress=False)
    assert_array_equal(again.losses, whole.losses)
    assert_array_equal(again.params, whole.params)
    again.resume(snapshot).run(20, progress=False)
    assert_array_equal(again.losses, whole.losses)


@pytest.mark.parametrize("at", [0, 3, 6, 11])
@pytest.mark.parametrize("program", [False, True])
def test_an_interrupted_step_is_made_again(at, program):
    whole = training(program=program).run(15, progress=False)
    interrupted = []

    def loss(w, X, y):
        if descending.step == at and not interrupted:
            interrupted.append(at)
            raise KeyboardInterrupt
        return squares(w, X, y)

    descending = descent.Descent(loss, np.zeros(3), descent.adam(0.05), regression(), size=10, rng=4)
    with pytest.raises(KeyboardInterrupt):
        descending.run(15, progress=False)
    assert descending.step == at
    assert_array_equal(descending.losses, whole.losses[:at])
    again = training(rng=999).resume(descending.snapshot()).run(15, progress=False)
    expected = training().run(15, progress=False).params
    assert_array_equal(again.params, expected)
    descending.run(15, progress=False)
    assert_array_equal(descending.params, expected)


def test_a_callback_ends_a_run():
    seen = []

    def enough(found):
        seen.append(found.step)
        return found.losses[-1] < 1.0

    found = training().run(1000, progress=False, callback=enough)
    assert found.losses[-1] < 1.0 <= found.losses[-2]
    assert seen == [*range(1, found.step + 1)]


def test_the_bar_counts_steps(capsys):
    training().run(12, progress=True).run(18, progress=True)
    shown = capsys.readouterr().err
    assert "12/12" in shown
    assert "18/18" in shown
    assert "loss=" in shown


def test_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert training().run(2).step == 2
    assert capsys.readouterr().err == ""
    with pytest.raises(ImportError, match="pip install tqdm"):
        training().run(2, progress=True)


ROWS = np.arange(5.0)


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (None, lambda: 2.0),
        (ROWS, lambda rows: np.mean(rows)),
        ((ROWS,), lambda rows: np.mean(rows)),
        ([ROWS], lambda data: np.mean(data[0])),
        ({"x": ROWS}, lambda data: np.mean(data["x"])),
    ],
    ids=["none", "array", "tuple", "list", "dict"],
)
def test_how_the_loss_is_called(data, target):
    loss = lambda p, *given: (p - target(*given)) ** 2
    found = descent.Descent(loss, 3.0, descent.sgd(0.5), data).run(2, progress=False)
    assert isinstance(found.params, np.float64)
    assert found.params == 2.0


# -- bad input ----------------------------------------------------------------------------------------------

ADAM = descent.adam()


def test_a_loss_that_is_not_finite_changes_nothing():
    found = descent.Descent(lambda x: np.sum(np.log(x)), np.array([1.0]), descent.sgd(0.3))
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=r"the loss of step \d+ is nan"):
        found.run(100, progress=False)  # x falls without end, past 0
    assert np.all(found.params < 0)  # before the step that was asked for in vain
    assert found.step == found.losses.size > 0
    assert np.all(np.isfinite(found.losses))


def test_a_gradient_that_is_not_finite_changes_nothing():
    found = descent.Descent(lambda x: np.sqrt(x * x * 0.0 + np.abs(x) ** 0.5 - 1.0), 1.0, descent.sgd(0.1))
    with (
        np.errstate(all="ignore"),
        pytest.raises(FloatingPointError, match="step 1 makes a parameter inf or nan"),
    ):
        found.run(1, progress=False)
    assert found.params == 1.0
    assert found.step == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: descent.sgd(-1.0), ValueError, "rate must be 0 or more, got -1"),
        (lambda: descent.sgd(np.nan), ValueError, "rate must be 0 or more"),
        (lambda: descent.sgd(0.1, momentum=-0.1), ValueError, "momentum must be 0 or more"),
        (lambda: descent.sgd(0.1, nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda: descent.adam(beta_1=1.0), ValueError, "beta_1 must be 0 or more and less than 1, got 1"),
        (lambda: descent.adam(eps=-1e-8), ValueError, "eps must be"),
        (lambda: descent.rmsprop(alpha=2), ValueError, "alpha must be"),
        (lambda: descent.adam().init({"n": np.arange(3)}), TypeError, "int64: write 1.0 for 1"),
        (lambda: descent.cosine(0.1, 0), ValueError, "steps must be 1 or more"),
        (lambda: descent.exponential(0.1, -0.5), ValueError, "factor must be positive"),
        (lambda: descent.piecewise([1.0], [3]), ValueError, "one more rate than boundaries"),
        (lambda: descent.piecewise([1.0, 0.5, 0.1], [3, 3]), ValueError, "boundaries must rise"),
        (lambda: descent.minibatches(np.arange(3), 0), ValueError, "size must be 1 or more"),
        (lambda: descent.minibatches(np.arange(3), 1.5), TypeError, "integer"),
        (lambda: descent.minibatches((np.arange(3), np.arange(4)), 1), ValueError, "same number of rows"),
        (lambda: descent.minibatches(3.0, 1), ValueError, "arrays with rows"),
        (lambda: descent.minibatches((), 1), ValueError, "arrays with rows"),
        (lambda: descent.minibatches(np.ones((0, 2)), 1), ValueError, "no rows"),
        (lambda: training().run(), TypeError, "steps or epochs"),
        (lambda: training().run(3, epochs=2), TypeError, "steps or epochs"),
        (lambda: descent.Descent(squares, np.zeros(3), descent.adam(), size=3), ValueError, "no data"),
        (lambda: ADAM.update({"b": 1.0}, ADAM.init({"a": 1.0}), {"a": 1.0}), ValueError, "gradient"),
        (
            lambda: training().resume(descent.Descent(np.sum, np.zeros(4), descent.adam()).snapshot()),
            ValueError,
            r"shape \(4,\), here \(3,\)",
        ),
        (
            lambda: training().resume(descent.Descent(np.sum, np.zeros(3), descent.sgd(0.1)).snapshot()),
            ValueError,
            "moments",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_descent_shares_no_memory_with_its_start_and_snapshots():
    start = np.zeros(2)
    descent = ld.descent.Descent(lambda p: np.sum((p - 1) ** 2), start, ld.descent.adam(0.1))
    start += 5
    assert not descent.params.any()
    descent.run(3, progress=False)
    snapshot, at = descent.snapshot(), descent.params.copy()
    snapshot.params[:] = 9
    np.testing.assert_array_equal(descent.params, at)
    descent.resume(snapshot)
    snapshot.params[:] = 7
    assert (descent.params == 9).all()


def test_rates_that_are_differentiated():
    for make in (
        lambda rate: descent.piecewise([rate, 0.1 * rate], [3]),
        lambda rate: descent.linear(rate, 0.1 * rate, 5),
        lambda rate: descent.exponential(rate, 0.5),
        lambda rate: descent.warmup(descent.cosine(rate, 5), 2),
    ):
        for step in (0, 3, np.arange(5)):
            slope = ld.jacobian(lambda rate, make=make, step=step: make(rate)(step))(0.5)
            np.testing.assert_allclose(slope, make(0.5)(step) / 0.5, rtol=1e-12)
