"""ARIMA models by their coefficients, against their matrices: likelihoods, gradients, stationary starts."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
from lindiff import statespace
from lindiff.kernels.chandrasekhar import ArmaFilter, is_surely_stationary
from lindiff.statespace.autocovariances import stationary_cov, sums_along_diagonals
from lindiff.statespace.likelihood import _of_process
from lindiff.testing import check_grads

ORDERS = [  # (p, d, q), (P, D, Q), s
    ((1, 0, 0), (0, 0, 0), None),
    ((0, 0, 2), (0, 0, 0), None),
    ((3, 0, 1), (0, 0, 0), None),
    ((0, 0, 0), (0, 0, 0), None),
    ((0, 1, 1), (0, 0, 0), None),
    ((0, 1, 3), (0, 0, 0), None),  # a moving average that is longer than the differences
    ((2, 2, 1), (0, 0, 0), None),
    ((0, 1, 1), (0, 1, 1), 4),
    ((1, 0, 1), (1, 0, 1), 4),
    ((1, 1, 1), (1, 1, 1), 3),
    ((1, 0, 2), (1, 1, 2), 2),
]


def of_order(orders, seed=0, T=40):
    """A function that builds the model, its arguments, and data."""
    rng = np.random.default_rng(seed)
    (p, d, q), (P, D, Q), s = orders
    args = [0.8 * rng.uniform(-1, 1, k) / max(k, 1) for k in (p, q, P, Q)]

    def build(ar, ma, seasonal_ar, seasonal_ma, innovation_var, **options):
        return statespace.sarima(
            ar,
            ma,
            innovation_var,
            difference=d,
            period=s,
            seasonal_ar=seasonal_ar,
            seasonal_ma=seasonal_ma,
            seasonal_difference=D,
            **options,
        )

    return build, (*args, np.float64(1.7)), np.cumsum(rng.standard_normal(T))


def both(build, y):
    """The likelihood by coefficients, and by matrices."""
    by_process = lambda *args: statespace.loglikelihood(y, build(*args))
    return by_process, lambda *args: statespace.loglikelihood(y, *build(*args))


@pytest.mark.parametrize("orders", ORDERS)
def test_the_likelihood_of_the_matrices(orders):
    build, args, y = of_order(orders)
    assert _of_process(y, None, *build(*args).process) is not None
    found, expected = (f(*args) for f in both(build, y))
    assert found == pytest.approx(expected, rel=1e-12)
    composed = statespace.loglikelihood(y, *build(*args), method="composed")
    assert found == pytest.approx(composed, rel=1e-10)
    assert statespace.loglikelihood(y[:, None], build(*args)) == found


@pytest.mark.parametrize("orders", ORDERS)
def test_its_gradient_by_all_coefficients(orders):
    build, args, y = of_order(orders)
    (value, found), (_, expected) = (ld.value_and_grad(f, (0, 1, 2, 3, 4))(*args) for f in both(build, y))
    assert value == pytest.approx(both(build, y)[0](*args), rel=1e-13)
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("orders", [ORDERS[2], ORDERS[7]])
def test_derivatives_against_differences_and_of_second_order(orders):
    build, args, y = of_order(orders)
    check_grads(lambda y, *args: statespace.loglikelihood(y, build(*args)), (y, *args), rtol=1e-5)
    by_process, by_matrices = both(build, y)
    for i in (1, 4):
        np.testing.assert_allclose(
            ld.hessian(by_process, i)(*args), ld.hessian(by_matrices, i)(*args), rtol=1e-9, atol=1e-9
        )


def test_derivatives_of_third_order():
    """``-n/2 log v - S / (2v)`` of n differences and the variance v."""
    build, args, y = of_order(ORDERS[1])
    of_var = lambda v: statespace.loglikelihood(y, build(*args[:4], v))
    v, n = args[4], len(y)
    S = 2 * v * v * (ld.grad(of_var)(v) + n / (2 * v))
    assert ld.grad(ld.grad(ld.grad(of_var)))(v) == pytest.approx(-n / v**3 + 3 * S / v**4, rel=1e-9)


def test_nothing_goes_by_the_process_that_is_not_its():
    build, args, y = of_order(ORDERS[7])
    model = build(*args)
    assert model.process is not None
    assert (model + statespace.local_level(0.1)).process is None
    assert model._replace(obs_cov=np.zeros(1)).process is None
    assert build(*args, obs_var=0.5).process is None
    assert model.named("demand").process is model.process
    assert pickle.loads(pickle.dumps(model)).process is not None
    gap = np.where(np.arange(len(y)) == 20, np.nan, y)
    for data in (gap, y[:5], y[None, :, None]):
        assert _of_process(data, None, *model.process) is None
    for data in (gap, y[None, :, None], y.tolist(), np.round(y).astype(int)):
        expected = statespace.loglikelihood(data, *model)
        np.testing.assert_allclose(statespace.loglikelihood(data, model), expected, rtol=1e-12)
    steps = statespace.loglikelihood(y, model, per_step=True)
    assert steps.shape == y.shape
    assert steps.sum() == pytest.approx(statespace.loglikelihood(y, model), rel=1e-10)


@pytest.mark.parametrize("field", ["transition", "design", "state_cov", "obs_cov", "initial_state_cov"])
def test_what_is_written_to_the_matrices_counts(field):
    y = np.random.default_rng(0).standard_normal(20)

    def by(loglikelihood):
        def of(x, move):
            model = statespace.arma(x[:1], (), x[1])
            array = getattr(model, field)
            array[0] = array[0] + (move if isinstance(array, ld.Variable) else 0.2)
            return loglikelihood(model)

        x = np.array([0.5, 1.3])
        return [
            of(x, 0.2),
            *ld.grad(of, (0, 1))(x, 0.0),
            *ld.grad(of, (0, 1))(x, 0.1),
            ld.hessian(of)(x, 0.1),
        ]

    found = by(lambda model: statespace.loglikelihood(y, model))
    expected = by(lambda model: statespace.loglikelihood(y, *model))
    for x, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, e, rtol=1e-12)


def test_what_is_written_to_the_coefficients_later_does_not():
    ar, var, y = np.array([0.5]), np.array(1.3), np.arange(5.0)
    model = statespace.arma(ar, (), var)
    expected = statespace.loglikelihood(y, model)
    ar[0], var[()] = 0.1, 9.0
    assert statespace.loglikelihood(y, model) == expected

    def of(ar):
        model = statespace.arma(ar, (), 1.0)
        ar[0] = 0.1
        return statespace.loglikelihood(y, model)

    assert ld.grad(of)(np.array([0.5])) == pytest.approx(
        ld.grad(lambda ar: statespace.loglikelihood(y, *statespace.arma(ar, (), 1.0)))(np.array([0.5]))
    )


@pytest.mark.parametrize("orders", [ORDERS[0], ORDERS[7]])
@pytest.mark.parametrize("steps", [1, 40])
def test_about_a_mean(orders, steps):
    build, args, y = of_order(orders)
    mean = np.linspace(1.0, 2.0, steps)[:, None] if steps > 1 else np.array([1.5])
    assert build(*args)._replace(obs_intercept=mean).process is not None
    found, expected = (
        ld.value_and_grad(
            lambda mean, *args, way=way: statespace.loglikelihood(
                y, *way(build(*args)._replace(obs_intercept=mean))
            ),
            tuple(range(6)),
        )(mean, *args)
        for way in (lambda model: (model,), tuple)
    )
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    for g, e in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-10)
    with pytest.raises(ValueError, match="obs_intercept"):
        statespace.loglikelihood(y, build(*args)._replace(obs_intercept=np.ones(3)))


def test_a_model_and_arrays_beside_it():
    build, args, y = of_order(ORDERS[1])
    with pytest.raises(TypeError, match="a Model has all arrays: give none beside it"):
        statespace.loglikelihood(y, build(*args), np.ones((1, 1)))
    with pytest.raises(ValueError, match="infinite"):
        statespace.loglikelihood(np.array([1.0, np.inf]), build(*args))


@pytest.mark.parametrize("root", [1e-3, 1e-7, 1e-11])
def test_near_a_unit_root(root):
    y = np.cumsum(np.random.default_rng(1).standard_normal(60))
    found, expected = (
        ld.value_and_grad(f)(np.array([1 - root])) for f in both(lambda ar: statespace.arma(ar, (), 1.0), y)
    )
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)
    with pytest.raises(ValueError, match="eigenvalue"):
        statespace.arma([1 + root], (), 1.0)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_stationary_covariances(p, q, seed):
    rng = np.random.default_rng(seed)
    ar, ma = 0.9 * rng.uniform(-1, 1, p) / max(p, 1), rng.uniform(-1, 1, q)
    model = statespace.arma(ar, ma, 2.0)
    P, A = model.initial_state_cov, model.transition
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_allclose(P, A @ P @ A.T + model.state_cov, rtol=1e-10, atol=1e-10)


def test_derivatives_of_stationary_covariances():
    rng = np.random.default_rng(0)
    ar, ma = np.array([0.5, -0.3]), np.array([0.4, 0.1, -0.2])
    check_grads(stationary_cov, (ar, ma), rtol=1e-5)
    check_grads(sums_along_diagonals, (rng.standard_normal((4, 4)),))


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=6))
@settings(deadline=None)
def test_what_is_surely_stationary(ar):
    ar = np.array(ar)
    if is_surely_stationary(ar):
        assert np.max(np.abs(np.roots([1.0, *-ar]))) < 1
    assert is_surely_stationary(0.99 * ar / np.maximum(np.sum(np.abs(ar)), 1.0))


def test_the_filter_alone():
    rng = np.random.default_rng(2)
    y, phi, gain = rng.standard_normal(30), np.array([0.5, -0.2, 0.1]), np.array([0.6, -0.1, 0.05])
    sweep = ArmaFilter(y, phi, gain, 2.0, 0.5, True)
    bars = sweep.pull(1.0)
    move = [rng.standard_normal(x.shape) for x in (y, phi, gain)]

    def value(h):
        return ArmaFilter(*(x + h * m for x, m in zip((y, phi, gain), move, strict=True)), 2.0 + h, 0.5).value

    tangent = sum(np.sum(b * m) for b, m in zip(bars[:3], move, strict=True)) + bars[3]
    assert (value(1e-6) - value(-1e-6)) / 2e-6 == pytest.approx(tangent, rel=1e-7)
    assert ArmaFilter(y, phi, np.array([1.0, 0.0, 0.0]), 2.0, 0.5).value is None
    assert ArmaFilter(y, phi, gain, -1.0, 0.5).value is None


def test_seasonal_roots_near_the_unit_circle():
    for e in (1e-2, 1e-6, 1e-9):
        model = statespace.sarima((), (), 1.0, period=12, seasonal_ar=[1 - e])
        var = 1 / (e * (2 - e))
        np.testing.assert_allclose(np.diag(model.initial_state_cov), [var] + 11 * [var * (1 - e) ** 2], 1e-7)


def test_stationary_starts_by_equations_keep_their_digits():
    model = statespace.sarima((), (), 1.0, period=12, seasonal_ar=[1 - 1e-4])
    _, P = statespace.stationary_initialization(model.transition, model.state_cov)
    np.testing.assert_allclose(P, model.initial_state_cov, rtol=1e-11, atol=1e-6)


def test_a_seasonal_likelihood_at_the_unit_circle():
    t = np.arange(144)
    wave = 10 * np.sin(np.pi * t / 6) + 5 * np.cos(np.pi * t / 2) + 5 * (-1.0) ** t
    y = wave + 0.5 * np.random.default_rng(1).normal(size=144)
    model = statespace.sarima([0.8], [-0.99], 0.2, period=12, seasonal_ar=[0.99999], seasonal_ma=[-0.9])
    by_process = statespace.loglikelihood(y, model)
    assert statespace.loglikelihood(y, *model) == pytest.approx(by_process, rel=1e-7)


@pytest.mark.parametrize(
    ("ar", "ma", "steps", "expected"),
    [  # the first by mpmath with 50 digits, others by the square roots of covariances
        ([0.9], [3.0, 3.0, 1.0], 3000, -4277.9403),
        ([0.9], [3.0, 3.0, 1.0], 1000, None),
        ([0.99], [4.0, 6.0, 4.0, 1.0], 400, None),
        ([0.9], [2.0, 3.0, 2.0, 1.0], 1000, None),
    ],
)
def test_moving_averages_with_several_roots_at_one_place_of_the_unit_circle(ar, ma, steps, expected):
    """What is rounded at the start grows with a power of the steps."""
    count = len(ma)
    noise = np.convolve(np.random.default_rng(1).normal(size=steps + count), [1, *ma])[count : steps + count]
    y = np.zeros(steps)
    for t in range(steps):
        y[t] = noise[t] + ar[0] * (y[t - 1] if t else 0.0)
    model = statespace.arma(ar, ma, 1.0)
    if expected is None:
        expected = statespace.loglikelihood(y, *model, method="square_root")
    found = statespace.loglikelihood(y, model)
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    assert found == statespace.loglikelihood(y, *model)  # by the sweep
    usual = statespace.arma(ar, [0.5, 0.2], 1.0)
    np.testing.assert_allclose(
        statespace.loglikelihood(y, usual), statespace.loglikelihood(y, *usual), rtol=1e-10
    )


def test_autoregressions_that_are_not_finite():
    with pytest.raises(ValueError, match="has NaN or infinities"):
        statespace.arma([np.nan], [], 1.0)


@pytest.mark.parametrize("period", [4, 12])
def test_roots_of_which_rounding_leaves_no_covariance(period):
    """A covariance with negative variances, or no solution at all, says what it comes from."""
    refusals: list[str] = []
    for distance, seasonal in itertools.product(10.0 ** -np.arange(4, 10), repeat=2):
        trend, season = np.array([1, distance - 1]), np.zeros(period + 1)
        season[[0, period]] = 1, seasonal - 1
        try:
            model = statespace.arma(-np.polymul(trend, season)[1:], [], 1.0)
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert np.all(np.diagonal(model.initial_state_cov) >= 0)
    assert refusals
    assert all("unit circle" in said for said in refusals)


@pytest.mark.parametrize("period", [4, 7, 12])
@pytest.mark.parametrize("factor", [-0.9, 0.3, 0.6])
def test_seasonal_factors_that_cancel(factor, period):
    y = np.cumsum(np.random.default_rng(0).standard_normal(60))

    def of_matrices(seasonal_ar, seasonal_ma, ar):
        model = statespace.sarima(
            ar, (), 1.0, difference=1, period=period, seasonal_ar=seasonal_ar, seasonal_ma=seasonal_ma
        )
        return statespace.loglikelihood(y, *model)

    def of_process(seasonal_ar, seasonal_ma, ar):
        model = statespace.sarima(
            ar, (), 1.0, difference=1, period=period, seasonal_ar=seasonal_ar, seasonal_ma=seasonal_ma
        )
        return statespace.loglikelihood(y, model)

    args = np.array([factor]), np.array([-factor]), np.array([0.8])
    plain = statespace.loglikelihood(y, *statespace.sarima([0.8], (), 1.0, difference=1))
    np.testing.assert_allclose(of_matrices(*args), plain, rtol=1e-12)
    slopes = (ld.grad(f, argnums=(0, 1, 2))(*args) for f in (of_matrices, of_process))
    for one, other in zip(*slopes, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("ar", "ma"), [(1 - 1e-9, -0.99), (1 - 1e-7, -0.99), (1 - 1e-6, -0.999), (0.999, 0.4)]
)
def test_likelihoods_near_a_unit_root_have_their_digits(ar, ma):
    y = np.cumsum(np.random.default_rng(3).standard_normal(300))

    def of_process(ar, ma):
        return statespace.loglikelihood(y, statespace.arma(ar[None], ma[None], 1.3))

    def exact(phi, theta):
        """Of differences to the last digit: x = (y, θ e), 1 - φ² = (1 - φ) (1 + φ)."""
        mean, other, total = 0.0, 0.0, 0.0
        left = (1 - phi) * (1 + phi)
        P = 1.3 * ((phi + theta) ** 2 + left) / left
        p = 1.3 * theta**2 - (1.3 * theta) ** 2 / P  # of the second state, once y is known
        for i, observed in enumerate(y):
            error = observed - mean
            total -= 0.5 * (np.log(2 * np.pi * P) + error**2 / P)
            other = 1.3 * theta / P * error  # what is known of θ e
            mean, P = phi * observed + other, 1.3 + (p if i == 0 else 1.3 * theta**2 * (1 - 1.3 / P))
        return total

    args = np.array(ar), np.array(ma)
    found, slopes = ld.value_and_grad(of_process, argnums=(0, 1))(*args)
    value, expected = ld.value_and_grad(exact, argnums=(0, 1))(*args)
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(slopes, expected, rtol=1e-6)
