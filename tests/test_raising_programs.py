"""Functions that raise while they are recorded: they run once where that is what they would do anyway."""

import traceback

import numpy as np
import pytest
from test_recorded_programs import calls, count

import lindiff as ld
from lindiff.programs import program

X = np.array([1.0, 2.0, 3.0])


class Refused(ValueError):
    pass


def positive(x):
    if x[0] < 0:
        raise Refused(f"below zero: {x[0]}")
    return np.sqrt(x)


exec(  # pytest would rewrite it
    """
def asserting(x):
    y = positive(np.exp(x)) * 2
    assert np.all(y < 10), "too large"
    return y
"""
)


def in_a_loop(x):
    for k in range(5):
        x = x * 2
        if np.sum(x) > 50:
            raise OverflowError("after", k)
    return x


def of_an_operation(x):
    return np.linalg.cholesky(np.diag(x))


RAISING = {
    "raise": (positive, X, -X),
    "assert": (globals()["asserting"], X, X * 3),
    "in a loop": (in_a_loop, X / 10, X),
    "an operation": (of_an_operation, X, -X),
}


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        lines = [(at.name, at.line) for at in traceback.extract_tb(error.__traceback__)]
        return type(error), str(error), error.args, lines[-1]


@pytest.mark.parametrize("of", RAISING)
@pytest.mark.parametrize("first", [0, 1, 2, 3, 4])
def test_a_function_that_raises_runs_once(of, first):
    """The call that raises is the first, second, ... one; the program is known thereafter."""
    function, good, bad = RAISING[of]
    counting = calls(function)
    fast = program(counting)
    for k in range(8):
        x, before = (bad if k == first else good) * (1 + k / 100), count(counting)
        result, expected = outcome(fast, x), outcome(function, x)
        if k == first:
            assert result == expected
        else:
            np.testing.assert_allclose(result, expected, rtol=1e-14)
        assert count(counting) - before <= 1
    assert count(counting) == before  # the last runs were the program's


def test_written_arguments_and_kept_arrays_of_a_function_that_raises():
    log = []

    def f(x, into):
        log.append(x * 2)
        into += x
        if into[0] > 2:
            raise Refused("too much")
        return into

    fast, into = program(f), np.full(3, 1.5)
    with pytest.raises(Refused, match="too much"):
        fast(X, into)
    np.testing.assert_array_equal(into, X + 1.5)
    assert [type(x) for x in log] == [np.ndarray]


def test_a_gradient_of_a_function_that_raises():
    counting = calls(lambda x: np.sum(positive(x)))
    fast = program(ld.grad(counting))
    for x in (-X, X, -X, X, X, X):
        result, expected = outcome(fast, x), outcome(ld.grad(lambda x: np.sum(positive(x))), x)
        assert result == expected if x is not X and x[0] < 0 else np.allclose(result, expected)
    assert count(counting) == 4


def refuses_other_classes(x):
    if type(x) is not np.ndarray:
        raise TypeError("no array")
    return x * 2


def refuses_by_an_alias(x, kind=type):
    if kind(x).__name__ != "ndarray":
        raise TypeError("no array")
    return x * 2


def swallows(x):
    try:
        bytes_of = len(memory(x))
    except TypeError:
        bytes_of = 0
    if not bytes_of:
        raise ValueError("nothing there")
    return x * 2


memory = memoryview


def says_another_thing(x):
    try:
        return x * len(memory(x))
    except TypeError:
        raise ValueError("no memory") from None


def of_another_object(x):
    if x is not X:
        raise ValueError("another array")
    return x * 2


def has_attributes(x):
    if hasattr(x, "recording"):
        raise TypeError("what is this?")
    return x * 2


@pytest.mark.parametrize(
    "f",
    [
        refuses_other_classes,
        refuses_by_an_alias,
        swallows,
        says_another_thing,
        of_another_object,
        has_attributes,
    ],
)
def test_what_is_raised_for_recorded_arrays_alone_is_not_seen(f):
    fast = program(f)
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), f(X))
