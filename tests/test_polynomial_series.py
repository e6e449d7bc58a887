"""lindiff.numpy.polynomial: classes of series with Variables, single facts, errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.testing import check_grads

NAMES = ["Polynomial", "Chebyshev", "Legendre", "Laguerre", "Hermite", "HermiteE"]
C, X = np.array([0.5, -1.0, 0.25, 1.5]), np.array([[0.5, 0.75], [-0.25, 1.0]])


@pytest.fixture(params=NAMES)
def both(request):
    """NumPy's class and ours."""
    return getattr(np.polynomial, request.param), getattr(lnp.polynomial, request.param)


CALLS = {
    "value": lambda P, c: P(c)(X),
    "on another domain": lambda P, c: P(c, domain=[-2, 3])(X),
    "argument": lambda P, c: P([1.0, 2.0, 3.0])(c),
    "both": lambda P, c: P(c)(c * c),
    "derivative": lambda P, c: P(c, domain=[-2, 3]).deriv(2)(X),
    "integral": lambda P, c: P(c, domain=[-2, 3]).integ(2, k=[1.0, 2.0], lbnd=0.5)(X),
    "sum": lambda P, c: (P(c) + P([1.0, 2.0]) - P(c[:2]) + 1.0 - c[0] + [1.0])(X),
    "product": lambda P, c: (P(c) * P(c[1:]) * 2.0 * c[0])(X),
    "division": lambda P, c: [part(X) for part in divmod(P(c), P(c[1:3]))],
    "quotient": lambda P, c: (P(c) / 2.0 // P([1.0, 2.0]) % P([3.0, 1.0, 2.0]))(X),
    "by a number": lambda P, c: (P(c) / c[0])(X),
    "power": lambda P, c: (P(c) ** 3)(X),
    "negative": lambda P, c: (-P(c)).coef,
    "truncated": lambda P, c: P(c).truncate(2).coef * P(c).trim().cutdeg(2)(0.5),
    "from roots": lambda P, c: P.fromroots(c, domain=[-2, 3])(X),
    "fit": lambda P, c: P.fit([1.0, 2.0, 3.0, 4.0], c, 2)(X),
    "fit by points": lambda P, c: P.fit(c, [1.0, 2.0, 3.0, 4.0], 1, domain=[], w=[1.0, 2.0, 1.0, 1.0])(X),
    "status of fit": lambda P, c: P.fit([1.0, 2.0, 3.0, 4.0], c, 2, full=True)[1][0],
    "points": lambda P, c: P(c).linspace(4)[1],
    "another basis": lambda P, c: P(c).convert(kind=np.polynomial.Polynomial)(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_classes(both, name):
    numpys, ours = both
    value, _ = ld.vjp(lambda c: CALLS[name](ours, c), C)
    expected = CALLS[name](numpys, C)
    for got, wanted in zip(value, expected, strict=True):
        assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)
    check_grads(lambda c: CALLS[name](ours, c), (C,), order=1, rtol=1e-5)


def test_roots(both):
    _, ours = both
    c = np.array([2.0, -3.0, -1.0, 1.5])
    check_grads(lambda c: np.real(ours(c, domain=[-2, 3]).roots() ** 2), (c,), rtol=1e-5)


def test_second_order(both):
    _, ours = both
    check_grads(lambda c, x: ours(c)(x) ** 2, (C, X))


def test_objects_print_as_numpys(both):
    numpys, ours = both
    plain, of_variable = numpys(C), ours(ld.Variable(C))
    for text in (str, repr, "{:ascii}".format, lambda p: p._repr_latex_()):
        assert text(of_variable) == text(plain) == text(ours(C))
    assert isinstance(of_variable, numpys)
    assert of_variable.degree() == 3


def test_plain_coefficients_stay_plain(both):
    _, ours = both
    p = ours([1.0, 2.0])
    assert type(p.coef) is type((p * p).coef) is type(p(X)) is np.ndarray


def test_a_list_of_variables_is_a_series():
    check_grads(lambda a, b: lnp.polynomial.Chebyshev([a, 0.0, b])(X), (1.0, 2.0))


def test_columns_of_coefficients_and_grids():
    chebyshev, c = lnp.polynomial.chebyshev, np.arange(6.0).reshape(3, 2)
    y = chebyshev.chebval(ld.Variable(X), c)
    assert_array_equal(ld.value(y), np.polynomial.chebyshev.chebval(X, c))
    with pytest.raises(ValueError, match="x, y are incompatible"):
        chebyshev.chebval2d(ld.Variable(X), X[0], c)
    with pytest.raises(ValueError, match="dimensions of degrees"):
        chebyshev.chebvander2d(ld.Variable(X[0]), X[0], [1])


def test_repeated_roots_do_not_disturb_the_others():
    gradient = ld.grad(lambda c: lnp.polynomial.polynomial.polyroots(c)[-1])(np.array([0.0, 0.0, -2.0, 1.0]))
    assert_allclose(gradient, [-0.25, -0.5, -1, -2])


def test_errors_are_those_of_numpy():
    legendre, v = lnp.polynomial.legendre, ld.Variable(C)
    for message, call in [
        ("non-negative", lambda: legendre.legder(v, -1)),
        ("non-negative", lambda: legendre.legint(v, -1)),
        ("Too many", lambda: legendre.legint(v, 1, [1, 2])),
        ("lbnd", lambda: legendre.legint(v, 1, lbnd=[1])),
        ("non-negative", lambda: legendre.legpow(v, -1)),
        ("too large", lambda: legendre.legpow(v, 17)),
        ("non-negative", lambda: legendre.legvander(v, -1)),
        ("not 1-d", lambda: legendre.legadd(v, np.ones((2, 2)))),
        ("empty", lambda: legendre.legadd(v, [])),
        ("1-d", lambda: lnp.polynomial.Legendre(ld.Variable(X))),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    with pytest.raises(ZeroDivisionError):
        legendre.legdiv(v, [0.0, 0.0])
    with pytest.raises(TypeError, match="same length"):
        legendre.legfit(v, C[:2], 1)
    with pytest.raises(TypeError, match="true division"):
        lnp.polynomial.Legendre(v) / lnp.polynomial.Legendre(v)


def test_coefficients_are_copies():
    def f(x):
        z = x * 1.0
        series = lnp.polynomial.Polynomial(z)
        z[1] = 8.0
        series.coef[0] = 2.0
        return np.sum(series.coef * z)

    assert ld.value_and_grad(f)(C)[0] == 2.0 * C[0] + 8.0 * C[1] + np.sum(C[2:] ** 2)
    np.testing.assert_allclose(ld.grad(f)(C), [2.0, 8.0, *(2.0 * C[2:])])


def test_ill_conditioned_fits_warn():
    with pytest.warns(np.exceptions.RankWarning, match="poorly"):
        lnp.polynomial.polynomial.polyfit(ld.Variable([1.0, 1.0, 1.0]), [1.0, 2.0, 3.0], 2)


def test_plain_numpy_says_what_to_write():
    with pytest.raises(TypeError, match=r"write in line \d+\n    ld\.numpy\.polynomial\.Chebyshev"):
        np.polynomial.Chebyshev(ld.Variable(C))
