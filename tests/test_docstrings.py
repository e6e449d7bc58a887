"""What `help` shows of a function in another's place: its own words, and what both have in common."""

from __future__ import annotations

import importlib
import inspect

import pytest

from lindiff._docstrings import documented_like

MODULES = ["fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "spatial.distance"]
MODULES += ["special"]
SEARCHES = {"least_squares", "minimize", "root"}  # which take derivatives, and have none
FACES = [
    pytest.param(module, name, id=f"{module}.{name}")
    for module in MODULES
    for name in importlib.import_module(f"lindiff.scipy.{module}").__all__
    if name != "sph_harm_y" or hasattr(importlib.import_module("scipy.special"), name)
]


def both(module, name):
    return (
        getattr(importlib.import_module(f"{package}.{module}"), name)
        for package in ("lindiff.scipy", "scipy")
    )


@pytest.mark.parametrize(("module", "name"), FACES)
def test_of_scipys_functions(module, name):
    ours, theirs = both(module, name)
    doc = inspect.getdoc(ours)
    text, _, examples = doc.partition("\nExamples\n--------\n")
    assert text.splitlines()[0].endswith(f"like ``scipy.{module}.{theirs.__name__}``.")
    assert "ifferentiable" in text or name in SEARCHES
    assert ">>> " in examples
    assert ">>> " not in text  # which would run as an example of ours
    parameters = set(inspect.signature(ours).parameters) & set(inspect.signature(theirs).parameters)
    documented = {p for p in parameters if p in inspect.getdoc(theirs).partition("\nNotes\n")[0]}
    assert all(p in text for p in documented)


def of_two(a, b=0.0):
    """Add numbers.  They may
    be large.

    It is exact.

    Parameters
    ----------
    a : float
        The first.

        Of any size.
    b : float
        The second.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Sometimes.

    Notes
    -----
    It takes one flop.

    Examples
    --------
    >>> of_two(1.0, 2.0)
    3.0
    """


ITS_FACE = """\
Add numbers, like ``{module}.of_two``.

Differentiable in `a`.

They may be large.

It is exact.

Parameters
----------
a : float
    The first.

    Of any size.
b, c : floats
    The others.

Returns
-------
float

Raises
------
ValueError
    Sometimes.
TypeError
    For Variables.

Notes
-----
Linear.

Examples
--------
>>> 1
1"""


def face():
    """Differentiable in `a`.

    Parameters
    ----------
    b, c : floats
        The others.

    Raises
    ------
    TypeError
        For Variables.

    Notes
    -----
    Linear.

    Examples
    --------
    >>> 1
    1
    """


def copy_of(function, doc):
    def copy():
        pass

    copy.__doc__ = doc
    copy.__name__, copy.__module__ = function.__name__, function.__module__
    return copy


@pytest.mark.parametrize(
    "written", [str, inspect.cleandoc, lambda doc: f"of_two(a, b)\n\n{inspect.cleandoc(doc)}"]
)
def test_entries_of_both(written):
    """As written, as Python 3.13 keeps it, with the signature that Cython adds."""
    original = copy_of(of_two, written(of_two.__doc__))
    for own in (face.__doc__, inspect.cleandoc(face.__doc__)):
        documented = documented_like(original)(copy_of(face, own))
        assert documented.__doc__ == ITS_FACE.format(module=__name__)


@pytest.mark.parametrize(("theirs", "own"), [(None, "Mine."), ("Theirs.", None)])
def test_without_docstrings(theirs, own):
    assert documented_like(copy_of(of_two, theirs))(copy_of(face, own)).__doc__ == own
