"""Writing into Variables: assignment, in-place operators, views that see it, and untraced Variables."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.core.variable import is_untraced, untraced
from lindiff.testing import check_grads

rng = np.random.default_rng(4)
x3 = rng.standard_normal(3)
A34 = rng.standard_normal((3, 4))


def same_as_numpy(f, *args, order=2):
    """``f`` gives on Variables what it gives on arrays, and has its derivatives."""
    expected = f(*[a.copy() for a in args])
    np.testing.assert_allclose(ld.vjp(f, *args)[0], expected)
    np.testing.assert_allclose(ld.jvp(f, args, args)[0], expected)
    check_grads(f, args, order)


INDICES = {
    "integer": 1,
    "negative": -1,
    "slice": slice(1, None),
    "step": slice(None, None, -2),
    "ellipsis": ...,
    "two": (1, 2),
    "column": (slice(None), 1),
    "new axis": (None, 1),
    "rows": [0, 2],
    "repeated rows": np.array([0, 2, 0]),
    "pairs": (np.array([0, 1]), np.array([1, 1])),
    "mask": A34 > 0,
    "diagonal": np.diag_indices(3),
    "nothing": slice(0, 0),
}


@pytest.mark.parametrize("name", INDICES)
def test_assignment(name):
    index = INDICES[name]

    def f(a, b):
        a = np.sin(a)
        a[index] = b * b
        a = a * a
        a[index] = 2.0
        a[index] += b
        return a

    same_as_numpy(f, A34, rng.standard_normal(A34[index].shape))


def test_what_is_assigned_is_broadcast():
    def f(a, b):
        a = a + 0
        a[1:] = b
        return a * b

    same_as_numpy(f, A34, rng.standard_normal(4))
    same_as_numpy(f, A34, np.array(0.3))


@pytest.mark.parametrize("name", INDICES)
def test_what_is_assigned_may_have_axes_of_length_one_before_its_own(name):
    index = INDICES[name]

    def f(a, b):
        a = np.sin(a)
        a[index] = b
        return a * a

    shape = A34[index].shape
    lengths = {shape, (1,) * len(shape), shape[len(shape) - 1 :]}
    for more in (1, 2):
        for lesser in lengths:
            b = rng.standard_normal((1,) * (len(shape) - len(lesser) + more) + lesser)
            try:
                f(A34, b)
            except (TypeError, ValueError) as refusal:  # a single element, a mask
                with pytest.raises(type(refusal)):
                    ld.vjp(f, A34, b)
            else:
                same_as_numpy(f, A34, b)


def test_repeated_places_take_one_number_with_axes():
    def f(v):
        v = v + 0
        v[[1, 1, -3]] = v[3:4, None]
        return v * v

    same_as_numpy(f, np.arange(1.0, 7.0))


@pytest.mark.parametrize("c", [np.array(2.0), np.array([1.0, 2.0, 3.0]), np.array([[2.0]])])
def test_a_number_seen_as_an_array_is_written_to(c):
    def f(s, c):
        w = np.atleast_1d(np.sin(s))
        w[[0, -1, -1]] = c * w[0]
        return np.sum(w * w)

    same_as_numpy(f, np.array(0.5), c)


def test_of_elements_named_twice_the_last_counts():
    def f(b):
        a = np.zeros_like(b)
        a[[0, 1, 0]] = b
        return a

    np.testing.assert_array_equal(ld.jacobian(f)(x3), [[0, 0, 1], [0, 1, 0], [0, 0, 0]])


def test_a_list_of_variables_is_assigned():
    def f(x):
        a = np.zeros_like(x)
        a[:2] = [x[2], x[0] * x[1]]
        return a

    same_as_numpy(f, x3)


def test_recursion_into_a_buffer():
    def f(x):
        y = np.empty_like(x)
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = np.sin(y[i - 1]) * x[i]
        return y

    same_as_numpy(f, rng.standard_normal(6))
    gradient = ld.grad(lambda x: np.sum(f(x)))
    np.testing.assert_allclose(ld.jacobian(gradient, mode="reverse")(x3), ld.jacobian(gradient)(x3))


VIEWS = {
    "row": lambda a: a[1],
    "block": lambda a: a[1:, ::2],
    "block of a block": lambda a: a[1:][:, 1:],
    "T": lambda a: a.T,
    "transpose": lambda a: np.transpose(a, (1, 0)),
    "swapaxes": lambda a: a.swapaxes(0, 1),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "matrix_transpose": lambda a: np.matrix_transpose(a),
    "reshape": lambda a: a.reshape(4, 3),
    "ravel": lambda a: a.ravel(),
    "new axis": lambda a: a[:, None],
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "squeeze": lambda a: a[None].squeeze(),
    "flip": lambda a: np.flip(a),
    "rot90": lambda a: np.rot90(a),
    "fliplr": lambda a: np.fliplr(a),
    "atleast_3d": lambda a: np.atleast_3d(a),
    "split": lambda a: np.split(a, 2, axis=1)[1],
    "element with an axis": lambda a: a[1, 2, ...],
    "last of iteration": lambda a: list(a)[-1],
    "real": lambda a: a.real,
    "view": lambda a: a.view(),
    "reshape of T": lambda a: a.T.reshape(3, 4),  # a copy
    "ravel of T": lambda a: a.T.ravel(),  # a copy
    "copy": lambda a: a[1].copy(),
    "sum": lambda a: a[0] + 0,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_and_what_they_are_views_of_see_each_other(name):
    view_of = VIEWS[name]

    def f(a, b):
        a = a * 2
        v = view_of(a)
        w = view_of(a)
        a[1, 1:] = b
        v *= a[1, 2]
        a[2] -= 1.0
        v[...] = v + w
        return np.concatenate([np.ravel(a), np.ravel(v), np.ravel(w)])

    same_as_numpy(f, A34, rng.standard_normal(3))


def test_read_only_views():
    def f(a):
        a = a * 2
        d = np.diagonal(a)
        a[0, 0] = 7.0
        with pytest.raises(ValueError, match="read-only"):
            d[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            np.broadcast_to(a[0], (2, 4))[...] = 1.0
        return d

    np.testing.assert_array_equal(ld.vjp(f, A34)[0], [7.0, *(2 * np.diag(A34))[1:]])


def test_parts_of_complex_arrays():
    z = rng.standard_normal(3) + 1j * rng.standard_normal(3)

    def f(z, x):
        z = z * 1
        re, im = z.real, z.imag
        re += x
        z.imag = x * x
        z.real[1] = x[0]
        return z * np.sum(im)

    same_as_numpy(f, z, x3)


def test_flat():
    def f(a, b):
        a = a * 1
        a.flat[::5] += b
        a.T.flat[1] = b[0]
        return a + a.flat[3]

    def g(a):
        a = a * 1
        a.flat = a[0]
        return a

    same_as_numpy(f, A34, x3)
    same_as_numpy(g, A34)


STRIDED = {
    "column": lambda a: a[:, 1],
    "reversed": lambda a: a[::-1],
    "every second": lambda a: a[:, ::2],
    "diagonal": lambda a: np.einsum("ii->i", a[:, :3]),
    "transposed": lambda a: a.T,
}


@pytest.mark.parametrize("name", STRIDED)
def test_a_view_with_gaps_is_copied_by_ravel_also_after_it_was_written_to(name):
    def f(a, b):
        a = a * 1
        r = STRIDED[name](a)
        r *= b[0]
        k = r.ravel()
        k *= b[1]
        r[0] = b[2]
        q = r.reshape(-1)
        q += 1.0
        return np.concatenate([np.ravel(a), k, q])

    same_as_numpy(f, A34, x3)


def test_flat_of_views_that_cannot_be_written_to():
    def f(a):
        a = a * 1
        for whole in (np.sum(a), a, a[0]):
            with pytest.raises(ValueError, match="read-only"):
                np.broadcast_to(whole, (2, *whole.shape)).flat[1] = 3.0
        return a

    np.testing.assert_array_equal(ld.vjp(f, A34)[0], A34)


def test_a_view_is_written_once_by_an_operator():
    def f(a):
        a = a * 1
        a[0] += a[1]
        a[:, 1] *= 2
        return a

    same_as_numpy(f, A34)


def test_long_chains_of_views_are_released():
    v = untraced(np.zeros(1))
    for _ in range(200_000):
        v = v[:]
    del v


def test_views_that_are_gone_are_forgotten():
    a = untraced(np.zeros(3))
    views = [a[i:] for i in range(3)]
    del views[1]
    a[2] = 5.0
    assert [float(v[-1]) for v in views] == [5.0, 5.0]
    del views
    a[2] = 6.0
    assert float(a[2]) == 6.0


def test_in_place_writes_do_not_reach_the_caller():
    x = x3.copy()

    def f(x):
        x[0] = 5.0
        x *= 2
        return np.sum(x)

    np.testing.assert_array_equal(ld.grad(f)(x), [0.0, 2.0, 2.0])
    np.testing.assert_array_equal(x, x3)


def test_what_was_recorded_before_a_write_is_kept():
    def f(x):
        a = np.exp(x)
        b = a * a
        a[0] = 0.0
        a[1:] = a[1:] * b[1:]
        return b + a

    same_as_numpy(f, x3)


def test_variables_made_by_hand_are_not_written_to():
    v = ld.Variable(x3)
    for write in (
        lambda: v.__setitem__(0, 1.0),
        lambda: v[1:].__setitem__(0, 1.0),
        lambda: v.T.fill(0.0),
    ):
        with pytest.raises(TypeError, match="made by hand cannot be changed in place"):
            write()
    np.testing.assert_array_equal(ld.value(v), x3)
    w = v + 0
    w[0] = v[1] * 2
    np.sum(w).backward()
    np.testing.assert_array_equal(v.grad, [0.0, 3.0, 1.0])


def test_shapes_that_do_not_fit_change_nothing():
    def f(x):
        a = x * 1
        with pytest.raises(ValueError, match="broadcast"):
            a[:2] = x
        with pytest.raises(IndexError):
            a[3] = 1.0
        with pytest.raises(ValueError, match="broadcast"):
            a += np.ones((2, 3))
        with pytest.raises(TypeError, match="cast"):  # which NumPy looks at first
            a += np.full((2, 3), 1j)
        with pytest.raises(TypeError, match="cast"):
            a[-2:] *= np.full((2, 2), 1j)
        with pytest.raises(TypeError, match="cast"):
            np.add(a, np.full((2, 3), 1j), out=a)
        return a

    np.testing.assert_array_equal(ld.jacobian(f)(x3), np.eye(3))


def test_dtypes():
    def f(x):
        a = np.zeros(3, np.float32, like=x)
        a[:] = x
        return a

    y, pullback = ld.vjp(f, x3)
    assert y.dtype == np.float32
    assert pullback(np.ones(3, np.float32))[0].dtype == np.float64
    v = ld.Variable(x3)
    with pytest.raises(TypeError, match="cannot hold Variables"):
        untraced(np.zeros(3, int))[0] = v[0]
    with pytest.warns(np.exceptions.ComplexWarning):
        (v + 0)[:] = v * 1j


def test_inner_variables_written_into_outer_arrays():
    def f(x):
        K = np.outer(x, x)

        def g(y):
            L = K * 1
            L[0] = y * x
            return np.sum(L * L)

        return ld.grad(g)(x * x)

    same_as_numpy(lambda x: 2 * x**4, x3)
    np.testing.assert_allclose(ld.vjp(f, x3)[0], 2 * x3**4)
    np.testing.assert_allclose(ld.jacobian(f)(x3), np.diag(8 * x3**3))


# -- functions and methods that write ---------------------------------------------------------------------

MASK = np.array([[True, False, True, False]] * 3)

WRITERS = {
    "copyto": lambda a, b: np.copyto(a, b[:, None]),
    "copyto where": lambda a, b: np.copyto(a, b[:, None], where=MASK),
    "fill_diagonal": lambda a, b: np.fill_diagonal(a, b),
    "fill_diagonal wrap": lambda a, b: np.fill_diagonal(a.T, b[:2], wrap=True),
    "put": lambda a, b: np.put(a, [0, -1, 5, 7], b),
    "put wrap": lambda a, b: np.put(a, [0, 14, -3], b, mode="wrap"),
    "put clip": lambda a, b: a.put([1, 14, -3], b[0], mode="clip"),
    "putmask": lambda a, b: np.putmask(a, MASK, b),
    "place": lambda a, b: np.place(a, MASK, b[:2]),
    "put_along_axis": lambda a, b: np.put_along_axis(a, np.array([[1], [0], [3]]), b[:, None], 1),
    "put_along_axis of all": lambda a, b: np.put_along_axis(a, np.array([1, 11]), b[:2], None),
    "fill": lambda a, b: a[1].fill(b[0]),
    "sort": lambda a, b: a.sort(axis=0),
    "partition": lambda a, b: a.partition(2),
    "out": lambda a, b: np.multiply(b[0], a, out=a),
    "out of a function": lambda a, b: np.cumsum(a, axis=1, out=a),
    "jitter": lambda a, b: a.__setitem__(np.diag_indices(3), a[np.diag_indices(3)] + b),
}


@pytest.mark.parametrize("name", WRITERS)
def test_writers(name):
    def f(a, b):
        a = a * 1
        assert WRITERS[name](a, b) is None or name.startswith("out")
        return a * np.sum(b)

    same_as_numpy(f, A34, x3)


def test_writers_refuse_plain_arrays():
    v = ld.Variable(x3)
    for write in (
        lambda: np.copyto(np.zeros(3), v),
        lambda: np.full_like(np.zeros(3), v[0]),
        lambda: np.put(np.zeros(3), [0], v[0]),
        lambda: np.putmask(np.zeros(3), np.ones(3, bool), v),
        lambda: np.place(np.zeros(3), np.ones(3, bool), v),
        lambda: np.put_along_axis(np.zeros(3), np.arange(3), v, 0),
    ):
        with pytest.raises(TypeError, match="like=v"):
            write()


def test_writers_check_what_numpy_checks():
    v = ld.Variable(A34) * 1
    with pytest.raises(TypeError, match="Cannot cast"):
        np.copyto(v, v + 1j)
    with pytest.raises(ValueError, match="same size"):
        np.putmask(v, np.ones(2, bool), v)
    with pytest.raises(ValueError, match="empty"):
        np.place(v, v > 0, [])
    with pytest.raises(IndexError):
        np.put(v, [12], v[0])
    np.testing.assert_array_equal(ld.value(v), A34)


# -- untraced Variables -----------------------------------------------------------------------------------


def test_buffers_made_like_a_variable():
    v = ld.Variable(x3)
    for made in (
        np.zeros(3, like=v),
        np.ones((2, 2), like=v),
        np.empty_like(v),
        np.eye(3, like=v),
        np.arange(3.0, like=v),
    ):
        assert is_untraced(made)
    assert not isinstance(np.zeros(3, int, like=v), ld.Variable)


def test_untraced_variables_are_their_arrays():
    a = untraced(np.arange(3.0))
    assert is_untraced(np.sin(a) + 1)
    assert is_untraced(a.reshape(3, 1) @ a[None])
    assert not isinstance(a > 1, ld.Variable)
    assert (float(a[1]), int(a[2]), complex(a[1])) == (1.0, 2, 1 + 0j)
    assert repr(a) == "array([0., 1., 2.])"
    assert np.shares_memory(np.asarray(a), ld.value(a))
    assert a.tolist() == [0.0, 1.0, 2.0]
    assert is_untraced(pickle.loads(pickle.dumps(a)))
    np.testing.assert_array_equal(ld.value(copy.copy(a)), np.arange(3.0))


def test_untraced_variables_are_constants_of_every_trace():
    a = untraced(np.arange(3.0))
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(np.concatenate([x, a]) * 2))(a), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(ld.jacobian(lambda x: np.stack([a, x * a]))(x3)[1], np.diag(np.arange(3.0)))
    np.testing.assert_array_equal(ld.grad(lambda x: np.outer(a, x)[1] @ a)(x3), np.arange(3.0))
    y = ld.vjp(lambda x: (a, a * 2), x3)[0]
    assert all(type(part) is np.ndarray for part in y)
    np.testing.assert_array_equal(ld.hvp(lambda x: np.sum(a * x**2), (x3,), (a,)), 2 * np.arange(3.0) ** 2)


def test_an_untraced_variable_leaves_the_array_it_was_made_of_alone():
    array = np.zeros(3)
    a = untraced(array)
    a[0] = 1.0
    np.testing.assert_array_equal(array, 0.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_random_writes(data):
    """Programs of writes to an array and its views give NumPy's result, and mode agrees with mode."""
    steps = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(sorted(VIEWS)),
                st.integers(0, 2),
                st.integers(0, 2),
                st.sampled_from(["set", "add", "times", "fill"]),
            ),
            min_size=1,
            max_size=8,
        )
    )

    def program(a):
        a = a * 1
        seen = [a]
        for view, source, target, kind in steps:
            v = seen[source % len(seen)]
            if v.shape == (3, 4):
                seen.append(VIEWS[view](v))
            w = seen[-1 - target % len(seen)]
            if kind == "set":
                w[...] = np.sum(v) / 8
            elif kind == "add":
                w += np.cos(w)
            elif kind == "times":
                w *= 1.1
            else:
                w[0] = 0.5
        return np.concatenate([np.ravel(part) for part in seen])

    expected = program(A34.copy())
    y, pullback = ld.vjp(program, A34)
    np.testing.assert_allclose(y, expected)
    direction = np.cos(np.arange(12.0)).reshape(3, 4)
    y_dot = ld.jvp(program, (A34,), (direction,))[1]
    y_bar = np.sin(np.arange(y.size))
    np.testing.assert_allclose(np.vdot(y_bar, y_dot), np.vdot(pullback(y_bar)[0], direction), rtol=1e-9)


