"""Models in continuous time: dense Gaussian processes, splines, and what is known of the matrices."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg

import lindiff as ld
from lindiff import statespace
from lindiff.testing import check_grads

KERNELS = {
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
}
ORDERS = {"matern12": 1, "matern32": 2, "matern52": 3}


def irregular(steps=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.exponential(0.4, steps)), rng.standard_normal(steps)


def companion(kernel, lengthscale):
    """The drift of a Matérn process, from its characteristic polynomial."""
    n = ORDERS[kernel]
    rate = np.sqrt(2 * n - 1) / lengthscale
    F = np.eye(n, k=1)
    F[-1] = -np.poly([-rate] * n)[:0:-1]
    return F


def covariance(kernel, lengthscale, variance, times):
    return variance * KERNELS[kernel](np.abs(times[:, None] - times) / lengthscale)


# -- Gaussian processes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_likelihood_and_gradients_are_those_of_the_process(kernel):
    times, y = irregular()

    def of_filter(lengthscale, variance, times, obs_var, y):
        return statespace.loglikelihood(
            y, *statespace.from_kernel(kernel, lengthscale, variance, times, obs_var)
        )

    def of_matrix(lengthscale, variance, times, obs_var, y):
        return ld.linalg.gp_logpdf(y, covariance(kernel, lengthscale, variance, times), obs_var)

    args = 0.7, 1.3, times, 0.2, y
    found, slopes = ld.value_and_grad(of_filter, argnums=(0, 1, 2, 3, 4))(*args)
    expected, expected_slopes = ld.value_and_grad(of_matrix, argnums=(0, 1, 2, 3, 4))(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for slope, expected_slope in zip(slopes, expected_slopes, strict=True):
        np.testing.assert_allclose(slope, expected_slope, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_intervals_of_very_different_lengths(kernel):
    times = np.cumsum(np.tile([1e-5, 1e-3, 0.1, 2.0, 300.0], 4))
    y = np.random.default_rng(1).standard_normal(len(times))
    found = statespace.loglikelihood(y, *statespace.from_kernel(kernel, 1.5, 0.8, times, 0.1))
    expected = ld.linalg.gp_logpdf(y, covariance(kernel, 1.5, 0.8, times), 0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_short_intervals_lose_no_digits(kernel):
    """The leading term of the noise is that of integrals of a random walk."""
    n, h = ORDERS[kernel], 1e-6
    model = statespace.from_kernel(kernel, 1.0, 1.0, [0.0, h])
    rate = np.sqrt(2 * n - 1)
    spectral = {1: 2.0, 2: 4.0, 3: 16 / 3}[n] * rate ** (2 * n - 1)
    walk = statespace.integrated_random_walk([0.0, h], spectral, order=n)
    np.testing.assert_allclose(model.state_cov[0], walk.state_cov[0], rtol=2e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_closed_forms_are_those_of_the_drift(kernel):
    times, _ = irregular(8)
    n = ORDERS[kernel]
    closed = statespace.from_kernel(kernel, 0.6, 1.7, times, 0.3)
    F, D = companion(kernel, 0.6), np.zeros((n, n))
    P = closed.initial_state_cov
    D[-1, -1] = -(F @ P + P @ F.T)[-1, -1]
    general = statespace.continuous(F, D, times, np.eye(1, n), 0.3)
    for x, expected in zip(general[:6], closed[:6], strict=True):
        np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-12)
    for A, dt in zip(closed.transition, np.diff(times), strict=False):
        np.testing.assert_allclose(A, scipy.linalg.expm(F * dt), rtol=1e-10, atol=1e-13)
    for A, Q in zip(closed.transition, closed.state_cov, strict=True):
        np.testing.assert_allclose(Q, P - A @ P @ A.T, rtol=1e-10, atol=1e-12)


def test_states_at_times_without_observations():
    times, y = irregular(30)
    unseen = np.array([3, 4, 11, 29])
    y[unseen] = np.nan
    model = statespace.from_kernel("matern52", 0.7, 1.3, times, 0.2)
    found = statespace.kalman_smoother(y, *model)
    seen = ~np.isnan(y)
    K = covariance("matern52", 0.7, 1.3, times)
    gain = np.linalg.solve(K[np.ix_(seen, seen)] + 0.2 * np.eye(seen.sum()), K[seen]).T
    np.testing.assert_allclose(found.smoothed_state[:, 0], gain @ y[seen], rtol=1e-9, atol=1e-12)
    variances = np.diag(K - gain @ K[seen])
    np.testing.assert_allclose(found.smoothed_state_cov[:, 0, 0], variances, rtol=1e-9)


def test_forecasts_at_new_times():
    times, y = irregular(20)
    later = times[-1] + np.array([0.1, 0.5, 3.0])
    every = np.concatenate([times, later])
    ahead = statespace.forecast(3, y, *statespace.from_kernel("matern32", 0.7, 1.3, every, 0.2))
    K = covariance("matern32", 0.7, 1.3, every)
    gain = np.linalg.solve(K[:20, :20] + 0.2 * np.eye(20), K[:20, 20:]).T
    np.testing.assert_allclose(ahead.mean[:, 0], gain @ y, rtol=1e-10)
    variances = np.diag(K[20:, 20:] - gain @ K[:20, 20:]) + 0.2
    np.testing.assert_allclose(ahead.cov[:, 0, 0], variances, rtol=1e-10)


def test_sums_are_processes_with_the_sum_of_kernels():
    times, y = irregular()
    model = (
        statespace.from_kernel("matern52", 3.0, 1.3, times, 0.2)
        + statespace.ornstein_uhlenbeck(times, 2.0, 1.5)
        + statespace.arma([], [0.5], 0.4)  # of steps, not of time: a constant transition
    )
    K = covariance("matern52", 3.0, 1.3, times) + covariance("matern12", 0.5, 1.5 / 4, times)
    K = K + 0.4 * (1.25 * np.eye(40) + 0.5 * np.eye(40, k=1) + 0.5 * np.eye(40, k=-1))
    found = statespace.loglikelihood(y, *model)
    np.testing.assert_allclose(found, ld.linalg.gp_logpdf(y, K, 0.2), rtol=1e-11)
    assert [part.name for part in model.components] == ["matern52", "ornstein_uhlenbeck", "arma"]


def test_sums_with_diffuse_models():
    times, y = irregular()
    level = statespace.local_level(0.3, 0.1)
    model = level + statespace.from_kernel("matern32", 1.0, 0.5, times)
    assert model.transition.shape == (40, 3, 3)
    np.testing.assert_array_equal(model.diffuse, [True, False, False])
    large = level._replace(initial_state=np.zeros(1), initial_state_cov=1e7 * np.eye(1), diffuse=None)
    known = large + statespace.from_kernel("matern32", 1.0, 0.5, times)
    found, expected = (statespace.kalman_smoother(y, *each).smoothed_state for each in (model, known))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


# -- other processes ---------------------------------------------------------------------------------------


def test_ornstein_uhlenbeck_at_regular_times_is_an_autoregression():
    y = np.random.default_rng(2).standard_normal(30)
    phi, rate = np.exp(-0.4 * 0.5), 0.4
    var = 1.2 * (1 - phi**2) / (2 * rate)
    expected = statespace.loglikelihood(y - 0.7, *statespace.arma([phi], [], var, 0.3))
    model = statespace.ornstein_uhlenbeck(0.5 * np.arange(30), rate, 1.2, 0.3, mean=0.7)
    np.testing.assert_allclose(statespace.loglikelihood(y, *model), expected, rtol=1e-12)


def test_smoothed_integrals_are_splines():
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.2, 2.0, 25))
    y = np.sin(times) + 0.1 * rng.standard_normal(25)
    model = statespace.integrated_random_walk(times, 0.5, obs_var=0.1)
    spline = scipy.interpolate.make_smoothing_spline(times, y, lam=0.1 / 0.5)
    smoothed = statespace.kalman_smoother(y, *model).smoothed_state
    np.testing.assert_allclose(smoothed[:, 0], spline(times), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(smoothed[:, 1], spline(times, 1), rtol=1e-6, atol=1e-6)


def test_random_walks_are_local_levels():
    y = np.cumsum(np.random.default_rng(4).standard_normal(30))
    expected = statespace.loglikelihood(y, *statespace.local_level(0.7 * 0.25, 0.4))
    model = statespace.integrated_random_walk(0.25 * np.arange(30), 0.7, 0.4, order=1)
    np.testing.assert_allclose(statespace.loglikelihood(y, *model), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_integrals_are_those_of_the_drift(order):
    times, _ = irregular(6)
    closed = statespace.integrated_random_walk(times, 0.7, 0.4, order=order)
    D = np.zeros((order, order))
    D[-1, -1] = 0.7
    general = statespace.continuous(np.eye(order, k=1), D, times, np.eye(1, order), 0.4, diffuse=True)
    np.testing.assert_allclose(general.transition, closed.transition, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(general.state_cov, closed.state_cov, rtol=1e-10, atol=1e-15)


def test_trend_is_that_of_the_drift():
    times, _ = irregular(6)
    closed = statespace.continuous_local_linear_trend(times, 0.3, 0.7, 0.4)
    F, D = np.eye(2, k=1), np.diag([0.3, 0.7])
    general = statespace.continuous(F, D, times, np.eye(1, 2), [0.4], diffuse=True)
    for x, expected in zip(general[:4], closed[:4], strict=True):
        np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-14)


def test_nothing_overflows_in_long_intervals():
    F = np.array([[-40.0, 3.0], [0.0, -0.01]])
    times = np.array([0.0, 1e-3, 1.0, 500.0, 2000.0])
    model = statespace.continuous(F, np.diag([2.0, 0.3]), times, np.eye(2), [0.1, 0.2])
    P = model.initial_state_cov
    for A, Q, dt in zip(model.transition, model.state_cov, np.diff(times), strict=False):
        np.testing.assert_allclose(A, scipy.linalg.expm(F * dt), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(Q, P - A @ P @ A.T, rtol=1e-10, atol=1e-12)


def test_equal_intervals_are_computed_once():
    """To the same matrices."""
    times = np.array([0.0, 1.0, 2.0, 2.5, 3.5])
    F, D, B = np.array([[-0.5, 1.0], [-1.0, 0.0]]), np.diag([0.2, 0.1]), np.eye(1, 2)
    model = statespace.continuous(F, D, times, B, 0.1)
    np.testing.assert_array_equal(model.transition[0], model.transition[3])
    one = statespace.continuous(F, D, times[1:4], B, 0.1)
    np.testing.assert_allclose(model.transition[1:3], one.transition[:2], rtol=1e-13)
    np.testing.assert_allclose(model.state_cov[1:3], one.state_cov[:2], rtol=1e-12)


def test_the_prediction_after_the_data_is_for_the_last_time():
    times, y = irregular(10)
    found = statespace.kalman_filter(y, *statespace.from_kernel("matern32", 0.7, 1.3, times, 0.2))
    np.testing.assert_array_equal(found.predicted_state[-1], found.filtered_state[-1])


@pytest.mark.parametrize("steps", [0, 1])
def test_few_times(steps):
    times = np.arange(float(steps))
    model = statespace.from_kernel("matern32", 0.7, 1.3, times, 0.2)
    expected = -0.5 * steps * np.log(2 * np.pi * 1.5) - 0.5 * steps / 1.5
    np.testing.assert_allclose(statespace.loglikelihood(np.ones(steps), *model), expected, rtol=1e-12)


# -- derivatives and dtypes --------------------------------------------------------------------------------

TIMES = np.array([0.0, 0.4, 0.5, 1.7, 2.7, 3.7])
DAMPED = np.array([[-0.3, 1.0], [-2.0, -0.4]])
BUILT = {
    "ornstein_uhlenbeck": (statespace.ornstein_uhlenbeck, [TIMES, 0.5, 1.2, 0.3, 0.6]),
    "integrated_random_walk": (partial(statespace.integrated_random_walk, order=3), [TIMES, 0.8, 0.3]),
    "trend": (statespace.continuous_local_linear_trend, [TIMES, 0.6, 0.8, 0.3]),
    "continuous": (
        lambda F, L, times, B, obs_var: statespace.continuous(F, L @ L.T, times, B, obs_var),
        [DAMPED, np.array([[0.5, 0.0], [0.2, 0.7]]), TIMES, np.array([[1.0, 0.2]]), 0.3],
    ),
    "continuous, plain times": (
        lambda F, L: statespace.continuous(F, L @ L.T, TIMES, np.eye(1, 2), 0.1),
        [DAMPED, np.array([[0.5, 0.0], [0.2, 0.7]])],
    ),
} | {
    kernel: (lambda *args, kernel=kernel: statespace.from_kernel(kernel, *args), [0.7, 1.2, TIMES, 0.3])
    for kernel in KERNELS
}


@pytest.mark.parametrize("name", BUILT)
def test_derivatives(name):
    build, args = BUILT[name]
    y = np.random.default_rng(4).standard_normal(6)
    y[3] = np.nan

    def loglikelihood(*args):
        return statespace.loglikelihood(y, *build(*args))

    check_grads(loglikelihood, args, order=2, step=3e-4)


@pytest.mark.parametrize("name", BUILT)
def test_single_precision_is_kept(name):
    build, args = BUILT[name]
    if name == "continuous, plain times":
        return
    model = build(*[np.float32(x) for x in args])
    assert {part.dtype.name for part in model if part is not None} <= {"float32", "bool"}


def test_times_in_lists():
    expected = ld.grad(lambda t: np.sum(np.sin(statespace.ornstein_uhlenbeck(t, 0.5, 1.2).transition)))(TIMES)
    found = ld.jacobian(
        lambda a: np.sum(np.sin(statespace.ornstein_uhlenbeck([0.0, a, *TIMES[2:]], 0.5, 1.2).transition))
    )(TIMES[1])
    np.testing.assert_allclose(found, expected[1], rtol=1e-13)


@pytest.mark.parametrize("program", [False, True])
def test_fit(program):
    times, _ = irregular(150, seed=5)
    rng = np.random.default_rng(6)
    y = rng.multivariate_normal(np.zeros(150), covariance("matern32", 1.5, 2.0, times) + 0.1 * np.eye(150))
    found = statespace.fit(
        partial(statespace.from_kernel, "matern32", times=times),
        y,
        start={"lengthscale": 1.0, "variance": None, "obs_var": None},
        transforms={"lengthscale": statespace.positive},
        progress=False,
        program=program,
    )
    assert not found.notes
    estimates = np.array([*found.params.values()], float)

    def of_matrix(x):
        return ld.linalg.gp_logpdf(y, covariance("matern32", x[0], x[1], times), x[2])

    np.testing.assert_allclose(ld.grad(of_matrix)(estimates), 0, atol=1e-2)
    information = -ld.hessian(of_matrix)(estimates)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose([*found.standard_errors.values()], errors, rtol=1e-4)


# -- dates -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pandas():
    return pytest.importorskip("pandas")


def test_dates(pandas):
    dates = pandas.DatetimeIndex(["2024-02-28 00:00", "2024-02-29 12:00", "2024-03-02 12:00"])
    expected = statespace.from_kernel("matern32", 0.7, 1.3, [0.0, 1.5, 3.5], 0.2)
    for given in (dates, dates.to_series(), dates.tz_localize("UTC"), np.asarray(dates), dates - dates[0]):
        model = statespace.from_kernel("matern32", 0.7, 1.3, given, 0.2, unit="D")
        for x, y in zip(model, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    hours = statespace.from_kernel("matern32", 0.7 * 24, 1.3, dates, 0.2, unit="h")
    np.testing.assert_allclose(hours.transition[:, 0, 0], expected.transition[:, 0, 0], rtol=1e-14)


def test_clocks_that_change_do_not_matter(pandas):
    """It is 2 hours from midnight to 3 o'clock in the night in which summer time begins."""
    dates = pandas.DatetimeIndex(["2024-03-31 00:00", "2024-03-31 03:00"]).tz_localize("Europe/Berlin")
    model = statespace.ornstein_uhlenbeck(dates, 1.0, 1.0, unit="h")
    np.testing.assert_allclose(model.transition[0, 0, 0], np.exp(-2), rtol=1e-14)


