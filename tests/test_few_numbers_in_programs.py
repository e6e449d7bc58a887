"""Programs compute a few numbers, and products of few rows, by functions of their own: the same bits."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lindiff as ld

SPECIAL = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 5e-324, 1e308, 3.0, 1 / 3, -7e-200])
OPERATIONS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negative": lambda x, y: -x + 0 * y,
    "square": lambda x, y: np.square(x) - y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
}
SIZES = [1, 2, 3, 4, 15, 17, 40, 63, 64, 65]  # loops of NumPy's begin at 65


def numbers(n, seed, dtype):
    rng = np.random.default_rng(seed)
    return rng.choice(np.concatenate([SPECIAL, rng.standard_normal(20)]), n).astype(dtype)


def assert_same_bits(result, expected):
    for x, y in zip(np.ravel(result), np.ravel(expected), strict=True):
        assert type(x) is type(y)
        assert x.tobytes() == y.tobytes() or (np.isnan(x) and np.isnan(y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPERATIONS)
def test_values(name, dtype):
    operation = OPERATIONS[name]
    layouts = [
        lambda x, y: operation(x, y),
        lambda x, y: operation(x[0], y),
        lambda x, y: operation(x, y[0]),
        lambda x, y: operation(x[0], y[0]),
        lambda x, y: operation(x[::-1], y),
        lambda x, y: operation(np.stack([x, y])[:, 0], x[0]),
    ]
    for n, layout in itertools.product(SIZES, layouts):
        with np.errstate(all="ignore"):
            fast = ld.program(layout)
            for seed in range(6):
                x, y = numbers(n, seed, dtype), numbers(n, seed + 50, dtype)
                assert_same_bits(fast(x, y), layout(x, y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPERATIONS)
def test_rows(name, dtype):
    """Many rows of few numbers each, one row and many, many numbers and rows; sums and choices of them."""
    operation = OPERATIONS[name]

    def along(x, y):
        rows, columns = operation(x, y[:1]), operation(x[:, :1], y)
        return (
            rows,
            columns,
            operation(x.T, y[:, 0]),
            np.sum(rows, axis=0),
            np.where(rows == columns, x[:, :1], y),
        )

    for n in SIZES:
        with np.errstate(all="ignore"):
            fast = ld.program(along)
            for seed in range(5):
                x, y = (numbers(5 * n, seed + more, dtype).reshape(5, n) for more in (0, 50))
                for result, expected in zip(fast(x, y), along(x, y), strict=True):
                    assert result.dtype == expected.dtype
                    assert_same_bits(result, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (16, 16), (16, 17), (1, 4), (4, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPERATIONS)
def test_columns(name, dtype, shape):
    """Matrices that lie by columns, or backwards, beside others; 256 numbers, and more."""
    operation = OPERATIONS[name]

    def function(x, y):
        return operation(x, y.T), operation(y.T, x[::-1]), operation(x[:, ::-1], y.T[::-1]), y.T.copy() * x

    fast = ld.program(function)
    for seed in range(5):
        x = numbers(shape[0] * shape[1], seed, dtype).reshape(shape)
        y = numbers(shape[0] * shape[1], seed + 50, dtype).reshape(shape[::-1])
        with np.errstate(all="ignore"):
            for result, expected in zip(fast(x, y), function(x, y), strict=True):
                assert_same_bits(result, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", SIZES)
def test_the_chain_rule(n, dtype):
    def pulled(x, y, g):
        return ld.vjp(lambda x, y: (x * y, x / y, np.square(x) * y), x, y)[1]((g, g[::-1] + 0, g))

    with np.errstate(all="ignore"):
        fast = ld.program(pulled)
        for seed in range(6):
            args = [numbers(n, seed + 10 * k, dtype) for k in range(3)]
            for result, expected in zip(fast(*args), pulled(*args), strict=True):
                assert_same_bits(result, expected)


@pytest.mark.parametrize("n", [1, 4, 17])
@pytest.mark.parametrize(
    "last",
    ["x + 1", "np.exp(x * 0)", "x.copy()", "np.maximum(x, 1)", "x @ x", "(x[:, None] + x * 1e-3).T - x"],
)
def test_warnings_are_not_lost(n, last):
    """What a sum has noted is still there when a loop has cleared it."""
    function = eval(f"lambda x: ({last}, x * x)[::-1] + (1 / x,) + ({last},)", {"np": np})
    fast = ld.program(function)
    for _ in range(3):
        fast(np.full(n, 2.0))
    for x in (np.full(n, 1e200), np.zeros(n), np.full(n, 2.0)):
        said = []
        for f in (fast, function):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                f(x)
            said.append(sorted(str(warning.message) for warning in caught))
        assert said[0] == said[1]


def product_in_loops(x, y):
    z = np.zeros((x.shape[0], y.shape[1]))
    for i, j in np.ndindex(z.shape):
        for p in range(x.shape[1]):
            z[i, j] += x[i, p] * y[p, j]
    return z


def laid_out(X):
    """The same matrix by rows, by columns, and with gaps, backwards."""
    gaps = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
    gaps[::2, ::-2] = X
    return [X, np.asfortranarray(X), gaps[::2, ::-2]]


@pytest.mark.parametrize("rows", range(1, 6))
def test_products_of_few_rows(rows):
    rng = np.random.default_rng(rows)
    for k, n in itertools.product(range(1, 6), repeat=2):
        A, B = rng.standard_normal((rows, k)), rng.standard_normal((k, n))
        expected = product_in_loops(A, B)
        fast = ld.program(lambda x, y: x @ y)
        for x, y in itertools.product(laid_out(A), laid_out(B)):
            assert_array_equal(ld.vjp(lambda x, y: x @ y, x, y)[0], expected)
            for _ in range(3):  # the first ones ask NumPy's BLAS
                result = fast(x, y)
            assert_array_equal(result, expected)
