"""``out=`` a Variable: every function that has it writes there what it would have returned."""

from __future__ import annotations

import inspect
import io
from dataclasses import replace

import numpy as np
import pytest
from scipy import special
from test_layout import OURS
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
    if getattr(operator.function, "__name__", "") in (
        "cdist",
        "pdist",
    ):  # they refuse it, and say what to write
        return False
    return operator.call is None and takes_out(operator.function) and not {"out", "where"} & {*kwargs}


def gives_number(name, out):
    """Whether NumPy returns another number than the one it has written to ``out``."""
    return name in ("dot", "linalg.multi_dot", "multi_dot") and out.ndim == 0


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
            found = replace(case, sample=replace(case.sample, kwargs=keywords))(*arrays)
            assert found is out or gives_number(case.operator.name, out)
            return out

        z, pullback_of_written = ld.vjp(written, *x)
        np.testing.assert_array_equal(z, y, err_msg=case.id)
        y_bar = rng.standard_normal(np.shape(y)).astype(y.dtype)
        for got, expected in zip(pullback_of_written(y_bar), pullback(y_bar), strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=case.id)
    assert len(tested) > 100


def by_position(function, args, kwargs):
    """The arguments of a call that come before ``out`` and those that stay by name."""
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    place = [*signature.parameters].index("out")
    before, after = [*bound.arguments.items()][:place], [*bound.arguments.items()][place + 1 :]
    others = {name: x for name, x in after if x is not signature.parameters[name].default}
    others.update(others.pop("kwargs", {}))
    return [None if x is np._NoValue else x for _, x in before], others


def takes_out_by_position(function):
    return (
        not isinstance(function, np.ufunc)
        and inspect.signature(function).parameters["out"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    )


@pytest.mark.parametrize("namespace", ["numpy", "lindiff.numpy"])
@pytest.mark.filterwarnings("ignore")
def test_out_by_position(namespace):
    tested = set()
    for case in CASES:
        function = case.operator.function
        if not is_suitable(case) or not takes_out_by_position(function):
            continue
        call = function if namespace == "numpy" else OURS[function]
        as_given = replace(case.operator, call=lambda *args, **kwargs: (args, kwargs))
        arguments = replace(case, operator=as_given)

        def difference(*arrays, function=function, call=call, arguments=arguments):
            args, kwargs = by_position(function, *arguments(*arrays))
            y = call(*args, **kwargs)
            if not isinstance(y, (ld.Variable, np.ndarray, np.generic)):
                return 0.0  # several results
            out = untraced(np.full(y.shape, 7).astype(y.dtype))
            assert call(*args, out, **kwargs) is out or gives_number(function.__name__, out)
            np.testing.assert_array_equal(ld.value(out), ld.value(y))
            return out - y if y.dtype.kind in "fc" else 0.0

        x = case.arrays()
        _, tangent = ld.jvp(difference, x, x)
        assert not np.any(np.nan_to_num(tangent)), case.id
        tested.add(function)
    assert len(tested) > 30


# the arguments of a method before ``out``
METHODS = {
    **dict.fromkeys(["sum", "prod", "cumsum", "cumprod", "mean", "std", "var"], (0, None)),
    **dict.fromkeys(["max", "min", "all", "any", "argmax", "argmin"], (0,)),
    **dict.fromkeys(["conj", "conjugate"], ()),
    "dot": (np.ones((3, 2)),),
    "take": ([0, 1], 1),
    "compress": ([True, False], 0),
    "clip": (1.0, 3.0),
    "round": (1,),
    "trace": (0, 0, 1, None),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_out_by_position(name):
    X, before = np.arange(6.0).reshape(2, 3) + 0.5, METHODS[name]
    expected = np.asarray(getattr(X, name)(*before))

    def f(v):
        out = untraced(np.zeros_like(expected))
        assert getattr(v, name)(*before, out) is out
        np.testing.assert_array_equal(ld.value(out), expected)
        return np.sum(v)

    ld.grad(f)(X)


def test_constants_go_into_plain_arrays():
    def f(v):
        plain, held = np.ones(3), np.zeros((2, 3))
        c = untraced(np.arange(3.0))
        np.add(plain, c, out=plain)
        assert np.multiply(c, c, out=held[1]) is not None
        np.sum(np.stack([c, c]), axis=0, out=held[0])
        np.add.accumulate(c, out=plain[:])
        np.testing.assert_array_equal(held, [[0, 2, 4], [0, 1, 4]])
        np.testing.assert_array_equal(plain, [0, 1, 3])
        with pytest.raises(TypeError, match="cannot write into an array"):
            np.add(c, v, out=plain)
        return np.sum(v)

    ld.grad(f)(np.ones(3))


def test_functions_without_a_rule_take_constants():
    def f(v):
        c, text, held = untraced(np.arange(3.0)), io.StringIO(), io.BytesIO()
        np.savetxt(text, c)
        np.save(held, c)
        np.savez(held, c, named=[c, c])
        assert text.getvalue().split() == [f"{k:.18e}" for k in range(3)]
        np.testing.assert_array_equal(special.itj0y0(c)[0], special.itj0y0(np.arange(3.0))[0])
        with pytest.raises(TypeError, match="savetxt"):
            np.savetxt(text, v)
        with pytest.raises(TypeError, match="savez"):
            np.savez(held, named=[c, v])
        return np.sum(v)

    ld.grad(f)(np.ones(3))


def test_reductions_do_not_broadcast_into_out():
    def f(x, out):
        for reduction in (np.sum, np.max, np.cumsum, np.std, np.nanmax, np.add.reduce, np.add.accumulate):
            with pytest.raises(ValueError, match=r"dimension|wrong size|match|broadcast"):
                reduction(x, axis=0, out=out)
        return np.sum(x)

    for shape in ((2, 3), (2, 1), (1,)):
        x = np.ones(shape)
        for out in (np.zeros((4, *shape)), np.zeros((1, *shape)), np.zeros(5)):
            f(x, out)
            ld.grad(lambda v, out=out: f(v, untraced(out.copy())))(x)
