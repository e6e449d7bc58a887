"""Nonlinear state-space models: as users give them, and in the form that is computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core import pytree
from lindiff.core.arrays import zeros_beside
from lindiff.core.variable import value
from lindiff.linalg import makediag
from lindiff.numpy import asarray
from lindiff.statespace.components import Component, components_of, one_component
from lindiff.statespace.model import canonical, real

__all__ = ["NonlinearModel", "NonlinearSystem", "checked"]


class _Parts(NamedTuple):
    """What a `NonlinearModel` is, but for the names of its states."""

    transition: Any
    observation: Any
    state_cov: Any
    obs_cov: Any
    initial_state: Any
    initial_state_cov: Any
    params: Any = ()
    inputs: Any = None


class NonlinearModel(_Parts):
    """A state-space model with any differentiable functions and Gaussian noise.

    ::

        x[t+1] = transition(x[t], *params) + h[t],   h[t] ~ N(0, state_cov)
        y[t]   = observation(x[t], *params) + v[t],  v[t] ~ N(0, obs_cov)
        x[0] ~ N(initial_state, initial_state_cov)

    in the order of the functions' arguments, so that ``extended_loglikelihood(y, *model)`` works.

    Parameters
    ----------
    transition, observation : callable
        In NumPy: of a state (n,), with `inputs` of those of the step, and of all `params`; return the next
        state (n,), and the mean of the observations (p,), for p = 1 also a number.  A list of numbers counts
        as an array.  They are run as programs (`lindiff.program`): what they do besides, they do in the first
        steps only.
    state_cov : (n, n) or (T, n, n) array
    obs_cov : (p, p) or (T, p, p) array; or (p,), (1, p) or (T, 1, p)
        Variances in a row stand for independent errors.
    initial_state : (n,) array
        Mean of ``x[0]``, the state that ``y[0]`` observes.
    initial_state_cov : (n, n) array
        May be zero.
    params : tuple
        What the functions depend on and derivatives are taken by: numbers, arrays or trees of these.
    inputs : array or tree of arrays (T, ...), optional
        What changes from step to step: controls, times, intervals.  The functions get the rows of the step,
        ``transition(x, u, *params)``.

    Notes
    -----
    Transforms take a model as the tree of its arrays, without the functions:
    ``ld.grad(lambda model: extended_loglikelihood(y, *model))(model)`` is a NonlinearModel of gradients.
    What the functions read besides their arguments, closures for example, may hold Variables as well, but
    then Python runs in every step.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import statespace
    >>> def swing(x, gravity):
    ...     return [x[0] + 0.1 * x[1], x[1] - 0.1 * gravity * np.sin(x[0])]
    >>> def seen(x, gravity):
    ...     return np.sin(x[0])
    >>> arrays = 0.01 * np.eye(2), np.array([0.1]), np.array([1.0, 0.0]), 0.1 * np.eye(2)
    >>> model = statespace.NonlinearModel(swing, seen, *arrays, params=(9.8,))
    >>> slopes = ld.grad(lambda model: statespace.extended_loglikelihood([0.8, 0.9, 0.7], *model))(model)
    >>> round(float(slopes.params[0]), 4)
    0.0026
    """

    _components: tuple[Component, ...] = ()

    @property
    def components(self) -> tuple[Component, ...]:
        """One, with the names of the states."""
        n = np.shape(value(self.initial_state))[-1]
        fits = sum(len(component.states) for component in self._components) == n
        return components_of(self._components if fits else (), n)

    def named(self, name: str, *states: str) -> NonlinearModel:
        """The model with names.

        Parameters
        ----------
        name : str
        *states : str
            A name for each state; by default `name` with a number, or alone if there is one state.

        Returns
        -------
        NonlinearModel

        Raises
        ------
        ValueError
            If there are more or fewer names than states.

        Examples
        --------
        >>> from lindiff import statespace
        >>> functions = lambda x: 0.9 * x, lambda x: x[0] * x[1]
        >>> model = statespace.NonlinearModel(
        ...     *functions, [[0.1, 0], [0, 0.1]], [0.1], [1.0, 1.0], [[1.0, 0], [0, 1]])
        >>> model.named("market", "price", "amount").components
        (Component(name='market', states=('price', 'amount'), explanatory=False),)
        """
        n = np.shape(value(self.initial_state))[-1]
        model = self._replace()
        model._components = components_of((one_component(name, states, n),), n)
        return model

    def _replace(self, **fields: Any) -> NonlinearModel:
        """With other arrays or functions, and the names of this one."""
        model = super()._replace(**fields)
        model._components = self._components
        return model

    def constant_fields(self) -> tuple[str, ...]:
        """What transforms leave as it is."""
        return ("transition", "observation")


class NonlinearSystem(NamedTuple):
    """A model beside data, checked.

    y (T, p), 0 where seen (T, p) is 0, and not 1; state_cov (T, n, n) and obs_cov (T, p, p), with 1 for T
    where they are constant; initial_state (n,), initial_state_cov (n, n); inputs: trees of (T, ...), or None.
    """

    transition: Callable[..., Any]
    observation: Callable[..., Any]
    y: Any
    seen: Any
    state_cov: Any
    obs_cov: Any
    initial_state: Any
    initial_state_cov: Any
    params: tuple[Any, ...]
    inputs: Any

    def data(self) -> Any:
        """y with NaN where it is missing."""
        return np.where(self.seen == 1, self.y, np.nan)

    def part(self, start: int, stop: int) -> tuple[tuple[Any, ...], bool]:
        """The arrays of these steps: y, seen if not all are, covariances, inputs if there are any, params.

        Whether some are missing comes with them.
        """
        seen = self.seen[start:stop]
        is_masked = not seen.all()
        covs = (X[start:stop] if len(X) > 1 else X[0] for X in (self.state_cov, self.obs_cov))
        mask = (seen,) if is_masked else ()
        inputs = () if self.inputs is None else (pytree.tree_map(lambda x: x[start:stop], self.inputs),)
        return (self.y[start:stop], *mask, *covs, *inputs, *self.params), is_masked


def checked(
    name: str,
    y: Any,
    transition: Any,
    observation: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any,
    initial_state_cov: Any,
    params: Any,
    inputs: Any,
) -> NonlinearSystem:
    """The system of a public function's arguments; `name` is that function.

    Raises
    ------
    TypeError, ValueError
        That say what to write instead.
    """
    for argument, function in (("transition", transition), ("observation", observation)):
        if not callable(function):
            raise TypeError(
                f"{name}: {argument} is a function of the state, got {type(function).__name__}; "
                f"linear models are for kalman_filter and loglikelihood"
            )
    if not isinstance(params, tuple | list):
        raise TypeError(
            f"{name}: params are those of the functions, one after the other, in a tuple: write (params,) "
            f"for one, got {type(params).__name__}"
        )
    start = real(name, "initial_state", initial_state)
    if start.ndim != 1:
        raise ValueError(f"{name}: initial_state must be of shape (n,), got shape {start.shape}")
    obs_cov = real(name, "obs_cov", obs_cov)
    if not 1 <= obs_cov.ndim <= 3:
        raise ValueError(
            f"{name}: obs_cov must be of shape (p, p), (T, p, p) or, for variances, (p,), got shape "
            f"{obs_cov.shape}"
        )
    n, p = start.shape[0], obs_cov.shape[-1]
    y = real(name, "y", y)
    if y.ndim != 2 and not (y.ndim == 1 and p == 1):
        raise ValueError(
            f"{name}: y must be of shape (T, {p}){', or (T,)' if p == 1 else ''} as obs_cov of shape "
            f"{obs_cov.shape} has it, got shape {y.shape}: one series at a time"
        )
    if y.ndim == 2 and y.shape[1] != p:
        raise ValueError(
            f"{name}: y of shape {y.shape} has {y.shape[1]} numbers a step, and obs_cov of shape "
            f"{obs_cov.shape} is that of {p}"
        )
    linear = (zeros_beside(start, (n, n), start.dtype), zeros_beside(start, (p, n), start.dtype))
    system = canonical(name, y, *linear, state_cov, obs_cov, start, initial_state_cov)
    if system.many:
        raise ValueError(f"{name}: covariances have an axis of series in front; one series at a time")
    y, R = system.y[0], system.obs_cov[0]
    missing = np.isnan(value(y))
    return NonlinearSystem(
        transition=transition,
        observation=observation,
        y=np.where(missing, 0, y),
        seen=(~missing).astype(y.dtype),
        state_cov=system.state_cov[0],
        obs_cov=R if R.shape[-2] == p else makediag(R[:, 0]),
        initial_state=system.initial_state[0],
        initial_state_cov=system.initial_state_cov[0],
        params=tuple(pytree.tree_map(_number, list(params))),
        inputs=_timed(name, inputs, y.shape[0]),
    )


def _number(x: Any) -> Any:
    """A number of Python's as one of NumPy's: for a program that is data, and no part of its text."""
    return np.float64(x) if type(x) is float else x


def _timed(name: str, inputs: Any, steps: int) -> Any:
    """The inputs as arrays, checked."""
    if inputs is None:
        return None
    leaves, restore = pytree.flatten(inputs)
    arrays = [x if hasattr(x, "__array_function__") else asarray(x) for x in leaves]
    for x in arrays:
        if x.ndim == 0 or x.shape[0] != steps:
            raise ValueError(
                f"{name}: inputs of shape {x.shape} must have a row for each of the {steps} steps of y; what "
                f"is constant belongs to params"
            )
    return restore(arrays)
