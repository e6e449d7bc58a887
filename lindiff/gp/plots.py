"""Pictures of a process given observations, by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.gp.points import as_points
from lindiff.gp.posteriors import LatentPosterior

__all__ = ["plot"]


def plot(
    posterior: LatentPosterior, X: Any = None, y: Any = None, *, axes: Any = None, points: int = 200
) -> Any:
    """Draw a process of one or two dimensions given observations.

    Parameters
    ----------
    posterior : Posterior, SparsePosterior, …
    X : (n, d) array, or (n,), optional
        Observed points, which are drawn; those of the posterior by default.
    y : (n,) array, optional
        What was observed there.
    axes : matplotlib axes, optional
        Of one dimension; new ones by default.
    points : int
        Places along each axis.

    Returns
    -------
    matplotlib.figure.Figure
        Of one dimension the mean with bands of one and two standard deviations, of two dimensions maps of
        the mean and of the standard deviation.

    Raises
    ------
    ValueError
        For points of more dimensions.
    TypeError
        For a `GridPosterior`, which is none of points.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> X = np.linspace(0.0, 6.0, 30)
    >>> posterior = gp.condition(gp.kernels.RBF(), X, np.sin(X), 0.01)
    >>> len(gp.plot(posterior, X, np.sin(X)).axes)
    1
    """
    if not isinstance(posterior, LatentPosterior):
        raise TypeError(f"plot: of a {type(posterior).__name__} draw its mean and var on a grid")
    seen = as_points(posterior.X if X is None else X)
    if seen.shape[1] > 2:
        raise ValueError(
            f"plot: points have {seen.shape[1]} dimensions; draw the posterior's mean and std along one "
            f"or two of them"
        )
    if seen.shape[1] == 1:
        return _curve(posterior, seen, y, axes, points)
    return _maps(posterior, seen, points)


def _places(x: Any, points: int) -> Any:
    low, high = float(np.min(x)), float(np.max(x))
    margin = 0.1 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, points)


def _curve(posterior: LatentPosterior, X: Any, y: Any, axes: Any, points: int) -> Any:
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    x = _places(X, points)
    mean, var = posterior.mean_and_var(x)
    if mean.ndim != 1:
        raise ValueError("plot: the posterior is one of several processes; condition on one of them")
    std = np.sqrt(var)
    for width in (2, 1):
        axes.fill_between(x, mean - width * std, mean + width * std, color="C0", alpha=0.2, linewidth=0)
    axes.plot(x, mean, "C0", label="mean, ± 1 and 2 standard deviations")
    if y is not None:
        axes.plot(X[:, 0], y, "k.", markersize=4, label="observations")
    else:
        axes.plot(X[:, 0], np.full(len(X), axes.get_ylim()[0]), "k|", label="points")
    axes.legend(loc="best", fontsize="small")
    return axes.figure


def _maps(posterior: LatentPosterior, X: Any, points: int) -> Any:
    import matplotlib.pyplot as plt

    first, second = (_places(X[:, k], points) for k in range(2))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    mean, var = posterior.mean_and_var(grid)
    if mean.ndim != 1:
        raise ValueError("plot: the posterior is one of several processes; condition on one of them")
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for axes, title, z in zip(panels, ("mean", "standard deviation"), (mean, np.sqrt(var)), strict=True):
        drawn = axes.pcolormesh(first, second, z.reshape(points, points), shading="auto", rasterized=True)
        axes.plot(*X.T, "k.", markersize=3)
        axes.set_title(title, fontsize="medium")
        figure.colorbar(drawn, ax=axes)
    return figure
