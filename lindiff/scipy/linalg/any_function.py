"""Any function of matrices: ``funm``, by divided differences."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import operator
from lindiff.linalg._matrices import adjoint, hermitian_part, largest
from lindiff.rules._common import as_array
from lindiff.scipy.linalg._arguments import is_plain
from lindiff.scipy.linalg._functions import UNSET, given, inexact, of_scipy, primary, with_options
from lindiff.transforms.forward import jvp

__all__ = ["divided_differences", "funm"]


class _Spectrum:
    """A diagonalizable matrix, ``A = V diag(w) V⁻¹``, for derivatives of its functions of any order.

    ``Dᵏf(A)[E₁, …, Eₖ] = V M V⁻¹``, ``M = Σ f[wᵢ, wⱼ, …] ∘ Ẽᵢⱼ Ẽⱼ…``, summed over inner indices and over the
    orders of the directions ``Ẽ = V⁻¹ E V``: Daleckii and Krein (1965), with divided differences.
    """

    def __init__(self, A: Any) -> None:
        eps = float(np.finfo(A.dtype).eps)
        skew = largest(np.abs(A - adjoint(A)))
        if skew <= A.shape[-1] * eps * largest(np.abs(A)):
            self.w, self.V = np.linalg.eigh(hermitian_part(A))
            self.V_inv = adjoint(self.V)
            return
        self.w, self.V = np.linalg.eig(A)
        self.check(np.linalg.cond(self.V) ** 2 * eps, eps)
        self.V_inv = np.linalg.inv(self.V)

    @staticmethod
    def check(errors: Any, eps: float) -> None:
        """Warn or raise where rounding in the products with V and its inverse spoils a derivative."""
        if np.all(errors <= eps**0.5):
            return
        index = np.unravel_index(np.argmax(errors), errors.shape)
        where = f" (batch index {tuple(int(i) for i in index)})" if index else ""
        if errors[index] < 1:
            warnings.warn(
                f"funm: A has nearly parallel eigenvectors, the derivative is accurate to "
                f"{errors[index]:.0e}{where}",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        raise np.linalg.LinAlgError(
            "funm: A has no basis of eigenvectors, to rounding, and the derivative of a function that is "
            f"given by its values cannot be found; write it in expm, logm, sqrtm and arithmetic{where}"
        )

    def derivative(self, func: Callable[..., Any], directions: list[Any], real: bool) -> Any:
        """The derivative of ``f(A)`` in k directions, ``Dᵏf(A)[E₁, …, Eₖ]``; its real part if `real`."""
        k, n = len(directions), self.w.shape[-1]
        w = self.w.astype(np.result_type(self.w, np.complex64))  # as SciPy calls func
        shapes = [tuple(n if i == j else 1 for j in range(k + 1)) for i in range(k + 1)]
        axes = [np.reshape(w, (*w.shape[:-1], *shape)) for shape in shapes]
        table = divided_differences(func, np.stack(np.broadcast_arrays(*axes), axis=-1))[0]
        letters = "abcdefgh"[: k + 1]
        subscripts = (
            ",".join(["..." + letters, *("..." + letters[i : i + 2] for i in range(k))])
            + f"->...{letters[0]}{letters[-1]}"
        )
        turned = [product(self.V_inv, E, self.V) for E in directions]
        M = sum(np.einsum(subscripts, table, *order) for order in itertools.permutations(turned))
        D = product(self.V, M, self.V_inv)
        return D.real if real else D


def divided_differences(func: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """``f[x₀, …, xₖ]`` over the last axis, and an estimate of its error.

    By quotients of differences; where their cancellation costs more, by the formula of Hermite and Genocchi:
    the mean of the k-th derivative over the simplex of the nodes, which is exact where they are equal.
    """
    k = x.shape[-1] - 1
    eps = np.finfo(x.dtype).eps
    if k == 0:
        y = func(x[..., 0])
        if not is_plain(y):
            raise TypeError(
                "funm: func gives a Variable for a plain array: its parameters cannot be differentiated"
            )
        return y, eps * np.abs(y)
    x = _farthest_at_ends(x)
    low, low_error = divided_differences(func, x[..., :-1])
    high, high_error = divided_differences(func, x[..., 1:])
    gap = x[..., -1] - x[..., 0]
    with np.errstate(all="ignore"):
        quotient = (high - low) / gap
        error = np.where(gap == 0, np.inf, (low_error + high_error) / np.abs(gap))
        mean = _mean_over_simplex(func, x, 8)
        mean_error = np.abs(mean - _mean_over_simplex(func, x, 6)) + eps * np.abs(mean)
    better = mean_error < error
    return np.where(better, mean, quotient), np.where(better, mean_error, error)


def _farthest_at_ends(x: Any) -> Any:
    """The nodes in an order in which the two that are farthest apart are first and last."""
    k = x.shape[-1]
    pairs = list(itertools.combinations(range(k), 2))
    distances = np.stack([np.abs(x[..., i] - x[..., j]) for i, j in pairs], axis=-1)
    orders = np.array([[i, *(m for m in range(k) if m not in (i, j)), j] for i, j in pairs])
    return np.take_along_axis(x, orders[np.argmax(distances, axis=-1)], axis=-1)


def _mean_over_simplex(func: Callable[..., Any], x: Any, count: int) -> Any:
    """``∫ f⁽ᵏ⁾(x₀ + t₁ (x₁ - x₀) + t₁ t₂ (x₂ - x₁) + …) t₁ᵏ⁻¹ t₂ᵏ⁻² … dt``, t in the unit cube."""
    k = x.shape[-1] - 1
    nodes, weights = np.polynomial.legendre.leggauss(count)
    total = 0.0
    derivative = _derivative(func, k)
    for chosen in itertools.product(range(count), repeat=k):
        t = (nodes[list(chosen)] + 1) / 2
        weight = float(np.prod(weights[list(chosen)] / 2 * t ** np.arange(k - 1, -1, -1)))
        at = x[..., 0]
        for i, step in enumerate(np.cumprod(t).tolist()):
            at = at + step * (x[..., i + 1] - x[..., i])
        total = total + weight * derivative(at)
    return total


def _derivative(func: Callable[..., Any], order: int) -> Callable[..., Any]:
    """The derivative of this order of an elementwise function."""
    if order == 0:
        return func
    lower = _derivative(func, order - 1)
    return lambda x: jvp(lower, (x,), (np.ones_like(value(x)),))[1]


@rule
def _funm_derivative(A: Any, directions: list[Any], func: Callable[..., Any], real: bool) -> Any:
    """``Dᵏf(A)[E₁, …, Eₖ]``, symmetric in its directions; its own derivative in A is the next one."""
    if is_plain(A, *directions):
        D = _Spectrum(A).derivative(func, directions, real)
    else:
        D = _funm_derivative(A, directions, func, real)

    def along(i: int, E: Any) -> Any:
        others = [*directions[:i], E, *directions[i + 1 :]]
        return _funm_derivative(A, others, func, real)

    def pushforward(A_dot: Any, directions_dot: list[Any]) -> Any:
        D_dot = _funm_derivative(A, [*directions, A_dot], func, real)
        for i, E_dot in enumerate(directions_dot):
            D_dot = D_dot + along(i, E_dot)
        return D_dot

    def pullback(D_bar: Any) -> Any:
        Z = adjoint(D_bar)
        return (
            adjoint(_funm_derivative(A, [*directions, Z], func, real)),
            [adjoint(along(i, Z)) for i in range(len(directions))],
            None,
            None,
        )

    return D, Differential(pushforward, pullback)


@functools.wraps(scipy.linalg.funm)
def _scipy_funm(A: Any, func: Callable[..., Any], **options: Any) -> Any:
    """SciPy's function, whose compiled code takes only plain arrays from ``func``."""
    return scipy.linalg.funm(A, lambda x: np.asarray(func(x)), **options)


