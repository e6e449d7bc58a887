"""Random programs of up to 30 operations of all families: against differences, and mode against mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import lindiff as ld
from lindiff.core import pytree

LARGEST = 24  # elements of an operand


@dataclass(frozen=True)
class Operation:
    """``call(*operands)``, for operands whose shapes satisfy ``fits``."""

    arity: int
    fits: Callable[..., bool]
    call: Callable[..., Any]


def of(arity: int, fits: Callable[..., bool], *calls: Callable[..., Any]) -> list[Operation]:
    return [Operation(arity, fits, call) for call in calls]


def any_shape(*shapes):
    return True


def has_axes(shape):
    return len(shape) >= 1 and min(shape) >= 1


def has_two_elements(shape):
    return len(shape) >= 1 and shape[-1] >= 2


def is_matrix(shape):
    return len(shape) == 2


def broadcasts(x, y):
    try:
        return math.prod(np.broadcast_shapes(x, y)) <= LARGEST
    except ValueError:
        return False


def same(x, y):
    return x == y and math.prod(x) <= LARGEST / 2


def multiplies(x, y):
    return 1 <= len(x) <= 2 and 1 <= len(y) <= 2 and x[-1] == y[0]


def are_small(x, y):
    return math.prod(x) * math.prod(y) <= LARGEST


def positive(x):
    return 1.5 + x * x


def gram(x):
    return x @ x.T + 2 * np.eye(x.shape[0])


def spaced(x):
    """Different numbers along the last axis."""
    return x + 3.0 * np.arange(x.shape[-1])


def spectrum(x):
    """A symmetric matrix with well separated eigenvalues."""
    return (x @ x.T) / 4 + np.diag(3.0 * np.arange(x.shape[0]))


def written(x, y):
    """In place: an element, a row, through a view, and an operator."""
    z = np.copy(x)
    z[0] = z[-1] * np.mean(y)
    z[..., -1:] *= 1.5
    z += np.mean(y)
    return z


def split_and_joined(x):
    first, *rest = np.array_split(x, 2)
    return np.concatenate([*rest, np.sin(first)])


OPERATIONS = [
    # elementwise
    *of(1, any_shape, np.sin, np.tanh, np.arctan, np.arcsinh, np.square, np.negative, np.abs, np.sinc),
    *of(1, any_shape, np.expm1),
    *of(1, any_shape, lambda x: np.exp(-x), lambda x: np.log(positive(x)), lambda x: np.sqrt(positive(x))),
    *of(1, any_shape, lambda x: np.clip(x, -0.7, 0.9), lambda x: np.where(x > 0, x, 0.1 * x)),
    *of(1, any_shape, lambda x: positive(x) ** 1.3, lambda x: 1 / positive(x)),
    *of(1, any_shape, lambda x: np.cbrt(positive(x))),
    *of(1, any_shape, lambda x: np.sin(x, where=x > 0, out=np.copy(x)), lambda x: np.nan_to_num(x)),
    *of(1, any_shape, lambda x: x**3),
    *of(2, broadcasts, np.add, np.subtract, np.multiply, np.maximum, np.fmin, np.logaddexp),
    *of(2, broadcasts, lambda x, y: x / positive(y), lambda x, y: np.arctan2(x, positive(y))),
    *of(2, broadcasts, lambda x, y: np.hypot(x, positive(y)), lambda x, y: positive(x) ** y),
    # reductions
    *of(1, any_shape, np.sum, np.mean, np.max, np.var),
    *of(1, has_axes, lambda x: np.sum(x, axis=0), lambda x: np.mean(x, axis=-1, keepdims=True)),
    *of(1, has_axes, lambda x: np.min(x, axis=-1), lambda x: np.prod(x, axis=0)),
    *of(1, has_axes, lambda x: np.cumsum(x, axis=-1)),
    *of(1, has_axes, lambda x: np.cumprod(x, axis=0), lambda x: np.std(spaced(x), axis=-1)),
    *of(1, has_axes, lambda x: np.median(x, axis=0), lambda x: np.quantile(x, 0.3, axis=-1), np.ptp),
    *of(1, has_axes, lambda x: np.logaddexp.reduce(x, axis=-1), lambda x: np.add.reduceat(x, [0, 0])),
    *of(1, has_axes, lambda x: np.subtract.accumulate(x), lambda x: np.average(x, axis=0)),
    *of(1, has_two_elements, np.diff, lambda x: np.gradient(x, axis=-1), lambda x: np.trapezoid(x, dx=0.5)),
    # indexing
    *of(1, has_axes, lambda x: x[0], lambda x: x[-1:], lambda x: x[::-1], lambda x: x[[0, -1, 0]]),
    *of(1, has_axes, lambda x: x[..., None, 0], lambda x: np.take(x, [0, 0], axis=-1), lambda x: np.sort(x)),
    *of(1, has_axes, lambda x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0)),
    *of(2, lambda x, y: has_axes(x), written),
    # shape
    *of(1, any_shape, np.ravel, np.transpose, np.atleast_2d, np.flip, lambda x: np.expand_dims(x, 0)),
    *of(1, has_axes, np.squeeze, lambda x: np.roll(x, 1)),
    *of(1, has_axes, lambda x: np.reshape(x, (-1, x.shape[0])), split_and_joined),
    *of(1, lambda x: math.prod(x) <= LARGEST / 3, lambda x: np.tile(x, 2), lambda x: np.repeat(x, 2)),
    *of(1, lambda x: has_axes(x) and max(x) <= 3 and len(x) <= 2, lambda x: np.pad(x, 1, mode="edge")),
    *of(2, same, lambda x, y: np.stack([x, y], axis=-1)),
    *of(2, lambda x, y: same(x, y) and has_axes(x), lambda x, y: np.concatenate([x, y])),
    # products
    *of(2, multiplies, np.matmul, np.dot, lambda x, y: np.tensordot(x, y, 1)),
    *of(2, are_small, np.outer, np.multiply.outer),
    *of(1, is_matrix, np.trace, np.tril, np.diagonal, lambda x: np.einsum("ij,ij->i", x, np.sin(x))),
    *of(2, lambda x, y: same(x, y) and has_axes(x), np.inner, np.vdot, np.vecdot),
    # linear algebra
    *of(1, is_matrix, lambda x: np.linalg.cholesky(gram(x)), lambda x: np.linalg.inv(gram(x))),
    *of(1, is_matrix, lambda x: np.linalg.slogdet(gram(x))[1], lambda x: np.linalg.solve(gram(x), x)),
    *of(1, is_matrix, lambda x: np.linalg.eigvalsh(spectrum(x))),
    *of(1, is_matrix, lambda x: np.abs(np.linalg.eigh(spectrum(x))[1])),
    *of(1, is_matrix, lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.svd(spectrum(x))[1]),
    *of(1, is_matrix, lambda x: np.linalg.qr(gram(x))[1], lambda x: np.linalg.det(gram(x) / 3)),
    *of(1, is_matrix, lambda x: np.linalg.matrix_power(gram(x) / 3, 2), lambda x: np.linalg.pinv(gram(x))),
    # Fourier transforms
    *of(1, has_axes, lambda x: np.real(np.fft.fft(x)), lambda x: np.abs(np.fft.rfft(spaced(x)))),
]  # fmt: skip


def write(x, statement, y):
    """One of the statements that write into ``x``."""
    number = np.mean(np.tanh(y))
    match statement:
        case 0:
            x[0] *= 0.7
        case 1:
            x[..., -1] += number
        case 2:
            x += 0.1 * np.sin(x)
        case 3:
            x[[0, -1]] = x[[-1, 0]]
        case 4:
            x[x > 0.5] *= 0.5
        case 5:
            np.add.at(x, [0, 0, -1], number)
        case 6:
            np.copyto(x, 0.3 * x, where=ld.value(x) < 0)
        case 7:
            x.T[...] = 0.9 * x.T
        case 8:
            np.multiply(x, number, out=x)
        case 9:
            x[:] = x[::-1]
        case 10:
            x[1:] += x[:-1]
        case 11:
            np.put(x, [0], number)
        case 12:
            np.negative.at(x, [0, 0, 0])
        case 13:
            row = x[-1:]
            row[...] = number * row
        case 14:
            x /= positive(x)
        case _:
            x.fill(number)


VIEWS = [
    lambda x: x[:],
    lambda x: x[0],
    lambda x: x[::-1],
    lambda x: x[-1:],
    lambda x: x[..., None],
    lambda x: x[..., :1],
    np.transpose,
    lambda x: np.expand_dims(x, 0),
    lambda x: np.swapaxes(x, 0, -1),
    np.squeeze,
    np.flip,
]


def run(program, *arrays, writes=False):
    """Each step applies one operation that fits to arrays computed before, and scales the result.

    With ``writes``, every other step writes into one of them, or makes a view.
    """
    pool = [1.0 * x for x in arrays]
    for turn, (which, left, right) in enumerate(program):
        operands = [pool[-1 - left % len(pool)], pool[-1 - right % len(pool)]]
        shapes = [operand.shape for operand in operands]
        if math.prod(shapes[0]) > LARGEST or len(shapes[0]) > 4:
            continue
        if writes and turn % 2 and has_axes(shapes[0]):
            if turn % 4 == 1:
                pool.append(VIEWS[which % len(VIEWS)](operands[0]))
            else:
                write(operands[0], which % 16, operands[1])
            continue
        fitting = [f for f in OPERATIONS if f.fits(*shapes[: f.arity])]
        operation = fitting[which % len(fitting)]
        y = operation.call(*operands[: operation.arity])
        pool.append(y / np.sqrt(1 + np.mean(y * y)))
    return tuple(pool)


steps = st.tuples(st.integers(0, 10**4), st.integers(0, 7), st.integers(0, 7))
quick = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), max_examples=150
)


def arrays_like(shapes, seed):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape) for shape in shapes)


def dot(a, b):
    """The inner product of two trees."""
    return sum(np.vdot(x, y) for x, y in zip(pytree.flatten(a)[0], pytree.flatten(b)[0], strict=True))


def difference(f, x, x_dot, h):
    """Of 4th order, in the direction ``x_dot``."""

    def at(t):
        return np.concatenate(
            [np.ravel(y) for y in f(*(a + t * h * a_dot for a, a_dot in zip(x, x_dot, strict=True)))]
        )

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


@quick
@given(program=st.lists(steps, min_size=1, max_size=30), seed=st.integers(0, 10**6), writes=st.booleans())
def test_first_derivatives(program, seed, writes):
    x = arrays_like([(3, 3), (3,), (2, 3), ()], seed)
    x_dot = arrays_like([a.shape for a in x], seed + 1)

    def f(*arrays):
        return run(program, *arrays, writes=writes)

    y, y_dot = ld.jvp(f, x, x_dot)
    for got, expected in zip(y, f(*x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    y_bar = arrays_like([np.shape(part) for part in y], seed + 2)
    scale = 1 + sum(np.linalg.norm(np.ravel(part)) for part in y_dot)
    adjoint = dot(ld.vjp(f, *x)[1](y_bar), x_dot)
    np.testing.assert_allclose(dot(y_bar, y_dot), adjoint, rtol=1e-9, atol=1e-9 * scale)

    coarse, fine = difference(f, x, x_dot, 2e-4), difference(f, x, x_dot, 5e-5)
    assume(np.abs(coarse - fine).max() < 1e-6 * scale)  # no kink near, not too curved
    got = np.concatenate([np.ravel(part) for part in y_dot])
    np.testing.assert_allclose(got, fine, rtol=1e-5, atol=1e-5 * scale)


@settings(quick, max_examples=60)
@given(program=st.lists(steps, min_size=1, max_size=12), seed=st.integers(0, 10**6), writes=st.booleans())
def test_second_derivatives_mode_against_mode(program, seed, writes):
    """Forward over reverse, reverse over reverse and reverse over forward give one Hessian."""
    x = arrays_like([(2, 2), (2,)], seed)
    u, v = (arrays_like([a.shape for a in x], seed + k) for k in (1, 2))

    def f(*arrays):
        return sum(np.sum(np.sin(y)) for y in run(program, *arrays, writes=writes))

    def slope(*arrays):
        return ld.jvp(f, arrays, u)[1]

    gradient = ld.grad(f, argnums=(0, 1))
    forward_over_reverse = dot(ld.jvp(gradient, x, u)[1], v)
    reverse_over_reverse = dot(ld.vjp(gradient, *x)[1](u), v)
    reverse_over_forward = dot(ld.grad(slope, argnums=(0, 1))(*x), v)
    scale = 1 + abs(forward_over_reverse)
    np.testing.assert_allclose(reverse_over_reverse, forward_over_reverse, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(reverse_over_forward, forward_over_reverse, rtol=1e-8, atol=1e-8 * scale)
