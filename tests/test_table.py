"""The generic tests: every record of every ``table_<family>.py`` goes through all of them."""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lindiff as ld
from lindiff.core import pytree
from lindiff.core.registry import full_name, handled_functions
from lindiff.core.variable import is_untraced
from lindiff.testing import check_grads

FAMILIES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("table_*.py"))]
OPERATORS = [operator for family in FAMILIES for operator in family.OPERATORS]
CASES = [case for operator in OPERATORS for case in operator.cases()]


def selected(condition):
    cases = [case for case in CASES if condition(case)]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


differentiable = selected(lambda case: not case.operator.constant)
in_single = selected(lambda case: not case.operator.constant and case.operator.single)
with_complex = selected(lambda case: not case.operator.constant and case.operator.complex)
constant = selected(lambda case: case.operator.constant)


def assert_same(got, expected, rtol=1e-12):
    """Equal up to rounding, of one structure, shape and dtype, and plain."""
    got, expected = pytree.flatten(got)[0], pytree.flatten(expected)[0]
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert not isinstance(a, ld.Variable)
        if not isinstance(b, (np.ndarray, np.generic)):
            assert a == b
            continue
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=rtol, atol=0.1 * rtol)
        else:
            np.testing.assert_array_equal(a, b)


def assert_value(case, dtype):
    arrays = case.arrays(dtype)
    expected = case.of_arrays(arrays, reference=True)
    rtol = 1e-5 if dtype is np.float32 else 1e-12
    assert_same(ld.vjp(case, *arrays)[0], expected, rtol)
    assert_same(ld.jvp(case, arrays, arrays)[0], expected, rtol)


@differentiable
def test_value(case):
    assert_value(case, np.float64)


@in_single
def test_value_in_single_precision(case):
    assert_value(case, np.float32)


@with_complex
def test_value_of_complex(case):
    assert_value(case, np.complex128)


@differentiable
def test_derivatives(case):
    operator = case.operator
    arrays = case.arrays()
    check_grads(case, arrays, operator.order, rtol=operator.rtol, adjoint_rtol=operator.adjoint_rtol)


@in_single
def test_derivatives_in_single_precision(case):
    check_grads(case, case.arrays(np.float32), order=1)


@with_complex
def test_derivatives_of_complex(case):
    operator = case.operator
    arrays = case.arrays(np.complex128)
    check_grads(case, arrays, operator.order, rtol=operator.rtol, adjoint_rtol=operator.adjoint_rtol)


@differentiable
def test_memory_layout_does_not_matter(case):
    if case.operator.name == "as_strided":
        pytest.skip("its steps are those of the memory")
    arrays = case.arrays()
    strided = [np.asarray(np.stack([a, a], axis=-1)[..., 0]) for a in arrays]
    fortran = [np.array(a, order="F") for a in arrays]
    y, pullback = ld.vjp(case, *arrays)
    y_bar = pytree.tree_map(lambda part: np.ones(np.shape(part), np.result_type(part)), y)
    expected = pullback(y_bar)
    for others in (strided, fortran):
        for got, wanted in zip(ld.vjp(case, *others)[1](y_bar), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@constant
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
def test_constants_run_on_variables(case):
    arrays = case.arrays()
    expected = case.of_arrays(arrays, reference=True)
    got = case(*map(ld.Variable, arrays))
    assert_same(ld.value(got) if is_untraced(got) else got, expected)


def test_every_rule_has_a_record():
    tested = {function for operator in OPERATORS for function in (operator.function, *operator.also)}
    missing = sorted({full_name(f) for f in handled_functions() if f not in tested})
    assert not missing, f"rules without a record in a table_*.py: {missing}"


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older versions have parameters without effect"
)
def test_every_keyword_is_in_a_record():
    """``out`` has tests of its own; ``like`` brings functions here that have no argument to find them by."""
    elsewhere = {"out", "like", "order", "subok", "device", "einsum_call"}
    used = defaultdict(set)
    for operator in OPERATORS:
        for function in (operator.function, *operator.also):
            for one in operator.samples(np.random.default_rng(0)):
                used[function] |= {*one.kwargs, *positional_names(function, one.args)}
    missing = {}
    for function in handled_functions():
        parameters = {} if isinstance(function, np.ufunc) else documented_parameters(function)
        names = {name for name, p in parameters.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
        if "like" not in parameters and names - used[function] - elsewhere:
            missing[full_name(function)] = names - used[function] - elsewhere
    assert not missing


def documented_parameters(function):
    """Of a NumPy function (those of numpy.polynomial have tests of their own)."""
    name = full_name(function)
    if not name.startswith("numpy.") or name.startswith("numpy.polynomial."):
        return {}
    try:
        return inspect.signature(function).parameters
    except ValueError:  # compiled
        return {}


def positional_names(function, args):
    return [name for name, _ in zip(documented_parameters(function), args, strict=False)]


def test_names_of_records_differ():
    names = [operator.name for operator in OPERATORS]
    assert sorted(set(names)) == sorted(names)


def names_of_needed(case):
    """The names of the arguments of a function that takes no others here, and all of these by name."""
    parameters = documented_parameters(case.operator.function).values()
    needed = itertools.takewhile(
        lambda p: p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD, parameters
    )
    names = [p.name for p in needed]
    is_called = case.operator.call is None and not case.operator.name.startswith("unique_")  # by place alone
    return names if is_called and len(names) == len(case.sample.args) else []


@selected(lambda case: not case.operator.constant and names_of_needed(case))
def test_arguments_by_name(case):
    kwargs = {**dict(zip(names_of_needed(case), case.sample.args, strict=True)), **case.sample.kwargs}
    by_name = replace(case, sample=replace(case.sample, args=(), kwargs=kwargs))
    arrays = by_name.arrays()
    expected = by_name.of_arrays(arrays)
    value, tangent = ld.jvp(by_name, arrays, arrays)
    for found in (value, ld.vjp(by_name, *arrays)[0], ld.program(by_name)(*arrays)):
        assert_same(found, expected)
    assert_same(tangent, ld.jvp(case, arrays, arrays)[1])
