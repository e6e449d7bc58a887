"""The compiled sweep against the composed filter: values, gradients, second derivatives, rest, blocks."""

import functools
import signal
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
from lindiff.kernels.kalman import Sweep

loglikelihood = ld.statespace.loglikelihood
COVARIANCES = (3, 4, 6)
NAMES = (
    *("y", "transition", "design", "state_cov", "obs_cov", "initial_state", "initial_state_cov"),
    *("state_intercept", "obs_intercept"),
)


def spd(rng, k, *lead):
    X = rng.standard_normal((*lead, k, k))
    return X @ np.swapaxes(X, -1, -2) + np.eye(k)


def system(rng, T, n, p, series=None, missing=0.0, timed=False, own=False, row=False):
    """y, transition ... obs_intercept with the axes asked for."""
    lead = (series, T if timed else 1) if own else (T,) if timed else ()
    y = rng.standard_normal((T, p) if series is None else (series, T, p))
    y[rng.random(y.shape) < missing] = np.nan
    A = 0.5 * rng.standard_normal((*lead, n, n)) / np.sqrt(n)
    R = np.abs(rng.standard_normal((*lead, 1, p))) + 0.3 if row else spd(rng, p, *lead)
    start = (n,) if series is None else (series, n)
    P = spd(rng, n, *((series,) if own else ()))
    intercepts = rng.standard_normal((*lead, n)), rng.standard_normal((*lead, p))
    B = rng.standard_normal((*lead, p, n))
    return [y, A, B, spd(rng, n, *lead), R, rng.standard_normal(start), P, *intercepts]


def direction(rng, arrays):
    """Tangents, symmetric for covariances."""
    dots = [rng.standard_normal(x.shape) for x in arrays]
    for i in COVARIANCES:
        if arrays[i].shape[-1] == arrays[i].shape[-2]:
            dots[i] = dots[i] + np.swapaxes(dots[i], -1, -2)
    return dots


def close(x, y, tol=1e-10):
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert x.dtype == y.dtype
    assert np.max(np.abs(x - y), initial=0) <= tol * max(1, np.max(np.abs(y), initial=0))


def total(**options):
    return lambda *arrays: np.sum(loglikelihood(*arrays, **options))


@st.composite
def systems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p, T = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 9))
    series = draw(st.sampled_from([None, 1, 3]))
    own = series is not None and draw(st.booleans())
    missing = draw(st.sampled_from([0.0, 0.0, 0.3]))
    timed, row = draw(st.booleans()), draw(st.booleans())
    return rng, system(rng, T, n, p, series, missing, timed, own, row)


@settings(max_examples=30, deadline=None)
@given(systems())
def test_equal_to_composed_to_second_order(case):
    rng, arrays = case
    every = tuple(range(len(arrays)))
    dots = direction(rng, arrays)
    fast, slow = total(), total(method="composed")
    close(loglikelihood(*arrays), loglikelihood(*arrays, method="composed"))
    close(loglikelihood(*arrays, per_step=True), loglikelihood(*arrays, method="composed", per_step=True))
    gradient = ld.grad(slow, every)(*arrays)
    for x, y in zip(ld.grad(fast, every)(*arrays), gradient, strict=True):
        close(x, y)
    close(ld.jvp(fast, tuple(arrays), tuple(dots))[1], ld.jvp(slow, tuple(arrays), tuple(dots))[1])
    second = ld.jvp(ld.grad(slow, every), tuple(arrays), tuple(dots))[1]
    for x, y in zip(ld.jvp(ld.grad(fast, every), tuple(arrays), tuple(dots))[1], second, strict=True):
        close(x, y)

    def slope(*arrays):
        return sum(np.sum(g * u) for g, u in zip(ld.grad(fast, every)(*arrays), dots, strict=True))

    for x, y in zip(ld.grad(slope, every)(*arrays), second, strict=True):
        close(x, y)


