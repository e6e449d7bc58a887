"""Views, copies and memory layout are NumPy's: every function and method, asked what NumPy answers.

The calls of the tables are made on arrays and on Variables, with their arguments laid out in memory in all
the ways that views make.  What is compared: dtype and shape, scalar or array, the order of strides,
contiguity, whether results may be written to or are an argument itself, and where numbers turn up that are
written to a result, or to what an argument is a view of.  NumPy is the reference.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import re
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
from lindiff.testing import check_grads

TABLES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("table_*.py"))]

# What functions do otherwise, and why; what they refuse, and why.
OTHERWISE = {
    "histogram2d": ("C", "NumPy gives a part of a larger array"),
    "histogramdd": ("C", "NumPy gives a part of a larger array"),
    "nan_to_num": ("order C F", "a view that has been written to has memory of its own until seen anew"),
    "polyval": ("scalar", "NumPy gives an array without axes for no coefficients alone"),
    "quantile": ("scalar", "NumPy gives arrays without axes for some methods and keywords"),
    "percentile": ("scalar", "NumPy gives arrays without axes for some methods and keywords"),
    "nanquantile": ("scalar", "NumPy gives arrays without axes for some methods and keywords"),
    "nanpercentile": ("scalar", "NumPy gives arrays without axes for some methods and keywords"),
}
if np.lib.NumpyVersion(np.__version__) < "2.1.0":
    OTHERWISE["broadcast_arrays"] = "itself", "of arrays of other shapes none is in the result itself"
REFUSED = {
    "as_strided": ("outside of its memory", "NumPy shows what is there"),
    "intersect1d": ("index", "values said to be unique that are not"),
    "put": ("cannot be written to", "what NumPy writes into a scalar is lost"),
    "resize": ("has no resize", "the method changes the array itself"),
}

# -- layouts: what an argument is a view of, made from its value, and the view ----------------------------


def by_step(x, step):
    return x[(slice(None, None, step),) * x.ndim]


def of_twice_the_length(a):
    base = np.zeros([2 * n for n in a.shape], a.dtype)
    by_step(base, 2)[...] = a
    return base


# name -> fewest axes, base of a value, view of the base in the shape of the value
LAYOUTS = {
    "whole": (0, np.copy, lambda base, shape: base),
    "transposed": (2, lambda a: a.T.copy(), lambda base, shape: base.T),
    "reversed": (1, lambda a: np.flip(a).copy(), lambda base, shape: by_step(base, -1)),
    "strided": (1, of_twice_the_length, lambda base, shape: by_step(base, 2)),
    "swapped": (3, lambda a: np.swapaxes(a, 0, 1).copy(), lambda base, shape: base.swapaxes(0, 1)),
    "broadcast": (1, lambda a: a[:1].copy(), lambda base, shape: np.broadcast_to(base, shape)),
    "length one": (1, lambda a: a[(slice(1),) * a.ndim].copy(), lambda base, shape: base),
    "one row": (2, lambda a: a[:1].copy(), lambda base, shape: base),
    "no axes": (1, lambda a: np.array(a[(0,) * a.ndim]), lambda base, shape: base[...]),
    "scalar": (0, lambda a: a[(0,) * a.ndim] if a.ndim else a[()], lambda base, shape: base),
}  # fmt: skip


def laid_out(name, arrays):
    """Bases of the arrays and what makes the views of them; None where it would be nothing new."""
    names = [name] * len(arrays)
    if name == "mixed":
        names = ["transposed" if k % 2 else "whole" for k in range(len(arrays))]
    names = [n if a.size and a.ndim >= LAYOUTS[n][0] else "whole" for n, a in zip(names, arrays, strict=True)]
    if name != "whole" and all(n == "whole" for n in names):
        return None
    bases = [LAYOUTS[n][1](a) for n, a in zip(names, arrays, strict=True)]

    def views(bases):
        return [LAYOUTS[n][2](b, a.shape) for n, b, a in zip(names, bases, arrays, strict=True)]

    return bases, views


# -- what is asked ----------------------------------------------------------------------------------------


def results(tree):
    kinds = (np.ndarray, np.generic, float, complex, ld.Variable)
    return [x for x in pytree.flatten(tree)[0] if isinstance(x, kinds)]


def is_scalar(x):
    """Whether NumPy would have a scalar here, which is immutable."""
    return x._scalar if isinstance(x, ld.Variable) else not isinstance(x, np.ndarray)


def order_in_memory(x):
    """The axes by falling stride, which run backwards, and which do not move at all."""
    axes = [axis for axis in range(x.ndim) if x.shape[axis] > 1]
    strides = [x.strides[axis] for axis in axes]
    order = sorted(axes, key=lambda axis: -abs(x.strides[axis]))
    return order, [s < 0 for s in strides], [s == 0 for s in strides]


def description(x):
    found = {"dtype": np.result_type(ld.value(x)), "shape": np.shape(x), "scalar": is_scalar(x)}
    if np.ndim(x) and x.size:
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

    _, args, outs = run()
    found = {"results": [description(out) for out in outs]}
    found["itself"] = [[out is arg and not is_scalar(out) for arg in args] for out in outs]
    for k in range(len(outs)):
        if is_scalar(outs[k]) or not outs[k].size or outs[k].dtype.kind not in "fc":
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
        if is_scalar(bases[k]):
            continue
        whole, args, outs = run()
        numbers = numbers_for(whole[k], 90_000.0)
        whole[k][...] = numbers
        found["seen", k] = [places(out, numbers) for out in outs]
    return found


def differences(expected, got, left_out):
    """Where two answers differ, apart from what is left out."""
    for found in (expected, got):
        for one in found["results"]:
            for name in left_out:
                one.pop(name, None)
    for name in expected.keys() - left_out:
        alike = name in got and expected[name] == got[name]
        if not alike and not (name[0] == "written" and {"writable", "scalar"} & left_out):
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

    def __init__(self, function, call, samples, domain=None, left_out=(), refused=None):
        self.function, self.call, self.domain = function, call, domain
        name = getattr(function, "__name__", "")
        self.left_out = {*OTHERWISE.get(name, ("", ""))[0].split(), *left_out}
        self.refused = refused or REFUSED.get(name, (None, None))[0]
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
        if not full_name(op.function).startswith("numpy."):
            continue
        given = [*op.samples(np.random.default_rng(0))]
        seen = ("writable",) if op.constant and op.call else ()  # through ld.value, which is read-only
        yield op.name, Subject(op.function, op.call or op.function, given, op.domain, seen)
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
    found: getattr(ours, name)
    for original, ours in MODULES
    for name, found in vars(original).items()
    if isinstance(found, (np.ufunc, type(np.sum)))
}


def traced(base, one):
    """``base`` as a Variable, which is a scalar where it is one."""
    return (base * one)[...] if isinstance(base, np.ndarray) and not base.ndim else base * one


def in_trace(call, bases, views):
    found = []

    def f(one):
        found.append(answers(call, bases, views, lambda base: traced(base, one)))
        return one

    ld.vjp(f, 1.0)
    return found[0]


def under_lindiff_numpy(call, bases, views):
    return answers(call, bases, views, lambda base: base if is_scalar(base) else lnp.array(base))


def answered(subject, most):
    """The names of calls, each with what NumPy answers; None where it is no call for these arrays."""
    for name, plain, bases, views in subject.cases(subject.call, most):
        try:
            yield name, answers(plain, bases, views, lambda base: base if is_scalar(base) else np.copy(base))
        except Exception:
            yield name, None


def ours_or_error(ours, *case):
    try:
        return ours(*case)
    except Exception as error:
        return error


def wrong(subject, ours, call, most, context=contextlib.nullcontext):
    """Where what ``ours`` finds in a context, which is entered once, is not what NumPy does."""
    expected = [*answered(subject, most)]
    with context():
        cases = zip(expected, subject.cases(call, most), strict=True)
        got = [ours_or_error(ours, *case) for (_, known), (_, *case) in cases if known is not None]
    for (name, known), found in zip([pair for pair in expected if pair[1] is not None], got, strict=True):
        if not isinstance(found, Exception):
            yield from (f"{name}: {difference}" for difference in differences(known, found, subject.left_out))
        elif subject.refused is None or re.search(subject.refused, str(found)) is None:
            yield f"{name}: {type(found).__name__}: {found}"


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


@pytest.fixture(scope="module")
def numpy_in_patch():
    with ld.patch_numpy():
        return np


@pytest.mark.parametrize("name", SUBJECTS)
def test_under_patch_numpy(name, numpy_in_patch):
    subject = SUBJECTS[name]
    patched = getattr(numpy_in_patch, getattr(subject.call, "__name__", ""), subject.call)
    call = patched if patched == subject.call else subject.call
    assert_none(wrong(subject, in_trace, call, 4, ld.patch_numpy))


# -- what no call of a function shows -----------------------------------------------------------------------

A34 = np.arange(12.0).reshape(3, 4)


def same_as_numpy(f, *args):
    """``f`` gives on Variables what it gives on arrays, and has its derivatives."""
    np.testing.assert_array_equal(ld.vjp(f, *args)[0], f(*[a.copy() for a in args]))
    check_grads(f, args, order=2)


def test_a_shape_is_set():
    def f(a):
        a = a * a
        row, T = a[1], a.T
        a.shape = (2, 6)
        a[0, 4] = 7.0 * a[1, 0]
        row *= 2.0
        assert a.shape == (2, 6)
        assert row.shape == (4,)
        return np.concatenate([a.ravel(), row, T.ravel()])

    same_as_numpy(f, A34)


def test_the_shape_of_a_view_is_set():
    def f(a):
        a = a * a
        half = a[:, :2].copy()[1:]
        half.shape = (2, 2)
        half[0, 1] *= a[0, 1]
        half.shape = -1
        return half * half

    same_as_numpy(f, A34)


def test_a_shape_that_needs_a_copy_is_refused():
    def f(a):
        a = a * 2.0
        T = a.T
        with pytest.raises(AttributeError, match="reshape"):
            T.shape = (12,)
        with pytest.raises(ValueError, match="reshape"):
            a.shape = (5, 2)
        T[0, 0] = 5.0
        return a

    same_as_numpy(f, A34)
    with pytest.raises(TypeError, match="made by hand"):
        ld.Variable(A34).shape = (12,)


def test_parts_of_flat_are_copies():
    def f(a):
        a = a * a
        every, some = a.flat[:], a.flat[2:5]
        every *= 0.0
        some += 1.0
        a.flat[3] = 2.0 * a.flat[4]
        a.flat[6:8] = a.flat[0:2]
        return np.concatenate([a.ravel(), every, some])

    same_as_numpy(f, A34)


def test_windows_are_written_to():
    def f(a):
        a = a * a
        w = lnp.lib.stride_tricks.sliding_window_view(a, 2, axis=1, writeable=True)
        w[1, 1] = a[0, :2]
        w[:, 0] *= 2.0
        a[2] += 1.0
        return np.concatenate([a.ravel(), w.ravel()])

    same_as_numpy(f, A34)


def test_as_strided():
    def f(x, c):
        x = x * x
        hankel = lnp.lib.stride_tricks.as_strided(x[1:], (3, 2), (2 * x.itemsize, x.itemsize))
        x[3] = x[0]
        hankel[1] *= c
        return np.concatenate([x, hankel.ravel()])

    def g(x, c):
        back = lnp.lib.stride_tricks.as_strided(x[4:], (2, 3), (-16, 8))
        return back * c[0]

    for h in (f, g):
        same_as_numpy(h, np.arange(1.0, 8.0), np.array([0.5, 2.0]))


def test_as_strided_stays_inside():
    def f(x):
        return lnp.lib.stride_tricks.as_strided(x, (3, 3), (8, 8))

    with pytest.raises(ValueError, match="outside"):
        ld.vjp(f, np.ones(4))


def test_as_strided_in_code_that_cannot_be_changed():
    def f(x):
        return np.sum(np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)) ** 2)

    with ld.patch_numpy():
        np.testing.assert_array_equal(ld.grad(f)(np.array([1.0, 2.0, 3.0])), [2.0, 8.0, 6.0])


def test_layouts_survive_writes():
    def f(a):
        t = (a * a).T
        t *= np.ones((4, 3))
        t[0] = 1.0
        return np.concatenate([t.ravel("K"), t.ravel("A"), t.flatten("K"), t.reshape(2, 6, order="A")[1]])

    same_as_numpy(f, A34)


def test_flags():
    def f(a):
        b = np.broadcast_to(a[0], (3, 4))
        assert a.flags.writeable
        assert a.flags["C_CONTIGUOUS"]
        assert a.T.flags.fnc
        assert not a[::2].flags.owndata
        assert not b.flags.writeable
        assert not b.flags["W"]
        assert "WRITEABLE : False" in repr(b.flags)
        with pytest.raises(TypeError, match="cannot be set"):
            a.flags.writeable = False
        return a

    ld.vjp(f, A34)


def windows(x):
    return lnp.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)


MASK = np.array([[1, 0], [1, 1], [0, 1]], bool)
INTO_WINDOWS = {
    "add.at": lambda w: np.add.at(
        w, (np.array([0, 1, 1]), np.array([1, 0, 1])), np.array([10.0, 20.0, 30.0])
    ),
    "subtract.at": lambda w: np.subtract.at(w, np.array([0, 1, 0]), 1.0),
    "multiply.at": lambda w: np.multiply.at(w, np.array([0, 1, 0]), 2.0),
    "add": lambda w: np.add(w, 1.0, out=w),
    "multiply": lambda w: np.multiply(w, w, out=w),
    "matmul": lambda w: np.matmul(np.eye(3), np.arange(6.0).reshape(3, 2) + 1, out=w),
    "copyto": lambda w: np.copyto(w, np.arange(6.0).reshape(3, 2) * 10, where=MASK),
    "put": lambda w: np.put(w, [0, 1, 2], [7.0, 8.0, 9.0]),
    "mask": lambda w: w.__setitem__(MASK, np.arange(4.0) * 10),
    "take": lambda w: np.take(np.arange(6.0) + 1, np.arange(6).reshape(3, 2), out=w, mode="clip"),
}


@pytest.mark.parametrize("name", INTO_WINDOWS)
def test_written_into_windows_that_overlap(name):
    def f(x):
        x = x * x
        w = windows(x)
        INTO_WINDOWS[name](w)
        return np.concatenate([x, w.ravel()])

    same_as_numpy(f, np.array([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize(
    "write",
    [
        lambda w: np.cumsum(w * 2, axis=0, out=w),
        lambda w: np.sum(np.ones((3, 2, 2)) * w[0, 0], axis=2, out=w),
        lambda w: np.add.accumulate(w * 2, out=w),
        lambda w: np.add(w * 2, 1.0, out=w, where=MASK),
        lambda w: w.sort(axis=0),
        lambda w: w.partition(1, axis=0),
        lambda w: np.putmask(w, MASK, [7.0]),
        lambda w: np.place(w, MASK, [7.0]),
    ],
)
def test_what_depends_on_the_order_of_writing_is_refused(write):
    with pytest.raises(ValueError, match=r"several times.*w = view.copy\(\)"):
        ld.vjp(lambda x: write(windows(x * 1.0)), np.arange(4.0))
