"""State-space models: negative log likelihoods and their gradients, in six parameter blocks or more.

lindiff runs `lindiff.statespace`, and the plain NumPy filter of `kalman`; the others what they have:
statsmodels its compiled filter (values only), dynamax its own, JAX and PyTorch the filter of `kalman`.  A
gradient is that of all arguments, unless its name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import kalman
from .harness import Case, Ratio
from .peers import JAX, Calls, Dynamax, Lindiff, NumPy, Peer, Statsmodels, Torch

TITLE = "State-space models: log likelihood and gradient"
PEERS = ("numpy", "lindiff", "statsmodels", "dynamax", "jax", "torch")

SMALL = "T=1000, 4 states, 2 observed"
SMOOTHED = "smoothed moments, T=1000, 4 states, 2 observed"
STATES = "T=200, n states, n/5 observed"
SERIES = "1000 series, T=100, 10 states, 2 observed"
FACTORS = "dynamic factor, 20 series, T=500, 240 parameters"
STEADY = "T=n, 30 states, 6 observed: time per step"
LONG = "T=10000, 30 states, 6 observed, no steady state"
ONE_STEP = "T=1, 4 states, 2 observed"
SARIMA = "SARIMA (1,1,1)(1,1,1) of period n, T=300"
MANY_LAGS = "SARIMA (6,0,6)(2,1,2) of period n, T=500"
DAILY = "SARIMA (5,1,2)(0,1,0) of period n, T=900"
MONTHS = "trend and season of n months, T=300"

VALUE, GRADIENT = "value", "value + gradient"
PLAIN = f"{GRADIENT}, plain NumPy filter"
COMPOSED = f"{GRADIENT}, composed"
NO_STEADY = ", no steady state"
BUILT = ", with the model built"
ONE_BY_ONE = ", one by one"
OF_ONE = ", of one series"
PRODUCTS = ", the data's products alone"
CHECKPOINT = ", checkpoint"
SOME = "value + gradient without transition"

Arrays = list[np.ndarray]


# -- models and data ---------------------------------------------------------------------------------------


def small_system() -> tuple[Arrays, np.ndarray]:
    """The model of `kalman`, and data simulated from it."""
    args = kalman.parameters()
    return args, kalman.simulate(*args)


def system(n: int, p: int, *shape: int) -> tuple[Arrays, np.ndarray]:
    """A stable model of n states, p of their mixtures observed, and data (*shape, p).

    No time depends on the data, so they are white noise.
    """
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.standard_normal((n, n)))
    design = rng.standard_normal((p, n)) / np.sqrt(n)
    covs = [kalman.covariance(rng, size) for size in (n, p, n)]
    args = [0.95 * rotation, design, covs[0], covs[1], rng.standard_normal(n), covs[2]]
    return args, rng.standard_normal((*shape, p))


# -- one likelihood in each library ------------------------------------------------------------------------


def of_lindiff(peer: Lindiff, y: np.ndarray, **options: Any) -> Callable[..., Any]:
    def negative(*args: Any) -> Any:
        return -np.sum(peer.ld.statespace.loglikelihood(y, *args, **options))

    return negative


def of_statsmodels(peer: Statsmodels, y: np.ndarray, args: Arrays, **options: Any) -> Callable[[], Any]:
    """The likelihood of a filter that has model and data already."""
    transition, design, state_cov, obs_cov, mean, cov = args
    p, n = design.shape
    bound = peer.kalman_filter.KalmanFilter(p, n, n, **options)
    bound.bind(np.array(y))
    bound["transition"], bound["design"], bound["selection"] = transition, design, np.eye(n)
    bound["state_cov"], bound["obs_cov"] = state_cov, obs_cov
    bound.initialize_known(mean, cov)
    return lambda: -bound.loglike()


def of_dynamax(peer: Dynamax, y: Any) -> Callable[..., Any]:
    def negative(transition, design, state_cov, obs_cov, mean, cov):
        inference = peer.inference
        params = inference.make_lgssm_params(mean, cov, transition, state_cov, design, obs_cov)
        return -inference.lgssm_filter(params, y).marginal_loglik

    return negative


def of_peer(peer: Peer, y: np.ndarray) -> Callable[..., Any]:
    """The likelihood as a function of the six blocks, in a library that has gradients, or NumPy."""
    if isinstance(peer, Lindiff):
        return of_lindiff(peer, y)
    if isinstance(peer, Dynamax):
        return of_dynamax(peer, peer.asarray(y))
    if isinstance(peer, JAX):
        return partial(kalman.scanned, observations=peer.asarray(y), peer=peer)
    return partial(kalman.negative_log_likelihood, observations=peer.asarray(y), xp=peer.xp)


def calls_of(peer: Peer, args: Arrays, y: np.ndarray) -> Calls:
    """Value and gradient of one series."""
    if isinstance(peer, Statsmodels):
        calls = peer.gradient_calls(of_statsmodels(peer, y, args), [])
        calls.timed[VALUE + NO_STEADY] = of_statsmodels(peer, y, args, tolerance=0)
        return calls
    negative = of_peer(peer, y)
    args = [peer.asarray(arg) for arg in args]
    calls = peer.gradient_calls(negative, args).symmetrize(*kalman.COVARIANCES)
    if isinstance(peer, Lindiff):
        stepping = of_lindiff(peer, y, steady_tol=0)
        calls.timed[VALUE] = partial(negative, *args)
        calls.timed[VALUE + NO_STEADY] = partial(stepping, *args)
        calls.timed[GRADIENT + NO_STEADY] = peer.gradient_once(stepping, args)
    return calls


# -- the families ------------------------------------------------------------------------------------------


def small(peer: Peer, size: None) -> Calls:
    args, y = small_system()
    calls = calls_of(peer, args, y)
    if isinstance(peer, Lindiff):
        plain = partial(kalman.negative_log_likelihood, observations=y)
        calls.timed[PLAIN] = peer.gradient_once(plain, args)
        calls.timed[COMPOSED] = peer.gradient_once(of_lindiff(peer, y, method="composed"), args)
    return calls


def smoothed(peer: Peer, size: None) -> Calls | None:
    """A weighted sum of all smoothed means and covariances."""
    args, y = small_system()
    rng = np.random.default_rng(0)
    states, covs = rng.standard_normal((len(y), 4)), rng.standard_normal((len(y), 4, 4))

    def weighted(of_arguments: Callable[..., Any]) -> Callable[..., Any]:
        def total(*args: Any) -> Any:
            means, found = of_arguments(*args)
            return (peer.asarray(states) * means).sum() + (peer.asarray(covs) * found).sum()

        return total

    if isinstance(peer, Dynamax):
        return peer.gradient_calls(
            weighted(partial(smoothed_of_dynamax, peer, peer.asarray(y))), [peer.asarray(x) for x in args]
        ).symmetrize(*kalman.COVARIANCES)
    if not isinstance(peer, Lindiff):
        return None

    def smoother(*args: Any, **options: Any) -> Any:
        return peer.ld.statespace.kalman_smoother(y, *args, **options)[1:]

    calls = peer.gradient_calls(weighted(smoother), args).symmetrize(*kalman.COVARIANCES)
    calls.timed[VALUE] = partial(weighted(smoother), *args)
    calls.timed[COMPOSED] = peer.gradient_once(weighted(partial(smoother, method="composed")), args)
    return calls


def smoothed_of_dynamax(peer: Dynamax, y: Any, *args: Any) -> tuple[Any, Any]:
    transition, design, state_cov, obs_cov, mean, cov = args
    params = peer.inference.make_lgssm_params(mean, cov, transition, state_cov, design, obs_cov)
    found = peer.inference.lgssm_smoother(params, y)
    return found.smoothed_means, found.smoothed_covariances


def states(peer: Peer, size: int) -> Calls | None:
    if not isinstance(peer, Lindiff | Statsmodels):
        return None
    args, y = system(size, size // 5, 200)
    calls = calls_of(peer, args, y)
    if isinstance(peer, Lindiff):
        transition, *others = args
        stepping = of_lindiff(peer, y, steady_tol=0)
        calls.timed[SOME + NO_STEADY] = peer.gradient_once(partial(stepping, transition), others)
    return calls


def series(peer: Peer, size: None) -> Calls | None:
    args, y = system(10, 2, 1000, 100)
    if isinstance(peer, Statsmodels):
        filters = [of_statsmodels(peer, one, args) for one in y]
        return Calls({VALUE + ONE_BY_ONE: lambda: sum(negative() for negative in filters)})
    if isinstance(peer, Lindiff):
        return series_of_lindiff(peer, args, y)
    if isinstance(peer, JAX) and not isinstance(peer, Dynamax):
        one = partial(kalman.scanned, peer=peer)
        every = peer.jax.vmap(lambda observations, *args: one(*args, observations), (0, *[None] * 6))
        data = peer.asarray(y)
        arrays = [peer.asarray(arg) for arg in args]
        calls = peer.gradient_calls(lambda *args: every(data, *args).sum(), arrays)
        return calls.symmetrize(*kalman.COVARIANCES)
    if isinstance(peer, NumPy):
        forward, both = data_products(args, y)
        return Calls({VALUE + PRODUCTS: forward, GRADIENT + PRODUCTS: both})
    return None


def series_of_lindiff(peer: Lindiff, args: Arrays, y: np.ndarray) -> Calls:
    every = of_lindiff(peer, y)
    single = [of_lindiff(peer, one) for one in y]
    gradients = [peer.gradient_once(one, args) for one in single]
    calls = peer.gradient_calls(every, args).symmetrize(*kalman.COVARIANCES)
    calls.timed |= {
        VALUE: partial(every, *args),
        VALUE + OF_ONE: partial(single[0], *args),
        GRADIENT + OF_ONE: gradients[0],
        VALUE + ONE_BY_ONE: lambda: [one(*args) for one in single],
        GRADIENT + ONE_BY_ONE: lambda: [gradient() for gradient in gradients],
    }
    return calls


def data_products(args: Arrays, y: np.ndarray) -> tuple[Callable[[], None], Callable[[], None]]:
    """What no method saves: the products of each step's matrices with the data of all series, in NumPy.

    For the value B m, S⁻¹ v, K v and A m; for the gradient also Aᵀr, P u, Kᵀu, Bᵀe and the sums over series
    of r Mᵀ, e Mᵀ, r rᵀ and e eᵀ.
    """
    A, B, P, S, _, _ = args
    m, v = np.zeros((A.shape[0], len(y))), np.ascontiguousarray(y[:, 0].T)
    K = np.ascontiguousarray(B.T)

    def forward() -> None:
        for _ in range(y.shape[1]):
            for X, x in ((B, m), (S, v), (K, v), (A, m)):
                X @ x

    def both() -> None:
        forward()
        for _ in range(y.shape[1]):
            for X, x in ((A.T, m), (P, m), (K.T, m), (B.T, v), (m, m.T), (v, m.T), (m, m.T), (v, v.T)):
                X @ x

    return forward, both


def factors(peer: Peer, size: None) -> Calls | None:
    if isinstance(peer, Lindiff):
        return factors_of_lindiff(peer)
    if isinstance(peer, Statsmodels):
        return factors_of_statsmodels(peer)
    return None


P, K, ORDER = 20, 5, 4
FIT_ITERATIONS = 10


def factor_parameters() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((P, K))
    factor_ar = 0.08 * rng.standard_normal((ORDER, K, K))
    factor_ar[0] += np.diag(np.linspace(0.3, 0.7, K))
    return {
        "loadings": loadings,
        "obs_var": rng.uniform(0.5, 1.0, P),
        "factor_ar": factor_ar,
        "error_ar": rng.uniform(0.0, 0.5, P),
    }


def factor_data(parameters: dict[str, np.ndarray], steps: int = 500, burn: int = 200) -> np.ndarray:
    """Simulated observations of 20 series."""
    rng = np.random.default_rng(1)
    f, u = np.zeros((steps + burn, K)), np.zeros((steps + burn, P))
    noise = rng.standard_normal(u.shape) * np.sqrt(parameters["obs_var"])
    for t in range(ORDER, steps + burn):
        f[t] = rng.standard_normal(K) + sum(
            A @ f[t - lag] for lag, A in enumerate(parameters["factor_ar"], start=1)
        )
        u[t] = parameters["error_ar"] * u[t - 1] + noise[t]
    return (f @ parameters["loadings"].T + u)[burn:]


def factor_start(y: np.ndarray) -> dict[str, np.ndarray]:
    """Where both searches begin: principal components, and first-order factors of correlation one half."""
    cov = np.cov(y.T)
    values, vectors = np.linalg.eigh(cov)
    loadings = vectors[:, -K:] * np.sqrt(values[-K:] - values[:-K].mean())
    factor_ar = np.zeros((ORDER, K, K))
    factor_ar[0] = 0.5 * np.eye(K)
    return {
        "loadings": loadings * np.sqrt(0.75),
        "obs_var": np.maximum(np.diag(cov) - np.sum(loadings**2, axis=1), 0.1 * np.diag(cov)),
        "factor_ar": factor_ar,
        "error_ar": np.zeros(P),
    }


def factors_of_lindiff(peer: Lindiff) -> Calls:
    statespace = peer.ld.statespace
    parameters = factor_parameters()
    y = factor_data(parameters)
    args = [parameters[name] for name in ("loadings", "factor_ar", "obs_var", "error_ar")]

    def negative(*args: Any) -> Any:
        return -statespace.loglikelihood(y, *statespace.dynamic_factor(*args))

    def fitted(**options: Any) -> dict[str, float]:
        found = statespace.fit(
            statespace.dynamic_factor,
            y,
            factor_start(y),
            transforms={
                "obs_var": statespace.positive,
                "error_ar": statespace.Transform(np.tanh, np.arctanh),
            },
            method="L-BFGS-B",
            options=options,
            progress=False,
            standard_errors=False,
        )
        return {"iterations": found.search.nit, "minus log likelihood": -found.loglikelihood}

    calls = peer.gradient_calls(negative, args)
    calls.timed[VALUE] = partial(negative, *args)
    calls.once = {
        f"fit, {FIT_ITERATIONS} iterations": partial(fitted, maxiter=FIT_ITERATIONS),
        "fit": partial(fitted, maxiter=1000),
    }
    return calls


def factors_of_statsmodels(peer: Statsmodels) -> Calls:
    """Its own class with its own start from the stationary distribution, on the same parameters."""
    parameters = factor_parameters()
    y = factor_data(parameters)
    model = peer.dynamic_factor.DynamicFactor(y, k_factors=K, factor_order=ORDER, error_order=1)

    def vector(of: dict[str, np.ndarray]) -> np.ndarray:
        rows = np.concatenate(list(of["factor_ar"]), axis=1)
        return np.concatenate([np.ravel(x) for x in (of["loadings"], of["obs_var"], rows, of["error_ar"])])

    def fitted() -> dict[str, float]:
        start = vector(factor_start(y))
        found = model.fit(start, maxiter=FIT_ITERATIONS, disp=False, cov_type="none", warn_convergence=False)
        return {"iterations": found.mle_retvals["iterations"], "minus log likelihood": -found.llf}

    calls = peer.gradient_calls(lambda: -model.loglike(vector(parameters)), [])
    calls.once = {f"fit, {FIT_ITERATIONS} iterations": fitted}
    return calls


def steady(peer: Peer, size: int) -> Calls | None:
    if not isinstance(peer, Lindiff | Statsmodels):
        return None
    calls = calls_of(peer, *system(30, 6, size))
    calls.operations = size
    if size > 1000:
        calls.timed = {name: call for name, call in calls.timed.items() if NO_STEADY not in name}
    return calls


def long(peer: Peer, size: None) -> Calls | None:
    if not isinstance(peer, Lindiff):
        return None
    args, y = system(30, 6, 10_000)
    stepping = of_lindiff(peer, y, steady_tol=0)
    saving = of_lindiff(peer, y, steady_tol=0, checkpoint=True)
    return Calls(
        {
            VALUE: partial(stepping, *args),
            GRADIENT: peer.gradient_once(stepping, args),
            GRADIENT + CHECKPOINT: peer.gradient_once(saving, args),
        }
    )


def one_step(peer: Peer, size: None) -> Calls | None:
    """What a call costs before its sweep."""
    if not isinstance(peer, Lindiff | Statsmodels):
        return None
    args, y = small_system()
    return calls_of(peer, args, y[:1])


# (p, d, q), (P, D, Q) and T
ORDERS = {
    SARIMA: ((1, 1, 1), (1, 1, 1), 300),
    MANY_LAGS: ((6, 0, 6), (2, 1, 2), 500),
    DAILY: ((5, 1, 2), (0, 1, 0), 900),
}


def seasonal_data(steps: int, period: int) -> np.ndarray:
    """A random walk, a wave and noise."""
    rng = np.random.default_rng(0)
    wave = 3 * np.sin(2 * np.pi * np.arange(steps) / period)
    return 0.2 * np.cumsum(rng.standard_normal(steps)) + wave + 0.5 * rng.standard_normal(steps)


def seasonal_arima(peer: Peer, size: int, *, family: str) -> Calls | None:
    """The likelihood from parameters of size 0.5 at the most; statsmodels starts with large variances."""
    (p, d, q), (P, D, Q), steps = ORDERS[family]
    rng, y = np.random.default_rng(1), seasonal_data(steps, size)
    ar, ma, seasonal_ar, seasonal_ma = (rng.uniform(-0.5, 0.5, k) / max(k, 1) for k in (p, q, P, Q))
    if isinstance(peer, Statsmodels):
        model = peer.sarimax.SARIMAX(y, order=(p, d, q), seasonal_order=(P, D, Q, size))
        return with_parameters(model, np.concatenate([ar, ma, seasonal_ar, seasonal_ma, [1.0]]))
    if not isinstance(peer, Lindiff):
        return None

    def build(ar: Any, ma: Any, seasonal_ar: Any, seasonal_ma: Any, innovation_var: Any) -> Any:
        return peer.ld.statespace.sarima(
            ar,
            ma,
            innovation_var,
            difference=d,
            period=size,
            seasonal_ar=seasonal_ar,
            seasonal_ma=seasonal_ma,
            seasonal_difference=D,
        )

    return with_builder(peer, y, build, [ar, ma, seasonal_ar, seasonal_ma, np.array(1.0)])


def months(peer: Peer, size: int) -> Calls | None:
    y, variances = seasonal_data(300, size), [0.5, 0.01, 0.1, 1.0]
    if isinstance(peer, Statsmodels):
        model = peer.structural.UnobservedComponents(y, "lltrend", seasonal=size)
        return with_parameters(model, np.array([variances[-1], *variances[:-1]]))
    if not isinstance(peer, Lindiff):
        return None

    def build(level_var: Any, slope_var: Any, seasonal_var: Any, obs_var: Any) -> Any:
        trend = peer.ld.statespace.local_linear_trend(level_var, slope_var)
        return trend + peer.ld.statespace.seasonal(size, seasonal_var, obs_var=obs_var)

    return with_builder(peer, y, build, [np.array(x) for x in variances])


def with_builder(peer: Lindiff, y: np.ndarray, build: Callable[..., Any], args: Arrays) -> Calls:
    """The likelihood of a model that is there already, by its matrices, and of its parameters, as fits do."""
    statespace, model = peer.ld.statespace, build(*args)
    negative = lambda *args: -statespace.loglikelihood(y, build(*args))
    calls = Calls(
        {VALUE: lambda: -statespace.loglikelihood(y, *model), VALUE + BUILT: partial(negative, *args)}
    )
    calls.timed[GRADIENT] = partial(
        peer.ld.value_and_grad(lambda model: -statespace.loglikelihood(y, *model)), model
    )
    calls.timed[GRADIENT + BUILT] = peer.gradient_once(negative, args)
    return calls


def with_parameters(model: Any, parameters: np.ndarray) -> Calls:
    """The same of a model of statsmodels."""
    model.update(parameters)
    return Calls({VALUE: lambda: -model.ssm.loglike(), VALUE + BUILT: lambda: -model.loglike(parameters)})


SEASONAL = {family: partial(seasonal_arima, family=family) for family in ORDERS} | {MONTHS: months}
FAMILIES = {
    ONE_STEP: one_step,
    **SEASONAL,
    SMALL: small,
    SMOOTHED: smoothed,
    STATES: states,
    SERIES: series,
    FACTORS: factors,
    STEADY: steady,
    LONG: long,
}
SIZES = {
    STATES: (10, 30, 100),
    STEADY: (1_000, 10_000, 100_000),
    SARIMA: (4, 12, 24),
    MANY_LAGS: (24,),
    DAILY: (365,),
    MONTHS: (12,),
}


def cases() -> list[Case]:
    return [Case(family, size) for family in FAMILIES for size in SIZES.get(family, (None,))]


def prepare(peer: Peer, case: Case) -> Calls | None:
    return FAMILIES[case.family](peer, case.size)


def memory_cases() -> list[Case]:
    return [Case(LONG), Case(LONG + CHECKPOINT)]


def memory_call(peer: Peer, case: Case) -> Callable[[], Any] | None:
    """Give value and gradient at full size, after a small run has loaded and started all that stays."""
    checkpoint = case.family.endswith(CHECKPOINT)
    if isinstance(peer, Dynamax | Torch | NumPy) or (checkpoint and not isinstance(peer, Lindiff)):
        return None
    options = {"steady_tol": 0, "checkpoint": checkpoint}

    def gradient(n: int, p: int, steps: int) -> Callable[[], Any]:
        args, y = system(n, p, steps)
        negative = of_lindiff(peer, y, **options) if isinstance(peer, Lindiff) else of_peer(peer, y)
        return peer.gradient_once(negative, [peer.asarray(arg) for arg in args])

    gradient(3, 2, 10)()
    return gradient(30, 6, 10_000)


# -- what the suite is about -------------------------------------------------------------------------------


def _ratios() -> list[Ratio]:
    mine, gradient = (SMALL, "lindiff", VALUE), (SMALL, "lindiff", GRADIENT)
    theirs = SMALL, "statsmodels", VALUE
    found = [
        Ratio("statsmodels' value / value", theirs, (mine,), goal="at least 3"),
        Ratio("the same, no steady state", (SMALL, "statsmodels", VALUE + NO_STEADY),
              ((SMALL, "lindiff", VALUE + NO_STEADY),)),
        Ratio("statsmodels' value / value and gradient", theirs, (gradient,), goal="at least 1"),
        Ratio("the same, no steady state", (SMALL, "statsmodels", VALUE + NO_STEADY),
              ((SMALL, "lindiff", GRADIENT + NO_STEADY),)),
        Ratio("JAX's value and gradient / value and gradient", (SMALL, "jax", GRADIENT), (gradient,),
              goal="at least 15"),
        Ratio("dynamax's value and gradient / value and gradient", (SMALL, "dynamax", GRADIENT), (gradient,)),
        Ratio("PyTorch's value and gradient / value and gradient", (SMALL, "torch", GRADIENT), (gradient,)),
        Ratio("plain NumPy filter under value_and_grad / value and gradient", (SMALL, "lindiff", PLAIN),
              (gradient,)),
        Ratio("composed value and gradient / value and gradient", (SMALL, "lindiff", COMPOSED),
              (gradient,)),
    ]  # fmt: skip
    mine = SMOOTHED, "lindiff", GRADIENT
    found += [
        Ratio("smoothed moments: value and gradient / value", mine, ((SMOOTHED, "lindiff", VALUE),)),
        Ratio("smoothed moments: composed value and gradient / value and gradient",
              (SMOOTHED, "lindiff", COMPOSED), (mine,)),
        Ratio("smoothed moments: dynamax's value and gradient / value and gradient",
              (SMOOTHED, "dynamax", GRADIENT), (mine,)),
    ]  # fmt: skip
    found.append(
        Ratio("one step: statsmodels' value / value", (ONE_STEP, "statsmodels", VALUE),
              ((ONE_STEP, "lindiff", VALUE),))
    )  # fmt: skip
    for family in SEASONAL:
        for n in SIZES[family]:
            case = str(Case(family, n))
            value, theirs = (case, "lindiff", VALUE), (case, "statsmodels", VALUE)
            found += [
                Ratio(f"{case}: statsmodels' value / value", theirs, (value,), goal="at least 1"),
                Ratio(f"{case}: the same, with the model built", (case, "statsmodels", VALUE + BUILT),
                      ((case, "lindiff", VALUE + BUILT),)),
                Ratio(f"{case}: value and gradient of all arrays / value",
                      (case, "lindiff", GRADIENT), (value,)),
                Ratio(f"{case}: the same, by parameters", (case, "lindiff", GRADIENT + BUILT),
                      ((case, "lindiff", VALUE + BUILT),), goal="at most 2.5"),
            ]  # fmt: skip
    for n in SIZES[STATES]:
        case = str(Case(STATES, n))
        for steady_state in ("", NO_STEADY):
            value = case, "lindiff", VALUE + steady_state
            theirs = case, "statsmodels", VALUE + steady_state
            found += [
                Ratio(f"n = {n}{steady_state}: statsmodels' value / value", theirs, (value,),
                      goal="at least 1"),
                Ratio(f"n = {n}{steady_state}: value and gradient / value",
                      (case, "lindiff", GRADIENT + steady_state), (value,),
                      goal="at most 2.5" if steady_state else ""),
            ]  # fmt: skip
        found.append(
            Ratio(f"n = {n}, no steady state: the same without transition",
                  (case, "lindiff", SOME + NO_STEADY), ((case, "lindiff", VALUE + NO_STEADY),))
        )  # fmt: skip
    for quantity in (VALUE, GRADIENT):
        every = SERIES, "lindiff", quantity
        least = (SERIES, "lindiff", quantity + OF_ONE), (SERIES, "numpy", quantity + PRODUCTS)
        found += [
            Ratio(f"1000 series: {quantity} / (one series + the data's products)", every, least,
                  goal="at most 3"),
            Ratio(f"1000 series: {quantity}, one by one / at once",
                  (SERIES, "lindiff", quantity + ONE_BY_ONE), (every,), goal="at least 50"),
            Ratio(f"1000 series: JAX's {quantity} under vmap / {quantity}", (SERIES, "jax", quantity),
                  (every,)),
        ]  # fmt: skip
    value, gradient = (FACTORS, "lindiff", VALUE), (FACTORS, "lindiff", GRADIENT)
    theirs = FACTORS, "statsmodels", VALUE
    fit = f"fit, {FIT_ITERATIONS} iterations"
    found += [
        Ratio("1000 series: statsmodels' value one by one / value",
              (SERIES, "statsmodels", VALUE + ONE_BY_ONE), ((SERIES, "lindiff", VALUE),)),
        Ratio("240 parameters: statsmodels' value / value", theirs, (value,)),
        Ratio("240 parameters: 241 values of statsmodels, its gradient / value and gradient", theirs,
              (gradient,), times=241, goal="at least 50"),
        Ratio(f"240 parameters: statsmodels' fit / fit, both of {FIT_ITERATIONS} iterations",
              (FACTORS, "statsmodels", fit), ((FACTORS, "lindiff", fit),)),
        Ratio(f"240 parameters: {FIT_ITERATIONS} iterations of statsmodels / fit to convergence",
              (FACTORS, "statsmodels", fit), ((FACTORS, "lindiff", "fit"),)),
    ]  # fmt: skip
    first, last = (str(Case(STEADY, SIZES[STEADY][i])) for i in (0, -1))
    for quantity in (VALUE, GRADIENT):
        found.append(
            Ratio(f"steady state: {quantity} per step without / with, at T = 100 000",
                  (first, "lindiff", quantity + NO_STEADY), ((last, "lindiff", quantity),))
        )  # fmt: skip
    found.append(
        Ratio("T = 10 000, no steady state: value and gradient with / without checkpoint",
              (LONG, "lindiff", GRADIENT + CHECKPOINT), ((LONG, "lindiff", GRADIENT),))
    )  # fmt: skip
    return found


RATIOS = _ratios()
