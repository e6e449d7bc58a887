"""Nonlinear models beside data, by a filter that is chosen by its name."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import recursion
from lindiff.statespace.nonlinear.approximations import Approximation, Jacobians
from lindiff.statespace.nonlinear.extended import extended_filter
from lindiff.statespace.nonlinear.model import NonlinearModel, NonlinearSystem, checked
from lindiff.statespace.nonlinear.unscented import sigma_points, unscented_filter
from lindiff.statespace.semidefinite import semidefinite_factor
from lindiff.statespace.simulation import shape_of

__all__ = ["Beside", "filter_for"]

FILTERS = {"extended": extended_filter, "unscented": unscented_filter}


def filter_for(function: str, model: Any, given: Any) -> Approximation | None:
    """What a filter does with a nonlinear model; None for a linear one.

    Parameters
    ----------
    function : str
        The public one, which errors speak of.
    model : Model or NonlinearModel
    given : {"extended", "unscented"}, one of the functions, functools.partial of it, or None
        The extended filter if it is None.

    Raises
    ------
    TypeError
        If the model is none, or the filter is given other things than those of sigma points.
    ValueError
        If there is no such filter, or the model is linear and needs none.
    """
    chosen = FILTERS.get(given, given) if isinstance(given, str) else given
    options = chosen.keywords if isinstance(chosen, functools.partial) else {}
    chosen = chosen.func if isinstance(chosen, functools.partial) else chosen
    if chosen is not None and not any(chosen is known for known in FILTERS.values()):
        raise ValueError(
            f"{function}: filter must be one of {', '.join(FILTERS)}, or such a function of statespace, not "
            f"{given!r}"
        )
    others = set(options) - ({"alpha", "beta", "kappa"} if chosen is unscented_filter else set())
    if others:
        raise TypeError(
            f"{function}: filter with {', '.join(sorted(others))}: these are no numbers of sigma points"
        )
    if isinstance(model, NonlinearModel):
        n = np.shape(value(model.initial_state))[-1]
        return sigma_points(function, n, **options) if chosen is unscented_filter else Jacobians()
    if not isinstance(model, Model):
        raise TypeError(
            f"{function}: model is a {type(model).__name__}; a Model or NonlinearModel is needed: write "
            f"{function}(model, y)"
        )
    if given is not None:
        raise ValueError(f"{function}: filter={given!r} is for a NonlinearModel; leave it out")
    return None


class Beside:
    """A nonlinear model beside data of one series.

    Parameters
    ----------
    function : str
        The public one, which errors speak of.
    y : (T, p) or (T,) array
    model : NonlinearModel
        Of T steps, where it varies.
    by : Approximation
    """

    def __init__(self, function: str, y: Any, model: NonlinearModel, by: Approximation) -> None:
        self.function, self.model, self.by = function, model, by
        self.system: NonlinearSystem = checked(function, y, *model)

    def loglikelihood(self, per_step: bool = False) -> Any:
        """Of the data, or of each step given those before; `by` is then what is better near this model."""
        found, self.by = recursion.loglikelihood_and_filter(
            self.system, self.by, self.function, True, per_step
        )
        return found

    def linear(self) -> Model:
        """The linear model, whose matrices vary, that the filter uses."""
        found = recursion.linear_model(self.system, self.by, self.function, True)
        return found.of_components(self.model.components)

    def seen(self, means: Any, covs: Any, first: int = 0) -> tuple[Any, Any]:
        """Means (k, p) and covariances (k, p, p) of what is observed but for its noise.

        Parameters
        ----------
        means, covs : (k, n) and (k, n, n) arrays
            Of the states of the steps from `first` on.
        """
        by, p = self.by.for_singular or self.by, self.system.y.shape[1]
        found = [
            by.moments(recursion.functions_at(self.system, first + t)[1], m, P)
            for t, (m, P) in enumerate(zip(means, covs, strict=True))
        ]
        return (
            np.reshape([x.mean for x in found], (-1, p)),
            np.reshape([x.cov for x in found], (-1, p, p)),
        )

    def draws(self, rng: Any, size: Any) -> Any:
        """Observations (*size, T, p), by the functions themselves."""
        system, shape, rng = self.system, shape_of(size), np.random.default_rng(rng)
        (steps, p), n = system.y.shape, len(system.initial_state)
        P, Q, R = (
            semidefinite_factor(cov, self.function, "a covariance")
            for cov in (system.initial_state_cov, system.state_cov, system.obs_cov)
        )
        x, found = system.initial_state + rng.standard_normal((*shape, n)) @ P.T, np.empty((*shape, steps, p))
        for t in range(steps):
            f, h = recursion.functions_at(system, t)
            each = found[..., t, :]
            for place in np.ndindex(shape):
                each[place], x[place] = h(x[place]), f(x[place])
            each += rng.standard_normal((*shape, p)) @ _at(R, t).T
            x = x + rng.standard_normal((*shape, n)) @ _at(Q, t).T
        return found


def _at(timed: Any, t: int) -> Any:
    """Of a step, where there is one for each."""
    return timed[t] if len(timed) > 1 else timed[0]
