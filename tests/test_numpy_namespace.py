"""``import lindiff.numpy as np``: code that fills arrays runs unchanged, with exact derivatives."""

import inspect
import pickle
import textwrap
import warnings

import numpy
import pytest

import lindiff as ld
import lindiff.numpy as np
from lindiff.testing import check_grads

# Classes of NumPy's that take arrays, and so have others in their place.
OWN_CLASSES = {"broadcast", "ndenumerate", "nditer", "vectorize"}


def public(module):
    return {name for name in dir(module) if not name.startswith("_")}


@pytest.mark.parametrize("path", ["", "linalg", "fft"])
def test_has_every_public_name(path):
    module, original = (getattr(np, path), getattr(numpy, path)) if path else (np, numpy)
    assert public(module) == public(original)
    for name in public(original):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = getattr(module, name)
        if inspect.isclass(getattr(original, name)) and name not in OWN_CLASSES:
            assert found is getattr(original, name)


def test_unknown_names_raise():
    with pytest.raises(AttributeError, match="zerox"):
        np.zerox  # noqa: B018


def test_functions_stand_for_numpys():
    assert np.sin == numpy.sin
    assert {numpy.sin: 1}[np.sin] == 1
    assert isinstance(np.add, np.ufunc)
    assert np.add.nin == 2
    assert pickle.loads(pickle.dumps(np.linalg.det)) is np.linalg.det
    assert inspect.signature(np.mean) == inspect.signature(numpy.mean)
    assert repr(np.exp) == repr(numpy.exp)


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.zeros(2),
        lambda: np.ones((2, 2)),
        lambda: np.empty(2),
        lambda: np.full(2, 3.0),
        lambda: np.eye(2),
        lambda: np.identity(2),
        lambda: np.arange(2.0),
        lambda: np.linspace(0, 1, 2),
        lambda: np.array([1.0, 2.0]),
        lambda: np.array(numpy.ones(2)),
        lambda: np.asarray([1.0, 2.0]),
        lambda: np.zeros_like(numpy.ones(2)),
        lambda: np.full_like([1.0, 2.0], 3.0),
        lambda: np.copy(numpy.ones(2)),
        lambda: np.zeros(2) + 1,
        lambda: np.ones((2, 2)) * 3,
        lambda: np.sin(numpy.ones(2)),
        lambda: np.diag([1.0, 2.0]),
        lambda: np.outer([1.0, 2.0], [1.0, 2.0]),
        lambda: np.r_[1.0, 2.0],
        lambda: np.c_[[1.0, 2.0], [3.0, 4.0]],
        lambda: np.mgrid[0:1:2j],
        lambda: np.meshgrid([1.0, 2.0], [1.0, 2.0])[0],
        lambda: np.linalg.inv([[1.0, 0.0], [0.0, 2.0]]),
        lambda: np.fromiter([1.0, 2.0], float),
        lambda: np.vectorize(lambda x: x + 0.5)([1, 2]),
        lambda: np.atleast_2d([1.0, 2.0]),
        lambda: np.asarray([1.0, 2.0]).copy(),
        lambda: np.zeros(2, complex),
        lambda: np.zeros(2, np.float32),
    ],
)
def test_arrays_accept_variables(made):
    def f(a):
        x = made()
        x[0] = a
        return np.sum(x * x).real

    plain = numpy.array(ld.value(made()))
    plain[0] = 3.0
    numpy.testing.assert_allclose(f(3.0), numpy.sum(plain * plain).real, rtol=1e-6)
    count = plain[0].size
    assert ld.grad(f)(3.0) == pytest.approx(6.0 * count)


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.zeros(2, int),
        lambda: np.arange(3),
        lambda: np.array([True]),
        lambda: np.array(["a"]),
        lambda: np.argsort([2.0, 1.0]),
    ],
)
def test_integers_booleans_and_text_stay_plain(made):
    assert type(made()) is numpy.ndarray


def test_given_arrays_stay_what_they_are():
    x = numpy.ones(3)
    assert np.asarray(x) is x
    assert np.atleast_1d(x) is x
    y = numpy.empty(3)
    assert np.exp(x, out=y) is y
    assert type(np.reshape(x, (3, 1))) is numpy.ndarray  # a view of what is not ours
    assert type(np.sin(0.5)) is numpy.float64


