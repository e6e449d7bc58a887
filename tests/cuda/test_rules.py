"""Every rule on CuPy arrays: the records of the tests' tables, against their results on NumPy's.

What CuPy lacks is skipped, with its own words or those of the table of its names.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from standin import names
from table import _is_differentiated

import lindiff as ld
from lindiff.core import pytree
from lindiff.core.registry import full_name

# Of lindiff.linalg and scipy.linalg, which have tests of their own kernels, and what takes no CuPy arrays.
ELSEWHERE = (
    "table_linalg", "table_operators", "table_scipy", "table_distances", "table_splines", "table_images",
)  # fmt: skip
SLOW = ("scipy.stats.f (pdf, ...)",)  # a quadrature in each element
HOST_ONLY = ("scipy.signal.sosfiltfilt",)
FAMILIES = [path.stem for path in sorted(Path(__file__).parent.parent.glob("table_*.py"))]
OPERATORS = [
    operator
    for family in FAMILIES
    if not family.startswith(ELSEWHERE)
    for operator in importlib.import_module(family).OPERATORS
]
CASES = [
    case
    for operator in OPERATORS
    for case in operator.cases()
    if operator.name not in (*SLOW, *HOST_ONLY)
    if any(isinstance(leaf, np.ndarray) for leaf in pytree.flatten((case.sample.args, case.sample.kwargs))[0])
]
IN_SINGLE = [
    case for case in CASES if case.number == 0 and case.operator.single and not case.operator.constant
]
SECOND_ORDER = 2  # samples of each record that are differentiated twice

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rule(cupy, rng, case):
    tried(cupy, rng, case, np.float64, case.number < SECOND_ORDER and is_numpy(case))


@pytest.mark.parametrize("case", IN_SINGLE, ids=lambda case: case.id)
def test_rule_in_single_precision(cupy, rng, case):
    tried(cupy, rng, case, np.float32, False)


def tried(cupy, rng, case, dtype, twice):
    """The comparison, or a skip that says what CuPy lacks."""
    try:
        compare(cupy, rng, case, dtype, twice)
    except Exception as error:
        reason = what_cupy_lacks(cupy, case, error)
        if reason is None:
            raise
        pytest.skip(reason)


def compare(cupy, rng, case, dtype, twice):
    """Value and derivatives of a case on both kinds of arrays; second derivatives where ``twice``."""
    tolerance = 1e-3 if dtype is np.float32 else 1e-8
    arrays = case.arrays(dtype)
    device, on_device = [cupy.asarray(a) for a in arrays], of_device(cupy, case)
    if case.operator.constant:
        got = on_device(*map(ld.Variable, device))
        return assert_same(cupy, tolerance, ld.value(got), case.of_arrays(arrays, reference=True))
    y, pullback = ld.vjp(case, *arrays)
    y_bar = pytree.tree_map(lambda part: random_like(rng, part), y)
    x_dot = [random_like(rng, a) for a in arrays]
    x_dot_ = [cupy.asarray(a) for a in x_dot]
    y_, pullback_ = ld.vjp(on_device, *device)
    y_bar_ = beside(cupy, y_bar, y_)
    assert_same(cupy, tolerance, y_, y)
    assert_same(cupy, tolerance, pullback_(y_bar_), pullback(y_bar))
    assert_same(cupy, tolerance, ld.jvp(on_device, device, x_dot_)[1], ld.jvp(case, arrays, x_dot)[1])
    if case.operator.order == 1 or not twice:
        return None

    def gradient(*x):
        return ld.vjp(case, *x)[1](y_bar)

    def gradient_(*x):
        return ld.vjp(on_device, *x)[1](y_bar_)

    x_bar = [random_like(rng, a) for a in arrays]
    assert_same(cupy, tolerance, ld.jvp(gradient_, device, x_dot_)[1], ld.jvp(gradient, arrays, x_dot)[1])
    pulled, pulled_ = ld.vjp(gradient, *arrays)[1], ld.vjp(gradient_, *device)[1]
    return assert_same(cupy, tolerance, pulled_(tuple(map(cupy.asarray, x_bar))), pulled(tuple(x_bar)))


def is_numpy(case):
    return full_name(case.operator.function).startswith("numpy.")


def of_device(cupy, case):
    """The call of a case, with its constants on the device as well: arrays, and lists of numbers."""

    def call(*arrays):
        remaining = iter(arrays)

        def moved(x):
            if isinstance(x, np.ndarray):
                return next(remaining) if _is_differentiated(x) else cupy.asarray(x)
            if type(x) is list and is_constant(x):
                return cupy.asarray(np.array(x))
            if type(x) in (list, tuple):
                return type(x)(map(moved, x))
            return {name: moved(part) for name, part in x.items()} if isinstance(x, dict) else x

        operator = case.operator
        function = operator.function if operator.call is None else operator.call
        return function(*moved(case.sample.args), **moved(case.sample.kwargs))

    return call


def is_constant(nested):
    """Whether a list is of floating point numbers or truth values; integers tell axes and places."""
    kinds = {type(leaf) for leaf in pytree.flatten(nested)[0]}
    return kinds == {bool} or (kinds <= {bool, int, float, complex} and bool(kinds & {float, complex}))


def random_like(rng, x):
    return np.asarray(rng.standard_normal(np.shape(x)), np.result_type(x))


def beside(cupy, cotangent, y):
    """A cotangent on the device wherever the result is."""
    leaves, restore = pytree.flatten(cotangent)
    parts = pytree.flatten(y)[0]
    return restore(
        [
            cupy.asarray(leaf) if isinstance(part, cupy.ndarray) else leaf
            for leaf, part in zip(leaves, parts, strict=True)
        ]
    )


def assert_same(cupy, tolerance, got, expected):
    """Of one structure, shape and dtype, on the device, and equal up to rounding."""
    got, expected = pytree.flatten(got)[0], pytree.flatten(expected)[0]
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        if not isinstance(b, np.ndarray) and not isinstance(a, cupy.ndarray):
            assert a == b or (a != a and b != b)
            continue
        assert type(a) is cupy.ndarray
        assert (a.shape, a.dtype) == (np.shape(b), np.result_type(b))
        np.testing.assert_allclose(a.get(), b, rtol=tolerance, atol=tolerance)


def what_cupy_lacks(cupy, case, error):
    """Why a case cannot run on CuPy, which is not the fault of lindiff; None if it is."""
    function = case.operator.function
    if not has(function):
        return f"CuPy has no {full_name(function).removeprefix('lindiff.')}"
    for name in re.findall(r"numpy\.([\w.]+)' on types|<ufunc '_?(\w+)'>", str(error)):
        called = name[0] or name[1]
        module, _, short = ("numpy." + called).rpartition(".")
        if not names.has("cupy" + module.removeprefix("numpy"), short) and names.ufunc(called) is None:
            return f"CuPy has no {called}, which the rule calls"
    if is_numpy(case):
        try:
            of_device(cupy, case)(*(cupy.asarray(a) for a in case.arrays()))
        except Exception as of_cupy:
            return f"CuPy: {of_cupy}"
    return None


def has(function):
    """Whether CuPy has a function of NumPy's or SciPy's; lindiff's own need none."""
    if isinstance(function, np.ufunc):
        return names.ufunc(function.__name__) is not None or names.has("cupy", function.__name__)
    module, _, name = full_name(function).rpartition(".")
    parts = [part for part in module.removeprefix("lindiff.").split(".") if not part.startswith("_")]
    if parts[0] == "numpy":
        return names.has(".".join(["cupy", *parts[1:]]), name)
    return parts[:2] != ["scipy", "special"] or names.has("cupyx.scipy.special", name)


