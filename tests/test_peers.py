"""Gradients that PyTorch and JAX give, too; skipped where they are not installed.

Each case is one formula in functions that all of them have, called with NumPy, ``torch`` or ``jax.numpy``.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lindiff as ld

RTOL = 1e-9


def random(*shapes):
    """Arrays of these shapes, always the same ones."""
    rng = np.random.default_rng(sum(map(len, shapes)) + 7)
    return tuple(rng.standard_normal(shape) for shape in shapes)


# -- the formulas ------------------------------------------------------------------------------------------


def adjoint(xp, X):
    return xp.conj(xp.swapaxes(X, -1, -2))


def eye(xp, X):
    return xp.eye(X.shape[-1], dtype=X.dtype)


def gram(xp, X):
    """Symmetric positive definite."""
    return X @ adjoint(xp, X) + X.shape[-1] * eye(xp, X)


def regular(xp, X):
    return X + 3 * eye(xp, X)


def separated(xp, X):
    """With singular values, and for square matrices eigenvalues, that are far apart."""
    n = min(X.shape)
    return 0.3 * X + xp.diag(xp.arange(1.0, n + 1))[:, :n] if X.shape == (n, n) else X


def of_eigh(xp, X, W):
    w, V = xp.linalg.eigh(gram(xp, X))
    return xp.sum(W * ((V * xp.exp(-0.1 * w)) @ adjoint(xp, V)))


def of_projector(xp, X, W):
    V = xp.linalg.eigh(gram(xp, X))[1][:, :2]
    return xp.sum(W * (V @ adjoint(xp, V)))


def of_svd(xp, X, W):
    U, s, Vh = xp.linalg.svd(X, full_matrices=False)
    return xp.sum(W * ((U * xp.tanh(s)) @ Vh))


def of_qr(xp, X, Q_bar, R_bar):
    Q, R = xp.linalg.qr(X)
    return xp.sum(Q_bar * Q) + xp.sum(R_bar * R)


def norm(order):
    return lambda xp, X: xp.linalg.norm(X, order)


NUMPY = {
    "cholesky": (lambda xp, X, W: xp.sum(W * xp.linalg.cholesky(gram(xp, X))), random((4, 4), (4, 4))),
    "solve": (
        lambda xp, X, B, W: xp.sum(W * xp.linalg.solve(regular(xp, X), B)),
        random((4, 4), (4, 2), (4, 2)),
    ),
    "inv": (lambda xp, X, W: xp.sum(W * xp.linalg.inv(regular(xp, X))), random((4, 4), (4, 4))),
    "det": (lambda xp, X: xp.linalg.det(X), random((4, 4))),
    "slogdet": (lambda xp, X: xp.linalg.slogdet(regular(xp, X))[1], random((4, 4))),
    "eigvalsh": (lambda xp, X: xp.sum(xp.linalg.eigvalsh(gram(xp, X)) ** 3), random((4, 4))),
    "eigh": (of_eigh, random((4, 4), (4, 4))),
    "eigh projector": (of_projector, random((4, 4), (4, 4))),
    "eigvals": (
        lambda xp, X: xp.sum(xp.real(xp.exp(0.5 * xp.linalg.eigvals(separated(xp, X))))),
        random((4, 4)),
    ),
    "svd tall": (of_svd, random((4, 3), (4, 3))),
    "svd wide": (of_svd, random((3, 4), (3, 4))),
    "svdvals": (lambda xp, X: xp.sum(xp.linalg.svdvals(X) ** 3), random((4, 3))),
    "qr": (of_qr, random((3, 3), (3, 3), (3, 3))),
    "qr tall": (of_qr, random((4, 3), (4, 3), (3, 3))),
    "qr wide": (of_qr, random((3, 4), (3, 3), (3, 4))),
    "pinv": (lambda xp, X, W: xp.sum(W * xp.linalg.pinv(X)), random((4, 3), (3, 4))),
    "pinv of low rank": (
        lambda xp, X, Y, W: xp.sum(W * xp.linalg.pinv(X @ Y, rtol=1e-8)),
        random((4, 2), (2, 3), (3, 4)),
    ),
    "lstsq": (lambda xp, X, B, W: xp.sum(W * xp.linalg.lstsq(X, B)[0]), random((4, 3), (4, 2), (3, 2))),
    "matrix_power": (lambda xp, X, W: xp.sum(W * xp.linalg.matrix_power(X, 3)), random((3, 3), (3, 3))),
    "matrix_power -2": (
        lambda xp, X, W: xp.sum(W * xp.linalg.matrix_power(regular(xp, X), -2)),
        random((3, 3), (3, 3)),
    ),
    "multi_dot": (lambda xp, X, Y, Z: xp.sum(xp.linalg.multi_dot([X, Y, Z])), random((2, 3), (3, 4), (4, 2))),
    "tensorsolve": (
        lambda xp, X, B: xp.sum(xp.linalg.tensorsolve(X, B) ** 2),
        random((2, 3, 6), (2, 3)),
    ),
    "tensorinv": (lambda xp, X: xp.sum(xp.linalg.tensorinv(X, 1) ** 2), random((4, 2, 2))),
    "cond": (lambda xp, X: xp.linalg.cond(regular(xp, X)), random((3, 3))),
    "kron": (lambda xp, X, Y: xp.sum(xp.kron(X, Y) ** 2), random((2, 2), (2, 3))),
    "einsum": (lambda xp, X, Y: xp.sum(xp.einsum("ij,kjl->ikl", X, Y) ** 2), random((2, 3), (4, 3, 2))),
    **{
        f"norm {order}": (norm(order), random((4, 3)))
        for order in ["fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf]
    },
    **{f"vector norm {order}": (norm(order), random((4,))) for order in [1, 2, 3.5, np.inf, -np.inf]},
}
COMPLEX = [
    "cholesky",
    "solve",
    "inv",
    "slogdet",
    "eigh",
    "eigh projector",
    "svd tall",
    "svd wide",
    "qr tall",
    "pinv",
]


def tril(xp, X):
    """A well conditioned lower triangle."""
    return xp.tril(X) / 3 + 2 * eye(xp, X)


def of_lq(xp, X, Q_bar, L_bar):
    Q, R = xp.linalg.qr(xp.swapaxes(X, -1, -2))
    sign = xp.sign(xp.diagonal(R))
    return xp.sum(Q_bar * xp.swapaxes(Q * sign, -1, -2)) + xp.sum(L_bar * (xp.swapaxes(R, -1, -2) * sign))


def of_syevd(A, W):
    U, lam = ld.linalg.syevd(A)
    return np.sum(W * (U.T @ (np.exp(-0.1 * lam)[:, None] * U)))


def of_triangles(function):
    return lambda X, *rest: np.sum(rest[-1] * function(tril(np, X), *rest[:-1]))


# The paper's operators, and the same in functions that all have.
OPERATORS = {
    "potrf": (
        lambda X, W: np.sum(W * ld.linalg.potrf(gram(np, X))),
        lambda xp, X, W: xp.sum(W * xp.linalg.cholesky(gram(xp, X))),
        random((4, 4), (4, 4)),
    ),
    "potri": (
        of_triangles(ld.linalg.potri),
        lambda xp, X, W: xp.sum(W * xp.linalg.inv(tril(xp, X) @ xp.swapaxes(tril(xp, X), 0, 1))),
        random((4, 4), (4, 4)),
    ),
    "trmm": (
        of_triangles(ld.linalg.trmm),
        lambda xp, X, B, W: xp.sum(W * (tril(xp, X) @ B)),
        random((4, 4), (4, 2), (4, 2)),
    ),
    "trsm": (
        of_triangles(ld.linalg.trsm),
        lambda xp, X, B, W: xp.sum(W * xp.linalg.solve(tril(xp, X), B)),
        random((4, 4), (4, 2), (4, 2)),
    ),
    "syrk": (
        lambda X, W: np.sum(W * ld.linalg.syrk(X, alpha=2.0)),
        lambda xp, X, W: xp.sum(W * (2.0 * X @ xp.swapaxes(X, 0, 1))),
        random((3, 4), (3, 3)),
    ),
    "gemm": (
        lambda X, Y, C, W: np.sum(W * ld.linalg.gemm(X, Y, C, transpose_b=True, alpha=2.0, beta=0.5)),
        lambda xp, X, Y, C, W: xp.sum(W * (2.0 * X @ xp.swapaxes(Y, 0, 1) + 0.5 * C)),
        random((3, 4), (2, 4), (3, 2), (3, 2)),
    ),
    "gelqf": (
        lambda X, Q_bar, L_bar: (lambda Q, L: np.sum(Q_bar * Q) + np.sum(L_bar * L))(*ld.linalg.gelqf(X)),
        of_lq,
        random((3, 4), (3, 4), (3, 3)),
    ),
    "syevd": (lambda X, W: of_syevd(gram(np, X), W), of_eigh, random((4, 4), (4, 4))),
    "sumlogdiag": (
        lambda X: ld.linalg.sumlogdiag(ld.linalg.potrf(gram(np, X))),
        lambda xp, X: 0.5 * xp.linalg.slogdet(gram(xp, X))[1],
        random((4, 4)),
    ),
}


def sqrt_of_spd(xp, A):
    w, V = xp.linalg.eigh(A)
    return (V * xp.sqrt(w)) @ adjoint(xp, V)


def log_of_spd(xp, A):
    w, V = xp.linalg.eigh(A)
    return (V * xp.log(w)) @ adjoint(xp, V)


def polar(xp, X):
    U, _, Vh = xp.linalg.svd(X, full_matrices=False)
    return U @ Vh


def lyapunov(xp, X, Q):
    """``A P Aᵀ - P + Q = 0`` as a linear system of all entries."""
    A = 0.2 * X
    system = xp.eye(A.shape[0] ** 2, dtype=A.dtype) - xp.kron(A, A)
    return xp.reshape(xp.linalg.solve(system, xp.reshape(Q, (-1,))), A.shape)


def sylvester(xp, X, Y, Q):
    """``A X + X B = Q``."""
    A, B = regular(xp, X), regular(xp, Y)
    system = xp.kron(A, eye(xp, B)) + xp.swapaxes(xp.kron(eye(xp, A), B), 0, 1)
    return xp.reshape(xp.linalg.solve(system, xp.reshape(Q, (-1,))), Q.shape)


# Functions of lindiff.scipy.linalg: how they are called, and the same in functions that all have.
SCIPY = {
    "solve_triangular": (
        lambda f, X, B: f(tril(np, X), B, lower=True),
        lambda xp, X, B: xp.linalg.solve(tril(xp, X), B),
        random((4, 4), (4, 2)),
    ),
    "cho_solve": (
        lambda f, X, B: f((tril(np, X), True), B),
        lambda xp, X, B: xp.linalg.solve(tril(xp, X) @ xp.swapaxes(tril(xp, X), 0, 1), B),
        random((4, 4), (4, 2)),
    ),
    "sqrtm": (lambda f, X: f(gram(np, X)), lambda xp, X: sqrt_of_spd(xp, gram(xp, X)), random((4, 4))),
    "logm": (lambda f, X: f(gram(np, X)), lambda xp, X: log_of_spd(xp, gram(xp, X)), random((4, 4))),
    "polar": (lambda f, X: f(X)[0], polar, random((4, 3))),
    "solve_discrete_lyapunov": (lambda f, X, Q: f(0.2 * X, Q), lyapunov, random((3, 3), (3, 3))),
    "solve_sylvester": (
        lambda f, X, Y, Q: f(regular(np, X), regular(np, Y), Q),
        sylvester,
        random((3, 3), (2, 2), (3, 2)),
    ),
}


# -- the tests ---------------------------------------------------------------------------------------------


def with_imaginary_parts(arrays):
    rng = np.random.default_rng(5)
    return tuple(x + 1j * rng.standard_normal(x.shape) for x in arrays)


class Torch:
    """Gradients and products with Hessians by PyTorch."""

    def __init__(self):
        self.xp = pytest.importorskip("torch")

    def gradients(self, f, args, tangents=None):
        torch = self.xp
        inputs = [torch.tensor(x, requires_grad=True) for x in args]
        y = f(_Torch(torch), *inputs)
        gradients = torch.autograd.grad(y, inputs, create_graph=tangents is not None)
        if tangents is not None:
            product = sum(torch.sum(g * torch.tensor(t)) for g, t in zip(gradients, tangents, strict=True))
            gradients = torch.autograd.grad(product, inputs, allow_unused=True, materialize_grads=True)
        return y.detach().numpy(), [g.numpy(force=True) for g in gradients]


class _Torch:
    """PyTorch's functions, those of other defaults than NumPy's as NumPy's are."""

    def __init__(self, torch):
        self.torch = torch
        self.arange = lambda *args: torch.arange(*args, dtype=torch.float64)
        self.linalg = torch.linalg

    def __getattr__(self, name):
        return getattr(self.torch, name)


