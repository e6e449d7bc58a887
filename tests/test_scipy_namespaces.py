"""What the namespaces in ``lindiff.scipy`` have in common: SciPy's names and signatures, what they refuse."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import lindiff as ld

MODULES = ["integrate", "optimize", "signal", "stats"]


def both(module):
    return importlib.import_module(f"lindiff.scipy.{module}"), importlib.import_module(f"scipy.{module}")


FUNCTIONS = [
    (module, name)
    for module in MODULES
    for name in both(module)[0].__all__
    if inspect.isfunction(getattr(both(module)[0], name))
]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_signatures_are_scipys(module, name):
    ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in both(module))
    positional = [p.name for p in theirs.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = {p.name for p in theirs.values() if p.kind is p.KEYWORD_ONLY}
    taken = [p.name for p in ours.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in by_name]
    assert taken == positional[: len(taken)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in ours.values())
    assert takes_any or set(theirs) - set(ours) <= {"even"}  # deprecated in SciPy 1.13


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_documented(module, name):
    assert "Examples" in inspect.getdoc(getattr(both(module)[0], name))


@pytest.mark.parametrize(
    ("module", "name", "args", "says"),
    [
        ("signal", "hilbert", (np.ones(3),), "np.fft"),
        ("integrate", "nquad", (np.cos, [(0.0, 1.0)]), "quad"),
        ("stats", "zscore", (np.arange(3.0),), "np.std"),
        ("optimize", "curve_fit", (lambda x, a: a * x, np.ones(3), np.ones(3)), "least_squares"),
    ],
)
def test_the_rest_is_scipys_for_plain_arrays(module, name, args, says):
    ours, theirs = both(module)
    assert ours.__name__ != theirs.__name__
    function = getattr(ours, name)
    np.testing.assert_array_equal(function(*args)[0], getattr(theirs, name)(*args)[0])
    with pytest.raises(TypeError, match=rf"scipy.{module}.{name} has no derivative in lindiff: .*{says}"):
        function(*args[:-1], [ld.Variable(1.0)])
    with pytest.raises(AttributeError):
        ours.no_such_function  # noqa: B018
