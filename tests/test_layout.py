"""Views, copies and memory layout are NumPy's: every function and method, asked what NumPy answers.

The calls of the tables are made on arrays and on Variables, with their arguments laid out in memory in all
ways that views make.  What is compared: dtype and shape, the order of strides, contiguity, whether the results
may be written to, and where numbers turn up that are written to a result, or to what an argument is a view of.
NumPy is the reference.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
from table import sample
from test_methods import CALLS

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.core import pytree
from lindiff.core.registry import full_name
from lindiff.rules.methods import METHODS

TABLES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("table_*.py"))]

# Functions that answer otherwise, and why.
OTHERWISE = {
    "imag": "of real arrays NumPy gives zeros that cannot be written to",
}

# -- layouts: what an argument is a view of, made from its value, and the view ----------------------------


def of_twice_the_length(a):
    base = np.zeros([2 * n for n in a.shape], a.dtype)
    base[(slice(None, None, 2),) * a.ndim] = a
    return base


# name -> fewest axes, base of a value, view of the base in the shape of the value
LAYOUTS = {
    "whole": (0, np.copy, lambda base, shape: base),
    "transposed": (2, lambda a: a.T.copy(), lambda base, shape: base.T),
    "reversed": (1, lambda a: np.flip(a).copy(), lambda base, shape: base[(slice(None, None, -1),) * base.ndim]),
    "strided": (1, of_twice_the_length, lambda base, shape: base[(slice(None, None, 2),) * base.ndim]),
    "swapped": (3, lambda a: np.swapaxes(a, 0, 1).copy(), lambda base, shape: base.swapaxes(0, 1)),
    "broadcast": (1, lambda a: a[:1].copy(), lambda base, shape: np.broadcast_to(base, shape)),
    "length one": (1, lambda a: a[(slice(1),) * a.ndim].copy(), lambda base, shape: base),
    "one row": (2, lambda a: a[:1].copy(), lambda base, shape: base),
    "no axes": (1, lambda a: a[(0,) * a.ndim].copy(), lambda base, shape: base[...]),
}  # fmt: skip


def laid_out(name, arrays):
    """Bases of the arrays and what makes the views of them; None where it would be nothing new."""
    names = [name] * len(arrays)
    if name == "mixed":
        names = ["transposed" if k % 2 else "whole" for k in range(len(arrays))]
    names = [
        n if a.size and a.ndim >= LAYOUTS[n][0] else "whole" for n, a in zip(names, arrays, strict=True)
    ]
    if name != "whole" and all(n == "whole" for n in names):
        return None
    bases = [LAYOUTS[n][1](a) for n, a in zip(names, arrays, strict=True)]

    def views(bases):
        return [LAYOUTS[n][2](b, a.shape) for n, b, a in zip(names, bases, arrays, strict=True)]

    return bases, views


# -- what is asked ----------------------------------------------------------------------------------------


def results(tree):
    return [x for x in pytree.flatten(tree)[0] if hasattr(x, "strides") and hasattr(x, "dtype")]


def order_in_memory(x):
    """The axes by falling stride, which run backwards, and which do not move at all."""
    axes = [axis for axis in range(x.ndim) if x.shape[axis] > 1]
    strides = [x.strides[axis] for axis in axes]
    order = sorted(axes, key=lambda axis: -abs(x.strides[axis]))
    return order, [s < 0 for s in strides], [s == 0 for s in strides]


def description(x):
    found = {"dtype": x.dtype, "shape": x.shape}
    if x.ndim and x.size:
        flags = x.flags
        found |= {"order": order_in_memory(x), "C": flags.c_contiguous, "F": flags.f_contiguous}
        found |= {"writable": flags.writeable}
    return found


def numbers_for(x, start):
    return np.arange(start, start + x.size).reshape(x.shape)


def places(x, numbers):
    """Where the ``numbers``, which were written somewhere, stand in ``x``."""
    plain = np.asarray(ld.value(x))
    if plain.dtype.kind not in "fc":
        return None
    there = np.isin(plain.real, numbers)
    return np.where(there, np.where(there, plain.real, 0), -1).tolist()


def answers(call, bases, views, made):
    """What is to be the same for arrays and Variables; ``made`` makes bases of arrays."""

    def run():
        whole = [made(base) for base in bases]
        args = views(whole)
        return whole, args, results(call(*args))

    outs = run()[2]
    found = {"results": [description(out) for out in outs]}
    for k in range(len(outs)):
        if not outs[k].ndim or not outs[k].size or outs[k].dtype.kind not in "fc":
            continue
        whole, args, outs = run()
        numbers = numbers_for(outs[k], 70_000.0)
        try:
            outs[k][...] = numbers
        except ValueError as error:
            found["written", k] = str(error)
            continue
        found["written", k] = [places(x, numbers) for x in (*whole, *args, *outs)]
    for k in range(len(bases)):
        whole, args, outs = run()
        numbers = numbers_for(whole[k], 90_000.0)
        whole[k][...] = numbers
        found["seen", k] = [places(out, numbers) for out in outs]
    return found


def differences(expected, got):
    for name in expected:
        if name not in got or expected[name] != got[name]:
            yield f"{name}: NumPy {expected[name]}, lindiff {got.get(name)}"


# -- functions and methods --------------------------------------------------------------------------------


def takes(function, name):
    if isinstance(function, np.ufunc):
        return name == "order"
    try:
        return name in inspect.signature(function).parameters
    except ValueError:  # compiled
        return False


def variants(function, one):
    """A sample, and again with every ``order`` and ``copy`` that the function takes."""
    yield one
    for name, choices in (("order", "CFAK"), ("copy", (True, False))):
        if takes(function, name) and name not in one.kwargs and function not in (np.sort, np.partition):
            for choice in choices:
                yield sample(*one.args, **one.kwargs, **{name: choice})


def is_array(leaf):
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"


def method_named(name):
    def method(a, *args, **kwargs):
        return getattr(a, name)(*args, **kwargs) if name not in ("T", "mT") else getattr(a, name)

    return method


class Subject:
    """A function or a method, and what it is called with."""

    def __init__(self, function, call, samples, domain=None):
        self.function, self.call, self.domain = function, call, domain
        self.samples = [one for given in samples for one in variants(function, given)]

    def cases(self, call, most):
        """At most so many calls, as functions of their arrays, with bases and views of these."""
        pairs = [*itertools.product(self.samples, (*LAYOUTS, "mixed"))]
        step = max(len(pairs) / most, 1)
        for k in range(min(len(pairs), most)):
            one, layout = pairs[int(k * step)]
            leaves, restore = pytree.flatten((one.args, one.kwargs))
            arrays = [x if self.domain is None else self.domain(x) for x in leaves if is_array(x)]
            found = laid_out(layout, arrays) if arrays else None
            if found is not None:
                yield f"{one} {layout}", filled(call, leaves, restore), *found


def filled(call, leaves, restore):
    """A call as a function of its arrays."""

    def of_arrays(*given):
        remaining = iter(given)
        args, kwargs = restore([next(remaining) if is_array(leaf) else leaf for leaf in leaves])
        return call(*args, **kwargs)

    return of_arrays


def subjects():
    """Those of NumPy's; SciPy's results lie as LAPACK leaves them."""
    for op in [op for table in TABLES for op in table.OPERATORS]:
        if not full_name(op.function).startswith("numpy.") or op.name in OTHERWISE:
            continue
        given = [*op.samples(np.random.default_rng(0))]
        yield op.name, Subject(op.function, op.call or op.function, given, op.domain)
        name = getattr(op.function, "__name__", "")
        if name in METHODS and getattr(np, name, None) is op.function and op.call is None:
            given = [one for one in given if one.args and is_array(one.args[0])]
            yield f"{op.name} as a method", Subject(op.function, method_named(name), given, op.domain)
    X = np.array([[0.5, -1.5, 2.5], [1.0, 3.0, -0.5]])
    for name, args in {**CALLS, "T": (), "mT": (), "view": ()}.items():
        like = getattr(np, name, np.ravel)  # of flatten, for its orders
        yield f"the method {name}", Subject(like, method_named(name), [sample(X, *args)])


SUBJECTS = dict(subjects())
MODULES = [(np, lnp), (np.linalg, lnp.linalg), (np.fft, lnp.fft)]
MODULES += [(np.lib.stride_tricks, lnp.lib.stride_tricks)]
OURS = {
    getattr(original, name): getattr(ours, name)
    for original, ours in MODULES
    for name in dir(ours)
    if name[0] != "_" and callable(getattr(original, name, None)) and not isinstance(getattr(original, name), type)
}


def in_trace(call, bases, views):
    found = []

    def f(one):
        found.append(answers(call, bases, views, lambda base: np.copy(base) * one))
        return one

    ld.vjp(f, 1.0)
    return found[0]


def under_lindiff_numpy(call, bases, views):
    return answers(call, bases, views, lnp.array)


def under_patch_numpy(call, bases, views):
    with ld.patch_numpy():
        return in_trace(call, bases, views)


def wrong(subject, ours, call, most):
    """Where what ``ours`` finds is not what NumPy does."""
    cases = zip(subject.cases(subject.call, most), subject.cases(call, most), strict=True)
    for (_, plain, bases, views), (name, call, *_) in cases:
        try:
            expected = answers(plain, bases, views, np.copy)
        except Exception:  # it is no call for these arrays
            continue
        try:
            got = ours(call, bases, views)
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"
            continue
        for difference in differences(expected, got):
            yield f"{name}: {difference}"


def assert_none(found):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = list(found)
    assert not found, "\n".join(found[:5])


@pytest.mark.parametrize("name", SUBJECTS)
def test_of_variables(name):
    subject = SUBJECTS[name]
    assert_none(wrong(subject, in_trace, subject.call, 24))


@pytest.mark.parametrize("name", SUBJECTS)
def test_in_lindiff_numpy(name):
    subject = SUBJECTS[name]
    assert_none(wrong(subject, under_lindiff_numpy, OURS.get(subject.call, subject.call), 6))


@pytest.mark.parametrize("name", SUBJECTS)
def test_under_patch_numpy(name):
    subject = SUBJECTS[name]
    with ld.patch_numpy():
        patched = getattr(np, getattr(subject.call, "__name__", ""), subject.call)
    assert_none(wrong(subject, under_patch_numpy, patched if patched == subject.call else subject.call, 4))