MIXTURES = {
    "add": lambda v, a: v + a,
    "reflected": lambda v, a: a * v,
    "matmul": lambda v, a: v @ a,
    "power": lambda v, a: v**a,
    "ufunc": lambda v, a: np.arctan2(a, v),
    "where": lambda v, a: np.where(a > 0, v, a),
    "stack": lambda v, a: np.stack([v, a]),
    "in place": lambda v, a: v.__iadd__(a),
    "setitem": lambda v, a: v.__setitem__(0, a[0]),
    "clip": lambda v, a: np.clip(v, a, 2.0),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures_raise_and_name_both(cupy, name):
    a = np.ones((2, 2))

    def f(x):
        return MIXTURES[name](x * 1.0, a)

    for transform in (lambda x: ld.vjp(f, x), lambda x: ld.jvp(f, (x,), (x,))):
        with pytest.raises(TypeError, match=r"numpy\.ndarray and cupy\.ndarray do not mix"):
            transform(cupy.asarray(a))


def test_cotangents_and_tangents_are_of_the_library_of_the_values(cupy):
    x = np.ones(3)
    x_ = cupy.asarray(x)
    pullback = ld.vjp(np.exp, x_)[1]
    with pytest.raises(
        TypeError, match=r"the cotangent is a numpy\.ndarray, the function's result a cupy\.nd"
    ):
        pullback(x)
    with pytest.raises(TypeError, match=r"the tangent is a numpy\.ndarray, the primal a cupy\.ndarray"):
        ld.jvp(np.exp, (x_,), (x,))
    with pytest.raises(
        TypeError, match=r"the cotangent is a cupy\.ndarray, the function's result a numpy\.nd"
    ):
        ld.vjp(np.exp, x)[1](x_)
    assert type(pullback([1.0, 2.0, 3.0])[0]) is cupy.ndarray