@pytest.mark.parametrize("written", ["constant", "variable", "variable of an outer trace"])
@pytest.mark.parametrize("into", ["constant", "variable"])
def test_tangents_of_writes(written, into):
    """The tangent is written into where nobody else has it, and replaced where it or what is written is a
    Variable of an outer trace."""

    def f(x):
        y = x * x if into == "variable" else lnp.zeros(3)
        y[1] = 5.0 if written == "constant" else 3.0 * x[0]
        return y * x

    x, x_dot = np.array([2.0, 3.0, 4.0]), np.array([1.0, 10.0, 100.0])
    y = x * x if into == "variable" else np.zeros(3)
    y_dot = 2 * x * x_dot if into == "variable" else np.zeros(3)
    y[1], y_dot[1] = (5.0, 0.0) if written == "constant" else (3 * x[0], 3 * x_dot[0])
    expected = y_dot * x + y * x_dot
    if written == "variable of an outer trace":
        jacobian = ld.jacobian(lambda x_dot: ld.jvp(f, (x,), (x_dot,))[1])(x_dot)
        np.testing.assert_allclose(jacobian @ x_dot, expected)
    else:
        np.testing.assert_allclose(ld.jvp(f, (x,), (x_dot,))[1], expected)


REAL_WRITES = {
    "item": lambda np_, a, z: a.__setitem__(0, z[0]),
    "items": lambda np_, a, z: a.__setitem__(slice(None), z),
    "mask": lambda np_, a, z: a.__setitem__(np.array([True, False, True]), z[:2]),
    "list": lambda np_, a, z: a.__setitem__(slice(0, 2), [z[0], z[1]]),
    "add": lambda np_, a, z: a.__iadd__(z),
    "multiply": lambda np_, a, z: a.__imul__(z[0]),
    "out": lambda np_, a, z: np_.add(a, z, out=a),
    "matmul": lambda np_, a, z: np_.matmul(np.eye(3), z, out=a),
    "fill": lambda np_, a, z: a.fill(z[0]),
    "copyto": lambda np_, a, z: np_.copyto(a, z),
    "copyto where": lambda np_, a, z: np_.copyto(a, z, where=[True, False, True]),
    "put": lambda np_, a, z: np_.put(a, [0, 1], z),
    "putmask": lambda np_, a, z: np_.putmask(a, np.array([True, False, True]), z),
    "putmask of a number": lambda np_, a, z: np_.putmask(a, np.array([True, False, True]), z[0]),
    "place": lambda np_, a, z: np_.place(a, np.array([True, False, True]), z),
    "put_along_axis": lambda np_, a, z: np_.put_along_axis(a, np.array([0, 2]), z[:2], 0),
    "at": lambda np_, a, z: np_.add.at(a, [0, 1, 1], z),
    "real": lambda np_, a, z: setattr(a, "real", z),
    "flat": lambda np_, a, z: setattr(a, "flat", z),
}


