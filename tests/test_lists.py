"""``lindiff.scipy`` takes nested lists of Variables wherever SciPy takes lists of numbers.

The calls of the tables, with every array that a function is given as a nested list: the tables are imported
anew while the functions of the faces stand for ones that take their arguments apart.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import pickle
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.special
import scipy.stats
from test_constants import directions

import lindiff as ld
from lindiff.core import pytree
from lindiff.core.registry import full_name
from lindiff.scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, special, stats
from lindiff.scipy.spatial import distance

FACES = [fft, integrate, interpolate, linalg, ndimage, optimize, signal, special, stats, distance]


def listed(x):
    """An array as nested lists of its elements."""
    if isinstance(x, (ld.Variable, np.ndarray)) and x.ndim and x.size:
        lists_made[0] += 1
        return [listed(part) for part in x]
    return x


class Refused(Exception):
    """SciPy takes no lists here."""


is_inside, lists_made = [False], [0]


def taking_apart(function, first=0):
    """``function``, called from outside of lindiff with lists in the place of arrays."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if is_inside[0]:
            return function(*args, **kwargs)
        is_inside[0] = True
        try:
            own, (args, kwargs) = args[:first], pytree.tree_map(listed, (args[first:], kwargs))
            try:
                return function(*own, *args, **kwargs)
            except Exception:
                args, kwargs = pytree.tree_map(ld.value, (args, kwargs))
                try:
                    function(*own, *args, **kwargs)
                except Exception as error:
                    raise Refused from error
                raise
        finally:
            is_inside[0] = False

    return call


def replacements():
    """Attributes that stand for functions of the faces: owner, name, what is to stand there."""
    public = [getattr(face, name) for face in FACES for name in face.__all__]
    if hasattr(special, "sph_harm_y"):  # since SciPy 1.15
        public.append(special.sph_harm_y)
    functions = {id(f): taking_apart(f) for f in public if inspect.isfunction(f)}
    for module in [module for name, module in sys.modules.items() if name.startswith("lindiff.scipy")]:
        for name, found in vars(module).items():
            if id(found) in functions:
                yield module, name, functions[id(found)]
    of_classes = {kind for kind in public if inspect.isclass(kind)}
    of_objects = {type(f) for f in public if not inspect.isfunction(f)} - {type}
    bases = {base for kind in of_classes | of_objects for base in kind.__mro__}
    for kind in [base for base in bases if base.__module__.startswith("lindiff.")]:
        called = ("__init__", "__call__") if kind in of_classes else ("__call__",)
        for name, found in vars(kind).items():
            if inspect.isfunction(found) and (name in called or not name.startswith("_")):
                yield kind, name, taking_apart(found, first=1)


@contextmanager
def faces_of_lists():
    kept = []
    try:
        for owner, name, function in [*replacements()]:
            kept.append((owner, name, vars(owner)[name]))
            setattr(owner, name, function)
        yield
    finally:
        for owner, name, function in reversed(kept):
            setattr(owner, name, function)


