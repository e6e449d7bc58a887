"""Every public function of NumPy is classified, and ``ld.supported`` answers from that."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import lindiff as ld
import lindiff.scipy.linalg
import lindiff.scipy.stats
from lindiff.advice.classification import (
    CONSTANT_MAKERS,
    MAKERS_OF_ARRAYS,
    OF_OTHERS,
    OUT_OF_SCOPE,
    SINCE,
    UNTIL,
)
from lindiff.core.registry import handler_kind

PUBLIC = {
    prefix + name: getattr(module, name)
    for module, prefix in [(np, ""), (np.linalg, "linalg."), (np.fft, "fft.")]
    for name in dir(module)
    if not name.startswith("_")
    and callable(getattr(module, name))
    and not isinstance(getattr(module, name), type)
}
LISTED = [
    *CONSTANT_MAKERS.split(),
    *MAKERS_OF_ARRAYS.split(),
    *OF_OTHERS,
    *" ".join(OUT_OF_SCOPE.values()).split(),
]


def test_every_public_function_is_classified():
    unknown = [name for name, function in PUBLIC.items() if ld.supported(function).kind == "unsupported"]
    assert not unknown, f"functions of NumPy {np.__version__} without a rule or a class: {unknown}"


def test_no_name_is_listed_twice_or_of_no_version():
    assert len(set(LISTED)) == len(LISTED)
    assert {*LISTED, *SINCE, *UNTIL} - set(PUBLIC) <= {*SINCE, *UNTIL}


def test_versions_of_names():
    def version(text):
        return tuple(map(int, text.split(".")[:2]))

    installed = version(np.__version__)
    for name, since in SINCE.items():
        assert (name in PUBLIC) == (installed >= version(since)), name
    for name, until in UNTIL.items():
        assert (name in PUBLIC) == (installed <= version(until)), name


def test_what_has_a_rule_is_not_out_of_scope():
    for names in OUT_OF_SCOPE.values():
        functions = [PUBLIC.get(name) for name in names.split()]
        assert not [f for f in functions if handler_kind(f) in ("Rule", "Composed")]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (np.sin, "differentiable"),
        ("np.linalg.svd", "differentiable"),
        ("numpy.vstack", "differentiable"),
        (np.argsort, "zero derivative"),
        (np.isscalar, "zero derivative"),
        ("numpy.zeros", "constant"),
        (np.add.reduceat, "differentiable"),
        (np.logical_and.reduce, "zero derivative"),
        (np.multiply.at, "differentiable"),
        (ld.linalg.potrf, "differentiable"),
        (lindiff.scipy.linalg.solve, "differentiable"),
    ],
    ids=lambda x: getattr(x, "__name__", "x") if callable(x) else str(x),
)
def test_what_works_is_true(function, kind):
    assert ld.supported(function)
    assert ld.supported(function).kind == kind


@pytest.mark.parametrize(
    ("function", "kind", "note"),
    [
        (np.gcd, "out of scope", "write numpy.gcd(ld.value(v)), which acts on integers"),
        ("numpy.save", "out of scope", "ld.value"),
        (scipy.linalg.solve, "unsupported", "write lindiff.scipy.linalg.solve"),
        ("scipy.special.spherical_jn", "unsupported", "write lindiff.scipy.special.spherical_jn"),
        ("scipy.cluster.hierarchy.linkage", "unsupported", "no derivative rule"),
        (np.sin.reduce, "unsupported", "np.sin.reduce"),
        (len, "unsupported", "builtins.len"),
    ],
    ids=lambda x: getattr(x, "__name__", "x") if callable(x) else str(x),
)
def test_what_does_not_is_false_and_says_why(function, kind, note):
    found = ld.supported(function)
    assert not found
    assert found.kind == kind
    assert note in found.note


@pytest.mark.parametrize("name", MAKERS_OF_ARRAYS.split())
def test_makers_of_arrays_are_supported_but_not_by_protocol(name):
    v = ld.Variable([1.0, 2.0])
    found = ld.supported(f"numpy.{name}")
    assert found
    assert f"lindiff.numpy.{name}" in found.note
    arguments = {"full": (2, v), "fromiter": (v, float), "kaiser": (5, v)}.get(name, (v,))
    with pytest.raises(TypeError, match=r"derivative would be lost|would lose the derivative"):
        PUBLIC[name](*arguments)


@pytest.mark.parametrize("name", ["numpy.sine", "no_such_package.f"])
def test_names_of_nothing(name):
    with pytest.raises(ValueError, match="nothing called"):
        ld.supported(name)


@pytest.mark.parametrize("family", ["signal", "linalg", "special", "stats", "integrate", "optimize"])
def test_notes_name_nothing_that_refuses_itself_and_nothing_private(family):
    theirs = importlib.import_module(f"scipy.{family}")
    ours = importlib.import_module(f"lindiff.scipy.{family}")
    for name in theirs.__all__:
        function = getattr(theirs, name)
        if not callable(function) or isinstance(function, type):
            continue
        found = ld.supported(function)
        assert not re.search(r"[. ]_[a-z]|object at", found.note), found
        if found.note.startswith("write lindiff."):
            written = found.note.removeprefix(f"write lindiff.scipy.{family}.")
            assert written in ours.__all__, found


@pytest.mark.parametrize(
    ("function", "note"),
    [
        (scipy.stats.norm, "write lindiff.scipy.stats.norm"),
        (scipy.stats.norm.logpdf, "write lindiff.scipy.stats.norm.logpdf"),
        (scipy.stats.norm(0.0, 2.0).cdf, "write lindiff.scipy.stats.norm.cdf"),
        (scipy.stats.norm.fit, "scipy.stats.norm.fit has no derivative rule"),
        (scipy.stats.levy_stable.pdf, "scipy.stats.levy_stable.pdf has no derivative rule"),
        (lindiff.scipy.stats.levy_stable, "scipy.stats.levy_stable has no derivative rule"),
        ("scipy.sparse.linalg.gmres", "scipy.sparse.linalg.gmres has no derivative rule"),
    ],
)
def test_distributions_and_nested_modules_go_by_their_public_names(function, note):
    found = ld.supported(function)
    assert not found
    assert found.note.startswith(note)


def test_rules_of_ones_own():
    @ld.rule
    def twice(x):
        return 2 * x, lambda y_bar: 2 * y_bar

    assert ld.supported(twice).kind == "differentiable"
    assert not ld.supported(lambda x: x)
