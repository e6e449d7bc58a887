"""What NumPy gives as a scalar is one on Variables: immutable, ``op=`` binds the name anew."""

from __future__ import annotations

import copy
import operator
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize
from scipy import special
from table import Case
from test_table import OPERATORS

import lindiff as ld
import lindiff.numpy as lnp
import lindiff.scipy.interpolate
import lindiff.scipy.optimize
import lindiff.scipy.special
from lindiff.core import pytree
from lindiff.core.variable import Variable

X = np.array([0.5, 2.0, 3.0])


def same(f, *args):
    """Value and derivatives of ``f`` on Variables: those of NumPy's value, in every mode."""
    expected = f(*args)
    value, gradient = ld.value_and_grad(f)(*args)
    np.testing.assert_allclose(value, expected)
    direction = np.ones_like(args[0])
    rest = args[1:]
    np.testing.assert_allclose(ld.jvp(lambda x: f(x, *rest), args[:1], (direction,))[1], np.sum(gradient))
    h = 1e-6
    for i in range(np.size(args[0])):
        step = h * np.eye(np.size(args[0]))[i].reshape(np.shape(args[0]))
        slope = (f(args[0] + step, *rest) - f(args[0] - step, *rest)) / (2 * h)
        np.testing.assert_allclose(np.ravel(gradient)[i], slope, rtol=1e-5, atol=1e-6)
    with ld.patch_numpy():
        np.testing.assert_allclose(ld.grad(f)(*args), gradient)
    hessian = ld.hessian(f)(*args)
    np.testing.assert_allclose(ld.jacobian(ld.grad(f), mode="reverse")(*args), hessian)


def running_totals(x):
    total, out = 0.0, []
    for i in range(3):
        total += x[i] ** 2
        out.append(total)
    return sum(o * (k + 1) for k, o in enumerate(out))


def previous(x):
    s = np.sum(x)
    prev = s
    s += x[0]
    return (s - prev) ** 2 + prev


def product_of_a_loop(x):
    p, seen = x[0], []
    for i in (1, 2):
        seen.append(p)
        p *= x[i]
    return p + sum(seen)


def dot(x):
    d = x @ x
    first = d
    d /= 3.0
    d -= x[1]
    return d * first


def of_an_element(x):
    e = np.exp(x[0])
    kept = {"e": e}
    e **= 2
    return e + kept["e"]


def of_iteration(x):
    last, total = 0.0, 0.0
    for item in x:
        kept = item
        item += last
        total = total + item * kept
        last = kept
    return total


def of_norms(x):
    n = np.linalg.norm(x)
    m = n
    n += np.linalg.det(np.diag(x))
    return n * m


def grows(x):
    s = np.sum(x)
    t = s
    s += x  # a scalar becomes an array
    return np.sum(s) * t


