"""``lindiff.scipy.stats``: edges of supports, parameters, frozen distributions, what is refused.

Values and derivatives inside supports are in table_stats.py.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from table_stats import CONTINUOUS, DENSITY_ALONE, DISCRETE

import lindiff as ld
from lindiff.scipy import stats
from lindiff.testing import check_grads

POINTS = np.array([-2.0, 0.3, 1.0, 1.7, 2.5, np.nan])  # with loc 0.3 and scale 1.4: ends of supports
FUNCTIONS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]


def distributions(names):
    for name, shapes in names.items():
        for method in FUNCTIONS:
            if hasattr(getattr(stats, name), "_cdf") or "pdf" in method:
                yield name, shapes, method.replace("pdf", "pmf") if names is DISCRETE else method


@pytest.mark.parametrize(("name", "shapes", "method"), list(distributions(CONTINUOUS)))
def test_outside_of_the_support(name, shapes, method):
    """SciPy's values there, and derivatives that are finite: zero where the value is constant."""
    call = getattr(getattr(stats, name), method)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = getattr(getattr(scipy.stats, name), method)(POINTS, *shapes, 0.3, 1.4)
    got, pullback = ld.vjp(lambda x, loc, scale: call(x, *shapes, loc, scale), POINTS, 0.3, 1.4)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)
    x_bar = pullback(np.where(POINTS < 0.3, 1.0, 0.0))[0]
    if np.isfinite(getattr(stats, name).support(*shapes)[0]):
        np.testing.assert_array_equal(x_bar, 0.0)
    assert np.all(np.isfinite(x_bar))


@pytest.mark.parametrize(("name", "shapes", "method"), list(distributions(CONTINUOUS)))
def test_at_infinity_are_the_limits(name, shapes, method):
    call = getattr(getattr(stats, name), method)
    got, pullback = ld.vjp(lambda scale: call([-np.inf, np.inf], *shapes, 0.0, scale), 1.5)
    below = {"pdf": 0, "logpdf": -np.inf, "cdf": 0, "logcdf": -np.inf, "sf": 1, "logsf": 0}[method]
    above = {"pdf": 0, "logpdf": -np.inf, "cdf": 1, "logcdf": 0, "sf": 0, "logsf": -np.inf}[method]
    np.testing.assert_array_equal(got, [below, above])
    assert pullback(np.ones(2)) == (0.0,)


@pytest.mark.parametrize(("name", "shapes", "method"), list(distributions(DISCRETE)))
def test_outside_of_the_counts(name, shapes, method):
    k = np.array([-1.0, 0.0, 0.5, 1.0, 3.0, 7.0, np.nan])
    *constants, p = shapes
    call = getattr(getattr(stats, name), method)
    with np.errstate(divide="ignore"):
        expected = getattr(getattr(scipy.stats, name), method)(k, *shapes)
        located = getattr(getattr(scipy.stats, name), method)(k + 2, *shapes, 2)
    np.testing.assert_array_equal(expected, located)
    got, pullback = ld.vjp(lambda p: call(k, *constants, p), p)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_allclose(
        ld.vjp(lambda p: call(k + 2, *constants, p, loc=2), p)[0], expected, rtol=1e-12
    )
    assert np.isfinite(pullback(np.where(np.isfinite(expected), 1.0, 0.0))[0])


@pytest.mark.parametrize("name", sorted(CONTINUOUS))
def test_parameters_outside_of_their_domain(name):
    shapes = CONTINUOUS[name]
    d = getattr(stats, name)
    scale = np.array([1.0, 0.0, -1.0])
    with np.errstate(divide="ignore"):
        expected = getattr(scipy.stats, name).logpdf(1.2, *shapes, 0.0, scale)
    got, pullback = ld.vjp(lambda scale: d.logpdf(1.2, *shapes, 0.0, scale), scale)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(pullback(np.ones(3))[0]), [False, True, True])
    np.testing.assert_array_equal(pullback(np.array([0.0, 0.0, 1.0]))[0][:2], 0)
    tangent = ld.jvp(lambda scale: d.logpdf(1.2, *shapes, 0.0, scale), (scale,), (np.ones(3),))[1]
    np.testing.assert_array_equal(np.isnan(tangent), [False, True, True])
    hidden = ld.grad(lambda s: np.sum(np.where(s > 0, d.logpdf(1.2, *shapes, 0.0, s), 0.0)))(scale)
    np.testing.assert_array_equal(hidden[1:], 0)
    if shapes and name not in ("skewnorm", "genextreme", "truncnorm"):
        bad = np.array([shapes[0], -1.0])
        got, pullback = ld.vjp(lambda s: d.logpdf(1.2, s, *shapes[1:], scale=2.0), bad)
        np.testing.assert_array_equal(np.isnan(got), [False, True])
        np.testing.assert_array_equal(np.isnan(pullback(np.ones(2))[0]), [False, True])


