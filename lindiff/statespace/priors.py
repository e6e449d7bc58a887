"""What is known of parameters before there are data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lindiff.scipy import stats
from lindiff.scipy.stats._distribution import Distribution, Frozen

__all__ = ["log_densities", "refuse_impossible"]


def log_densities(priors: Mapping[str, Any], params: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions of parameters, by their names, which return logarithms of densities.

    Parameters
    ----------
    priors : dict
        Name to a distribution with fixed parameters, of `lindiff.scipy.stats` or of SciPy, or to a function
        that returns the logarithm of the density, summed or elementwise.
    params : iterable of str
        Those that there are.

    Raises
    ------
    ValueError
        If there is no parameter of a name.
    TypeError
        If a prior is something else, or a distribution of SciPy's that has no derivatives here.
    """
    others = [name for name in priors if name not in params]
    if others:
        raise ValueError(f"fit: priors has {others}, which are no parameters; these are {list(params)}")
    return {name: _log_density(name, prior) for name, prior in priors.items()}


def _log_density(name: str, prior: Any) -> Callable[[Any], Any]:
    if hasattr(prior, "dist") and not isinstance(prior, Frozen):
        ours = getattr(stats, prior.dist.name, None)
        if not isinstance(ours, Distribution):
            raise TypeError(
                f"fit: the prior of {name!r} is SciPy's {prior.dist.name}, which has no derivatives here; "
                f"give the logarithm of its density as a function"
            )
        prior = ours(*prior.args, **prior.kwds)
    if isinstance(prior, Frozen):
        if not hasattr(prior, "logpdf"):
            raise TypeError(
                f"fit: the prior of {name!r} is over integers, and a parameter is any real number: give a "
                f"distribution with a density, as scipy.stats.gamma(2.0)"
            )
        return functools.partial(_logpdf, prior)
    if not callable(prior) or hasattr(prior, "logpdf"):
        raise TypeError(
            f"fit: the prior of {name!r} is a {type(prior).__name__}: give a distribution with its "
            f"parameters, as scipy.stats.gamma(2.0), or a function that returns the logarithm of a density"
        )
    return prior


def _logpdf(prior: Frozen, x: Any) -> Any:
    return prior.logpdf(x)


def refuse_impossible(densities: Mapping[str, Callable[[Any], Any]], start: Mapping[str, Any]) -> None:
    """Raise a ValueError where a prior rules out what a search begins with."""
    for name, density in densities.items():
        if not np.all(np.isfinite(density(start[name]))):
            raise ValueError(
                f"fit: start of {name!r}: its prior has no density at {start[name]}; give another start"
            )
