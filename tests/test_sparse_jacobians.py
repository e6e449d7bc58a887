"""``ld.jacobian(f, sparse=True)`` beside the dense one; the patterns of functions' steps."""

from __future__ import annotations

import itertools
import math
import operator
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.programs.dependence import Found, dependence, found_by
from lindiff.programs.recording import Unrecordable
from lindiff.scipy.integrate import quad
from lindiff.scipy.signal import lfilter

A = np.eye(6) + np.diag(np.ones(5), 1)
FULL = np.random.default_rng(1).normal(size=(6, 6))


def written(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:] = x[:-1] * 2
    y[0] = x[3]
    y[2:4] += x[2:4]
    y.reshape(2, 3).T[0] *= x[5]
    return np.sin(y)


def in_a_loop(x: Any) -> Any:
    c = np.empty_like(x)
    for k in range(5):
        c[k] = x[k + 1] - x[k] * np.exp(x[k])
    c[5] = x[0]
    return c


def overwritten(x: Any) -> Any:
    y = np.full_like(x, 1.0) * np.sum(x)
    y[...] = x[::-1]
    np.multiply(y, x, out=y)
    return y


def by_views(x: Any) -> Any:
    y = x.copy()
    odd = y[1::2]
    np.add(odd, x[::2], out=odd)
    return y.T


def parts_of_complex(x: Any) -> Any:
    y = x * (1 + 1j)
    y.real[:2] = x[2:4]
    return np.abs(y)


# function, and how many entries its pattern has for six numbers
FUNCTIONS: dict[str, tuple[Any, int]] = {
    "slices": (lambda x: x[1:] * x[:-1], 10),
    "written": (written, 10),
    "loop": (in_a_loop, 11),
    "overwritten": (overwritten, 12),
    "views": (by_views, 9),
    "constant matrix": (lambda x: A @ x, 11),
    "from the right": (lambda x: x @ A, 11),
    "joined": (lambda x: np.concatenate([x[:2], np.cumsum(x)]), 23),
    "broadcast": (lambda x: x[:2, np.newaxis] * x[2:], 16),
    "sums": (lambda x: np.sum(x.reshape(2, 3), axis=0, keepdims=True), 6),
    "a method": (lambda x: x.reshape(2, 3).max(axis=1), 6),
    "differences": (lambda x: np.diff(x) ** 2, 10),
    "chosen": (lambda x: np.where(x > 0, x, x**2), 6),
    "clipped": (lambda x: np.clip(x, -1, 1), 6),
    "a product": (lambda x: x.reshape(2, 3) @ np.ones((3, 2)), 12),
    "a batch": (lambda x: x.reshape(3, 2, 1) @ np.ones((1, 2)), 12),
    "by itself": (lambda x: x.reshape(3, 2) @ x[:2], 10),
    "rolled": (lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1), 18),
    "an array": (lambda x: np.array([x[0] * x[1], x[2]], like=x), 3),
    "stacked": (lambda x: np.stack([x, x[::-1]]).T.ravel(), 12),
    "padded": (lambda x: np.pad(x, 1), 6),
    "einsum": (lambda x: np.einsum("i,ij->j", x, A), 11),
    "outer": (lambda x: np.outer(x[:2], x[2:4]), 8),
    "convolved": (lambda x: np.convolve(x, [1, 2, 1]), 18),
    "a gradient": (lambda x: np.gradient(x), 12),
    "by 0": (lambda x: np.floor(x) + np.zeros(6), 6),
    "counted": (lambda x: (x > 0) * 1.0, 0),
    "a constant": (lambda x: np.ones_like(x), 0),
    "nothing": (lambda x: x[:0], 0),
    "reduced": (lambda x: np.add.reduce(x.reshape(2, 3), axis=1), 6),
    "whatever": (lambda x: np.linalg.solve(np.diag(x) + 3 * A, x), 36),
    "a number": (lambda x: np.dot(x, x), 6),
    "powers": (lambda x: operator.pow(x, 2) + np.power(x, 3), 6),
    "clipped by itself": (lambda x: np.clip(x, a_min=-1, a_max=x[::-1]), 12),
    "clipped by a method": (lambda x: x.clip(max=x[::-1]), 12),
    "filled": (lambda x: x + np.full_like(x, fill_value=x[1]), 11),
    "differences with a start": (lambda x: np.diff(x, prepend=1.0), 11),
    "second differences": (lambda x: np.diff(x.reshape(3, 2), 2, axis=0), 6),
    "differences between ends": (
        lambda x: np.diff(x.reshape(3, 2), axis=0, prepend=0.0, append=x[None, :2]),
        14,
    ),
    "padded by edges": (lambda x: np.pad(x.reshape(2, 3), ((0, 1), (2, 0)), mode="edge"), 15),
    "padded by numbers": (lambda x: np.pad(x, 1, constant_values=x[2]), 8),
    "padded oddly": (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), 48),
    "padded by medians": (lambda x: np.pad(x, 1, mode="median") * 1.0, 48),
    "dot with three axes": (lambda x: np.dot(np.eye(6), np.stack([np.diag(x), np.diag(2 * x)])), 12),
    "real parts": (lambda x: parts_of_complex(x), 16),
    "an imaginary part": (lambda x: np.sum(x * 1j).imag * x[:1], 6),
    "split": (lambda x: np.split(x, 2)[1] * 2, 3),
    "numbers of Python's": (lambda x: x * np.abs(1j * x[0]), 11),
    "computed with": (lambda x: x + 1e-8 * ((2 - 1j * x[0]) ** 2 / (1 + 1j)).conjugate().imag, 11),
    "beside arrays": (lambda x: x + 1e-8 * np.where(x > 0, 1j * np.sum(x), 1j**x).imag, 36),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("of_program", [False, True])
@pytest.mark.parametrize("mode", [None, "fwd", "rev"])
def test_beside_the_dense_jacobian(name, of_program, mode):
    function, entries = FUNCTIONS[name]
    jacobian = ld.jacobian(ld.program(function) if of_program else function, mode=mode, sparse=True)
    for seed in (1, 2, 3):
        x = np.random.default_rng(seed).normal(size=6)
        matrix = jacobian(x)
        assert type(matrix) is scipy.sparse.csr_array
        assert matrix.nnz == entries
        dense = ld.jacobian(function)(x)
        np.testing.assert_allclose(matrix.toarray(), dense.reshape(-1, 6), rtol=1e-12, atol=1e-14)


def put_at(x, function, *args, **kwargs):
    """``x**2`` with other numbers at places."""
    y = x**2
    function(y, *args, **kwargs)
    return y


