"""Every record of every ``table_<family>.py`` as a program: recorded with some numbers, run with others."""

import numpy as np
import pytest
from test_table import CASES

import lindiff as ld
from lindiff.core import pytree
from lindiff.programs import program


def value_and_pullback(case):
    def call(*arrays):
        value, pullback = ld.vjp(case, *arrays)
        return value, pullback(pytree.tree_map(lambda y: y * 0 + 1, value))

    return call


def outcome(function, arrays):
    """The leaves of the result, or the class of the error."""
    try:
        return pytree.flatten(function(*arrays))[0]
    except Exception as error:
        return type(error)


def others(arrays):
    """Numbers near by, of the same form."""
    rng = np.random.default_rng(0)
    return [
        np.asarray(x * (1 + 0.01 * rng.random(x.shape)), x.dtype) if x.dtype.kind in "fc" else x
        for x in arrays
    ]


def assert_same(got, expected, scipys):
    if isinstance(expected, type):
        assert got is expected
        return
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        if callable(b) or isinstance(b, (str, type(None))):
            assert a == b or callable(b)
            continue
        if scipys and np.ndim(b) == 0:  # which gives numbers of Python's here and there
            a, b = np.asarray(a), np.asarray(b)
        assert (type(a), np.shape(a)) == (type(b), np.shape(b))
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype.kind == b.dtype.kind
        assert scipys or a.dtype == b.dtype
        if b.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b)
        elif b.size:
            scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_program(case):
    arrays = case.arrays(np.float64)
    for function in [case] if case.operator.constant else [case, value_and_pullback(case)]:
        fast = program(function)
        for given in (arrays, arrays, others(arrays), arrays):
            expected = outcome(function, [x.copy() for x in given])
            assert_same(outcome(fast, given), expected, case.id.startswith("scipy"))
