"""What is no differentiable input gets the right answer, or an error that says what to write."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.core.record import current_trace, root_trace


@pytest.fixture(autouse=True)
def later_calls_are_right():
    yield
    assert current_trace() is root_trace
    assert ld.grad(lambda x: x * x)(3.0) == 6.0


# -- Variables where plain numbers are needed --------------------------------------------------------------

LEAKS = {
    "float": (float, "ld.value"),
    "int": (int, "ld.value"),
    "complex": (complex, "ld.value"),
    "math.log": (math.log, "np.log"),
    "index": (lambda v: [1, 2][v], "ld.value"),
    "range": (lambda v: range(v), "ld.value"),
    "asarray": (np.asarray, "ld.value"),
    "array": (np.array, "ld.value"),
    "array of a list": (lambda v: np.array([v, 1.0]), "np.array([v, 1.0], like=v)"),
    "asarray with dtype": (lambda v: np.asarray(v, dtype=float), "ld.value"),
    "slice": (lambda v: np.zeros(2).__setitem__(slice(0, 1), v), "np.stack"),
    "fancy": (lambda v: np.zeros(2).__setitem__([0], v), "np.stack"),
    "float64": (np.float64, "ld.value"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_leaks_say_what_to_write(leak):
    function, hint = LEAKS[leak]
    for f in (function, lambda v: function(v * 1.0)):
        with pytest.raises(TypeError, match=re.escape(hint)):
            ld.grad(f)(2.0)
        with pytest.raises(TypeError, match=re.escape(hint)):
            ld.jvp(f, (2.0,), (1.0,))
        with pytest.raises(TypeError, match=re.escape(hint)):
            f(ld.Variable(2.0))


def test_assignment_of_one_element():
    def f(v):
        a = np.zeros(3)
        a[0] = v
        return a

    with pytest.raises(TypeError, match=r"a = np\.zeros\(3, like=v\)"):
        ld.grad(f)(2.0)


def test_control_flow_on_values():
    def f(x):
        if x > 1.0 and x[0] != 2.0 if x.shape else x > 1.0:
            return x * x
        return -x

    assert ld.grad(f)(3.0) == 6.0
    assert ld.grad(f)(0.5) == -1.0
    assert ld.grad(lambda x: max(x, 2.0 * x))(3.0) == 2.0
    assert ld.grad(lambda x: sum([x, x, x]))(3.0) == 3.0


# -- functions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x", [2.0, np.float32(2), np.ones(3, "f4"), np.ones((2, 0)), np.ones(2, complex), [1.0, 2.0], {"a": 1.0}]
)
def test_results_that_depend_on_nothing(x):
    for f in (
        lambda x: 3.0,
        lambda x: np.float64(3.0),
        lambda x: np.array(3.0),
        lambda x: ld.stop_gradient(3.0),
    ):
        gradient = ld.grad(f)(x)
        for g, like in zip(ld.core.pytree.flatten(gradient)[0], ld.core.pytree.flatten(x)[0], strict=True):
            assert np.shape(g) == np.shape(like)
            assert np.asarray(g).dtype == np.asarray(like).dtype
            assert not np.any(g)
        y, pullback = ld.vjp(f, x)
        assert y == 3.0
        pullback(1.0)
        assert ld.jvp(f, (x,), (x,)) == (3.0, 0.0)
        assert ld.linearize(f, x)[1](x) == 0.0


@pytest.mark.parametrize(
    "result", [np.ones(2), np.ones((1, 1)), (1.0, 2.0), None, "text", [], {"a": 1.0}, object()]
)
def test_gradients_need_one_number(result):
    for f in (lambda x: result, lambda x: (x, result)):
        with pytest.raises(TypeError, match=r"(?s)one number.*"):
            ld.grad(f)(1.0)


def test_gradient_of_an_array_says_how_to_reduce_it():
    with pytest.raises(TypeError, match=r"shape \(3,\).*np\.sum.*ld\.jacobian"):
        ld.grad(lambda x: x * 2.0)(np.ones(3))


def test_integer_results():
    assert ld.grad(lambda x: 3)(1.0) == 0.0
    y, pullback = ld.vjp(lambda x: (x, np.argmax(ld.value(x))), np.array([1.0, 2.0]))
    assert y[1] == 1
    np.testing.assert_array_equal(pullback((np.ones(2), 0.0))[0], 1.0)


# -- arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x", [3, np.int32(3), np.array(3), np.array([1, 2], "u1"), [1, 2], np.array([[1, 2]], ">i2")]
)
def test_integers_are_promoted(x):
    gradient = ld.grad(lambda x: np.sum(x * x) if not isinstance(x, list) else x[0] * x[1])(x)
    for g in ld.core.pytree.flatten(gradient)[0]:
        assert np.asarray(g).dtype == np.float64


REFUSED = {
    "bool": (True, "dtype=float"),
    "bool array": (np.array([True]), "dtype=float"),
    "object": (np.array([1.0, None]), "dtype=float"),
    "string": ("abc", "no derivative"),
    "strings": (np.array(["a", "b"]), "no derivative"),
    "bytes": (b"a", "no derivative"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "no derivative"),
    "structured": (np.zeros(2, [("a", float)]), "no derivative"),
    "record": (np.rec.array([(1.0,)], dtype=[("a", float)]), "no derivative"),
    "masked": (np.ma.array([1.0, 2.0], mask=[0, 1]), "filled"),
    "long double": (np.longdouble(1.0), "astype"),
    "complex long double": (np.ones(2, "G"), "astype"),
    "a set": ({1.0}, "no derivative"),
    "a function": (abs, "no derivative"),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_refused_arguments(refused):
    x, hint = REFUSED[refused]
    if np.dtype("g") == np.dtype("d") and "long" in refused:
        pytest.skip("long double is double here")
    for run in (
        lambda: ld.grad(lambda x: 1.0)(x),
        lambda: ld.grad(lambda x: 1.0)([1.0, x]),
        lambda: ld.jvp(lambda x: x, (x,), (x,)),
        lambda: ld.Variable(x),
        lambda: ld.jacobian(lambda x: x)({"a": x}),
    ):
        with pytest.raises(TypeError, match=hint):
            run()


def test_matrices_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.matrix([[1.0, 2.0]])
    with pytest.raises(TypeError, match=r"np\.asarray"):
        ld.grad(lambda x: 1.0)(x)


def test_none_is_an_empty_tree():
    assert ld.grad(lambda t: t[1] * 2.0)((None, 1.0)) == (None, 2.0)
    assert ld.grad(lambda x: 3.0)(None) is None


class Weights:
    """A class of the user's own."""


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"w": 1.0, "name": "layer"}, r"'layer', which has no derivative: .* argnums"),
        ([1.0, Weights()], r"a Weights, which has no derivative: make it a dict"),
        ({"w": 1.0, "mask": np.array([True])}, r"dtype bool.*dtype=float.*argnums"),
        (np.zeros(2, [("a", float)]), r"dict of its fields"),
    ],
)
def test_what_is_no_number_is_named_with_the_place_for_it(argument, message):
    with pytest.raises(TypeError, match=message):
        ld.grad(lambda p: 1.0)(argument)


