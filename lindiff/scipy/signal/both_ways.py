"""Filters that run forward and back over the data, which shifts no phase, and the states they begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.rules._common import along, as_array, normalized_axis
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.signal.filters import lfilter, sosfilt

__all__ = ["filtfilt", "lfilter_zi", "sosfilt_zi", "sosfiltfilt"]

EXTENSIONS: dict[str, dict[str, Any]] = {
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "even": {"mode": "reflect"},
    "constant": {"mode": "edge"},
}


@drop_in(scipy.signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """Differentiable in `b` and `a`.

    Raises
    ------
    ValueError
        If b or a have several axes.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import lfilter_zi
    >>> ld.grad(lambda pole: lfilter_zi(np.ones(2), np.stack([1.0, -pole]))[0])(0.5)
    np.float64(8.0)
    """
    b, a = (np.atleast_1d(placed(as_array(part), b, a)) for part in (b, a))
    if b.ndim > 1 or a.ndim > 1:
        raise ValueError(f"lfilter_zi: b and a have one axis, got shapes {b.shape} and {a.shape}")
    b, a = b / a[0], a / a[0]
    n = max(len(a), len(b))
    b, a = np.pad(b, (0, n - len(b))), np.pad(a, (0, n - len(a)))
    # z_k = z_k+1 + b_k+1 - a_k+1 y with y = z_0 + b_0
    shift = placed(np.eye(n - 1, dtype=a.dtype) - np.eye(n - 1, k=1, dtype=a.dtype), a)
    first = placed(np.eye(1, n - 1, dtype=a.dtype), a)
    return np.linalg.solve(shift + a[1:, None] * first, b[1:] - a[1:] * b[0])


@drop_in(scipy.signal.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    """Differentiable in `sos`.

    Raises
    ------
    ValueError
        If `sos` has another shape.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import sosfilt_zi
    >>> sos = np.array([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
    >>> ld.grad(lambda sos: sosfilt_zi(sos)[0, 0])(sos)
    array([[ 1.,  2.,  2., -3., -4., -4.]])
    """
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"sos must be shape (n_sections, 6), got {sos.shape}")
    states, gain = [], 1.0
    for section in sos:
        states.append(gain * lfilter_zi(section[:3], section[3:]))
        gain = gain * np.sum(section[:3]) / np.sum(section[3:])
    return np.stack(states)


def _run(
    name: str, run: Callable[..., Any], state: Any, x: Any, axis: int, padtype: Any, padlen: Any, usual: int
) -> Any:
    """A filter over the data, extended at both ends, and back, each time from its state at rest."""
    if padtype is not None and padtype not in EXTENSIONS:
        raise ValueError(f"{name}: padtype is 'odd', 'even', 'constant' or None, got {padtype!r}")
    edge = 0 if padtype is None else usual if padlen is None else padlen
    n = x.shape[axis]
    if n <= edge:
        raise ValueError(f"{name}: the data have to be longer than padlen, which is {edge}, got {n}")
    if edge > 0:
        widths = [(edge, edge) if i == axis else (0, 0) for i in range(x.ndim)]
        x = np.pad(x, widths, **EXTENSIONS[padtype])
    y, _ = run(x, state * x[along(axis, slice(0, 1))])
    y = np.flip(y, axis)
    y, _ = run(y, state * y[along(axis, slice(0, 1))])
    return np.flip(y, axis)[along(axis, slice(edge, edge + n))]


@drop_in(scipy.signal.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """Differentiable in `b`, `a` and `x`.

    Gustafsson's method, 'gust', is for plain arrays.

    Raises
    ------
    ValueError
        If the data are too short, or for options that SciPy refuses.
    TypeError
        For ``method="gust"``.

    Notes
    -----
    Four passes of the filter forward and back: O(T) memory.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import filtfilt
    >>> ld.grad(lambda x: filtfilt([0.5, 0.5], [1.0], x, padlen=1)[1])(np.zeros(4))
    array([0.25, 0.5 , 0.25, 0.  ])
    """
    if method not in ("pad", "gust"):
        raise ValueError("method must be 'pad' or 'gust'.")
    if method == "gust":
        raise TypeError('filtfilt: method="gust" has no derivative in lindiff: write method="pad"')
    b, a, x = (placed(as_array(part), b, a, x) for part in (b, a, x))
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    axis = normalized_axis(axis, x.ndim)
    state = np.reshape(lfilter_zi(b, a), (-1, *[1] * (x.ndim - 1 - axis)))

    def run(x: Any, zi: Any) -> Any:
        return lfilter(b, a, x, axis, zi)

    return _run("filtfilt", run, state, x, axis, padtype, padlen, 3 * max(len(a), len(b)))


@drop_in(scipy.signal.sosfiltfilt)
def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """Differentiable in `sos` and `x`.

    Raises
    ------
    ValueError
        If the data are too short, or for options that SciPy refuses.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import sosfiltfilt
    >>> sos = np.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]])
    >>> ld.grad(lambda x: sosfiltfilt(sos, x, padlen=1)[1])(np.zeros(4))
    array([0.25, 0.5 , 0.25, 0.  ])
    """
    sos, x = np.atleast_2d(placed(as_array(sos), x)), placed(as_array(x), sos)
    axis = normalized_axis(axis, x.ndim)
    at_zero = (np.sum(np.equal(value(sos[:, column]), 0)) for column in (2, 5))
    taps = 2 * len(sos) + 1 - int(min(at_zero))
    states = np.reshape(sosfilt_zi(sos), (len(sos), *[1] * axis, 2, *[1] * (x.ndim - 1 - axis)))

    def run(x: Any, zi: Any) -> Any:
        return sosfilt(sos, x, axis, zi)

    return _run("sosfiltfilt", run, states, x, axis, padtype, padlen, 3 * taps)