def numpy_filter(y, A, B, Q, R, m, P, c, d):
    """The filter as anyone writes it, in plain NumPy."""
    total = 0.0
    for t, row in enumerate(y):
        if t > 0:
            m, P = A @ m + c, A @ P @ A.T + Q
        o = ~np.isnan(row)
        v = row[o] - B[o] @ m - d[o]
        S = B[o] @ P @ B[o].T + R[np.ix_(o, o)]
        K = np.linalg.solve(S, B[o] @ P).T
        m, P = m + K @ v, P - K @ S @ K.T
        total = total - 0.5 * (v @ np.linalg.solve(S, v) + np.linalg.slogdet(2 * np.pi * S)[1])
    return total


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_equal_to_the_unmodified_numpy_filter(missing):
    rng = np.random.default_rng(11)
    arrays = system(rng, 40, 4, 2, missing=missing)
    close(loglikelihood(*arrays), numpy_filter(*arrays))
    gradients = [ld.grad(f, tuple(range(1, 9)))(*arrays) for f in (loglikelihood, numpy_filter)]
    for i, (x, y) in enumerate(zip(*gradients, strict=True), 1):
        close(x, 0.5 * (y + y.T) if i in COVARIANCES else y)


@pytest.mark.parametrize("active", range(9), ids=NAMES)
@pytest.mark.parametrize("row", [False, True], ids=["full", "independent"])
def test_each_gradient_alone(active, row):
    arrays = system(np.random.default_rng(active), 7, 3, 2, missing=0.2, row=row)
    every = ld.grad(total(), tuple(range(9)))(*arrays)
    close(ld.grad(total(), active)(*arrays), every[active], 1e-13)


@pytest.mark.parametrize("diffuse", [True, np.array([True, False, True])], ids=["all", "some"])
@pytest.mark.parametrize(("series", "missing"), [(None, 0.0), (None, 0.3), (3, 0.0), (3, 0.2)])
def test_diffuse_start(diffuse, series, missing):
    rng = np.random.default_rng(5)
    arrays = system(rng, 12, 3, 2, series, missing)
    arrays[0] += 1000.0  # far from the prior mean: nothing may cancel
    fast, slow = total(diffuse=diffuse), total(diffuse=diffuse, method="composed")
    every, dots = tuple(range(9)), direction(rng, arrays)
    close(fast(*arrays), slow(*arrays))
    for x, y in zip(ld.grad(fast, every)(*arrays), ld.grad(slow, every)(*arrays), strict=True):
        close(x, y, 1e-8)
    second = [ld.jvp(ld.grad(f, every), tuple(arrays), tuple(dots))[1] for f in (fast, slow)]
    for x, y in zip(*second, strict=True):
        close(x, y, 1e-8)


def test_diffuse_states_that_data_do_not_determine():
    arrays = system(np.random.default_rng(0), 6, 3, 2)
    arrays[0][:] = np.nan
    with pytest.raises(ValueError, match="never determine the 3 diffuse states"):
        loglikelihood(*arrays, diffuse=True)


def test_many_directions_at_once():
    arrays = system(np.random.default_rng(3), 6, 2, 2, series=3)
    for argnum in (1, 4, 5):
        fast = ld.jacobian(loglikelihood, argnum)(*arrays)
        close(fast, ld.jacobian(lambda *a: loglikelihood(*a, method="composed"), argnum)(*arrays))
    hessian = ld.hessian(total(), 1)(*arrays)
    close(hessian, ld.hessian(total(method="composed"), 1)(*arrays))


@pytest.mark.parametrize("diffuse", [None, True])
def test_third_derivatives_and_nested_forward_mode_are_those_of_the_loop(diffuse):
    arrays = system(np.random.default_rng(3), 6, 2, 1)
    one = np.ones(())

    def of(method):
        def f(a):
            return loglikelihood(arrays[0], a * arrays[1], *arrays[2:], diffuse=diffuse, method=method)

        def slope(a):
            return ld.jvp(f, (a,), (one,))[1]

        third = ld.grad(ld.grad(ld.grad(f)))(one)
        return third, ld.jvp(slope, (one,), (one,))[1], ld.grad(slope)(one)

    close(of(None), of("composed"))


