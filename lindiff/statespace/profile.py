"""Intervals of parameters by the likelihood itself: what others can make of a value of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2

from lindiff.statespace.answers import check_alpha
from lindiff.statespace.maximum import FAILURES, Search, searched
from lindiff.statespace.problem import Problem

__all__ = ["profile_interval"]

SEARCH = Search("L-BFGS-B", None, None, newton=True)
STEPS = 40  # each longer by a half than the one before: farther than data could know of a number
FALLEN = 1e3  # of a likelihood that cannot be computed


def profile_interval(
    problem: Problem, name: str, x: float, step: float, top: float, alpha: float
) -> tuple[float, float]:
    """Where the likelihood, the other parameters at their best, is not too far below its top.

    Parameters
    ----------
    problem : Problem
        That begins at the maximum.
    name : str
        A parameter that is a number.
    x, step : float
        Its place there, in unconstrained numbers, and how far one goes at first.
    top : float
        The objective there.
    alpha : float
        One minus the probability that the interval holds the parameter.

    Returns
    -------
    lower, upper : float
        The bound of what is allowed, where the likelihood does not fall so far before.

    Notes
    -----
    ``2 (ℓ(θ̂) - ℓ_p(θ))`` is compared with the quantile of χ²(1): Venzon & Moolgavkar (1988), "A method for
    computing profile-likelihood-based confidence intervals".  Each value of the profile is a search.
    """
    drop, begun = 0.5 * float(chi2.isf(check_alpha(alpha), 1)), problem

    def fallen(x: float) -> float:
        """How much farther than allowed the profile is below its top at this unconstrained number."""
        nonlocal begun
        with np.errstate(over="ignore"):
            number = np.asarray(problem.transforms[name].constrain(np.float64(x)))
        found = _highest(begun.with_fixed(name, number))
        if found is None:
            return FALLEN
        height, others = found
        begun = problem.begun_at(begun.free | others)
        return top - drop - height

    def end(sign: float) -> float:
        with np.errstate(over="ignore"):
            limit = float(problem.transforms[name].constrain(np.float64(sign * np.inf)))
        if np.isfinite(limit) and fallen(sign * np.inf) <= 0:
            return limit
        inner, ahead = x, step
        for _ in range(STEPS):
            outer = inner + sign * ahead
            if fallen(outer) > 0:
                crossing = brentq(fallen, inner, outer, xtol=1e-6 * step)
                return float(problem.transforms[name].constrain(np.float64(crossing)))
            inner, ahead = outer, 1.5 * ahead
        return limit

    ends = end(-1.0), end(1.0)
    return min(ends), max(ends)


def _highest(problem: Problem) -> tuple[float, dict[str, Any]] | None:
    """The maximum with what is fixed, and where it is; None where it cannot be computed."""
    try:
        if not problem.free:
            return float(problem.objective({})), {}
        likelihood = problem.searchable()
        found, _ = searched(likelihood, problem.form.flat(problem.free), SEARCH, restarts=False)
    except FAILURES:
        return None
    return -likelihood.count * found.fun, problem.form.tree_of(found.x)
