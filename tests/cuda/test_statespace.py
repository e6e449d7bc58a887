"""State-space models of CuPy arrays, and those of NumPy's."""

import numpy as np
import pytest
from standin import compiled
from standin.array import Device

import lindiff as ld
from lindiff import statespace
from lindiff.statespace.sweep.planning import sweeps_for

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")

ALL = tuple(range(9))  # y and the eight arrays of a model


def covariance(rng, *shape):
    X = rng.standard_normal(shape)
    X = X @ np.swapaxes(X, -1, -2) / shape[-1] + 0.1 * np.eye(shape[-1])
    return 0.5 * (X + np.swapaxes(X, -1, -2))


def model_of(rng, n=2, p=2, own=(), full=True):
    """System matrices, those of every series its own if `own` is (S, 1)."""
    return [
        0.5 * rng.standard_normal((*own, n, n)),
        rng.standard_normal((*own, p, n)),
        covariance(rng, *own, n, n),
        covariance(rng, *own, p, p) if full else rng.uniform(0.1, 1, (*own, 1, p)),
        rng.standard_normal((*own[:1], n)),
        covariance(rng, *own[:1], n, n),
        rng.standard_normal((*own, n)),
        rng.standard_normal((*own, p)),
    ]


def data(rng, S=3, T=6, p=2, missing=0.2):
    y = rng.standard_normal((S, T, p))
    y[rng.random(y.shape) < missing] = np.nan
    return y


@pytest.fixture
def args(rng):
    return [data(rng), *model_of(rng)]


def on_device(cupy, args):
    return [None if x is None else cupy.asarray(x) for x in args]


def assert_equal(found, expected, rtol=1e-10):
    """Trees of arrays on the device and on the host."""
    found, expected = ([*x] if isinstance(x, tuple) else [x] for x in (found, expected))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert type(x).__module__ != "numpy"
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x.get(), y, rtol=rtol, atol=rtol)


def weighted(diffuse=None, **options):
    def function(*args):
        result = statespace.loglikelihood(*args, diffuse=diffuse, **options)
        return np.sum(np.sin(result))

    return function


def directions(rng, args):
    dots = [np.nan_to_num(rng.standard_normal(x.shape)) for x in args]
    symmetric = [x.ndim > 1 and x.shape[-1] == x.shape[-2] and i in (3, 4, 6) for i, x in enumerate(dots)]
    return [x + np.swapaxes(x, -1, -2) if square else x for x, square in zip(dots, symmetric, strict=True)]


SYSTEMS = [
    {},
    {"n": 3, "full": False},
    {"own": (3, 1)},
    {"own": (3, 6), "p": 1},
]


@pytest.mark.parametrize("diffuse", [None, True, [True, *[False] * 9]], ids=["proper", "diffuse", "partly"])
@pytest.mark.parametrize("options", SYSTEMS, ids=str)
def test_likelihood_and_derivatives(cupy, rng, options, diffuse):
    args = [data(rng, p=options.get("p", 2), missing=0.1), *model_of(rng, **options)]
    n = options.get("n", 2)
    function = weighted(diffuse[:n] if isinstance(diffuse, list) else diffuse)
    dots = directions(rng, args)
    device, device_dots = on_device(cupy, args), on_device(cupy, dots)
    assert_equal(function(*device), function(*args))
    gradient = ld.grad(function, argnums=ALL)
    assert_equal(gradient(*device), gradient(*args), 1e-9)
    assert_equal(
        ld.jvp(function, tuple(device), tuple(device_dots)), ld.jvp(function, tuple(args), tuple(dots)), 1e-9
    )
    # Hessian products, forward over reverse and reverse over reverse
    assert_equal(
        ld.jvp(gradient, tuple(device), tuple(device_dots))[1],
        ld.jvp(gradient, tuple(args), tuple(dots))[1],
        1e-8,
    )
    assert_equal(
        ld.vjp(gradient, *device)[1](tuple(device_dots)), ld.vjp(gradient, *args)[1](tuple(dots)), 1e-8
    )