class Jax:
    """Gradients by JAX, with its convention for complex ones undone."""

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.xp = importlib.import_module("jax.numpy")

    def gradients(self, f, args, tangents=None):
        gradient = self.jax.value_and_grad(f, argnums=tuple(range(1, len(args) + 1)))
        y, gradients = gradient(self.xp, *map(self.xp.asarray, args))
        return np.asarray(y), [np.conj(g) for g in gradients]


@pytest.fixture(params=["torch", "jax"], scope="module")
def peer(request):
    return {"torch": Torch, "jax": Jax}[request.param]()


def assert_agree(peer, ours, theirs, args):
    y, gradients = peer.gradients(theirs, args)
    argnums = tuple(range(len(args)))
    found, found_gradients = ld.value_and_grad(ours, argnums=argnums)(*args)
    assert_allclose(found, y, rtol=RTOL)
    for got, expected in zip(found_gradients, gradients, strict=True):
        assert_allclose(got, expected, rtol=RTOL, atol=RTOL * np.max(np.abs(expected)))


@pytest.mark.parametrize("case", NUMPY)
def test_numpy_linalg(peer, case):
    f, args = NUMPY[case]
    assert_agree(peer, lambda *args: f(np, *args), f, args)


@pytest.mark.parametrize("case", COMPLEX)
def test_complex_numpy_linalg(peer, case):
    f, args = NUMPY[case]
    real = lambda xp, *args: xp.real(f(xp, *args))
    assert_agree(peer, lambda *args: real(np, *args), real, with_imaginary_parts(args))