def test_array_of_nested_variables():
    def rotation(t):
        return np.array([[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1.0]])

    check_grads(lambda t: rotation(t) @ numpy.arange(3.0), (0.3,), order=2)
    assert type(ld.vjp(rotation, 0.3)[0]) is numpy.ndarray


def test_array_of_rows_columns_and_mixtures():
    def f(v, w):
        rows = np.array([v, [1.0, w], numpy.ones(2)])
        deep = np.array([[[w], [2.0]], [[3.0], [w * w]]])
        return np.sum(rows * rows), np.sum(deep * deep)

    check_grads(f, (numpy.array([1.0, 2.0]), 0.7), order=2)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_array_at_any_order(order):
    f = lambda x: np.linalg.det(np.array([[x * x, 1.0], [x, x]]))  # x³ - x
    for _ in range(order):
        f = ld.grad(f)
    assert f(2.0) == pytest.approx([11.0, 12.0, 6.0][order - 1])


def test_array_keywords():
    def of(**keywords):
        return ld.jvp(lambda v: np.array([v, 1.0], **keywords), (2.0,), (1.0,))

    for keywords in [{"dtype": numpy.float32}, {"dtype": complex}, {"ndmin": 3}, {"copy": True}]:
        y, y_dot = of(**keywords)
        expected = numpy.array([2.0, 1.0], **keywords)
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
        assert (y_dot.dtype, y_dot.shape) == (expected.dtype, expected.shape)
        numpy.testing.assert_array_equal(y, expected)
        numpy.testing.assert_array_equal(y_dot.ravel(), [1.0, 0.0])
    assert of(dtype=int)[0].dtype == int
    with pytest.raises(ValueError, match="copy"):
        ld.grad(lambda v: np.array(v, dtype=numpy.float32, copy=False))(1.0)


def test_ragged_lists_raise():
    with pytest.raises(ValueError, match="same shape"):
        ld.grad(lambda v: np.sum(np.array([[v, 1.0], [v]])))(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: np.full(3, v),
        lambda v: np.full((2, 2), [v, 2 * v]),
        lambda v: np.arange(v, 3 * v, v / 2 + 0.1),
        lambda v: np.linspace(0.0, v, 4),
        lambda v: np.linspace([0.0, v], [v, 1.0], 3),
        lambda v: np.sum([v, v * v]),
        lambda v: np.sum([[v, 1.0], [2.0, v]], axis=0),
        lambda v: np.exp([v, 1.0]),
        lambda v: np.maximum([v, 2.0], 0.5),
        lambda v: np.add.reduce([v, v * v]),
        lambda v: np.dot([v, 1.0], [v, v]),
        lambda v: np.linalg.solve([[v, 1.0], [0.0, v]], [1.0, v]),
        lambda v: np.fft.fft([v, 1.0, v]),
        lambda v: np.concatenate([[v, 1.0], [v]]),
        lambda v: np.stack([[v, 1.0], (2.0, v)]),
        lambda v: np.block([[v, numpy.ones(1)]]),
        lambda v: np.select([numpy.array([True, False])], [[v, v]], 2 * v),
        lambda v: np.r_[v, 1.0, 0:2, [v, v * v]],
        lambda v: np.c_[[v, 1.0], [2.0, v * v]],
        lambda v: np.r_["0,2", [v, 1.0], [v, v]],
        lambda v: np.vectorize(lambda x: v * x)([1.0, 2.0]),
        lambda v: np.vectorize(lambda x, y: (x * y, x))(np.array([v, 1.0]), [[1.0], [2.0]]),
        lambda v: np.vectorize(lambda x: np.sum(x), signature="(n)->()")(np.array([[v, 1.0], [v, v]])),
        lambda v: np.fromiter((v**k for k in range(3)), float),
        lambda v: np.fromfunction(lambda i, j: v**i + j, (2, 2)),
        lambda v: [x * i[0] for i, x in np.ndenumerate(np.array([v, v * v]))],
        lambda v: np.asarray_chkfinite([v, 1.0]),
        lambda v: np.require([v, 1.0], float),
        lambda v: np.ascontiguousarray(v),
        lambda v: np.asarray(v),
        lambda v: np.average([v, 1.0], weights=[v, 2.0]),
        lambda v: np.trapezoid([v, 1.0, v * v], dx=0.5),
    ],
)
def test_variables_in_lists_and_numbers(f):
    check_grads(f, (0.7,), order=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda np, x: np.c_[x.T, x.T],
        lambda np, x: np.c_[x.T],
        lambda np, x: np.c_[x.T, x[0]],
        lambda np, x: np.r_[x.T, x.T],
        lambda np, x: np.r_["1", x.T, numpy.ones((3, 2))],
        lambda np, x: np.r_["0,3", x.T, x.T],
        lambda np, x: np.r_[x[0][::-1], 1.0],
    ],
)
def test_rows_and_columns_lie_in_memory_as_numpys(f):
    x = numpy.arange(6.0).reshape(2, 3)
    found = []
    for order in "KA":
        ld.vjp(lambda x, order=order: (found.append(ld.value(np.ravel(f(np, x), order))), x)[1], x)
        numpy.testing.assert_array_equal(found[-1], numpy.ravel(f(numpy, x), order))


