"""Every operator and model with arguments of any size: the one table that a new operator joins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import lindiff as ld
from lindiff import kernels, statespace

__all__ = ["IN_MODELS", "MODELS", "OPERATORS", "Matrices", "Model", "Operator", "value_and_gradient"]

STATES = 4  # of the state-space model


class Matrices:
    """Batches of `count` matrices of order n, well conditioned, and what `lindiff.kernels` makes of them.

    R is (n, k), B is (n, k), k = n unless given.
    """

    def __init__(self, count: int, n: int, dtype: Any, k: int | None = None) -> None:
        self.rng = np.random.default_rng(n)
        self.count, self.n, self.k, self.dtype = count, n, k or n, np.dtype(dtype)

    def __str__(self) -> str:
        return f"{self.count} x {self.n} x {self.n}"

    def general(self, *shape: int) -> Any:
        """Standard normal numbers, a matrix or vector of this shape for each of the batch."""
        x = self.rng.standard_normal((self.count, *shape))
        if self.dtype.kind == "c":
            x = x + 1j * self.rng.standard_normal(x.shape)
        return x.astype(self.dtype)

    def real(self, *shape: int) -> Any:
        """`general` of the real type."""
        return self.general(*shape).real.copy()

    @cached_property
    def identity(self) -> Any:
        return np.eye(self.n, dtype=self.dtype)

    @cached_property
    def X(self) -> Any:
        return self.identity + self.general(self.n, self.n) / self.dtype.type(3 * self.n**0.5)

    @cached_property
    def Y(self) -> Any:
        return self.general(self.n, self.n)

    @cached_property
    def B(self) -> Any:
        return self.general(self.n, self.k)

    @cached_property
    def R(self) -> Any:
        """Of orthonormal rows, but for a factor of about 3."""
        return self.general(self.n, max(self.k, 2 * self.n)) / self.dtype.type(max(self.k, 2 * self.n) ** 0.5)

    @cached_property
    def A(self) -> Any:
        """Positive definite."""
        return self.X @ self.X.conj().swapaxes(-1, -2)

    @cached_property
    def S(self) -> Any:
        """Symmetric, with eigenvalues about 1, 2, ..., n."""
        small = (self.Y + self.Y.swapaxes(-1, -2)) / self.dtype.type(20 * self.n**0.5)
        return np.diag(np.arange(1, self.n + 1)).astype(self.dtype) + small

    @cached_property
    def L(self) -> Any:
        return kernels.potrf(self.A)

    @cached_property
    def LU(self) -> tuple[Any, Any]:
        return kernels.getrf(self.X)

    @cached_property
    def LQ(self) -> tuple[Any, Any]:
        return kernels.gelqf(self.R)

    @cached_property
    def columns(self) -> tuple[Any, Any]:
        """w and V of S, whose columns are eigenvectors."""
        return kernels.eigh(self.S)

    @cached_property
    def eigen(self) -> tuple[Any, Any]:
        """U, lam of S."""
        return kernels.syevd(self.S)

    @cached_property
    def singular(self) -> tuple[Any, Any, Any]:
        """U, s, Vh of S."""
        return kernels.gesdd(self.S)

    @cached_property
    def density(self) -> tuple[Any, Any, Any]:
        """p, L, Z of the rows of Y."""
        return kernels.log_density(self.A, self.Y)


class Operator(NamedTuple):
    """Arguments out of `Matrices`, flops of a matrix in n³, and how to call what `compared` is made of.

    `call` gets `lindiff_cuda` or `lindiff.kernels`, and the arguments; without it the operator itself is
    called. `expected` stands for `lindiff.kernels`, where that has no such function.
    """

    arguments: Callable[[Matrices], tuple[Any, ...]]
    flops: float
    letters: str = "fdFD"
    call: Callable[..., Any] | None = None
    expected: Callable[..., Any] | None = None


def eigenvalues(k: Any, A: Any) -> Any:
    """What does not depend on signs."""
    w, V = k.eigh(A)
    return w, (V * w[..., None, :]) @ V.swapaxes(-1, -2)


def singular_values(k: Any, A: Any) -> Any:
    """What does not depend on signs."""
    U, s, Vh = k.gesdd(A)
    return s, (U * s[..., None, :]) @ Vh


REAL = "fd"

OPERATORS = {
    "copyltu": Operator(lambda m: (m.Y,), 0),
    "det": Operator(lambda m: (m.X,), 2 / 3),
    "eigh": Operator(lambda m: (m.S,), 9, REAL, eigenvalues),
    "eigh_pullback": Operator(lambda m: (*m.columns, m.real(m.n), m.Y), 6, REAL),
    "eigh_pushforward": Operator(lambda m: (*m.columns, m.A), 6, REAL),
    "expm": Operator(lambda m: (m.X,), 20, REAL),
    "expm_keeping": Operator(lambda m: (m.X,), 20, REAL, lambda k, A: k.expm_keeping(A)[0]),
    "expm_pullback": Operator(
        lambda m: (m.X, m.Y), 60, REAL, lambda k, A, bar: k.expm_pullback(*k.expm_keeping(A), bar)
    ),
    "expm_pushforward": Operator(
        lambda m: (m.X, m.Y), 60, REAL, lambda k, A, dot: k.expm_pushforward(*k.expm_keeping(A), dot)
    ),
    "faults": Operator(
        lambda m: (m.A, np.full_like(m.A, np.inf)),
        0,
        REAL,
        lambda k, A, x: k.faults([("covariance", A), ("finite", A), ("finite", x)]),
        lambda A, x: [False, False, True],
    ),
    "gelqf": Operator(lambda m: (m.R,), 20 / 3, REAL),
    "gelqf_l": Operator(lambda m: (m.R,), 10 / 3, REAL),
    "gelqf_l_pullback": Operator(lambda m: (m.LQ[1], m.R, m.Y), 10, REAL),
    "gelqf_l_pushforward": Operator(lambda m: (m.LQ[1], m.R, m.R[..., ::-1].copy()), 10, REAL),
    "gelqf_pullback": Operator(lambda m: (*m.LQ, m.R, m.Y), 9, REAL),
    "gelqf_pushforward": Operator(lambda m: (*m.LQ, m.R[..., ::-1].copy()), 9, REAL),
    "gemm": Operator(lambda m: (m.X, m.B, m.B), 2),
    "gemm2": Operator(lambda m: (m.X, m.B), 2),
    "gesdd": Operator(lambda m: (m.S,), 20, REAL, singular_values),
    "gesdd_pullback": Operator(lambda m: (*m.singular, m.Y, m.real(m.n), m.Y), 12, REAL),
    "gesdd_pushforward": Operator(lambda m: (*m.singular, m.Y), 12, REAL),
    "getrf": Operator(lambda m: (m.X,), 2 / 3),
    "getri": Operator(lambda m: m.LU, 2),
    "getrs": Operator(lambda m: (*m.LU, m.B), 2),
    "inverse": Operator(lambda m: (m.X,), 2),
    "inverse_pullback": Operator(lambda m: (m.X, m.Y), 4),
    "inverse_pushforward": Operator(lambda m: (m.X, m.Y), 4),
    "log_density": Operator(lambda m: (m.A, m.Y), 4 / 3, REAL),
    "log_density_pullback": Operator(lambda m: (*m.density[1:], m.density[0]), 4, REAL),
    "nearly_equal": Operator(lambda m: (m.eigen[1],), 0, REAL),
    "onto_unpaired": Operator(lambda m: (m.A, kernels.unpaired(m.Y)), 0),
    "potrf": Operator(lambda m: (m.A,), 1 / 3),
    "potrf_pullback": Operator(lambda m: (m.L, m.Y), 2 / 3),
    "potrf_pushforward": Operator(lambda m: (m.L, m.A), 2 / 3),
    "potri": Operator(lambda m: (m.L,), 2 / 3),
    "potri_pullback": Operator(lambda m: (m.L, kernels.potri(m.L), m.Y), 3),
    "potri_pushforward": Operator(lambda m: (m.L, kernels.potri(m.L), m.Y), 3),
    "slogdet": Operator(lambda m: (m.X,), 2 / 3),
    "slogdet_pullback": Operator(lambda m: (*m.LU, m.general()), 2),
    "syevd": Operator(lambda m: (m.S,), 9, REAL),
    "syevd_pullback": Operator(lambda m: (*m.eigen, m.Y, m.real(m.n)), 5, REAL),
    "syevd_pushforward": Operator(lambda m: (*m.eigen, m.A), 6, REAL),
    "syrk": Operator(lambda m: (m.X,), 1),
    "syrk_pullback": Operator(lambda m: (m.X, m.Y), 2),
    "trmm": Operator(lambda m: (m.L, m.B), 1),
    "trmm_pullback": Operator(lambda m: (m.L, m.B, m.B[..., ::-1].copy()), 2),
    "trsm": Operator(lambda m: (m.L, m.B), 1),
    "trsm_pullback": Operator(lambda m: (m.L, m.B, m.B[..., ::-1].copy()), 2),
    "unpaired": Operator(lambda m: (m.Y,), 0),
}
"""By name; matrices of order n, of which R is (n, 2n)."""


class Model(NamedTuple):
    """A function of arrays with one number for its value, its arguments for a size, and how many of them are
    parameters, which gradients are taken in.
    """

    arguments: Callable[[int, int], tuple[Any, ...]]
    function: Callable[..., Any]
    parameters: int


def series(count: int, steps: int) -> tuple[Any, ...]:
    """Many series, some of their values missing, and the matrices of a model that they share."""
    rng, n = np.random.default_rng(steps), STATES
    y = rng.standard_normal((count, steps, 2))
    y[rng.random(y.shape) < 0.1] = np.nan
    A, B = 0.8 * np.eye(n) + rng.standard_normal((n, n)) / 20, rng.standard_normal((2, n))
    return A, B, np.eye(n), np.eye(2), np.zeros(n), np.eye(n), y


def kalman(A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any, y: Any) -> Any:
    return np.mean(statespace.loglikelihood(y, A, B, Q, R, m, P))


def points(count: int, n: int) -> tuple[Any, ...]:
    x = np.linspace(0, 5, n)
    return np.array([0.0, -2.0]), x, np.sin(x)


def gaussian_process(theta: Any, x: Any, y: Any) -> Any:
    K = np.exp(theta[0] - 0.5 * (x[:, None] - x) ** 2) + np.exp(theta[1]) * np.identity(len(x), like=x)
    L = np.linalg.cholesky(K)
    return 0.5 * np.sum(np.linalg.solve(L, y) ** 2) + np.sum(np.log(np.diagonal(L)))


def classes(count: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((count, n))
    return rng.standard_normal(n) / n**0.5, X, (X[:, 0] > 0) * 1.0


def logistic_regression(w: Any, X: Any, y: Any) -> Any:
    z = X @ w
    return np.mean(np.logaddexp(0, z) - y * z) + 0.5 * np.sum(w * w)


MODELS = {
    "Kalman likelihood": Model(series, kalman, 6),
    "Gaussian process": Model(points, gaussian_process, 1),
    "logistic regression": Model(classes, logistic_regression, 1),
}
"""Of `count` series with n steps, n points, `count` points in n dimensions."""

IN_MODELS = {"Sweeps": "Kalman likelihood"}
"""What has no function of its own in `OPERATORS`, and the model that runs it."""


def value_and_gradient(model: Model, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The value of a model and its gradient in each of its parameters."""
    value, gradient = ld.value_and_grad(model.function, tuple(range(model.parameters)))(*arguments)
    return value, *gradient