INTS = np.array([3, 3, 0, -1])
MASK = np.array([True, False, True, True, False, False])
W2, W7, W8 = (np.random.default_rng(n).uniform(1, 2, n) for n in (2, 7, 8))
# whose patterns are those of their dense Jacobians at a point with no number that is special
EXACT = {
    # integers beside numbers
    "appended": lambda x: np.append(x**2, 1000),
    "padded": lambda x: np.pad(x**2, 1, constant_values=300),
    "with an integer before": lambda x: np.diff(x**2, prepend=100, append=7),
    "inserted": lambda x: np.insert(x**2, 3, 9999),
    "inserted among constants": lambda x: np.insert(np.ones(3), 1, x**2),
    "inserted into a list": lambda x: np.insert([1.0, 2.0], [0, 1, 1], x[:3]),
    "inserted into a row": lambda x: np.insert(np.zeros((2, 3)), 1, x[:3], axis=0),
    "inserted where": lambda x: np.insert(np.zeros(6, "f4"), MASK, x[:3]),
    "inserted beside a number": lambda x: np.insert(1.5, 0, x),
    "inserted by name": lambda x: np.insert(arr=np.zeros(2), obj=slice(0, 2), values=x[:2]),
    "joined": lambda x: np.concatenate([x**2, np.arange(3) + 50]),
    "stacked": lambda x: np.stack([x, np.arange(6)]),
    "an array": lambda x: np.array([x[0], 5, x[1] * x[2], 2], like=x),
    # other types asked for
    "in half precision": lambda x: 1e7 * x + np.concatenate([x[::-1]], dtype=np.float16).astype(float),
    "of another type": lambda x: np.array(x[::-1], np.float32, like=x).astype(float),
    "by its name": lambda x: np.stack([x[::-1]], dtype="f4").astype(float),
    # writers
    "added at": lambda x: put_at(x, np.add.at, INTS, x[:4] ** 3),
    "subtracted at": lambda x: put_at(x, np.subtract.at, (INTS,), x[5]),
    "multiplied at": lambda x: put_at(x, np.multiply.at, slice(1, 3), x[4:]),
    "changed at": lambda x: put_at(x, np.negative.at, INTS),
    "added in a matrix": lambda x: put_at(x.reshape(2, 3), np.add.at, ([0, 1], [2, 2]), x[:2]),
    "added below an axis": lambda x: put_at(x.reshape(3, 2), np.add.at, [0, 2, 0], x.reshape(3, 2)[::-1]),
    "put": lambda x: put_at(x, np.put, INTS, x[:2]),
    "put by a method": lambda x: put_at(x, lambda y, *args: y.put(*args), [7, 2], x[:2], "wrap"),
    "put where": lambda x: put_at(x, np.putmask, MASK, x[::-1]),
    "placed": lambda x: put_at(x, np.place, MASK, x[:2]),
    "on the diagonal": lambda x: put_at(x[:, None] * np.ones(6), np.fill_diagonal, x[:2]),
    "copied where": lambda x: put_at(x, np.copyto, x[::-1], where=MASK),
    "copied": lambda x: put_at(x.reshape(2, 3), np.copyto, x[:3]),
    "filled by a method": lambda x: put_at(x, lambda y, v: y.fill(v), x[2]),
    "put along an axis": lambda x: put_at(x.reshape(2, 3), np.put_along_axis, np.array([[1], [0]]), x[:1], 1),
    # sums
    "chosen": lambda x: np.choose(MASK * 1, [x, x[::-1] * 2]),
    "compressed": lambda x: np.compress(MASK, x),
    "extracted": lambda x: np.extract(MASK, x),
    "along an axis": lambda x: np.take_along_axis(x.reshape(2, 3), np.array([[2, 0], [1, 1]]), 1),
    "counted": lambda x: np.bincount([1, 4, 1, 1, 0, 4], x, 7),
    "counted by name": lambda x: np.bincount([1, 4, 1, 1, 0, 4], weights=x),
    "differences": lambda x: np.ediff1d(x.reshape(2, 3)),
    "differences between ends": lambda x: np.ediff1d(x, to_begin=x[:2], to_end=np.stack([1, x[0]])),
    "gradient": lambda x: np.gradient(x),
    "gradient, second order": lambda x: np.gradient(x, 0.5, edge_order=2),
    "gradient, at uniform points": lambda x: np.gradient(x, np.arange(6)),
    "gradient, at points": lambda x: np.gradient(x, np.array([0, 1, 3, 3.5, 7, 9])),
    "gradient, at points, second order": lambda x: np.gradient(x, np.arange(6) ** 2.0, edge_order=2),
    "gradient by spacing": lambda x: np.gradient(x[:5] ** 2, x[5]),
    "gradient of a matrix": lambda x: np.stack(np.gradient(np.outer(x[:3], x[3:]))),
    "gradient along one axis": lambda x: np.gradient(np.outer(x[:3], x[3:]), 2.0, axis=0),
    "gradient along axes": lambda x: np.stack(np.gradient(np.outer(x[:3], x), 1.0, np.arange(6) ** 2)),
    "trace": lambda x: np.trace(np.outer(x, x)[:, :, None] * x[:2]),
    "trace beside": lambda x: np.outer(x, x).trace(1),
    "trace of nothing": lambda x: np.trace(np.outer(x, x), 9) + x,
    # sums of products
    **{
        f"{f.__name__} {mode} {len(w)}": lambda x, f=f, mode=mode, w=w: f(x, w, mode)
        for f in (np.convolve, np.correlate)
        for mode in ("full", "same", "valid")
        for w in (W2, W7, W8)
    },
    **{
        f"{mode} from the right {len(w)}": lambda x, mode=mode, w=w: np.correlate(w, x, mode)
        for mode in ("same", "valid")
        for w in (W2, W7)
    },
    "convolved with itself": lambda x: np.convolve(x[:3], x[3:]),
    "convolved with zeros": lambda x: np.convolve(x, [1, 0, -2]),
    "elementwise": lambda x: np.einsum("i,i->i", x, x),
    "einsum": lambda x: np.einsum("ij,kj,k->ki", x.reshape(2, 3), np.arange(9.0).reshape(3, 3), x[:3]),
    "diagonals": lambda x: np.einsum("ii,i", np.outer(x, x), x),
    "a diagonal": lambda x: np.einsum("ii...,->...i", np.outer(x, x).reshape(6, 6, 1), 2.0),
    "einsum of lists": lambda x: np.einsum(x.reshape(2, 3), [0, 1], np.eye(2), [0, 2], [2, 1]),
    "over axes": lambda x: np.tensordot(x.reshape(1, 2, 3), np.eye(3)[:, None], ([-1, 0], [0, 1])),
    "over one axis": lambda x: np.tensordot(x.reshape(2, 3), np.tril(np.ones((3, 3))), (1, 0)),
    "over the last axes": lambda x: np.tensordot(x.reshape(3, 2), np.array([[1.0, 0.0]]).T, axes=1),
    "over none": lambda x: np.tensordot(x[:2], x[2:], 0),
    "inner": lambda x: np.inner(x.reshape(3, 2), np.eye(2)),
    "inner with a vector": lambda x: np.inner(x.reshape(3, 2), x[:2]),
    "inner of a vector": lambda x: np.inner(np.array([0.0, 1]), x.reshape(3, 2)),
    "outer": lambda x: np.outer([1.0, 0.0], x),
    "vdot": lambda x: np.vdot(x.reshape(2, 3), [[1, 0, 1], [0, 0, 2]]),
    "cumsum": np.cumsum,
    "cumsum of columns": lambda x: np.cumsum(x.reshape(3, 2), axis=0),
    "cumprod of rows": lambda x: x.reshape(2, 3).cumprod(-1),
    "accumulate": lambda x: np.multiply.accumulate(x.reshape(3, 2)),
    "cumsum of nothing": lambda x: np.cumsum(x[:0]),
    "kron": lambda x: np.kron(x[:2], x[2:]),
    "kron with zeros": lambda x: np.kron([[1.0, 0], [2, 3]], x.reshape(2, 3)),
    "kron of other axes": lambda x: np.kron(x.reshape(1, 3, 2), x[:2]),
    "cross": lambda x: np.cross(x[:3], x[3:]),
    "cross with zeros": lambda x: np.cross(x.reshape(2, 3), [1.0, 0, 2]),
    "cross of columns": lambda x: np.cross(x.reshape(3, 2), x.reshape(3, 2)[:, ::-1] ** 2, axis=0),
}