def test_vectorize_as_numpys_on_plain_arrays():
    f = lambda x, y=2: x > y
    for keywords in [{}, {"otypes": [float]}, {"excluded": {"y"}}]:
        ours, theirs = np.vectorize(f, **keywords), numpy.vectorize(f, **keywords)
        numpy.testing.assert_array_equal(ours([1, 2, 3], y=2), theirs([1, 2, 3], y=2), strict=True)

    @np.vectorize(otypes=[float])
    def g(x):
        return x

    assert g([]).shape == (0,)
    with pytest.raises(ValueError, match="otypes"):
        np.vectorize(f)([])


VECTORIZED = {
    "two arrays": lambda f, x: np.vectorize(f)(x, x[:, :1]),
    "given types": lambda f, x: np.vectorize(f, otypes=[float])(x, 1.0),
    "cached": lambda f, x: np.vectorize(f, cache=True)(x.T, 1.0),
    "two results": lambda f, x: np.vectorize(lambda a, b: (f(a, b), a))(x, x[0])[0],
    "parts": lambda f, x: np.vectorize(lambda a: f(np.sum(a), 1.0), signature="(n)->()")(x),
    "first a whole number": lambda f, x: np.vectorize(lambda a, b: 0 if a < 0.5 else f(a, b))(x, 1.0),
    "no axes": lambda f, x: np.vectorize(f)(x[0, 0], 1.0),
}


@pytest.mark.parametrize("vectorized", VECTORIZED.values(), ids=VECTORIZED)
@pytest.mark.parametrize("order", ["C", "F"])
def test_vectorize_calls_its_function_as_numpy_does(vectorized, order):
    x = numpy.array([[0.4, 0.9, 1.1], [0.7, 1.3, 0.6]], order=order)
    calls = []

    def f(a, b):
        calls.append(float(ld.value(a)))
        return a * b + a

    original, replaced = numpy.vectorize, np.vectorize
    np.vectorize = original
    try:
        expected, called = vectorized(f, x), calls[:]
    finally:
        np.vectorize = replaced
    for transform in (lambda g: ld.vjp(g, x)[0], lambda g: ld.jvp(g, (x,), (x,))[0]):
        calls.clear()
        flags = []

        def g(x, flags=flags):
            y = vectorized(f, x)
            flags[:] = [y.flags.c_contiguous, y.flags.f_contiguous] if np.ndim(y) else []
            return y

        numpy.testing.assert_allclose(transform(g), expected, rtol=1e-15)
        assert calls == called
        assert not flags or flags == [expected.flags.c_contiguous, expected.flags.f_contiguous]


def test_fill_diagonal_and_assignment_forms():
    def f(v, w):
        K = np.zeros((3, 3))
        np.fill_diagonal(K, v)
        K[0, 1:] = w
        K[np.tril_indices(3, -1)] += v * v
        K[np.diag_indices(3)] += 1.0
        row = K[2]
        row *= v
        return K

    check_grads(f, (0.7, numpy.array([1.0, 2.0])), order=2)


def test_results_of_transforms_are_plain():
    x = np.array([1.0, 2.0])  # as a user of lindiff.numpy writes parameters
    gradient = ld.grad(lambda x: np.sum(x**3))(x)
    numpy.testing.assert_array_equal(gradient, [3.0, 12.0])
    assert type(gradient) is numpy.ndarray
    x = x - 0.1 * gradient
    numpy.testing.assert_allclose(ld.jacobian(lambda x: np.zeros(2) + x)(x), numpy.eye(2))