def test_gradients_by_a_model():
    y = np.random.default_rng(6).standard_normal(20)
    model = ld.statespace.local_level(0.5, 1.0)
    found = ld.grad(lambda m: loglikelihood(y, *m))(model)
    assert type(found) is ld.statespace.Model
    assert found.diffuse is model.diffuse
    close(
        found.design, ld.grad(lambda design: loglikelihood(y, *model._replace(design=design)))(model.design)
    )


def test_models_in_a_list_add_up():
    parts = [ld.statespace.local_level(0.5, 1.0), ld.statespace.seasonal(4, 0.1)]
    for x, y in zip(sum(parts), parts[0] + parts[1], strict=True):
        np.testing.assert_array_equal(x, y)
    with pytest.raises(TypeError):
        1 + parts[0]


def test_filter_of_many_series_with_gaps():
    rng = np.random.default_rng(9)
    arrays = system(rng, 7, 3, 2, series=4)
    arrays[0][1, 3] = np.nan
    for x, y in zip(
        ld.statespace.kalman_filter(*arrays),
        ld.statespace.kalman_filter(*arrays, method="composed"),
        strict=True,
    ):
        np.testing.assert_allclose(x, y, atol=1e-12)


# -- rest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [False, True], ids=["full", "independent"])
def test_rest_changes_no_gradient(row):
    rng = np.random.default_rng(8)
    arrays = system(rng, 400, 4, 2, row=row)
    arrays[0][150, 0] = arrays[0][151] = np.nan  # wakes P and N
    every, dots = tuple(range(9)), direction(rng, arrays)
    for transform in (
        lambda f: ld.grad(f, every)(*arrays),
        lambda f: ld.jvp(ld.grad(f, every), tuple(arrays), tuple(dots))[1],
    ):
        for x, y in zip(transform(total()), transform(total(steady_tol=0)), strict=True):
            close(x, y, 1e-12)


def test_rest_is_used():
    """With a wide tolerance the likelihood changes a little."""
    arrays = system(np.random.default_rng(8), 60, 4, 2)
    exact = loglikelihood(*arrays, steady_tol=0)
    difference = abs(loglikelihood(*arrays, steady_tol=1e-3) - exact)
    assert 0 < difference < 1e-2 * abs(exact)


def test_tolerance_of_any_real_type():
    arrays = system(np.random.default_rng(8), 3, 2, 1)
    assert loglikelihood(*arrays, steady_tol=np.float32(1e-6)) == loglikelihood(*arrays, steady_tol=0)


@pytest.mark.parametrize("tol", [-1e-3, 1.0, "small"])
def test_tolerance_is_checked(tol):
    with pytest.raises(ValueError, match="steady_tol must be"):
        loglikelihood(*system(np.random.default_rng(8), 3, 2, 1), steady_tol=tol)


def test_unknown_method():
    with pytest.raises(ValueError, match="method must be"):
        loglikelihood(*system(np.random.default_rng(8), 3, 2, 1), method="fast")


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("independent", [False, True])
def test_derivatives_step_by_step(missing, independent):
    rng = np.random.default_rng(11)
    arrays = system(rng, 12, 3, 2, missing=missing)
    if independent:
        arrays[4] = np.abs(np.diagonal(arrays[4], axis1=-2, axis2=-1)).copy()[..., None, :]
    dots = direction(rng, arrays)
    compiled = functools.partial(loglikelihood, per_step=True)
    composed = functools.partial(loglikelihood, per_step=True, method="composed")
    (found, tangent), (expected, expected_tangent) = (
        ld.jvp(f, tuple(arrays), tuple(dots)) for f in (compiled, composed)
    )
    close(found, expected, 1e-12)
    close(tangent, expected_tangent, 1e-10)
    weights = rng.standard_normal(expected.shape)
    slopes = [
        ld.grad(lambda *a, f=f: np.sum(weights * f(*a)), (1, 4, 5))(*arrays) for f in (compiled, composed)
    ]
    for x, y in zip(*slopes, strict=True):
        close(x, y, 1e-10)
    second = [
        ld.jvp(ld.grad(lambda *a, f=f: np.sum(weights * f(*a)), (1, 3)), tuple(arrays), tuple(dots))[1]
        for f in (compiled, composed)
    ]
    for x, y in zip(*second, strict=True):
        close(x, y, 1e-9)


