"""Polynomials by their coefficients, the highest power first, as ``np.poly1d`` has them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed
from lindiff.core.differential import Differential
from lindiff.core.registry import composed, rule
from lindiff.core.variable import value
from lindiff.rules._common import as_array, conj

__all__: list[str] = []


def coefficients(p: Any) -> Any:
    """The coefficients of a ``np.poly1d``, of a number, of an array."""
    return p.coeffs if isinstance(p, np.poly1d) else np.atleast_1d(as_array(p))


def without_leading_zeros(p: Any) -> Any:
    """As ``np.poly1d`` takes coefficients; of zeros one is left."""
    nonzero = np.flatnonzero(on_host(p))
    return p[nonzero[0] if nonzero.size else -1 :]


def of_polynomials(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: ``function`` on Variables; gives ``np.poly1d`` where it gets one."""

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        @composed(function)
        @functools.wraps(implementation)
        def on_coefficients(*args: Any, **kwargs: Any) -> Any:
            found = [x for x in (*args, *kwargs.values()) if isinstance(x, np.poly1d)]
            if not found:
                return implementation(*args, **kwargs)
            args = tuple(coefficients(x) if isinstance(x, np.poly1d) else x for x in args)
            kwargs = {name: coefficients(x) if x is found[-1] else x for name, x in kwargs.items()}
            result = implementation(*args, **kwargs)
            return tuple(map(np.poly1d, result)) if isinstance(result, tuple) else np.poly1d(result)

        return implementation

    return register


# -- arithmetic ------------------------------------------------------------------------------------------


def of_one_length(a1: Any, a2: Any) -> tuple[Any, Any]:
    """The coefficients of two polynomials, the shorter with zeros before."""
    a1, a2 = coefficients(a1), coefficients(a2)
    n = max(len(a1), len(a2))
    return tuple(a if len(a) == n else np.pad(a, (n - len(a), 0)) for a in (a1, a2))  # type: ignore[return-value]


