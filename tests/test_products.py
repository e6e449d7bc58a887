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
    from lindiff.rules.products.rules import cheapest_cuts

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


# -- einsum of two operands as a product of matrices -------------------------------------------------------

MATRIX_PRODUCTS = [
    ("ij,jk->ik", (20, 15), (15, 25)),
    ("ij,jk->ki", (20, 15), (15, 25)),
    ("ji,kj->ik", (15, 20), (25, 15)),
    ("ij,j->i", (90, 80), (80,)),
    ("j,ij->i", (80,), (90, 80)),
    ("bij,bjk->bik", (30, 4, 5), (30, 5, 6)),
    ("bij,bkj->kbi", (30, 4, 5), (30, 6, 5)),
    ("ijk,klm->ijlm", (5, 6, 7), (7, 8, 3)),
    ("ijk,jkl->il", (5, 6, 7), (6, 7, 30)),
    ("...ij,...jk->...ik", (20, 4, 6), (20, 6, 10)),
    ("i,i->", (4095,), (4095,)),
    ("i,i", (4096,), (4096,)),
    ("ij,ij->", (64, 64), (64, 64)),
    ("ij,ji->", (90, 80), (80, 90)),
    (",ij->ij", (), (90, 80)),
    ("i,->i", (4096,), ()),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(("subscripts", "shape_x", "shape_y"), MATRIX_PRODUCTS)
def test_einsum_by_matrix_products(subscripts, shape_x, shape_y, dtype):
    rng = np.random.default_rng(5)

    def numbers(shape):
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)

    x, y = numbers(shape_x), numbers(shape_y)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-11, "atol": 1e-11}
    value, pullback = ld.vjp(lambda x, y: np.einsum(subscripts, x, y), x, y)
    assert value.dtype == dtype
    np.testing.assert_allclose(value, np.einsum(subscripts, x, y), **tolerance)
    z_bar, x_dot, y_dot = numbers(value.shape), numbers(shape_x), numbers(shape_y)
    x_bar, y_bar = pullback(z_bar)
    for bar, dot, moved in [
        (x_bar, x_dot, np.einsum(subscripts, x_dot, y)),
        (y_bar, y_dot, np.einsum(subscripts, x, y_dot)),
    ]:
        assert bar.dtype == dtype
        np.testing.assert_allclose(
            np.sum(bar.conj() * dot).real, np.sum(z_bar.conj() * moved).real, **tolerance
        )


@pytest.mark.parametrize(
    ("subscripts", "shape_x", "shape_y"),
    [
        ("ij,jk->ik", (80, 1), (70, 80)),  # an axis of length 1 broadcasts
        ("ij,ij->ij", (80, 70), (80, 70)),  # nothing is summed
        ("ij,kl->ik", (20, 15), (15, 25)),  # axes summed alone
        ("iij,jk->ik", (9, 9, 20), (20, 30)),  # a diagonal
        ("ij,jk->ik", (0, 80), (80, 70)),
    ],
)
def test_einsum_that_is_no_matrix_product(subscripts, shape_x, shape_y):
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal(shape_x), rng.standard_normal(shape_y)
    value, pullback = ld.vjp(lambda x, y: np.einsum(subscripts, x, y), x, y)
    np.testing.assert_array_equal(value, np.einsum(subscripts, x, y))
    z_bar, x_dot = rng.standard_normal(value.shape), rng.standard_normal(shape_x)
    np.testing.assert_allclose(
        np.sum(pullback(z_bar)[0] * x_dot),
        np.sum(z_bar * np.einsum(subscripts, x_dot, y)),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("subscripts", "lengths"),
    [("ijk,kil->lkj", (16, 16, 3, 17)), ("jk,lkj->jl", (9, 33, 8, 33)), ("jik,kil->lij", (9, 8, 6, 7))],
)
def test_einsum_lies_in_memory_as_numpys(subscripts, lengths, order, rng):
    """Which axes follow each other decides whether ``ravel`` gives a view."""
    length = dict(zip("ijkl", lengths, strict=True))
    terms = subscripts.split("->")[0].split(",")
    a, b = (np.asarray(rng.normal(size=[length[k] for k in term]), order=order) for term in terms)
    plain = np.einsum(subscripts, a, b)

    def f(a):
        y = np.einsum(subscripts, a, b)
        assert y.strides == plain.strides
        flat = y.ravel()
        flat *= 0.5
        return np.sum(y**2)

    np.testing.assert_allclose(ld.value_and_grad(f)(a)[0], f(a), rtol=1e-12)
