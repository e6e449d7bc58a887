"""Gamma functions under other names (polygamma, factorial, comb, …), and Dirichlet's kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.arrays import on_host
from lindiff.rules.special import gamma
from lindiff.scipy.special._arguments import drop_in, refuse_variable

__all__ = ["comb", "diric", "factorial", "multigammaln", "perm", "polygamma"]


@drop_in(special.polygamma, no_axes="array")
def polygamma(n: Any, x: Any) -> Any:
    """Differentiable in `x`, which is real.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import polygamma
    >>> bool(ld.grad(lambda x: polygamma(1, x))(2.5) == polygamma(2, 2.5))
    True
    """
    refuse_variable("polygamma", "n", n, "it is an integer")
    return gamma.polygamma(n, x)


@drop_in(special.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """Differentiable in `a`.

    ``log Γ_d(a) = d (d - 1) / 4 log π + Σ log Γ(a - j/2)`` for j from 0 to d - 1.

    Raises
    ------
    ValueError
        As SciPy does, where `a` is too small or `d` no integer.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import multigammaln, digamma
    >>> bool(ld.grad(multigammaln)(3.0, 2) == digamma(3.0) + digamma(2.5))
    True
    """
    refuse_variable("multigammaln", "d", d, "it is an integer")
    special.multigammaln(on_host(a), d)  # for its errors
    terms = [special.gammaln(a - 0.5 * j) for j in range(int(d))]
    return sum(terms[1:], terms[0]) + d * (d - 1) * 0.25 * np.log(np.pi)  # float64, as SciPy's result is


@drop_in(special.factorial, no_axes="like first")
def factorial(n: Any, exact: bool = False, **options: Any) -> Any:
    """Differentiable in `n`, which is real: ``n! = Γ(n + 1)``, zero for negative n.

    ``exact=True`` is for integers, which have no derivative.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import factorial
    >>> round(float(ld.grad(factorial)(3.0)), 6)
    7.536706
    """
    if exact:
        raise ValueError("factorial(exact=True) is for integers, which have no derivative: leave out exact")
    y = special.gamma(n + 1)
    if options.get("extend", "zero") == "complex":
        return y
    return np.where(np.less(n, 0), 0, y)


def _where_valid(N: Any, k: Any, y: Any) -> Any:
    return np.where(np.less_equal(k, N) & np.greater_equal(N, 0) & np.greater_equal(k, 0), y, 0)


@drop_in(special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Differentiable in `N` and `k`, which are real: zero unless 0 ≤ k ≤ N.

    ``exact=True`` is for integers, which have no derivative.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import comb
    >>> round(float(ld.grad(comb)(4.0, 2)), 6)
    3.5
    """
    if exact:
        raise ValueError("comb(exact=True) is for integers, which have no derivative: leave out exact")
    if repetition:
        nothing = np.equal(k, 0) & np.greater_equal(N, 0)
        return np.where(nothing, 1, special.binom(N + k - 1, k))
    return _where_valid(N, k, special.binom(N, k))


@drop_in(special.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Differentiable in `N` and `k`, which are real: zero unless 0 ≤ k ≤ N.

    ``exact=True`` is for integers, which have no derivative.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import perm
    >>> round(float(ld.grad(perm)(4.0, 2)), 6)
    7.0
    """
    if exact:
        raise ValueError("perm(exact=True) is for integers, which have no derivative: leave out exact")
    return _where_valid(N, k, special.poch(N - k + 1, k))


@drop_in(special.diric, no_axes="array")
def diric(x: Any, n: Any) -> Any:
    """Differentiable in `x`: ``sin(n x / 2) / (n sin(x / 2))``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.special import diric
    >>> float(ld.grad(diric)(0.0, 3))
    0.0
    """
    refuse_variable("diric", "n", n, "it is an integer")
    turns = np.round(x / (2 * math.pi))
    rest = x - 2 * math.pi * turns
    sign = np.where(np.remainder(turns * np.subtract(n, 1), 2) == 0, 1, -1)
    y = sign * np.sinc(n * rest / (2 * math.pi)) / np.sinc(rest / (2 * math.pi))
    return np.where(np.greater(n, 0) & np.equal(n, np.floor(n)), y, np.nan)