@pytest.mark.parametrize("diffuse", [None, True])
def test_third_derivatives(cupy, rng, diffuse):
    args = [data(rng, T=4, missing=0), *model_of(rng)]
    dots = directions(rng, args)

    def product(*args):
        along = [np.asarray(x, like=ld.value(args[0])) for x in dots[1:]]
        return ld.jvp(ld.grad(lambda A: weighted(diffuse)(args[0], A, *args[2:])), (args[1],), (along[0],))[1]

    expected = ld.vjp(product, *args)[1](dots[1])
    assert_equal(ld.vjp(product, *on_device(cupy, args))[1](cupy.asarray(dots[1])), expected, 1e-8)


@pytest.mark.parametrize(
    "options", [{"per_step": True}, {"method": "composed"}, {"method": "square_root"}], ids=str
)
@pytest.mark.parametrize("diffuse", [None, True])
def test_other_forms(cupy, args, options, diffuse):
    function, device = weighted(diffuse, **options), on_device(cupy, args)
    assert_equal(function(*device), function(*args))
    gradient = ld.grad(function, argnums=ALL)
    assert_equal(gradient(*device), gradient(*args), 1e-9)


def refuse(*_, **__):
    raise AssertionError("the loop in public operators was taken")


@pytest.mark.parametrize(("full", "dtype"), [(False, np.float32), (True, np.float64)])
def test_steps_in_one_launch(cupy, rng, monkeypatch, full, dtype):
    """The value with per_step=True, of more steps than are kept of it."""
    args = [x.astype(dtype) for x in (data(rng, T=70), *model_of(rng, full=full))]
    expected = statespace.loglikelihood(*args, per_step=True)
    monkeypatch.setattr("lindiff.statespace.composed.loglikelihoods", refuse)
    found = statespace.loglikelihood(*on_device(cupy, args), per_step=True)
    assert found.dtype == dtype
    assert_equal(found, expected, 2e-4 if dtype == np.float32 else 1e-10)


def test_steps_of_a_series_that_fails(cupy, rng):
    from lindiff_cuda import unchecked

    args = [data(rng, T=4, missing=0), *model_of(rng, own=(3, 1))]
    args[2][1] = args[4][1] = 0  # nothing is measured, and without noise
    device = on_device(cupy, args)
    with pytest.raises(np.linalg.LinAlgError, match=r"series 1\).* step 0"):
        statespace.loglikelihood(*device, per_step=True)
    with unchecked():
        found = statespace.loglikelihood(*device, per_step=True)
    np.testing.assert_array_equal(np.isnan(found.get()).all(1), [False, True, False])
    assert not np.isnan(found.get()[[0, 2]]).any()


def test_checkpoint(cupy, args):
    function, device = weighted(checkpoint=True), on_device(cupy, args)
    assert_equal(ld.grad(function, argnums=ALL)(*device), ld.grad(weighted(), argnums=ALL)(*args))


def test_single_precision(cupy, args):
    args = [x.astype(np.float32) for x in args]
    value, gradient = ld.value_and_grad(weighted(), argnums=ALL)(*on_device(cupy, args))
    assert value.dtype == np.float32
    assert_equal(gradient, ld.grad(weighted(), argnums=ALL)(*args), 2e-4)


def test_too_large_for_a_warp(cupy, rng):
    """The loop in public operators takes over."""
    n = 33
    args = [data(rng, T=3), *model_of(rng, n=n)]
    args[1] *= n**-0.5
    device = on_device(cupy, args)
    assert sweeps_for(tuple(device[:8]), 0) is None
    assert_equal(weighted()(*device), weighted()(*args))


def test_too_large_in_complex_numbers(cupy, rng):
    """Values and gradients by the kernel, Hessian products by the loop."""
    args = [data(rng, S=2, T=2, p=24), *model_of(rng, n=32, p=24)]
    args[1] *= 0.2
    dots = directions(rng, args)
    device, device_dots = on_device(cupy, args), on_device(cupy, dots)
    assert sweeps_for(tuple(device[:8]), 0) is not None
    assert sweeps_for(tuple(device[:8]), 0, np.complex128) is None
    gradient = ld.grad(weighted(), argnums=ALL)
    found = ld.jvp(gradient, tuple(device), tuple(device_dots))[1]
    assert_equal(found, ld.jvp(gradient, tuple(args), tuple(dots))[1], 1e-7)


