"""What the public modules list, and what they say of names that they do not have."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest
import scipy

import lindiff as ld
from lindiff.advice.elsewhere import HINTS

PUBLIC = ["", "gp", "gp.kernels", "linalg", "numpy", "numpy.fft", "numpy.linalg", "scipy", "statespace"]
PUBLIC += ["testing"]


@pytest.mark.parametrize("name", PUBLIC)
def test_dir_lists_what_is_public(name):
    module = importlib.import_module(f"lindiff.{name}".rstrip("."))
    beside = ["distributed", "numpy", "scipy"] if module is ld else []
    assert dir(module) == sorted([*module.__all__, *beside])
    assert all(hasattr(module, public) for public in dir(module))


def test_a_star_import_leaves_numpy_alone():
    names = {}
    exec("import numpy, scipy\nfrom lindiff import *", names)
    assert (names["numpy"], names["scipy"]) == (np, scipy)
    assert names["tree_map"] is ld.tree_map


def test_namespaces_of_scipy_list_its_names():
    folder = Path(ld.scipy.__file__).parent
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(ld.scipy.__all__)
    for name in ld.scipy.__all__:
        ours, theirs = getattr(ld.scipy, name), importlib.import_module(f"scipy.{name}")
        assert set(dir(ours)) == {*theirs.__all__, *ours.__all__}


def test_what_is_not_needed_is_not_imported(alone):
    script = """
import sys, lindiff
heavy = {"scipy.stats", "scipy.optimize", "scipy.signal", "lindiff.scipy", "lindiff.statespace", "lindiff.gp"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
print(lindiff.scipy.stats.norm.logpdf(0.5), lindiff.scipy.special.gammaln(4.0), lindiff.numpy.sum([1.0, 2.0]))
"""
    found = np.array(alone(script).split(), float)
    np.testing.assert_allclose(found, [scipy.stats.norm.logpdf(0.5), np.log(6.0), 3.0])


def test_unknown_names_raise():
    for module in (ld, ld.scipy, ld.scipy.stats, ld.numpy, ld.linalg):
        with pytest.raises(AttributeError, match="no_such_name"):
            module.no_such_name  # noqa: B018
    with pytest.raises(AttributeError, match=r"lindiff\.scipy has no 'cluster', it has fft, integrate"):
        ld.scipy.cluster  # noqa: B018


@pytest.mark.parametrize("name", HINTS)
def test_names_of_other_libraries_are_explained(name):
    assert not hasattr(ld, name)
    with pytest.raises(AttributeError, match=rf"module 'lindiff' has no attribute '{name}': "):
        getattr(ld, name)
    with pytest.raises(ImportError, match=rf"cannot import name '{name}' from 'lindiff': "):
        exec(f"from lindiff import {name}", {})
    for word in HINTS[name].replace("(", " ").replace(",", " ").replace(":", " ").split():
        if word.startswith("ld."):
            assert hasattr(ld, word[3:].split(".")[0]), word


def test_other_names_are_as_in_any_package():
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from lindiff import nonsense", {})
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'lindiff\.jacrev'"):
        importlib.import_module("lindiff.jacrev")


def test_a_type_checker_sees_the_names_alone():
    """A ``__getattr__`` would give it every name, misspelled ones too."""
    for module in (ld, ld.numpy, ld.numpy.linalg, ld.numpy.fft, ld.scipy):
        body = ast.parse(Path(module.__file__).read_text()).body
        assert not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in body)
