"""Maps from unconstrained numbers to parameters that obey constraints, and back.

A search over all real numbers thereby finds positive variances, stationary autoregressions, invertible moving
averages and positive definite matrices.  All maps are smooth, one to one and onto the open set of what they
allow, so a maximum on its boundary (a variance of zero) is approached, not reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.linalg import makediag, potrf, trsm
from lindiff.scipy.linalg import solve_discrete_lyapunov

__all__ = [
    "NAMED",
    "Transform",
    "bounded",
    "correlation",
    "covariance",
    "invertible",
    "positive",
    "size_of_triangle",
    "stationary",
    "stationary_var",
    "unconstrained",
]


class _Maps(NamedTuple):
    constrain: Callable[[Any], Any]
    unconstrain: Callable[[Any], Any]


class Transform(_Maps):
    """A map from unconstrained numbers and its inverse.

    Parameters
    ----------
    constrain : callable
        Takes an array of any real numbers, gives parameters; written in functions that have derivatives.
    unconstrain : callable
        The inverse, for plain arrays.  Raises ValueError for parameters outside of what is allowed.
    doc : str, optional
        What ``help`` shows of it.

    Examples
    --------
    A probability:

    >>> import numpy as np
    >>> from lindiff.statespace import Transform, fit
    >>> probability = Transform(lambda x: 1 / (1 + np.exp(-x)), lambda p: np.log(p / (1 - p)))
    >>> probability.constrain(0.0)
    np.float64(0.5)
    """

    def __new__(
        cls, constrain: Callable[[Any], Any], unconstrain: Callable[[Any], Any], doc: str | None = None
    ) -> Transform:
        transform = super().__new__(cls, constrain, unconstrain)
        if doc is not None:
            transform.__doc__ = doc
        return transform

    def __reduce__(self) -> Any:
        """Those that have names are themselves after they were pickled."""
        for name, named in NAMED.items():
            if self is named:
                return name
        return Transform, tuple(self)


# -- variances -------------------------------------------------------------------------------------------


def _log_of_positive(variance: Any) -> Any:
    variance = np.asarray(variance)
    if not np.all(variance > 0):
        raise ValueError(f"positive: all of {variance} must be greater than 0")
    return np.log(variance)


positive = Transform(
    np.exp,
    _log_of_positive,
    "Positive numbers: ``exp(x)``, elementwise.",
)


def bounded(lower: float | None = None, upper: float | None = None) -> Transform:
    """Numbers between two bounds, or on one side of one, elementwise.

    Parameters
    ----------
    lower, upper : float, optional
        None or infinite: there is no such bound.

    Returns
    -------
    Transform
        ``lower + (upper - lower) / (1 + exp(-x))``; with one bound ``lower + exp(x)`` or ``upper - exp(x)``.

    Raises
    ------
    ValueError
        If the lower bound is not below the upper one.

    Examples
    --------
    >>> from lindiff import statespace
    >>> statespace.bounded(-1, 1).constrain(0.0)
    np.float64(0.0)
    >>> float(statespace.bounded(0, 2).unconstrain(1.0))
    0.0
    """
    low = -np.inf if lower is None else float(lower)
    high = np.inf if upper is None else float(upper)
    if not low < high:
        raise ValueError(f"bounded: lower must be below upper, got {lower} and {upper}")
    if np.isinf(low) and np.isinf(high):
        return unconstrained
    between = _Between(low, high)
    return Transform(between.constrain, between.unconstrain)


class _Between(NamedTuple):
    """Numbers from `low` to `high`, of which one is finite."""

    low: float
    high: float

    def constrain(self, x: Any) -> Any:
        if np.isinf(self.high):
            return self.low + np.exp(x)
        if np.isinf(self.low):
            return self.high - np.exp(x)
        return 0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * np.tanh(0.5 * x)

    def unconstrain(self, p: Any) -> Any:
        p = np.asarray(p, np.float64)
        if not np.all((self.low < p) & (p < self.high)):
            raise ValueError(f"bounded: {p} is not between {self.low:g} and {self.high:g}")
        if np.isinf(self.high):
            return np.log(p - self.low)
        if np.isinf(self.low):
            return np.log(self.high - p)
        return np.log((p - self.low) / (self.high - p))


unconstrained = Transform(
    np.positive,
    np.positive,
    "Any real numbers, as they are.",
)


# -- autoregressions and moving averages -----------------------------------------------------------------


def _stationary(x: Any) -> Any:
    """Partial autocorrelations ``r = x / √(1 + x²)`` to coefficients by Durbin and Levinson's recursion.

    Monahan (1984), A note on enforcing stationarity in autoregressive-moving average models, Biometrika 71,
    403-404; Jones (1980), Technometrics 22, 389-395.
    """
    r = x / np.sqrt(1 + x * x)
    ar = r[..., :0]
    for k in range(r.shape[-1]):
        last = r[..., k : k + 1]
        ar = np.concatenate([ar - last * ar[..., ::-1], last], axis=-1)
    return ar


def _unconstrained_of_stationary(ar: Any) -> Any:
    """The recursion backward: ``ar_i ← (ar_i + r ar_{k-i}) / (1 - r²)`` with the last coefficient r."""
    ar = given = np.asarray(ar)
    if not ar.ndim:
        raise ValueError(f"stationary: coefficients are a vector: write [{ar}]")
    partial: list[Any] = []
    while ar.shape[-1]:
        last, ar = ar[..., -1:], ar[..., :-1]
        if not np.all(np.abs(last) < 1):
            raise ValueError(f"stationary: the coefficients {given} are not those of a stationary process")
        partial.append(last / np.sqrt(1 - last * last))
        ar = (ar + last * ar[..., ::-1]) / (1 - last * last)
    return np.concatenate([given[..., :0], *partial[::-1]], axis=-1)


def _unconstrained_of_invertible(ma: Any) -> Any:
    ma = np.asarray(ma)
    try:
        return _unconstrained_of_stationary(-ma)
    except ValueError:
        raise ValueError(
            f"invertible: the coefficients {ma} are not those of an invertible process"
        ) from None


stationary = Transform(
    _stationary,
    _unconstrained_of_stationary,
    "Autoregressive coefficients (..., p) of stationary processes: ``1 - Σ ar_i zⁱ`` has its roots outside\n"
    "of the unit circle.  By partial autocorrelations, Monahan (1984).",
)

invertible = Transform(
    lambda x: -_stationary(x),
    _unconstrained_of_invertible,
    "Moving average coefficients (..., q) of invertible processes: ``1 + Σ ma_j zʲ`` has its roots outside\n"
    "of the unit circle.  The map of `stationary`, with the other sign.",
)


# -- vector autoregressions ------------------------------------------------------------------------------


class _Prediction(NamedTuple):
    """Coefficients of the best predictions from the s values before and after, factors of their errors."""

    before: list[Any]
    after: list[Any]
    L: Any  # Cholesky factor of the covariance of the errors of `before`
    M: Any  # of `after`

    def longer(self, P: Any) -> _Prediction:
        """From one value more, whose partial autocorrelations are P: Whittle's recursion."""
        before, after, L, M = self
        identity = np.eye(P.shape[-1], dtype=P.dtype)
        last = trsm(M, L @ P, rightside=True)
        first = trsm(L, M @ P.T, rightside=True)
        return _Prediction(
            [*(a - last @ b for a, b in zip(before, after[::-1], strict=True)), last],
            [*(b - first @ a for a, b in zip(before[::-1], after, strict=True)), first],
            L @ potrf(identity - P @ P.T),
            M @ potrf(identity - P.T @ P),
        )