@pytest.mark.parametrize("name", REAL_WRITES)
def test_complex_numbers_written_into_a_real_buffer(name):
    """As by NumPy: the imaginary part is lost with a warning, or it is an error."""

    def written(namespace, z):
        a = namespace.ones(3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                REAL_WRITES[name](namespace, a, z)
            except TypeError:
                return None
        assert all(w.category is np.exceptions.ComplexWarning for w in caught)
        return ld.value(a), len(caught) > 0

    Z = np.array([1.0 + 2.0j, 3.0 - 1.0j, 2.0j])
    expected, found = written(np, Z), []
    ld.vjp(lambda z: found.append(written(lnp, z)) or 0.0, Z)
    found.append(written(lnp, Z))
    for got in found:
        assert (got is None) == (expected is None)
        if got is not None:
            np.testing.assert_array_equal(got[0], expected[0])
            assert got[1] == expected[1]


@pytest.mark.parametrize("places", [slice(None), slice(1, None, 5), [3, 1, 1], np.arange(25) % 2 == 0])
@pytest.mark.parametrize("length", [1, 2, 5, 9, 25, 40])
def test_flat_takes_what_is_too_long_or_too_short_as_numpy_does(places, length):
    def filled(numbers):
        a = np.zeros((5, 5), like=numbers)
        a.flat[places] = numbers
        return a

    numbers = np.arange(1.0, length + 1)
    if length > 1:
        with pytest.raises(ValueError, match="element"):
            ld.grad(lambda v: np.copy(v).flat.__setitem__(0, v))(numbers)
    expected = np.zeros((5, 5))
    expected.flat[places] = numbers
    np.testing.assert_array_equal(
        ld.value_and_grad(lambda v: (np.sum(filled(v)), filled(v))[0])(numbers)[0], expected.sum()
    )
    np.testing.assert_array_equal(ld.jvp(filled, (numbers,), (2 * numbers,))[1], 2 * expected)


# -- gaps in memory tell views from copies -----------------------------------------------------------------

GAPS = {
    "columns": lambda a: np.concatenate([a, a], axis=1)[:, :3],
    "steps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: np.flip(np.flip(a).copy()),
    "by columns": lambda a: np.array(np.repeat(a, 2, axis=0), order="F")[::2],
    "real part": lambda a: (a + 0j).real,
}
WRITES = {
    "op": lambda x: x.__iadd__(1.0),
    "item": lambda x: x.__setitem__((0, 0), 3.0),
    "all": lambda x: x.__setitem__(..., np.sin(x)),
    "row": lambda x: x[1].__imul__(0.5),
    "flat": lambda x: x.flat.__setitem__(slice(2), 0.5),
    "transposed": lambda x: np.add(0.2, x.T * 0.3, out=x.T),
    "put": lambda x: np.put(x, [0, 3], 0.25),
}
VIEWS_OR_COPIES = {
    "ravel": lambda x: x.ravel(),
    "columns": lambda x: x.ravel("F"),
    "as it lies": lambda x: x.ravel("K"),
    "rows": lambda x: x[:, :2].reshape(-1),
    "transposed": lambda x: x.T.reshape(-1),
    "folded": lambda x: x.reshape(3, 2),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
def test_an_array_keeps_its_gaps_when_it_is_written_to(gaps, write):
    def f(x):
        weights = 0.0
        row = x[0]
        for k, of in enumerate(VIEWS_OR_COPIES.values()):
            write(x)
            y = of(x)
            y[0, ...] = 5.0 + k
            y[-1, ...] *= 0.1 * x[1, 1]
            weights = weights + np.sum(np.cos(y))
        return np.sum(x * x) + weights + np.sum(row)

    a = np.linspace(0.4, 1.1, 6).reshape(2, 3)
    direction = np.cos(np.arange(6.0)).reshape(2, 3)
    value, pullback = ld.vjp(f, gaps(a))
    np.testing.assert_allclose(value, f(gaps(a)), rtol=1e-13)
    np.testing.assert_allclose(ld.value_and_grad(f)(gaps(a))[0], value, rtol=1e-13)
    (gradient,) = pullback(1.0)
    value_again, slope = ld.jvp(f, (gaps(a),), (direction,))
    np.testing.assert_allclose(value_again, value, rtol=1e-13)
    np.testing.assert_allclose(slope, np.sum(gradient * direction), rtol=1e-10)
    difference = (f(gaps(a + 1e-6 * direction)) - f(gaps(a - 1e-6 * direction))) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-6)


# -- what NumPy refuses, and what it reads while it writes --------------------------------------------------


def test_the_imaginary_part_of_a_real_array_cannot_be_written_to():
    for write in (
        lambda x: x.imag.__setitem__(0, 2.0),
        lambda x: np.imag(x).__iadd__(2.0),
        lambda x: x[1:].real.imag.fill(2.0),
    ):
        for f in (lambda x, write=write: (write(x), x)[1], lambda x, write=write: (write(x * 1), x)[1]):
            for x in (x3.copy(), x3.astype(np.float32)):
                with pytest.raises(ValueError, match="read-only"):
                    f(x)
                with pytest.raises(ValueError, match="read-only"):
                    ld.vjp(f, x)
                with pytest.raises(ValueError, match="read-only"):
                    ld.jvp(f, (x,), (x,))
    with pytest.raises(TypeError, match="does not have imaginary part"):
        ld.vjp(lambda x: setattr(x, "imag", 2.0), x3)
    with pytest.raises(TypeError, match="scalar"):
        ld.grad(lambda x: setattr(x[0], "flat", 2.0))(x3)


ONTO_ITSELF = {
    "every other": lambda x: x.flat.__setitem__(slice(None, None, 2), x),
    "backwards": lambda x: x.flat.__setitem__(slice(None), x.ravel()[::-1]),
    "of a row": lambda x: x.flat.__setitem__(slice(1, None), x[0]),
    "chosen": lambda x: x.flat.__setitem__([2, 1, 0, 0], x[0]),
    "all": lambda x: setattr(x, "flat", x.T),
    "place": lambda x: np.place(x, x > 0.5, x),
    "placed row": lambda x: np.place(x, x > 0.5, x[0]),
    "placed column": lambda x: np.place(x, x > 0.5, x[:, 1]),
    "diagonal": lambda x: np.fill_diagonal(x, x),
    "diagonal backwards": lambda x: np.fill_diagonal(x, np.diagonal(x)[::-1]),
    "parts of complex numbers": lambda x: (
        lambda z: (
            z.imag.flat.__setitem__(slice(1, None), z.imag),
            z.real.flat.__setitem__(slice(1, None), z.imag),
            z.flat.__setitem__(slice(2, None), z),
            x.__setitem__(..., z.real + 2 * z.imag),
        )
    )(x * (1 + 0.5j)),
    "product at": lambda x: np.multiply.at(x[0], [0, 0, 1], x[0]),
    "hypot at": lambda x: np.hypot.at(x, ([0, 1, 0], [1, 1, 1]), x[1]),
    "sum at": lambda x: np.add.at(x[0], [0, 0, 1], x[0]),
    "putmask": lambda x: np.putmask(x, x > 0.5, x[0]),
    "put": lambda x: np.put(x, [2, 1, 0], x[0]),
}


@pytest.mark.parametrize("write", ONTO_ITSELF.values(), ids=ONTO_ITSELF)
def test_what_is_read_from_the_array_that_is_written_to(write):
    def f(x):
        x = x * 1.0
        write(x)
        return x

    same_as_numpy(f, np.linspace(0.3, 1.4, 6).reshape(2, 3), order=1)


def test_shuffle_is_refused_where_it_would_double_rows():
    generator = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for shuffle in (generator.shuffle, np.random.shuffle):
            with pytest.raises(TypeError, match="permutation"):
                ld.vjp(lambda x, shuffle=shuffle: (shuffle(x), x)[1], np.ones((9, 2)))
        shuffled = ld.vjp(lambda x: (generator.shuffle(x), x * x)[1], x3)[0]
    np.testing.assert_array_equal(np.sort(shuffled), np.sort(x3 * x3))

    def swapped(x):
        x = x * 1.0
        x[0], x[1] = x[1], x[0]
        return x

    same_as_numpy(swapped, A34)


def test_casts_of_scalars_are_scalars():
    def f(x):
        count = np.sum(x * x).astype(int)
        before = count
        count += 1
        assert before == count - 1
        return np.sum(x) * before

    np.testing.assert_array_equal(ld.grad(f)(x3), int(x3 @ x3))

    def of_an_array(x):
        count = lnp.array(2.5).astype(int)
        same = count
        count += 1
        return np.sum(x) * same

    np.testing.assert_array_equal(ld.grad(of_an_array)(x3), 3)


def test_arrays_of_lists_lie_by_rows():
    def f(x):
        y = lnp.array([x, x])
        y.ravel()[1] = 4.0
        return y * x

    np.testing.assert_array_equal(ld.vjp(f, np.asfortranarray(A34))[0], f(np.asfortranarray(A34)))


@pytest.mark.parametrize(
    "view",
    [
        lambda y: np.broadcast_to(y, (2, 2))[0],
        lambda y: np.broadcast_to(y, (2, 2))[:, 1],
        lambda y: np.broadcast_arrays(y, np.ones((2, 2)))[0][..., 1],
        lambda y: np.lib.stride_tricks.sliding_window_view(y, 2)[0],
        lambda y: np.moveaxis(np.lib.stride_tricks.sliding_window_view(y, 1), 0, 1)[0],
    ],
)
@pytest.mark.parametrize("write", [lambda y: y.__setitem__(0, 5.0), lambda y: y.__iadd__(1.0)])
def test_views_of_read_only_views_see_writes_in_every_order(view, write):
    def f(x):
        y = x * 1.0
        w = view(y)
        write(y)
        return np.sum(w**2)

    def scaled(x):  # the same, written without views
        y = x * 1.0
        write(y)
        return np.sum(view(y * 1.0) ** 2)

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ld.grad(f)(x), ld.grad(scaled)(x))
    np.testing.assert_array_equal(ld.hessian(f)(x), ld.hessian(scaled)(x))
    twice = ld.jvp(lambda x: ld.jvp(f, (x,), (x,))[0], (x,), (x,))
    assert twice[0] == f(x)