@pytest.mark.parametrize(("name", "shapes"), CONTINUOUS.items())
def test_edges_of_probabilities(name, shapes):
    if name in DENSITY_ALONE:
        return
    q = np.array([-0.1, 0.0, 0.5, 1.0, 1.1, np.nan])
    for method in ["ppf", "isf"]:
        expected = getattr(getattr(scipy.stats, name), method)(q, *shapes, 0.3, 1.4)
        got, pullback = ld.vjp(
            lambda q, loc, method=method: getattr(getattr(stats, name), method)(q, *shapes, loc, 1.4), q, 0.3
        )
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        weights = np.isfinite(expected).astype(float)
        np.testing.assert_allclose(pullback(weights)[1], weights.sum())


@pytest.mark.parametrize(
    "f",
    [
        lambda s: stats.norm.ppf(0.3, 0.0, s),
        stats.lognorm.mean,
        stats.t.var,
        stats.gamma.entropy,
        lambda s: stats.poisson.logpmf(3, s),
        lambda s: stats.binom.pmf(1, 3, s),
    ],
)
def test_where_the_result_is_nan_the_derivative_is(f):
    value, gradient = ld.value_and_grad(f)(-0.5)
    assert np.isnan(value)
    assert np.isnan(gradient)


def test_probabilities_of_counts_by_the_number_of_trials():
    by_n = special.psi(8.0) - special.psi(5.0) + np.log(0.7)
    np.testing.assert_allclose(ld.grad(lambda n: stats.binom.logpmf(3.0, n, 0.3))(7.0), by_n)
    np.testing.assert_allclose(
        ld.grad(lambda n: stats.binom.pmf(3.0, n, 0.3))(7.0), by_n * stats.binom.pmf(3.0, 7.0, 0.3)
    )
    a, b = 0.4, 1.5
    by_n = special.psi(8.0) - special.psi(5.0) + special.psi(4.0 + b) - special.psi(7.0 + a + b)
    np.testing.assert_allclose(ld.grad(lambda n: stats.betabinom.logpmf(3.0, n, a, b))(7.0), by_n)
    np.testing.assert_allclose(ld.grad(lambda n: stats.binom.mean(n, 0.3))(7.0), 0.3)
    np.testing.assert_allclose(ld.grad(lambda n: stats.binom.var(n, 0.3))(7.0), 0.21)
    with pytest.raises(TypeError, match=r"no derivative with respect to n .* ld\.value\(n\)"):
        ld.grad(lambda n: stats.binom.cdf(3.0, n, 0.3))(7.0)


def test_densities_where_they_are_infinite():
    for argnum, sign in enumerate((-1, -1, 1)):
        value, gradient = ld.value_and_grad(stats.beta.pdf, argnum)(0.0, 0.5, 0.5)
        assert value == np.inf
        assert gradient == -np.inf if sign < 0 else gradient > 1e299
    for d in (stats.gamma, stats.weibull_min, stats.chi2):
        assert ld.grad(d.pdf)(0.0, 0.5) == -np.inf


def test_cauchy_beyond_the_square_root_of_the_largest_number():
    for d, factor in ((stats.cauchy, 1), (stats.halfcauchy, 2)):
        value, gradient = ld.value_and_grad(d.logpdf)(1e160)
        np.testing.assert_allclose(value, np.log(factor / np.pi) - 320 * np.log(10), rtol=1e-15)
        np.testing.assert_allclose(gradient, -2e-160, rtol=1e-14)


