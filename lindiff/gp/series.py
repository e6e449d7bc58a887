"""Processes of one dimension in linear time: Matérn's kernels as state-space models."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.gp.kernels import ConstantKernel, Kernel, Matern, Product, Sum, WhiteKernel
from lindiff.gp.regression import known_noise
from lindiff.statespace import Model, from_kernel

__all__ = ["state_space"]

NAMES = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52"}


def state_space(kernel: Kernel, times: Any, noise_var: Any = 0.0) -> Model:
    """A process of one dimension as a state-space model, whose cost is linear in the number of points.

    Parameters
    ----------
    kernel : Kernel
        Sums of `Matern` kernels with ν = 1/2, 3/2 or 5/2, times numbers, and of `WhiteKernel`.
    times : (T,) array
        Where the process is observed, increasing; what is not observed is NaN in y.
    noise_var : number
        Variance of noise besides.

    Returns
    -------
    lindiff.statespace.Model
        ``lindiff.statespace.loglikelihood(y, *model)`` is the log marginal likelihood,
        ``lindiff.statespace.kalman_smoother`` has the posterior.

    Raises
    ------
    TypeError
        For other kernels.

    Notes
    -----
    :func:`lindiff.statespace.from_kernel`, of each part; some n³ flops a point for n states of all parts.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp, statespace
    >>> from lindiff.gp.kernels import Matern, WhiteKernel
    >>> t, y = np.array([0.0, 0.3, 1.1]), np.array([0.5, 0.1, -0.4])
    >>> kernel = 2.0 * Matern(0.7, nu=1.5) + WhiteKernel(0.1)
    >>> model = gp.state_space(kernel, t)
    >>> print(statespace.loglikelihood(y, *model).round(8), gp.log_marginal_likelihood(kernel, t, y).round(8))
    -3.43848653 -3.43848653
    """
    smooth, noise = [], known_noise(noise_var, np.size(times))
    for variance, part in _parts(kernel, 1.0):
        if isinstance(part, WhiteKernel):
            noise = noise + variance * part.noise_level
        else:
            smooth.append((variance, part))
    if not smooth:
        raise TypeError(f"state_space: {kernel!r} has no Matern part")
    # Of the noise the first model has all.
    models = [
        from_kernel(NAMES[part.nu], _number(part.length_scale), variance, times, noise if k == 0 else 0.0)
        for k, (variance, part) in enumerate(smooth)
    ]
    return sum(models[1:], models[0])


def _parts(kernel: Kernel, variance: Any) -> list[tuple[Any, Any]]:
    """Parts of a sum, each with what it is multiplied by."""
    if isinstance(kernel, Sum):
        return _parts(kernel.k1, variance) + _parts(kernel.k2, variance)
    if isinstance(kernel, Product):
        for number, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if isinstance(number, ConstantKernel):
                return _parts(other, variance * number.constant_value)
    if isinstance(kernel, WhiteKernel) or (isinstance(kernel, Matern) and kernel.nu in NAMES):
        return [(variance, kernel)]
    raise TypeError(
        f"state_space: {kernel!r} has no state-space form here; there are sums of Matern with nu 0.5, 1.5 "
        f"and 2.5 and of WhiteKernel, times numbers"
    )


def _number(length_scale: Any) -> Any:
    return length_scale if np.ndim(length_scale) == 0 else np.reshape(length_scale, ())
