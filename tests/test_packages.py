"""Public packages, differentiated as they are, under ``patch_numpy`` and with ``lindiff.numpy`` for NumPy.

The cases are in ``packages``: a function ``f`` of the array ``START``, and the ``MODULES`` to patch.  Those
whose package is not installed are skipped; ``pip install -e ".[packages]"`` installs most.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp

CASES = sorted(path.stem for path in (Path(__file__).parent / "packages").glob("*.py"))

# What stays an error under the patch, and why.
STOPS = {
    "ahrs": "subclasses of ndarray",
    "arch": "compiled code",
    "astropy_cosmology": "subclasses of ndarray",
    "astropy_units": "subclasses of ndarray",
    "celerite2": "compiled code",
    "haversine": "numba",
    "hmmlearn": "compiled code",
    "pykalman": "masked arrays",
    "pywavelets": "compiled code",
    "statsmodels_arma": "a filter's state from past values, without a rule",
    "uncertainties": "functions of math in lists",
}


@pytest.fixture(params=CASES)
def case(request):
    name, folder = f"packages_{request.param}", Path(__file__).parent / "packages"
    spec = importlib.util.spec_from_file_location(name, folder / f"{request.param}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            pytest.skip(f"{error.name} is not installed")
        yield module
    del sys.modules[name]


def derivatives(f, x):
    """The gradient by differences with errors of fourth order."""
    size = np.abs(x)
    steps = np.where(size > 1e-3, 1e-5 * np.maximum(1.0, size), np.where(size > 0, 1e-3 * size, 1e-6))
    slopes = []
    for h, e in zip(steps, np.eye(x.size), strict=True):
        inner, outer = f(x + h * e / 2) - f(x - h * e / 2), f(x + h * e) - f(x - h * e)
        slopes.append((8 * inner - outer) / (6 * h))
    return np.array(slopes, float).ravel()


def assert_right(case, found):
    value, gradient = found
    np.testing.assert_allclose(np.asarray(value, float), case.f(case.START.copy()), rtol=1e-12)
    expected = derivatives(case.f, case.START)
    np.testing.assert_allclose(gradient, expected, rtol=2e-5, atol=1e-7 * np.max(np.abs(expected)))


def is_stopped(case):
    return case.__name__.removeprefix("packages_") in STOPS


def attempt(case):
    """Value and gradient, or the error."""
    try:
        return ld.value_and_grad(case.f)(case.START), None
    except Exception as error:
        return None, error


def said(error):
    """All that a traceback shows of an error."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def test_as_it_is(case):
    """Right, or an error that says what to write."""
    found, error = attempt(case)
    if error is None:
        assert_right(case, found)
    elif not is_stopped(case) and "from the same type/backend" not in said(error):  # in words of its own
        assert "write" in said(error) or "ld." in said(error)


def test_under_the_patch(case):
    plain = case.f(case.START.copy())
    with ld.patch_numpy(modules=case.MODULES):
        inside = case.f(case.START.copy())
        found, error = attempt(case)
    assert type(inside) is type(plain)
    np.testing.assert_array_equal(inside, plain)
    assert (error is not None) == is_stopped(case), said(error)
    if error is None:
        assert_right(case, found)


def test_with_another_import(case, monkeypatch):
    """Right, or an error: what looks at types, or is compiled, takes no Variables."""
    packages = {*case.MODULES, case.__name__}
    for name, module in [*sys.modules.items()]:
        if isinstance(module, types.ModuleType) and name.partition(".")[0] in packages:
            for key in [key for key, value in vars(module).items() if value is np]:
                monkeypatch.setattr(module, key, lnp)
    found, error = attempt(case)
    monkeypatch.undo()
    if error is None:
        assert_right(case, found)
