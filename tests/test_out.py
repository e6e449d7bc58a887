"""``out=`` a Variable: every function that has it writes there what it would have returned."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from test_table import CASES

import lindiff as ld
from lindiff.core.variable import untraced


def takes_out(function):
    if isinstance(function, np.ufunc):
        return True
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled, or not NumPy's
        return False


def is_suitable(case):
    operator, kwargs = case.operator, case.sample.kwargs
    return operator.call is None and takes_out(operator.function) and not {"out", "where"} & {*kwargs}


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
def test_out_takes_the_result_and_its_derivative(rng):
    tested = set()
    for case in CASES:
        if not is_suitable(case):
            continue
        x = case.arrays()
        y, pullback = ld.vjp(case, *x)
        if not isinstance(y, (np.ndarray, np.generic)) or y.dtype.kind not in "fc":
            continue  # several results
        tested.add(case.operator.name)

        def written(*arrays, case=case, y=y):
            out = untraced(np.full(y.shape, 7, y.dtype))
            keywords = {**case.sample.kwargs, "out": out}
            assert replace(case, sample=replace(case.sample, kwargs=keywords))(*arrays) is out
            return out

        z, pullback_of_written = ld.vjp(written, *x)
        np.testing.assert_array_equal(z, y, err_msg=case.id)
        y_bar = rng.standard_normal(np.shape(y)).astype(y.dtype)
        for got, expected in zip(pullback_of_written(y_bar), pullback(y_bar), strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=case.id)
    assert len(tested) > 100
