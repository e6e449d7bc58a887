"""``np.logaddexp`` in programs: NumPy's to the last places, whatever stands beside a number."""

import mpmath
import numpy as np
import pytest

import lindiff as ld


def by_program(x, y):
    """What a program gives once it repeats what it has recorded."""
    fast = ld.program(lambda x, y: np.logaddexp(x, y))
    with np.errstate(all="ignore"):
        return [fast(x, y) for _ in range(4)][-1]


def pairs(rng, n):
    """Numbers of all sizes, equal ones, and what lies on both sides of where NumPy's own loop is taken."""
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-20, 5, n)
    y = np.where(rng.random(n) < 0.5, x + rng.standard_normal(n) * 10.0 ** rng.integers(-20, 3, n), 0.0)
    return np.concatenate(
        [x, rng.uniform(-750, 750, n), [0, 0, 1, -1, 700, 0, 0, 701, 1e300, 2e300]]
    ), np.concatenate([y, np.zeros(n), [0, 1, 1, 1, 0, 700, 701, 0, 1e300, 2e300]])


def test_values():
    x, y = pairs(np.random.default_rng(0), 20_000)
    got, expected = by_program(x, y), np.logaddexp(x, y)
    added = expected - np.maximum(x, y)
    few = 3 * np.spacing(np.abs(added)) + np.spacing(np.abs(expected)) * (np.maximum(x, y) != 0)
    assert np.all(np.abs(got - expected) <= few)
    np.testing.assert_array_equal(by_program(y, x), got)


def test_accuracy():
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.uniform(-40, 0, 500), rng.uniform(-700, 0, 200), -(10.0 ** rng.uniform(-18, 0, 200))]
    )
    got = by_program(x, np.zeros(x.size))
    with mpmath.workdps(40):
        for one, other in zip(got, x, strict=True):
            exact = mpmath.log1p(mpmath.exp(mpmath.mpf(float(other))))
            assert abs(mpmath.mpf(float(one)) - exact) <= 2.1 * np.spacing(float(exact))


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e308,
    -1e308,
    5e-324,
    -700.0,
    -700.0000001,
    -745.0,
    -800.0,
]


def test_numbers_that_are_not_finite_or_far_apart():
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(by_program(x, y), np.logaddexp(x, y), rtol=1e-15, atol=0)


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 33, 100])
def test_what_stands_beside_a_number_does_not_matter(n):
    x, y = (part[:2000] for part in pairs(np.random.default_rng(2), 1000))
    expected = by_program(x, y)
    fast = ld.program(lambda x, y: np.logaddexp(x, y))
    for _ in range(3):
        fast(x[:n], y[:n])
    for start in range(0, 200, 7):
        np.testing.assert_array_equal(
            fast(x[start : start + n], y[start : start + n]), expected[start : start + n]
        )
    beside = x.copy()
    beside[::3] = np.inf
    others = np.arange(x.size) % 3 != 0
    np.testing.assert_array_equal(by_program(beside, y)[others], expected[others])


def test_numbers_and_rows_with_gaps():
    x, y = np.linspace(-3, 3, 24).reshape(4, 6), np.cos(np.arange(6.0))
    fast = ld.program(
        lambda x, y: (
            np.logaddexp(x, y),
            np.logaddexp(x[:, ::2], 0.0),
            np.logaddexp(x.T, y[:4]),
            np.logaddexp(x[0, 0], 0),
        )
    )
    for _ in range(4):
        got = fast(x, y)
    expected = (
        np.logaddexp(x, y),
        np.logaddexp(x[:, ::2], 0.0),
        np.logaddexp(x.T, y[:4]),
        np.logaddexp(x[0, 0], 0),
    )
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)
    whole = by_program(x.ravel(), np.tile(y, 4)).reshape(4, 6)
    np.testing.assert_array_equal(got[0], whole)


def test_single_precision_is_numpys():
    x = np.linspace(-100, 100, 50, dtype=np.float32)
    np.testing.assert_array_equal(by_program(x, x[::-1].copy()), np.logaddexp(x, x[::-1]))


def test_warnings_are_numpys():
    fast = ld.program(lambda x, y: np.logaddexp(x, y))
    x = np.linspace(-1, 1, 40)
    with np.errstate(all="raise"):
        for _ in range(4):
            fast(x, x[::-1].copy())
            fast(x * 1e-200, np.zeros(40))  # squares of which are no numbers
            fast(x * 600, np.zeros(40))
        with pytest.raises(FloatingPointError, match="underflow"):
            np.logaddexp(-740.0, 0.0)
        with pytest.raises(FloatingPointError, match="underflow"):
            fast(np.where(x < 0, x, -740.0), np.zeros(40))
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(fast(np.full(40, np.inf), np.full(40, np.inf)), np.full(40, np.inf))


def test_derivatives():
    def f(x, y):
        return np.sum(np.logaddexp(x, y) * np.cos(x))

    x, y = np.linspace(-3, 3, 30), np.sin(np.arange(30.0))
    dots = np.cos(x), np.sin(y)
    for derivative in (
        lambda: ld.grad(f, (0, 1)),
        lambda: lambda *args: ld.jvp(f, args, dots),
        lambda: lambda *args: ld.hvp(f, args, dots),
    ):
        fast = ld.program(derivative())
        for _ in range(4):
            got = fast(x, y)
        for one, other in zip(got, derivative()(x, y), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
