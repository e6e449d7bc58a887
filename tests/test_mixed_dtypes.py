"""NumPy's functions of single beside double precision, real beside complex: values have the dtypes that NumPy
gives them, gradients those of the inputs.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_table import CASES

import lindiff as ld
from lindiff.core import pytree
from lindiff.core.registry import full_name

COMBINATIONS = [("f4", "f8"), ("f8", "c16"), ("c8", "f4"), ("f4", "c16")]

# NumPy's variance of real numbers around a complex mean is no real number; the rank that lstsq finds depends
# on the precision.
OF_ONE_DTYPE = {"var with mean", "std with mean", "lstsq (low rank)"}


def mixed(case, combination):
    """The arguments of ``case`` in these dtypes, taking turns."""
    of_kind = {"f": case.arrays(), "c": case.arrays(np.complex128)}
    turns = [np.dtype(combination[i % 2]) for i in range(len(of_kind["f"]))]
    return tuple(of_kind[dtype.kind][i].astype(dtype) for i, dtype in enumerate(turns))


def is_suitable(case, combination):
    operator = case.operator
    if not full_name(operator.function).startswith("numpy."):
        return False
    if operator.constant or operator.name in OF_ONE_DTYPE or len(case.arrays()) < 2:
        return False
    has_complex = any("c" in name for name in combination)
    return (operator.complex or not has_complex) and (operator.single or "f4" not in combination)


def random_like(tree, rng):
    def one(x):
        parts = rng.standard_normal((2, *np.shape(x)))
        dtype = np.result_type(x)
        return (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)

    return pytree.tree_map(one, tree)


def inner(a, b):
    """Re(aᴴ b) over the floating parts of two trees."""
    pairs = zip(pytree.flatten(a)[0], pytree.flatten(b)[0], strict=True)
    return sum(np.vdot(x, y).real for x, y in pairs if np.result_type(x).kind in "fc")


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_mixed_dtypes(combination):
    rng = np.random.default_rng(0)
    tested = 0
    for case in CASES:
        if not is_suitable(case, combination):
            continue
        x = mixed(case, combination)
        try:
            expected = case.of_arrays(x, reference=True)
        except TypeError:  # NumPy does not mix them
            continue
        tested += 1
        y, pullback = ld.vjp(case, *x)
        for got, wanted in zip(pytree.flatten(y)[0], pytree.flatten(expected)[0], strict=True):
            assert np.shape(got) == np.shape(wanted), case.id
            assert np.result_type(got) == np.result_type(wanted), case.id
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
        y_bar, x_dot = random_like(y, rng), random_like(x, rng)
        y_dot, x_bar = ld.jvp(case, x, x_dot)[1], pullback(y_bar)
        for array, gradient in zip(x, x_bar, strict=True):
            assert (gradient.shape, gradient.dtype) == (array.shape, array.dtype), case.id
        assert inner(x_bar, x_dot) == pytest.approx(inner(y_bar, y_dot), rel=2e-3, abs=2e-3), case.id
    assert tested > 100


@pytest.mark.parametrize("default", [0, True, 0.5, np.float64(1), np.float32(2), np.int8(3), np.array(2.0)])
@pytest.mark.parametrize("choice", [0.5, 1, 1j, True, np.float64(0.5), np.array(0.5), np.float32(1)])
def test_numbers_among_the_choices_of_select(default, choice):
    x = np.array([[0.7, -0.9], [0.1, 2]], np.float32)

    def f(x):
        return np.select([x > 0.5, x < -0.5], [x, choice], default)

    expected, got = f(x), ld.vjp(f, x)[0]
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(f(x).real))(x), x > 0.5)


NUMBERS = [0.5, 1, True, np.float64(0.5), np.float32(0.25), np.array(0.5), [0.5], np.int64(2), np.uint8(1)]
BESIDE = {
    "piecewise": lambda x, c: np.piecewise(x, [x > 0], [c, lambda t: t * 2]),
    "prod": lambda x, c: np.prod(x, initial=c),
    "sum": lambda x, c: np.sum(x, initial=c),
    "max": lambda x, c: np.max(x, initial=c),
    "quantile": lambda x, c: np.quantile(x, c),
    "percentile": lambda x, c: np.percentile(x, c),
    "average": lambda x, c: np.average(x, weights=np.full(4, c)),
    "linspace": lambda x, c: np.linspace(c, x[0], 3),
    "geomspace": lambda x, c: np.geomspace(x[0], c, 3),
    "where": lambda x, c: np.where(x > 0, x, c),
    "clip": lambda x, c: np.clip(x, None, c),
    "insert": lambda x, c: np.insert(x, 1, c),
    "append": np.append,
    "choose": lambda x, c: np.choose([0, 1, 0, 1], [x, c]),
    "power": lambda x, c: np.abs(x) ** np.asarray(c) if isinstance(c, list) else np.abs(x) ** c,
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda c: f"{type(c).__name__}")
def test_numbers_beside_single_precision(name, number):
    x = np.array([0.7, -0.9, 0.1, 2], np.float32)
    if name == "percentile" and (number is True or isinstance(number, np.uint8)):
        pytest.skip("NumPy's versions differ")
    try:
        expected = BESIDE[name](x, number)
    except (TypeError, ValueError) as error:
        pytest.skip(f"NumPy: {error}")
    got = ld.vjp(lambda x: BESIDE[name](x, number), x)[0]
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)
