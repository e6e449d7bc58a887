"""``numpy.linalg``: solves, inverses, determinants and factorizations."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.linalg._linalg import EigResult, QRResult

from lindiff.core.differential import Differential
from lindiff.core.registry import composed, rule
from lindiff.core.variable import Variable, value
from lindiff.linalg import factors
from lindiff.linalg._backend import failing_as
from lindiff.linalg._complement import with_beyond, without_beyond
from lindiff.linalg._degeneracy import without_defect, without_dependence, without_split
from lindiff.linalg._equal_eigenvalues_of_any import EqualEigenvaluesOfAny
from lindiff.linalg._factored import LU, factored
from lindiff.linalg._matrices import EIGHTH_ROOT, adjoint, conj
from lindiff.linalg._one_triangle import symmetric_from
from lindiff.linalg.diagonals import extractdiag
from lindiff.linalg.eigenvectors import eig_pullback, eig_pushforward
from lindiff.linalg.lq import gelqf_l_pullback, gelqf_pullback, gelqf_pushforward
from lindiff.linalg.singular_values import (
    pinv_pullback,
    pinv_pushforward,
    solution_pullback,
    solution_pushforward,
    svdvals_pullback,
)
from lindiff.linalg.triangular import trsm
from lindiff.rules._common import as_array
from lindiff.rules.linalg.matrix_arguments import (
    check_finite,
    check_square,
    check_stacked,
    check_triangle_finite,
)

# In NumPy 2.0, the condition number of a complex matrix is complex (with zero imaginary part) in some norms.
COMPLEX_COND = np.linalg.cond(np.eye(1, dtype=complex), 1).dtype.kind == "c"


# -- solves ----------------------------------------------------------------------------------------------


@composed(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    check_square(a, "solve")
    vector = b.ndim == 1
    B = b[:, None] if vector else b
    if B.ndim < 2 or B.shape[-2] != a.shape[-1]:
        raise ValueError(
            f"np.linalg.solve: a of shape {a.shape} and b of shape {b.shape} do not fit together"
        )
    precise = np.result_type(a.dtype, np.finfo(np.result_type(a.dtype, b.dtype)).dtype)
    a = a if a.dtype == precise else a.astype(precise)
    with failing_as("np.linalg.solve"):
        X = factors.solve(a, B, False, factored(a, LU))
    return X[..., 0] if vector else X


# -- eigenvalues -----------------------------------------------------------------------------------------


@rule(np.linalg.eig)
def eig(a: Any) -> Any:
    with failing_as("np.linalg.eig"):
        w, V = np.linalg.eig(a)
    values = EqualEigenvaluesOfAny.of(a, w, V, "eig")

    def pushforward(a_dot: Any) -> Any:
        w_dot, V_dot = eig_pushforward(w, V, np.linalg.solve(V, a_dot @ V), "eig")
        return w_dot if values is None else values.pushforward(a_dot), V_dot

    def pullback(bars: tuple[Any, Any]) -> Any:
        w_bar, V_bar = bars
        if values is not None and w_bar is not None:
            a_bar = values.pullback(w_bar)
            return a_bar if V_bar is None else a_bar + pullback((None, V_bar))
        return np.linalg.solve(adjoint(V), eig_pullback(w, V, w_bar, V_bar, "eig") @ adjoint(V))

    result = EigResult(w if values is None else values.w, V)
    return result, Differential(pushforward, pullback, symbolic_zeros=True)


@rule(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """``w_dot = diag(V⁻¹ a_dot V)``."""
    with failing_as("np.linalg.eigvals"):
        w, V = np.linalg.eig(a)
    values = EqualEigenvaluesOfAny.of(a, w, V, "eigvals")
    if values is not None:
        return values.w, Differential((values.pushforward,), (values.pullback,))

    def pushforward(a_dot: Any) -> Any:
        without_defect(w, V, "eigvals")
        return extractdiag(np.linalg.solve(V, a_dot @ V))

    def pullback(w_bar: Any) -> Any:
        without_defect(w, V, "eigvals")
        without_split(w_bar, w, "eigvals")
        return np.linalg.solve(adjoint(V), w_bar[..., :, None] * adjoint(V))

    return w, Differential(pushforward, pullback)


# -- QR --------------------------------------------------------------------------------------------------


def _tall_qr_pushforward(Q: Any, R: Any, a_dot: Any) -> Any:
    """That of the LQ factorization ``aᴴ = Rᴴ Qᴴ``."""
    without_dependence(R, "np.linalg.qr")
    with failing_as("np.linalg.qr"):
        Qh_dot, Rh_dot = gelqf_pushforward(adjoint(Q), adjoint(R), adjoint(a_dot))
    return adjoint(Qh_dot), adjoint(Rh_dot)


def _tall_qr_pullback(Q: Any, R: Any, Q_bar: Any, R_bar: Any) -> Any:
    without_dependence(R, "np.linalg.qr")
    Q_bar, R_bar = (None if X is None else adjoint(X) for X in (Q_bar, R_bar))
    with failing_as("np.linalg.qr"):
        return adjoint(gelqf_pullback(adjoint(Q), adjoint(R), Q_bar, R_bar))


@rule(np.linalg.qr)
def qr(a: Any, mode: Any = "reduced") -> Any:
    """Of a wide matrix ``[a₁ a₂]``, ``a₁ = Q R₁`` and ``R₂ = Qᴴ a₂``.

    Of the columns of a complete Q beyond those of a tall matrix only the space that they span is determined.
    """
    check_stacked(a, "qr")
    m, n = a.shape[-2:]
    k = min(m, n)
    if mode not in ("reduced", "complete", "r"):
        np.linalg.qr(np.zeros((0, 0)), mode)  # NumPy's error, or its warning of an old name
        if mode not in ("f", "full"):
            raise TypeError(
                f"np.linalg.qr(..., mode={mode!r}) has no derivative rule: LAPACK's reflectors have none; "
                f"use mode='reduced', 'complete' or 'r'"
            )
    if mode == "r" and m >= n:
        return _tall_r(a)
    Q, R = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    inner, beyond, R1, a2 = Q[..., :k], Q[..., k:], R[..., :k, :k], a[..., k:]

    def pushforward(a_dot: Any) -> Any:
        Q_dot, R_dot = _tall_qr_pushforward(inner, R1, a_dot[..., :k])
        if m < n:
            right = adjoint(Q_dot) @ a2 + adjoint(Q) @ a_dot[..., k:]
            R_dot = np.concatenate([R_dot, right], axis=-1)
        if mode == "r":
            return R_dot
        if mode == "complete" and m > n:
            R_dot = np.concatenate([R_dot, np.zeros_like(R[..., k:, :])], axis=-2)
        return with_beyond(Q_dot, inner, beyond), R_dot

    def pullback(bars: Any) -> Any:
        Q_bar, R_bar = (None, bars) if mode == "r" else bars
        if Q_bar is not None:
            Q_bar = without_beyond(Q_bar, inner, beyond, "qr")
        if R_bar is not None:
            R_bar = R_bar[..., :k, :]
        if m >= n or R_bar is None:
            a1_bar = _tall_qr_pullback(inner, R1, Q_bar, R_bar)
            return a1_bar if m >= n else np.concatenate([a1_bar, np.zeros_like(a2)], axis=-1)
        R2_bar = R_bar[..., k:]
        from_right = a2 @ adjoint(R2_bar)
        Q_bar = from_right if Q_bar is None else Q_bar + from_right
        a1_bar = _tall_qr_pullback(inner, R1, Q_bar, R_bar[..., :k])
        return np.concatenate([a1_bar, Q @ R2_bar], axis=-1)

    result = R if mode == "r" else QRResult(Q, R)
    return result, Differential((pushforward,), (pullback,), symbolic_zeros=True)


def _tall_r(a: Any) -> Any:
    """R alone: Q is not formed."""
    R = np.linalg.qr(a, mode="r")

    def pushforward(a_dot: Any) -> Any:
        """``R_dot = Φ(R⁻ᴴ (a_dotᴴ a + aᴴ a_dot) R⁻¹)ᴴ R``."""
        with failing_as("np.linalg.qr"):
            Q = trsm(R, a, rightside=True, lower=False)
        return _tall_qr_pushforward(Q, R, a_dot)[1]

    def pullback(R_bar: Any) -> Any:
        without_dependence(R, "np.linalg.qr")
        with failing_as("np.linalg.qr"):
            return adjoint(gelqf_l_pullback(adjoint(R), adjoint(a), adjoint(R_bar)))

    return R, Differential((pushforward,), (pullback,))


# -- least squares ---------------------------------------------------------------------------------------


@composed(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    check_stacked(a, "pinv")
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    if hermitian:
        check_triangle_finite(a, True, "pinv")
        a = symmetric_from(a, True)
    return _pinv(a, rcond)


@rule
def _pinv(a: Any, rcond: Any) -> Any:
    """The pseudoinverse among matrices of constant rank."""
    check_finite(a, "pinv")
    P = np.linalg.pinv(a, rcond)
    return P, Differential(
        (lambda a_dot: pinv_pushforward(a, P, a_dot),), (lambda P_bar: pinv_pullback(a, P, P_bar),)
    )


@rule(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """``x = a⁺ b`` among matrices of constant rank, ``|b - a x|²`` by columns, and the singular values.

    One singular value decomposition is kept for both directions.
    """
    a, b = as_array(a), as_array(b)
    if a.ndim == 2:
        check_finite(a, "lstsq")
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    vector = b.ndim == 1
    B, X = (b[:, None], x[:, None]) if vector else (b, x)
    has_residuals = residuals.shape[0] > 0

    @functools.cache
    def decomposition() -> Any:
        return np.linalg.svd(a, full_matrices=False)

    @functools.cache
    def pseudoinverse() -> Any:
        if isinstance(a, Variable):
            return np.linalg.pinv(a, _cut_after(int(rank), value(s)))
        U, s_of_a, Vh = decomposition()
        kept = slice(int(rank))
        return (adjoint(Vh[kept]) / s_of_a[kept]) @ adjoint(U[:, kept])

    def pushforward(a_dot: Any, b_dot: Any, _: Any = None) -> Any:
        P = pseudoinverse()
        B_dot = b_dot[:, None] if vector else b_dot
        X_dot = solution_pushforward(a, B, X, P, a_dot, B_dot)
        if has_residuals:
            residuals_dot = 2 * np.sum(conj(B - a @ X) * (B_dot - a_dot @ X), axis=0)
        else:
            residuals_dot = np.zeros_like(residuals)
        U, _s, Vh = decomposition()
        s_dot = np.sum(conj(U) * (a_dot @ adjoint(Vh)), axis=-2)
        return X_dot[:, 0] if vector else X_dot, np.real(residuals_dot), None, np.real(s_dot)

    def pullback(bars: Any) -> Any:
        x_bar, residuals_bar, _, s_bar = bars
        B_bar, a_bar = np.zeros_like(B), np.zeros_like(a)
        if x_bar is not None:
            X_bar = x_bar[:, None] if vector else x_bar
            a_bar, B_bar = solution_pullback(a, B, X, pseudoinverse(), X_bar)
        if residuals_bar is not None and has_residuals:
            Y = 2 * (B - a @ X) * residuals_bar
            B_bar = B_bar + Y
            a_bar = a_bar - Y @ adjoint(X)
        if s_bar is not None:
            U, _s, Vh = decomposition()
            a_bar = a_bar + svdvals_pullback(U, s, Vh, s_bar, "lstsq")
        return a_bar, B_bar[:, 0] if vector else B_bar, None

    return (x, residuals, rank, s), Differential(pushforward, pullback, symbolic_zeros=True)


def _cut_after(rank: int, s: Any) -> float:
    """A relative cutoff that keeps the first ``rank`` singular values."""
    if rank == s.size:
        return 0.0
    return float(np.sqrt(s[rank - 1] * s[rank]) / s[0]) if rank else 1.0


# -- composed of the others ------------------------------------------------------------------------------


@composed(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    if axes is not None:
        others = [k for k in range(a.ndim) if k not in axes]
        a = np.transpose(a, [*others, *axes])
    shape = a.shape[-(a.ndim - b.ndim) :]  # all of it where they have equally many axes, as in NumPy
    n = int(np.prod(shape))
    if a.size != n * n or b.size != n:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.reshape(np.linalg.solve(np.reshape(a, (n, n)), np.reshape(b, n)), shape)


@composed(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    n = int(np.prod(a.shape[ind:]))
    if a.size != n * n:
        raise np.linalg.LinAlgError(
            f"np.linalg.tensorinv: the first {ind} axes must have as many entries as the others, got shape "
            f"{a.shape}"
        )
    return np.reshape(np.linalg.inv(np.reshape(a, (n, n))), (*a.shape[ind:], *a.shape[:ind]))


@composed(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    check_stacked(x, "cond")
    if x.size == 0 and 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError("np.linalg.cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        try:
            s = np.linalg.svdvals(x)
        except np.linalg.LinAlgError:  # the algorithm may not converge where an entry is infinite
            return _cond_of_singular(x, p)
        singular = (value(s)[..., -1] == 0).any() or _is_lost(s, x)
        if singular:
            return _cond_of_singular(x, p)
        if _is_far_from_one(s[..., 0]):
            return cond(_near_one(x, s[..., 0]), p)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    check_square(x, "cond")
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return _cond_of_singular(x, p)
    size = np.linalg.norm(x, p, axis=(-2, -1))
    y = size * np.linalg.norm(inverse, p, axis=(-2, -1))
    if _is_lost(y, x):
        return _cond_of_singular(x, p)
    if _is_far_from_one(size):
        return cond(_near_one(x, size), p)
    return y.astype(x.dtype) if COMPLEX_COND else y


def _is_far_from_one(size: Any) -> bool:
    """Whether the eighth power, of numbers in derivatives of cond, over- or underflows for a matrix."""
    plain, high = value(size), EIGHTH_ROOT[size.dtype.char]
    if plain.ndim == 0:
        return bool(plain > high or 0 < plain < 1 / high)
    return bool(((plain > high) | ((plain > 0) & (plain < 1 / high))).any())


def _near_one(x: Any, size: Any) -> Any:
    """Matrices, each divided by a power of two, which changes no digit; cond does not see it."""
    exponents = np.frexp(value(size))[1]
    for part in (exponents // 2, exponents - exponents // 2):
        x = x * np.ldexp(1.0, -part).astype(size.dtype)[..., None, None]
    return x


def _is_lost(y: Any, x: Any) -> bool:
    """Whether y, computed of x, has NaN where x has none."""
    return bool(np.isnan(value(y)).any() and not np.isnan(value(x)).any())


@rule
def _cond_of_singular(x: Any, p: Any) -> Any:
    """Infinite, as NumPy has it, but for ``p = -2``."""

    def no_derivative(_: Any) -> Any:
        raise np.linalg.LinAlgError(
            "np.linalg.cond: infinite, as of a singular matrix, where it has no derivative"
        )

    with failing_as("np.linalg.cond"):
        y = np.linalg.cond(value(x), p)
    return y, Differential(no_derivative, no_derivative)