def test_plain_functions_take_constants():
    x = np.linspace(0.0, 1.0, 5)
    assert type(numpy.asarray(x)) is numpy.ndarray
    assert float(x[1]) == 0.25
    assert [*range(int(np.ones(1)[0] * 3))] == [0, 1, 2]
    assert repr(np.ones(2)) == repr(numpy.ones(2))
    assert f"{x[1]:.2f}" == "0.25"
    assert max(x) == 1.0


# -- textbook programs: with NumPy the value, with lindiff.numpy the gradient as well ------------------


KALMAN = """
def f(a, q, r, y):
    n = len(y)
    m = np.zeros((n + 1, 2))
    P = np.zeros((n + 1, 2, 2))
    m[0] = [0.0, 1.0]
    P[0] = np.eye(2)
    A = np.array([[1.0, a], [0.0, 1.0]])
    Q = np.zeros((2, 2))
    Q[1, 1] = q
    Q[0, 0] = q * a**2
    H = np.array([[1.0, 0.0]])
    nll = np.zeros(n)
    for t in range(n):
        mean = A @ m[t]
        cov = A @ P[t] @ A.T + Q
        S = H @ cov @ H.T + np.array([[r]])
        e = y[t] - H @ mean
        K = np.linalg.solve(S, H @ cov).T
        m[t + 1] = mean + K @ e
        P[t + 1] = cov - K @ S @ K.T
        nll[t] = 0.5 * (np.linalg.slogdet(S)[1] + e @ np.linalg.solve(S, e))
    return np.sum(nll)
"""

GAUSSIAN_PROCESS = """
def f(length, scale, noise, x, y):
    n = len(x)
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            K[i, j] = scale**2 * np.exp(-0.5 * ((x[i] - x[j]) / length) ** 2)
            K[j, i] = K[i, j]
    K[np.diag_indices(n)] += noise**2
    L = np.linalg.cholesky(K)
    z = np.empty(n)
    for i in range(n):
        z[i] = (y[i] - L[i, :i] @ z[:i]) / L[i, i]
    return 0.5 * np.sum(z**2) + np.sum(np.log(np.diag(L)))
"""

JACOBI = """
def f(A, b):
    x = np.zeros_like(b)
    for _ in range(20):
        new = np.empty_like(x)
        for i in range(len(b)):
            s = 0.0
            for j in range(len(b)):
                if j != i:
                    s += A[i, j] * x[j]
            new[i] = (b[i] - s) / A[i, i]
        x = new
    return np.sum(x**2)
"""

RECURSION = """
def f(c):
    bessel = np.zeros(8)
    bessel[0], bessel[1] = 1.0, c
    for k in range(2, 8):
        bessel[k] = 2 * c * bessel[k - 1] - bessel[k - 2]
    bessel /= np.arange(1.0, 9.0)
    running = np.ones(8) * 3
    running[1:] = np.cumsum(bessel)[:-1]
    return np.sum(running * bessel)
"""

PROGRAMS = {
    "kalman": (KALMAN, (0.9, 0.3, 0.5, numpy.sin(numpy.arange(6.0)).reshape(-1, 1))),
    "gaussian process": (
        GAUSSIAN_PROCESS,
        (0.7, 1.3, 0.4, numpy.linspace(0.0, 2.0, 5), numpy.cos(numpy.arange(5.0))),
    ),
    "jacobi": (JACOBI, (numpy.eye(3) * 4 + numpy.arange(9.0).reshape(3, 3) / 9, numpy.arange(1.0, 4.0))),
    "recursion": (RECURSION, (0.4,)),
}


