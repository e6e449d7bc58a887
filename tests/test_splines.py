"""``lindiff.scipy.interpolate``: what interpolants do besides taking values, which is in table_splines.py."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse.linalg

import lindiff as ld
from lindiff.scipy import interpolate
from lindiff.testing import check_grads

X = np.array([0.1, 1.0, 2.3, 3.2, 4.6])
Y = np.array([[0.5, -1.0, 2.0, 0.3, 1.0], [1.0, 0.2, 0.1, -0.7, 0.4]])
AT = np.array([0.3, 2.2, 4.1])


def everything(spline, at):
    """Of orders above the degree SciPy 1.13 asks memory that is not its own."""
    return {
        "values": spline(at),
        "slopes": spline(at, 1),
        "curvatures": spline(at, 2),
        "derivative": spline.derivative()(at),
        "second": spline.derivative(2)(at),
        "antiderivative": spline.antiderivative()(at),
        "twice": spline.antiderivative(2)(at),
        "integral": spline.integrate(at[0], at[1]),
        "backwards": spline.integrate(at[2], at[0], False),
    }


MADE = {
    "CubicSpline": lambda module, x, y: module.CubicSpline(x, y, axis=1),
    "make_interp_spline": lambda module, x, y: module.make_interp_spline(x, y, axis=1),
    "k=2": lambda module, x, y: module.make_interp_spline(x, y, 2, axis=1),
}


@pytest.mark.parametrize("name", MADE)
def test_derivatives_and_integrals_of_splines(name):
    def ours(x, y, at):
        return everything(MADE[name](interpolate, x, y), at)

    expected = everything(MADE[name](scipy.interpolate, X, Y), AT)
    for found in (ours(X, Y, AT), ld.vjp(ours, X, Y, AT)[0]):
        for key, part in expected.items():
            np.testing.assert_allclose(found[key], part, rtol=1e-10, atol=1e-12, err_msg=key)
    check_grads(ours, (X, Y, AT), rtol=1e-6)


def test_splines_of_plain_data_are_scipys_and_take_variables_as_points():
    spline = interpolate.CubicSpline(X, Y[0])
    assert isinstance(spline, scipy.interpolate.CubicSpline)
    np.testing.assert_array_equal(spline.c, scipy.interpolate.CubicSpline(X, Y[0]).c)
    np.testing.assert_array_equal(spline.roots(), scipy.interpolate.CubicSpline(X, Y[0]).roots())
    check_grads(spline, (AT,))
    check_grads(lambda a: spline.integrate(a, 2.0), (0.5,))
    np.testing.assert_allclose(ld.grad(spline)(2.2), spline(2.2, 1))
    assert ld.grad(lambda at: spline(at, 5) + spline.derivative(4)(at))(2.2) == 0.0
    np.testing.assert_allclose(ld.jacobian(spline)(AT), np.diag(spline(AT, 1)), atol=1e-14)
    third = ld.grad(ld.grad(ld.grad(interpolate.make_interp_spline(X, Y[0]))))(2.2)
    np.testing.assert_allclose(third, interpolate.make_interp_spline(X, Y[0])(2.2, 3), rtol=1e-9)


def test_coefficients_and_knots_are_variables():
    def of(y):
        return interpolate.CubicSpline(X, y).c[:, 1:], interpolate.make_interp_spline(X, y).c

    check_grads(of, (Y[0],))
    check_grads(lambda x: interpolate.make_interp_spline(x, Y[0]).t, (X,))


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
def test_beyond_the_ends(extrapolate):
    """NaN is a constant."""
    at = np.array([-0.5, 1.5, 6.0])
    for made in (interpolate.CubicSpline, interpolate.make_interp_spline):

        def values(y, at, made=made):
            return made(X, y)(at, 0, extrapolate)

        y, pullback = ld.vjp(values, Y[0], at)
        np.testing.assert_array_equal(y, values(Y[0], at))
        gradients = pullback(np.ones(3))
        assert np.all(np.isfinite(gradients[0]))
        if extrapolate:
            check_grads(values, (Y[0], at))
        else:
            np.testing.assert_array_equal(gradients[1][[0, 2]], 0.0)


def test_periodic_splines():
    """Data whose last value is the first."""

    def values(x, y, at):
        return interpolate.CubicSpline(x, np.append(y, y[:1]), bc_type="periodic")(at)

    y, at = Y[0, :4], np.array([-0.5, 1.5, 6.0])
    expected = scipy.interpolate.CubicSpline(X, np.append(y, y[:1]), bc_type="periodic")(at)
    np.testing.assert_allclose(ld.vjp(values, X, y, at)[0], expected)
    check_grads(values, (X, y, at), rtol=1e-6)


def test_values_at_the_ends_are_differentiable():
    def values(slope, curvature):
        cubic = interpolate.CubicSpline(X, Y[0], bc_type=((1, slope), (2, curvature)))(AT)
        return cubic, interpolate.make_interp_spline(X, Y[0], bc_type=([(1, slope)], [(2, curvature)]))(AT)

    cubic, spline = ld.vjp(values, 0.5, -0.3)[0]
    np.testing.assert_allclose(cubic, spline)
    check_grads(values, (0.5, -0.3))


@pytest.mark.parametrize("ends", [(None, None), ([(1, 0.5)], "natural"), ("clamped", [(2, 0.5)])])
def test_what_holds_at_each_end(ends):
    def values(y):
        return interpolate.make_interp_spline(X, y, bc_type=ends)(AT)

    np.testing.assert_allclose(
        ld.vjp(values, Y[0])[0], scipy.interpolate.make_interp_spline(X, Y[0], bc_type=ends)(AT)
    )
    check_grads(values, (Y[0],))


def test_knots_of_ones_own_and_complex_data():
    t = np.array([0.1] * 4 + [2.0] + [4.6] * 4)
    check_grads(lambda y: interpolate.make_interp_spline(X, y, t=t)(AT), (Y[0] + 1j * Y[1],))
    check_grads(lambda y: interpolate.CubicSpline(X, y)(AT), (Y[0] + 1j * Y[1],))


def test_repeated_knots_and_data_at_knots():
    t, c = np.array([0.0] * 4 + [1.0, 1.0, 2.0] + [3.0] * 4), np.arange(7.0) ** 2
    check_grads(lambda c: interpolate.BSpline(t, c, 3)(np.array([0.0, 1.0, 2.5, 3.0])), (c,))
    assert np.all(np.isfinite(ld.grad(lambda t: interpolate.BSpline(t, c, 3)(1.5))(t)))
    np.testing.assert_allclose(
        ld.vjp(lambda c: interpolate.BSpline(t, c, 3).derivative()(AT[:2]), c)[0],
        scipy.interpolate.BSpline(t, c, 3).derivative()(AT[:2]),
    )


def test_interp1d_sorts_and_fills():
    order = np.array([3, 0, 4, 1, 2])

    def values(x, y, fill, at):
        return interpolate.interp1d(x[order], y[:, order], bounds_error=False, fill_value=fill)(at)

    at = np.array([-1.0, 1.5, 6.0])
    np.testing.assert_allclose(
        ld.vjp(values, X, Y, 0.5, at)[0],
        scipy.interpolate.interp1d(X, Y, bounds_error=False, fill_value=0.5)(at),
    )
    check_grads(values, (X, Y, 0.5, at))
    with pytest.raises(ValueError, match="below the interpolation range"):
        ld.grad(interpolate.interp1d(X, Y[0]))(-1.0)
    for kind in ("previous", "next"):

        def held(y, kind=kind):
            return np.nan_to_num(interpolate.interp1d(X, y, kind, fill_value="extrapolate")(at))

        check_grads(held, (Y[0],))


def test_grids_of_tuples_of_points_and_orders_of_derivatives():
    f = interpolate.RegularGridInterpolator((X, X), np.outer(Y[0], Y[1]), "cubic")
    check_grads(lambda x, y: f((x, y)), (AT, AT + 0.05))
    check_grads(lambda x: f((x[:, None], AT)), (AT,))
    g = interpolate.RegularGridInterpolator((X, X), np.outer(Y[0], Y[1]), "slinear")
    np.testing.assert_allclose(
        g(np.stack([AT, AT], -1), nu=[1, 0]), ld.grad(lambda x: np.sum(g((x, AT))))(AT)
    )
    check_grads(lambda x: f(np.stack([x, x], -1), nu=[1, 0]), (AT,), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda y: interpolate.CubicSpline(X, y).roots(), r"ld\.value\(y\).*brentq"),
        (lambda y: interpolate.CubicSpline(X, y).integrate(0.0, 1.0, "periodic"), "whole periods"),
        (lambda y: interpolate.make_interp_spline(X, y - y, bc_type="periodic"), "CubicSpline"),
        (
            lambda y: interpolate.RegularGridInterpolator((X, X), np.outer(y, y), "pchip")([1.0, 2.0]),
            'method="cubic"',
        ),
        (lambda y: interpolate.splrep(X, y), "write make_interp_spline"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(TypeError, match=says):
        ld.vjp(call, Y[0])


@pytest.mark.parametrize(
    ("x", "k", "t", "bc_type"),
    [([1.0], 3, None, "natural"), ([1.0], 2, None, None), ([0.0, 1.0], 3, [0.0] * 3 + [1.0] * 3, None)],
)
def test_too_few_places_or_knots_raise(x, k, t, bc_type):
    """SciPy 1.17 reads and writes memory that is not its own."""
    with pytest.raises(ValueError, match=f"degree {k} needs 2 places and {2 * k + 2} knots"):
        interpolate.make_interp_spline(x, np.ones(len(x)), k, t, bc_type)
    line = interpolate.make_interp_spline([0.0, 1.0], [0.0, 2.0], 3, None, "natural")
    assert line(0.5) == pytest.approx(1.0)


PLACES = np.arange(4.0)


def line_through_refilled_data(module, y):
    spline = module.make_interp_spline(PLACES, y, k=1)
    y[1] = 5.0
    return spline(1.2)


def grid_of_refilled_data(module, y):
    grid = module.RegularGridInterpolator((PLACES,), y)
    y[1] = 5.0
    return grid([1.2])[0]


def grid_of_splines_is_made_at_once(module, y):
    grid = module.RegularGridInterpolator((PLACES,), y, method="cubic", solver=scipy.sparse.linalg.spsolve)
    y[1] = 5.0
    return grid([1.2])[0]


def cubic_spline_that_is_changed(module, y):
    spline = module.CubicSpline(PLACES, y)
    spline.c[3] *= 2
    return spline(1.3)


def b_spline_that_is_changed(module, c):
    spline = module.BSpline(np.array([0.0, 0, 1, 2, 3, 3]), c, 1)
    spline.c[1] = 7.0
    return spline(1.2) * c[1]


def polynomials_that_are_changed(module, c):
    c = c.reshape(2, 2)
    polynomials = module.PPoly(c, np.array([0.0, 1, 2]))
    polynomials.c[0, 1] = 7.0
    return polynomials(1.2) * np.sum(c)


@pytest.mark.parametrize(
    "f",
    [
        line_through_refilled_data,
        grid_of_refilled_data,
        grid_of_splines_is_made_at_once,
        cubic_spline_that_is_changed,
        b_spline_that_is_changed,
        polynomials_that_are_changed,
    ],
)
def test_what_is_kept_is_shared_as_in_scipy(f):
    x = np.array([0.7, 1.3, -0.4, 0.2])

    def plain(x):
        return f(scipy.interpolate, x.copy())

    expected = [(plain(x + h) - plain(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    found, gradient = ld.value_and_grad(lambda x: f(interpolate, x * 1.0))(x)
    np.testing.assert_allclose(found, plain(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)
    np.testing.assert_allclose(f(interpolate, x.copy()), plain(x), rtol=1e-14)