# -- blocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [0, 1, 2, 10, 50])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_checkpoint_changes_nothing(T, missing):
    rng = np.random.default_rng(T)
    arrays = system(rng, T, 3, 2, missing=missing)
    every, dots = tuple(range(9)), direction(rng, arrays)
    keeping, running_again = total(), total(checkpoint=True)
    for x, y in zip(ld.grad(keeping, every)(*arrays), ld.grad(running_again, every)(*arrays), strict=True):
        close(x, y, 1e-12)
    second = [ld.jvp(ld.grad(f, every), tuple(arrays), tuple(dots))[1] for f in (keeping, running_again)]
    for x, y in zip(*second, strict=True):
        close(x, y, 1e-12)


def test_long_series_are_run_again_by_default(monkeypatch):
    arrays = system(np.random.default_rng(3), 4000, 6, 1, missing=0.3)
    gradient = ld.grad(total(), 4)

    def peak():
        tracemalloc.start()
        found = gradient(*arrays)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found, size

    kept, of_all = peak()
    monkeypatch.setattr("lindiff.statespace.sweep.likelihood.MOST_KEPT", 1e6)
    again, of_blocks = peak()
    close(kept, again, 1e-12)
    assert of_all > 1.5e6
    assert of_blocks < of_all / 3
    monkeypatch.setattr("lindiff.statespace.sweep.likelihood.MOST_KEPT", 1e8)
    assert peak()[1] > of_all / 2


# -- float32, errors, interrupts ---------------------------------------------------------------------------


def test_float32():
    arrays = [x.astype(np.float32) for x in system(np.random.default_rng(1), 30, 3, 2, missing=0.1)]
    value, gradient = ld.value_and_grad(total(), tuple(range(9)))(*arrays)
    assert value.dtype == np.float32
    exact = ld.grad(total(), tuple(range(9)))(*(x.astype(float) for x in arrays))
    for x, y in zip(gradient, exact, strict=True):
        assert x.dtype == np.float32
        close(x.astype(float), y, 1e-4)


def test_error_names_step_and_series():
    arrays = system(np.random.default_rng(2), 6, 2, 2, series=3, own=True)
    one = np.ones((1, 1, 2, 2))
    arrays[4] = np.concatenate([arrays[4][:1], 0 * one, arrays[4][2:]])
    arrays[2] = np.concatenate([arrays[2][:1], one, arrays[2][2:]])  # twice the same observation
    with pytest.raises(np.linalg.LinAlgError, match=r"series 1.*step 0 is not positive definite"):
        loglikelihood(*arrays)
    arrays = system(np.random.default_rng(2), 900, 2, 2)
    arrays[1] = 10.0 * np.eye(2)
    arrays[0][:] = np.nan
    with pytest.raises(OverflowError, match=r"loglikelihood.*overflows"):
        loglikelihood(*arrays)


def test_inputs_stay_as_they_are():
    arrays = system(np.random.default_rng(2), 8, 3, 2, missing=0.2)
    before = [x.copy() for x in arrays]
    ld.grad(total(), tuple(range(9)))(*arrays)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to a thread")
def test_interrupt_ends_a_long_sweep():
    arrays = system(np.random.default_rng(2), 60, 60, 5)
    arrays[0] = np.zeros((200_000, 5))
    main = threading.main_thread().ident
    timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        loglikelihood(*arrays, steady_tol=0, checkpoint=True)
    timer.join()
    assert np.isfinite(loglikelihood(arrays[0][:5], *arrays[1:]))