@pytest.mark.parametrize("diffuse", [None, True])
@pytest.mark.parametrize("options", SYSTEMS, ids=str)
@pytest.mark.parametrize("function", [statespace.kalman_filter, statespace.kalman_smoother])
def test_states(cupy, rng, function, options, diffuse):
    args = [data(rng, p=options.get("p", 2), missing=0.1), *model_of(rng, **options)]
    found = function(*on_device(cupy, args), diffuse=diffuse)
    assert_equal(tuple(found), tuple(function(*args, diffuse=diffuse)), 1e-9)


NOTHING = {"no series": (0, 6), "no steps": (3, 0)}


@pytest.mark.parametrize("shape", NOTHING.values(), ids=NOTHING)
def test_nothing(cupy, args, shape):
    args[0] = args[0][: shape[0], : shape[1]]
    device = on_device(cupy, args)
    gradient = ld.grad(weighted(), argnums=ALL)
    assert_equal(gradient(*device), gradient(*args))
    for function in (statespace.loglikelihood, statespace.kalman_filter, statespace.kalman_smoother):
        assert_equal(function(*device), function(*args))


def test_one_series_in_other_forms(cupy, rng):
    """A vector of data, integers, and single precision beside double."""
    model = [
        np.array([[1, 0], [1, 1]]),
        np.array([[1.0, 0.5]], np.float32),
        np.eye(2),
        np.ones(1),
        np.zeros(2),
    ]
    args = [rng.standard_normal(6), *model, np.eye(2, dtype=np.float32)]
    device = on_device(cupy, args)
    assert_equal(statespace.loglikelihood(*device), statespace.loglikelihood(*args))
    assert_equal(statespace.kalman_smoother(*device), statespace.kalman_smoother(*args))


def test_states_have_gradients(cupy, args):
    def function(*args):
        return np.sum(np.sin(statespace.kalman_smoother(*args).smoothed_state))

    gradient = ld.grad(function, argnums=ALL)
    assert_equal(gradient(*on_device(cupy, args)), gradient(*args), 1e-9)


@pytest.mark.parametrize("diffuse", [None, True])
def test_forecast(cupy, args, diffuse):
    found = statespace.forecast(3, *on_device(cupy, args), diffuse=diffuse)
    assert_equal(tuple(found), tuple(statespace.forecast(3, *args, diffuse=diffuse)))


def test_simulation(cupy, args):
    """With the same random numbers."""
    device = on_device(cupy, args)
    assert_equal(
        statespace.simulate(5, *device[1:], rng=3, size=4), statespace.simulate(5, *args[1:], rng=3, size=4)
    )
    assert_equal(
        statespace.simulate_smoother(*device, rng=3, size=4),
        statespace.simulate_smoother(*args, rng=3, size=4),
    )


def test_stationary_initialization(cupy, rng):
    A, Q, c = 0.4 * rng.standard_normal((3, 1, 2, 2)), covariance(rng, 2, 2), rng.standard_normal(2)

    def function(A, Q, c):
        m, P = statespace.stationary_initialization(A, Q, c)
        return np.sum(np.sin(m)) + np.sum(np.cos(P))

    device = on_device(cupy, [A, Q, c])
    assert_equal(statespace.stationary_initialization(*device), statespace.stationary_initialization(A, Q, c))
    gradient = ld.grad(function, argnums=(0, 1, 2))
    assert_equal(gradient(*device), gradient(A, Q, c))
    with pytest.raises(ValueError, match="eigenvalue of size 2"):
        statespace.stationary_initialization(cupy.asarray([[2.0]]), cupy.asarray([[1.0]]))