@of_polynomials(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    a1, a2 = of_one_length(a1, a2)
    return a1 + a2


@of_polynomials(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    a1, a2 = of_one_length(a1, a2)
    return a1 - a2


@of_polynomials(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    return np.convolve(without_leading_zeros(coefficients(a1)), without_leading_zeros(coefficients(a2)))


@rule
def series_quotient(u: Any, v: Any) -> Any:
    """The q for which the first coefficients of ``v q`` are ``u``: a triangular Toeplitz system.

    ``dq = series_quotient(du - (dv q), v)``; the adjoint of division is division from the other end.
    """
    n, after = len(u), len(v) - 1
    q = np.polydiv(np.concatenate([u, np.zeros(after, u.dtype)]), v)[0]

    def adjoint(q_bar: Any) -> Any:
        return np.flip(series_quotient(np.flip(q_bar), conj(v)))

    def pull_v(q_bar: Any) -> Any:
        return -np.correlate(np.pad(adjoint(q_bar), (0, after)), q, "valid")

    return q, Differential(
        (
            lambda u_dot: series_quotient(u_dot, v),
            lambda v_dot: -series_quotient(np.convolve(v_dot, q)[:n], v),
        ),
        (adjoint, pull_v),
    )


@of_polynomials(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    u, v = coefficients(u) + 0.0, coefficients(v) + 0.0
    dtype = np.result_type(u, v)
    u, v = np.astype(u, dtype), np.astype(v, dtype)
    left = len(np.polydiv(value(u), value(v))[1])  # NumPy leaves out leading coefficients that are negligible
    n = len(u) - len(v) + 1
    if n <= 0:
        return np.zeros(1, dtype), u[len(u) - left :]
    q = series_quotient(u[:n], v)
    return q, (u - np.convolve(q, v))[len(u) - left :]


# -- calculus --------------------------------------------------------------------------------------------


@of_polynomials(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    for _ in range(m):
        p = p[:-1] * placed(np.arange(len(p) - 1, 0, -1), p)
    return p


@of_polynomials(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if len(k) == 1 and m > 1:
        k = np.broadcast_to(k, m)
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = as_array(p)
    for i in range(m):
        p = np.concatenate([p / placed(np.arange(len(p), 0, -1), p), placed(k[i : i + 1], p)])
    return p


# -- values ----------------------------------------------------------------------------------------------


@rule
def values(p: Any, x: Any) -> Any:
    """``y = Σ p_k x^{n-1-k}``."""
    p, x = as_array(p), placed(as_array(x), p)

    def slope() -> Any:
        return np.polyval(polyder(p), x)

    def powers() -> Any:
        return np.vander(np.astype(np.ravel(x), np.result_type(p, x)), len(p))

    return np.polyval(p, x), Differential(
        (lambda p_dot: np.polyval(p_dot, x), lambda x_dot: slope() * x_dot),
        (lambda y_bar: conj(powers()).T @ np.ravel(y_bar), lambda y_bar: conj(slope()) * y_bar),
    )


@composed(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    p = placed(coefficients(p), x)
    if isinstance(x, np.poly1d) or p.ndim > 1:  # a polynomial of a polynomial; coefficients that are arrays
        y = np.poly1d([0]) if isinstance(x, np.poly1d) else np.zeros_like(as_array(value(x)))
        for coefficient in p:
            y = y * x + coefficient
        return y
    return values(p, x)


# -- zeros -----------------------------------------------------------------------------------------------


@composed(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The product of ``x - z`` over the zeros, or the characteristic polynomial of a matrix."""
    z = np.atleast_1d(as_array(seq_of_zeros))
    if z.ndim == 2 and z.shape[0] == z.shape[1] != 0:
        z = np.linalg.eigvals(z)
    elif z.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(z) == 0:
        return 1.0
    factors = np.stack([placed(np.ones(len(z), z.dtype), z), -z], axis=1)
    p = factors[0]
    for i in range(1, len(z)):
        p = np.convolve(p, factors[i])
    plain = value(z)
    if plain.dtype.kind == "c" and np.array_equal(np.sort(plain), np.sort(plain.conjugate())):
        p = np.real(p).copy()
    return p


@rule(np.roots)
def roots(p: Any) -> Any:
    """``p(r) = 0``, so ``p'(r) dr = -dp(r)``.

    A root that is repeated has no derivative; where nothing depends on it, none is asked for.
    """
    r = np.roots(p)

    def slope() -> Any:
        return np.polyval(polyder(p), r)

    def roots_pullback(r_bar: Any) -> Any:
        moved = np.where(value(r_bar) == 0, 0, -r_bar / np.where(value(r_bar) == 0, 1, conj(slope())))
        return conj(np.vander(r, len(p))).T @ moved

    return r, Differential((lambda p_dot: -np.polyval(p_dot, r) / slope(),), (roots_pullback,))


# -- fits ------------------------------------------------------------------------------------------------


@composed(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Least squares with columns scaled to length 1, as NumPy does it."""
    order = int(deg) + 1
    x, y = placed(as_array(x), y) + 0.0, placed(as_array(y), x) + 0.0
    check_fit(order, x, y, w)
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    columns, targets = np.vander(x, order), y
    if w is not None:
        w = placed(as_array(w), x) + 0.0
        columns = columns * w[:, None]
        targets = targets * (w[:, None] if y.ndim == 2 else w)
    lengths = np.sqrt(np.sum(columns * columns, axis=0))
    columns = columns / lengths
    p, residuals, rank, s = np.linalg.lstsq(columns, targets, rcond)
    p = (p.T / lengths).T
    if full:
        return p, residuals, rank, s, rcond
    if rank != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if not cov:
        return p
    covariance = np.linalg.inv(columns.T @ columns) / np.outer(lengths, lengths)
    if isinstance(cov, str) and cov == "unscaled":
        factor: Any = 1
    else:
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (len(x) - order)
    return p, covariance * factor if y.ndim == 1 else covariance[:, :, None] * factor


def check_fit(order: int, x: Any, y: Any, w: Any) -> None:
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None:
        if np.ndim(w) != 1:
            raise TypeError("expected a 1-d array for weights")
        if np.shape(w)[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
