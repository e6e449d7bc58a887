"""scipy.special: edges of domains, accuracy against mpmath, errors, classification of every function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from numpy.testing import assert_allclose
from scipy import special

import lindiff as ld
import lindiff.scipy.special as functions
import lindiff.scipy.stats as scipy_stats
from lindiff.core.registry import handled_functions, refused_functions
from lindiff.rules.special.gamma import polygamma
from lindiff.rules.special.incomplete import beta_derivative, gamma_derivative
from lindiff.scipy.special import harmonics
from lindiff.scipy.special._others import PLAIN_ONLY
from lindiff.testing import check_grads

inf = math.inf
PUBLIC = {
    name: getattr(special, name)
    for name in dir(special)
    if not name.startswith("_")
    and callable(getattr(special, name))
    and not isinstance(getattr(special, name), type)
}


# -- edges -----------------------------------------------------------------------------------------------

EDGES = [
    # function, arguments, differentiated argument, derivative
    (special.xlogy, (0.0, 2.0), 0, math.log(2)),
    (special.xlogy, (0.0, 0.0), 0, -inf),
    (special.xlogy, (0.0, 0.0), 1, 0.0),
    (special.xlog1py, (0.0, -1.0), 1, 0.0),
    (special.entr, (0.0,), 0, inf),
    (special.rel_entr, (0.0, 2.0), 0, -inf),
    (special.rel_entr, (0.0, 2.0), 1, 0.0),
    (special.rel_entr, (0.0, 0.0), 0, 0.0),
    (special.kl_div, (0.0, 0.0), 0, 0.0),
    (special.kl_div, (0.0, 0.0), 1, 1.0),
    (special.expit, (inf,), 0, 0.0),
    (special.expit, (-inf,), 0, 0.0),
    (special.expit, (50.0,), 0, math.exp(-50)),
    (special.log_expit, (-inf,), 0, 1.0),
    (special.logit, (0.0,), 0, inf),
    (special.erfinv, (1.0,), 0, inf),
    (special.erfinv, (-1.0,), 0, inf),
    (special.ndtri, (0.0,), 0, inf),
    (special.log_ndtr, (-1e8,), 0, 1e8),
    (special.log_ndtr, (40.0,), 0, 0.0),
    (special.ndtri_exp, (-inf,), 0, 0.0),
    (special.erf, (inf,), 0, 0.0),
    (special.dawsn, (1e8,), 0, -0.5e-16),
    (special.erfcx, (1e8,), 0, -1e-16 / math.sqrt(math.pi)),
    (special.gammaln, (1e300,), 0, math.log(1e300)),
    (special.gammaln, (inf,), 0, inf),
    (special.rgamma, (0.0,), 0, 1.0),
    (special.rgamma, (-3.0,), 0, -6.0),
    (special.poch, (0.0, 2.0), 0, 1.0),
    (special.poch, (-4.0, 2.0), 0, -7.0),
    (special.binom, (3.0, 5.0), 0, -0.05),
    (special.gammainc, (1.0, 0.0), 1, 1.0),
    (special.gammainc, (2.0, 0.0), 1, 0.0),
    (special.gammainc, (0.5, 0.0), 1, inf),
    (special.gammainc, (2.0, 0.0), 0, 0.0),
    (special.gammainc, (2.0, inf), 0, 0.0),
    (special.gammainc, (2.0, inf), 1, 0.0),
    (special.betainc, (1.0, 3.0, 0.0), 2, 3.0),
    (special.betainc, (2.0, 3.0, 1.0), 2, 0.0),
    (special.betainc, (2.0, 3.0, 0.0), 0, 0.0),
    (special.betainc, (2.0, 3.0, 1.0), 1, 0.0),
    (special.stdtr, (3.0, 0.0), 0, 0.0),
    (special.stdtr, (inf, 1.0), 1, math.exp(-0.5) / math.sqrt(2 * math.pi)),
    (special.stdtr, (inf, 1.0), 0, 0.0),
    (special.boxcox, (3.0, 0.0), 1, math.log(3) ** 2 / 2),
    (special.boxcox, (0.0, 2.0), 1, 0.25),
    (special.boxcox1p, (2.0, 0.0), 1, math.log(3) ** 2 / 2),
    (special.inv_boxcox, (2.0, 0.0), 0, math.exp(2)),
    (special.inv_boxcox, (2.0, 0.0), 1, -2 * math.exp(2)),
    (special.inv_boxcox1p, (2.0, 0.0), 1, -2 * math.exp(2)),
    (special.exprel, (0.0,), 0, 0.5),
    (special.cosm1, (0.0,), 0, 0.0),
    (special.huber, (1.0, 0.0), 1, 0.0),
    (special.huber, (1.0, 3.0), 0, 2.0),
    (special.pseudo_huber, (0.0, 3.0), 0, 3.0),
    (special.pseudo_huber, (0.0, 0.0), 1, 0.0),
    (special.spence, (1.0,), 0, -1.0),
    (special.spence, (1e-12,), 0, math.log(1e-12) / (1 - 1e-12)),
    (special.lambertw, (0.0,), 0, 1.0),
    (special.wrightomega, (-inf,), 0, 0.0),
    (special.wrightomega, (inf,), 0, 1.0),
    (special.j1, (0.0,), 0, 0.5),
    (special.i1, (0.0,), 0, 0.5),
    (special.beip, (0.0,), 0, 0.5),
    (special.k0, (0.0,), 0, -inf),
    (special.k1, (702.0,), 0, -special.k0(702.0) - special.k1(702.0) / 702),
    (special.ellipk, (0.0,), 0, math.pi / 8),
    (special.ellipe, (0.0,), 0, -math.pi / 8),
    (special.ellipkinc, (1.0, 0.0), 1, (1 - math.sin(1) * math.cos(1)) / 4),
    (special.agm, (2.0, 2.0), 0, 0.5),
    (special.owens_t, (0.0, 1.0), 0, 0.0),
    (special.voigt_profile, (1.0, 0.0, 2.0), 0, -4 / (25 * math.pi)),
    (special.voigt_profile, (1.0, 0.0, 2.0), 2, -3 / (25 * math.pi)),
    (special.kolmogorov, (0.0,), 0, 0.0),
    (special.kolmogorov, (-1.0,), 0, 0.0),
    (special.tklmbda, (3.0, 2.0), 0, 0.0),
    (special.chndtr, (2.0, 3.0, 0.0), 0, math.exp(-1) / math.sqrt(math.pi)),
    (special.eval_legendre, (0, 0.5), 1, 0.0),
    (special.eval_legendre, (3, 1.0), 1, 6.0),
    (special.expn, (0, 1.0), 1, -2 * math.exp(-1)),
    (functions.spherical_jn, (1, 0.0), 1, 1 / 3),
    (functions.polygamma, (0, 1.0), 1, math.pi**2 / 6),
]


@pytest.mark.parametrize(("function", "args", "argnum", "expected"), EDGES)
def test_edges(function, args, argnum, expected):
    def of_one(x):
        return np.real(function(*args[:argnum], x, *args[argnum + 1 :]))

    assert_allclose(ld.grad(of_one)(args[argnum]), expected, rtol=1e-13, atol=1e-300)
    assert_allclose(ld.jvp(of_one, (args[argnum],), (1.0,))[1], expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (special.exprel, 0.0, [1 / 2, 1 / 3, 1 / 4]),
        (special.entr, 2.0, [-1 - math.log(2), -1 / 2, 1 / 4]),
        (special.spence, 1.0, [-1, 1 / 2, -2 / 3]),
        (special.rgamma, 0.0, [1, 2 * np.euler_gamma, 3 * np.euler_gamma**2 - math.pi**2 / 2]),
        (special.j1, 0.0, [1 / 2, 0, -3 / 8]),
        (special.ellipk, 0.0, [math.pi / 8, 9 * math.pi / 64, 75 * math.pi / 256]),
        (special.log_ndtr, -1e3, [1000.000999998, -0.999999000006, 2e-9]),
        (
            lambda lmbda: special.boxcox(3.0, lmbda),
            0.0,
            [math.log(3) ** (k + 1) / (k + 1) for k in (1, 2, 3)],
        ),
        (lambda t: special.stdtr(5.0, t), 0.0, [0.37960668982249457, 0, -0.4555280277869935]),
    ],
)
def test_first_derivatives_at_a_point(function, x, expected):
    for k, value in enumerate(expected):
        function = ld.grad(function)
        assert_allclose(function(x), value, rtol=1e-6 if k == 2 else 1e-11, atol=1e-12)


def test_mixed_derivative_of_student_at_the_center():
    mixed = ld.grad(lambda v: ld.grad(special.stdtr, 1)(v, 0.0))(3.0)
    density = ld.grad(lambda v: special.gamma((v + 1) / 2) / special.gamma(v / 2) / np.sqrt(v * np.pi))(3.0)
    assert_allclose(mixed, density, rtol=1e-12)
    assert_allclose(ld.grad(lambda t: ld.grad(special.stdtr)(3.0, t))(0.0), density, rtol=1e-12)


def test_orders_of_zero_and_entries_of_empty_arrays():
    for name in ("gamma", "erf", "j0", "ellipk", "expit", "entr", "zetac"):
        assert ld.grad(lambda x, f=PUBLIC[name]: np.sum(f(x)))(np.zeros(0)).shape == (0,)
    for name in ("gammainc", "beta", "xlogy", "boxcox", "ellipkinc", "stdtr"):
        gradient = ld.grad(lambda x, f=PUBLIC[name]: np.sum(f(np.full((2, 1), 0.5), x)))(np.zeros((0,)))
        assert gradient.shape == (0,)
    assert ld.grad(lambda x: np.sum(special.betainc(1.0, 2.0, x)))(np.zeros((2, 0))).shape == (2, 0)
    assert ld.grad(lambda x: np.sum(special.airy(x)[0]))(np.zeros((2, 0))).shape == (2, 0)


def test_in_where_a_branch_not_taken_does_not_matter():
    x = np.array([-1.0, 0.0, 2.0])
    gradient = ld.grad(lambda x: np.sum(np.where(x > 0, special.gammaln(x) + special.xlogy(x, x), 0)))(x)
    assert_allclose(gradient, [0, 0, special.psi(2) + math.log(2) + 1])


@settings(max_examples=20, deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3))
def test_broadcasting(shapes):
    rng = np.random.default_rng(0)
    a, x = (0.5 + rng.random(shape) for shape in shapes.input_shapes)
    for f in (
        special.gammainc,
        special.xlogy,
        lambda a, x: special.ellipeinc(a, x / 3),
        lambda a, x: special.ellipj(a, x / 2)[1],
    ):
        check_grads(f, (a, x), order=1)


# -- accuracy --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mp():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        yield mpmath


def derivative(mp, f, x, h=1e-12):
    h = mp.mpf(h) * max(abs(x), 1e-3)
    return float((f(x + h) - f(x - h)) / (2 * h))


def test_incomplete_gamma_by_its_parameter(mp):
    for a in (1e-3, 0.3, 1.0, 3.0, 40.0, 2000.0):
        for r in (1e-8, 0.1, 0.7, 1.0, 1.2, 4.0):
            x = max(a, 0.3) * r if a < 100 else a + 3 * (r - 1) * math.sqrt(a)
            ends, sign = ((0, x), 1) if x < a else ((x, mp.inf), -1)
            expected = sign * derivative(
                mp, lambda t, ends=ends: mp.gammainc(t, *ends, regularized=True), mp.mpf(a)
            )
            assert_allclose(ld.grad(special.gammainc)(a, x), expected, rtol=2e-12, atol=1e-290)
            assert_allclose(ld.grad(special.gammaincc)(a, x), -expected, rtol=2e-12, atol=1e-290)


def test_incomplete_beta_by_its_parameters(mp):
    for a, b in [(0.01, 0.5), (1.0, 1.0), (3.0, 0.2), (40.0, 5.0), (700.0, 300.0)]:
        mean, deviation = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
        for x in (1e-6, mean - deviation, mean, mean + deviation, 0.99):
            if not 0 < x < 1:
                continue
            for i in (0, 1):

                def integral(t, x=x, i=i, a=a, b=b):
                    return mp.betainc(*((t, b) if i == 0 else (a, t)), 0, x, regularized=True)

                expected = derivative(mp, integral, mp.mpf((a, b)[i]))
                assert_allclose(ld.grad(special.betainc, i)(a, b, x), expected, rtol=2e-11, atol=1e-250)


@pytest.mark.parametrize(
    ("function", "reference", "points"),
    [
        (special.psi, "digamma", (0.01, 2.5, 1e5, -3.3)),
        (special.zeta, "zeta", (1.01, 2.5, 20.0, 0.3, -0.5, -3.7)),
        (special.rgamma, "rgamma", (-7.999, -0.2, 0.4, 12.5)),
        (special.erfcx, lambda mp, x: mp.exp(x * x) * mp.erfc(x), (-3.0, 0.5, 9.9, 10.1, 300.0)),
        (special.log_ndtr, lambda mp, x: mp.log(mp.ncdf(x)), (-30.0, -3.0, 0.5, 6.0)),
        (special.ellipk, "ellipk", (-30.0, 1e-9, 0.5, 0.999999)),
        (special.ellipe, "ellipe", (-30.0, 1e-9, 0.5, 0.999999)),
        (special.k0e, lambda mp, x: mp.exp(x) * mp.besselk(0, x), (0.1, 3.0, 50.0)),
        (special.i0e, lambda mp, x: mp.exp(-x) * mp.besseli(0, x), (0.1, 3.0, 50.0)),
        (special.exprel, lambda mp, x: mp.expm1(x) / x, (-40.0, -0.9, 1e-5, 2.0)),
        (special.spence, lambda mp, x: mp.polylog(2, 1 - x), (1e-9, 0.2, 0.99, 1.01, 5.0)),
    ],
)
def test_accuracy(mp, function, reference, points):
    f = getattr(mp, reference) if isinstance(reference, str) else lambda x: reference(mp, x)
    for x in points:
        assert_allclose(ld.grad(function)(x), derivative(mp, f, mp.mpf(x)), rtol=1e-12)


@pytest.mark.parametrize(("a", "x"), [(16.0, 1e-12), (40.0, 1e-5), (300.0, 1.0)])
def test_incomplete_gamma_far_below_its_parameter(mp, a, x):
    """There the rounding of x - a is not small beside x."""
    with mp.workdps(400):
        by_x = mp.mpf(x) ** (a - 1) * mp.exp(-x) / mp.gamma(a)
        by_a = derivative(mp, lambda t: mp.gammainc(t, 0, x, regularized=True), mp.mpf(a), 1e-60)
    assert_allclose(ld.grad(special.gammainc, 1)(a, x), float(by_x), rtol=1e-12)
    assert_allclose(ld.grad(special.gammainc)(a, x), by_a, rtol=1e-11)


def test_incomplete_gamma_that_is_zero_has_derivative_zero():
    for k in (0, 1):
        assert ld.grad(special.gammainc, k)(300.0, 1e-100) == 0.0


@pytest.mark.parametrize("x", [1e-12, 1e-6, 1 - 2.0**-40])
def test_density_of_the_incomplete_beta_near_its_ends(mp, x):
    a, b, t = 6.0, 8.0, mp.mpf(x)
    expected = t ** (a - 1) * (1 - t) ** (b - 1) / mp.beta(a, b)
    assert_allclose(ld.grad(special.betainc, 2)(a, b, x), float(expected), rtol=1e-12)


@pytest.mark.parametrize("t", [-1e12, 1e5, -3.0, 0.01])
@pytest.mark.parametrize("v", [0.1, 3.0])
def test_student_by_its_degrees_in_the_tails(mp, v, t):
    def distribution(v):  # for t < 0; what is beyond |t| for t > 0
        return mp.betainc(v / 2, 0.5, 0, v / (v + mp.mpf(t) ** 2), regularized=True) / 2

    with mp.workdps(80):
        first = -np.sign(t) * derivative(mp, distribution, mp.mpf(v), 1e-20)
        h = mp.mpf(v) * mp.mpf(10) ** -20
        second = (distribution(v + h) - 2 * distribution(mp.mpf(v)) + distribution(v - h)) / h**2
    assert_allclose(ld.grad(special.stdtr)(v, t), first, rtol=1e-11)
    assert_allclose(ld.grad(ld.grad(special.stdtr))(v, t), -np.sign(t) * float(second), rtol=1e-10)


@pytest.mark.parametrize("x", [1e-14, 0.4, 1e12])
def test_f_by_its_degrees_in_the_tails(mp, x):
    def complement(n, d):
        return mp.betainc(d / 2, n / 2, 0, d / (d + n * mp.mpf(x)), regularized=True)

    n, d = 3.0, 0.7
    with mp.workdps(80):
        by_n = derivative(mp, lambda t: complement(t, mp.mpf(d)), mp.mpf(n), 1e-20)
        by_d = derivative(mp, lambda t: complement(mp.mpf(n), t), mp.mpf(d), 1e-20)
        share = n * mp.mpf(x) / (d + n * mp.mpf(x))
        density = share ** (n / 2) * (1 - share) ** (d / 2) / mp.beta(n / 2, d / 2)  # by log x
        by_x = float(-density / x)
    for k, expected in enumerate((by_n, by_d, by_x)):
        assert_allclose(ld.grad(special.fdtrc, k)(n, d, x), expected, rtol=1e-11, atol=1e-30)


@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2])
def test_hessian_of_a_sum_of_equal_terms(function):
    hessian = ld.hessian(lambda p: function(p[0], p[1]))(np.array([1.5, 1.5]))
    slope = 0.25 if function is np.logaddexp else 0.25 * math.log(2)
    assert_allclose(hessian, slope * np.array([[1, -1], [-1, 1]]))


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (special.xlogy, 2.0, [[0, 1 / 2], [1 / 2, 0]]),
        (special.xlog1py, 2.0, [[0, 1 / 3], [1 / 3, 0]]),
    ],
)
def test_mixed_derivatives_at_a_factor_of_zero(function, x, expected):
    assert_allclose(ld.hessian(lambda p: function(p[0], p[1]))(np.array([0.0, x])), expected)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (special.binom, (0.0, 1.0)),
        (special.binom, (2.0, 5.0)),
        (special.binom, (2.5, -1.0)),
        (special.poch, (0.0, 2.5)),
        (special.poch, (-2.0, 2.5)),
    ],
)
def test_second_derivatives_at_poles_of_the_gamma_function(mp, function, args):
    f = {special.binom: mp.binomial, special.poch: mp.rf}[function]
    hessian = ld.hessian(lambda p: function(p[0], p[1]))(np.array(args))
    with mp.workdps(60):
        for orders in [(2, 0), (1, 1), (0, 2)]:
            expected = mp.diff(f, args, orders, h=mp.mpf(10) ** -15)
            i, j = (0, 0) if orders[0] == 2 else (1, 1) if orders[1] == 2 else (0, 1)
            assert_allclose([hessian[i, j], hessian[j, i]], float(expected), rtol=1e-9, atol=1e-11)


def digits(mp):
    """Functions whose first or second derivatives are small differences, with references and points."""

    def of_airy(function, sign, k):
        return lambda x: function(x, derivative=k) * mp.exp(sign * 2 * x ** mp.mpf("1.5") / 3)

    def log_beta(a, b):
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

    def pseudo_huber(d, r):
        return d * (mp.sqrt(d * d + r * r) - d)

    tiny = [(1e-10, 0.5), (0.5, 1e-10), (1e-10, 1e-8), (3.0, 2.5)]
    far_apart = [(1e-300, 1e30), (10.0, 1e20), (1.0, 1.0 + 1e-8)]
    far = [(0.5,), (40.0,), (1e3,), (1e5,)]
    return [
        (special.i0e, lambda x: mp.exp(-x) * mp.besseli(0, x), far),
        (special.i1e, lambda x: mp.exp(-x) * mp.besseli(1, x), far),
        *[
            (lambda x, k=k: special.airye(x)[k], of_airy(function, sign, k % 2), far)
            for k, function, sign in [
                (0, mp.airyai, 1), (1, mp.airyai, 1), (2, mp.airybi, -1), (3, mp.airybi, -1),
            ]
        ],
        *[
            (lambda x, v=v: special.struve(v, x), lambda x, v=v: mp.struveh(v, x), [(1e-8,), (0.1,), (5.0,)])
            for v in (0, 0.5, 1, 2)
        ],
        (lambda x: special.modstruve(1, x), lambda x: mp.struvel(1, x), [(1e-8,), (0.1,), (5.0,)]),
        (special.rel_entr, lambda x, y: x * mp.log(x / y), far_apart),
        (special.kl_div, lambda x, y: x * mp.log(x / y) - x + y, far_apart[1:2]),
        (special.pseudo_huber, pseudo_huber, [(1.0, 1e4), (1e4, 1.0), (1e-4, 1e6), (1e5, 3.0)]),
        (
            special.boxcox1p,
            lambda x, p: mp.expm1(p * mp.log1p(x)) / p,
            [(1e-10, 0.5), (1e-10, 30.0), (-0.5, -2.0), (3.0, 1e-8)],
        ),
        (special.boxcox, lambda x, p: (x**p - 1) / p, [(1e-8, 2.0), (1e-5, 0.5), (7.0, 1e-8)]),
        (special.agm, mp.agm, [(1e5, 1e-10), (1e10, 30.0), (2.0, 1e-7), (1.0, 1.1)]),
        (special.beta, mp.beta, tiny),
        (special.betaln, log_beta, tiny),
        (special.poch, lambda z, m: mp.gamma(z + m) / mp.gamma(z), [(0.5, 1e-8), (1e4, -1e-8), (3.0, 0.2)]),
    ]  # fmt: skip


@pytest.mark.parametrize("x", [0.5, 29.0, 40.0, 1e4, 1e8])
def test_scaled_bessel_functions_of_the_second_kind_far_out(x):
    """``K₀(x) eˣ = ∫ exp(-x (cosh t - 1)) dt``, and with a factor of cosh t that of K₁."""
    t = np.arange(0.5, 1000) * 0.01 / math.sqrt(max(x, 1.0))
    excess = 2 * np.sinh(0.5 * t) ** 2
    for function, factor in ((special.k0e, 1.0), (special.k1e, np.cosh(t))):
        for k in range(3):
            expected = np.sum(factor * (-excess) ** k * np.exp(-x * excess)) * (t[1] - t[0])
            assert_allclose(function(x), expected, rtol=1e-11)
            function = ld.grad(function)


def test_second_derivatives_that_are_small_differences(mp):
    with mp.workdps(130):
        for function, reference, points in digits(mp):
            for point in points:
                at = [mp.mpf(x) for x in point]
                for order in ([1, 0], [0, 1], [2, 0], [1, 1], [0, 2]):
                    if len(point) == 1 and order[1]:
                        continue
                    got = function
                    for i in [i for i, times in enumerate(order) for _ in range(times)]:
                        got = ld.grad(got, i)
                    expected = partial_by_differences(mp, reference, at, order[: len(point)])
                    assert_allclose(got(*point), float(expected), rtol=1e-10, err_msg=f"{point} {order}")


def partial_by_differences(mp, f, at, order):
    if not any(order):
        return f(*at)
    i = next(i for i, times in enumerate(order) if times)
    h = abs(at[i]) * mp.mpf(10) ** -30
    less = [times - (i == j) for j, times in enumerate(order)]
    sides = [
        partial_by_differences(mp, f, [x + sign * h * (i == j) for j, x in enumerate(at)], less)
        for sign in (1, -1)
    ]
    return (sides[0] - sides[1]) / (2 * h)


def test_elliptic_derivatives_do_not_depend_on_what_is_beside():
    gradient = ld.grad(ld.grad(lambda x: np.sum(special.ellipkm1(x))))
    assert_allclose(
        ld.grad(lambda x: np.sum(ld.grad(lambda x: np.sum(special.ellipkm1(x)))(x)))(np.array([1e-300, 0.5]))[
            1
        ],
        gradient(0.5),
        rtol=1e-13,
    )


def test_zeta_by_both_arguments_and_twice(mp):
    assert_allclose(ld.grad(special.zeta)(2.5, 0.3), float(mp.diff(lambda s: mp.zeta(s, mp.mpf("0.3")), 2.5)))
    twice = ld.grad(ld.grad(special.zeta))
    assert_allclose(twice(2.5, 1.3), float(mp.diff(lambda s: mp.zeta(s, mp.mpf("1.3")), 2.5, 2)), rtol=1e-10)


def test_polygamma_of_complex_arguments(mp):
    for z in (1 + 2j, -3.3 + 0.1j, -3.2 - 8j, 30 + 1j):
        for n in (1, 2, 4):
            assert_allclose(polygamma(n, z), complex(mp.diff(mp.digamma, z, n)), rtol=1e-12)


def test_large_parameters_do_not_cancel():
    assert_allclose(ld.grad(special.betaln)(1e8, 3.0), -3 / (1e8 + 1), rtol=1e-8)
    a = 1e8
    density = ld.grad(special.gammainc, 1)(a, a)
    assert_allclose(density, math.exp(-1 / (12 * a)) / math.sqrt(2 * math.pi * a), rtol=1e-12)
    assert_allclose(ld.grad(special.gammainc)(a, a), -density, rtol=1e-4)


def test_second_derivatives_by_parameters_are_symmetric():
    hessian = ld.hessian(lambda p: special.betainc(p[0], p[1], p[2]))(np.array([2.5, 0.7, 0.4]))
    assert_allclose(hessian, hessian.T, rtol=1e-10)
    assert_allclose(hessian[0, 1], beta_derivative(2.5, 0.7, 0.4, 1, 1))
    hessian = ld.hessian(lambda p: special.gammainc(p[0], p[1]))(np.array([2.5, 0.7]))
    assert_allclose(hessian, hessian.T, rtol=1e-12)
    assert_allclose(hessian[0, 0], gamma_derivative(2.5, 0.7, 2))


# -- errors and classification ---------------------------------------------------------------------------


def test_arguments_without_derivative_are_refused_at_the_call():
    v = ld.Variable(1.5)
    with pytest.raises(TypeError, match=r"jv has no derivative with respect to argument 0 .* ld\.value"):
        special.jv(v, 2.0)
    with pytest.raises(TypeError, match="hyp2f1 has no derivative with respect to argument 2"):
        special.hyp2f1(1.0, 2.0, v, 0.5)
    with pytest.raises(TypeError, match="jve has no derivative with respect to argument 0"):
        special.jve(v, 2.0)
    with pytest.raises(TypeError, match="an integer"):
        special.kn(v, 2.0)
    with pytest.raises(TypeError, match=r"airye of complex arguments is not holomorphic"):
        special.airye(ld.Variable(1.0 + 1.0j))
    for call in (
        lambda: functions.polygamma(v, 2.0),
        lambda: functions.spherical_jn(v, 2.0),
        lambda: functions.multigammaln(3.0, v),
        lambda: functions.diric(2.0, v),
        lambda: harmonics.sph_harm_y(v, 1, 0.5, 0.5),
    ):
        with pytest.raises(TypeError, match="an integer"):
            call()


def test_refused_functions_say_why():
    v = ld.Variable(1.5)
    with pytest.raises(
        TypeError, match=r"scipy\.special\.smirnov has no derivative in lindiff: .*kolmogorov"
    ):
        special.smirnov(3, v)
    with pytest.raises(
        TypeError, match="riccati_jn has no derivative in lindiff: write it with spherical_jn"
    ):
        functions.riccati_jn(2, v)
    with pytest.raises(ValueError, match="leave out exact"):
        functions.factorial(v, exact=True)
    with pytest.raises(AttributeError):
        functions.no_such_function  # noqa: B018


def test_every_public_function_is_classified():
    ruled, refused = handled_functions(), refused_functions()
    plain_only = set(" ".join(PLAIN_ONLY.values()).split())
    for name, function in PUBLIC.items():
        classes = [
            function in ruled,
            function in refused,
            name in (*functions.__all__, "sph_harm_y"),
            name in plain_only,
        ]
        assert sum(classes) == 1, f"{name} is in {sum(classes)} classes"


def test_lists_hold_no_function_twice():
    names = " ".join(PLAIN_ONLY.values()).split()
    assert len(set(names)) == len(names)


def test_python_functions_that_dispatch_are_scipys():
    for name in ("jvp", "lambertw", "sinc", "zeta"):
        assert getattr(functions, name) == getattr(special, name)
        assert ld.supported(f"scipy.special.{name}")


# -- the namespace ---------------------------------------------------------------------------------------


def test_namespace_is_scipys_on_plain_arrays():
    x = np.array([[0.5, -inf, 3.0], [1.0, 2.0, 0.0]], np.float32)
    for f, g in [(functions.logsumexp, special.logsumexp), (functions.softmax, special.softmax)]:
        for axis in (None, 0, (0, 1)):
            assert_allclose(f(x, axis), g(x, axis))
            assert f(x, axis).dtype == g(x, axis).dtype
    assert functions.gammaln == special.gammaln
    assert functions.comb(5, 2, exact=True) == 10
    assert functions.ai_zeros(2)[0].shape == (2,)
    assert functions.SpecialFunctionWarning is special.SpecialFunctionWarning


def test_logsumexp_of_infinite_terms():
    gradient = ld.jacobian(lambda a: functions.logsumexp(a, axis=1))
    a = np.array([[-inf, 0.0], [-inf, -inf], [inf, inf], [inf, 0.0]])
    expected = [[0, 1], [0.5, 0.5], [0.5, 0.5], [1, 0]]
    assert_allclose(np.einsum("iij->ij", gradient(a)), expected)
    assert_allclose(ld.value(functions.logsumexp(ld.Variable(a), axis=1)), special.logsumexp(a, axis=1))


def test_logsumexp_with_factors():
    a, b = np.array([1.0, 2.0, 500.0]), np.array([1.0, -3.0, 0.0])
    by_a, by_b = ld.grad(lambda a, b: functions.logsumexp(a, b=b, return_sign=True)[0], (0, 1))(a, b)
    total = math.e - 3 * math.e**2
    expected = np.array([math.e, -3 * math.e**2, 0]) / total
    assert_allclose(by_a, expected)
    assert_allclose(by_b[:2], np.exp(a[:2]) / total)
    y, sign = functions.logsumexp(ld.Variable(a), b=b, return_sign=True)
    assert sign == -1
    assert_allclose(ld.value(y), math.log(-total))


def test_logsumexp_of_complex():
    z = np.array([1.0 + 2.0j, -0.5j, 0.3])
    gradient = ld.grad(functions.logsumexp, holomorphic=True)(z)
    assert_allclose(gradient, np.exp(z) / np.sum(np.exp(z)))
    y, sign = functions.logsumexp(ld.Variable(z), return_sign=True)
    expected = special.logsumexp(z, return_sign=True)
    assert_allclose(ld.value(y), expected[0])
    assert_allclose(ld.value(sign), expected[1])


def test_softmax_far_out():
    x = np.array([1e4, 0.0, -1e4])
    assert_allclose(ld.grad(lambda x: functions.log_softmax(x)[2])(x), [-1, 0, 1])
    assert_allclose(ld.grad(lambda x: functions.softmax(x)[0])(x), 0)


def test_derivatives_by_counts_are_zero_and_of_inverses_are_not():
    assert ld.grad(special.pdtr)(2.3, 1.5) == 0
    assert ld.grad(special.bdtr)(2.3, 5, 0.4) == 0
    k = special.pdtrik(0.6, 3.0)
    assert_allclose(ld.grad(special.pdtrik)(0.6, 3.0), -1 / gamma_derivative(k + 1, 3.0, 1))


def test_elliprc_of_complex_numbers_near_the_negative_axis():
    """``∂x + ∂y = -1 / (2 √x y)``, and ``2 (x - y) ∂x = 1/√x - R_C``, for ``R_C`` is homogeneous."""
    angles = np.array([0.3, -2.0, 2.9, -3.1, 3.0, 2.5])
    x = np.exp(1j * angles)
    y = 2 * np.exp(1j * angles[::-1])
    by_x, by_y = ld.grad(lambda x, y: np.sum(special.elliprc(x, y)), (0, 1), holomorphic=True)(x, y)
    expected = (1 / np.sqrt(x) - special.elliprc(x, y)) / (2 * (x - y))
    assert_allclose(by_x, expected, rtol=1e-11)
    assert_allclose(by_y, -1 / (2 * np.sqrt(x) * y) - expected, rtol=1e-11)


def test_an_incomplete_integral_within_a_quarter_does_not_see_others_beyond():
    """The complete integral is infinite or not real there."""
    phi, m = np.array([0.4, 2.0]), np.array([1.5, 0.5])
    for function in (special.ellipkinc, special.ellipeinc):
        both = ld.vjp(function, phi, m)[1](np.ones(2))
        alone = ld.vjp(function, phi[0], m[0])[1](1.0)
        assert_allclose([part[0] for part in both], alone, rtol=1e-14)


def student_tail(mp, v, t):
    """Below t < 0; for t > 0 what is beyond it."""
    return mp.betainc(v / 2, 0.5, 0, v / (v + t * t), regularized=True) / 2


@pytest.mark.parametrize("t", [1e-160, 0.3, -1.0, 1.52, -8.0])
@pytest.mark.parametrize("v", [1e-3, 2.5, 90.0, 110.0, 1e4])
def test_student_by_many_or_few_degrees(mp, v, t):
    with mp.workdps(400 if abs(t) < 1e-100 else 60):
        first = -np.sign(t) * derivative(mp, lambda v: student_tail(mp, v, mp.mpf(t)), mp.mpf(v), 1e-20)
    assert_allclose(ld.grad(special.stdtr)(v, t), float(first), rtol=1e-11)


@pytest.mark.parametrize("t", [0.3, 1.5, -5.0])
@pytest.mark.parametrize("v", [3e5, 1e8, 1e14])
def test_student_of_very_many_degrees(v, t):
    """``Φ(t) - φ(t) (t³ + t) / (4 v) + …``, and the logarithm of the density in the same way."""
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    assert_allclose(ld.grad(special.stdtr)(v, t), density * (t**3 + t) / (4 * v * v), rtol=1e4 / v + 1e-12)
    assert_allclose(
        ld.grad(special.stdtr, 1)(v, t),
        density * (1 + (t**4 - 2 * t**2 - 1) / (4 * v)),
        rtol=1e-8 + t**8 / v**2,
    )
    by_degrees = ld.grad(lambda v: scipy_stats.t.logpdf(t, v))(v)
    assert_allclose(by_degrees, -(t**4 - 2 * t**2 - 1) / (4 * v * v), rtol=1e4 / v + 1e-12)


def test_second_derivatives_of_students_density():
    for v, t in [(4.0, 2.0), (4.0, 0.5), (120.0, -1.0), (2.0, 7.0)]:
        check_grads(lambda v, t: scipy_stats.t.logpdf(t, v), (v, t), order=2)
        check_grads(special.stdtr, (v, t), order=2)


@pytest.mark.parametrize("a", [1e-8, 3.0, 1e8])
def test_incomplete_gamma_by_its_parameter_at_points_without_density(a):
    for x in (1e9, 1e160, 1e300):
        assert ld.grad(special.gammainc)(a, x) == 0
        assert ld.grad(special.gammaincc)(a, x) == 0


@pytest.mark.parametrize("x", [1e-30, 0.3, 0.999])
@pytest.mark.parametrize(("a", "b"), [(1e-8, 1e-8), (1e-3, 1e-8)])
def test_incomplete_beta_by_small_parameters(mp, a, b, x):
    with mp.workdps(60):
        f = lambda a, b: mp.betainc(a, b, 0, mp.mpf(x), regularized=True)
        expected = [
            derivative(mp, lambda a: f(a, mp.mpf(b)), mp.mpf(a), 1e-20),
            derivative(mp, lambda b: f(mp.mpf(a), b), mp.mpf(b), 1e-20),
        ]
    assert_allclose(ld.grad(special.betainc, (0, 1))(a, b, x), [float(e) for e in expected], rtol=1e-9)


@pytest.mark.parametrize("x", [1e-300, 1e-200])
def test_incomplete_beta_near_the_least_numbers(mp, x):
    with mp.workdps(700):
        f = lambda a, b: mp.betainc(a, b, 0, mp.mpf(x), regularized=True)
        half, more = mp.mpf(0.5), mp.mpf(0.7)
        by_a = derivative(mp, lambda a: f(a, more), half, 1e-20)
        by_b = derivative(mp, lambda b: f(half, b), more, 1e-20)
    assert_allclose(ld.grad(special.betainc, (0, 1))(0.5, 0.7, x), [float(by_a), float(by_b)], rtol=1e-11)


@pytest.mark.parametrize("f", [special.bdtr, special.bdtrc, special.nbdtr, special.nbdtrc])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*truncated to an integer")
def test_counts_are_rounded_down_also_in_derivatives(f):
    assert_allclose(ld.grad(f, 2)(2.5, 5.5, 0.3), ld.grad(f, 2)(2.0, 5.0, 0.3), rtol=1e-14)
    assert_allclose(f(2.5, 5.5, 0.3), f(2.0, 5.0, 0.3))


def against_many_digits(mp, f, reference, args, rtol):
    """All first and second derivatives, both in reverse and forwards over reverse."""
    n = len(args)
    hessian = [ld.hvp(f, args, tuple(row)) for row in np.eye(n)]
    twice = [ld.grad(lambda *x, i=i: ld.grad(f, i)(*x), tuple(range(n)))(*args) for i in range(n)]
    slope = ld.grad(f, tuple(range(n)))(*args)
    change = [ld.jvp(f, args, tuple(row))[1] for row in np.eye(n)]
    with mp.workdps(40):
        point = [mp.mpf(x) for x in args]

        def derivative(*orders):
            return float(mp.diff(reference, tuple(point), tuple(orders)))

        for i in range(n):
            expected = derivative(*np.eye(n, dtype=int)[i])
            assert_allclose([slope[i], change[i]], expected, rtol=rtol)
            for j in range(i, n):
                expected = derivative(*(np.eye(n, dtype=int)[i] + np.eye(n, dtype=int)[j]))
                got = hessian[i][j], hessian[j][i], twice[i][j], twice[j][i]
                assert_allclose(got, expected, rtol=rtol, err_msg=f"{i} {j}")


@pytest.mark.parametrize(
    "args",
    [
        (1e-8, 2.0, 0.3),
        (1e-8, 2.5, 1e-9),
        (1e-12, 0.4, 1e-5),
        (2e-5, 1e-8, 0.3),
        (300.0, 1e-8, 0.99),
        (1.5, 5e7, 3.6e-8),
    ],
)
def test_second_derivatives_of_incomplete_beta(mp, args):
    reference = lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)
    against_many_digits(mp, special.betainc, reference, args, rtol=1e-9)


@pytest.mark.parametrize("args", [(1e3, 2.5), (1e6, 1.0), (1e6, -3.0), (0.3, 0.01), (0.3, 5.0)])
def test_second_derivatives_of_student(mp, args):
    def reference(v, t):
        tail = mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + t * t), regularized=True) / 2
        return 1 - tail if t > 0 else tail

    against_many_digits(mp, special.stdtr, reference, args, rtol=1e-9)


@pytest.mark.parametrize(
    "args",
    [
        (2.0, 5.0, 1e-9),
        (2.0, 5.0, 1e-4),
        (3.0, 1e5, 0.9),
        (3.0, 1e8, 1.2),
        (3.0, 5e6, 1e-9),
        (0.2, 5.0, 1e-9),
        (3.0, 5.0, 1e6),
        (0.5, 0.3, 2.0),
    ],
)
def test_f_by_its_second_degrees_of_freedom(mp, args):
    n, d, x = args
    with mp.workdps(60):

        def reference(d):
            return mp.betainc(n / 2, d / 2, 0, n * mp.mpf(x) / (d + n * mp.mpf(x)), regularized=True)

        first, second = (float(mp.diff(reference, mp.mpf(d), k)) for k in (1, 2))
    f = lambda d: special.fdtr(n, d, x)
    assert_allclose([ld.grad(f)(d), ld.jvp(f, (d,), (1.0,))[1]], first, rtol=1e-9)
    assert_allclose([ld.grad(ld.grad(f))(d), ld.hvp(f, (d,), (1.0,))], second, rtol=1e-9)
    # F(n, d, x) = 1 - F(d, n, 1/x)
    assert_allclose(ld.grad(lambda d: special.fdtr(d, n, 1 / x))(d), -first, rtol=1e-8)
