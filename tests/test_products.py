"""Facts special to products and diagonals."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff.core.registry import has_handler


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [-4, -1, 0, 2, 5])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_compiled_diagonal_and_trace_equal_the_readable_rules(rng, dtype, offset, layout):
    X = np.asarray(rng.standard_normal((3, 4)), dtype, order=layout)
    for fast, readable in [
        (lambda X: np.diagonal(X, offset), lambda X: np.diagonal(X, offset=offset)),
        (lambda X: np.diag(X, offset), lambda X: np.diagonal(X, offset=offset)),
        (lambda X: np.trace(X, offset), lambda X: np.trace(X, offset=offset)),
    ]:
        y, pullback = ld.vjp(fast, X)
        expected, readable_pullback = ld.vjp(readable, X)
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        y_bar = np.asarray(rng.standard_normal(np.shape(y)), dtype)
        (X_bar,) = pullback(y_bar)
        assert X_bar.dtype == dtype
        np.testing.assert_array_equal(X_bar, readable_pullback(y_bar)[0])
        np.testing.assert_allclose(ld.jvp(fast, (X,), (X_bar,))[1], ld.jvp(readable, (X,), (X_bar,))[1])


def test_diagonals_add_into_one_cotangent(rng):
    X = rng.standard_normal((4, 4))

    def f(X):
        return (
            np.sum(np.diag(X) ** 2) + np.trace(X) + np.sum(np.diagonal(X, 1)) + np.sum(X) + np.trace(X.T, 2)
        )

    expected = 2 * np.diag(np.diag(X)) + np.eye(4) + np.eye(4, k=1) + 1 + np.eye(4, k=-2)
    np.testing.assert_allclose(ld.grad(f)(X), expected)


def test_outer_of_plain_and_variable(rng):
    x, y = rng.standard_normal(3), rng.standard_normal(2)
    W = rng.standard_normal((3, 2))
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(W * np.outer(x, y)))(x), W @ y)
    np.testing.assert_allclose(ld.grad(lambda y: np.sum(W * np.outer(x, y)))(y), x @ W)
    gradient = ld.grad(lambda x: np.sum(np.outer(x, x) * np.eye(3)))(x)
    np.testing.assert_allclose(gradient, 2 * x)


def test_cross_of_plane_vectors(rng):
    a, b, c = rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal(3)
    np.testing.assert_allclose(ld.grad(lambda a: np.cross(a, b))(a), [b[1], -b[0]])
    jacobian = ld.jacobian(lambda a: np.cross(a, c))(a)
    np.testing.assert_allclose(jacobian, np.cross(np.eye(3)[:2], c).T)


@pytest.mark.parametrize(
    ("subscripts", "shapes"), [("ij,jk", [(2, 3)]), ("ijk", [(2, 3)]), ("...ij", [(2,)])], ids=str
)
def test_einsum_that_does_not_fit_is_refused(subscripts, shapes):
    with pytest.raises(ValueError, match="einsum"):
        np.einsum(subscripts, *[ld.Variable(np.ones(shape)) for shape in shapes])


def test_einsum_with_one_operand_twice(rng):
    X = rng.standard_normal((3, 2))
    gradient = ld.grad(lambda X: np.sum(np.einsum("ij,ik->jk", X, X)))(X)
    np.testing.assert_allclose(gradient, 2 * X @ np.ones((2, 2)))


@pytest.mark.skipif(not has_handler(np.linalg.inv), reason="needs the rule of np.linalg.inv")
def test_matrix_power_with_negative_exponent(rng):
    X = rng.standard_normal((3, 3)) + 3 * np.eye(3)
    inverse = np.linalg.inv(X)
    gradient = ld.grad(lambda X: np.trace(np.linalg.matrix_power(X, -2)))(X)
    np.testing.assert_allclose(gradient, -2 * np.linalg.matrix_power(inverse, 3).T)


def test_matrix_power_needs_square_matrices():
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.matrix_power(ld.Variable(np.ones((2, 3))), 2)


def test_multi_dot_multiplies_in_the_cheapest_order():
    from lindiff.rules.products import cheapest_cuts

    assert cheapest_cuts([10, 100, 5, 50])[0, 3] == 2
    assert cheapest_cuts([50, 5, 100, 10])[0, 3] == 1


def test_matmul_refuses_a_cast_that_numpy_refuses():
    v = ld.Variable(np.ones((2, 2)))
    with pytest.raises(TypeError, match="cast"):
        np.matmul(v, v, dtype=np.float32, casting="safe")


@pytest.mark.parametrize(
    "product",
    [np.matmul, np.dot, np.outer, np.inner, np.kron, np.vecdot],
    ids=lambda f: f.__name__,  # not their text: that of functions has their address
)
def test_mixed_precision_keeps_the_dtype_of_each_input(product):
    single, double = np.ones((3, 3), np.float32), np.ones((3, 3))
    for a, b in [(single, double), (double, single), (single[0], double[0]), (double[0], single[0])]:
        gradients = ld.grad(lambda a, b: np.sum(product(a, b)), (0, 1))(a, b)
        assert [g.dtype for g in gradients] == [a.dtype, b.dtype]