@pytest.mark.parametrize("x", [1e-12, 1e-3, 0.5, 2.0, 12.0])
@pytest.mark.parametrize(
    ("logarithm", "at", "k"),
    [
        (stats.expon.logcdf, lambda x: x, 1),
        (stats.gumbel_r.logsf, lambda x: -np.log(x), -1),
        (stats.gumbel_l.logcdf, np.log, -1),
        (lambda z: stats.weibull_min.logcdf(z, 3.0), np.cbrt, 3),
        (stats.rayleigh.logcdf, lambda x: np.sqrt(2 * x), 2),
        (lambda z: stats.pareto.logcdf(z, 1e3), lambda x: np.exp(1e-3 * x), None),
        (lambda z: stats.powerlaw.logsf(z, 1e3), lambda x: np.exp(-1e-3 * x), None),
    ],
)
def test_logarithms_of_complements(logarithm, at, k, x):
    """They are log(1 - exp(-x)) of x = zᵏ, where z is log x for k = -1."""
    z = at(x)
    mp = pytest.importorskip("mpmath")
    with mp.workdps(60):
        of_x = {
            1: lambda t: t, 3: lambda t: t**3, 2: lambda t: t * t / 2,
            -1: lambda t: mp.exp(-t if logarithm == stats.gumbel_r.logsf else t),
        }.get(k, lambda t: 1000 * abs(mp.log(t)))  # fmt: skip

        def reference(t):
            return mp.log(-mp.expm1(-of_x(t)))

        value = reference(mp.mpf(float(z)))
        second = mp.diff(reference, mp.mpf(float(z)), 2, h=abs(z) * mp.mpf("1e-22"))
    np.testing.assert_allclose(ld.value(logarithm(ld.Variable(z))), float(value), rtol=1e-10)
    np.testing.assert_allclose(ld.grad(ld.grad(logarithm))(z), float(second), rtol=1e-9)


@pytest.mark.parametrize("v", [3.0, 499.0, 501.0, 1e6, 1e9])
def test_entropy_of_t(v):
    mp = pytest.importorskip("mpmath")

    def entropy(v):
        more, half = (v + 1) / 2, v / 2
        log_beta = mp.loggamma(half) + mp.loggamma(0.5) - mp.loggamma(more)
        return more * (mp.digamma(more) - mp.digamma(half)) + mp.log(v) / 2 + log_beta

    with mp.workdps(90):
        expected = [mp.diff(entropy, v, n, h=mp.mpf(v) * mp.mpf("1e-20")) for n in range(3)]
    f = stats.t.entropy
    for reference in expected:
        np.testing.assert_allclose(f(v), float(reference), rtol=1e-9)
        f = ld.grad(f)


def test_moments_that_are_infinite():
    for name, shape in [
        ("pareto", 1.5),
        ("pareto", 0.5),
        ("t", 1.5),
        ("t", 0.5),
        ("invgamma", 0.5),
        ("f", 3.0),
    ]:
        shapes = (2.0, shape) if name == "f" else (shape,)
        for moment in ["mean", "var", "std"]:
            expected = getattr(getattr(scipy.stats, name), moment)(*shapes)
            call = getattr(getattr(stats, name), moment)
            got, pullback = ld.vjp(lambda s, call=call, first=shapes[:-1]: call(*first, s), shapes[-1])
            np.testing.assert_allclose(got, expected, rtol=1e-12)
            assert np.isfinite(pullback(0.0)[0])
    assert np.isnan(ld.vjp(lambda scale: stats.cauchy.mean(0.0, scale), 1.0)[0])
    assert np.isinf(ld.vjp(lambda scale: stats.halfcauchy.var(0.0, scale), 1.0)[0])


def test_students_t_with_infinite_degrees_is_normal():
    df = np.array([3.0, np.inf])
    got, pullback = ld.vjp(lambda x: stats.t.logpdf(x, df), np.array([1.0, 1.0]))
    np.testing.assert_allclose(got, scipy.stats.t.logpdf(1.0, df), rtol=1e-12)
    np.testing.assert_allclose(pullback(np.ones(2))[0][1], -1.0)
    np.testing.assert_allclose(ld.vjp(lambda s: stats.t.var(df, 0.0, s), 2.0)[0], scipy.stats.t.var(df, 0, 2))


def test_kinks_have_derivatives_of_any_order():
    """At the mode of functions that are smooth there, although |z| is in their formulas."""
    assert ld.grad(ld.grad(stats.logistic.logpdf))(0.0) == -0.5
    assert ld.grad(stats.laplace.cdf)(0.0) == 0.5
    assert ld.grad(stats.laplace.logpdf)(0.0) == 0.0


def test_quantiles_of_cauchy_around_the_median():
    """Where a reciprocal tangent would be the difference of huge numbers."""
    q = np.array([0.5 - 1e-9, 0.5, 0.5 + 1e-9])
    for f, x in ((stats.cauchy.ppf, q), (stats.cauchy.isf, q), (stats.halfcauchy.isf, 2 * q[:2])):
        sign = 1 if f == stats.cauchy.ppf else -1
        half = 1 if f != stats.halfcauchy.isf else 0.5

        def slope(x, f=f):
            return ld.jvp(f, (x,), (np.ones_like(x),))[1]

        inside = x[x < 1]
        _, second = ld.jvp(slope, (inside,), (np.ones_like(inside),))
        expected = sign * 2 * (np.pi * half) ** 3 * (half * inside - 0.5) / half
        np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(slope(inside), sign * np.pi * half, rtol=1e-12)


