"""Gaussian log densities: one factorization for the value, one inverse for the gradient, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import fused, fused_trusting, renamed, trusting
from lindiff.linalg._matrices import transposed
from lindiff.linalg._one_triangle import OneTriangle, from_triangle
from lindiff.linalg.cholesky import potrf, potri, sumlogdiag
from lindiff.linalg.diagonals import extractdiag, makediag
from lindiff.linalg.triangular import trsm

__all__ = ["density_of_rows", "gp_logpdf", "log_density", "log_density_pullback", "mvn_logpdf"]

LOG_TWO_PI = float(np.log(2 * np.pi))


# -- the density of rows ---------------------------------------------------------------------------------


@fused
def log_density(A: Any, R: Any, noise: Any = None, overwrite_a: bool = False) -> Any:
    """``log N(r | 0, A)`` of every row r of R, and L, Z with ``A = L Lᵀ``, ``Z = R L⁻ᵀ``; noise is added to
    the diagonal of A.
    """
    L = potrf(A if noise is None else A + makediag(noise))
    Z = trsm(L, R, transpose=True, rightside=True)
    constant = 0.5 * A.shape[-1] * LOG_TWO_PI
    return -0.5 * np.sum(Z * Z, axis=-1) - sumlogdiag(L)[..., None] - constant, L, Z


@fused_trusting
def log_density_pullback(L: Any, Z: Any, p_bar: Any) -> Any:
    """``A_bar = ½ Σ p̄ᵢ (αᵢ αᵢᵀ - A⁻¹)``, and the rows ``-p̄ᵢ αᵢ`` of R_bar, ``α = A⁻¹ r``.

    Rasmussen & Williams (2006), eq. 5.9.
    """
    alpha = trsm(L, Z, rightside=True)
    weighted = alpha * p_bar[..., None]
    total = np.sum(p_bar, axis=-1)[..., None, None]
    return 0.5 * (transposed(alpha) @ weighted - total * potri(L)), -weighted


def log_density_pushforward(L: Any, Z: Any, A_dot: Any, R_dot: Any) -> Any:
    """``p_dot = ½ αᵀ A_dot α - ½ tr(A⁻¹ A_dot) - αᵀ r_dot``; either tangent may be None.

    Of A_dot the lower triangle is read.
    """
    with trusting():
        alpha = trsm(L, Z, rightside=True)
        K_inv = None if A_dot is None else potri(L)
    if A_dot is None:
        return -np.sum(alpha * R_dot, axis=-1)
    A_dot = from_triangle(A_dot, True)
    trace = np.sum(K_inv * A_dot, axis=(-2, -1))
    p_dot = 0.5 * (np.sum(product(alpha, A_dot) * alpha, axis=-1) - trace[..., None])
    return p_dot if R_dot is None else p_dot - np.sum(alpha * R_dot, axis=-1)


@rule
def density_of_rows(A: Any, R: Any, noise: Any) -> Any:
    """log densities N(r | 0, A + diag(noise)) of the rows r of R (..., m, n): (..., m).

    The entry for plain arrays overwrites L by A_bar.
    """
    p, L, Z = log_density(A, R, noise)
    M = OneTriangle(A, True)

    def pull_A(p_bar: Any) -> Any:
        A_bar, R_bar = log_density_pullback(L, Z, p_bar)
        return M.gradient(A_bar), R_bar, None if noise is None else extractdiag(A_bar)

    def pull_R(p_bar: Any) -> Any:
        with trusting():
            alpha = trsm(L, Z, rightside=True)
        return None, -(alpha * p_bar[..., None]), None

    return p, Differential(
        (
            lambda A_dot: log_density_pushforward(L, Z, A_dot, None),
            lambda R_dot: log_density_pushforward(L, Z, None, R_dot),
            lambda noise_dot: log_density_pushforward(L, Z, makediag(noise_dot), None),
        ),
        {
            active: pull_R if active == (1,) else pull_A
            for active in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
        },
    )


def _density(A: Any, R: Any, noise: Any, overwrite_a: bool, name: str) -> Any:
    try:
        if any(type(x) is Variable for x in (A, R, noise)):
            return density_of_rows(A, R, noise)
        return log_density(A, R, noise, overwrite_a=overwrite_a)[0]
    except np.linalg.LinAlgError as error:
        raise renamed(error, name) from None


# -- public ----------------------------------------------------------------------------------------------


def _real(x: Any, name: str, argument: str) -> Any:
    x = x if hasattr(x, "shape") else np.asarray(x)
    if x.dtype.kind == "f":
        return x
    if x.dtype.kind in "iub":
        return x.astype(np.float64)
    hint = "; write it as a real vector of twice the length" if x.dtype.kind == "c" else ""
    raise TypeError(f"{name}: {argument} has dtype {x.dtype}, real numbers are needed{hint}")


def _covariance(A: Any, name: str, argument: str) -> Any:
    A = _real(A, name, argument)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: {argument} must be square in its last two axes, got shape {A.shape}")
    return A


def mvn_logpdf(x: Any, mean: Any, cov: Any, *, overwrite_cov: bool = False) -> Any:
    """Log density of the multivariate normal distribution.

    Parameters
    ----------
    x : (..., n) array
    mean : (..., n) array or None
        None stands for zero; a number is the mean of every component.
    cov : (..., n, n) array
        Positive definite; only the lower triangle is read.  Its gradient is symmetric, but for entries whose
        mirror image differs or is exactly zero: they have the whole derivative in the lower triangle.
    overwrite_cov : bool
        A plain array `cov` may be overwritten.

    Returns
    -------
    (...) array
        ``scipy.stats.multivariate_normal.logpdf(x, mean, cov)``, with leading axes of all three broadcast.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a covariance is not positive definite; names the leading minor and the matrix of the batch.

    Notes
    -----
    Each covariance is factored once, however many points x are evaluated with it.  For one covariance and m
    points the value costs n³/3 + mn² flops and one n×n array; the gradient 2n³/3 + 2mn² more, and overwrites
    that array.  Unlike SciPy's, x of shape (m,) is always one point of m components.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> cov = np.array([[2.0, 0.0], [0.0, 0.5]])
    >>> points = np.array([[0.0, 0.0], [2.0, 0.0]])
    >>> ld.linalg.mvn_logpdf(points, 0.0, cov)
    array([-1.83787707, -2.83787707])
    >>> ld.grad(lambda cov: np.sum(ld.linalg.mvn_logpdf(points, None, cov)))(cov)
    array([[ 0.,  0.],
           [ 0., -2.]])
    """
    x, cov = _real(x, "mvn_logpdf", "x"), _covariance(cov, "mvn_logpdf", "cov")
    n = cov.shape[-1]
    if x.shape[-1:] != (n,):
        raise ValueError(f"mvn_logpdf: x of shape {x.shape} and cov of shape {cov.shape} do not fit together")
    r = x
    if mean is not None:
        mean = _real(mean, "mvn_logpdf", "mean")
        if mean.shape[-1:] not in ((), (n,)):
            raise ValueError(
                f"mvn_logpdf: mean of shape {mean.shape} and cov of shape {cov.shape} do not fit"
            )
        r = x - mean
    if cov.ndim == 2:
        p = _density(cov, np.reshape(r, (int(np.prod(r.shape[:-1])), n)), None, overwrite_cov, "mvn_logpdf")
        return np.reshape(p, r.shape[:-1])
    return _density_of_batch(r, cov, overwrite_cov)


def _density_of_batch(r: Any, cov: Any, overwrite_cov: bool) -> Any:
    """Axes along which the covariance is the same are axes of points."""
    n = cov.shape[-1]
    batch = np.broadcast_shapes(r.shape[:-1], cov.shape[:-2])
    axes = range(len(batch))
    covs = (1,) * (len(batch) + 2 - cov.ndim) + cov.shape[:-2]
    of_matrices = [i for i in axes if covs[i] != 1]
    of_points = [i for i in axes if covs[i] == 1]
    order = of_matrices + of_points
    matrices, points = tuple(batch[i] for i in of_matrices), tuple(batch[i] for i in of_points)
    R = np.transpose(np.broadcast_to(r, (*batch, n)), (*order, len(batch)))
    R = np.reshape(R, (*matrices, int(np.prod(points)), n))
    p = _density(np.reshape(cov, (*matrices, n, n)), R, None, overwrite_cov, "mvn_logpdf")
    return np.transpose(np.reshape(p, (*matrices, *points)), [order.index(i) for i in axes])


def gp_logpdf(y: Any, K: Any, noise: Any = None, *, overwrite_k: bool = False) -> Any:
    """Log marginal likelihood of a Gaussian process, ``log N(y | 0, K + diag(noise))``.

    Parameters
    ----------
    y : (n,) or (..., n, k) array
        Observations; columns are independent, and their log densities are added up.
    K : (..., n, n) array
        Covariance of the process at the inputs; only the lower triangle is read, and its gradient is as that
        of ``cov`` in :func:`mvn_logpdf`.
    noise : number or (..., n) array, optional
        Variance of the noise, the same or one for each observation; cheaper than adding a diagonal matrix.
    overwrite_k : bool
        A plain array K may be overwritten.

    Returns
    -------
    (...) array
        ``-½ yᵀ A⁻¹ y - ½ log |A| - ½ n log 2π``, ``A = K + diag(noise)``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not positive definite; names the leading minor and the matrix of the batch.

    Notes
    -----
    n³ flops for value and gradient, n³/3 of them for the value; one n×n array, which holds the Cholesky
    factor and then the gradient ``½ (α αᵀ - A⁻¹)``, ``α = A⁻¹ y``; Rasmussen & Williams (2006), eq. 5.9.
    Higher derivatives go through the factor.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> x, y = np.linspace(0.0, 1.0, 5), np.array([0.0, 0.4, 0.8, 0.9, 1.0])
    >>> def evidence(length, noise):
    ...     K = np.exp(-0.5 * ((x[:, None] - x) / length) ** 2)
    ...     return ld.linalg.gp_logpdf(y, K, noise)
    >>> value, slopes = ld.value_and_grad(evidence, argnums=(0, 1))(0.5, 0.01)
    >>> print(f"{value:.4f} {slopes[0]:.4f} {slopes[1]:.4f}")
    -1.5163 6.5014 -42.9972
    """
    y, K = _real(y, "gp_logpdf", "y"), _covariance(K, "gp_logpdf", "K")
    n = K.shape[-1]
    R = y[None, :] if y.ndim == 1 else transposed(y) if y.ndim else y
    if R.ndim < 2 or R.shape[-1] != n:
        raise ValueError(f"gp_logpdf: y of shape {y.shape} and K of shape {K.shape} do not fit together")
    if noise is not None:
        if type(noise) in (int, float):  # as NumPy's arithmetic has it
            noise = placed(np.asarray(noise, K.dtype), y, K)
        noise = _real(noise, "gp_logpdf", "noise")
        if noise.shape[-1:] not in ((), (n,)):
            raise ValueError(
                f"gp_logpdf: noise of shape {noise.shape} and K of shape {K.shape} do not fit together"
            )
        noise = np.broadcast_to(noise, (*noise.shape[:-1], n))
    p = _density(K, R, noise, overwrite_k, "gp_logpdf")
    return p[..., 0] if p.shape[-1] == 1 else np.sum(p, axis=-1)