@pytest.mark.parametrize("name", EXACT)
def test_patterns_are_those_of_dense_jacobians(name):
    f, x = EXACT[name], np.random.default_rng(0).uniform(1, 2, 6)
    dense = np.asarray(ld.jacobian(f)(x)).reshape(-1, 6)
    np.testing.assert_array_equal(dependence(f, x).toarray(), dense != 0)
    np.testing.assert_allclose(ld.jacobian(f, sparse=True)(x).toarray(), dense, rtol=1e-12)


def where_positive(x, value, write=operator.setitem):
    y = x**2
    write(y, x > 0, value)
    return y


@pytest.mark.parametrize(
    ("function", "entries"),
    [
        (lambda x: where_positive(x, 0.0), 6),
        (lambda x: where_positive(x, x[2]), 11),
        (lambda x: where_positive(x, x[::-1], np.putmask), 12),
        (lambda x: where_positive(x, x[::-1], lambda y, mask, v: np.copyto(y, v, where=mask)), 12),
        (lambda x: where_positive(x, x[::-1], lambda y, mask, v: np.copyto(y, v, "same_kind", mask)), 12),
        (lambda x: where_positive(x, x[:2], np.putmask), 36),
        (lambda x: put_at(x, operator.setitem, np.argmax(x), x[0]), 11),
        (lambda x: put_at(x, operator.setitem, np.argsort(x), x), 36),
    ],
)
def test_writes_to_places_that_depend_on_numbers(function, entries):
    jacobian = ld.jacobian(function, sparse=True)
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=6)
        matrix = jacobian(x)
        assert matrix.nnz == entries
        np.testing.assert_allclose(matrix.toarray(), ld.jacobian(function)(x), rtol=1e-12)


def test_large_patterns():
    n = 20_000
    i, x = np.random.default_rng(0).integers(0, n, n), np.linspace(1, 2, n)

    def assembled(x):
        y = np.zeros_like(x)
        np.add.at(y, i, x**2)
        return y

    for f, entries in [
        (assembled, n),
        (lambda x: put_at(x, np.put, np.arange(0, n, 2), x), n),
        (lambda x: np.gradient(x), 2 * n),
        (lambda x: np.ediff1d(x), 2 * n - 2),
        (lambda x: np.convolve(x, [1, -2, 1.0]), 3 * n),
        (lambda x: np.einsum("i,i->i", x, x), n),
        (lambda x: np.tensordot(x.reshape(-1, 4), np.eye(4), 1), n),
        (lambda x: np.bincount(i, weights=x, minlength=n), n),
        (lambda x: np.trace(x.reshape(50, 8, 50)), 400),
        (lambda x: np.cumsum(x.reshape(-1, 4), axis=1), 10 * n // 4),
        (lambda x: np.kron(np.eye(3), x), 3 * n),
        (lambda x: np.cross(x[:-2].reshape(-1, 3), [1, 0, 2]), 4 * (n - 2) // 3),
        (lambda x: np.concatenate([x[::-1]], dtype=np.float16).astype(float) + 1e7 * x, 2 * n),
    ]:
        assert ld.jacobian(f, sparse=True)(x).nnz == entries


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x) * np.ones(x.size),
        lambda x: put_at(x, np.add.at, np.argsort(x), np.sum(x)),
        lambda x: put_at(x, np.copyto, np.sum(x)),
        lambda x: np.add.outer(x[:2000], x) + np.sum(x),
        lambda x: np.sort(x),
    ],
)
def test_patterns_that_are_too_large(function):
    with pytest.raises(TypeError, match=r"pattern of the Jacobian .* entries"):
        ld.jacobian(function, sparse=True)(np.linspace(0, 1, 12_000))


def test_finding_a_pattern_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ld.jacobian(lambda x: np.gradient(x[:4] ** 2, x[4]), sparse=True)(np.arange(1.0, 6.0))
        ld.jacobian(lambda x: np.kron(1 / x[:2], x[2:]), sparse=True)(np.arange(1.0, 6.0))


def test_entries_that_are_zero_at_a_point_are_there():
    matrix = ld.jacobian(lambda x: x[1:] * x[:-1], sparse=True)(np.zeros(5))
    assert matrix.nnz == 8
    assert not matrix.data.any()


def test_shapes_are_raveled():
    f = lambda x: x[:, 1:] - x[:, :-1]
    x = np.arange(12.0).reshape(3, 4)
    matrix = ld.jacobian(f, sparse=True)(x)
    assert matrix.shape == (9, 12)
    np.testing.assert_array_equal(matrix.toarray(), ld.jacobian(f)(x).reshape(9, 12))
    again = ld.jacobian(f, sparse=True)
    assert [again(x).shape, again(x[:2]).shape] == [(9, 12), (6, 8)]


def test_large_ones_take_few_directions():
    x = np.linspace(0, 1, 20_000)
    matrix = ld.jacobian(lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1) + np.sin(x), sparse=True)(x)
    assert matrix.nnz == 60_000
    assert ld.jacobian(lambda x: np.diff(np.pad(x, 1)), sparse=True)(x).nnz == 40_000
    with pytest.raises(TypeError, match="everything depends on everything, 400000000 entries"):
        ld.jacobian(lambda x: np.cumsum(x), sparse=True)(x)
    np.testing.assert_allclose(matrix.diagonal(), -2 + np.cos(x))


def test_hessians():
    def f(x):
        return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)

    x = np.linspace(-1, 2, 50)
    hessian = ld.jacobian(ld.grad(f), sparse=True)(x)
    assert hessian.nnz == 148
    np.testing.assert_allclose(hessian.toarray(), ld.hessian(f)(x), rtol=1e-12)


@pytest.mark.parametrize("of_program", [False, True])
def test_a_function_that_goes_another_way_is_looked_at_again(of_program):
    def f(x):
        if x[0] > 0:
            return x * 2
        return x * np.roll(x, 1)

    jacobian = ld.jacobian(ld.program(f) if of_program else f, sparse=True)
    for x in (np.ones(5), -np.ones(5), np.ones(5), np.arange(5.0) - 2):
        np.testing.assert_array_equal(jacobian(x).toarray(), ld.jacobian(f)(x))


def test_small_entries_of_another_way():
    def f(x):
        y = x * 1.0
        if x[0] > 0:
            y = y + np.float32(1e-4) * x[::-1]
        return y

    jacobian = ld.jacobian(f, sparse=True)
    one = np.ones(3, np.float32)
    for x in (-one, one, -one):
        np.testing.assert_allclose(jacobian(x).toarray(), ld.jacobian(f)(x), rtol=1e-6)