BUILDERS = {
    "local_level": ([0.5], {"obs_var": 0.2}),
    "local_linear_trend": ([0.5, 0.1], {}),
    "seasonal": ([0.5], {"period": 4}),
    "trigonometric_seasonal": ([[0.5, 0.2]], {"period": 4}),
    "arma": ([[0.5, 0.1], [0.3]], {"innovation_var": 0.7}),
    "sarima": (
        [[0.5], [0.3]],
        {"innovation_var": 0.7, "difference": 1, "period": 3, "seasonal_ma": [0.2], "seasonal_difference": 1},
    ),
    "regression": ([np.arange(8.0).reshape(4, 2)], {}),
    "var": ([[[0.5, 0.1], [0.0, 0.3]], [[1.0, 0.2], [0.2, 1.0]]], {}),
    "dynamic_factor": (
        [[[1.0], [0.5]], [[0.9]], [1.0, 2.0]],
        {"error_ar": np.array([0.5, 0.1]), "aggregation": [None, [1.0, 1.0]]},
    ),
    "cycle": ([7.0, 0.5, 0.1], {"damping": 0.8}),
    "exponential_smoothing": ([0.3, 1.0, 0.1, 0.2], {"period": 3, "initial_state": np.arange(5.0)}),
    "varma": ([[[0.5, 0.1], [0.0, 0.3]], [[0.2, 0.0], [0.1, 0.3]], [[1.0, 0.2], [0.2, 1.0]], [0.1, 0.2]], {}),
    "ornstein_uhlenbeck": ([[0.0, 1.0, 1.5], 0.5, 1.2], {"mean": 0.3}),
    "from_kernel": ([0.5, 1.2, [0.0, 1.0, 1.5]], {"kernel": "matern52"}),
    "integrated_random_walk": ([[0.0, 1.0, 1.5], 0.5], {"order": 3}),
    "continuous_local_linear_trend": ([[0.0, 1.0, 1.5], 0.5, 0.2], {}),
    "continuous": (
        [[[0.0, 1.0], [-2.0, -0.5]], [[0.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 9.0], [[1.0, 0.0]]],
        {"diffuse": True},
    ),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_builders(cupy, name):
    """One array on the device brings the others there."""
    arrays, options = BUILDERS[name]
    builder = getattr(statespace, name)
    names = {
        "seasonal": ["seasonal_var"],
        "trigonometric_seasonal": ["seasonal_var"],
        "from_kernel": ["lengthscale", "variance", "times"],
    }.get(name)
    given = {} if names is None else dict(zip(names, arrays, strict=True))
    positional = arrays if names is None else []
    expected = builder(*positional, **given, **options)
    found = builder(
        *(cupy.asarray(np.array(x)) for x in positional),
        **{key: cupy.asarray(np.array(x)) for key, x in given.items()},
        **{key: cupy.asarray(x) if isinstance(x, np.ndarray) else x for key, x in options.items()},
    )
    for x, y in zip(found[:-1], expected[:-1], strict=True):
        assert (x is None) == (y is None)
        if y is not None:
            assert_equal(x, y)
    np.testing.assert_array_equal(found.diffuse, expected.diffuse)


def test_builders_of_models_and_columns(cupy):
    """Of what they are given, arrays are on the device."""

    def built(level_var, loadings, price):
        trend = statespace.common(statespace.local_level(level_var, 0.5), loadings)
        return trend + statespace.common(
            statespace.regression({"price": price, "one": np.ones(4)}), [1.0, 0.0]
        )

    arrays = np.array(0.3), np.array([1.0, 2.0]), np.arange(4.0)
    for x, y in zip(built(*on_device(cupy, arrays))[:-1], built(*arrays)[:-1], strict=True):
        assert (x is None) == (y is None)
        if y is not None:
            assert_equal(x, y)


def build(level_var, ar, innovation_var):
    return statespace.local_level(level_var) + statespace.arma(ar, (), innovation_var)


def test_sum_of_models(cupy, rng):
    y, params = data(rng, S=4, T=12, p=1), (np.array(0.05), np.array([0.6]), np.array(0.5))

    def function(y, *params):
        return np.sum(statespace.loglikelihood(y, *build(*params)))

    both = ld.value_and_grad(function, argnums=(1, 2, 3))
    value, gradient = both(*on_device(cupy, [y, *params]))
    expected = both(y, *params)
    assert_equal(value, expected[0])
    assert_equal(gradient, expected[1])


def test_fit(cupy, rng):
    y = np.cumsum(rng.standard_normal((3, 30, 1)), axis=1) + rng.standard_normal((3, 30, 1))
    positive = statespace.positive
    options = {"transforms": {"level_var": positive, "obs_var": positive}, "progress": False}
    expected = statespace.fit(statespace.local_level, y, {"level_var": 0.5, "obs_var": 0.5}, **options)
    start = {"level_var": 0.5, "obs_var": cupy.asarray(0.5)}
    found = statespace.fit(statespace.local_level, cupy.asarray(y), start, **options)
    np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-4)
    for name, x in expected.params.items():
        np.testing.assert_allclose(found.params[name], x, rtol=1e-5)
        np.testing.assert_allclose(found.standard_errors[name], expected.standard_errors[name], rtol=1e-4)
    assert isinstance(found.model.transition, cupy.ndarray)
    assert statespace.kalman_smoother(cupy.asarray(y), *found.model).smoothed_state.shape == (3, 30, 1)


# -- what does not fit -------------------------------------------------------------------------------------


def test_mixtures_are_refused(cupy, args):
    device = on_device(cupy, args)
    with pytest.raises(
        TypeError, match=r"loglikelihood: state_cov is a numpy.ndarray and y a .*ndarray; give"
    ):
        statespace.loglikelihood(*device[:3], *args[3:])
    with pytest.raises(TypeError, match=r"y a numpy.ndarray"):
        statespace.loglikelihood(args[0], *device[1:])
    with pytest.raises(TypeError, match=r"Model \+ Model: transition is a .*ndarray in one"):
        statespace.local_level(0.5) + statespace.local_level(cupy.asarray(0.5))


BAD = {
    "y holds infinite": (0, lambda x: x.fill(np.inf)),
    "transition holds NaN": (1, lambda x: x.fill(np.nan)),
    "state_cov of shape .* is not symmetric": (3, lambda x: x.__setitem__((0, 1), 5)),
    "obs_cov of shape .* has a negative variance": (4, lambda x: x.__setitem__((0, 0), -1)),
    "indefinite: it has a correlation": (6, lambda x: x.fill(1) or x.__setitem__((0, 0), 0.5)),
}


@pytest.mark.parametrize("message", BAD)
def test_numbers_are_checked(cupy, args, message):
    place, spoil = BAD[message]
    spoil(args[place])
    with pytest.raises(ValueError, match=message):
        statespace.loglikelihood(*on_device(cupy, args))


def test_undetermined_diffuse_states(cupy, args):
    args[0][1] = np.nan
    with pytest.raises(ValueError, match="the data of series 1 never determine the 2 diffuse states"):
        statespace.loglikelihood(*on_device(cupy, args), diffuse=True)


def test_host_waits_twice(standin, args):
    """For the checks of all arrays, and for failures of the filter; not for gradients."""
    device = on_device(standin, args)
    before = Device.synchronizations
    ld.value_and_grad(weighted(), argnums=ALL)(*device)
    assert Device.synchronizations == before + 2


@pytest.mark.parametrize("diffuse", [None, True])
def test_host_never_waits_unchecked(standin, args, diffuse):
    from lindiff_cuda import unchecked

    device, function = on_device(standin, args), weighted(diffuse)
    before = Device.synchronizations
    with unchecked():
        value, gradient = ld.value_and_grad(function, argnums=ALL)(*device)
    assert Device.synchronizations == before
    assert_equal(value, function(*args))
    assert_equal(gradient, ld.grad(function, argnums=ALL)(*args), 1e-9)


@pytest.mark.parametrize("kind", ["extended", "unscented"])
def test_nonlinear_models(cupy, rng, kind):
    y = rng.standard_normal((6, 2))
    y[2, 0] = np.nan
    arrays = [y, 0.1 * np.eye(2), 0.2 * np.eye(2), np.zeros(2), np.eye(2), np.array([0.5, 0.3])]
    functions = (lambda x, a: np.sin(a * x)), (lambda x, a: x + 0.1 * x**2)
    loglikelihood = getattr(statespace, f"{kind}_loglikelihood")
    states = getattr(statespace, f"{kind}_filter")

    def of_arrays(y, *covs_and_start):
        *matrices, a = covs_and_start
        return loglikelihood(y, *functions, *matrices, (a,))

    both, device = ld.value_and_grad(of_arrays, argnums=(1, 5)), on_device(cupy, arrays)
    for x, expected in zip(both(*device), both(*arrays), strict=True):
        assert_equal(x, expected)
    found = states(device[0], *functions, *device[1:5], (device[5],))
    for x, expected in zip(found, states(y, *functions, *arrays[1:5], (arrays[5],)), strict=True):
        assert_equal(x, expected)