def program(source, np):
    namespace = {"np": np}
    exec(textwrap.dedent(source), namespace)
    return namespace["f"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_with_only_the_import_changed(name):
    source, arguments = PROGRAMS[name]
    f, plain = program(source, np), program(source, numpy)
    numpy.testing.assert_allclose(f(*arguments), plain(*arguments), rtol=1e-12)
    check_grads(f, arguments, order=1)


@pytest.mark.parametrize("name", ["gaussian process", "recursion"])
def test_programs_to_second_order(name):
    source, arguments = PROGRAMS[name]
    check_grads(program(source, np), arguments[:1] if name == "recursion" else arguments, order=2)


# -- outside transforms ---------------------------------------------------------------------------------


OUTSIDE = """
import numpy
import lindiff as ld
import lindiff.numpy as np

made = [
    np.zeros(3),
    np.array([[1.0, 2.0]]),
    np.linspace(0, 1, 4),
    np.r_[0.0, 1.0],
    np.mgrid[0:1:3j],
    np.fromiter([1.0, 2.0], float),
    np.vectorize(lambda t: t * 0.5)([1.0, 2.0]),
    np.sin(numpy.ones(2)),
    np.linalg.inv(numpy.eye(2)),
    np.fft.fft([1.0, 2.0]),
    np.polynomial.polynomial.polyval([1.0, 2.0], [3.0, 4.0]),
]
assert [type(x) for x in made] == [numpy.ndarray] * len(made)
assert type(np.sum(made[0])) is numpy.float64
view = np.asarray(made[0])
made[0][0] = 5.0
assert view[0] == 5.0

kinds = []

def f(x):
    y = np.zeros(2)
    kinds.append(type(y))
    y[0] = x
    return np.sum(y)

assert ld.grad(f)(3.0) == 1.0
f(3.0)
assert kinds == [ld.Variable, numpy.ndarray]

v = ld.Variable(2.0)  # made by hand: from here on as inside
y = np.zeros(2)
y[0] = v * v
np.sum(y).backward()
assert v.grad == 4.0
del v, y
assert type(np.zeros(2)) is numpy.ndarray
"""


def test_outside_transforms_arrays_and_scalars_are_numpys(alone):
    """In a process of its own: Variables made by hand live in other tests."""
    alone(OUTSIDE)


# What a constant array v, and one without axes a, give: NumPy's scalars, or arrays to write into.
SCALARS_AND_ARRAYS = [
    lambda v, a: v[0],
    lambda v, a: v[-1] * 2,
    lambda v, a: v @ v,
    lambda v, a: np.sum(v),
    lambda v, a: v.max(),
    lambda v, a: np.mean(v),
    lambda v, a: np.median(v),
    lambda v, a: np.exp(v[0]),
    lambda v, a: np.linalg.norm(v),
    lambda v, a: np.linalg.det(np.outer(v, v) + np.eye(3)),
    lambda v, a: np.add.reduce(v),
    lambda v, a: np.trace(np.outer(v, v)),
    lambda v, a: a * 2,
    lambda v, a: a[()],
    lambda v, a: np.exp(a),
    lambda v, a: v[0, ...],
    lambda v, a: np.reshape(v[:1], ()),
    lambda v, a: np.squeeze(v[:1]),
    lambda v, a: np.copy(a),
    lambda v, a: a.copy(),
    lambda v, a: a[...],
    lambda v, a: np.array(a),
    lambda v, a: np.where(True, a, 1.0),
    lambda v, a: np.zeros(()),
    lambda v, a: np.full((), 2.0),
    lambda v, a: np.zeros_like(a),
    lambda v, a: np.broadcast_to(a, ()),
    lambda v, a: np.astype(a, np.float32),
    lambda v, a: v[0].astype(np.float32),
    lambda v, a: np.real(a),
    lambda v, a: np.atleast_1d(a)[0],
]


@pytest.mark.parametrize("make", SCALARS_AND_ARRAYS, ids=lambda make: inspect.getsource(make).strip()[13:-1])
def test_a_constants_elements_and_reductions_are_numpys_scalars(make):
    expected = make(numpy.array([1.0, 2.0, 3.0]), numpy.array(2.0))
    found = []

    def f(x):
        found.append(make(np.array([1.0, 2.0, 3.0]), np.array(2.0)))
        return x

    ld.grad(f)(1.0)
    if isinstance(expected, numpy.ndarray):
        assert type(found[0]) is ld.Variable
        assert found[0].flags.writeable == expected.flags.writeable
    else:
        assert type(found[0]) is type(expected)
    numpy.testing.assert_allclose(found[0], expected, rtol=1e-15)
    assert found[0].dtype == expected.dtype


def test_a_variable_is_a_scalar_where_numpys_is():
    asked = []

    def f(x):
        asked.append([np.isscalar(part) for part in (x[0], x, np.sum(x), x[0, ...], 2.0, "a")])
        return x[0]

    ld.grad(f)(numpy.ones(2))
    assert asked == [[True, False, True, False, True, True]]
    with ld.patch_numpy():
        ld.grad(f)(numpy.ones(2))
    assert asked[1] == asked[0]