def equal_to_composed(arrays):
    """Value, gradient, Hessian product and smoothed states: compiled ones beside the composed ones."""
    every, dots = tuple(range(len(arrays))), direction(np.random.default_rng(5), arrays)
    fast, slow = total(), total(method="composed")
    close(loglikelihood(*arrays), loglikelihood(*arrays, method="composed"))
    for x, y in zip(ld.grad(fast, every)(*arrays), ld.grad(slow, every)(*arrays), strict=True):
        close(x, y)
    close(ld.jvp(fast, tuple(arrays), tuple(dots))[1], ld.jvp(slow, tuple(arrays), tuple(dots))[1])
    second = ld.jvp(ld.grad(slow, every), tuple(arrays), tuple(dots))[1]
    for x, y in zip(ld.jvp(ld.grad(fast, every), tuple(arrays), tuple(dots))[1], second, strict=True):
        close(x, y)
    smoothed = ld.statespace.kalman_smoother(*arrays)
    for x, y in zip(smoothed, ld.statespace.kalman_smoother(*arrays, method="composed"), strict=True):
        close(x, y)


@pytest.mark.parametrize("entries", [0, 1, 6, 9, 10, 36])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_sparse_transitions(entries, missing):
    """Six states with so many entries in the transition: up to nine are multiplied one by one."""
    rng = np.random.default_rng(entries)
    arrays = system(rng, 40, 6, 2, missing=missing)
    kept = np.zeros(36)
    kept[rng.permutation(36)[:entries]] = 1
    arrays[1] = arrays[1] * kept.reshape(6, 6)
    equal_to_composed(arrays)


def companion(n):
    A = np.eye(n, k=1)
    A[:3, 0] = 0.5, 0.0, -0.3
    return A


def season(n):
    A = np.eye(n, k=-1)
    A[0, :4] = -0.4
    return A


def pieces(n):
    """Rows of one entry, 1, in three runs, one of them of a single row; a row of zeros, and one of 0.9."""
    A = np.zeros((n, n))
    A[0, 5] = A[1, 6] = A[2, 3] = A[4, 0] = A[5, 1] = A[6, 2] = 1
    A[7, 7] = 0.9
    return A


@pytest.mark.parametrize("transition", [companion, season, pieces])
@pytest.mark.parametrize(("row", "timed"), [(True, False), (False, False), (True, True)])
def test_transitions_that_move_states(transition, row, timed):
    """Runs of rows that hand numbers on, beside others; state_cov has rows of zeros, or changes in time."""
    rng = np.random.default_rng(3)
    arrays = system(rng, 12, 9, 2, row=row)
    arrays[1] = transition(9)
    noisy = np.outer(*2 * [np.arange(9) % 3 == 0])
    arrays[3] = spd(rng, 9, 12) * noisy if timed else arrays[3] * noisy
    equal_to_composed(arrays)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_one_series_of_a_constant_model(p, missing):
    """What is one operation, in both modes and to second order; observations in a vector, too."""
    arrays = system(np.random.default_rng(p), 30, 3, p, missing=missing)[:7]
    equal_to_composed(arrays)
    if p == 1:
        arrays[0] = arrays[0][:, 0]
        equal_to_composed(arrays)
    for x, checkpointed in zip(
        ld.grad(total(), (0, 1, 6))(*arrays), ld.grad(total(checkpoint=True), (0, 1, 6))(*arrays), strict=True
    ):
        close(x, checkpointed)


def test_third_order_of_a_constant_model():
    arrays = system(np.random.default_rng(8), 4, 2, 1)[:7]

    def of_scale(**options):
        return lambda scale: loglikelihood(arrays[0], scale * arrays[1], *arrays[2:], **options)

    third = ld.grad(ld.grad(ld.grad(of_scale())))(0.8)
    close(third, ld.grad(ld.grad(ld.grad(of_scale(method="composed"))))(0.8), 1e-8)


@pytest.mark.parametrize("block", [0, 4])
def test_sweeps_that_kept_nothing_run_again(block):
    arrays = system(np.random.default_rng(4), 11, 3, 2, missing=0.2, row=True)
    y, A, B, Q, R, m, P = arrays[:7]
    given = y[..., None], A, B, Q, R[0], m[:, None], P, None, ~np.isnan(y), True
    whole, bare = (Sweep(*given, block=block, whole=whole) for whole in (True, False))
    close(bare.quad, whole.quad)
    bars = np.ones(1), np.empty((1, 0)), 0.5, (True,) * 7 + (False,)
    for _ in range(2):
        for x, expected in zip(bare.pull(*bars)[0], whole.pull(*bars)[0], strict=True):
            assert (x is None) == (expected is None)
            if x is not None:
                close(x, expected)