def test_tails():
    """Where the probability itself would be 0, or 1, its logarithm has a derivative."""
    np.testing.assert_allclose(ld.grad(stats.norm.logcdf)(-1e4), 1e4, rtol=1e-7)
    np.testing.assert_allclose(ld.grad(stats.laplace.logcdf)(-1e4), 1.0)
    np.testing.assert_allclose(ld.grad(stats.logistic.logsf)(1e4), -1.0)
    np.testing.assert_allclose(ld.grad(stats.expon.logsf)(1e4), -1.0)
    np.testing.assert_allclose(ld.grad(stats.gumbel_r.logcdf)(-7.0), np.exp(7.0))
    logcdf, pullback = ld.vjp(lambda x: stats.gamma.logcdf(x, 2.0), 50.0)  # log1p of minus 51 exp(-50)
    np.testing.assert_allclose(logcdf, -51 * np.exp(-50.0), rtol=1e-12)
    np.testing.assert_allclose(pullback(1.0)[0], 50 * np.exp(-50.0), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "method", "args"),
    [
        ("gamma", "logcdf", (1e-60, 4.0)),
        ("gamma", "logsf", (718.0, 3.0)),
        ("chi2", "logsf", (1000.0, 3.0)),
        ("halfnorm", "logsf", (37.0,)),
        ("t", "logsf", (50.0, 1000.0)),
    ],
)
def test_second_derivatives_of_logarithms_of_tiny_probabilities(name, method, args):
    """Also of probabilities whose square is 0."""
    f = getattr(getattr(stats, name), method)
    slope = ld.grad(f)
    assert -740 < f(*args) < -350
    h = 1e-5 * args[0]
    by_differences = (slope(args[0] + h, *args[1:]) - slope(args[0] - h, *args[1:])) / (2 * h)
    np.testing.assert_allclose(ld.grad(slope)(*args), by_differences, rtol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(CONTINUOUS)),
    st.sampled_from([(), (3,), (2, 1), (0,)]),
    st.sampled_from([(), (1,), (2, 3)]),
    st.sampled_from([(), (3,), (2, 1)]),
    st.sampled_from(["logpdf", "pdf", "cdf", "sf", "ppf", "isf"]),
)
def test_shapes_are_scipys(name, x_shape, loc_shape, scale_shape, method):
    if name in DENSITY_ALONE and "pdf" not in method:
        return
    try:
        np.broadcast_shapes(x_shape, loc_shape, scale_shape)
    except ValueError:
        return
    shapes = CONTINUOUS[name]
    x, loc, scale = np.full(x_shape, 0.7), np.full(loc_shape, 0.1), np.full(scale_shape, 1.3)
    expected = getattr(getattr(scipy.stats, name), method)(x, *shapes, loc, scale)
    call = getattr(getattr(stats, name), method)
    plain = call(x, *shapes, loc, scale)
    assert type(plain) is type(expected)
    np.testing.assert_array_equal(plain, expected)
    got, pullback = ld.vjp(lambda x, loc, scale: call(x, *shapes, loc, scale), x, loc, scale)
    assert (np.shape(got), np.result_type(got)) == (np.shape(expected), np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    bars = pullback(np.ones(np.shape(got)))
    assert [np.shape(bar) for bar in bars] == [x_shape, loc_shape, scale_shape]


# -- frozen, and named parameters ------------------------------------------------------------------------


def test_frozen():
    frozen = stats.gamma(2.0, scale=3.0)
    assert frozen.logpdf(1.5) == scipy.stats.gamma(2.0, scale=3.0).logpdf(1.5)
    assert frozen.interval(0.5) == scipy.stats.gamma(2.0, scale=3.0).interval(0.5)
    assert frozen.rvs(size=3, random_state=1).shape == (3,)
    assert "gamma" in repr(frozen)
    expected = ld.grad(lambda x: stats.gamma.logpdf(x, 2.0, 0.0, 3.0))(1.5)
    assert ld.grad(frozen.logpdf)(1.5) == expected
    check_grads(lambda a, scale: stats.gamma(a, scale=scale).entropy(), (2.0, 3.0))
    check_grads(lambda a, scale: stats.gamma(a, scale=scale).median(), (2.0, 3.0), rtol=1e-6)
    assert stats.poisson(2.0).pmf(1) == scipy.stats.poisson(2.0).pmf(1)


def test_quantiles_of_counts_are_constants():
    for method in ["ppf", "isf"]:
        got, pullback = ld.vjp(lambda mu, m=method: getattr(stats.poisson, m)(0.7, mu), 3.0)
        assert got == getattr(scipy.stats.poisson, method)(0.7, 3.0)
        assert pullback(1.0) == (0.0,)
    assert ld.value(ld.vjp(lambda mu: stats.poisson.median(mu), 3.0)[0]) == scipy.stats.poisson.median(3.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: stats.norm.logpdf(v, 0.0, 1.0, 2.0),
        lambda v: stats.norm.logpdf(v, mean=1.0),
        lambda v: stats.norm.logpdf(v, 0.0, loc=1.0),
        lambda v: stats.gamma.logpdf(v),
        lambda v: stats.gamma(),
    ],
)
def test_wrong_parameters(call):
    with pytest.raises(TypeError, match="has the parameters"):
        ld.grad(call)(1.0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda v: stats.norm.rvs(loc=v), "transform them"),
        (lambda v: stats.norm(v).rvs(), "transform them"),
        (lambda v: stats.norm.fit([v]), "minimize"),
        (lambda v: stats.skewnorm.cdf(1.0, v), "no derivative"),
        (lambda v: stats.skewnorm.ppf(0.5, v), "no derivative"),
        (lambda v: stats.poisson.entropy(v), "no derivative"),
        (lambda v: stats.betabinom.logsf(1, 3, 1.0, v), "scipy.stats.betabinom.logsf has no derivative"),
        (lambda v: stats.nakagami.pdf(1.0, v), "scipy.stats.nakagami.pdf has no derivative"),
        (lambda v: stats.nakagami(v).pdf(1.0), "scipy.stats.nakagami has no derivative"),
        (lambda v: stats.multivariate_normal.cdf([v, v], [0.0, 0.0]), "no derivative"),
        (lambda v: stats.zscore([v]), "no derivative"),
    ],
)
def test_what_is_refused(call, says):
    with pytest.raises(TypeError, match=says):
        ld.grad(call)(1.0)