def _stationary_var(x: Any) -> Any:
    """Partial autocorrelations ``P = B⁻¹ A``, ``B Bᵀ = I + A Aᵀ``, to coefficients for innovations N(0, I).

    Ansley & Kohn (1986), A note on reparameterizing a vector autoregressive moving average model to enforce
    stationarity, Journal of Statistical Computation and Simulation 24, 99-106.
    """
    if x.ndim == 2:
        return _stationary_var(x[None])[0]
    identity = np.eye(x.shape[-1], dtype=x.dtype)
    prediction = _Prediction([], [], identity, identity)
    for A in x:
        prediction = prediction.longer(trsm(potrf(identity + A @ A.T), A))
    L = prediction.L
    return np.stack([trsm(L, a) @ L for a in prediction.before])


def _unconstrained_of_stationary_var(coefficients: Any) -> Any:
    """From the autocovariances ``G_h = E y_t y_{t-h}ᵀ``: ``A = C⁻¹ P`` with ``C Cᵀ = I - P Pᵀ``."""
    coefficients = np.asarray(coefficients)
    if coefficients.ndim == 2:
        return _unconstrained_of_stationary_var(coefficients[None])[0]
    if coefficients.ndim != 3 or coefficients.shape[1] != coefficients.shape[2] or not coefficients.size:
        raise ValueError(
            f"stationary_var: coefficients are (k, p, p) or (p, p), got shape {coefficients.shape}"
        )
    k, p, _ = coefficients.shape
    companion = np.eye(k * p, k=-p, dtype=coefficients.dtype)
    companion[:p] = np.concatenate(list(coefficients), axis=1)
    if not np.max(np.abs(np.linalg.eigvals(companion))) < 1:
        raise ValueError(
            f"stationary_var: the coefficients {coefficients} are not those of a stationary process"
        )
    identity = np.eye(p, dtype=coefficients.dtype)
    X = solve_discrete_lyapunov(companion, np.pad(identity, (0, (k - 1) * p)))
    G = [*np.split(X[:p], k, axis=1), (companion @ X)[:p, -p:]]
    L = potrf(G[0])
    prediction = _Prediction([], [], L, L)
    free = []
    for s in range(k):
        rest = G[s + 1] - sum(a @ g for a, g in zip(prediction.before, G[s:0:-1], strict=True))
        P = trsm(prediction.M, trsm(prediction.L, rest), transpose=True, rightside=True)
        free.append(trsm(potrf(identity - P @ P.T), P))
        prediction = prediction.longer(P)
    return np.stack(free)