def _plain_funm(A: Any, func: Callable[..., Any]) -> Any:
    return of_scipy(_scipy_funm, A, func)


@operator(_plain_funm)
def _funm(A: Any, func: Callable[..., Any]) -> Any:
    """``f(A)``, with the Fréchet derivative by divided differences of f."""
    F = _funm(A, func)
    real = F.dtype.kind != "c"

    @functools.cache
    def spectrum() -> _Spectrum:
        return _Spectrum(A)

    def L(E: Any) -> Any:
        if not is_plain(A, E):
            return _funm_derivative(A, [E], func, real)
        return spectrum().derivative(func, [E], real)

    return F, primary(L)


@documented_like(scipy.linalg.funm)
def funm(A: Any, func: Callable[..., Any], disp: Any = UNSET) -> Any:
    """Differentiable in `A`, to any order.

    `func` is called with complex arrays, as SciPy does.  For the derivative it must be written in functions
    that have rules, and be differentiable at the eigenvalues of `A`: over complex numbers, unless they are
    real.  It must not depend on other Variables.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A has no basis of eigenvectors, to rounding.

    Warns
    -----
    RuntimeWarning
        From the derivative, if A is close to such a matrix.

    Notes
    -----
    The derivative of any order is made of divided differences of `func` at the eigenvalues, which are exact
    where eigenvalues are equal or close: Daleckii and Krein (1965).  Its k-th order takes of the order of
    nᵏ⁺¹ values of derivatives of `func`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import funm
    >>> funm(np.array([[2.0, 0.0], [0.0, 3.0]]), lambda x: x * x)
    array([[4., 0.],
           [0., 9.]])
    """
    if not is_plain(A):
        A = inexact(as_array(A))
    return with_options(_funm, _scipy_funm, A, func, **given(disp=disp))