def test_the_rest_is_scipys():
    assert stats.nakagami.pdf(1.0, 2.0) == scipy.stats.nakagami.pdf(1.0, 2.0)
    assert stats.nakagami(2.0).pdf(1.0) == scipy.stats.nakagami.pdf(1.0, 2.0)
    assert stats.norm.name == "norm"
    assert stats.norm.numargs == 0
    assert "lindiff" in repr(stats.norm)
    assert "lindiff" in repr(stats.dirichlet)
    assert stats.kstest([0.5, 0.6], "uniform") == scipy.stats.kstest([0.5, 0.6], "uniform")
    with pytest.raises(AttributeError):
        stats.no_such_distribution  # noqa: B018
    with pytest.raises(AttributeError):
        stats.norm.no_such_method  # noqa: B018


@pytest.mark.parametrize("name", stats.__all__)
def test_documented(name):
    d = getattr(stats, name)
    assert "Examples" in type(d).__doc__
    for method, function in inspect.getmembers(type(d), inspect.isfunction):
        assert method.startswith("_") or function.__doc__


# -- vectors ---------------------------------------------------------------------------------------------


def test_singular_normals():
    cov = np.array([[1.0, 1.0], [1.0, 1.0]])
    points = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 2.0]])
    expected = scipy.stats.multivariate_normal.logpdf(points, [0.0, 0.0], cov, allow_singular=True)

    def density(x, mean):
        return stats.multivariate_normal(mean, cov, allow_singular=True).logpdf(x)

    got, pullback = ld.vjp(density, points, np.zeros(2))
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_allclose(pullback(np.ones(3))[0], [[-0.5, -0.5], [-1.0, -1.0], [0.0, 0.0]], atol=1e-12)
    with pytest.raises(TypeError, match="singular covariance"):
        ld.vjp(lambda cov: stats.multivariate_normal.logpdf(points, None, cov, allow_singular=True), cov)
    with pytest.raises(np.linalg.LinAlgError):
        ld.vjp(lambda cov: stats.multivariate_normal.logpdf(points, None, cov), cov)
    full = np.array([[2.0, 0.5], [0.5, 1.0]])
    got = ld.vjp(lambda cov: stats.multivariate_normal.logpdf(points, None, cov, True), full)[0]
    np.testing.assert_allclose(got, scipy.stats.multivariate_normal.logpdf(points, None, full), rtol=1e-12)


def test_covariance_objects():
    cov = scipy.stats.Covariance.from_diagonal([2.0, 0.5])
    x = np.array([1.0, 2.0])
    got = ld.grad(lambda mean: stats.multivariate_normal.logpdf(x, mean, cov))(np.zeros(2))
    np.testing.assert_allclose(got, [0.5, 4.0])