def test_other_arguments_that_change():
    jacobian = ld.jacobian(lambda x, A: A @ x, sparse=True)
    A = np.diag([1e9, 2e9, 3e9])
    for entry in (0.0, 1.0, 0.0, 1e-9):
        A[0, 2] = entry
        np.testing.assert_array_equal(jacobian(np.ones(3), A).toarray(), A)


def test_other_arguments_and_results():
    def f(a, x, scale=1.0):
        return scale * a * x[1:] ** 2, np.sum(x)

    x = np.arange(1.0, 6.0)
    jacobian = ld.jacobian(f, argnums=1, has_aux=True, sparse=True)
    matrix, aux = jacobian(2.0, x, scale=3.0)
    assert aux == 15.0
    np.testing.assert_array_equal(matrix.toarray(), np.diag(12 * x)[1:])
    value, (matrix) = ld.value_and_jacobian(lambda x: x[1:] ** 2, sparse=True)(x)
    np.testing.assert_array_equal(value, x[1:] ** 2)
    np.testing.assert_array_equal(matrix.toarray(), np.diag(2 * x)[1:])
    by_name = ld.jacobian(lambda a, x: a * x, argnums="x", sparse=True)(2.0, x=x)
    np.testing.assert_array_equal(by_name.toarray(), 2 * np.eye(5))


def test_single_precision_and_layouts():
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    f = lambda x: np.sqrt(x[1:]) * x[:-1]
    for x_given in (x, np.asfortranarray(x), x[:, ::-1], np.repeat(x, 2, axis=1)[:, ::2]):
        matrix = ld.jacobian(f, sparse=True)(x_given)
        assert matrix.dtype == np.float32
        np.testing.assert_allclose(matrix.toarray(), ld.jacobian(f)(x_given).reshape(8, 12), rtol=1e-6)


def test_arguments_whose_numbers_share_memory():
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(1.0, 6.0), 3)
    for f, x in [
        (lambda x: x[-1] + 1e-4 * x[:-1], np.broadcast_to(1.0, 5)),
        (lambda x: x**2, np.broadcast_to(2.0, 5)),
        (lambda x: x[-1] + 1e-5 * x[0] * x[1], windows),
        (lambda x: x[::-1] * x[:, ::-1], windows.T),
    ]:
        found = ld.jacobian(f, sparse=True)(x)
        np.testing.assert_array_equal(found.toarray(), ld.jacobian(f)(x).reshape(found.shape))


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_small_entries_that_a_pattern_has_not(scale, monkeypatch):
    found = Found(scipy.sparse.csr_array(np.eye(5, dtype=bool)), False)
    monkeypatch.setattr("lindiff.transforms.sparse.found_by", lambda f, x, *others: found)
    with pytest.raises(TypeError, match="does not do the same"):
        ld.jacobian(lambda x: x + scale * x[::-1], sparse=True)(np.arange(1.0, 6.0))


@pytest.mark.parametrize("order", ["A", "K", "F", "C"])
def test_numbers_in_the_order_of_memory(order):
    whole = np.random.default_rng(0).normal(size=(6, 8))
    for x in (np.asfortranarray(whole[:3, :4]), whole[::2, ::-2], whole[::-1].T):
        for f in (
            lambda x: x.flatten(order) ** 2,
            lambda x: np.ravel(x, order) * 3.0,
            lambda x: (x.T * 2.0).reshape(-1, order="F"),
            lambda x: 1e9 * x.flatten() + x.flatten(order),
        ):
            dense = ld.jacobian(f)(x).reshape(x.size, x.size)
            np.testing.assert_allclose(ld.jacobian(f, sparse=True)(x).toarray(), dense)


def test_of_tensor_functions():
    stencil = ld.tensor("f[i,j] = x[i-1,j] + x[i+1,j] + x[i,j-1] + x[i,j+1] - 4*x[i,j]", outside="zero")
    x = np.random.default_rng(0).normal(size=(7, 9))
    f = lambda x: stencil(x) + x**3
    matrix = ld.jacobian(f, sparse=True)(x)
    assert matrix.nnz == 5 * 63 - 2 * (7 + 9)
    np.testing.assert_allclose(matrix.toarray(), ld.jacobian(f)(x).reshape(63, 63), atol=1e-12)


def test_infinite_entries():
    with np.errstate(divide="ignore"):
        matrix = ld.jacobian(lambda x: np.sqrt(x), sparse=True)(np.array([0.0, 1.0, 4.0]))
    np.testing.assert_array_equal(matrix.diagonal(), [np.inf, 0.5, 0.25])


@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (lambda x: (x, x), np.ones(3), "one array that returns one array"),
        (lambda x: x["a"], {"a": np.ones(3), "b": np.ones(2)}, "one array that returns one array"),
        (lambda x: x["a"], {"a": np.ones(3)}, "in a tree"),
        (lambda x: x * np.float16(1), np.ones(3, np.float16), "real numbers"),
        (lambda x: x * 1j, np.ones(3), "real numbers"),
        (lambda x: x, np.ones(3, complex), "real numbers"),
        (lambda x: x * eval("x[0] + float(np.random.default_rng().normal())"), np.ones(3), "pattern|same"),
    ],
)
def test_what_has_no_sparse_jacobian(function, x, message):
    with pytest.raises(TypeError, match=message):
        ld.jacobian(function, sparse=True)(x)
    with pytest.raises(TypeError, match="real numbers"):
        ld.jacobian(function, sparse=True, holomorphic=True)


@pytest.mark.parametrize("of_program", [False, True])
def test_of_several_arguments(of_program):
    f = ld.program(np.multiply) if of_program else np.multiply
    with pytest.raises(TypeError, match=r"argnums=\(0, 1\) names 2: concatenate them"):
        ld.jacobian(f, argnums=(0, 1), sparse=True)(np.ones(2), np.ones(2))
    assert ld.jacobian(f, argnums=(1,), sparse=True)(np.ones(2), np.ones(2)).nnz == 2


def test_within_another_transform():
    inner = ld.jacobian(lambda x: x**3, sparse=True)
    with pytest.raises(TypeError, match="no derivatives of its own"):
        ld.grad(lambda x: np.sum(inner(x).data))(np.ones(3))


def test_a_pattern_is_refused_where_no_program_repeats_the_function():
    kept = []
    with pytest.raises(Unrecordable, match="keeps arrays"):
        dependence(lambda x: kept.append(x) or x * 2, np.ones(3))
    with pytest.raises(TypeError, match="leave sparse=True away"):
        ld.jacobian(lambda x: kept.append(x) or x * 2, sparse=True)(np.ones(3))


def test_refusals_name_the_function_that_takes_an_array():
    with pytest.raises(TypeError, match=r"an array leaves as a whole in scipy\.signal\.lfilter;"):
        ld.jacobian(lambda x: lfilter([1.0, 0.5], [1.0, 0.2], x), sparse=True)(np.ones(6))


def test_the_argument_is_left_as_it_is():
    x = np.arange(5.0)
    x.flags.writeable = False
    ld.jacobian(lambda x: np.cumsum(x) * x, sparse=True)(x)
    np.testing.assert_array_equal(x, np.arange(5.0))
    assert pickle.loads(pickle.dumps(ld.jacobian(np.diff, sparse=True)(x))).nnz == 8


