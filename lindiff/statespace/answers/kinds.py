"""Models as answers ask them, linear or not: with what linear model data are filtered, what is seen of their
states, how they go on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core import pytree
from lindiff.core.arrays import foreign, on_host
from lindiff.core.variable import value
from lindiff.statespace.answers.contributions import Moments, contribution
from lindiff.statespace.answers.extending import CORES, ahead, extended, from_state, is_explained, varying
from lindiff.statespace.answers.observations import signal
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import Approximation, Beside, NonlinearModel, filter_for
from lindiff.statespace.panels import of_series
from lindiff.statespace.simulation import simulate

__all__ = ["Kind", "Linear", "Nonlinear", "kind_of"]


class Linear(NamedTuple):
    """A linear model, in plain arrays of NumPy's."""

    model: Model

    @property
    def has_series(self) -> bool:
        """Whether it has an axis of series."""
        return np.ndim(self.model.transition) > 3

    def check_linear(self, function: str) -> None:
        """Raise an error, if it is nonlinear."""

    def beside(self, y: Any) -> Model:
        """The linear model with which data (T, p) are filtered."""
        return self.model

    def seen(self, linear: Model, moments: Moments) -> tuple[Any, Any]:
        """Means (T, p) and covariances (T, p, p) of what is observed but for its noise."""
        return signal(linear, moments)

    def contribution(self, linear: Model, place: slice, moments: Moments, first: int = 0) -> tuple[Any, Any]:
        """Means and variances (k, p) of what a component has in what is seen, from the step `first` on.

        Parameters
        ----------
        linear : Model
            What `beside` says.
        place : slice
            Of the component's states.
        moments : Moments
            Of the states of these steps.
        """
        return contribution(ahead(linear, first) if first else linear, place, moments)

    def longer(self, function: str, T: int, steps: int, exog: Any, rows: Any, given: Any) -> Linear:
        """For more steps after T, by `exog` or by a model that somebody has `given`."""
        return Linear(extended(function, self.model if given is None else given, T, steps, exog, rows))

    def cut(self, steps: int) -> Linear:
        """The first steps of it, of no more than it has."""
        timed = {name: getattr(self.model, name)[:steps] for name in varying(self.model)}
        return Linear(self.model._replace(**timed))

    def begun_at(self, first: int, start: tuple[Any, Any]) -> Linear:
        """From a step on, with this mean and covariance of its state."""
        return Linear(from_state(ahead(self.model, first), *start))

    def draws(self, steps: int, p: int, rng: Any, size: Any) -> Any:
        """Of observations, (*size, steps, p)."""
        return simulate(steps, *self.model, rng=rng, size=size)[1]

    def of_series(self, series: int, place: int) -> Model:
        """That of one of so many series."""
        return of_series(self.model, series, place)