def test_shapes_of_normals_that_do_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        ld.vjp(lambda m: stats.multivariate_normal.logpdf(np.ones(3), m, np.eye(2)), np.ones(3))


def test_dirichlet_and_multinomial_check_as_scipy_does():
    with pytest.raises(ValueError, match="simplex"):
        ld.vjp(lambda a: stats.dirichlet.logpdf([0.5, 0.6], a), np.ones(2))
    with pytest.raises(ValueError, match="greater than 0"):
        ld.vjp(lambda a: stats.dirichlet.mean(a), -np.ones(2))
    p = np.array([0.25, 0.75])
    x = np.array([[1, 2], [2, 2], [-1, 4]])
    got, pullback = ld.vjp(lambda p: stats.multinomial.logpmf(x, 3, p), p)
    np.testing.assert_allclose(got, scipy.stats.multinomial.logpmf(x, 3, p), rtol=1e-12)
    np.testing.assert_allclose(pullback(np.ones(3))[0], [4.0, 2 / 0.75])
    plain = stats.multinomial(3, p)
    assert plain.pmf([1, 2]) == scipy.stats.multinomial(3, p).pmf([1, 2])
    np.testing.assert_array_equal(plain.cov(), scipy.stats.multinomial(3, p).cov())
    np.testing.assert_array_equal(plain.mean(), scipy.stats.multinomial(3, p).mean())
    for method in ["mean", "var", "entropy"]:
        plain, expected = (getattr(m.dirichlet, method)([2.0, 1.0]) for m in (stats, scipy.stats))
        np.testing.assert_array_equal(plain, expected)
    assert stats.dirichlet.pdf(p, [2.0, 1.0]) == scipy.stats.dirichlet.pdf(p, [2.0, 1.0])
    assert stats.dirichlet.rvs([1.0, 2.0], random_state=1).shape == (1, 2)


def test_maximum_likelihood():
    """The distributions, the search and the derivatives together."""
    from lindiff.scipy.optimize import minimize

    data = scipy.stats.gamma.rvs(2.0, scale=3.0, size=200, random_state=1)

    def loss(p):
        return -np.sum(stats.gamma.logpdf(data, np.exp(p["log_a"]), scale=np.exp(p["log_scale"])))

    found = minimize(loss, {"log_a": 0.0, "log_scale": 0.0}, method="trust-ncg")
    a, _, scale = scipy.stats.gamma.fit(data, floc=0)
    np.testing.assert_allclose(np.exp([found.x["log_a"], found.x["log_scale"]]), [a, scale], rtol=1e-5)


def test_complex_numbers_are_refused():
    """SciPy's formulas take some; here their imaginary part would be lost."""
    z = np.array([0.5 + 1.0j])
    for f in (
        lambda z: stats.norm.logpdf(z),
        lambda z: stats.expon.cdf(0.5, scale=z),
        lambda z: stats.norm.ppf(0.5, z),
        lambda z: stats.poisson.pmf(1, z),
        lambda z: stats.multivariate_normal.logpdf(z),
        lambda z: stats.norm.mean(z),
    ):
        with pytest.raises(TypeError, match="real numbers"):
            ld.vjp(f, z)


@pytest.mark.parametrize("a", [0.5, 1.0, 2.5])
def test_a_power_law_at_0_is_scipys(a):
    for name in ("pdf", "logpdf"):
        value, _ = ld.value_and_grad(lambda x, name=name: getattr(stats.powerlaw, name)(x, a))(0.0)
        assert value == getattr(scipy.stats.powerlaw, name)(0.0, a)


# -- extreme values, truncated normal, inverse Gauss, von Mises, Wishart, multivariate t -------------------

HARD = {
    "invgauss": ([(0.05,), (0.8,), (30.0,), (1e4,)], [1e-3, 0.02, 0.5, 1.0, 30.0, 1e3]),
    "genextreme": (
        [(0.0,), (1e-9,), (-1e-6,), (-0.4,), (1.0,), (2.0,), (-2.0,)], [-5.0, -0.4, 0.0, 0.49, 1.0, 3.0, 20.0]
    ),
    "truncnorm": (
        [(3.0, 4.0), (-40.0, -38.0), (30.0, np.inf), (-np.inf, -20.0), (-np.inf, np.inf), (-0.5, np.inf)],
        [-39.0, -25.0, -1.0, -1e-10, 0.0, 1.0, 3.5, 31.0],
    ),
    "vonmises": ([(0.0,), (1e-3,), (5.0,), (800.0,)], [-3.0, -0.1, 0.0, 1.0, 3.0, 8.0]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "shapes"), [(name, s) for name, (all_, _) in HARD.items() for s in all_])
