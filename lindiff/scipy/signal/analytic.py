"""The analytic signal: the positive frequencies of a real one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from lindiff.core.arrays import placed
from lindiff.rules._common import as_array, normalized_axis
from lindiff.scipy._drop_in import drop_in

__all__ = ["hilbert"]


@drop_in(scipy.signal.hilbert, anywhere=True, by_rows=True)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """Differentiable in `x`.

    Raises
    ------
    ValueError
        If x is complex, or N is not positive.

    Notes
    -----
    Negative frequencies are taken out and positive ones doubled, which is its own adjoint but for the real
    part.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import hilbert
    >>> ld.grad(lambda x: np.sum(np.abs(hilbert(x)) ** 2))(np.array([1.0, 2.0, 0.0])).round(6)
    array([ 2.,  6., -2.])
    """
    x = as_array(x)
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    axis = normalized_axis(axis, x.ndim)
    n = x.shape[axis] if N is None else N
    if n <= 0:
        raise ValueError("N must be positive.")
    weights = np.zeros((n, *[1] * (x.ndim - 1 - axis)), x.dtype if x.dtype.kind == "f" else float)
    weights[0] = 1.0
    weights[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        weights[n // 2] = 1.0
    return np.fft.ifft(np.fft.fft(x, n, axis) * placed(weights, x), axis=axis)