def writes_to_x(x, others):
    x[0] *= 2
    return x[1:] - x[:-1] ** 2


def writes_to_others(x, others):
    a, n = others
    a[0] *= 2
    n[0] += 1
    return x[::-1] * a * n[0] if a[0] < 3 else x * a * n[0]


@pytest.mark.parametrize("function", [writes_to_x, writes_to_others])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("of_program", [False, True])
def test_functions_that_write_into_arguments(function, mode, of_program):
    x = np.arange(1.0, 5.0)
    x.flags.writeable = function is not writes_to_x
    dense_others = np.arange(1.0, 5.0), np.arange(4)
    others = np.arange(1.0, 5.0), np.arange(4)
    dense = ld.jacobian(function, mode=mode)
    sparse = ld.jacobian(ld.program(function) if of_program else function, mode=mode, sparse=True)
    for _ in range(3):
        expected = dense(x, dense_others)
        np.testing.assert_array_equal(sparse(x, others).toarray(), expected)
        np.testing.assert_array_equal(x, np.arange(1.0, 5.0))
        for one, after in zip(others, dense_others, strict=True):
            np.testing.assert_array_equal(one, after)


# -- random functions ----------------------------------------------------------------------------------------

STEPS = [
    lambda x, k: x[k % 4 :],
    lambda x, k: x[::-1],
    lambda x, k: np.roll(x, k),
    lambda x, k: np.sin(x) * (k + 1),
    lambda x, k: x * x[(k + 1) % x.size],
    lambda x, k: x[: max(x.size // 2, 1)] + x[-max(x.size // 2, 1) :],
    lambda x, k: np.concatenate([x, x[: k % 3 + 1] ** 2]),
    lambda x, k: np.repeat(x, 2)[::2],
    lambda x, k: np.outer(x, x[:2]).sum(axis=k % 2),
    lambda x, k: np.tril(np.ones((x.size, x.size))) @ x if k % 2 else np.where(x > 0, x, np.sum(x)),
    lambda x, k: np.cumsum(x),
    lambda x, k: assigned(x, k),
    lambda x, k: np.reshape(np.resize(x, 12), (3, 4))[:, k % 4],
    lambda x, k: np.gradient(x, 0.5 + k),
    lambda x, k: np.convolve(x, [1, 0, k - 2], ("full", "same", "valid")[k % 3]),
    lambda x, k: np.einsum("ij,j->i", np.outer(x, x[: k + 1]), np.arange(min(k + 1, x.size)) * 1.0),
    lambda x, k: np.ediff1d(x, to_end=x[:k]),
    lambda x, k: put_at(x, np.add.at, [0, -1, k % x.size], x[:1] * k),
    lambda x, k: put_at(x, np.put, [k, 1], x[:k], mode="wrap") if k else np.pad(x, 1, constant_values=7),
    lambda x, k: where_positive(x, x[k % x.size]),
]


def assigned(x: Any, k: int) -> Any:
    y = np.zeros_like(x)
    y[k % x.size :] = x[: x.size - k % x.size]
    y[0] += x[-1] * x[0]
    z = y[::-1]
    z[: x.size // 2] *= 2
    return y


@settings(max_examples=80, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 5)), min_size=1, max_size=6),
    size=st.integers(2, 8),
    seed=st.integers(0, 1000),
)
def test_random_functions(steps, size, seed):
    def f(x):
        for which, k in steps:
            x = STEPS[which](x, k)
            if x.size < 2:
                break
        return x

    x = np.random.default_rng(seed).normal(size=size)
    dense = ld.jacobian(f)(x).reshape(-1, size)
    pattern = dependence(f, x).toarray()
    assert pattern.shape == dense.shape
    assert not dense[~pattern].any()
    np.testing.assert_allclose(ld.jacobian(f, sparse=True)(x).toarray(), dense, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: np.sin(x) ** 2 + np.cos(x) ** 2, np.array([1.3, 2.1, 0.7])),
        (lambda x: np.linalg.norm(x / np.linalg.norm(x)), np.array([1.3, 2.1, 0.7])),
        (np.corrcoef, np.random.default_rng(1).standard_normal((4, 4))),
        (lambda x: A @ (A @ x) * np.pi - (np.pi * A @ A) @ x, np.ones(6)),
        (lambda x: 1e6 * (FULL @ (FULL @ x) - (FULL @ FULL) @ x), np.ones(6)),
        (lambda x: np.fft.ifft(np.fft.fft(x)).real - x, np.ones(6)),
        (lambda x: np.linalg.inv(x) @ x, np.random.default_rng(1).random((4, 4))),
        (lambda x: (x.astype("f4") * np.float32(1.1)).astype("f8"), np.array([1.3, 2.1, 0.7])),
        (lambda x: x * 1.5, np.arange(3)),
        (lambda x: x * 2, np.ones(0)),
    ],
)
def test_derivatives_that_are_rounding_and_other_numbers(function, x):
    dense = np.asarray(ld.jacobian(function)(x)).reshape(np.size(function(x)), x.size)
    jacobian = ld.jacobian(function, sparse=True)
    for _ in range(2):
        np.testing.assert_allclose(jacobian(x).toarray(), dense, atol=1e-8)


def test_an_infinity_beside_an_entry_of_another_way():
    def f(x):
        y = np.zeros_like(x)
        y[1:] = x[1:] * 2
        y[0] = np.sqrt(x[0])
        if x[0] == 0:
            y[0] = y[0] + 5 * x[3]
        return y

    jacobian = ld.jacobian(f, sparse=True)
    jacobian(np.ones(4))
    with np.errstate(divide="ignore"):
        row = jacobian(np.array([0.0, 1.0, 2.0, 3.0])).toarray()[0]
    np.testing.assert_array_equal(row, [np.inf, 0, 0, 5])


def test_missed_entries_are_noticed_beside_nan(monkeypatch):
    def f(x):
        return np.stack([x[1] * x[0], x[1]]) * np.exp(x[2])

    found = Found(scipy.sparse.csr_array(np.array([[1, 1, 0], [0, 1, 0]], bool)), False)
    monkeypatch.setattr("lindiff.transforms.sparse.found_by", lambda f, x, *others: found)
    with pytest.raises(TypeError, match="does not do the same when it is called again"):
        ld.jacobian(f, sparse=True)(np.array([np.nan, 1.2, -0.7]))


def test_missed_entries_are_noticed_beside_larger_rows(monkeypatch):
    found = Found(scipy.sparse.csr_array(np.array([[1, 0], [1, 0], [0, 0]], bool)), False)
    monkeypatch.setattr("lindiff.transforms.sparse.found_by", lambda f, x, *others: found)
    for mode in (None, "fwd", "rev"):
        jacobian = ld.jacobian(lambda x: np.stack([2e11 * x[0], x[0], x[1]]), sparse=True, mode=mode)
        with pytest.raises(TypeError, match="does not do the same when it is called again"):
            jacobian(np.array([1.2, 0.7]))


def test_the_pattern_is_found_again_where_a_row_is_not_finite():
    factors = np.zeros((1, 3))
    jacobian = ld.jacobian(lambda x: factors @ x, sparse=True)
    for k, factor in enumerate((1.0, 5.0, np.inf)):
        factors[0, k] = factor
        np.testing.assert_array_equal(jacobian(np.ones(3)).toarray(), factors)