def test_values_through_variables_are_scipys(name, shapes):
    methods = FUNCTIONS[:2] if name in DENSITY_ALONE else [*FUNCTIONS, "ppf", "isf"]
    for method in methods:
        x = HARD[name][1] if method not in ("ppf", "isf") else [1e-9, 0.01, 0.3, 0.9, 0.9999]
        call = getattr(getattr(stats, name), method)
        with np.errstate(all="ignore"):
            expected = getattr(getattr(scipy.stats, name), method)(x, *shapes)
        got, pullback = ld.vjp(lambda s, call=call, x=x: call(x, *s), shapes)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-60, err_msg=method)
        bars = pullback(np.where(np.isfinite(expected), 1.0, 0.0))
        assert not any(np.isnan(bar) for bar in bars[0])


@pytest.mark.parametrize("c", [0.0, 1e-8, -1e-5, 0.09, 0.11, -0.3])
def test_extreme_values_around_gumbel(c):
    """Derivatives by the shape at 0, where formulas cancel."""
    z = np.array([-0.5, 0.7, 1.5])
    for method in ("logpdf", "logcdf", "logsf"):
        check_grads(lambda c, method=method: getattr(stats.genextreme, method)(z, c), (c,))
    check_grads(lambda c: stats.genextreme.ppf(np.array([0.1, 0.7, 0.9]), c), (c,))
    gumbel = np.array([scipy.stats.gumbel_r.mean(), scipy.stats.gumbel_r.var()])
    # log Γ(1 + c) = -γ c + ζ(2) c²/2 - ζ(3) c³/3 + …
    slopes = [-(np.euler_gamma**2 + np.pi**2 / 6) / 2, -2 * special.zeta(3) - np.pi**2 / 3 * np.euler_gamma]
    if c == 0:
        moments, by_c = ld.jvp(
            lambda c: np.stack([stats.genextreme.mean(c), stats.genextreme.var(c)]), (c,), (1.0,)
        )
        np.testing.assert_allclose(moments, gumbel, rtol=1e-14)
        np.testing.assert_allclose(by_c, slopes, rtol=1e-13)


@pytest.mark.parametrize(("a", "b"), [(-1.0, 2.0), (3.0, 4.0), (-8.0, -6.0), (30.0, 32.0)])
def test_truncated_normals_in_the_tails(a, b):
    x = a + 0.3 * (b - a) * np.array([0.1, 0.5, 0.7])
    for method in ("logpdf", "logcdf", "logsf"):
        check_grads(
            lambda x, a, b, method=method: getattr(stats.truncnorm, method)(x, a, b), (x, a, b), rtol=1e-5
        )


def test_truncated_normal_with_one_end():
    """Infinite ends stay infinite, whatever loc and scale do."""

    def above_0(method, *args):
        return lambda loc, scale: getattr(stats.truncnorm, method)(
            *args, (0.0 - loc) / scale, (np.inf - loc) / scale, loc, scale
        )

    for f in (
        above_0("logpdf", 1.0),
        above_0("mean"),
        above_0("var"),
        above_0("entropy"),
        above_0("ppf", 0.3),
    ):
        gradient = ld.grad(f, (0, 1))(0.3, 2.0)
        assert np.all(np.isfinite(ld.hessian(f, (0, 1))(0.3, 2.0)))
        tangents = [ld.jvp(f, (0.3, 2.0), e)[1] for e in ((1.0, 0.0), (0.0, 1.0))]
        np.testing.assert_allclose(gradient, tangents, rtol=1e-12)
        h = 1e-5
        right, left = (ld.vjp(f, loc, 2.0)[0] for loc in (0.3 + h, 0.3 - h))  # SciPy's entropy is NaN
        np.testing.assert_allclose(gradient[0], (right - left) / (2 * h), rtol=1e-5)


def test_density_of_angles_alone():
    with pytest.raises(TypeError, match=r"vonmises\.cdf has no derivative"):
        ld.grad(lambda k: stats.vonmises.cdf(0.3, k))(1.0)
    assert ld.grad(lambda k: stats.vonmises.logpdf(0.0, k))(0.0) == 1.0


