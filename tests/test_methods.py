"""A Variable answers to the names of an ndarray."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lindiff as ld
from lindiff.rules.methods import METHODS

X = np.array([[0.5, -1.5, 2.5], [1.0, 3.0, -0.5]])

CALLS = {
    "all": (),
    "any": (),
    "argmax": (1,),
    "argmin": (),
    "argpartition": (1,),
    "argsort": (0,),
    "astype": (np.float32,),
    "clip": (-1, 1),
    "compress": ([True, False], 0),
    "conj": (),
    "conjugate": (),
    "copy": (),
    "cumprod": (1,),
    "cumsum": (),
    "diagonal": (1,),
    "dot": (np.ones(3),),
    "flatten": (),
    "max": (0,),
    "mean": (1,),
    "min": (),
    "nonzero": (),
    "prod": (1,),
    "ravel": ("F",),
    "repeat": (2, 0),
    "reshape": (3, 2),
    "round": (1,),
    "std": (0,),
    "sum": (1,),
    "swapaxes": (0, 1),
    "take": ([0, 2], 1),
    "trace": (1,),
    "transpose": (1, 0),
    "var": (1,),
}


def assert_equal(got, expected):
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_equal(a, b)
        return
    got = ld.value(got)
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=1e-14)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_methods_do_what_those_of_arrays_do(name):
    assert_equal(getattr(ld.Variable(X), name)(*CALLS[name]), getattr(X, name)(*CALLS[name]))


@pytest.mark.parametrize(
    "name", ["T", "mT", "real", "imag", "itemsize", "nbytes", "strides", "shape", "size", "ndim"]
)
def test_attributes_are_those_of_the_array(name):
    assert_equal(getattr(ld.Variable(X), name), getattr(X, name))


def test_the_rest():
    v = ld.Variable(X)
    assert v.flags.c_contiguous
    assert ld.value(v.flat[3]) == X.flat[3]
    assert_equal(v[:1].squeeze(0), X[0])
    assert_equal(ld.Variable([0.0, 1.0, 2.0]).searchsorted([0.5]), np.array([1]))
    assert_equal(v.reshape(-1), X.reshape(-1))
    assert_equal(v.reshape((3, 2), order="F"), X.reshape((3, 2), order="F"))
    assert_equal(v.transpose(), X.T)
    assert_equal(v.clip(1.0), X.clip(1.0))
    assert_equal(v.clip(max=1.0), X.clip(max=1.0))
    assert_equal(v.sum(axis=0, keepdims=True), X.sum(axis=0, keepdims=True))


@pytest.mark.parametrize("name", ["item", "tolist", "tobytes"])
def test_what_loses_the_derivative_raises(name):
    with pytest.raises(TypeError, match=rf"ld\.value\(v\)\.{name}"):
        getattr(ld.Variable(X), name)()


def test_what_would_change_the_shape_raises():
    with pytest.raises(TypeError, match="write v = "):
        ld.Variable(X).resize(0)


def test_bytes_are_not_seen_as_another_type():
    with pytest.raises(TypeError, match=r"v\.astype"):
        ld.Variable(X).view(np.float32)


def test_unknown_names():
    v = ld.Variable(X)
    with pytest.raises(AttributeError, match="near: reshape"):
        _ = v.reshap
    with pytest.raises(AttributeError, match=r"ld\.value\(v\)\.ctypes"):
        _ = v.ctypes
    with pytest.raises(AttributeError, match=r"its plain array is ld\.value\(v\)"):
        v.to_numpy()
    assert not hasattr(v, "__array_interface__")
    assert not hasattr(v, "_nothing")


def test_who_asks_again_for_an_unknown_name_is_answered_at_once(monkeypatch):
    v = ld.Variable(X)
    assert not hasattr(v, "toarray")
    monkeypatch.setattr("difflib.get_close_matches", None)  # looks through all names
    assert not hasattr(v, "toarray")


def test_what_jumps_gives_plain_numbers():
    v = ld.Variable(2.567)
    assert (round(v), round(v, 1), math.floor(v), math.ceil(v)) == (3, 2.6, 2, 3)
    assert all(isinstance(x, int) for x in (round(v), math.floor(v), math.ceil(v)))
    with pytest.raises(TypeError, match="__round__"):
        round(ld.Variable(X))


def test_base_is_what_a_view_is_of():
    v = ld.Variable(X)
    assert v.base is None
    assert (2 * v).base is None
    assert v[1:].base is v
    assert v[1:][:1].base is v


def test_names_are_listed():
    listed = set(dir(ld.Variable(X)))
    assert {*METHODS, "T", "shape", "backward", "grad"} <= listed
    public = {name for name in dir(X) if not name.startswith("_") and hasattr(X, name)}
    assert public - listed - {"tostring"} == {"ctypes", "data"}  # tostring: before NumPy 2.3