def test_a_selection_without_numbers_may_have_some_elsewhere():
    def by_mask(x):
        y = x[1:] * 1.0
        y[y < 0] *= np.sqrt(x[0])
        return y

    def by_numbers(x):
        y = x[1:] * 1.0
        y[np.flatnonzero(y < 0)] *= x[0]
        return y

    for f in (by_mask, by_numbers):
        jacobian = ld.jacobian(f, sparse=True)
        for x in (
            np.array([2.0, 1, 1]),
            np.array([2.0, -1, 1]),
            np.array([2.0, 1, 1]),
            np.array([0.0, 1, -1]),
        ):
            with np.errstate(divide="ignore"):
                np.testing.assert_array_equal(jacobian(x).toarray(), ld.jacobian(f)(x))
        assert found_by(f, np.ones(3)).looks


def filled_in(x: Any) -> Any:
    y = lnp.zeros((2, 2), order="F")
    y[0, 0] = 1e11 * (x[1] - x[0])
    y[1] = x[2] * x[:2]
    return y


def patched(x: Any) -> Any:
    with ld.patch_numpy():
        y = np.zeros(3)
        y[1:] = math.exp(x[0]), float(x[2])
        return y


@pytest.mark.parametrize(
    "function",
    [
        filled_in,
        patched,
        lambda x: lnp.array([x[0], 1.0, lnp.sqrt(x[1]) * x[2]]),
        lambda x: lnp.full(2, x[1]),
        lambda x: lnp.diag([x[0], x[2]]),
        lambda x: x * lnp.sum([x[1], x[2] ** 2]),
        lambda x: lnp.concatenate([[x[1]], lnp.ones(1), [x[0], 2.0]]),
        lambda x: x * float(ld.value(x[0])),
    ],
)
@pytest.mark.parametrize("of_program", [False, True])
def test_numbers_in_lists_and_new_arrays(function, of_program):
    jacobian = ld.jacobian(ld.program(function) if of_program else function, sparse=True)
    for x in (np.array([1.5, 2.5, 3.5]), np.array([3.0, 0.0, 2.0])):
        with np.errstate(divide="ignore"):
            matrix, dense = jacobian(x), ld.jacobian(function)(x).reshape(-1, 3)
        np.testing.assert_allclose(matrix.toarray(), dense)
        assert not x.all() or matrix.nnz == np.count_nonzero(dense)


def test_programs_see_numbers_written_into_new_arrays():
    program = ld.program(lambda x: ld.jacobian(filled_in)(x))
    for k in (0.0, 1.0, 2.0):
        x = np.arange(3.0) + k
        np.testing.assert_array_equal(program(x), ld.jacobian(filled_in)(x))


def test_arguments_by_name():
    for f, entries in (
        (lambda x: np.sum(a=np.outer(a=x, b=x), axis=0), 16),
        (lambda x: np.nansum(a=x) * x, 16),
        (lambda x: np.dot(b=x, a=np.eye(4)), 4),
        (lambda x: np.diff(a=x), 6),
        (lambda x: np.put_along_axis(arr=(y := 1 * x), indices=np.array([1]), values=x[:1], axis=0) or y, 4),
    ):
        x = np.arange(1.0, 5.0)
        found = ld.jacobian(f, sparse=True)(x)
        np.testing.assert_allclose(found.toarray(), ld.jacobian(f)(x))
        assert found.nnz == entries


def test_paddings_by_keywords():
    for kwargs in ({"pad_width": 1}, {"pad_width": 1, "mode": "edge"}):
        found = ld.jacobian(lambda x, kwargs=kwargs: np.pad(x, **kwargs) ** 2, sparse=True)(
            np.arange(1.0, 5.0)
        )
        assert found.nnz == (4 if "mode" not in kwargs else 6)


def _behind_the_largest(x):
    v = x * 1.0
    view = v[np.argmax(x) :]
    view += x[0]
    return v


def _behind_as_many(x):
    v = x * 1.0
    np.multiply(v[np.sum(x > 0) :], x[0], out=v[np.sum(x > 0) :])
    return v


def _of_unstacked(x):
    V = np.outer(x, np.ones(2))
    second = np.unstack(V)[1]
    second += x[0]
    return V


def _by_a_mask_of_floats(x):
    v = x * 1.0
    np.putmask(v, np.array([1.0, 0.0, 1.0, 0.0]), x[::-1])
    np.place(v, [0, 2.5, 0, 0j], x[3:])
    return v


def _by_a_mask_that_moves(x):
    v = x * 1.0
    np.putmask(v, np.floor(np.abs(x)), x[::-1])
    return v


WRITTEN = [_behind_the_largest, _behind_as_many, _by_a_mask_of_floats, _by_a_mask_that_moves]
WRITTEN += [_of_unstacked] if hasattr(np, "unstack") else []  # since NumPy 2.1


@pytest.mark.parametrize("f", WRITTEN)
@pytest.mark.parametrize("large", [False, True])
def test_what_is_written_to_places_that_depend_on_numbers(f, large):
    """Beside a large row, too, which a missed entry could hide behind."""
    x = np.array([1.3, -0.4, 2.2, 0.7])

    def function(x):
        found = np.ravel(f(x))
        return np.concatenate([found, 1e8 * np.sum(x)[None]]) if large else found

    for at in (x, -x, x[::-1].copy()):
        jacobian = ld.jacobian(function, sparse=True)(at)
        np.testing.assert_allclose(jacobian.toarray(), ld.jacobian(function)(at), rtol=1e-12)


@ld.rule
def rounded(x):
    """Whose derivative is that of x: a straight-through estimator."""
    return np.round(x), lambda y_bar: y_bar


@ld.rule
def ones(x):
    return np.ones(x.shape), lambda y_bar: y_bar


@ld.rule
def with_neighbours(x):
    return np.sin(x), ld.Differential(lambda x_dot: x_dot + np.roll(x_dot, 1))


@ld.rule
def elementwise(x):
    return np.sin(x), ld.Elementwise(np.cos(x))


@ld.rule
def by_numbers(x):
    return np.array([float(v) ** 2 for v in x]), ld.Elementwise(2 * x)


def clipped_cotangents(x, low, high):
    """Whose pullback is not linear: it has no transpose."""
    return ld.rule(lambda x: (x * 1.0, lambda y_bar: np.clip(y_bar, low, high)))(x)


EQUATION = ld.implicit(
    lambda a: np.sqrt(a), lambda x, a: x**2 - a + 1e-3 * (np.roll(a, 1) - a), linear_solve="diagonal"
)

