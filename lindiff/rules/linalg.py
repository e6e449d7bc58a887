"""``numpy.linalg``: solves, inverses, determinants and factorizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult

from lindiff.core.differential import Differential
from lindiff.core.registry import composed, rule
from lindiff.core.variable import value
from lindiff.linalg import factors
from lindiff.linalg._degeneracy import over_gaps, without_gauge, without_rotation
from lindiff.linalg._factored import LU, Cholesky, UpperCholesky, factored
from lindiff.linalg._matrices import adjoint, conj, hermitian_part
from lindiff.linalg.diagonals import extractdiag, makediag
from lindiff.linalg.lq import gelqf_l_pullback, gelqf_pullback, gelqf_pushforward
from lindiff.linalg.triangular import trsm
from lindiff.rules._common import as_array

# In NumPy 2.0, the condition number of a complex matrix is complex (with zero imaginary part) in some norms.
COMPLEX_COND = np.linalg.cond(np.eye(1, dtype=complex), 1).dtype.kind == "c"


def check_square(a: Any, name: str) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(
            f"np.linalg.{name}: the last two axes must make a square matrix, got shape {a.shape}"
        )


# -- Cholesky and LU -------------------------------------------------------------------------------------
# Each of these is an operator of ``lindiff.linalg.factors``; what they are called on is factored once.


@composed(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    check_square(a, "cholesky")
    return factors.triangle(a, factored(a, UpperCholesky if upper else Cholesky))


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
    X = factors.solve(a, B, False, factored(a, LU))
    return X[..., 0] if vector else X


@composed(np.linalg.inv)
def inv(a: Any) -> Any:
    check_square(a, "inv")
    return factors.inverse(a, factored(a, LU))


@composed(np.linalg.det)
def det(a: Any) -> Any:
    check_square(a, "det")
    return factors.det(a, factored(a, LU))


@composed(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    check_square(a, "slogdet")
    return SlogdetResult(*factors.slogdet(a, factored(a, LU)))


# -- eigenvalues -----------------------------------------------------------------------------------------


def _gaps(w: Any) -> Any:
    """``w_j - w_i``, and 1 on the diagonal."""
    eye = np.eye(w.shape[-1], dtype=w.dtype)
    return w[..., None, :] - w[..., :, None] + eye


def _off_diagonal(X: Any) -> Any:
    return X - makediag(extractdiag(X))


def eigh_pushforward(w: Any, V: Any, a_dot: Any) -> Any:
    """``dw = diag(M)``, ``dV = V (M ∘ F)``, ``M = Vᴴ sym(da) V``, ``F_ij = 1 / h(w_j - w_i)``.

    Giles (2008), section 3.1.
    """
    M = adjoint(V) @ hermitian_part(a_dot) @ V
    w_dot = extractdiag(M)
    S = over_gaps(_off_diagonal(M), _gaps(w), M, w, "eigh")
    return w_dot.real if M.dtype.kind == "c" else w_dot, V @ S


def eigh_pullback(w: Any, V: Any, w_bar: Any, V_bar: Any) -> Any:
    """``a_bar = V (diag(w_bar) + sym(VᴴV_bar ∘ F)) Vᴴ``; a cotangent that is None is zero."""
    if V_bar is None:
        return hermitian_part((V * w_bar[..., None, :]) @ adjoint(V))
    K = adjoint(V) @ V_bar
    without_gauge(K, K, "eigh")
    skew = 0.5 * _off_diagonal(K - adjoint(K))
    S = over_gaps(skew, _gaps(w), K, w, "eigh", coupling=_off_diagonal(K))
    if w_bar is not None:
        S = S + makediag(w_bar)
    return hermitian_part(V @ S @ adjoint(V))


@rule(np.linalg.eigh)
def eigh(a: Any, UPLO: Any = "L") -> Any:
    w, V = np.linalg.eigh(a, UPLO)
    return EighResult(w, V), Differential(
        (lambda a_dot: eigh_pushforward(w, V, a_dot),),
        (lambda bars: eigh_pullback(w, V, *bars),),
        symbolic_zeros=True,
    )


def eigvalsh_pushforward(V: Any, a_dot: Any) -> Any:
    """``dw = diag(Vᴴ sym(da) V)``."""
    w_dot = np.sum(conj(V) * (hermitian_part(a_dot) @ V), axis=-2)
    return w_dot.real if w_dot.dtype.kind == "c" else w_dot


@rule(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """The eigenvectors are kept for the derivative: ``a_bar = V diag(w_bar) Vᴴ``."""
    w, V = np.linalg.eigh(a, UPLO)
    return w, Differential(
        (lambda a_dot: eigvalsh_pushforward(V, a_dot),),
        (lambda w_bar: eigh_pullback(w, V, w_bar, None),),
    )


@rule(np.linalg.eig)
def eig(a: Any) -> Any:
    """``dw = diag(M)``, ``dV = V (C - diag Re(VᴴV C))``, ``C = M ∘ F``, ``M = V⁻¹ da V``.

    Boeddeker et al. (2017), section 4: eigenvectors of norm 1, of free phase.
    """
    w, V = np.linalg.eig(a)

    def pushforward(a_dot: Any) -> Any:
        M = np.linalg.solve(V, a_dot @ V)
        C = over_gaps(_off_diagonal(M), _gaps(w), M, w, "eig")
        along = extractdiag(adjoint(V) @ V @ C).real
        return extractdiag(M), V @ C - V * along[..., None, :]

    def pullback(bars: Any) -> Any:
        w_bar, V_bar = bars
        S = 0.0 if w_bar is None else makediag(w_bar)
        if V_bar is not None:
            K = adjoint(V) @ V_bar
            without_gauge(K, K, "eig")
            along = extractdiag(K).real
            K = K - (adjoint(V) @ V) * along[..., None, :]
            S = S + over_gaps(_off_diagonal(K), conj(_gaps(w)), K, w, "eig")
        return np.linalg.solve(adjoint(V), S @ adjoint(V))

    return EigResult(w, V), Differential(pushforward, pullback, symbolic_zeros=True)


@rule(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    w, V = np.linalg.eig(a)
    return w, Differential(
        lambda a_dot: extractdiag(np.linalg.solve(V, a_dot @ V)),
        lambda w_bar: np.linalg.solve(adjoint(V), w_bar[..., :, None] * adjoint(V)),
    )


# -- singular values -------------------------------------------------------------------------------------


@composed(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    return _svd(a, bool(full_matrices)) if compute_uv else np.linalg.svdvals(a)


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    """From the eigendecomposition, as NumPy does it."""
    if not compute_uv:
        return np.flip(np.sort(np.abs(np.linalg.eigvalsh(a)), axis=-1), axis=-1)
    w, V = np.linalg.eigh(a)
    s = np.abs(w)
    order = np.flip(np.argsort(s, axis=-1), axis=-1)
    U = np.take_along_axis(V, order[..., None, :], axis=-1)
    sign = np.take_along_axis(np.sign(w), order, axis=-1)
    return SVDResult(U, np.take_along_axis(s, order, axis=-1), adjoint(U * sign[..., None, :]))


def _tall_svd_pushforward(U: Any, S: Any, Vh: Any, a_dot: Any) -> Any:
    """With ``P = Uᴴ da V``, ``dU = U Ω``, ``dV = V Ψ`` (Ω, Ψ skew-Hermitian): ``dS = Re diag(P)``,
    ``(Ω + Ψ)_ij = (P + Pᴴ)_ij / (s_j - s_i)``, ``(Ω - Ψ)_ij = (P - Pᴴ)_ij / (s_j + s_i)``: sums of singular
    values do not vanish where differences do.
    """
    n = Vh.shape[-1]
    V = adjoint(Vh)
    inner, beyond = U[..., :n], U[..., n:]
    sums = S[..., None, :] + S[..., :, None]
    aV = a_dot @ V
    P = adjoint(inner) @ aV
    S_dot = extractdiag(P)
    S_dot = S_dot.real if P.dtype.kind == "c" else S_dot
    both = over_gaps(_off_diagonal(P + adjoint(P)), _gaps(S), P, S, "svd")
    difference = over_gaps(P - adjoint(P), sums, P, S, "svd")
    Omega, Psi = 0.5 * (both + difference), 0.5 * (both - difference)
    outside = aV - inner @ P
    U_dot = inner @ Omega + over_gaps(outside, S[..., None, :], aV, S, "svd")
    if beyond.shape[-1]:
        U_dot = np.concatenate([U_dot, -(inner @ (adjoint(U_dot) @ beyond))], axis=-1)
    return U_dot, S_dot, adjoint(V @ Psi)


def _tall_svd_pullback(U: Any, S: Any, Vh: Any, U_bar: Any, S_bar: Any, Vh_bar: Any) -> Any:
    """``a_bar = U P_bar Vᴴ + (I - UUᴴ) U_bar S⁻¹ Vᴴ``; a cotangent that is None is zero."""
    n = Vh.shape[-1]
    V = adjoint(Vh)
    inner, beyond = U[..., :n], U[..., n:]
    sums = S[..., None, :] + S[..., :, None]
    P_bar = 0.0 if S_bar is None else makediag(S_bar).astype(U.dtype)
    if U_bar is None and Vh_bar is None:
        return inner @ P_bar @ Vh
    U_bar = np.zeros_like(U) if U_bar is None else U_bar
    V_bar = np.zeros_like(V) if Vh_bar is None else adjoint(Vh_bar)
    inner_bar = U_bar[..., :n]
    if beyond.shape[-1]:
        beyond_bar = U_bar[..., n:]
        without_rotation(adjoint(beyond) @ beyond_bar, "svd")
        inner_bar = inner_bar - beyond @ (adjoint(beyond_bar) @ inner)
    K_U, K_V = adjoint(inner) @ inner_bar, adjoint(V) @ V_bar
    sizes = np.abs(value(K_U)) + np.abs(value(K_V))
    scale = sizes + np.max(np.abs(value(U_bar)), initial=0.0)
    without_gauge(K_U + K_V, scale, "svd")
    A_U, A_V = 0.5 * (K_U - adjoint(K_U)), 0.5 * (K_V - adjoint(K_V))
    P_bar = P_bar + over_gaps(
        _off_diagonal(A_U + A_V), _gaps(S), scale, S, "svd", coupling=_off_diagonal(sizes)
    )
    slopes = np.zeros_like(value(S)) if S_bar is None else np.abs(value(S_bar))
    pairs = _off_diagonal(slopes[..., None, :] + slopes[..., :, None])
    P_bar = P_bar + over_gaps(A_U - A_V, sums, scale, S, "svd", coupling=pairs)
    a_bar = inner @ P_bar @ Vh
    if U.shape[-2] == n:
        return a_bar
    outside = inner_bar - inner @ K_U
    return a_bar + over_gaps(outside, S[..., None, :], inner_bar, S, "svd", slopes[..., None, :]) @ Vh


def svd_pushforward(U: Any, S: Any, Vh: Any, a_dot: Any) -> Any:
    """Of a wide matrix that of ``aᴴ = V diag(S) Uᴴ``."""
    if U.shape[-2] >= Vh.shape[-1]:
        return _tall_svd_pushforward(U, S, Vh, a_dot)
    V_dot, S_dot, Uh_dot = _tall_svd_pushforward(adjoint(Vh), S, adjoint(U), adjoint(a_dot))
    return adjoint(Uh_dot), S_dot, adjoint(V_dot)


def svd_pullback(U: Any, S: Any, Vh: Any, U_bar: Any, S_bar: Any, Vh_bar: Any) -> Any:
    """Of a wide matrix that of ``aᴴ = V diag(S) Uᴴ``."""
    if U.shape[-2] >= Vh.shape[-1]:
        return _tall_svd_pullback(U, S, Vh, U_bar, S_bar, Vh_bar)
    U_bar, Vh_bar = (None if X is None else adjoint(X) for X in (U_bar, Vh_bar))
    return adjoint(_tall_svd_pullback(adjoint(Vh), S, adjoint(U), Vh_bar, S_bar, U_bar))


@rule
def _svd(a: Any, full_matrices: bool) -> Any:
    """Of the vectors beyond the singular values only the space that they span is determined."""
    U, S, Vh = np.linalg.svd(a, full_matrices)
    return SVDResult(U, S, Vh), Differential(
        (lambda a_dot: svd_pushforward(U, S, Vh, a_dot),),
        (lambda bars: svd_pullback(U, S, Vh, *bars),),
        symbolic_zeros=True,
    )


def svdvals_pushforward(U: Any, Vh: Any, x_dot: Any) -> Any:
    """``ds = Re diag(Uᴴ dx V)``."""
    s_dot = np.sum(conj(U) * (x_dot @ adjoint(Vh)), axis=-2)
    return s_dot.real if s_dot.dtype.kind == "c" else s_dot


@rule(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """The vectors are kept for the derivative: ``x_bar = U diag(s_bar) Vᴴ``."""
    U, s, Vh = np.linalg.svd(x, full_matrices=False)
    return s, Differential(
        lambda x_dot: svdvals_pushforward(U, Vh, x_dot), lambda s_bar: (U * s_bar[..., None, :]) @ Vh
    )


# -- QR --------------------------------------------------------------------------------------------------


def _tall_qr_pushforward(Q: Any, R: Any, a_dot: Any) -> Any:
    """That of the LQ factorization ``aᴴ = Rᴴ Qᴴ``."""
    Qh_dot, Rh_dot = gelqf_pushforward(adjoint(Q), adjoint(R), adjoint(a_dot))
    return adjoint(Qh_dot), adjoint(Rh_dot)


def _tall_qr_pullback(Q: Any, R: Any, Q_bar: Any, R_bar: Any) -> Any:
    Q_bar, R_bar = (None if X is None else adjoint(X) for X in (Q_bar, R_bar))
    return adjoint(gelqf_pullback(adjoint(Q), adjoint(R), Q_bar, R_bar))


@rule(np.linalg.qr)
def qr(a: Any, mode: Any = "reduced") -> Any:
    """Of a wide matrix ``[a₁ a₂]``, ``a₁ = Q R₁`` and ``R₂ = Qᴴ a₂``."""
    m, n = a.shape[-2:]
    if mode == "raw" or (mode == "complete" and m > n):
        raise TypeError(
            f"np.linalg.qr(..., mode={mode!r}) has no derivative: columns of Q beyond those of the matrix "
            f"are determined only up to a rotation (gauge); use mode='reduced'"
        )
    if mode == "r" and m >= n:
        return _tall_r(a)
    if mode not in ("reduced", "complete", "r"):
        return np.linalg.qr(a, mode), None  # NumPy's error
    Q, R = np.linalg.qr(a)
    k = min(m, n)
    R1, a2 = R[..., :k], a[..., k:]

    def pushforward(a_dot: Any) -> Any:
        Q_dot, R_dot = _tall_qr_pushforward(Q, R1, a_dot[..., :k])
        if m < n:
            right = adjoint(Q_dot) @ a2 + adjoint(Q) @ a_dot[..., k:]
            R_dot = np.concatenate([R_dot, right], axis=-1)
        return R_dot if mode == "r" else (Q_dot, R_dot)

    def pullback(bars: Any) -> Any:
        Q_bar, R_bar = (None, bars) if mode == "r" else bars
        if m >= n or R_bar is None:
            a1_bar = _tall_qr_pullback(Q, R1, Q_bar, R_bar)
            zeros = np.zeros_like(a2)
            return a1_bar if m >= n else np.concatenate([a1_bar, zeros], axis=-1)
        R2_bar = R_bar[..., k:]
        from_right = a2 @ adjoint(R2_bar)
        Q_bar = from_right if Q_bar is None else Q_bar + from_right
        a1_bar = _tall_qr_pullback(Q, R1, Q_bar, R_bar[..., :k])
        return np.concatenate([a1_bar, Q @ R2_bar], axis=-1)

    result = R if mode == "r" else QRResult(Q, R)
    return result, Differential((pushforward,), (pullback,), symbolic_zeros=True)


def _tall_r(a: Any) -> Any:
    """R alone: Q is not formed."""
    R = np.linalg.qr(a, mode="r")

    def pushforward(a_dot: Any) -> Any:
        """``R_dot = Φ(R⁻ᴴ (a_dotᴴ a + aᴴ a_dot) R⁻¹)ᴴ R``."""
        Q = trsm(R, a, rightside=True, lower=False)
        return _tall_qr_pushforward(Q, R, a_dot)[1]

    def pullback(R_bar: Any) -> Any:
        return adjoint(gelqf_l_pullback(adjoint(R), adjoint(a), adjoint(R_bar)))

    return R, Differential((pushforward,), (pullback,))


# -- least squares ---------------------------------------------------------------------------------------


@composed(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rcond is not None and rtol is not None:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    cutoff = rcond if rcond is not None else rtol
    if cutoff is None and rtol is None:
        cutoff = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    return _pinv(hermitian_part(a) if hermitian else a, cutoff)


@rule
def _pinv(a: Any, rcond: Any) -> Any:
    """The pseudoinverse among matrices of constant rank; Golub & Pereyra (1973), eq. 4.12."""
    P = np.linalg.pinv(a, rcond)

    def beside(X: Any) -> Any:
        """``(I - a P) X``."""
        return X - a @ (P @ X)

    def below(X: Any) -> Any:
        """``(I - P a) X``."""
        return X - P @ (a @ X)

    def pushforward(a_dot: Any) -> Any:
        P_h = adjoint(P)
        return -(P @ a_dot @ P) + P @ P_h @ adjoint(beside(a_dot)) + below(adjoint(a_dot) @ P_h @ P)

    def pullback(P_bar: Any) -> Any:
        P_h, P_bar_h = adjoint(P), adjoint(P_bar)
        return -(P_h @ P_bar @ P_h) + beside(P_bar_h @ P @ P_h) + P_h @ P @ adjoint(below(P_bar))

    return P, Differential((pushforward,), (pullback,))


@rule(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """``x = a⁺ b`` among matrices of constant rank, ``|b - a x|²`` by columns, and the singular values."""
    a, b = as_array(a), as_array(b)
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    vector = b.ndim == 1
    B, X = (b[:, None], x[:, None]) if vector else (b, x)
    eps = float(np.finfo(a.dtype).eps)
    cutoff = eps * max(a.shape) if rcond is None else eps if rcond == -1 else rcond
    has_residuals = residuals.shape[0] > 0

    def pushforward(a_dot: Any, b_dot: Any, _: Any = None) -> Any:
        P = np.linalg.pinv(a, cutoff)
        B_dot = b_dot[:, None] if vector else b_dot
        r, P_h_x = B - a @ X, adjoint(P) @ X
        change = B_dot - a_dot @ X
        along = adjoint(a_dot) @ P_h_x
        X_dot = P @ (change + adjoint(P) @ (adjoint(a_dot) @ r)) + along - P @ (a @ along)
        residuals_dot = 2 * np.sum(conj(r) * change, axis=0) if has_residuals else np.zeros_like(residuals)
        U, _s, Vh = np.linalg.svd(a, full_matrices=False)
        s_dot = np.sum(conj(U) * (a_dot @ adjoint(Vh)), axis=-2)
        return X_dot[:, 0] if vector else X_dot, np.real(residuals_dot), None, np.real(s_dot)

    def pullback(bars: Any) -> Any:
        x_bar, residuals_bar, _, s_bar = bars
        P = np.linalg.pinv(a, cutoff)
        r = B - a @ X
        B_bar, a_bar = np.zeros_like(B), np.zeros_like(a)
        if x_bar is not None:
            X_bar = x_bar[:, None] if vector else x_bar
            Y = adjoint(P) @ X_bar
            B_bar = B_bar + Y
            beside = X_bar - P @ (a @ X_bar)
            a_bar = a_bar - Y @ adjoint(X) + r @ adjoint(P @ Y) + (adjoint(P) @ X) @ adjoint(beside)
        if residuals_bar is not None and has_residuals:
            Y = 2 * r * residuals_bar
            B_bar = B_bar + Y
            a_bar = a_bar - Y @ adjoint(X)
        if s_bar is not None:
            U, _s, Vh = np.linalg.svd(a, full_matrices=False)
            a_bar = a_bar + (U * s_bar) @ Vh
        return a_bar, B_bar[:, 0] if vector else B_bar, None

    return (x, residuals, rank, s), Differential(pushforward, pullback, symbolic_zeros=True)


# -- composed of the others ------------------------------------------------------------------------------


@composed(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    if axes is not None:
        others = [k for k in range(a.ndim) if k not in axes]
        a = np.transpose(a, [*others, *axes])
    shape = a.shape[b.ndim :]
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
    return np.reshape(np.linalg.inv(np.reshape(a, (n, n))), (*a.shape[ind:], *a.shape[:ind]))


@composed(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    if p is None or p in (2, -2):
        s = np.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    inverse = np.linalg.inv(x)
    y = np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(inverse, p, axis=(-2, -1))
    return y.astype(x.dtype) if COMPLEX_COND else y