def test_variables_of_variables():
    v = ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="already"):
        ld.Variable(v)
    with pytest.raises(TypeError, match=r"np\.stack"):
        ld.Variable([v, v])


# -- layouts and precisions --------------------------------------------------------------------------------


def layouts():
    x = np.linspace(0.1, 1.2, 12).reshape(3, 4)
    yield "C", x
    yield "Fortran", np.asfortranarray(x)
    yield "strided", np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3]
    yield "reversed", x[::-1, ::-1].copy()[::-1, ::-1]
    yield "broadcast", np.broadcast_to(x[:1], (3, 4))
    yield "swapped bytes", x.astype(">f8")
    unaligned = np.zeros(x.nbytes + 1, "u1")[1:].view("f8").reshape(3, 4)
    unaligned[...] = x
    yield "unaligned", unaligned
    frozen = x.copy()
    frozen.setflags(write=False)
    yield "read-only", frozen
    yield "field", np.stack([x, x], -1).view([("a", "f8"), ("b", "f8")])[..., 0]["a"]
    yield "half", x.astype("f2")
    yield "single", x.astype("f4")
    yield "memmap-like", x.view(np.recarray).view(np.ndarray)


@pytest.mark.parametrize(("name", "x"), list(layouts()), ids=lambda p: p if isinstance(p, str) else "")
def test_layouts_and_precisions(name, x):
    def f(x):
        return (
            np.sum(np.sin(x) * x.T[1] * x[:, ::-1].T[0][:1] / (x @ np.ones((4, 4), x.dtype) + 2))
            if x.shape[0] == 4
            else np.sum(np.sin(x) * x[1] / (x @ np.ones((4, 4), x.dtype) + 2))
        )

    before = x.tobytes()
    gradient = ld.grad(f)(x)
    assert x.tobytes() == before
    assert gradient.shape == x.shape
    assert gradient.dtype == x.dtype
    exact = ld.grad(f)(np.array(x, dtype="f8"))
    np.testing.assert_allclose(
        gradient.astype("f8"), exact, rtol=0, atol={"f": 1e-5, "e": 1e-1}.get(x.dtype.char, 1e-13)
    )
    gradient += 1  # it is writeable memory
    assert x.tobytes() == before


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (1, 1, 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_small_shapes(shape, dtype):
    x = np.ones(shape, dtype)
    f = (lambda x: np.sum(np.real(x * x))) if dtype == "c16" else (lambda x: np.sum(x * x))
    gradient = ld.grad(f)(x)
    assert isinstance(gradient, np.ndarray)
    assert gradient.shape == shape
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, 2.0)
    assert ld.jacobian(lambda x: x * x, holomorphic=x.dtype.kind == "c")(x).shape == shape + shape