# whose derivative is defined apart from what computes the value, and how many entries it has of six numbers
APART = {
    "an estimator": (lambda x: rounded(x[::-1]), 6),
    "of a constant": (ones, 6),
    "with neighbours": (with_neighbours, 12),
    "in a loop": (lambda x: np.array([ones(x[k : k + 2])[0] for k in range(5)], like=x), 5),
    "of numbers that leave": (by_numbers, 6),
    "mapped": (lambda x: ld.vmap(with_neighbours)(x.reshape(2, 3)), 12),
    "kept": (ld.checkpoint(lambda x: ones(x)[::-1]), 6),
    "a program": (ld.program(lambda x: ones(x)[::-1]), 6),
    "an equation": (EQUATION, 12),
    "elementwise": (elementwise, 6),
    "second derivatives": (ld.grad(lambda x: np.sum(elementwise(x) * x[::-1])), 12),
}


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("mode", [None, "fwd", "rev"])
@pytest.mark.parametrize("of_program", [False, True])
def test_derivatives_apart_from_the_value(name, mode, of_program):
    """Beside larger entries, too, which those that are missed could hide behind."""
    part, entries = APART[name]

    def beside(x):
        return np.ravel(part(x)) + 1e9 * x[:5] if name == "in a loop" else np.ravel(part(x)) + 1e9 * x

    for f, scale in ((part, 1.0), (beside, 1e9)):
        jacobian = ld.jacobian(ld.program(f) if of_program else f, mode=mode, sparse=True)
        for seed in (1, 2):
            x = np.random.default_rng(seed).uniform(1, 2, 6)
            matrix = jacobian(x)
            dense = ld.jacobian(f)(x).reshape(-1, 6)
            np.testing.assert_allclose(matrix.toarray(), dense, rtol=1e-12, atol=1e-15 * scale)
            if f is part:
                assert matrix.nnz == entries


def test_pullbacks_that_are_not_linear():
    def f(x):
        return clipped_cotangents(x[::-1], -0.5, 2.0) + 1e9 * x

    x = np.arange(1.0, 5.0)
    matrix = ld.jacobian(f, mode="rev", sparse=True)(x)
    np.testing.assert_array_equal(matrix.toarray(), np.eye(4)[::-1] + 1e9 * np.eye(4))


