"""Every name of an ndarray is accounted for: a Variable does the same, or says why not."""

from __future__ import annotations

import numpy as np
import pytest
from test_methods import CALLS

import lindiff as ld
from lindiff.core.variable import untraced

X = np.array([[0.5, -1.5, 2.5], [1.0, 3.0, -0.5]])

ATTRIBUTES = """
    T device dtype flags flat imag itemsize mT nbytes ndim real shape size strides
"""
FURTHER_CALLS = {
    "searchsorted": (np.array([0.1]),),
    "squeeze": (),
    "to_device": ("cpu",),
    "view": (),
}
IN_PLACE = {"fill": (3.0,), "partition": (1,), "put": ([0, 4], [7.0, 8.0]), "sort": (0,)}
OF_CONSTANTS = {  # they would lose the derivative
    "byteswap": (),
    "choose": ([1.0, 2.0],),
    "dump": ("file",),
    "dumps": (),
    "getfield": (float,),
    "item": (0,),
    "tobytes": (),
    "tofile": ("file",),
    "tolist": (),
}
REFUSED = {"resize": ((3, 2),), "setfield": (1.0, float)}
OF_MEMORY = "base ctypes data"  # a Variable has no memory of its own to show

OPERATORS = """
    abs add divmod eq floordiv ge getitem gt iadd ifloordiv imatmul imod imul ipow isub itruediv le lt
    matmul mod mul ne neg pos pow radd rdivmod rfloordiv rmatmul rmod rmul rpow rsub rtruediv setitem sub
    truediv
"""
CONVERSIONS = "array bool complex contains copy deepcopy float format index int iter len repr str"
OF_INTEGERS = """
    and iand ilshift invert ior irshift ixor lshift or rand rlshift ror rrshift rshift rxor xor
"""
PROTOCOLS = "array_function array_priority array_ufunc dlpack dlpack_device"
OF_PLAIN_ARRAYS = """
    array_finalize array_interface array_struct array_wrap class_getitem setstate buffer
"""


def special(*lists):
    return {f"__{name}__" for names in lists for name in names.split()}


def names_of(object_):
    """The names it answers to; NumPy's class also lists what has expired."""
    return {name for name in dir(np.ndarray) if hasattr(object_, name)}


def test_every_public_name_is_accounted_for():
    public = {name for name in names_of(X) if not name.startswith("_")}
    kinds = [CALLS, FURTHER_CALLS, IN_PLACE, OF_CONSTANTS, REFUSED, ATTRIBUTES.split(), OF_MEMORY.split()]
    kinds = [*kinds, ["setflags"]]
    listed = [name for kind in kinds for name in kind]
    assert sorted(set(listed)) == sorted(listed)
    assert public - {"tostring"} <= set(listed)  # tostring: until NumPy 2.2
    assert names_of(ld.Variable(X)) >= public - {"tostring", *OF_MEMORY.split()}


def test_every_special_name_is_accounted_for():
    has, lacks = special(OPERATORS, CONVERSIONS, PROTOCOLS), special(OF_INTEGERS, OF_PLAIN_ARRAYS)
    names = {name for name in dir(np.ndarray) if name.startswith("__")}
    assert names - set(dir(object)) - has - lacks <= {"__delitem__", "__array_namespace__"}
    assert has <= set(dir(ld.Variable(X)))
    assert not lacks & set(dir(ld.Variable))


@pytest.mark.parametrize("name", sorted(FURTHER_CALLS))
def test_further_methods(name):
    x = X[:1, :] if name == "squeeze" else np.sort(X[0]) if name == "searchsorted" else X
    got, expected = (
        getattr(ld.Variable(x), name)(*FURTHER_CALLS[name]),
        getattr(x, name)(*FURTHER_CALLS[name]),
    )
    np.testing.assert_array_equal(ld.value(got), expected)
    assert ld.value(got).dtype == expected.dtype


@pytest.mark.parametrize("name", ATTRIBUTES.split())
def test_attributes(name):
    got, expected = getattr(ld.Variable(X), name), getattr(X, name)
    if name == "flags":
        assert (got.c_contiguous, got.f_contiguous) == (expected.c_contiguous, expected.f_contiguous)
    elif name == "flat":
        np.testing.assert_array_equal(ld.value(got), np.fromiter(expected, float))
    else:
        np.testing.assert_array_equal(ld.value(got), expected)


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_methods_that_write(name):
    v, x = ld.Variable(X) * 1, X.copy()
    assert getattr(v, name)(*IN_PLACE[name]) is None
    getattr(x, name)(*IN_PLACE[name])
    np.testing.assert_array_equal(ld.value(v), x)


@pytest.mark.parametrize("name", sorted(OF_CONSTANTS))
def test_what_would_lose_the_derivative_is_refused(name):
    with pytest.raises(TypeError, match=rf"write .*ld\.value\(v\)\.{name}\("):
        getattr(ld.Variable(X), name)(*OF_CONSTANTS[name])


@pytest.mark.parametrize("name", ["item", "tolist", "tobytes", "byteswap"])
def test_constants_have_no_derivative_to_lose(name):
    arguments = OF_CONSTANTS[name]
    np.testing.assert_array_equal(getattr(untraced(X), name)(*arguments), getattr(X, name)(*arguments))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_would_change_the_array_itself_is_refused(name):
    with pytest.raises(TypeError, match=rf"a Variable has no {name}"):
        getattr(ld.Variable(X), name)(*REFUSED[name])


def test_devices():
    with pytest.raises(ValueError, match="cannot be moved"):
        ld.Variable(X).to_device("cuda")


def test_remainders_in_place_are_seen_by_other_names():
    def f(x):
        y = x * 1
        other = y
        y %= 2.0
        np.testing.assert_array_equal(ld.value(other), np.array([1.0, 0.5]))
        return np.sum(other**2)

    np.testing.assert_allclose(ld.grad(f)(np.array([3.0, 4.5])), [2.0, 1.0])
    quotient = ld.Variable([3.0, 4.5]) * 1
    quotient //= 2.0
    np.testing.assert_array_equal(ld.value(quotient), [1.0, 2.0])


def test_flags_can_be_set_to_what_they_are():
    for v in (ld.Variable(X) * 1, untraced(X.copy())):
        v.setflags(write=True, align=True)
        v.flags.writeable = True
        v.flags["W"] = True
        for refused in (
            lambda v: v.setflags(write=False),
            lambda v: v.setflags(False),
            lambda v: setattr(v.flags, "writeable", False),
        ):
            with pytest.raises(TypeError, match=r"v\.copy\(\)"):
                refused(v)
        for name, arguments in {"resize": ((3, 2),), "setfield": (1.0, float)}.items():
            with pytest.raises(TypeError, match="write v"):
                getattr(v, name)(*arguments)
    constant = untraced(X.copy())
    with pytest.raises(ValueError, match="read-only"):
        constant.byteswap(inplace=True)
