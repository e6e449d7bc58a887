"""State-space models where digits, steps and threads are lost easily."""

import contextlib
import signal
import threading

import numpy as np
import pytest

import lindiff as ld
from lindiff import statespace
from lindiff.kernels import Sweep

loglikelihood = ld.statespace.loglikelihood


def badly_scaled(T=500):
    """Two states whose variances differ by sixteen orders of magnitude, one of them slow."""
    rng = np.random.default_rng(0)
    A, q, r = np.diag([0.5, 0.99]), (1e8, 1e-8), (1e8, 1e-6)
    x, y = np.zeros(2), np.empty((T, 2))
    for t in range(T):
        y[t] = x + rng.standard_normal(2) * np.sqrt(r)
        x = A @ x + rng.standard_normal(2) * np.sqrt(q)

    def of_variances(th, **options):
        Q, P = th[:2, None] * np.eye(2), np.diag([1e8, 1e-8])
        return loglikelihood(y, A, np.eye(2), Q, th[2:], np.zeros(2), P, **options)

    return of_variances, np.array([*q, *r])


def test_small_variances_come_to_rest_as_late_as_large_ones():
    f, th = badly_scaled()
    for transform in (
        lambda f: ld.grad(f)(th),
        lambda f: ld.hvp(f, (th,), (th,)),
        lambda f: ld.hvp(f, (th,), (np.array([1e8, 0, 0, 1e-6]),)),
    ):
        resting, never = (transform(lambda th, tol=tol: f(th, steady_tol=tol)) for tol in (None, 0))
        np.testing.assert_allclose(resting * th, never * th, rtol=1e-9)


def test_an_unstable_state_that_starts_small_does_not_rest():
    y = np.random.default_rng(0).standard_normal((400, 2))

    def f(tol):
        Q = np.diag([1.0, 1e-16])
        A, P = np.diag([0.5, 1.1]), np.diag([1.0, 0.0])
        return loglikelihood(y, A, np.eye(2), Q, np.ones(2), np.zeros(2), P, steady_tol=tol)

    np.testing.assert_allclose(f(None), f(0), rtol=1e-12)


def test_states_that_die_out_come_to_rest():
    """Without that, the variance of a state that nothing moves would shrink for ever."""
    A, Q = np.diag([0.9, 0.5]), np.diag([1.0, 0.0])
    y, one = np.zeros((2000, 1, 1)), np.eye(1)
    sweep = Sweep(y, A, np.ones((1, 2)), Q, one[0], np.zeros((2, 1)), np.eye(2), independent=True)
    assert len({x.tobytes() for x in sweep.filtered_covariances()}) < 200


def test_float32_rests_where_its_digits_end():
    rng = np.random.default_rng(1)
    y = rng.standard_normal(3000)

    def of_var(q, a=0.999, **options):
        one = np.eye(1, dtype=q.dtype)
        arrays = y.astype(q.dtype), q.dtype.type(a) * one, one, q * one, one, np.zeros(1, q.dtype), one
        return loglikelihood(*arrays, **options)

    exact = ld.grad(of_var)(np.float64(1e-4))
    assert abs(ld.grad(of_var)(np.float32(1e-4)) - exact) <= 1e-4 * abs(exact)


def weakly_determined(last):
    """A regression on data whose first steps hardly tell slope from constant."""
    T = 200
    x = np.r_[1 + 2e-6 * np.arange(12) / 12, np.linspace(1, last, T - 12)]
    y = 1 + 2 * x + np.random.default_rng(0).standard_normal(T)
    design = np.c_[np.ones(T), x][:, None, :]
    return y, np.eye(2), design, np.zeros((2, 2)), np.eye(1)