def test_months_of_numpy_are_days():
    months = np.array(["2024-01", "2024-02", "2024-03"], "datetime64[M]")
    model = statespace.integrated_random_walk(months, 1.0, order=1, unit="D")
    np.testing.assert_array_equal(model.state_cov[:, 0, 0], [31.0, 29.0, 0.0])


@pytest.mark.parametrize("unit", ["W", "D", "h", "min", "s", "ms", "us", "ns"])
def test_units(pandas, unit):
    dates = pandas.date_range("2024-01-01", periods=3, freq="2h")
    model = statespace.integrated_random_walk(dates, 1.0, order=1, unit=unit)
    expected = pandas.Timedelta("2h") / (np.timedelta64(1, "W") if unit == "W" else pandas.Timedelta(1, unit))
    np.testing.assert_allclose(model.state_cov[0, 0, 0], expected, rtol=1e-15)


# -- bad input ---------------------------------------------------------------------------------------------

DATES = np.array(["2024-01-02", "2024-01-01", "NaT"], "datetime64[D]")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: statespace.ornstein_uhlenbeck([0.0, 1.0, 1.0, 0.5], 1.0, 1.0),
            ValueError,
            r"times\[1\] and times\[2\] are both 1.0 \(1 more pairs are not in order\); times must increase",
        ),
        (
            lambda: statespace.ornstein_uhlenbeck([0.0, 2.0, 1.0], 1.0, 1.0),
            ValueError,
            r"times\[2\] = 1.0 is before times\[1\] = 2.0; times must increase: sort",
        ),
        (
            lambda: statespace.integrated_random_walk(DATES[:2], 1.0, unit="D"),
            ValueError,
            r"times\[1\] = 2024-01-01 is before times\[0\] = 2024-01-02",
        ),
        (lambda: statespace.integrated_random_walk(DATES, 1.0, unit="D"), ValueError, r"times\[2\] is NaT"),
        (
            lambda: statespace.integrated_random_walk(DATES[:2], 1.0),
            ValueError,
            "unit is None: give",
        ),
        (
            lambda: statespace.integrated_random_walk(DATES[:2], 1.0, unit="M"),
            ValueError,
            "'ns' .months and years have no fixed one",
        ),
        (
            lambda: statespace.ornstein_uhlenbeck([0.0, 1.0], 1.0, 1.0, unit="D"),
            ValueError,
            "unit='D' is for dates, and times are numbers",
        ),
        (lambda: statespace.ornstein_uhlenbeck([0.0, np.nan], 1.0, 1.0), ValueError, r"times\[1\] is nan"),
        (
            lambda: statespace.ornstein_uhlenbeck(["monday", "friday"], 1.0, 1.0),
            TypeError,
            r"times has dtype .*pandas.to_datetime\(times\)",
        ),
        (
            lambda: statespace.ornstein_uhlenbeck([[0.0, 1.0]], 1.0, 1.0),
            ValueError,
            r"times must be of shape \(T\)",
        ),
        (lambda: statespace.ornstein_uhlenbeck([0.0, 1.0], -1.0, 1.0), ValueError, "rate must be positive"),
        (lambda: statespace.ornstein_uhlenbeck([0.0, 1.0], [1.0], 1.0), ValueError, "rate must be a number"),
        (
            lambda: statespace.from_kernel("rbf", 1.0, 1.0, [0.0]),
            ValueError,
            "kernel must be one of 'matern12', 'matern32', 'matern52', got 'rbf'",
        ),
        (
            lambda: statespace.from_kernel("matern32", 0.0, 1.0, [0.0]),
            ValueError,
            "lengthscale must be positive, got 0.0",
        ),
        (
            lambda: statespace.integrated_random_walk([0.0], 1.0, order=0),
            ValueError,
            "order must be at least 1",
        ),
        (
            lambda: statespace.continuous(np.eye(2), np.eye(3), [0.0], np.eye(2)),
            ValueError,
            r"diffusion of shape \(3, 3\), .* do not fit together",
        ),
        (
            lambda: statespace.continuous(np.eye(2), np.eye(2), [0.0], np.eye(2)),
            ValueError,
            "an eigenvalue with the real part 1; .* write diffuse=True",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_periods_are_told_of(pandas):
    with pytest.raises(TypeError, match=r"times.to_timestamp\(\) for periods"):
        statespace.ornstein_uhlenbeck(pandas.period_range("2024-01", periods=3, freq="M"), 1.0, 1.0, unit="D")