@pytest.mark.parametrize("case", OPERATORS)
def test_operators_of_the_paper(peer, case):
    ours, theirs, args = OPERATORS[case]
    assert_agree(peer, ours, theirs, args)


@pytest.mark.parametrize("case", SCIPY)
def test_scipy_linalg(peer, case):
    call, theirs, args = SCIPY[case]
    function = getattr(importlib.import_module("lindiff.scipy.linalg"), case, None)
    if function is None:
        pytest.skip(f"no {case} in lindiff.scipy.linalg")
    assert_agree(
        peer,
        lambda *args: np.sum(np.sin(call(function, *args))),
        lambda xp, *args: xp.sum(xp.sin(theirs(xp, *args))),
        args,
    )


@pytest.mark.parametrize("case", NUMPY)
def test_products_with_hessians(case):
    f, args = NUMPY[case]
    rng = np.random.default_rng(1)
    tangents = tuple(rng.standard_normal(x.shape) for x in args)
    _, expected = Torch().gradients(f, args, tangents)
    got = ld.hvp(lambda *args: f(np, *args), args, tangents)
    for part, other in zip(got if len(args) > 1 else [got], expected, strict=True):
        assert_allclose(part, other, rtol=1e-7, atol=1e-8 * max(1.0, np.max(np.abs(other))))
