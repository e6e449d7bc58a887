"""The stand-in behaves as CuPy does, and knows what CuPy knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from standin import names
from standin.array import Device


def test_names_are_those_of_the_installed_cupy():
    """Of its version: others have other names."""
    command = [sys.executable, str(Path(__file__).parent.parent / "cupy_names.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    if "No module named 'cupy'" in done.stderr:
        pytest.skip("CuPy is not installed")
    table = json.loads(done.stdout)
    if table["version"] != names.TABLE["version"]:
        pytest.skip(f"the table is of CuPy {names.TABLE['version']}, installed is {table['version']}")
    assert table == names.TABLE


@pytest.fixture
def x(cupy):
    return cupy.asarray(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: np.asarray(x), TypeError, "Implicit conversion to a NumPy array"),
        (lambda x: np.array([x, x]), TypeError, "Implicit conversion to a NumPy array"),
        (lambda x: x + np.ones(3), TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda x: np.ones(3) * x, TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda x: x @ np.ones(3), TypeError, "incorrect type .* got numpy.ndarray"),
        (lambda x: x * [1.0, 2.0, 3.0], TypeError, "returned NotImplemented"),
        (lambda x: x + np.longdouble(1), TypeError, "returned NotImplemented"),
        (lambda x: np.add(x, x, where=x > 0), TypeError, "Wrong arguments"),
        (lambda x: np.exp(x, order="C"), TypeError, "Wrong arguments"),
        (lambda x: np.modf(x, out=(x, x)), ValueError, "exactly one array value"),
        (lambda x: np.add.reduce(x, where=x > 0), TypeError, "unexpected keyword argument 'where'"),
        (lambda x: np.maximum.reduce(x), NotImplementedError, "cupy_maximum.reduce"),
        (lambda x: np.multiply.at(x, 0, 1.0), NotImplementedError, "cupy_multiply.at"),
        (lambda x: np.sum(x, where=x > 0), TypeError, "unexpected keyword argument 'where'"),
        (lambda x: x.sum(initial=1.0), TypeError, "unexpected keyword argument 'initial'"),
        (lambda x: np.std(x, correction=1), TypeError, "unexpected keyword argument 'correction'"),
        (lambda x: np.fft.fft(x, out=x), TypeError, "unexpected keyword argument 'out'"),
        (lambda x: np.zeros_like(x, subok=False), TypeError, "subok is not supported yet"),
        (lambda x: np.block([x, x]), TypeError, "no implementation found"),
        (lambda x: np.linalg.multi_dot([x, x.T]), TypeError, "no implementation found"),
        (lambda x: np.vecdot(x, x), TypeError, "returned NotImplemented"),
        (lambda x: scipy.special.hyp2f1(x, x, x, x), TypeError, "returned NotImplemented"),
        (lambda x: np.stack([x, np.ones((2, 3))]), TypeError, "incorrect type"),
        (lambda x: np.gcd(x, x), TypeError, "Wrong type"),
        (lambda x: np.where([True, False, True], x, 0.0), AttributeError, "astype"),
        (lambda x: np.linalg.solve(np.stack([x @ x.T] * 3), x[:, :1]), ValueError, "for multidimensional b"),
        (lambda x: x.astype(np.longdouble), ValueError, "Unsupported dtype"),
        (lambda x: x.item(0), TypeError, "item"),
        (lambda x: iter(x[0, 0]), TypeError, "iteration over a 0-d array"),
        (lambda x: hash(x), TypeError, "unhashable"),
        (lambda x: x.__setitem__(0, np.ones(3)), ValueError, "cannot be used for fill"),
        (lambda x: setattr(x, "note", 1), AttributeError, "note"),
        (lambda x: x.flags.writeable, AttributeError, "writeable"),
    ],
)
def test_what_cupy_refuses(x, call, error, message):
    with pytest.raises(error, match=message):
        call(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sum(x),
        lambda x: x.mean(axis=0),
        lambda x: x[0, 1],
        lambda x: np.allclose(x, x),
        lambda x: np.linalg.norm(x),
        lambda x: scipy.special.gammaln(x + 1.0),
        lambda x: np.add.reduce(x, axis=1, keepdims=True),
        lambda x: np.zeros(2, like=x),
        lambda x: np.asarray(np.ones(2), like=x),
        lambda x: x[np.array([0, 1])],
        lambda x: x[x > 1.0],
        lambda x: np.where(x > 0, x, 0.0),
        lambda x: x < np.array(2.0),
    ],
)
def test_what_cupy_gives_are_its_arrays(cupy, x, call):
    assert type(call(x)) is cupy.ndarray


def test_memory_is_not_shared_with_the_host(cupy):
    host = np.zeros(3)
    device = cupy.asarray(host)
    device += 1.0
    assert host.tolist() == [0.0, 0.0, 0.0]
    assert device.get().tolist() == [1.0, 1.0, 1.0]
    assert cupy.asarray(device) is device
    assert np.asarray(device, like=device) is device


def test_reading_elements_is_counted(standin):
    x = standin.asarray(np.arange(6.0).reshape(2, 3))
    before = Device.synchronizations
    x.sum() + x
    assert Device.synchronizations == before
    float(x[0, 0])
    bool(x[0, 0])
    assert Device.synchronizations == before + 2