def test_one_sparse_state_more():
    """Of few states the transition is dense, whatever is in it."""
    for n in (4, 5):
        rng = np.random.default_rng(n)
        arrays = system(rng, 20, n, 1)
        arrays[1] = np.eye(n, k=1)
        close(loglikelihood(*arrays), loglikelihood(*arrays, method="composed"))


# -- covariances of zero that begin to move ----------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"per_step": True}])
def test_tangents_beside_covariances_of_zero(options):
    """A filter at rest goes on where its tangents move, though they have nothing to be compared with."""
    y, one, zero = np.array([1.0, 2.0, -1.0, 0.5, 3.0]), np.eye(1), np.zeros((1, 1))

    def value(q, **method):
        return loglikelihood(y, one, one, q * one, one, np.zeros(1), zero, **options, **method)

    for q in (0.0, 0.3):
        _, dot = ld.jvp(value, (q,), (1.0,))
        _, expected = ld.jvp(lambda q: value(q, method="composed"), (q,), (1.0,))
        np.testing.assert_allclose(dot, expected, rtol=1e-12, atol=1e-12)
    if not options:
        assert ld.jvp(value, (0.0,), (1.0,))[1] == pytest.approx(18.875, rel=1e-12)
        assert ld.hessian(value)(0.0) == pytest.approx(-326.75, rel=1e-12)


def test_tangents_of_a_state_without_noise_beside_others():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(12, 1))
    y[5] = np.nan

    def value(q, **method):
        Q = np.stack([np.array([0.5, 0.0]), np.stack([0.0 * q, q])])
        start = np.diag([1.0, 0.0])
        return loglikelihood(
            y, np.diag([0.0, 1.0]), np.ones((1, 2)), Q, np.eye(1), np.zeros(2), start, **method
        )

    for q in (0.0, 1e-3):
        expected = ld.hessian(lambda q: value(q, method="composed"))(q)
        assert ld.hessian(value)(q) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [4, 5, 8])
@pytest.mark.parametrize("steps", [2, 3, 6])
def test_few_entries_that_vary_in_time_from_diffuse_states(n, steps):
    """One step before the collapse, or after it, is a part of its own."""
    A = np.stack([(0.5 + 0.05 * t) * np.eye(n) for t in range(steps)])
    d, y = np.arange(n) == 0, np.arange(float(steps))

    def value(A, **method):
        start = np.zeros(n), np.eye(n)
        return loglikelihood(y, A, np.ones((1, n)), np.eye(n), np.eye(1), *start, diffuse=d, **method)

    expected = ld.grad(lambda A: value(A, method="composed"))(A)
    np.testing.assert_allclose(ld.grad(value)(A), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("diffuse", [None, [True, False, False]])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_many_series_go_in_parts(monkeypatch, diffuse, missing):
    rng = np.random.default_rng(3)
    args = system(rng, 12, 3, 2, series=8)
    args[0][:4, rng.random((12, 2)) < missing] = np.nan
    weights = rng.standard_normal(8)

    def found():
        def total(*args):
            moments = ld.statespace.kalman_smoother(*args, diffuse=diffuse)
            fields = loglikelihood(*args, diffuse=diffuse), moments[1], moments[2]
            return sum(np.sum(weights @ np.reshape(x, (8, -1))) for x in fields)

        return ld.value_and_grad(total, tuple(range(len(args))))(*args)

    value, gradient = found()
    monkeypatch.setattr(ld.statespace.model, "SERIES_TOGETHER", 3)
    assert len(ld.statespace.model.canonical("", *args).groups()) > 2
    in_parts, of_parts = found()
    assert in_parts == pytest.approx(value, rel=1e-12)
    for g, expected in zip(of_parts, gradient, strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-9, atol=1e-9)
