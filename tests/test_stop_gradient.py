"""`ld.stop_gradient`: derivatives do not see it, and it sees what NumPy's array would."""

import gc
import weakref

import numpy as np
import pytest

import lindiff as ld

x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.7, 0.9])


def whole(v):
    v = v * 1.0
    w = ld.stop_gradient(v)
    v += 1
    return np.sum(w * v * y)


def element(v):
    v = v * 1.0
    w = ld.stop_gradient(v)
    v[0] = v[2] * 2
    return np.sum(w * v * y)


def of_a_view(v):
    v = v * 1.0
    w = ld.stop_gradient(v[1:])
    v[1] = v[0]
    return np.sum(w * y[1:]) * v[1]


def through_a_view(v):
    v = v * 1.0
    w, part = ld.stop_gradient(v), v[::-1]
    part *= v[0]
    return np.sum(w * y * v)


def of_a_transpose(v):
    A = np.outer(v, v)
    w = ld.stop_gradient(A.T)
    A[0] = y
    return np.sum(w @ v)


def of_a_broadcast(v):
    v = v * 1.0
    w = ld.stop_gradient(np.broadcast_to(v, (2, 3)))
    v[1] = 5.0
    return np.sum(w * v)


def part_of_it(v):
    v = v * 1.0
    w = ld.stop_gradient(v)[1:]
    v[1] = 7.0
    return np.sum(w * v[1:])


def without_axes(v):
    s = np.array(v[0] * 2, copy=True).reshape(()) if type(v) is np.ndarray else (v[:1] * 2).reshape(())
    w = ld.stop_gradient(s)
    s[...] = v[1]
    return w * v[2]


def of_a_buffer(v):
    a = np.zeros(3, like=v)
    w = ld.stop_gradient(a)
    a[0], a[1] = v[0], 2.0
    return np.sum(w * v)


def used_before(v):
    v = v * 1.0
    w = ld.stop_gradient(v)
    z = w * v
    v[:] = y
    return np.sum(z) + np.sum(w * z)


def reshaped_in_place(v):
    v = np.outer(v, v)
    w = ld.stop_gradient(v)
    v.shape = (9,)
    v[4] = 1.0
    return np.sum(np.ravel(w) * v)


def twice(v):
    v = v * 1.0
    w = ld.stop_gradient((v, {"a": v[:2]}))
    v += v
    return np.sum(w[0] * v) + np.sum(w[1]["a"] * v[0])


def deposed(v):
    v = v * 1.0
    w = ld.stop_gradient(v)
    for _ in range(3):
        v = v + w
        w = ld.stop_gradient(v)
    v -= 1
    return np.sum(w * v)


FUNCTIONS = [whole, element, of_a_view, through_a_view, of_a_transpose, of_a_broadcast, part_of_it,
             without_axes, of_a_buffer, used_before, reshaped_in_place, twice, deposed]  # fmt: skip


def ways(f):
    """Values of ``f`` as transforms find them."""
    yield ld.value_and_grad(f)(x)[0]
    yield ld.jvp(f, (x,), (y,))[0]
    yield ld.value_and_grad(lambda v: ld.value_and_grad(f)(v)[0])(x)[0]
    yield ld.jvp(ld.value_and_grad(f), (x,), (y,))[0][0]
    for made in (ld.program(ld.value_and_grad(f)), ld.value_and_grad(ld.program(f))):
        for _ in range(4):
            yield made(x)[0]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_it_sees_what_is_written_later(f):
    expected = f(x)
    for found in ways(f):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_are_of_the_rest(f):
    gradient = ld.grad(f)(x)
    np.testing.assert_allclose(ld.jvp(f, (x,), (y,))[1], gradient @ y, rtol=1e-13)
    fast, of_program = ld.program(ld.grad(f)), ld.grad(ld.program(f))
    for _ in range(4):
        np.testing.assert_allclose(fast(x), gradient, rtol=1e-13)
        np.testing.assert_allclose(of_program(x), gradient, rtol=1e-13)


def test_a_gradient_by_hand():
    np.testing.assert_allclose(ld.grad(whole)(x), (x + 1) * y)
    np.testing.assert_allclose(ld.grad(element)(x), [0, 2 * y[1], 3 * y[2] + 2 * 6 * y[0]])


@pytest.mark.parametrize("n", [3, 9000])  # copied, kept by reference
def test_what_was_computed_before_is_as_it_was(n):
    def f(v):
        v = v * 1.0
        w = ld.stop_gradient(v)
        z, part = w * v, w[1:] * v[1:]
        v *= 10.0
        return np.sum(z) + np.sum(part) + np.sum(w)

    x = np.linspace(1.0, 2.0, n)
    expected = x.copy()
    expected[1:] *= 2
    np.testing.assert_allclose(ld.grad(f)(x), expected)


@pytest.mark.parametrize("made", [ld.grad, lambda f: ld.program(ld.grad(f))])
def test_it_cannot_be_written_to(made):
    def f(v):
        w = ld.stop_gradient(v * 1.0)
        w += 1
        return np.sum(w * v)

    with pytest.raises(ValueError, match="read-only"):
        made(f)(x)


def test_it_is_a_plain_array():
    seen = []

    def f(v):
        seen.append(ld.stop_gradient(v * 1.0))
        return np.sum(v)

    ld.grad(f)(x)
    assert type(seen[0]) is np.ndarray
    np.testing.assert_array_equal(seen[0], x)
    np.testing.assert_array_equal(np.digitize(seen[0], [2.0]), [0, 1, 1])


def test_nothing_is_held_when_it_is_gone():
    gone = []

    def f(v):
        v = v * 1.0
        w = ld.stop_gradient(v)
        gone.append(weakref.ref(w))
        v[0] = 1.0
        del w
        v += 1
        return np.sum(v)

    gc.disable()
    try:
        ld.grad(f)(x)
        assert gone[0]() is None
    finally:
        gc.enable()


def test_numbers_of_constants_cannot_be_written_to():
    def f(v):
        a = np.zeros(3, like=v)
        a[:] = 2.0
        z = np.einsum("i,i->i", a, v)
        with pytest.raises(ValueError, match="read-only"):
            ld.value(a)[:] = 100.0
        return np.sum(z)

    np.testing.assert_array_equal(ld.grad(f)(x), [2.0, 2.0, 2.0])


def test_a_recording_that_is_given_up():
    def f(v):
        v = v * 1.0
        w = ld.stop_gradient(v)
        np.asarray(np.cos(ld.stop_gradient(v)))
        v += 1
        u = ld.stop_gradient(v)
        v *= 2
        with pytest.raises(ValueError, match="read-only"):
            u[0] = 1.0
        return np.sum(w * v) + np.sum(u * v)

    fast, value = ld.program(ld.value_and_grad(f)), ld.value_and_grad(f)(x)
    for _ in range(4):
        for one, other in zip(fast(x), value, strict=True):
            np.testing.assert_array_equal(one, other)
