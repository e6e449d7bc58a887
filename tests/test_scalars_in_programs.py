"""NumPy's scalars in recorded functions: immutable there as well, whatever transform runs in the program."""

from __future__ import annotations

import copy
import numbers
from collections import abc

import numpy as np
import pytest

import lindiff as ld
from lindiff.core import pytree
from lindiff.scipy import integrate, optimize

X, C, Z = np.array([1.5, 2.0, 0.7]), np.float64(1.3), np.array(0.9)

# What NumPy gives as a scalar, and what as an array without axes.
SCALARS = {
    "sum": lambda x, c, z: np.sum(x),
    "det": lambda x, c, z: np.linalg.det(np.outer(x, x) + np.eye(3)),
    "einsum": lambda x, c, z: np.einsum("i,i->", x, x),
    "item": lambda x, c, z: x[0],
    "next": lambda x, c, z: next(iter(x)),
    "unpacked": lambda x, c, z: (lambda first, *others: first)(*x),
    "dot": lambda x, c, z: x @ x,
    "argument": lambda x, c, z: c,
    "exp": lambda x, c, z: np.exp(x[0]),
    "exp of an array": lambda x, c, z: np.exp(z),
    "item of an array": lambda x, c, z: z[()],
    "maximum": lambda x, c, z: np.maximum(x[0], 0.0),
}
ARRAYS = {
    "argument": lambda x, c, z: z,
    "where": lambda x, c, z: np.where(x[0] > 0, np.sum(x), 1.0),
    "copy": lambda x, c, z: np.copy(x[0]),
    "part": lambda x, c, z: x[0, ...],
    "copied part": lambda x, c, z: x[np.array(0), ...],
    "reshaped": lambda x, c, z: x[:1].reshape(()),
    "all of a scalar": lambda x, c, z: c[...],
    "all of a result": lambda x, c, z: np.exp(x[0])[...],
    "squeezed": lambda x, c, z: np.squeeze(x[:1]),
    "real": lambda x, c, z: z.real,
}


def added(s, c):
    old = s
    s += c
    return s * old


def multiplied(s, c):
    old = s
    s *= s
    return s * old


def raised(s, c):
    old = s
    s **= 2
    return s + old


def path(s, c):
    kept = [s]
    for _ in range(3):
        s *= 0.5
        kept.append(s)
    return sum(k * (i + 1) for i, k in enumerate(kept)) * c


def halved(s, c):
    steps = []
    while s > 0.3:
        steps.append(s)
        s /= 2
    return sum(steps) * c


def doubled_by_another(s, c):
    def double(v):
        v *= 2
        return v

    return double(s) * s


def written(s, c):
    s[...] = 2.0 * c
    return s * c


def written_through(s, c):
    view = s[...]
    view += c
    return s * view


def filled(s, c):
    s.fill(2.5)
    return s * c


def written_flat(s, c):
    s.flat[::2] = 1.0
    return s * c


def written_out(s, c):
    np.add(s, c, out=s)
    return s * c


def added_at(s, c):
    np.add.at(s, (), c)
    return s * c


def copied(s, c):
    other = same = copy.copy(s)
    other += c
    return s * other * same


def by_value(s, c):
    plain = same = ld.stop_gradient(s)
    plain = plain + 1.0
    return s * plain * same


def first(s, c):
    for item in s:
        return item


def without_base(s, c):
    return s * 2.0 if s.base is None else s * c


USES = [
    *(added, multiplied, raised, path, halved, doubled_by_another, written, written_through, filled),
    *(written_flat, written_out, added_at, copied, by_value, first),
]


def outcome(f, *args):
    """What a call gives, as one array, or the class of what it raises."""
    try:
        return np.concatenate([np.ravel(part) for part in pytree.flatten(f(*args))[0]])
    except (TypeError, ValueError, IndexError) as error:
        return type(error)


def agree(expected, found):
    if isinstance(expected, type) or isinstance(found, type):
        assert found is expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def backward(f):
    return ld.value_and_grad(f, (0, 1, 2))


def forward(f):
    return lambda *x: ld.jvp(f, x, x)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [*SCALARS.values(), *ARRAYS.values()], ids=[*SCALARS, *ARRAYS])
def test_scalars_and_arrays_without_axes(make, use):
    def f(x, c, z):
        return use(make(x + 0.0, c, z.copy()), c)

    for transform in (backward, forward):
        expected = outcome(transform(f), X, C, Z)
        transformed = [ld.program(transform(f)), transform(ld.program(f))]
        if transform is backward:
            transformed.append(transform(ld.checkpoint(f, program=True)))
        for fast in transformed:
            for _ in range(4):
                agree(expected, outcome(fast, X, C, Z))


@pytest.mark.parametrize("make", [SCALARS["sum"], SCALARS["exp"], ARRAYS["argument"]])
def test_second_derivatives(make):
    for use in (added, multiplied, written_through):

        def f(x, c=C, z=Z, use=use):
            return use(make(x, c, z * np.sum(x) + 0.0), c)

        expected = ld.hessian(f)(X)
        for fast in (ld.program(ld.hessian(f)), ld.hessian(ld.program(f))):
            for _ in range(3):
                np.testing.assert_allclose(fast(X), expected, rtol=1e-9, atol=1e-9)


def slopes(s, c):
    old = s
    s *= 0.5
    return c - s * old


def logarithmic(s, c):
    """Where the scalar is of a function of elements."""
    s = np.exp(-c * s)
    old = s
    s *= c
    return s * old