def imported(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases():
    """Those of the tables, and the same called with lists."""
    for path in sorted(Path(__file__).parent.glob("table_*.py")):
        usual = imported(path, f"usual_{path.stem}").OPERATORS
        with faces_of_lists():
            of_lists = imported(path, f"listed_{path.stem}").OPERATORS
        for one, other in zip(usual, of_lists, strict=True):
            name = full_name(one.function)
            if not one.constant and name.startswith(("lindiff.scipy.", "scipy.special.")):
                several = [
                    pair
                    for pair in zip(one.cases(), other.cases(), strict=True)
                    if any(a.ndim and a.size for a in pair[0].arrays())
                ]
                for pair in several[:4]:
                    yield pytest.param(*pair, id=pair[0].id)


def called(case):
    """A case, with functions of ``scipy.special`` as ``lindiff.scipy.special`` has them."""
    function = case.operator.call or case.operator.function
    if not full_name(function).startswith("scipy.special."):
        return case
    face = taking_apart(getattr(special, function.__name__))
    return dataclasses.replace(case, operator=dataclasses.replace(case.operator, call=face))


@pytest.mark.parametrize(("usual", "of_lists"), [*cases()])
def test_lists_are_arrays(usual, of_lists):
    arrays = usual.arrays()
    y, pullback = ld.vjp(usual, *arrays)
    before = lists_made[0]
    with faces_of_lists():
        try:
            got, pullback_of_lists = ld.vjp(called(of_lists), *arrays)
        except Refused:
            pytest.skip("SciPy takes no lists here")
    assert lists_made[0] > before
    y_bar = directions(y, np.random.default_rng(0))
    pairs = zip(
        pytree.flatten((got, pullback_of_lists(y_bar)))[0],
        pytree.flatten((y, pullback(y_bar)))[0],
        strict=True,
    )
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        assert np.result_type(a) == np.result_type(b)
        assert np.shape(a) == np.shape(b)


def test_lists_of_other_kinds():
    """Tuples, lists of arrays, numbers among Variables, arguments by name."""

    def of(v, w):
        A = ((v, 1.0), (0.25, w))
        return [
            linalg.inv(A),
            linalg.solve([[v, 1.0], [0.25, w]], (w, 2.0)),
            linalg.expm(A=[np.stack([v, w]), (1.0, v)]),
            linalg.solve_toeplitz(((v, w), (v, 0.5)), [1.0, v]),
            linalg.cho_solve(([[v, 0.0], [0.5, w]], True), b=[1.0, 2.0]),
            linalg.lu_solve(linalg.lu_factor(A), [1.0, w]),
            linalg.toeplitz([v, w, 1.0]),
            special.logsumexp(a=(v, w), b=[1.0, w]),
            special.gammaln([v, 2]),
            special.xlogy(2.0, ((v,), (w,))),
            special.betainc([1.0, v], w, [0.25, 0.5]),
            stats.norm.logpdf([1.0, v], (w, w), scale=[v, 1.0]),
            signal.lfilter([1.0, v], (1.0, 0.5), [w, 2, 3]),
            ndimage.gaussian_filter([[1.0, v], [w, 2.0]], (v, 0.5)),
            distance.cdist([[v, 1.0]], ((0.0, w),)),
        ]

    def of_arrays(v, w):
        A, of = np.stack([np.stack([v, 1.0]), np.stack([0.25, w])]), np.stack
        return [
            linalg.inv(A),
            linalg.solve(A, of([w, 2.0])),
            linalg.expm(of([of([v, w]), of([1.0, v])])),
            linalg.solve_toeplitz((of([v, w]), of([v, 0.5])), of([1.0, v])),
            linalg.cho_solve((of([of([v, 0.0]), of([0.5, w])]), True), np.array([1.0, 2.0])),
            linalg.lu_solve(linalg.lu_factor(A), of([1.0, w])),
            linalg.toeplitz(of([v, w, 1.0])),
            special.logsumexp(of([v, w]), b=of([1.0, w])),
            special.gammaln(of([v, 2])),
            special.xlogy(2.0, of([v, w])[:, None]),
            special.betainc(of([1.0, v]), w, np.array([0.25, 0.5])),
            stats.norm.logpdf(of([1.0, v]), of([w, w]), scale=of([v, 1.0])),
            signal.lfilter(of([1.0, v]), np.array([1.0, 0.5]), of([w, 2, 3])),
            ndimage.gaussian_filter(of([of([1.0, v]), of([w, 2.0])]), of([v, 0.5])),
            distance.cdist(of([v, 1.0])[None], of([0.0, w])[None]),
        ]

    for derivative in (ld.value_and_jacobian(of), ld.value_and_jacobian(of, argnums=1, mode="fwd")):
        assert len(derivative(3.0, 2.5)[0]) == 15
    for argnums in (0, 1):
        got, expected = (ld.value_and_jacobian(f, argnums)(3.0, 2.5) for f in (of, of_arrays))
        for a, b in zip(*(pytree.flatten(tree)[0] for tree in (got, expected)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_ufuncs_that_take_lists_are_those_of_scipy():
    gammaln = special.gammaln
    assert gammaln == scipy.special.gammaln
    assert scipy.special.gammaln == gammaln
    assert {scipy.special.gammaln: 1}[gammaln] == 1
    assert isinstance(gammaln, np.ufunc)
    assert (gammaln.nin, gammaln.nout, gammaln.types) == (1, 1, scipy.special.gammaln.types)
    assert gammaln.__name__ == "gammaln"
    assert gammaln is special.gammaln
    assert pickle.loads(pickle.dumps(gammaln)) is gammaln
    assert ld.supported(gammaln) == ld.supported(scipy.special.gammaln)

    def of(x):
        y = gammaln(np.array([1.0, 2.0]))
        assert type(y) is np.ndarray
        out = np.empty(2)
        assert gammaln([1.0, 2.0], out=out) is out
        assert type(gammaln(3.0)) is np.float64
        return gammaln(x) + np.sum(y)

    assert ld.grad(of)(3.0) == special.digamma(3.0)


def test_the_mean_of_a_multinomial_with_several_numbers_of_trials():
    p = np.array([0.25, 0.75])
    got = ld.vjp(lambda p: stats.multinomial.mean([3, 4], p), p)[0]
    np.testing.assert_allclose(got, scipy.stats.multinomial.mean([3, 4], p))
