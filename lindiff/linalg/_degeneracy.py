"""Division by gaps between eigenvalues or singular values: one policy for all factorizations.

A gap t becomes ``h(t) = max(|t|, ε) sgn(t)`` (Seeger et al. 2017, section 4.4), with ε a few roundings of the
largest value.  Where a numerator vanishes (to rounding) over such a gap, the function does not depend on the
choice of vectors, and the quotient is exactly 0; where it does not vanish, a warning names the pair.

What the quotient tends to as two values meet is lost with them: the derivative of ``V diag(w**2) Vᵀ`` has
``(w_i² - w_j²) / (w_i - w_j)`` in it.  There, too, a warning names the pair.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lindiff.core.variable import value

__all__ = ["has_repeated", "over_gaps", "without_gauge", "without_rotation"]


def _floor(values: Any) -> Any:
    """ε for each matrix: gaps below it are rounding."""
    largest = np.max(np.abs(values), axis=-1, initial=0.0)
    info = np.finfo(values.dtype)
    return np.maximum(10 * values.shape[-1] * info.eps * largest, info.tiny)


def has_repeated(values: Any) -> bool:
    """Whether any two of the sorted values agree to rounding."""
    values = value(values)
    return bool((np.abs(np.diff(values, axis=-1)) <= _floor(values)[..., None]).any())


def over_gaps(numerator: Any, gaps: Any, scale: Any, values: Any, name: str, coupling: Any = 0.0) -> Any:
    """``numerator / gaps`` by the policy above.

    Parameters
    ----------
    numerator, gaps : (..., m, n) array or Variable
        Gaps of the values, or sums of them.
    scale : (..., m, n) array or Variable
        What the numerator was computed from by cancellation: sets when it counts as zero.
    values : (..., n) array or Variable
        The eigenvalues or singular values.
    name : str
        The operator, for the warning.
    coupling : (..., m, n) array or Variable, optional
        Does not vanish where the limit of the quotient is lost.
    """
    plain_gaps, plain_values = value(gaps), value(values)
    floor = _floor(plain_values)[..., None, None]
    small = np.abs(plain_gaps) < floor
    if not small.any():
        return numerator / gaps
    plain = np.abs(value(numerator))
    n = plain_values.shape[-1]
    noise = np.max(np.abs(value(scale)), axis=(-2, -1), keepdims=True, initial=0.0)
    noise = 100 * n * np.finfo(plain_values.dtype).eps * noise
    matters = small & (plain > noise)
    doubtful = small & ((plain > noise) | (np.abs(value(coupling)) > noise))
    if doubtful.any():
        _warn(doubtful, plain_values, name, plain_gaps.shape[-2] == 1)
    sign = np.sign(plain_gaps) + (plain_gaps == 0) * np.sign(
        np.arange(plain_gaps.shape[-1]) + 0.5 - _rows(plain_gaps)
    )
    clipped = np.where(small, (sign * floor).astype(plain_gaps.dtype), gaps)
    return np.where(small & ~matters, 0.0, numerator / clipped).astype(numerator.dtype)


def _rows(gaps: Any) -> Any:
    return np.arange(gaps.shape[-2])[:, None]


def _warn(doubtful: Any, values: Any, name: str, single: bool) -> None:
    *batch, i, j = (int(k) for k in np.unravel_index(int(np.argmax(doubtful)), doubtful.shape))
    i, j = (j, j) if single else (min(i, j), max(i, j))
    both = (*batch, [i, j])
    pair = values[both]
    where = f" of matrix {tuple(batch)}" if batch else ""
    what = f"values {i} and {j}{where} ({pair[0]:.6g} and {pair[1]:.6g}) are equal"
    if i == j:
        what = f"value {i}{where} ({pair[0]:.6g}) is zero"
    warnings.warn(
        f"{name}: {what} to rounding, and the derivative depends on their vectors or on how they part: it is "
        f"only approximate",
        RuntimeWarning,
        stacklevel=4,
    )


def without_rotation(K: Any, name: str, *, scale: Any = None, space: str = "null space") -> None:
    """Warn where a cotangent turns the vectors of a space among themselves, which is arbitrary.

    Parameters
    ----------
    K : (..., k, k) array or Variable
        ``Wᴴ W_bar``, which must be Hermitian.
    name, space : str
        The operator and whose basis they are, for the warning.
    scale : array or Variable, optional
        What K was computed from by cancellation; by default K itself.
    """
    plain = value(K)
    size = np.max(np.abs(plain if scale is None else value(scale)), initial=0.0)
    noise = 100 * plain.shape[-1] * np.finfo(plain.dtype).eps * size
    if (np.abs(plain - np.conjugate(np.swapaxes(plain, -1, -2))) > noise).any():
        warnings.warn(
            f"{name}: the result depends on the choice of a basis of the {space}, which is arbitrary "
            f"(gauge); that part of the derivative is taken as zero",
            RuntimeWarning,
            stacklevel=4,
        )


def without_gauge(K: Any, scale: Any, name: str) -> None:
    """Warn where the cotangent of complex vectors has a component along their phases, which are arbitrary.

    Parameters
    ----------
    K : (..., n, n) array or Variable
        ``Vᴴ V_bar``: the imaginary part of its diagonal must vanish.
    scale : (..., n, n) array or Variable
        What K was computed from by cancellation.
    name : str
        The operator, for the warning.
    """
    plain = value(K)
    if plain.dtype.kind != "c" or plain.size == 0:
        return
    phase = np.abs(np.diagonal(plain, axis1=-2, axis2=-1).imag)
    noise = np.max(np.abs(value(scale)), axis=(-2, -1), initial=0.0)
    noise = 100 * plain.shape[-1] * np.finfo(plain.dtype).eps * noise
    wrong = phase > noise[..., None]
    if wrong.any():
        *batch, i = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        where = f" of matrix {tuple(int(k) for k in batch)}" if batch else ""
        warnings.warn(
            f"{name}: the result depends on the phase of vector {i}{where}, which is arbitrary (gauge); that "
            f"part of the derivative is taken as zero",
            RuntimeWarning,
            stacklevel=4,
        )