def test_flat_takes_the_array_that_it_is_of():
    def f(x):
        A = x * 1.0
        A.T.flat = A
        return A

    X = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(ld.vjp(f, X)[0], f(X))


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 4)])
def test_repeated_elements_lie_in_memory_of_their_own(shape):
    for base in (np.ones(shape[-1]), np.ones((shape[-2], 1))[::-1]):
        x = np.broadcast_to(base, shape)

        def whole_is_inside(v):
            plain = ld.value(v)
            low, high = np.lib.array_utils.byte_bounds(plain)
            owner = plain.base if plain.base is not None else plain
            while owner.base is not None:
                owner = owner.base
            first, last = np.lib.array_utils.byte_bounds(owner)
            assert first <= low
            assert high <= last
            v[...] = v * 2.0
            return np.sum(v * v)

        np.testing.assert_array_equal(ld.vjp(whole_is_inside, x)[1](1.0)[0], np.full(shape, 8.0))


# -- which memory, and how it lies ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write", ["q.flat[1]", "q.flat[[1, 7]]", "q.flat[1:3]", "q.T.flat[3]", "q[:, :2].flat[1]"]
)
@pytest.mark.parametrize("op", ["=", "+="])
def test_what_is_written_to_flat_of_repeated_elements_is_written(write, op):
    def f(x):
        x = x * 1.0
        row = x[0]
        q = np.meshgrid(row, row, copy=False)[0]
        with warnings.catch_warnings():  # NumPy's, that elements are repeated
            warnings.simplefilter("ignore", DeprecationWarning)
            exec(f"{write} {op} 5.0", {"q": q})
        return np.sum(x * x)

    same_as_numpy(f, A34)