def test_mixed_precisions():
    x, y = np.ones(3, "f4"), np.ones(3, "f8")
    gx, gy = ld.grad(lambda x, y: np.sum(x * y + np.sin(x) * 2.0 + x @ y), (0, 1))(x, y)
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)
    gx, gz = ld.grad(lambda x, z: np.sum(np.real(x * z * 1j)), (0, 1))(x, np.ones(3, "c16"))
    assert (gx.dtype, gz.dtype) == (np.float32, np.complex128)


def test_nan_goes_in_and_comes_out():
    x = np.array([1.0, np.nan, np.inf])
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(x * x))(x), 2 * x)
    gradient = ld.grad(lambda x: np.sum(x * np.array([1.0, 2.0, 3.0])))(x)
    np.testing.assert_array_equal(gradient, [1.0, 2.0, 3.0])


def test_scalars_come_back_as_scalars():
    assert type(ld.grad(lambda x: x * x)(3.0)) is np.float64
    assert type(ld.grad(lambda x: x * x)(np.float32(3.0))) is np.float32
    assert type(ld.grad(lambda x: x * x)(np.array(3.0))) is np.ndarray
    assert type(ld.value_and_grad(lambda x: x * x)(np.array(3.0))[0]) is np.float64


def test_errors_of_numpy_come_through():
    with pytest.raises(ValueError, match="broadcast"):
        ld.grad(lambda x: np.sum(x + np.ones(3)))(np.ones(2))
    with pytest.raises(IndexError):
        ld.grad(lambda x: x[5])(np.ones(2))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ld.grad(lambda x: x.nonsense)(np.ones(2))
    with pytest.raises(TypeError):
        ld.grad(lambda x: x + "a")(1.0)
    with pytest.raises(TypeError):
        ld.grad(lambda x: x + None)(1.0)
    with pytest.raises(TypeError):
        ld.grad(lambda x: iter(x))(1.0)


def test_a_dtype_is_no_array_of_another_library():
    v = ld.Variable(np.ones((2, 3)))
    with pytest.raises(np.exceptions.AxisError):
        np.sum(v, axis=5, dtype=np.float64)
    with pytest.raises(ValueError, match="of one sign"):
        np.geomspace(v, -1.0, 3, dtype=np.float64)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, *x: ld.vjp(f, *x),
        lambda f, *x: ld.jvp(f, x, x),
        lambda f, *x: ld.linearize(f, *x),
        lambda f, *x: ld.hvp(f, x, x),
        lambda f, *x: ld.ggnvp(f, np.sum, x, x),
    ],
    ids=["vjp", "jvp", "linearize", "hvp", "ggnvp"],
)
@pytest.mark.parametrize("other", ["name", object(), np.array([True]), np.array([None])])
def test_transforms_without_argnums_do_not_advise_them(transform, other):
    with pytest.raises(TypeError, match="let the function close over it") as caught:
        transform(lambda x, y: x, 1.0, other)
    assert "argnums" not in str(caught.value)


@pytest.mark.parametrize("dtype", [object, [("a", float)]])
def test_arrays_that_hold_no_numbers_would_lose_the_derivative(dtype):
    for make in (
        lambda x: x.astype(dtype),
        lambda x: lnp.asarray(x, dtype),
        lambda x: lnp.array([x, x], dtype),
    ):
        with pytest.raises(TypeError, match="would lose the derivative"):
            ld.grad(lambda x: make(x)[0])(np.ones(2))  # noqa: B023
    assert ld.value(lnp.zeros(2)).astype(object).dtype == object


def test_lists_that_hold_variables_are_operands():
    def f(x):
        return (
            np.sum(([x[0], 1.0] - x) * (2.0, x[1]) + x / [x[1], x[0]])
            + [x[0], x[1]] @ x
            + sum(x ** [x[1], 2])
        )

    x = np.array([1.5, 0.5])
    h = 1e-6 * np.eye(2)
    expected = [(f(x + d) - f(x - d)) / 2e-6 for d in h]
    np.testing.assert_allclose(ld.grad(f)(x), expected, rtol=1e-7)
    np.testing.assert_allclose(ld.hessian(f)(x), ld.hessian(f)(x).T, rtol=1e-12)


class Degrees(np.ndarray):
    def __mul__(self, other):
        return np.asarray(self) * np.asarray(other) * 10


class Metres(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        result = getattr(ufunc, method)(*map(np.asarray, inputs), **options)
        return result * 10 if ufunc is np.multiply else result


class Named(np.ndarray):
    name = "like any other"


def test_arrays_with_operations_of_their_own_are_refused():
    x = np.ones(3)
    for kind in (Degrees, Metres):
        with pytest.raises(TypeError, match=rf"{kind.__name__}; give a plain array"):
            ld.grad(lambda s: np.sum(s * s))(x.view(kind))
        with pytest.raises(TypeError, match=rf"{kind.__name__}; give a plain array"):
            ld.grad(lambda x, kind=kind: np.sum(x * np.ones(3).view(kind)))(x)
    np.testing.assert_array_equal(ld.grad(lambda s: np.sum(s * s))(x.view(Named)), 2 * x)
