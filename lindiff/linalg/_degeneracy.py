"""Division by gaps between eigenvalues or singular values: one policy for all factorizations.

Values closer than a few roundings of the largest one are taken as equal.  There, and near it:

* Backward, a numerator that vanishes to rounding over such a gap says that the function does not depend on
  the choice of vectors: the quotient is exactly 0.  One that does not vanish is divided by
  ``h(t) = max(|t|, ε) sgn(t)`` (Seeger et al. 2017, section 4.4), and a warning names the pair.
* Forward, nobody knows yet what becomes of the vectors: the arbitrary part of their change is 0, which is
  exact for all functions that do not depend on it, and a warning names the pair.
* A derivative of such a quotient loses digits with the square of the gap: a warning names a pair so close
  that it has few of them.
* Cotangents of equal values that differ say that the function depends on how these values part, as
  ``eigvalsh(A)[0]`` does: a warning names the pair.  Where they are equal the derivative is exact.

What a quotient tends to as two values meet is lost with them: the derivative of ``V diag(f(w)) Vᴴ`` has
``(f(w_i) - f(w_j)) / (w_i - w_j)`` in it, of which cotangents at ``w_i = w_j`` say nothing.  Where they show
that it is needed, a warning names the pair.  They do not show it where f vanishes and the result weighs the
vectors of the pair alike; the functions of whole matrices in ``lindiff.scipy.linalg`` are exact everywhere.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed, zeros_beside
from lindiff.core.variable import Variable, value
from lindiff.linalg._matrices import largest

__all__ = [
    "floor_of",
    "group_of_equal",
    "has_equal",
    "has_repeated",
    "over_gaps",
    "over_open_gaps",
    "spread_of",
    "without_defect",
    "without_dependence",
    "without_gauge",
    "without_kink",
    "without_lost_limit",
    "without_rotation",
    "without_split",
]

# Condition number of eigenvectors from which they are those of a defective matrix: rounding makes equal
# eigenvalues part by the square root of it, and their vectors are as close.
DEFECTIVE = 1e7
# Rounding makes n equal eigenvalues part by its n-th root: farther ones need no look at the vectors.
NEARLY_DEFECTIVE = 1e-2

# Ratio of the entries on a triangle's diagonal above which no column depends on others to rounding.
FAR_FROM_DEPENDENT = 1e-2

DEPENDS = (
    "and the derivative depends on their vectors or on how they part: it is only approximate (functions of a "
    "whole matrix in lindiff.scipy.linalg, as sqrtm, logm and funm, are exact there)"
)
MAY_DEPEND = (
    "and their vectors are arbitrary: the derivative is exact only of what depends neither on the choice of "
    "them nor on how they part"
)
FEW_DIGITS = "of which a derivative of this derivative, if it depends on their vectors, keeps few digits"
KINK = "and it has a kink there, as |t| at 0: the derivative is one of many subgradients"


def floor_of(values: Any) -> Any:
    """ε for each matrix: gaps up to it are rounding."""
    info = np.finfo(values.dtype)
    return np.maximum(10 * (values.shape[-1] + 10) ** 0.5 * info.eps * _largest(values), info.tiny)


def spread_of(values: Any, vectors: Any) -> Any:
    """How many times ε rounding may part equal eigenvalues of a matrix that is not symmetric: the condition
    number of its vectors (Bauer & Fike 1960), where these are independent and two of the values are close.
    """
    w = value(values)
    near = (_pairs(w) <= DEFECTIVE * floor_of(w)[..., None, None]).sum(axis=(-2, -1)) > w.shape[-1]
    if not near.any():
        return 1.0
    condition = np.linalg.cond(value(vectors), 1)
    return np.where(near & (condition < DEFECTIVE), condition, 1.0)


def _close_of(values: Any, spread: Any = 1.0) -> Any:
    """Gaps below it show half of the digits of what is left of a numerator by rounding."""
    return np.maximum(np.finfo(values.dtype).eps ** 0.5 * _largest(values), spread * floor_of(values))


def _largest(values: Any) -> Any:
    """The largest size of a finite value: a pair of matrices may have infinite eigenvalues."""
    sizes = np.abs(values)
    return largest(np.where(np.isfinite(sizes), sizes, 0).astype(sizes.dtype), axis=-1)


def has_repeated(values: Any) -> bool:
    """Whether any two of the sorted values are equal or so close that more than a division is to be done."""
    values = value(values)
    return bool((_steps(values) <= _close_of(values)[..., None]).any())


def has_equal(values: Any) -> bool:
    """Whether any two of the sorted values agree to rounding."""
    values = value(values)
    return bool((_steps(values) <= floor_of(values)[..., None]).any())


def group_of_equal(values: Any) -> Any:
    """For each of the sorted values the number of its group; neighbours in a group agree to rounding."""
    apart = _steps(values) > floor_of(values)[..., None]
    first = zeros_beside(values, (*values.shape[:-1], min(values.shape[-1], 1)), int)
    return np.concatenate([first, np.cumsum(apart, axis=-1)], axis=-1)


def _steps(values: Any) -> Any:
    return np.abs(values[..., 1:] - values[..., :-1])


def _pairs(values: Any) -> Any:
    """How far any two of the values are apart; of two infinite ones nobody knows."""
    with np.errstate(invalid="ignore"):
        gaps = np.abs(values[..., None, :] - values[..., :, None])
    return np.fmin(gaps, np.inf)


def over_gaps(
    numerator: Any, gaps: Any, scale: Any, values: Any, name: str, coupling: Any = 0.0, spread: Any = 1.0
) -> Any:
    """``numerator / gaps`` of a pullback, by the policy above.

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
    spread : (...) array, optional
        As :func:`spread_of` gives it, of matrices that are not symmetric.
    """
    plain_gaps, plain_values = np.abs(value(gaps)), value(values)
    _check_second_order(numerator, scale, plain_gaps, plain_values, name, spread)
    close = plain_gaps <= _close_of(plain_values, spread)[..., None, None]
    if not close.any():
        return numerator / gaps
    floor = (spread * floor_of(plain_values))[..., None, None]
    small = plain_gaps <= floor
    rounding = _rounding(scale, plain_values)
    noise = _noise(scale, plain_values)
    matters = close & (np.abs(value(numerator)) > np.where(small, noise, rounding))
    quotient = np.where(close & ~matters, 0.0, numerator / _clipped(gaps, small, floor))
    doubtful = small & (matters | (np.abs(value(coupling)) > noise))
    if matters.any():
        few_digits = np.finfo(plain_values.dtype).eps ** 0.25 * largest(
            np.abs(value(quotient)), axis=(-2, -1), keepdims=True
        )
        doubtful |= matters & (rounding > few_digits * plain_gaps)
    if doubtful.any():
        _warn(doubtful, plain_values, name, DEPENDS, plain_gaps.shape[-2] == 1)
    return quotient.astype(numerator.dtype)


def over_open_gaps(numerator: Any, gaps: Any, scale: Any, values: Any, name: str, spread: Any = 1.0) -> Any:
    """``numerator / gaps`` of a pushforward, by the policy above; parameters as for :func:`over_gaps`."""
    plain_gaps, plain_values = np.abs(value(gaps)), value(values)
    _check_second_order(numerator, scale, plain_gaps, plain_values, name, spread)
    floor = (spread * floor_of(plain_values))[..., None, None]
    small = plain_gaps <= floor
    if not small.any():
        return numerator / gaps
    noise = _noise(scale, plain_values)
    matters = small & (np.abs(value(numerator)) > noise)
    if matters.any():
        _warn(matters, plain_values, name, MAY_DEPEND, plain_gaps.shape[-2] == 1)
    return np.where(small, 0.0, numerator / _clipped(gaps, small, floor)).astype(numerator.dtype)


def _check_second_order(
    numerator: Any, scale: Any, plain_gaps: Any, plain_values: Any, name: str, spread: Any
) -> None:
    """Warn of close values where the quotient is going to be differentiated: rounding in its derivative is
    ε / gap², a quarter of the digits is left at ε^⅜.
    """
    if type(numerator) is not Variable or not np.any(value(scale)):
        return
    near = np.finfo(plain_values.dtype).eps ** 0.375 * _largest(plain_values)
    doubtful = plain_gaps <= near[..., None, None]
    doubtful &= plain_gaps > (spread * floor_of(plain_values))[..., None, None]
    single = plain_gaps.shape[-2] == 1
    if not single:
        doubtful &= ~placed(np.eye(plain_gaps.shape[-1], dtype=bool), plain_gaps)
    if doubtful.any():
        _warn(doubtful, plain_values, name, FEW_DIGITS, single, "close")


def _noise(scale: Any, values: Any) -> Any:
    """What many operations on numbers as large as ``scale`` may leave of zero."""
    return 25 * values.shape[-1] ** 0.5 * _rounding(scale, values)


def _rounding(scale: Any, values: Any) -> Any:
    """What may be left, after cancellation, of numbers as large as ``scale``."""
    return 4 * np.finfo(values.dtype).eps * largest(np.abs(value(scale)), axis=(-2, -1), keepdims=True)


def _clipped(gaps: Any, small: Any, floor: Any) -> Any:
    """``h(gaps)``; a gap of 0 counts as positive above the diagonal."""
    plain = value(gaps)
    above = placed(np.arange(plain.shape[-1]) >= np.arange(plain.shape[-2])[:, None], plain)
    sign = np.where(plain == 0, np.where(above, 1, -1), np.sign(plain))
    return np.where(small, (sign * floor).astype(plain.dtype), gaps)


def without_split(values_bar: Any, values: Any, name: str, weights: Any = None, spread: Any = 1.0) -> None:
    """Warn where cotangents of equal values differ.

    Parameters
    ----------
    values_bar, values : (..., n) array or Variable
    name : str
        The operator, for the warning.
    weights : (..., n) array or Variable, optional
        Of the vectors: where these differ, too, a function of the whole matrix may have weighed both.
    spread : (...) array, optional
        As :func:`spread_of` gives it.
    """
    plain = value(values)
    equal = _pairs(plain) <= (spread * floor_of(plain))[..., None, None]
    if np.count_nonzero(equal) <= plain.size:  # the diagonals
        return
    split = equal & _differ(values_bar, plain.dtype)
    if weights is not None:
        split &= ~_differ(weights, plain.dtype)
    if split.any():
        _warn(split, plain, name, DEPENDS)


def without_lost_limit(coupling: Any, values: Any, name: str) -> None:
    """Warn where equal values are coupled (..., n, n) by what only a quotient over their gap would weigh."""
    plain, coupling = value(values), value(coupling)
    lost = (_pairs(plain) <= floor_of(plain)[..., None, None]) & (np.abs(coupling) > _noise(coupling, plain))
    if lost.any():
        _warn(lost, plain, name, DEPENDS)


def _differ(x: Any, dtype: Any) -> Any:
    """Which pairs differ by more than changes half of the digits."""
    x = value(x)
    return _pairs(x) > np.finfo(dtype).eps ** 0.5 * _largest(x)[..., None, None]


def without_kink(s_bar: Any, s: Any, name: str) -> None:
    """Warn where a singular value is zero and its cotangent is not: it has a kink there, as ``|t|`` at 0."""
    plain = value(s)
    zero = plain <= floor_of(plain)[..., None]
    if not zero.any():
        return
    bar = np.abs(value(s_bar))
    kink = zero & (bar > np.finfo(plain.dtype).eps ** 0.5 * _largest(bar)[..., None])
    if kink.any():
        _warn(kink[..., None, :], plain, name, KINK, True)


def _warn(
    doubtful: Any,
    values: Any,
    name: str,
    consequence: str,
    single: bool = False,
    relation: str = "equal to rounding",
) -> None:
    """Name the pair that ``doubtful`` has True for, or the value if it is a ``single`` row."""
    *batch, i, j = (int(k) for k in np.unravel_index(int(np.argmax(doubtful)), doubtful.shape))
    i, j = (j, j) if single else (min(i, j), max(i, j))
    both = (*batch, [i, j])
    first, second = values[both]
    where = f" of matrix {tuple(batch)}" if batch else ""
    what = f"values {i} and {j}{where} ({first:.6g} and {second:.6g}) are {relation}"
    if i == j:
        relation = relation.replace("close", "close to zero").replace("equal", "zero")
        what = f"value {i}{where} ({first:.6g}) is {relation}"
    warnings.warn(f"{name}: {what}, {consequence}", RuntimeWarning, stacklevel=4)


def without_defect(w: Any, V: Any, name: str) -> None:
    """Warn where eigenvectors are linearly dependent to rounding: the eigenvalues have no derivative there.

    Parameters
    ----------
    w : (..., n) array or Variable
    V : (..., n, n) array or Variable
    name : str
        The operator, for the warning.
    """
    w, V = value(w), value(V)
    gaps = _pairs(w) + placed(np.where(np.eye(w.shape[-1], dtype=bool), np.inf, 0.0), w)
    if not (gaps <= NEARLY_DEFECTIVE * _largest(w)[..., None, None]).any():
        return
    defective = np.linalg.cond(V, 1) > DEFECTIVE
    if not defective.any():
        return
    batch = tuple(int(k) for k in np.unravel_index(int(np.argmax(defective)), defective.shape))
    where = f" of matrix {batch}" if batch else ""
    w, gaps = w[batch], gaps[batch]
    i, j = sorted(int(k) for k in np.unravel_index(int(np.argmin(gaps)), gaps.shape))
    warnings.warn(
        f"{name}: the eigenvectors{where} are linearly dependent to rounding (a defective matrix; values "
        f"{i} and {j} are closest, {w[i]:.6g} and {w[j]:.6g}): the eigenvalues have no derivative there",
        RuntimeWarning,
        stacklevel=4,
    )


def without_dependence(R: Any, name: str) -> None:
    """Warn where a column of a matrix depends on those before it to rounding: its QR has no derivative there.

    Nothing is asked of a device, which would be to wait for it.

    Parameters
    ----------
    R : (..., n, n) array or Variable
        The triangle, upper.
    name : str
        The operator, for the warning.
    """
    R = value(R)
    if foreign(R) is not None or R.size == 0:
        return
    own = np.abs(np.diagonal(R, axis1=-2, axis2=-1))
    if own.min() > FAR_FROM_DEPENDENT * own.max():
        return
    with np.errstate(over="ignore", invalid="ignore"):  # of other columns
        dependent = own < 4 * R.shape[-1] * np.finfo(R.dtype).eps * np.linalg.norm(R, axis=-2)
    if not dependent.any():
        return
    *batch, column = (int(k) for k in np.unravel_index(int(np.argmax(dependent)), dependent.shape))
    where = f" of matrix {tuple(batch)}" if batch else ""
    warnings.warn(
        f"{name}: column {column}{where} depends on those before it to rounding: Q and R have no derivative "
        "there",
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
    size = largest(np.abs(plain if scale is None else value(scale)))
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
    noise = largest(np.abs(value(scale)), axis=(-2, -1))
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
