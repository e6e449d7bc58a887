"""Where to observe next: what Bayesian optimization maximizes, with gradients in the points."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.regression import Posterior
from lindiff.scipy import special

__all__ = ["expected_improvement", "upper_confidence_bound"]


def expected_improvement(posterior: Posterior, X: Any, best: Any, *, maximize: bool = True) -> Any:
    """How much better than `best` the process is at points, in expectation.

    Parameters
    ----------
    posterior : Posterior
        Of observations of one process.
    X : (m, d) array
    best : number
        The best value so far.
    maximize : bool
        Whether larger is better.

    Returns
    -------
    (m,) array
        ``s (u Φ(u) + φ(u))`` with ``u = (mean - best) / s``.

    Notes
    -----
    Jones, Schonlau & Welch (1998), Journal of Global Optimization 13, eq. 15.  Where the variance is zero it
    is what the mean improves, or 0.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> posterior = gp.condition(gp.kernels.RBF(), np.array([0.0, 2.0]), np.array([0.0, 1.0]), 1e-6)
    >>> def gain(x):
    ...     return gp.expected_improvement(posterior, x[None], 1.0)[0]
    >>> value, slope = ld.value_and_grad(gain)(np.array([3.0]))
    >>> value.round(4), slope.round(4)
    (np.float64(0.1604), array([-0.0262]))
    """
    mean, s = _mean_and_std(posterior, X)
    gain = mean - best if maximize else best - mean
    is_certain = np.equal(value(s), 0)
    u = gain / np.where(is_certain, 1.0, s)
    expected = s * (u * special.ndtr(u) + np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi))
    return np.where(is_certain, np.maximum(gain, 0), expected)


def upper_confidence_bound(posterior: Posterior, X: Any, beta: float = 2.0, *, maximize: bool = True) -> Any:
    """``mean + beta s`` at points (m, d), or ``beta s - mean`` where smaller is better: (m,).

    Notes
    -----
    Srinivas, Krause, Kakade & Seeger (2010), ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> posterior = gp.condition(gp.kernels.RBF(), np.array([0.0]), np.array([1.0]))
    >>> gp.upper_confidence_bound(posterior, np.array([0.0, 9.0]))
    array([1., 2.])
    """
    mean, s = _mean_and_std(posterior, X)
    return mean + beta * s if maximize else beta * s - mean


def _mean_and_std(posterior: Posterior, X: Any) -> tuple[Any, Any]:
    """Of standard deviations that are zero the derivative counts as 0."""
    if posterior.alpha.ndim > 1:
        raise ValueError(
            f"the posterior is of {posterior.alpha.shape[1]} processes, improvements are those of one: "
            f"condition on one column of y"
        )
    mean, var = posterior.mean_and_var(X)
    is_zero = np.equal(value(var), 0)
    return mean, np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, var)))