def test_matrices_and_degrees_are_checked():
    eye = np.eye(2)
    for call, error, says in [
        (lambda df: stats.wishart.logpdf(eye, df, eye), ValueError, "greater than the number of rows"),
        (lambda df: stats.wishart.logpdf(np.eye(3), df + 2, eye), ValueError, "matrices of 2 rows"),
        (lambda df: stats.wishart.logpdf(-eye, df + 2, eye), np.linalg.LinAlgError, "positive"),
        (lambda df: stats.multivariate_t.logpdf([0.0, 1.0], None, eye, -df), ValueError, "greater than 0"),
        (lambda df: stats.multivariate_t.logpdf([0.0, 1.0], np.ones(3), eye, df), ValueError, "do not fit"),
        (lambda df: stats.wishart.logpdf(eye, df, np.ones((2, 3))), ValueError, "no square matrix"),
    ]:
        with pytest.raises(error, match=says):
            ld.grad(call)(1.0)


def test_entropy_of_multivariate_t():
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    for df in (0.7, 3.4, 40.0):
        got = ld.vjp(lambda A, df: stats.multivariate_t(np.zeros(2), A, df).entropy(), A, df)[0]
        np.testing.assert_allclose(got, scipy.stats.multivariate_t.entropy(np.zeros(2), A, df), rtol=1e-12)
        check_grads(lambda a, df: stats.multivariate_t.entropy(None, A * a, df), (1.3, df))
    normal = ld.vjp(lambda a: stats.multivariate_t.entropy(None, A * a, np.inf), 1.0)[0]
    np.testing.assert_allclose(normal, scipy.stats.multivariate_normal.entropy(None, A))


def test_multivariate_t_of_infinite_degrees_is_normal():
    x, cov = np.array([0.3, 1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    got = ld.value_and_grad(lambda loc: stats.multivariate_t.logpdf(x, loc, cov, np.inf))(np.zeros(2))
    wanted = ld.value_and_grad(lambda mean: stats.multivariate_normal.logpdf(x, mean, cov))(np.zeros(2))
    np.testing.assert_allclose(got[0], wanted[0])
    np.testing.assert_allclose(got[1], wanted[1])


def test_wishart_reads_simple_points_as_scipy_does():
    for x, df, scale in [
        (2.0, 3.0, 1.5),
        (np.array([0.5, 2.0]), 3.0, 1.5),
        (np.array([0.5, 2.0]), 3.0, np.eye(2)),
        (2.0, 3.5, np.eye(2)),
        (2.0, 3.5, np.array([1.0, 2.0])),
    ]:
        got = ld.vjp(lambda df, x=x, scale=scale: stats.wishart.logpdf(x, df, scale), df)[0]
        expected = scipy.stats.wishart.logpdf(x, df, scale)
        assert np.shape(got) == np.shape(expected)
        np.testing.assert_allclose(got, expected)


def mixture(stats, s, **like):
    covariance, components = np.zeros((2, 2), **like), []
    for k in range(3):
        covariance[0, 0] = covariance[1, 1] = s * (k + 1)
        components.append(stats.multivariate_normal(np.zeros(2), covariance))
        components.append(stats.multivariate_t(loc=np.zeros(2), shape=covariance, df=3.0))
    return sum(component.pdf([1.0, 2.0]) for component in components)


def test_frozen_matrices_are_those_of_when_they_were_frozen():
    value, slope = ld.value_and_grad(lambda s: mixture(stats, s, like=s))(1.5)
    assert value == pytest.approx(mixture(scipy.stats, 1.5), rel=1e-14)
    assert mixture(stats, 1.5) == pytest.approx(value, rel=1e-14)
    differences = (mixture(scipy.stats, 1.5 + 1e-5) - mixture(scipy.stats, 1.5 - 1e-5)) / 2e-5
    assert slope == pytest.approx(differences, rel=1e-7)
    mean = ld.jacobian(lambda m: stats.multivariate_normal(m, np.eye(2)).mean)(np.ones(2))
    np.testing.assert_array_equal(mean, np.eye(2))


def test_scipys_functions_take_these_distributions():
    data = scipy.stats.norm.rvs(size=30, random_state=0)
    counts = scipy.stats.nbinom.rvs(5, 0.5, size=30, random_state=0)
    for module in (scipy.stats, stats):
        assert 0 < module.goodness_of_fit(module.norm, data, n_mc_samples=9).pvalue <= 1
        assert module.fit(module.nbinom, counts, [(1, 10), (0, 1)]).success
    assert isinstance(stats.nakagami, scipy.stats.rv_continuous)


def test_distributions_are_written_as_with_scipy():
    class Gaussian(stats.rv_continuous):
        def _pdf(self, x):
            return np.exp(-(x**2) / 2.0) / np.sqrt(2.0 * np.pi)

    np.testing.assert_allclose(Gaussian(name="gaussian").pdf(0.5), scipy.stats.norm.pdf(0.5))