@pytest.mark.parametrize("f", [slopes, logarithmic])
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_differential_equations(f, method):
    def end(c, right):
        return integrate.solve_ivp(right, (0, 1), [1.0], method, args=(c,), rtol=1e-9, atol=1e-11).y[0, -1]

    def right(t, y, c):
        return np.stack([f(y[0], c)])

    def free(t, y, c):  # the same without writing
        s = np.exp(-c * y[0]) if f is logarithmic else y[0]
        return np.stack([s * c * s if f is logarithmic else c - s * 0.5 * s])

    for of in (ld.grad, lambda f: lambda c, right: ld.jvp(lambda c: f(c, right), (c,), (1.0,))[1]):
        np.testing.assert_allclose(of(end)(0.7, right), of(end)(0.7, free), rtol=1e-7)


@pytest.mark.parametrize("quad", [integrate.quad, integrate.quad_vec])
def test_integrals(quad):
    def lowered(s, p):
        r = p * s
        old = r
        r -= 1.0
        return r * old

    assert ld.grad(lambda p: quad(lowered, 0, 1, args=(p,))[0])(0.9) == pytest.approx(2 * 0.9 / 3 - 0.5)
    found = ld.grad(lambda p: quad(logarithmic, 0, 1, args=(p,))[0])(0.9)
    expected = ld.grad(lambda p: quad(lambda s, p: p * np.exp(-2 * p * s), 0, 1, args=(p,))[0])(0.9)
    assert found == pytest.approx(expected)


def test_searches():
    def objective(w):
        r = np.sum((w - 1.0) ** 2) + w[0]
        old = r
        r *= 2.0
        return r - old + 0.5 * np.sum(w**2)

    def residuals(w):
        r = w[0] ** 2 - 2.0
        old = r
        r += w[1]
        return np.stack([r, old + 3.0 * w[1] - 0.5])

    for search, f in [
        (optimize.minimize, objective),
        (optimize.least_squares, residuals),
        (optimize.root, residuals),
    ]:
        by_python, by_program = (search(f, np.ones(2), program=program).x for program in (False, True))
        np.testing.assert_allclose(by_program, by_python, rtol=1e-6)


def test_elements():
    def f(x):
        s = np.sum(x)
        old = s
        s += 1.0
        return s * old

    stacked = np.stack([X, 2 * X])
    np.testing.assert_allclose(ld.vmap(ld.grad(f))(stacked), [ld.grad(f)(x) for x in stacked])
    np.testing.assert_allclose(ld.vmap(ld.grad(lambda c: f(c)))(X), [ld.grad(f)(c) for c in X])
    gradients = ld.grad(lambda x: np.sum(ld.vmap(f)(x)))(stacked)
    np.testing.assert_allclose(gradients, ld.vmap(ld.grad(f))(stacked))


def test_what_values_of_scalars_are():
    """They are scalars in programs, too: nothing is written to them."""

    def f(x):
        plain = same = ld.value(np.sum(x))
        plain += 1.0
        return np.sum(x) * plain * same

    expected = ld.grad(f)(X)
    fast = ld.program(ld.grad(f))
    for _ in range(3):
        np.testing.assert_allclose(fast(X), expected)


def asked(v):
    """What Python and its libraries ask of objects that may be arrays or numbers."""
    names = [
        "__len__",
        "__iter__",
        "__setitem__",
        "__contains__",
        "__index__",
        "__iadd__",
        "__getitem__",
        "shape",
    ]
    classes = [
        abc.Iterable,
        abc.Sized,
        abc.Container,
        abc.Hashable,
        numbers.Real,
        float,
        np.ndarray,
        np.floating,
    ]
    return [
        *(hasattr(v, name) for name in names),
        *(isinstance(v, kind) for kind in classes),
        *(np.iterable(v), np.isscalar(v)),
    ]


@pytest.mark.parametrize(
    "make",
    [np.sum, np.copy, np.argmax, np.argsort, lambda x: x[0] > 1.0, lambda x: np.where(True, x[0], 0.0)],
)
def test_what_numbers_and_arrays_have(make):
    answers = []

    def f(x):
        answers.append(asked(make(x)))
        return x

    f(X)
    ld.program(f)(X)
    with ld.patch_numpy():
        ld.program(f)(X)
    assert answers[1:] == answers[:1] * 2


def test_numbers_that_have_no_length():
    def norm(v):
        return np.sum(np.abs(v)) if hasattr(v, "__len__") else 10.0 * v

    def f(x):
        return norm(np.sum(x)) + norm(x)

    for fast in (ld.program(f), lambda x: ld.value_and_grad(f)(x)[0], ld.program(ld.value_and_grad(f))):
        for _ in range(3):
            np.testing.assert_allclose(np.ravel(pytree.flatten(fast(X))[0][0]), f(X))


def test_classes_of_what_variables_of_programs_stand_for():
    def f(x):
        s = np.sum(x)
        squared = s**2 if isinstance(s, float) and np.isscalar(s) else s
        return squared if isinstance(x, np.ndarray) else 0.0 * s

    with ld.patch_numpy():
        for fast in (ld.program(f), f):
            np.testing.assert_allclose(fast(X), np.sum(X) ** 2)
        expected = ld.grad(f)(X)
        np.testing.assert_allclose(expected, 2.0 * np.sum(X))
        np.testing.assert_allclose(ld.program(ld.grad(f))(X), expected)
        np.testing.assert_allclose(ld.vmap(ld.grad(f))(np.stack([X, X])), [expected, expected])


def test_items_of_numbers():
    def contained(s):
        return s * 2.0 if 0.0 in s else s

    for f in (contained, iter):
        for transform in (lambda f: f, ld.program, ld.grad, lambda f: ld.program(ld.grad(f))):
            with pytest.raises(TypeError):
                transform(lambda x, f=f: f(np.sum(x)))(X)