stationary_var = Transform(
    _stationary_var,
    _unconstrained_of_stationary_var,
    "Coefficients (k, p, p), or (p, p), of stationary vector autoregressions: all roots of\n"
    "``|I - Σ A_i zⁱ|`` lie outside of the unit circle.  By partial autocorrelation matrices, Ansley & Kohn\n"
    "(1986); it is `stationary` for p = 1.",
)


# -- matrices --------------------------------------------------------------------------------------------


def size_of_triangle(x: Any, name: str, offset: int) -> int:
    """n of a vector of ``n (n + offset) / 2`` numbers."""
    m = x.shape[-1]
    n = (int(np.sqrt(8 * m + 1)) - offset) // 2
    if n * (n + offset) != 2 * m:
        raise ValueError(f"{name}: {m} numbers fill no triangle, x has shape {x.shape}")
    return n


def _strict_triangle(x: Any, n: int) -> Any:
    """The matrix that has x row by row below its diagonal, and zeros."""
    places = np.full((n, n), x.shape[-1])
    places[np.tril_indices(n, -1)] = np.arange(x.shape[-1])
    return np.concatenate([x, np.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)[..., places]


def _cholesky(matrix: Any, name: str) -> Any:
    matrix = np.asarray(matrix)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"{name}: a square matrix is needed, got shape {matrix.shape}")
    if not np.allclose(matrix, np.swapaxes(matrix, -1, -2)):
        raise ValueError(f"{name}: {matrix} is not symmetric")
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name}: {matrix} is not positive definite") from None


def _covariance(x: Any) -> Any:
    """``L Lᵀ`` with a triangle L, given by the logarithms of its diagonal and then what is below.

    Pinheiro & Bates (1996), Unconstrained parametrizations for variance-covariance matrices, Statistics and
    Computing 6, 289-296, section 2.2.
    """
    n = size_of_triangle(x, "covariance", 1)
    L = makediag(np.exp(x[..., :n])) + _strict_triangle(x[..., n:], n)
    return L @ np.swapaxes(L, -1, -2)


def _unconstrained_of_covariance(cov: Any) -> Any:
    L = _cholesky(cov, "covariance")
    rows, columns = np.tril_indices(L.shape[-1], -1)
    log_diagonal = np.log(np.diagonal(L, axis1=-2, axis2=-1))
    return np.concatenate([log_diagonal, L[..., rows, columns]], axis=-1)


covariance = Transform(
    _covariance,
    _unconstrained_of_covariance,
    "Positive definite matrices (..., n, n) from ``n (n + 1) / 2`` numbers, by their Cholesky factors;\n"
    "Pinheiro & Bates (1996).",
)


def _correlation(x: Any) -> Any:
    """``L Lᵀ`` with a triangle L of rows of length one: the directions of (x below the diagonal, 1)."""
    n = size_of_triangle(x, "correlation", -1)
    M = _strict_triangle(x, n) + np.eye(n, dtype=x.dtype)
    L = M / np.sqrt(np.sum(M * M, axis=-1, keepdims=True))
    return L @ np.swapaxes(L, -1, -2)


def _unconstrained_of_correlation(correlations: Any) -> Any:
    L = _cholesky(correlations, "correlation")
    if not np.allclose(np.sum(L * L, axis=-1), 1):
        raise ValueError(f"correlation: the diagonal of {correlations} is not one")
    rows, columns = np.tril_indices(L.shape[-1], -1)
    return L[..., rows, columns] / L[..., rows, rows]


correlation = Transform(
    _correlation,
    _unconstrained_of_correlation,
    "Positive definite matrices (..., n, n) with ones on the diagonal, from ``n (n - 1) / 2`` numbers, by\n"
    "Cholesky factors whose rows have length one.",
)

# What transforms are called where text stands for them.
NAMED = {
    "positive": positive,
    "stationary": stationary,
    "stationary_var": stationary_var,
    "invertible": invertible,
    "covariance": covariance,
    "correlation": correlation,
    "unconstrained": unconstrained,
}
