"""Facts special to reductions and selection: ties, zeros, constants, NaN beside the path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff.testing import check_grads


def test_ties_of_extremes_are_shared():
    x = np.array([1.0, 3.0, 3.0])
    assert_allclose(ld.grad(np.max)(x), [0, 0.5, 0.5])
    assert_allclose(ld.grad(np.min)(-x), [0, 0.5, 0.5])
    assert_allclose(ld.grad(lambda x: np.max(x, initial=3.0))(x), [0, 1 / 3, 1 / 3])
    assert_allclose(ld.grad(lambda x: np.max(x, initial=4.0))(x), 0)


def test_product_with_zeros():
    assert_allclose(ld.grad(np.prod)(np.array([0.0, 2.0, 3.0])), [6, 0, 0])
    assert_allclose(ld.grad(np.prod)(np.array([0.0, 0.0, 3.0])), 0)
    assert_allclose(ld.hessian(np.prod)(np.array([0.0, 0.0, 3.0])), [[0, 3, 0], [3, 0, 0], [0, 0, 0]])


def test_cumulative_product_with_zeros():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    expected = [[1, 0, 0, 0], [0, 2, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0]]
    assert_allclose(ld.jacobian(np.cumprod)(x), expected)
    check_grads(np.cumprod, (x,), order=3)


def test_spread_of_constants():
    x = np.full(3, 2.0)
    assert_allclose(ld.grad(np.std)(x), 0)
    assert_allclose(ld.grad(np.var)(x), 0)
    assert_allclose(ld.hessian(np.var)(x), (np.eye(3) - 1 / 3) * 2 / 3)


def test_square_root_of_an_extreme_at_0():
    assert_allclose(ld.grad(lambda x: np.sqrt(np.max(x)))(np.array([-1.0, 4.0])), [0, 0.25])
    assert ld.grad(lambda x: np.sqrt(np.max(x)))(np.array([-1.0, 0.0]))[0] == 0


def test_where_does_not_see_the_other_branch():
    x = np.array([-1.0, 4.0])
    with np.errstate(invalid="ignore"):
        assert_allclose(ld.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(x), [0, 0.25])
        assert_allclose(ld.grad(lambda x: np.sum(np.where(x > 0, np.log(x), x)))(x), [1, 0.25])


def test_where_with_a_variable_as_condition():
    assert_allclose(ld.grad(lambda x: np.sum(np.where(x, x, 5.0)))(np.array([0.0, 2.0])), [0, 1])
    assert [part.tolist() for part in np.where(ld.Variable([0.0, 2.0]))] == [[1]]


def test_reduce_methods_of_ufuncs():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert_allclose(ld.grad(lambda x: np.sum(np.multiply.reduce(x)))(x), [[3, 4], [1, 2]])
    assert_allclose(ld.grad(lambda x: np.maximum.reduce(x, axis=None))(x), [[0, 0], [0, 1]])
    assert_allclose(ld.grad(lambda x: np.add.accumulate(x, axis=1)[0, 1])(x), [[1, 1], [0, 0]])


def test_take_adds_where_an_index_repeats():
    assert_allclose(ld.grad(lambda x: np.sum(np.take(x, [0, 0, 2])))(np.ones(3)), [2, 0, 1])


def test_sort_keeps_ties_apart():
    weights = np.array([1.0, 10.0, 100.0])
    assert_allclose(sorted(ld.grad(lambda x: np.sum(np.sort(x) * weights))(np.ones(3))), weights)


def test_casts():
    x = np.ones(2, np.float32)
    assert ld.grad(lambda x: np.sum(x.astype(np.float64) ** 2))(x).dtype == np.float32
    assert ld.Variable(x).astype(int).dtype.kind == "i"
    assert isinstance(ld.Variable(x).astype(int), np.ndarray)
    with pytest.raises(TypeError, match="rule 'same_kind'"):
        ld.Variable(x).astype(int, casting="same_kind")


def test_full_like_differentiates_its_fill_value():
    assert ld.grad(lambda c: np.sum(np.full_like(ld.Variable(np.ones(3)), c)))(2.0) == 3


def test_nan_reductions_of_variables_with_nans():
    x = np.array([1.0, np.nan, 3.0])
    assert_allclose(ld.grad(np.nansum)(x), [1, 0, 1])
    assert_allclose(ld.grad(np.nanmean)(x), [0.5, 0, 0.5])
    assert_allclose(ld.grad(np.nanmax)(x), [0, 0, 1])
    assert_allclose(ld.grad(np.nanprod)(x), [3, 0, 1])
    assert_allclose(ld.grad(np.nanstd)(x), [-0.5, 0, 0.5])
    assert_allclose(ld.grad(np.nanvar)(x), [-1, 0, 1])


def test_single_precision_stays():
    x = np.linspace(1, 2, 5, dtype=np.float32)
    for f in [np.sum, np.mean, np.max, np.var, np.std, np.prod, np.median, np.ptp]:
        y, pullback = ld.vjp(f, x)
        assert y.dtype == np.float32
        assert pullback(np.float32(1))[0].dtype == np.float32


@pytest.mark.parametrize(
    "index",
    [
        np.array(1),
        (slice(None), np.array(1)),
        (np.array(1), slice(0, 2)),
        True,
        (True, 0),
        np.int64(1),
        (..., np.int64(-1)),
    ],
)
def test_indices_without_axes(index):
    x = np.arange(6.0).reshape(2, 3)
    for twice in (False, True):
        check_grads(lambda x, twice=twice: x[index] * (np.sum(x[index]) if twice else 1.0), (x,))


def test_average_returns_the_sum_of_fixed_weights():
    (mean, total), pullback = ld.vjp(lambda a: np.average(a, weights=np.arange(4), returned=True), np.ones(4))
    assert (mean, total) == (1, 6)
    assert total.dtype == mean.dtype
    assert_allclose(pullback((1.0, 1.0))[0], np.arange(4) / 6)


def test_extremes_without_nans_begin_with_the_initial_value():
    x = np.array([[np.nan, np.nan], [3.0, np.nan]])
    y, pullback = ld.vjp(lambda x: np.nanmax(x, axis=1, initial=0.5), x)
    assert_array_equal(y, [0.5, 3])
    assert_array_equal(pullback(np.ones(2))[0], [[0, 0], [1, 0]])


@pytest.mark.parametrize("name", ["sort", "cumprod", "diff", "trapezoid", "partition", "repeat", "delete"])
def test_several_axes_are_refused_where_numpy_takes_one(name):
    second = {"partition": (0,), "repeat": (2,), "delete": (0,)}.get(name, ())
    for x in (np.ones((2, 3)), np.ones((0, 3))):
        for axis in ((0, 1), (0,), ()):
            with pytest.raises(TypeError):
                ld.vjp(lambda x, axis=axis: getattr(np, name)(x, *second, axis=axis), x)


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="since NumPy 2.1")
def test_cumulative_sum_of_a_number():
    for f in (np.cumulative_sum, np.cumulative_prod):
        y, pullback = ld.vjp(lambda x, f=f: f(x, axis=0), np.array(2.0))
        assert_array_equal(y, [2.0])
        assert pullback(np.ones(1))[0] == 1.0


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_on_a_complex_grid(edge_order):
    f = np.array([1.0, 2 - 1j, 0.5j, 3.0])
    for spacing in (0.5 + 1j, np.array([0.0, 1 + 1j, 2.0, 3 - 1j])):
        check_grads(lambda f, h=spacing: np.gradient(f, h, edge_order=edge_order), (f,))


@pytest.mark.parametrize("points", [[0.0, 1.0, 3.0, 4.5], (0, 1, 3, 4), range(4)])
def test_gradient_at_points_in_a_list(points):
    f, matrix = np.array([1.0, 4.0, 2.0, 8.0]), np.arange(12.0).reshape(3, 4) ** 2
    for function, x in (
        (lambda x: np.gradient(x, points), f),
        (lambda x: np.gradient(x, points, edge_order=2), f),
        (lambda x: np.stack(np.gradient(x, [0, 1, 3], points)), matrix),
        (lambda x: np.gradient(x, points, axis=1), matrix),
    ):
        assert_array_equal(ld.vjp(function, x)[0], function(x))
        check_grads(function, (x,))
    jacobian = ld.jacobian(lambda x: np.gradient(x, points))
    assert_array_equal(jacobian(f), ld.jacobian(lambda x: np.gradient(x, np.array(points)))(f))
    assert_array_equal(ld.program(jacobian)(f), jacobian(f))


SELECTIONS = {
    "max": np.max,
    "min": np.min,
    "max of rows": lambda x: np.sum(np.max(np.reshape(x, (2, 2)), axis=1)),
    "maximum.reduce": np.maximum.reduce,
    "sort": lambda x: np.sort(x)[-1],
    "median": np.median,
    "accumulate": lambda x: np.maximum.accumulate(x)[-1],
    "maximum": lambda x: np.maximum(x[0], x[1]),
    "minimum": lambda x: np.minimum(x[0], x[1]),
    "clip": lambda x: np.sum(np.clip(x, 0.0, 2.0)),
    "clip by arrays": lambda x: np.sum(np.clip(x, np.zeros(4), np.full(4, 2.0))),
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_derivative_of_nan_is_not_zero(name, dtype):
    """A selection that is NaN is the NaN among its arguments, and has its derivative."""
    x = np.array([1.0, np.nan, 3.0, -1.0], dtype)
    f = SELECTIONS[name]
    assert np.isnan(f(x))
    assert ld.grad(f)(x)[1] == 1.0
    assert ld.jvp(f, (x,), (np.array([0, 2, 0, 0], dtype),))[1] == 2.0
    assert ld.linearize(f, x)[1](np.array([0, 2, 0, 0], dtype)) == 2.0


def test_an_extreme_without_nan_beside_one_with():
    x = np.array([[1.0, 3.0, 3.0], [np.nan, 5.0, np.nan]])
    assert_array_equal(ld.grad(lambda x: np.sum(np.max(x, axis=1)))(x), [[0, 0.5, 0.5], [0.5, 0, 0.5]])
    x[0, 0] = np.nan
    where = np.array([[False, True, True], [True, True, True]])
    f = lambda x: np.sum(np.max(x, axis=1, where=where, initial=-9.0))
    assert_array_equal(ld.grad(f)(x), [[0, 0.5, 0.5], [0.5, 0, 0.5]])


# -- what is not used may be anything ------------------------------------------------------------------------

DIRTY = np.array([1.0, np.nan, 3.0, np.inf])
USED = np.isfinite(DIRTY)
MASKED = {
    "nanvar": lambda x: np.nanvar((DIRTY * x)[:3]),
    "nanstd": lambda x: np.nanstd((DIRTY * x)[:3]),
    "nanmean": lambda x: np.nanmean((DIRTY * x)[:3]),
    "nanprod": lambda x: np.nanprod((DIRTY * x)[:3]),
    "nanmedian": lambda x: np.nanmedian((DIRTY * x)[:3]),
    "var": lambda x: np.var(DIRTY * x, where=USED),
    "std": lambda x: np.std(DIRTY * x, where=USED),
    "mean": lambda x: np.mean(DIRTY * x, where=USED),
    "prod": lambda x: np.prod(DIRTY * x, where=USED),
    "complex var": lambda x: np.var((1 + 1j) * DIRTY * x, where=USED),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", MASKED.values(), ids=MASKED)
def test_masked_elements_that_are_not_finite_have_no_say_in_any_mode(f):
    x = np.array([1.3, 0.7, 0.2, 0.4])
    gradient = ld.grad(f)(x)
    assert np.all(np.isfinite(gradient))
    assert gradient[1] == gradient[3] == 0
    forward = [ld.jvp(f, (x,), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(forward, gradient, rtol=1e-13, atol=1e-15)
    hessian = ld.hessian(f)(x)
    assert np.all(np.isfinite(hessian))
    columns = [ld.jvp(ld.grad(f), (x,), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(columns, hessian, rtol=1e-12, atol=1e-14)


OF_COLUMNS = {
    "var": np.var,
    "std": np.std,
    "nanvar": np.nanvar,
    "norm": np.linalg.norm,
    "norm 1": lambda a, axis: np.linalg.norm(a, 1, axis=axis),
    "norm 3": lambda a, axis: np.linalg.norm(a, 3, axis=axis),
    "norm inf": lambda a, axis: np.linalg.norm(a, np.inf, axis=axis),
    "complex norm": lambda a, axis: np.linalg.norm(a * 1j, axis=axis),
    "complex var": lambda a, axis: np.var(a * 1j, axis=axis),
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "median": np.median,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("reduce", OF_COLUMNS.values(), ids=OF_COLUMNS)
def test_a_reduction_that_is_not_used_may_be_infinite(reduce):
    y, x = np.array([[np.inf, 3.0, 2.0], [1.0, 2.0, 3.0]]), np.array([1.3, 0.7, 0.2])
    weights = np.array([1.0, 2.0])

    def late(x):
        return np.sum(reduce(y * x, axis=0)[1:] * weights).real

    def early(x):
        return np.sum(reduce((y * x)[:, 1:], axis=0) * weights).real

    np.testing.assert_allclose(ld.grad(late)(x), ld.grad(early)(x), rtol=1e-13)
    np.testing.assert_allclose(ld.hessian(late)(x), ld.hessian(early)(x), rtol=1e-12, atol=1e-14)