def test_rules_of_users_for_existing_functions(alone):
    """In a process of its own, as rules are there for the whole process."""
    alone(
        """
import numpy as np
import lindiff as ld
from scipy.special import pro_cv

@ld.rule(pro_cv)
def with_others(m, n, c):
    return pro_cv(m, n, c), ld.Differential(lambda *c_dot: np.roll(c_dot[-1], 1))

dense = np.roll(np.eye(4), 1, axis=0) + 1e9 * np.eye(4)
for mode in (None, "fwd", "rev"):
    jacobian = ld.jacobian(lambda x: pro_cv(1, 2, x) + 1e9 * x, mode=mode, sparse=True)
    np.testing.assert_array_equal(jacobian(np.arange(1.0, 5.0)).toarray(), dense)
"""
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("of_program", [False, True])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_what_a_closure_changes_is_noticed_beside_a_large_row(mode, of_program, dtype):
    large = np.asarray(1e15 if dtype is np.float64 else 1e6, dtype)
    state = {"on": False}

    def f(x):
        y = x * 2
        if state["on"]:
            y[0] += x[-1]
        return np.concatenate([large * np.sum(x)[None], y])

    jacobian = ld.jacobian(ld.program(f) if of_program else f, mode=mode, sparse=True)
    x = np.arange(1.0, 6.0).astype(dtype)
    for on in (False, False, False, True):
        state["on"] = on
        matrix = jacobian(x)
    np.testing.assert_array_equal(matrix.toarray(), ld.jacobian(f)(x))


@pytest.mark.parametrize("of_program", [False, True])
@pytest.mark.parametrize("mode", [None, "fwd", "rev"])
@pytest.mark.parametrize(
    ("x", "first", "second", "last"),
    [
        ([1.0, 1.0, 2.0], 1e16, 1.0, 1.0),
        ([1e-9, 1.0, 1e9], 1e10, 1e-8, 1e20),
        ([0.0, 1e-9, 1e9], 1e16, 1.0, 1.0),
    ],
)
def test_small_changes_are_noticed_beside_a_large_entry(x, first, second, last, mode, of_program):
    state = {"on": False}

    def f(x):
        y = x * 2
        y[0] = first * x[0]
        if state["on"]:
            y[0] += second * x[2]
        return np.concatenate([y, last * x[2:]])

    jacobian = ld.jacobian(ld.program(f) if of_program else f, mode=mode, sparse=True)
    x = np.array(x)
    for on in (False, False, True):
        state["on"] = on
        matrix = jacobian(x)
    np.testing.assert_array_equal(matrix.toarray(), ld.jacobian(f)(x))


@pytest.mark.parametrize("calls", [1, 2, 3, 5])
@pytest.mark.parametrize("mode", [None, "fwd", "rev"])
def test_programs_know_when_their_steps_are_others(mode, calls):
    """However small the new entry is: no product shows it."""
    state = {"entry": 0.0, "on": False}

    def f(x):
        y = 1e9 * x
        if state["on"]:
            y[0] += state["entry"] * x[2]
        return y

    jacobian = ld.jacobian(ld.program(f), mode=mode, sparse=True)
    x = np.linspace(1, 2, 5)
    for on, entry, times in [(False, 0.0, calls), (True, 1e-30, calls), (True, 1e-20, 2), (False, 0.0, 3)]:
        state.update(on=on, entry=entry)
        for _ in range(times):
            np.testing.assert_array_equal(jacobian(x).toarray(), ld.jacobian(f)(x))
            x = x + 0.125


def test_programs_that_are_repeated_leave_arguments_and_results_alone():
    def f(x, a):
        return x * a

    both = ld.value_and_jacobian(ld.program(f), sparse=True)
    x, a = np.arange(1.0, 4.0), np.array([2.0, 3.0, 4.0])
    kept = []
    for k in range(6):
        value, matrix = both(x + k, a)
        np.testing.assert_array_equal(value, (x + k) * a)
        np.testing.assert_array_equal(matrix.toarray(), np.diag(a))
        kept.append((value, matrix))
        value *= 0
        matrix.data[:] = 7
        matrix.indices[:] = 0
    assert not any(np.shares_memory(y, z) for (y, _), (z, _) in itertools.combinations(kept, 2))
    np.testing.assert_array_equal(a, [2.0, 3.0, 4.0])


class Weights:
    """That says all of its numbers."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __repr__(self):
        return f"Weights({self.numbers!r})"


def test_objects_with_long_arrays_that_change():
    jacobian = ld.jacobian(lambda x, w: 1e20 * x + (1e-9 * x[::-1] if w.numbers[5_000] else 0.0), sparse=True)
    weights = np.zeros(10_000)
    for number in (0.0, 1.0):
        weights[5_000] = number
        expected = 1e20 * np.eye(4) + 1e-9 * number * np.eye(4)[::-1]
        np.testing.assert_array_equal(jacobian(np.ones(4), Weights(weights)).toarray(), expected)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_small_changes_are_noticed_beside_a_long_row(mode):
    state = {"on": False}

    def f(x):
        y = x * 2
        if state["on"]:
            y[0] += np.float32(1e-3) * x[1]
        return np.concatenate([np.sum(x)[None], y])

    jacobian = ld.jacobian(f, mode=mode, sparse=True)
    x = np.ones(2_000, np.float32)
    jacobian(x)
    state["on"] = True
    assert jacobian(x)[1, 1] == np.float32(1e-3)


def with_entries(f, x, absent):
    """What is found of a function, without the entries at some places."""
    pattern = ld.jacobian(f)(x) != 0
    pattern[absent] = False
    return Found(scipy.sparse.csr_array(pattern), False)


HIDDEN = {
    "one": (lambda x: x + np.concatenate([1e-3 * x[5:6] + 1e9 * x[:1], x[1:]]), (0, 5)),
    "among many": (lambda x: np.concatenate([1e9 * np.sum(x[:-1])[None] + x[-1:], x[1:]]), (0, -1)),
    "neighbours": (
        lambda x: 1e9 * (x + np.roll(x, 1)) + np.roll(x, 2),
        (np.arange(32), np.arange(-2, 30) % 32),
    ),
    "in a column": (lambda x: np.concatenate([1e9 * x[:1], x[1:] + 1e-3 * x[0], x[:1] * 1e8]), (7, 0)),
    "alone": (lambda x: np.concatenate([1e9 * x[:-1], 1e-9 * x[:1]]), (-1, 0)),
}


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_missed_entries_are_noticed_in_halves(name, mode, monkeypatch):
    f, absent = HIDDEN[name]
    x = np.linspace(1, 2, 32)
    found = with_entries(f, x, absent)
    monkeypatch.setattr("lindiff.transforms.sparse.found_by", lambda f, x, *others: found)
    with pytest.raises(TypeError, match="does not do the same when it is called again"):
        ld.jacobian(f, mode=mode, sparse=True)(x)


def through_scipy(x):
    return np.append(x, scipy.ndimage.gaussian_filter1d(np.asarray(ld.value(x)), 1.0))


# of which no program tells for other numbers what the entries are
FOR_SOME_NUMBERS = {
    "medians with a rule": (
        lambda x: ones(np.stack([x, x[::-1]]))[0] * np.median(x.reshape(-1, 2), axis=1)[0],
        3,
    ),
    "interpolated": (lambda x: rounded(x) * np.interp(x[::-1], [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]), 2),
    "without finite numbers": (lambda x: rounded(x) + np.nanmax(np.stack([x, x[::-1]]), axis=0), 2),
    "through SciPy": (lambda x: x * through_scipy(x)[: x.size], 2),
}


@pytest.mark.parametrize("name", FOR_SOME_NUMBERS)
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_patterns_that_hold_for_some_numbers_are_found_in_each_call(name, mode):
    f, most = FOR_SOME_NUMBERS[name]
    jacobian = ld.jacobian(f, mode=mode, sparse=True)
    for seed in (1, 2, 3):
        x = np.random.default_rng(seed).permutation(2000) / 1000
        matrix = jacobian(x)
        assert matrix.nnz <= seed * most * x.size
        dense = ld.jacobian(f, mode=mode)(x[:50])
        np.testing.assert_allclose(
            ld.jacobian(f, mode=mode, sparse=True)(x[:50]).toarray(), dense, rtol=1e-12
        )


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("scale", [1.0, 1e15])
def test_numbers_that_leave_and_come_back_in_derivatives(mode, scale):
    def f(x):
        return scale * x[::-1] + np.stack([quad(lambda t, a: np.sin(a * t), 0, 1, (a,))[0] for a in x])

    with pytest.raises(TypeError, match="numbers leave NumPy"):
        ld.jacobian(f, mode=mode, sparse=True)(np.linspace(0.5, 2.0, 4))


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_entries_that_are_rounded_beside_others(n):
    """No numbers are missed where halves show what is rounded."""
    scales = 10.0 ** ((np.arange(n) * 7) % 23 - 11)

    def f(x):
        y = np.fft.ifft(np.fft.fft(x)).real
        return np.append(scales * (y + 1e12 * x), 1e12 * np.sum(x))

    dense = np.vstack([np.diag(scales * 1e12), np.full((1, n), 1e12)])
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=n)
        found = ld.jacobian(f, mode="rev", sparse=True)(x).toarray()
        np.testing.assert_allclose(found, dense, rtol=1e-10, atol=1e-4)


def log_softmax(x):
    z = x.reshape(-1, 4)
    m = z.max(axis=1, keepdims=True)
    return (z - (m + np.log(np.sum(np.exp(z - m), axis=1, keepdims=True)))).ravel()


def sharp_softmax(x):
    z = 50 * x.reshape(-1, 4)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).ravel()


@pytest.mark.parametrize("function", [log_softmax, sharp_softmax])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 3])
def test_what_is_rounded_away_beside_other_entries(function, mode, dtype, rows):
    """Along any direction it is, and its entry is there."""
    jacobian = ld.jacobian(function, mode=mode, sparse=True)
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal(4 * rows) * 10.0 ** (seed % 4 - 1)
        x = x.astype(dtype)
        matrix = jacobian(x).toarray()
        np.testing.assert_allclose(matrix, ld.jacobian(function)(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize(("of_x", "of_y"), [("d", "f"), ("f", "d"), ("f", "f")])
@pytest.mark.parametrize("of_program", [False, True])
def test_the_dtype_is_that_of_the_dense_jacobian(mode, of_x, of_y, of_program):
    def f(x):
        return (np.sin(x) * 2).astype(of_y)

    jacobian = ld.jacobian(ld.program(f) if of_program else f, mode=mode, sparse=True)
    for x in np.linspace(0, 1, 12).astype(of_x).reshape(4, 3):
        assert jacobian(x).dtype == ld.jacobian(f)(x).dtype


def test_one_entry_that_is_rounded_away():
    jacobian = ld.jacobian(lambda x: (x[:1] + 1e-17 * x[1:]) - x[:1], sparse=True)
    np.testing.assert_array_equal(jacobian(np.array([1.0, 2.0])).toarray(), [[0.0, 1e-17]])


@pytest.mark.parametrize("kind", ["raise", "print", "ignore"])
def test_patterns_are_found_whatever_errors_do(kind):
    with np.errstate(all=kind):
        matrix = ld.jacobian(lambda x: np.sin(x) * np.roll(x, 1), sparse=True)(np.ones(3))
    assert matrix.nnz == 6


class Shift:
    """Two of which look alike."""

    def __init__(self, k):
        self.k = k

    def __repr__(self):
        return "Shift"


@pytest.mark.parametrize("mode", [None, "fwd", "rev"])
def test_objects_that_look_alike(mode):
    jacobian = ld.jacobian(lambda x, p: np.roll(x, p.k) * 2 + x * 1e17, sparse=True, mode=mode)
    for k in (1, 1, 3):
        matrix = jacobian(np.ones(6), Shift(k))
        np.testing.assert_array_equal(matrix.toarray(), 2 * np.roll(np.eye(6), k, 0) + 1e17 * np.eye(6))


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("wrap", [lambda f: f, ld.program])
def test_what_the_shorter_way_rounds_away_the_other_keeps(scale, wrap):
    """By rows the slopes of a largest logit are ones that cancel but for what is left of the others."""

    def log_probabilities(x):
        a = x.reshape(-1, 4)
        m = np.max(a, axis=1, keepdims=True)
        return (a - m - np.log(np.sum(np.exp(a - m), axis=1, keepdims=True)))[:, :3].ravel()

    jacobian = ld.jacobian(wrap(log_probabilities), sparse=True)
    for seed in range(5):
        x = scale * np.random.default_rng(seed).standard_normal(20)
        np.testing.assert_allclose(jacobian(x).toarray(), ld.jacobian(log_probabilities)(x), atol=1e-15)