@pytest.mark.parametrize("last", [2.0, 2000.0])
def test_diffuse_states_that_the_first_steps_hardly_determine(last):
    y, *system = weakly_determined(last)
    X = system[1][:, 0]
    S = X.T @ X  # ordinary least squares, diffuse coefficients
    rest = y - X @ np.linalg.solve(S, X.T @ y)
    expected = -0.5 * (len(y) * np.log(2 * np.pi) + rest @ rest + np.linalg.slogdet(S)[1])
    assert loglikelihood(y, *system, diffuse=True) == pytest.approx(expected, rel=1e-10)
    steps = loglikelihood(y, *system, diffuse=True, per_step=True)
    composed = loglikelihood(y, *system, diffuse=True, per_step=True, method="composed")
    np.testing.assert_allclose(steps, composed, atol=1e-4)  # digits of which cancel in their sums
    np.testing.assert_allclose(np.cumsum(steps)[12:], np.cumsum(composed)[12:], rtol=1e-8)
    assert np.sum(steps) == pytest.approx(expected, rel=1e-10)
    fast, slow = (ld.statespace.kalman_filter(y, *system, diffuse=True, method=m) for m in (None, "composed"))
    np.testing.assert_allclose(fast.filtered_state, slow.filtered_state, rtol=1e-7)
    smoothed = ld.statespace.kalman_smoother(y, *system, diffuse=True).smoothed_state
    np.testing.assert_allclose(smoothed[0], np.linalg.solve(S, X.T @ y), rtol=1e-8)


@pytest.mark.parametrize("row", [True, False], ids=["independent", "full"])
@pytest.mark.parametrize("method", [None, "composed"])
@pytest.mark.parametrize("seed", range(20))
def test_singular_observations_are_an_error_whatever_rounding_says(seed, method, row):
    rng = np.random.default_rng(seed)
    B, y = rng.standard_normal((3, 2)), rng.standard_normal((2, 3))
    R = np.zeros(3) if row else np.zeros((3, 3))
    with pytest.raises(np.linalg.LinAlgError, match="at step 0 is not positive definite"):
        loglikelihood(y, np.eye(2), B, np.eye(2), R, np.zeros(2), np.eye(2), method=method)


def test_small_noise_beside_large_states_is_no_singularity():
    rng = np.random.default_rng(0)
    y, one = rng.standard_normal((5, 2)), np.eye(1)
    args = one, np.ones((2, 1)), 1e6 * one, np.array([1e-3, 1e-3]), np.zeros(1), 1e6 * one
    row = loglikelihood(y, *args)
    np.testing.assert_allclose(row, loglikelihood(y, *args[:3], np.diag(args[3]), *args[4:]), rtol=1e-4)


def test_overflow_names_the_step_and_the_series():
    one = np.eye(1)
    starts = np.array([[0.0], [0.0], [1.0]])
    with pytest.raises(OverflowError, match=r"series 2.*step 31.*overflows"):
        loglikelihood(np.zeros((3, 1000, 1)), 1e10 * one, 0 * one, 0 * one, one, starts, 0 * one)


@pytest.mark.parametrize(
    ("argument", "x", "message"),
    [
        (4, [[1e8, 0, 0], [0, 1e-6, 5e-6], [0, -5e-6, 1e-6]], "is not symmetric"),
        (4, [[1e8, 0, 0], [0, 1e-6, 5e-6], [0, 5e-6, 1e-6]], "correlation beyond 1"),
        (4, [1e8, 1.0, -1e-9], "negative variance"),
    ],
)
def test_small_faults_beside_large_variances(argument, x, message):
    arrays = [np.zeros((3, 3)), np.eye(1), np.ones((3, 1)), np.eye(1), np.eye(3), np.zeros(1), np.eye(1)]
    arrays[argument] = np.array(x, float)
    with pytest.raises(ValueError, match=message):
        loglikelihood(*arrays)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-30, 1e-12, 1.0, 1e12, 1e30])
