"""Sums of exponentials: logsumexp, softmax, log_softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import as_array, conj, normalized_axes
from lindiff.rules.reductions.compiled import use_exponential_paths
from lindiff.scipy.special._arguments import drop_in

__all__ = ["log_softmax", "logsumexp", "softmax"]


@rule
def log_of_sum(a: Any, b: Any, axes: tuple[int, ...], signed: bool) -> Any:
    """``log Σ b exp(a)``, of the modulus of the sum if `signed` (a real); the axes stay, of length 1.

    With ``p = b exp(a) / Σ b exp(a)``: dy = Σ p da + Σ p/b db.
    """
    if isinstance(a, Variable) or isinstance(b, Variable):  # of an enclosing trace
        y = log_of_sum(a, b, axes, signed)
    else:
        y = counterpart(special.logsumexp, a, b)(a, axis=axes, b=b, keepdims=True, return_sign=signed)
        y = y[0] if signed else y

    def shares() -> Any:
        """``exp(a - y)`` with the sign of the sum; infinite terms share equally."""
        with np.errstate(all="ignore"):
            infinite = np.isinf(value(np.real(y)))
            tied = infinite & np.equal(np.real(a), np.real(y))
            difference = np.where(tied, 0, a - np.where(infinite, 0, y))
            share = np.where(
                infinite, tied / np.maximum(np.sum(tied, axis=axes, keepdims=True), 1), np.exp(difference)
            )
        if not signed:
            return share
        return share * signs(a, b, axes)

    def weights() -> Any:
        return shares() if b is None else b * shares()

    def pushforward_a(a_dot: Any) -> Any:
        return np.sum(weights() * a_dot, axis=axes, keepdims=True)

    def pushforward_b(b_dot: Any) -> Any:
        return np.sum(shares() * b_dot, axis=axes, keepdims=True)

    def pullback_a(y_bar: Any) -> Any:
        return conj(weights()) * y_bar

    def pullback_b(y_bar: Any) -> Any:
        return conj(shares()) * y_bar

    return y, Differential((pushforward_a, pushforward_b), (pullback_a, pullback_b))


def signs(a: Any, b: Any, axes: tuple[int, ...]) -> Any:
    """The sign of ``Σ b exp(a)``; the axes stay."""
    a, b = value(a), value(b)
    return counterpart(special.logsumexp, a, b)(a, axis=axes, b=b, keepdims=True, return_sign=True)[1]


@drop_in(special.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Differentiable in `a` and `b`, real or complex.

    Terms that are infinite share the derivative equally.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.special import logsumexp
    >>> ld.grad(logsumexp)(np.array([0.0, np.log(3.0)]))
    array([0.25, 0.75])
    """
    a = as_array(a)
    if b is not None:
        a, b = placed(a, b), placed(as_array(b), a)
        a = a + np.zeros_like(value(b))
    if a.ndim == 0:
        a, axis = np.reshape(a, (1,)), None
    axes = tuple(range(a.ndim)) if axis is None else normalized_axes(axis, a.ndim)
    is_complex = "c" in {a.dtype.kind, "f" if b is None else b.dtype.kind}
    y = log_of_sum(a, b, axes, return_sign and not is_complex)
    sign = None
    if return_sign and is_complex:
        y, sign = np.real(y), np.exp(1j * np.imag(y))
    elif return_sign:
        sign = signs(a, b, axes)
    if not keepdims:
        shape = tuple([n for k, n in enumerate(a.shape) if k not in axes])
        y = np.reshape(y, shape)
        sign = None if sign is None else np.reshape(sign, shape)
    return (y, sign) if return_sign else y


@rule
def normalized_exponentials(x: Any, axis: Any) -> Any:
    """``y = exp(x) / Σ exp(x)``: dy = y (dx - Σ y dx)."""
    y = softmax(x, axis=axis)

    def pushforward(x_dot: Any) -> Any:
        return y * (x_dot - np.sum(y * x_dot, axis=axis, keepdims=True))

    def pullback(y_bar: Any) -> Any:
        product = conj(y) * y_bar
        return product - conj(y) * np.sum(product, axis=axis, keepdims=True)

    return y, Differential((pushforward,), (pullback,))


@drop_in(special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """Differentiable in `x`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.special import softmax
    >>> ld.grad(lambda x: softmax(x)[0])(np.zeros(2))
    array([ 0.25, -0.25])
    """
    return normalized_exponentials(x, axis)


@rule
def log_of_normalized(x: Any, axis: Any) -> Any:
    """``y = x - log Σ exp(x)``: dy = dx - Σ exp(y) dx."""
    y = log_softmax(x, axis=axis)

    def pushforward(x_dot: Any) -> Any:
        return x_dot - np.sum(np.exp(y) * x_dot, axis=axis, keepdims=True)

    def pullback(y_bar: Any) -> Any:
        return y_bar - conj(np.exp(y)) * np.sum(y_bar, axis=axis, keepdims=True)

    return y, Differential((pushforward,), (pullback,))


@drop_in(special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Differentiable in `x`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.special import log_softmax
    >>> ld.grad(lambda x: log_softmax(x)[0])(np.zeros(2))
    array([ 0.5, -0.5])
    """
    return log_of_normalized(x, axis)


use_exponential_paths(log_of_sum, normalized_exponentials, log_of_normalized)
