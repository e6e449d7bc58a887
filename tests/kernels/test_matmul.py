"""product: `x @ y` by the BLAS of the kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
from lindiff.kernels.matmul import product


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_products_are_those_of_the_operator(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    m, k, n = (data.draw(st.sampled_from([0, 1, 2, 5, 70])) for _ in range(3))
    batch = data.draw(st.sampled_from([(), (3,), (2, 1)]))

    def factor(shape):
        dtype = data.draw(st.sampled_from("fdFDi"))
        x = 3 * rng.normal(size=shape)
        x = np.asarray(x + 1j * rng.normal(size=shape) if dtype in "FD" else x).astype(dtype)
        layout = data.draw(st.sampled_from(["C", "F", "strided"]))
        return np.repeat(x, 2, axis=-1)[..., ::2] if layout == "strided" else np.asarray(x, order=layout)

    x = factor(data.draw(st.sampled_from([(k,), (m, k), (*batch, m, k)])))
    y = factor(data.draw(st.sampled_from([(k,), (k, n), (*batch, k, n)])))
    z, expected = product(x, y), x @ y
    assert type(z) is type(expected)
    assert z.dtype == expected.dtype
    assert z.shape == expected.shape
    unit = 100 * np.finfo(np.result_type(z, np.float32)).eps
    assert np.all(np.abs(z - expected) <= unit * (np.abs(x) @ np.abs(y)))
    if z.ndim:
        w = np.ones((z.shape[-1], 2))
        np.testing.assert_array_equal(product(x, y, w), product(z, w))


def test_products_of_variables():
    A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(ld.grad(lambda A: np.sum(product(A, B)))(A), np.ones((2, 4)) @ B.T)
    with pytest.raises(ValueError, match="mismatch"):
        product(A, A)


@pytest.mark.parametrize(("of_left", "of_right"), [("d", "d"), ("d", "D"), ("F", "d")])
@pytest.mark.parametrize(("left", "right"), [((5,), (5,)), ((3, 1), (2,)), ((), (5,)), ((2,), ())])
@pytest.mark.parametrize("rows", [31, 32, 33, 60])  # times 64 and 32: on both sides of OF_THREADS
def test_products_of_stacks_of_large_matrices(left, right, of_left, of_right, rows):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*left, rows, 64)).astype(of_left)
    y = rng.normal(size=(*right, 64, 32)).astype(of_right)
    z, expected = product(x, y), x @ y
    assert z.dtype == expected.dtype
    np.testing.assert_allclose(z, expected, atol=1e-12 if of_left == "d" else 1e-4)
