"""Under ``patch_numpy`` a Variable is to ``float``, ``isinstance`` and ``item`` what its value is."""

import collections.abc
import copy
import functools
import math
import numbers
import pickle
import sys
import types
import typing
from collections.abc import Iterable

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.core import namespaces

x = np.array([1.3, 0.4, 2.1])
REAL = {"float": float, "int": int, "complex": complex} | {
    name: getattr(np, name) for name in ["float64", "float32", "complex128", "complex64", "int64", "int32"]
}


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def exactly(x, name):
    return type(x) is REAL[name]


# -- numbers -------------------------------------------------------------------------------------------

CALLS = {
    "float": lambda x: float(x[0]) * float(x[1] ** 2),
    "float of an array without axes": lambda x: float(np.array(x[0])) ** 2,
    "map": lambda x: sum(map(float, x)) ** 2,
    "partial": lambda x: functools.partial(float)(x[2]) * x[0],
    "complex": lambda x: abs(complex(x[0]) + 2j),
    "float64": lambda x: np.float64(x[0]) ** 3 + np.sum(np.float64(x) ** 2),
    "double": lambda x: np.double(x[0]) ** 3,
    "complex128": lambda x: abs(np.complex128(x[1]) + 1j),
    "item": lambda x: x.item(1) ** 2 + x[0].item() ** 3 + x[1:2].item() + np.reshape(x, (1, 3)).item(0, 2),
    "int": lambda x: int(x[0] * 5.1) * x[1] + np.int64(x[2]) * x[0],
    "list of floats": lambda x: np.sum(np.array([float(part) for part in x]) ** 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_keep_derivatives(name):
    f = CALLS[name]
    with ld.patch_numpy():
        gradient = ld.grad(f)(x)
        expected = differences(f, x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)


def test_calls_give_what_they_gave():
    with ld.patch_numpy():
        assert exactly(float("1.5"), "float")
        assert exactly(float.fromhex("0x1p3"), "float")
        assert exactly(int("11", base=2), "int")
        assert exactly(complex(1, 2), "complex")
        assert exactly(np.float64(1), "float64")
        assert isinstance(np.float64([1, 2]), np.ndarray)
        whole = []
        ld.grad(lambda x: whole.append(int(x[2])) or x[0])(x)
    assert exactly(whole[0], "int")
    assert whole == [2]


def test_float32_keeps_its_precision():
    with ld.patch_numpy():
        gradient = ld.grad(lambda x: np.float32(x) * x)(np.float64(1.1))
    assert gradient == pytest.approx(2.2, rel=1e-6)


def test_errors_are_the_same():
    with ld.patch_numpy():
        for f in [float, int, np.float64]:
            with pytest.raises((TypeError, ValueError)):
                f("no number")
        with pytest.raises(TypeError, match=r"0-dimensional|length-1|size-1"):
            ld.grad(lambda x: float(x))(x)
        with pytest.raises((TypeError, ValueError)):
            ld.grad(lambda x: x.item())(x)
    with pytest.raises(TypeError, match="silently"):
        ld.grad(lambda x: float(x[0]))(x)
    with pytest.raises(TypeError, match="item"):
        ld.grad(lambda x: x.item(0))(x)


@pytest.mark.parametrize("name", REAL)
def test_dtypes_are_those_of_the_type(name):
    real = REAL[name]
    expected = np.dtype(real)
    with ld.patch_numpy():
        kind = {"float": float, "int": int, "complex": complex}.get(name) or getattr(np, name)
        assert id(kind) != id(real)
        made = [
            np.zeros(2, kind), np.array([1, 2], kind), np.array([], dtype=kind), np.asarray([1], dtype=kind),
            np.full(2, 1, dtype=kind), np.ones(2, np.int8).astype(kind), np.arange(3).astype(dtype=kind),
            np.fromiter([1, 2], kind), np.empty_like([1], dtype=kind), np.eye(2, dtype=kind),
            np.linspace(0, 1, 3, dtype=kind), np.add([1], [2], dtype=kind), np.cumsum([1, 2], dtype=kind),
            np.ones(3, np.int8).sum(dtype=kind), np.vectorize(lambda x: x, otypes=[kind])([1]),
            np.zeros(expected.itemsize, np.uint8).view(kind), np.genfromtxt(["1 2"], dtype=kind),
            np.loadtxt(["1 2"], dtype=kind), np.concatenate([[1], [2]], dtype=kind, casting="unsafe"),
            np.zeros(2, [("a", kind)])["a"], np.zeros(2, {"names": ["a"], "formats": [kind]})["a"],
        ]  # fmt: skip
        assert [part.dtype for part in made] == [expected] * len(made)
        assert np.dtype(kind) == expected == kind
        assert np.dtype((kind, (2,))).base == expected
        assert np.result_type(kind) == np.promote_types(kind, kind) == expected
        for other in [np.number, np.floating, np.integer, np.float64, np.generic]:
            assert np.issubdtype(kind, other) == np.issubdtype(real, other)
            assert np.issubdtype(expected, kind) == np.issubdtype(expected, real)
        info = np.finfo if expected.kind in "fc" else np.iinfo
        assert info(kind).bits == info(real).bits


@pytest.mark.parametrize("name", REAL)
def test_it_is_the_type(name):
    real = REAL[name]
    with ld.patch_numpy():
        kind = {"float": float, "int": int, "complex": complex}.get(name) or getattr(np, name)
        one = kind(1)
        assert isinstance(one, kind)
        assert isinstance(one, kind | None)
        assert isinstance(one, (str, kind))
        assert isinstance(one, typing.Union[str, kind])  # noqa: UP007
        assert not isinstance("1", kind)
        assert issubclass(real, kind)
        assert issubclass(kind, real)
        assert type(one) == kind  # noqa: E721
        assert kind == type(one)  # noqa: E721
        assert type(one) in (str, kind)
        assert kind != str  # noqa: E721
        assert {real: 1}[kind] == {kind: 1}[real] == 1
        assert kind.__name__ == real.__name__
        assert repr(kind) == repr(real)
        assert id(pickle.loads(pickle.dumps(kind))) == id(real)
        assert copy.deepcopy(kind) == real
        match one:
            case kind():
                pass
            case _:
                raise AssertionError

        class Derived(kind):
            def twice(self):
                return 2 * self

        assert id(Derived.__mro__[1]) == id(real)
        assert type(Derived) is type
        assert Derived(2).twice() == 4


def test_a_module_that_compares_types_by_identity_keeps_them():
    module = types.ModuleType("comparing")
    source = "def is_float(x):\n    return type(x) is float\n\ndef number(x):\n    return float(x)\n"
    source += "def whole(x):\n    return int(x)\n\nclass A:\n    def f(self, dtype=None):\n"
    source += "        return dtype is not np.float64\n"
    module.np = np
    exec(compile(source, "comparing.py", "exec"), vars(module))
    sys.modules["comparing"] = module
    try:
        with ld.patch_numpy(modules=["comparing"]):
            assert module.is_float(1.0)
            assert module.A().f(REAL["float32"])
            assert not module.A().f(REAL["float64"])
            assert module.np is not namespaces
            assert ld.grad(lambda x: module.whole(x) * x)(2.5) == 2.0
            with pytest.raises(TypeError, match="comparing"):
                ld.grad(module.number)(1.0)
    finally:
        del sys.modules["comparing"]


# -- isinstance ----------------------------------------------------------------------------------------


def kinds(v):
    return (
        isinstance(v, np.ndarray), isinstance(v, float), isinstance(v, np.floating), isinstance(v, Iterable),
        isinstance(v, np.generic), isinstance(v, collections.abc.Sized), hasattr(v, "__len__"),
        isinstance(v, typing.Iterable), isinstance(v, collections.abc.Sequence), hasattr(v, "__iter__"),
        isinstance(v, numbers.Real), isinstance(v, (list, np.ndarray)), isinstance(v, (int, float)),
        isinstance(v, complex), isinstance(v, str), isinstance(v, int | float),
    )  # fmt: skip


def matched(v):
    match v:
        case np.ndarray():
            return "array"
        case float():
            return "number"
    return "neither"


def test_isinstance_sees_the_value():
    seen = []

    def f(x):
        arrays = [x, x[0], x[0] + 0j, np.where(True, x[0], 0.0), np.zeros(2)]
        seen.extend([*map(kinds, arrays), matched(x), matched(x[0])])
        return x[0]

    numbers_ = [x, x[0], x[0] + 0j, np.array(1.0), np.zeros(2)]
    expected = [*map(kinds, numbers_), "array", "number"]
    with ld.patch_numpy():
        ld.grad(f)(x)
        ld.hessian(f)(x)
        ld.jvp(f, (x,), (x,))
    assert seen == 3 * expected


def test_isinstance_elsewhere_is_as_before():
    def f(x):
        asked.append(isinstance(x, np.ndarray) or isinstance(x[0], (float, numbers.Real)))
        return x[0]

    asked = []
    ld.grad(f)(x)
    with ld.patch_numpy():
        pass
    ld.grad(f)(x)
    assert asked == [False, False]
    assert not namespaces.patched


def test_types_of_plain_arrays_are_as_before():
    with ld.patch_numpy():
        array = np.ones(2)
        assert type(array) is np.ndarray
        assert exactly(array[0], "float64")
        assert type(array.view(np.ndarray)) is np.ndarray

        class Own(np.ndarray):
            pass

        assert isinstance(array.view(Own), np.ndarray)


def test_ndarray_of_the_namespace():
    names = {"np": lnp, "asked": []}
    code = "def f(x):\n    asked.append([isinstance(y, np.ndarray) for y in (x, x[0], np.zeros(2), [])])\n"
    exec(code + "    return x[0]", names)
    ld.grad(names["f"])(x)
    assert names["asked"] == [[True, False, True, False]]
    assert lnp.ndarray is np.ndarray
    other = {"np": np, "asked": []}
    exec(code + "    return x[0]", other)
    ld.grad(other["f"])(x)
    assert other["asked"] == [[False, False, True, False]]


def test_abstract_classes_are_what_they_were():
    real = vars(collections.abc)["Iterable"]
    with ld.patch_numpy():
        assert id(Iterable) != id(real)
        assert isinstance([], Iterable)
        assert issubclass(list, collections.abc.Sized)
        assert not isinstance(1, typing.Iterable)
        assert Iterable == real
        assert Iterable[int] == real[int]
        assert isinstance([], Iterable | None)

        class Own(Iterable):
            def __iter__(self):
                return iter(())

        assert id(Own.__mro__[1]) == id(real)
        assert isinstance(Own(), real)
    assert id(Iterable) == id(real)


@functools.singledispatch
def kind_of(x):
    return "other"


kind_of.register(REAL["float"])(lambda x: "number")
kind_of.register(np.ndarray)(lambda x: "array")


def test_dispatch_by_type():
    seen = []

    def f(x):
        seen.append((kind_of(x), kind_of(x[0])))
        return x[0]

    with ld.patch_numpy():
        ld.grad(f)(x)
    assert seen == [("array", "number")]


def test_objects_are_not_asked_for_their_class(monkeypatch):
    class Proxy:
        @property
        def __class__(self):
            raise RuntimeError("not bound")

    monkeypatch.setitem(globals(), "proxy", Proxy())
    with ld.patch_numpy():
        assert ld.grad(lambda x: float(x[0]) ** 2)(x)[0] == pytest.approx(2.6)


def test_views_as_other_classes():
    with ld.patch_numpy():
        assert ld.grad(lambda x: np.sum(x.view(np.ndarray) ** 2))(x)[1] == 0.8
        with pytest.raises(TypeError, match=r"ld.value\(v\).view\(matrix\)"):
            ld.grad(lambda x: x.view(np.matrix))(x)


def test_whole_numbers_that_take_a_float_apart_are_refused():
    """As mpmath does it: nothing is cut off, so the derivative would be lost."""

    def taken_apart(x):
        mantissa, exponent = math.frexp(x[0])
        return math.ldexp(int(mantissa * 2**53), exponent - 53)

    with ld.patch_numpy(), pytest.raises(TypeError, match=r"int\(v\) of a Variable beyond 2\*\*52"):
        ld.grad(taken_apart)(x)


def test_complex_of_two_parts():
    with ld.patch_numpy():
        f = lambda x: abs(complex(x[0], x[1]) * complex(2.0, x[2])) ** 2 + complex(x[0], 1.0).real
        value, gradient = ld.value_and_grad(f)(x)
        plain = abs(complex(x[0], x[1]) * complex(2.0, x[2])) ** 2 + x[0]
    np.testing.assert_allclose(value, plain)
    size, other = x[0] ** 2 + x[1] ** 2, 4.0 + x[2] ** 2
    np.testing.assert_allclose(gradient, [2 * x[0] * other + 1, 2 * x[1] * other, 2 * x[2] * size])


def test_as_a_decorator():
    @ld.patch_numpy()
    def gradient(x):
        return ld.grad(lambda x: math.exp(x[0]) * float(x[1]))(x)

    np.testing.assert_allclose(gradient(x), [math.exp(x[0]) * x[1], math.exp(x[0]), 0.0])
    assert "float" not in globals()
