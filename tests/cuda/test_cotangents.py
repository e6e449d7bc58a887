"""Cotangents of CuPy arrays: sums of products in place, and how much memory a walk backward holds."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff.core.arrays import add_product


def general(rng, shape, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    return x + 1j * rng.standard_normal(shape).astype(x.real.dtype) if x.dtype.kind == "c" else x


@pytest.mark.parametrize("dtype", "fdFD")
def test_a_matrix_used_several_times(cupy, rng, dtype):
    A, B, x = general(rng, (3, 4), dtype), general(rng, (4, 3), dtype), general(rng, (4,), dtype)

    def f(A, B, x):
        total = np.sum(A * A) + np.sum((A @ B) @ (A @ x)) + np.sum((B @ A) @ x) + np.sum((x @ B) @ A)
        return np.real(total)

    gradient = ld.grad(f, (0, 1, 2))
    want = gradient(A, B, x)
    got = gradient(*map(cupy.asarray, (A, B, x)))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.get(), b, rtol=1e-4 if dtype in "fF" else 1e-12)


@pytest.mark.parametrize("dtype", "fdFD")
def test_products_are_added_in_place(cupy, rng, dtype):
    x, y, z = general(rng, (3, 4), dtype), general(rng, (5, 4), dtype), general(rng, (3,), dtype)
    total = cupy.asarray(np.ones((3, 5), dtype))
    assert add_product(total, cupy.asarray(x), cupy.asarray(y), False, True)
    np.testing.assert_allclose(total.get(), 1 + x @ y.conj().T, rtol=1e-5)
    square = cupy.asarray(np.ones((3, 3), dtype))
    assert add_product(square, cupy.asarray(z), cupy.asarray(z), False, True)
    np.testing.assert_allclose(square.get(), 1 + np.outer(z, z.conj()), rtol=1e-5)


@pytest.mark.parametrize("dtype", "dD")
@pytest.mark.parametrize("n", [3, 40])
def test_matrices_of_which_one_triangle_was_filled(cupy, rng, dtype, n):
    """Every function that reads one triangle has NumPy's gradients, along every tangent."""
    X = general(rng, (n, n), dtype)
    A = X @ X.conj().T + n * np.eye(n)
    lower, upper = np.tril(A), np.triu(A)
    mixed = np.where(rng.random((n, n)) < 0.5, A, lower)
    A_dot, b = general(rng, (n, n), dtype), rng.standard_normal(n)

    def functions(b):
        yield np.linalg.cholesky
        yield lambda A: ld.linalg.potrf(A, lower=False)
        yield lambda A: ld.linalg.cho_factor(A).quad(b)
        yield lambda A: ld.linalg.cho_factor(A).logdet()
        yield np.linalg.eigvalsh
        if dtype == "d":
            yield lambda A: ld.linalg.syevd(A)[1]
            yield lambda A: ld.linalg.gp_logpdf(b, A)

    for on_host, on_device in zip(functions(b), functions(cupy.asarray(b)), strict=True):
        for filled in (A, lower, upper, mixed):
            results = []
            for function, asarray in ((on_host, np.asarray), (on_device, cupy.asarray)):

                def f(A, function=function):
                    return np.sum(np.abs(function(A)) ** 2)

                x, x_dot = asarray(filled), asarray(A_dot)
                results.append((ld.grad(f)(x), ld.jvp(f, (x,), (x_dot,))[1]))
            for want, got in zip(*results, strict=True):
                np.testing.assert_allclose(got.get(), want, rtol=1e-8, atol=1e-8 * np.max(np.abs(want)))


def test_other_sums_are_refused(cupy):
    x, single = cupy.asarray(np.ones((2, 2))), cupy.asarray(np.ones((2, 2), np.float32))
    assert not add_product(single, x, x, False, False)
    assert not add_product(cupy.asarray(np.ones((3, 2, 2))), x, x, False, False)
    assert not add_product(x.T, x, x, False, False)
    assert not add_product(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)), False, False)


def test_the_pullback_of_a_sparse_gaussian_process_holds_three_matrices(standin, rng, monkeypatch):
    """Kept: exp of the kernel, L⁻¹K; one cotangent, which every pullback overwrites or adds to."""
    from standin.array import ndarray, owners

    inducing, points = 20, 2000
    X, y = standin.asarray(rng.standard_normal((points, 2))), standin.asarray(rng.standard_normal(points))
    identity, held = standin.asarray(np.eye(inducing)), []

    def counting(function):
        def call(*args, **kwargs):
            result = function(*args, **kwargs)
            held.append(sum(x.nbytes for x in list(owners.values())))
            return result

        return call

    def kernel(X1, X2):
        return np.exp(np.sum(X1 * X1, 1)[:, None] * -0.5 - 0.5 * np.sum(X2 * X2, 1) + X1 @ X2.T)

    def bound(Z):
        L = np.linalg.cholesky(kernel(Z, Z) + 1e-3 * identity)
        B = ld.linalg.trsm(L, kernel(Z, X))
        M = np.linalg.cholesky(ld.linalg.syrk(B) + identity)
        z = ld.linalg.trsm(M, (B @ y)[:, None])
        return np.sum(np.log(np.diagonal(M))) - np.sum(z * z) - np.sum(B * B)

    Z = standin.asarray(rng.standard_normal((inducing, 2)))
    before = sum(x.nbytes for x in list(owners.values()))
    monkeypatch.setattr(ndarray, "__init__", counting(ndarray.__init__))
    monkeypatch.setattr(ndarray, "of", classmethod(counting(ndarray.of.__func__)))
    ld.grad(bound)(Z)
    assert (max(held) - before) / (8 * inducing * points) < 3.4