@pytest.mark.parametrize(
    "part", [lambda x: x.flat[::2], lambda x: x.flat[::-1], lambda x: x.T.flat[1::2].reshape(2, -1)]
)
def test_parts_of_flat_lie_in_memory_as_copies(part):
    def f(x):
        t = part(x)
        u = np.ravel(t)
        u *= np.arange(1.0, 1.0 + u.size)
        return np.sum(t * t) + x[0, 0]

    same_as_numpy(f, A34)


@pytest.mark.parametrize("ask", [np.shares_memory, np.may_share_memory])
def test_memory_is_shared_after_a_write(ask):
    z = A34 + 1j * A34[::-1]

    def answers(x, z):
        row, column, left, right = x[0], x[:, 1], x[:, ::2], x[:, 1::2]
        row *= 2.0
        left += 1.0
        real, imag = z.real, z.imag
        real *= 3.0
        parts = [x, row, column, left, right, x[1], x[:0], x * 1.0]
        pairs = [(a, b) for a in parts for b in parts]
        pairs += [(real, imag), (real, z), (imag, z), (imag[:1, :1], real[:1, :1]), (z[0], z[1])]
        return [bool(ask(a, b)) for a, b in pairs]

    expected = answers(A34.copy(), z.copy())
    found = []
    ld.vjp(lambda x, z: (found.append(answers(x * 1.0, z * 1.0)), x)[1], A34, z)
    ld.jvp(lambda x, z: (found.append(answers(x * 1.0, z * 1.0)), x)[1], (A34, z), (A34, z))
    assert found == [expected, expected]


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(slice, *[st.none() | st.integers(-7, 7)] * 2, st.sampled_from([None, 1, 2, -1, -2, 3]))
    ),
    st.data(),
)
def test_slices_of_slices(slices, data):
    """Each is seen by all others, whatever it was cut from."""
    writes = data.draw(st.lists(st.integers(0, len(slices)), max_size=4))

    def f(x):
        parts = [x * 1.0]
        for k, part in enumerate(slices):
            parts.append(parts[-1][part])
            if k % 2:
                parts[-1] *= 1.5
        for k in writes:
            parts[k] += np.sum(parts[0]) * 0.1
        return np.sum(np.concatenate([part**2 * (k + 1) for k, part in enumerate(parts)]))

    x = np.linspace(0.5, 2.0, 7)
    value, gradient = ld.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    tangent = ld.jvp(f, (x,), (np.ones(7),))
    np.testing.assert_allclose(tangent[1], np.sum(gradient), rtol=1e-10)