PROGRAMS = [
    running_totals,
    previous,
    product_of_a_loop,
    dot,
    of_an_element,
    of_iteration,
    of_norms,
    grows,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_op_equals_binds_anew(program):
    same(program, X)


def of_a_number(s):
    t = s
    t += 1.0
    t *= s
    return t * s


@pytest.mark.parametrize("s", [2.0, np.float64(2.0)])
def test_an_argument_that_is_a_number(s):
    same(of_a_number, s)


def arrays_without_axes(x):
    """These change: every other name sees it."""
    a = np.array(2.0, like=x) if isinstance(x, np.ndarray) else lnp.array(2.0)
    b = a
    a += x[0]
    e = (x * 1.0)[1, ...]
    f = e
    e *= x[2]
    w = np.where(x[0] > 0, x[0], 1.0)
    v = w
    w -= x[1]
    c = np.copy(x[2])
    d = c
    np.add(c, x[0], out=c)
    z = np.zeros_like(x[0])
    y = z
    z[...] = x[1] * x[2]
    return b * f + v * d + y


def test_arrays_without_axes_change():
    same(arrays_without_axes, X)


@pytest.mark.parametrize(
    "view_of",
    [
        lambda t: t[...],
        lambda t: t[None],
        lambda t: t.view(),
        lambda t: t.reshape(()),
        lambda t: t.real,
        lambda t: t.T,
        np.squeeze,
        np.ravel,
        np.atleast_1d,
    ],
)
def test_views_of_arrays_without_axes(view_of):
    def f(x):
        t = np.zeros_like(x[0])
        t += x[0]
        u = view_of(t)
        u *= x[1]
        t[()] = t * x[2]
        return t * np.sum(u)

    same(f, X)


def of_what_is_a_scalar_in_the_end(x):
    a = np.vecdot(x, x) if hasattr(np, "vecdot") else x @ x
    b = a
    a *= 2
    c = np.choose(0, [x[0] * x[1], x[1]])
    d = c
    c *= x[2]
    return b * d


def test_scalars_of_composed_functions():
    same(of_what_is_a_scalar_in_the_end, X)


def test_out_in_a_tuple_under_lindiff_numpy():
    def f(x):
        y = lnp.zeros(3)
        lnp.exp(x, out=(y,))
        a, b = lnp.zeros(3), x * 0
        lnp.modf(x, out=(a, b))
        return lnp.sum(y * a)

    fraction = X - np.trunc(X)
    np.testing.assert_allclose(ld.grad(f)(X), np.exp(X) * (fraction + 1))


def test_an_argument_that_is_an_array_without_axes():
    def f(a):
        b = a
        a += 1.0
        return a * b

    np.testing.assert_allclose(ld.value_and_grad(f)(np.array(2.0)), (9.0, 6.0))
    np.testing.assert_allclose(ld.jvp(f, (np.array(2.0),), (np.array(1.0),)), (9.0, 6.0))


def test_scalars_under_lindiff_numpy():
    def f(x):
        total, out = lnp.float64(0.0), []
        for i in range(3):
            total += lnp.square(x[i])
            out.append(total)
        s = lnp.sum(lnp.ones(3))
        t = s
        s += x[0]
        return sum(o * (k + 1) for k, o in enumerate(out)) + s * t

    value, gradient = ld.value_and_grad(f)(X)
    np.testing.assert_allclose(value, 48.5 + 3 * 3.5)
    np.testing.assert_allclose(gradient, [9.0, 20.0, 18.0])


@pytest.mark.parametrize(
    "write",
    [
        lambda s: operator.setitem(s, ..., 1.0),
        lambda s: operator.setitem(s, (), 1.0),
        lambda s: s.fill(1.0),
        lambda s: np.add(s, 1.0, out=s),
        lambda s: np.copyto(s, 1.0),
        lambda s: setattr(s, "real", 1.0),
    ],
)
def test_scalars_cannot_be_written_to(write):
    def f(x):
        s = np.sum(x)
        with pytest.raises(TypeError, match=r"scalar.*write s = "):
            write(s)
        return s

    np.testing.assert_array_equal(ld.grad(f)(X), 1.0)


def test_a_scalar_made_by_hand_is_bound_anew():
    v = w = ld.Variable(2.0)
    w *= w
    w.backward()
    assert v.grad == 4.0
    assert w == 4.0


def kinds(case: Case, arrays: list[Any]) -> list[bool]:
    """Of every result without axes, whether it is a scalar."""
    leaves = pytree.flatten(case.of_arrays(arrays))[0]
    return [
        leaf._scalar if isinstance(leaf, Variable) else not isinstance(leaf, np.ndarray)
        for leaf in leaves
        if np.ndim(ld.value(leaf)) == 0
    ]


@pytest.mark.parametrize("as_scalars", [False, True], ids=["arrays", "scalars"])
@pytest.mark.parametrize("operator_", OPERATORS, ids=lambda operator_: operator_.name)
@pytest.mark.parametrize("recorded", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize("forward", [False, True], ids=["vjp", "jvp"])
def test_scalar_or_array_as_in_numpy(operator_, as_scalars, recorded, forward):
    recording = ld.program if recorded else lambda f: f
    for case in operator_.cases():
        arrays = [a[()] if as_scalars and a.ndim == 0 else a.copy() for a in case.arrays()]
        if as_scalars and all(isinstance(a, np.ndarray) for a in arrays):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = kinds(case, arrays)
            except (AttributeError, TypeError):
                assert as_scalars  # which not every function takes
                continue
            if expected:
                found = []

                def f(*v, case=case, found=found):
                    found.append(kinds(case, [*v]))
                    return 0.0

                run = (lambda *v, f=f: ld.jvp(f, v, v)[0]) if forward else lambda *v, f=f: ld.vjp(f, *v)[0]
                recording(run)(*arrays)
                assert found == [expected], case.id


def test_a_copy_of_an_array_without_axes_is_one():
    def f(x, np):
        results = []
        for a in (np.array(0.4), np.reshape(x, ()), np.squeeze(x[None])):
            b = copy.copy(a)
            view = b[...]
            view[None] = 2.0 * x
            results.append(b * a)
        return sum(results) + copy.copy(x * 2.0) * copy.copy(x)

    x = np.float64(0.3)
    value, slope = ld.value_and_grad(lambda x: f(x, lnp))(x)
    assert value == f(x, np)
    assert slope == pytest.approx((f(x + 1e-6, np) - f(x - 1e-6, np)) / 2e-6, rel=1e-8)
    assert ld.jvp(lambda x: f(x, lnp), (x,), (1.0,))[1] == pytest.approx(slope)


def test_what_flat_of_a_scalar_is_of():
    def f(x):
        s = np.sum(x)
        s.flat[::2] = 1.0
        return s * s.flat[0]

    same(f, X)


def test_an_array_without_axes_is_one_in_a_checkpoint():
    def f(z):
        s = z.copy()
        same = s
        s[...] = 2.0 * z
        return s * same

    for program in (False, True):
        assert ld.value_and_grad(ld.checkpoint(f, program=program))(np.array(0.5)) == (1.0, 4.0)


def test_a_part_without_axes_that_is_no_view():
    def f(x):
        s = x[np.array(1), ...]
        t = s
        s *= x[0]
        return s * t

    same(f, X)


@pytest.mark.parametrize(
    "transform",
    [
        lambda x, c, z: ld.grad(lambda c: c * z)(c),
        lambda x, c, z: ld.grad(lambda z: z * c)(z),
        lambda x, c, z: ld.grad(lambda z: np.sum(x) * z * z)(z),
        lambda x, c, z: ld.vjp(lambda x: np.sum(x) * c, x)[1](c)[0][0],
        lambda x, c, z: ld.linearize(lambda x: np.sum(x) * c, x)[1](x),
        lambda x, c, z: ld.jvp(lambda z: z.copy(), (z,), (z,))[0],
        lambda x, c, z: ld.jacobian(lambda c: c * x[0])(c),
        lambda x, c, z: ld.jacobian(lambda z: z * x[0])(z),
        lambda x, c, z: ld.hessian(lambda c: c * x[0] * c)(c),
    ],
)
def test_results_of_transforms_within_others(transform):
    kinds = []

    def f(x, c, z):
        s = transform(x, c, z)
        kinds.append(s._scalar if isinstance(s, Variable) else not isinstance(s, np.ndarray))
        return s * 1.0

    primals = (X, np.float64(1.3), np.array(0.9))
    f(*primals)
    for run in (lambda f: f, ld.program):
        run(f)(*primals)
        run(ld.grad(f, (0, 1, 2)))(*primals)
        run(lambda *x: ld.jvp(f, x, x))(*primals)
    assert len(set(kinds)) == 1


S, Z, M = np.float64(0.6), np.array(0.6), np.array([[2.0, 0.3], [0.1, 1.5]])


TRANSFORMS = {
    "vjp": lambda f, x: ld.vjp(f, *x)[0],
    "jvp": lambda f, x: ld.jvp(f, x, x)[0],
    "jvp of vjp": lambda f, x: ld.jvp(lambda *x: ld.vjp(f, *x)[0], x, x)[0],
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("recorded", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, s, z, m: np.linalg.slogdet(m),
        lambda x, s, z, m: np.modf(s),
        lambda x, s, z, m: (np.heaviside(s, 1.0), np.copysign(1.0, s), np.nextafter(1.0, s)),
        lambda x, s, z, m: (special.pdtr(s, 1.0), special.pdtrc(s, 1.0)),
        lambda x, s, z, m: np.average(x, returned=True),
        lambda x, s, z, m: np.average(m, returned=True, keepdims=True),
        lambda x, s, z, m: np.dot(x, x, out=z.copy()),
        lambda x, s, z, m: x.dot(x, out=z.copy()),
        lambda x, s, z, m: np.sum(x, out=z.copy()),
        lambda x, s, z, m: np.clip(s, 0.0, 0.5, out=z.copy()),
        lambda x, s, z, m: np.clip(z, 0.0, 0.5, out=z.copy()),
        lambda x, s, z, m: np.einsum("i,i", x, x, optimize=True),
        lambda x, s, z, m: np.einsum("i->", x, optimize=True),
        lambda x, s, z, m: np.einsum("ij,j,i", m, x[:2], x[:2], optimize="optimal"),
        lambda x, s, z, m: np.einsum("i,i", s * np.ones(5000), s * np.ones(5000)),
        lambda x, s, z, m: np.quantile(x, 0.5, method="inverted_cdf", weights=np.ones(3)),
        lambda x, s, z, m: (np.quantile(s, 0.5, keepdims=True), np.quantile(s, 0.5)),
        lambda x, s, z, m: (np.median(z, keepdims=True), np.median(z)),
        lambda x, s, z, m: np.broadcast_arrays(s > 0, z),
        lambda x, s, z, m: (+s, +z),
    ],
)
def test_more_scalars_and_arrays(call, transform, recorded):
    kinds = []

    def f(*primals):
        leaves = pytree.flatten(call(*primals))[0]
        scalars = [y._scalar if isinstance(y, Variable) else not isinstance(y, np.ndarray) for y in leaves]
        kinds.append([(np.ndim(y), scalar, y.dtype) for y, scalar in zip(leaves, scalars, strict=True)])
        return 0.0

    primals = (X, S, Z, M)
    f(*primals)
    run = TRANSFORMS[transform]
    (ld.program(lambda *x: run(f, x)) if recorded else lambda *x: run(f, x))(*primals)
    assert kinds[1:] == kinds[:1]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.linalg.slogdet(np.outer(x, x) + np.eye(3))[0],
        lambda x: np.average(x, returned=True)[1],
        lambda x: np.average(x[:, None] * x, 0, returned=True)[1],
        lambda x: np.einsum("i,i", x, x, optimize=True),
        lambda x: np.dot(x, x, out=x[0, ...].copy()),
        lambda x: np.heaviside(x[0], 1.0),
    ],
)
def test_other_names_of_results(make):
    def f(x):
        s = same = make(x)
        s *= x[0]
        return np.sum(s * same)

    value, slopes = f(X), [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    for run in (lambda f: f, ld.program):
        np.testing.assert_allclose(run(lambda x: ld.jvp(f, (x,), (x,)))(X), (value, slopes @ X))
        np.testing.assert_allclose(run(ld.grad(f))(X), slopes, atol=1e-7)


GRID = ([0.0, 1.0], [0.0, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x, m, of: of.interpolate.CubicSpline([0.0, 1.0, 2.0], x).integrate(0.0, 1.5),
        lambda x, m, of: of.interpolate.make_interp_spline([0.0, 1.0, 2.0], x, k=2).integrate(0.0, 1.5),
        lambda x, m, of: of.interpolate.RegularGridInterpolator(GRID, m)((0.5, 0.2)),
        lambda x, m, of: of.interpolate.RegularGridInterpolator(GRID, m)([0.5, 0.2]),
        lambda x, m, of: of.special.polygamma(1, x[0]),
        lambda x, m, of: of.optimize.fixed_point(lambda v, c: 0.5 * v + c, 0.0, args=(x[0],)),
        lambda x, m, of: of.optimize.fixed_point(
            lambda v, c: 0.5 * v + c, 0.0, args=(x[0],), method="iteration"
        ),
    ],
)
def test_scalars_and_arrays_of_scipy(call):
    expected = np.asarray(call(X, M, scipy))
    is_array = isinstance(call(X, M, scipy), np.ndarray)
    assert isinstance(call(X, M, lindiff.scipy), np.ndarray) == is_array
    for run in (ld.vjp, lambda f, *x: ld.jvp(f, x, x)):
        found = []
        run(lambda x, m, found=found: found.append(call(x, m, lindiff.scipy)) or 0.0, X, M)
        assert found[0]._scalar != is_array
        assert found[0].shape == expected.shape
        np.testing.assert_allclose(ld.value(found[0]), expected)