def test_tangents_of_any_size(dtype, size):
    y, one = np.random.default_rng(0).standard_normal(50), np.eye(1, dtype=dtype)

    def f(q):
        return loglikelihood(y.astype(dtype), dtype(0.9) * one, one, q * one, one, np.zeros(1, dtype), one)

    expected = ld.grad(f)(dtype(0.5))
    for transform in (f, ld.grad(f)):
        unit = ld.jvp(transform, (dtype(0.5),), (dtype(1.0),))[1]
        scaled = ld.jvp(transform, (dtype(0.5),), (dtype(size),))[1]
        np.testing.assert_allclose(scaled / dtype(size), unit, rtol=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(ld.jvp(f, (dtype(0.5),), (dtype(size),))[1] / dtype(size), expected, rtol=1e-4)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_one_pullback_on_several_threads(checkpoint):
    rng = np.random.default_rng(0)
    T, n = 1000, 6
    A = 0.9 * np.linalg.qr(rng.standard_normal((n, n)))[0]
    y = np.where(rng.random((T, 4)) < 0.4, np.nan, rng.standard_normal((T, 4)))
    B = rng.standard_normal((4, n))
    rest = np.eye(n), np.ones(4), np.zeros(n), np.eye(n)
    pull = ld.vjp(lambda B: loglikelihood(y, A, B, *rest, checkpoint=checkpoint), B)[1]
    expected, found = pull(1.0), []
    threads = [threading.Thread(target=lambda: found.extend(pull(1.0) for _ in range(10))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 30
    for x in found:
        np.testing.assert_array_equal(x, expected)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_an_interrupted_pull_leaves_no_damage():
    rng = np.random.default_rng(0)
    T, n = 100, 100
    A = 0.9 * np.linalg.qr(rng.standard_normal((n, n)))[0]
    y, B = rng.standard_normal((T, 10)), rng.standard_normal((10, n))
    rest = np.eye(n), np.ones(10), np.zeros(n), np.eye(n)
    pull = ld.vjp(lambda B: loglikelihood(y, A, B, *rest, checkpoint=True, steady_tol=0), B)[1]
    expected = pull(1.0)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (1e-3, 3e-3, 6e-3, 10e-3):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, delay)
                pull(1.0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            np.testing.assert_array_equal(pull(1.0), expected)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e12, 1e18])
def test_derivatives_by_variances_in_other_units(scale):
    """Tangents of a small number are not those of the largest one of its array."""
    rng = np.random.default_rng(0)
    y, x = np.cumsum(rng.normal(size=60)), 1 + 0.3 * rng.normal(size=60)

    def by(coef_var, scale=scale, **options):
        model = statespace.local_level(1.0, 0.5) + statespace.regression(x * scale, coef_var / scale**2)
        return statespace.loglikelihood(y, *model, **options)

    def of_small(c, **options):
        model = statespace.local_level(1.0, 0.5) + statespace.regression(x * scale, c)
        return statespace.loglikelihood(y, *model, **options)

    small = 0.01 / scale**2
    slope = ld.grad(by)(0.01, 1.0)
    np.testing.assert_allclose(ld.jvp(of_small, (small,), (1.0,))[1] / scale**2, slope, rtol=1e-8)
    expected = ld.hessian(lambda c: by(c, 1.0, method="composed"))(0.01)
    for second in (ld.hessian(of_small)(small), ld.grad(ld.grad(of_small))(small)):
        np.testing.assert_allclose(second / scale**4, expected, rtol=1e-7)


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e-10, 1e-20])
def test_derivatives_by_a_variance_of_zero(unit):
    one, z = np.eye(1), np.cumsum(np.random.default_rng(0).normal(size=60))

    def f(q, unit=unit, **options):
        return statespace.loglikelihood(
            z * unit, one, one, q * unit**2 * one, unit**2 * one, diffuse=True, **options
        )

    assert_allclose = np.testing.assert_allclose
    assert_allclose(ld.jvp(f, (0.0,), (1.0,))[1], ld.grad(f)(0.0, 1.0), rtol=1e-10)
    assert_allclose(ld.hessian(f)(0.0), ld.hessian(lambda q: f(q, 1.0, method="composed"))(0.0), rtol=1e-8)