class Nonlinear(NamedTuple):
    """A nonlinear model with a filter, in plain arrays of NumPy's."""

    model: NonlinearModel
    by: Approximation

    @property
    def has_series(self) -> bool:
        """Whether it has an axis of series."""
        return False

    def check_linear(self, function: str) -> None:
        """Raise an error, if it is nonlinear."""
        raise ValueError(f"{function}: this is of linear models, and the model is nonlinear")

    def beside(self, y: Any) -> Model:
        """The linear model with which data (T, p) are filtered, other data with another one."""
        return Beside("Analysis", y, self.model, self.by).linear()

    def seen(self, linear: Model, moments: Moments) -> tuple[Any, Any]:
        """Means (T, p) and covariances (T, p, p) of what is observed but for its noise."""
        return self._beside(linear).seen(*moments)

    def contribution(self, linear: Model, place: slice, moments: Moments, first: int = 0) -> tuple[Any, Any]:
        """Means and variances (k, p) of all that is seen: what is whose cannot be told."""
        means, covs = self._beside(linear).seen(*moments, first)
        return means, np.diagonal(covs, axis1=-2, axis2=-1)

    def _beside(self, linear: Model) -> Beside:
        nothing = np.full(np.shape(linear.obs_intercept), np.nan)
        return Beside("Analysis", nothing, self.model, self.by)

    def longer(self, function: str, T: int, steps: int, exog: Any, rows: Any, given: Any) -> Nonlinear:
        """For more steps after T, by a model that somebody has `given`."""
        if exog is not None:
            raise ValueError(f"{function}: exog is of linear models; give a longer model=, with its inputs")
        if given is not None and not isinstance(given, NonlinearModel):
            raise TypeError(f"{function}: model must be a NonlinearModel, got a {type(given).__name__}")
        model = self.model if given is None else _on_host(given)
        short = [name for name, x in _timed(model) if len(x) < T + steps]
        if short and steps:
            raise ValueError(
                f"{function}: {', '.join(short)} of the model change from step to step, and {T + steps} "
                f"steps are needed: give model=, one that is as long"
            )
        return self._replace(model=model)

    def cut(self, steps: int) -> Nonlinear:
        """The first steps of it, of no more than it has."""
        return self._of_steps(slice(None, steps))

    def begun_at(self, first: int, start: tuple[Any, Any]) -> Nonlinear:
        """From a step on, with this mean and covariance of its state."""
        found = self._of_steps(slice(first, None))
        model = found.model._replace(initial_state=start[0], initial_state_cov=start[1])
        return found._replace(model=model)

    def _of_steps(self, steps: slice) -> Nonlinear:
        inputs = None if self.model.inputs is None else pytree.tree_map(lambda x: x[steps], self.model.inputs)
        covs = {name: x[steps] for name, x in _timed(self.model) if name != "inputs"}
        return self._replace(model=self.model._replace(inputs=inputs, **covs))

    def draws(self, steps: int, p: int, rng: Any, size: Any) -> Any:
        """Of observations, (*size, steps, p), by the functions themselves."""
        return Beside("simulate", np.full((steps, p), np.nan), self.model, self.by).draws(rng, size)

    def of_series(self, series: int, place: int) -> NonlinearModel:
        """That of one of so many series, which they share."""
        return self.model


Kind = Linear | Nonlinear


def kind_of(function: str, model: Any, filter: Any) -> Kind:
    """The model with its filter.

    Raises
    ------
    TypeError, ValueError
        As `filter_for` says.
    """
    by = filter_for(function, model, filter)
    return Linear(_plain(model)) if by is None else Nonlinear(_on_host(model), by)


def _on_host(model: NonlinearModel) -> NonlinearModel:
    """With plain arrays of NumPy's."""
    arrays = {
        name: np.asarray(on_host(value(x))) for name, x in model._asdict().items() if name in COVS_AND_START
    }
    trees = {name: pytree.tree_map(_brought, getattr(model, name)) for name in TREES}
    return model._replace(**arrays, **trees)


COVS_AND_START = ("state_cov", "obs_cov", "initial_state", "initial_state_cov")
TREES = ("params", "inputs")


def _brought(x: Any) -> Any:
    return value(x) if foreign(x) is None else on_host(x)


def _timed(model: NonlinearModel) -> list[tuple[str, Any]]:
    """What has an entry for each step, by its name."""
    covs = [(name, getattr(model, name)) for name in ("state_cov", "obs_cov")]
    inputs = [("inputs", leaf) for leaf in pytree.flatten(model.inputs)[0]][:1]
    return [(name, x) for name, x in covs if x.ndim > 2 and len(x) > 1] + inputs


def _plain(model: Model) -> Model:
    """With plain arrays of NumPy's, an axis of time of length 1 left out, but for explanatory variables."""

    def plain(name: str, x: Any) -> Any:
        x = np.asarray(on_host(value(x)))
        if name == "design" and is_explained(model):
            return x
        is_timed = x.ndim > CORES.get(name, x.ndim) and not (name == "obs_cov" and x.ndim == 2)
        return x[0] if is_timed and len(x) == 1 else x

    arrays = {
        name: None if x is None else plain(name, x)
        for name, x in zip(Model._fields[:-1], model[:-1], strict=True)
    }
    return model._replace(**arrays)