def test_a_vector_consumed_from_its_start():
    """Chains of views of views are as long as one."""

    def f(x):
        whole = rest = x * 1.0
        while len(rest) > 1:
            rest[1] += rest[0] * 0.5
            rest = rest[1:]
        return np.sum(whole**2)

    same_as_numpy(f, x3)


def test_copies_share_no_memory():
    """Though they may lie in one place until one of them is written to."""

    def f(x):
        for y in (+x, copy.deepcopy(x), (+x)[1:], copy.copy(x)):
            assert not np.shares_memory(x, y)
            assert not np.may_share_memory(x, y)
        assert np.shares_memory(x, x)
        assert np.shares_memory(x, x[1:])
        y = x * 1.0
        y.flat = []
        return np.sum(y)

    np.testing.assert_array_equal(ld.grad(f)(np.arange(3.0)), np.ones(3))


def test_a_deep_copy_of_an_array_without_axes_is_one():
    def f(x):
        a = copy.deepcopy(np.reshape(x * 2.0, ()))
        b = copy.deepcopy(a)
        b[...] = 7.0
        return a * x[0]

    assert ld.grad(f)(np.array([3.0])) == 12.0


@pytest.mark.parametrize(
    "view",
    [
        lambda u: u[:3][1:],
        lambda u: u[1:][1:],
        lambda u: u[::-1][:2],
        lambda u: u[1:][1:][::2],
        lambda u: (u * 1.0)[1:][:2],
        lambda u: u[:4].reshape(2, 2)[1][1:],
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda v: v.__imul__(v),
        lambda v: v.__setitem__(0, v[0] ** 3),
        lambda v: np.multiply(v, np.sum(v), out=v),
    ],
)
def test_slices_of_slices_are_views_in_every_trace(view, write):
    def f(x):
        u = x * 1.0
        inner = view(u)
        write(inner)
        return np.sum(u**2) + np.sum(inner * u[0])

    x = np.array([1.0, 2.0, 3.0, 4.0])
    same_as_numpy(f, x)
    np.testing.assert_allclose(ld.hessian(f)(x), ld.jacobian(lambda x: ld.grad(f)(x))(x), rtol=1e-12)
    h = 1e-5
    differences = [(ld.grad(f)(x + h * e) - ld.grad(f)(x - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(ld.hessian(f)(x), differences, rtol=1e-6, atol=1e-6)


OUTS = {
    "take": (lambda x, o: np.take(x, [2, 0, 1], out=o), (3,)),
    "round": (lambda x, o: np.round(x, out=o), (3,)),
    "dot": (lambda x, o: np.dot(np.ones((2, 3)), x, out=o), (2,)),
    "choose": (lambda x, o: np.choose([0, 1, 0], [x, x], out=o), (3,)),
    "compress": (lambda x, o: np.compress([1, 0, 1], x, out=o), (2,)),
    "stack": (lambda x, o: np.stack([x, x], out=o), (2, 3)),
    "concatenate": (lambda x, o: np.concatenate([x, x], out=o), (6,)),
    "trace": (lambda x, o: np.trace(np.outer(x, x), out=o), ()),
    "multi_dot": (lambda x, o: np.linalg.multi_dot([np.outer(x, x), np.ones((3, 2)), np.ones((2, 2))], out=o),
                  (3, 2)),
    "einsum": (lambda x, o: np.einsum("i,i->i", x, x, out=o), (3,)),
    "outer": (lambda x, o: np.outer(x, x, out=o), (3, 3)),
    "clip": (lambda x, o: np.clip(x, 0, 0.3, out=o), (3,)),
    "nancumsum": (lambda x, o: np.nancumsum(x, out=o), (3,)),
    "nanmedian": (lambda x, o: np.nanmedian(np.outer(x, x), axis=0, out=o), (3,)),
    "mean": (lambda x, o: np.mean(np.outer(x, x), axis=0, out=o), (3,)),
    "fft": (lambda x, o: np.fft.fft(x, out=o), (3,)),
    "sum": (lambda x, o: np.sum(x[:, None], axis=0, keepdims=True, out=o), (1, 1)),
    "add.reduce": (lambda x, o: np.add.reduce(x[:, None], axis=0, keepdims=True, out=o), (1, 1)),
    "std": (lambda x, o: np.std(x[:, None], axis=0, out=o), (1,)),
    "matmul": (lambda x, o: np.matmul(x[None], np.ones((3, 1)), out=o), (1, 1)),
    "matmul of a vector": (lambda x, o: np.matmul(np.ones((1, 3)), x, out=o), (1,)),
    "vecdot": (lambda x, o: np.vecdot(x, x, out=o), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTS)
@pytest.mark.parametrize("more", [(2,), (1,), ()])
def test_out_has_the_shape_that_numpy_asks_for(name, more):
    """Not that of what it could be broadcast to."""
    function, shape = OUTS[name]
    shapes = [more + shape, tuple(3 if n == 1 else n for n in shape)]
    for each in shapes:
        asks_for_its_shape(name, function, each)


def asks_for_its_shape(name, function, shape):
    dtype = complex if name == "fft" else float

    def f(x):
        out = np.zeros(shape, dtype) if isinstance(x, np.ndarray) else lnp.zeros(shape, dtype)
        function(x, out)
        return np.sum(np.real(out))

    x = np.array([0.5, 0.2, 0.3])
    try:
        expected = f(x)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            ld.value_and_grad(f)(x)
        return
    np.testing.assert_allclose(ld.value_and_grad(f)(x)[0], expected)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
def test_ufuncs_write_constants_at_places_of_plain_arrays(ufunc):
    """``lindiff.numpy`` makes constants that are Variables of no transform."""
    plain = np.ones(3)

    def f(x):
        b = plain + 0.0
        ufunc.at(b, [0, 1, 1], lnp.tanh(plain))
        return lnp.sum(x) * lnp.sum(b)

    assert f(np.ones(3)) == ld.vjp(f, np.ones(3))[0]
    with pytest.raises(TypeError, match="into a plain array"):
        ld.grad(lambda x: np.add.at(plain, [0], x[:1]) or x[0])(np.ones(3))
