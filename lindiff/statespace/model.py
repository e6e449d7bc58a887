"""The system matrices of a state-space model: as users give them, and in the form that is computed with."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import foreign, on_host, placed, zeros_beside
from lindiff.core.variable import Variable, refuse_subclass, shared_of, type_name, value
from lindiff.kernels.conditions import has_nan, model_in_order
from lindiff.kernels.kalman import with_variances
from lindiff.linalg import makediag
from lindiff.linalg._backend import kernels
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.numpy import asarray
from lindiff.statespace.columns import refuse_other_dates
from lindiff.statespace.components import Component, components_of, joined, one_component
from lindiff.statespace.diffuse import is_of_one_series, start_variances

__all__ = [
    "Model",
    "System",
    "beside_a_model",
    "canonical",
    "check_method",
    "in_order",
    "in_rows",
    "of_steps",
    "real",
    "series_by_pattern",
    "takes_models",
]


class _Matrices(NamedTuple):
    """What a `Model` is, but for the names of its parts."""

    transition: Any
    design: Any
    state_cov: Any
    obs_cov: Any
    initial_state: Any = None
    initial_state_cov: Any = None
    state_intercept: Any = None
    obs_intercept: Any = None
    diffuse: Any = None


class Model(_Matrices):
    """System matrices of a linear Gaussian state-space model, in the order of the functions' arguments.

    ::

        x[t+1] = transition x[t] + state_intercept + h[t],   h[t] ~ N(0, state_cov)
        y[t]   = design x[t] + obs_intercept + v[t],         v[t] ~ N(0, obs_cov)
        x[0] ~ N(initial_state, initial_state_cov)

    so that ``loglikelihood(y, *model)`` works, and ``loglikelihood(y, model)``, too.  Models add up by block:
    ``a + b`` observes the sum of what a and b observe.

    Parameters
    ----------
    transition : (n, n), (T, n, n) or (S, T, n, n) array
        ``transition[t]`` leads from step t to t + 1; the last one is used for the prediction after the data.
        An axis of series S needs the time axis, which has length 1 for what is constant.
    design : (p, n), (T, p, n) or (S, T, p, n) array
    state_cov : (n, n), (T, n, n) or (S, T, n, n) array
    obs_cov : (p, p), (T, p, p) or (S, T, p, p) array; or (p,), (1, p), (T, 1, p) or (S, T, 1, p)
        Variances in a row stand for independent errors.
    initial_state : (n,) or (S, n) array, optional
        Mean of ``x[0]``, the state that ``y[0]`` observes.  May be None where `diffuse` covers all states.
    initial_state_cov : (n, n) or (S, n, n) array, optional
    state_intercept : (n,), (T, n) or (S, T, n) array, optional
    obs_intercept : (p,), (T, p) or (S, T, p) array, optional
    diffuse : bool or (n,) array of bool, optional
        States of which nothing is known at the start; True stands for all.  What `initial_state` and
        `initial_state_cov` say of them is not used.

    Attributes
    ----------
    components : tuple of Component
        Names of its parts and of their states, in the order of these; builders give them, others
        :meth:`named`.
    dates : pandas.DatetimeIndex, pandas.PeriodIndex or None
        Of its steps, where it varies with them: of the explanatory variables of :func:`regression`, or of the
        times of a model in continuous time.

    Notes
    -----
    Transforms take a model as the tuple of its arrays, without `diffuse`:
    ``ld.grad(lambda model: loglikelihood(y, *model))(model)`` is a Model of gradients.

    A sum of models has the states side by side: ``transition``, ``state_cov`` and ``initial_state_cov`` are
    block diagonal, ``obs_cov`` and ``obs_intercept`` are added.  Where one model has an initial state and the
    other none, which then must be diffuse, that one's part is zero; where both have none, so has the sum.
    Components keep their names, but for a number where there is one of that name already.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> one = np.eye(1)
    >>> level = ld.statespace.Model(one, one, 0.1 * one, one, diffuse=True)
    >>> noise = ld.statespace.Model(0.5 * one, one, one, 0 * one, np.zeros(1), 4 / 3 * one)
    >>> both = level + noise
    >>> both.transition
    array([[1. , 0. ],
           [0. , 0.5]])
    >>> both.diffuse
    array([ True, False])
    >>> round(float(ld.statespace.loglikelihood(np.array([1.0, 3.0, 2.0]), *both)), 6)
    -4.499683
    """

    _components: tuple[Component, ...] = ()
    _dates: Any = None
    _process: Any = None

    @property
    def dates(self) -> Any:
        """Of its steps, by explanatory variables or times that have dates; None without such."""
        return self._dates

    @property
    def components(self) -> tuple[Component, ...]:
        """Names of its parts and of their states."""
        n = np.shape(self.transition)[-1]
        fits = sum(len(component.states) for component in self._components) == n
        return components_of(self._components if fits else (), n)

    def constant_fields(self) -> tuple[str, ...]:
        """What transforms leave as it is."""
        return ("diffuse",)

    def _replace(self, **fields: Any) -> Model:
        """With other arrays, and the names of this one."""
        model = super()._replace(**fields)
        model._components, model._dates = self._components, self._dates
        model._process = None if fields.keys() - {"obs_intercept"} else self._process
        return model

    @property
    def process(self) -> Any:
        """The `Process` whose values, with `obs_intercept` added, and nothing else are observed.

        None where it is not known, and after something was written to one of the matrices.
        """
        if self._process is None:
            return None
        process, marks = self._process
        return process if all(map(_is_as_marked, self._without_intercept(), marks)) else None

    def _without_intercept(self) -> tuple[Any, ...]:
        return *self[:7], self.diffuse

    def of_process(self, process: Any) -> Model:
        """The model, known to be that of a `Process`."""
        model = self._replace()
        model._process = process, tuple(map(_mark, self._without_intercept()))
        return model

    def at_dates(self, dates: Any) -> Model:
        """The model with these dates of its steps, or with none.

        Parameters
        ----------
        dates : pandas.DatetimeIndex, pandas.PeriodIndex or None
            What other dates data have, `Analysis`, `fit` and sums of models refuse.

        Returns
        -------
        Model
        """
        model = self._replace()
        model._dates = dates
        return model

    def of_components(self, components: tuple[Component, ...]) -> Model:
        """The model with these names.

        Raises
        ------
        ValueError
            If they are not those of as many states, or two components have one name.
        """
        model = self._replace()
        model._components = components_of(components, np.shape(self.transition)[-1])
        return model

    def named(self, name: str, *states: str) -> Model:
        """The model with other names: it is one component, in sums too.

        Parameters
        ----------
        name : str
        *states : str
            A name for each state; by default `name` with a number, or alone if there is one state.
            Coefficients keep the names of their variables.

        Returns
        -------
        Model

        Raises
        ------
        ValueError
            If there are more or fewer names than states.

        Examples
        --------
        >>> from lindiff import statespace
        >>> weekly = statespace.seasonal(7, 0.5).named("week")
        >>> (statespace.local_level(1.0) + weekly).components[1].states[:2]
        ('week[0]', 'week[1]')
        """
        return self.of_components(
            (one_component(name, states, np.shape(self.transition)[-1], self.components),)
        )

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            raise TypeError(f"Model: {type(other).__name__} + Model is none; models add up with models")
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum([...]) begins with 0

    def __mul__(self, other: Any) -> Any:
        raise TypeError("Model: it has no multiples; design and obs_cov, by _replace, scale what is observed")

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Model):
            return NotImplemented
        a, b = _checked_summand(self), _checked_summand(other)
        p, q = a.design.shape[-2], b.design.shape[-2]
        if p != q:
            raise ValueError(
                f"Model + Model: designs of shapes {a.design.shape} and {b.design.shape} observe {p} and {q} "
                f"numbers a step; both models must observe the same ones"
            )
        _check_places(a, b)
        refuse_other_dates("Model + Model: the steps are", self.dates, "and", other.dates)
        n, m = a.transition.shape[-1], b.transition.shape[-1]
        for argument, x, z in zip(Model._fields[:-1], a[:-1], b[:-1], strict=True):
            if x is not None and z is not None:
                _check_leading_axes(argument, x.shape, z.shape)
        return (
            Model(
                _block_diagonal(a.transition, b.transition),
                _side_by_side(a.design, b.design),
                _block_diagonal(a.state_cov, b.state_cov),
                _sum_of_obs_covs(a.obs_cov, b.obs_cov),
                _joined(a.initial_state, b.initial_state, (n,), (m,), _side_by_side),
                _joined(a.initial_state_cov, b.initial_state_cov, (n, n), (m, m), _block_diagonal),
                _joined(a.state_intercept, b.state_intercept, (n,), (m,), _side_by_side),
                _sum_or_none(a.obs_intercept, b.obs_intercept),
                _joined_diffuse(a, b),
            )
            .of_components(joined(self.components, other.components))
            .at_dates(other.dates if self.dates is None else self.dates)
        )


def beside_a_model(name: str) -> TypeError:
    """What to raise for arrays beside a Model."""
    return TypeError(f"{name}: a Model has all arrays: give none beside it, or change it by _replace")


def takes_models(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a model's arrays that takes the Model in their place: ``kalman_filter(y, model)``."""
    place = list(inspect.signature(function).parameters).index("transition")

    @functools.wraps(function)
    def of_arrays_or_model(*args: Any, **options: Any) -> Any:
        if len(args) > place and isinstance(args[place], Model):
            if len(args) > place + 1 or options.keys() & {*Model._fields}:
                raise beside_a_model(function.__name__)
            args = (*args[:place], *args[place])
        return function(*args, **options)

    return of_arrays_or_model


def _mark(x: Any) -> Any:
    """What tells whether an array is still as it was: a copy; of a Variable what is gone with its value."""
    if type(x) is not Variable:
        return None if x is None else x.copy()
    mark = shared_of(x)["mark"] = object()
    return mark


def _is_as_marked(x: Any, mark: Any) -> bool:
    if type(x) is Variable:
        return shared_of(x).get("mark") is mark
    return x is mark is None or (type(mark) is np.ndarray and np.array_equal(x, mark))


def _checked_summand(model: Model) -> Model:
    """With arrays for its parts; what has no initial state must be diffuse."""
    diffuse = _diffuse("Model + Model", model.diffuse, np.shape(model.transition)[-1:])
    for argument in ("initial_state", "initial_state_cov"):
        if getattr(model, argument) is None and (diffuse is None or not diffuse.all()):
            raise ValueError(f"Model + Model: {argument} is missing, and diffuse does not cover all states")
    arrays = {
        argument: None if part is None else real("Model + Model", argument, part)
        for argument, part in zip(Model._fields[:-1], model[:-1], strict=True)
    }
    return Model(**arrays, diffuse=diffuse)


def _check_places(a: Model, b: Model) -> None:
    if (foreign(a.transition) is None) != (foreign(b.transition) is None):
        of_a, of_b = (type_name(x.transition) for x in (a, b))
        raise TypeError(
            f"Model + Model: transition is a {of_a} in one and a {of_b} in the other; give all arrays on the "
            f"same device"
        )


def _check_leading_axes(argument: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Axes of series and time must be the same, or of length 1."""
    core = 1 if argument in ("initial_state", "state_intercept", "obs_intercept") else 2
    for x, z in zip(reversed(a[:-core]), reversed(b[:-core]), strict=False):
        if x != z and 1 not in (x, z):
            raise ValueError(
                f"Model + Model: {argument} of shapes {a} and {b} have {x} and {z} steps or series in front; "
                f"both must have as many, or 1"
            )


def _joined(a: Any, b: Any, of_a: tuple[int, ...], of_b: tuple[int, ...], join: Any) -> Any:
    """``join(a, b)``, where one that is None is zero; None if both are."""
    if a is None and b is None:
        return None
    dtype = (b if a is None else a).dtype
    a, b = zeros_beside(b, of_a, dtype) if a is None else a, zeros_beside(a, of_b, dtype) if b is None else b
    return join(a, b)


def _joined_diffuse(a: Model, b: Model) -> Any:
    if a.diffuse is None and b.diffuse is None:
        return None
    return np.concatenate(
        [np.zeros(x.transition.shape[-1], bool) if x.diffuse is None else x.diffuse for x in (a, b)]
    )


def _sum_or_none(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _side_by_side(a: Any, b: Any) -> Any:
    """Along the last axis, the others broadcast."""
    return np.concatenate(_alike_in_front(a, b, 1), axis=-1)


def _alike_in_front(a: Any, b: Any, core: int) -> tuple[Any, Any]:
    """Both with the same axes before the last ones."""
    if a.shape[:-core] == b.shape[:-core]:
        return a, b
    lead = np.broadcast_shapes(a.shape[:-core], b.shape[:-core])
    return np.broadcast_to(a, (*lead, *a.shape[-core:])), np.broadcast_to(b, (*lead, *b.shape[-core:]))


def _block_diagonal(a: Any, b: Any) -> Any:
    a, b = _alike_in_front(a, b, 2)
    *lead, n, _ = a.shape
    m = b.shape[-1]
    right, left = zeros_beside(b, (*lead, n, m), b.dtype), zeros_beside(a, (*lead, m, n), a.dtype)
    return np.concatenate([np.concatenate([a, right], axis=-1), np.concatenate([left, b], axis=-1)], axis=-2)


def _sum_of_obs_covs(a: Any, b: Any) -> Any:
    """Variances in a row stay so, if both are."""
    a, b = (x[None] if x.ndim == 1 else x for x in (a, b))
    if a.shape[-2] != b.shape[-2]:
        a, b = (x if x.shape[-2] == x.shape[-1] else makediag(x[..., 0, :]) for x in (a, b))
    return a + b


# -- one form ----------------------------------------------------------------------------------------------


# Variances of a state's noise at one step beside another, above which updates by correlated errors lose their
# digits: of a walk of order 2, behind gaps of 2e4 times the usual interval.
SPREAD_OF_GAPS = 1e13


# The states of so many series stay in a processor's cache from step to step.
SERIES_TOGETHER = 2048


class System(NamedTuple):
    """Data and system matrices with all their axes, checked: S series (or 1), T steps (or 1).

    y (S, T, p); transition (S, T, n, n), design (S, T, p, n), state_cov (S, T, n, n), obs_cov (S, T, p, p)
    or the row (S, T, 1, p) of variances; initial_state (S, n), initial_state_cov (S, n, n) with a finite
    variance for the diffuse states; state_intercept (S, T, n) and obs_intercept (S, T, p), or None; diffuse:
    the plain places of the diffuse states; many: whether results have an axis of series.

    In each but y, 1 stands for S where the series share it, and for T where it is constant.  Covariances are
    symmetric, and so are their gradients.
    """

    y: Any
    transition: Any
    design: Any
    state_cov: Any
    obs_cov: Any
    initial_state: Any
    initial_state_cov: Any
    state_intercept: Any
    obs_intercept: Any
    diffuse: tuple[int, ...]
    many: bool

    def groups(self) -> tuple[tuple[Any, Any], ...]:
        """Places of series that share covariances, and where they are observed: (T, p) or None for all.

        They are no more than `SERIES_TOGETHER`.
        """
        patterns = series_by_pattern(self.y)
        found = [(series, None if observed.all() else observed) for series, observed in patterns]
        if not len(self.y) and self.shares_covariances:
            return tuple(found)
        most = SERIES_TOGETHER if self.shares_covariances else 1
        return tuple(
            (series[i : i + most], observed)
            for series, observed in found
            for i in range(0, len(series), most)
        )

    @property
    def shares_covariances(self) -> bool:
        """Whether no matrix has an axis of series, so that series with the same gaps share covariances."""
        matrices = (self.transition, self.design, self.state_cov, self.obs_cov, self.initial_state_cov)
        return all(x.shape[0] == 1 for x in matrices)

    @property
    def is_plain(self) -> bool:
        """Whether no array is a Variable."""
        return not any(type(x) is Variable for x in self[:9])

    def of_series(self, series: Any) -> System:
        """The system of the series at these places, which may be repeated."""
        chosen = (x if x is None or x.shape[0] == 1 else x[series] for x in self[1:9])
        return System._make((self.y[series], *chosen, self.diffuse, self.many))

    def of_steps(self, start: int, stop: int) -> System:
        """The system of some of the steps; what is constant, and the initial state, as it is."""
        timed = ("transition", "design", "state_cov", "obs_cov", "state_intercept", "obs_intercept")
        cut = {name: of_steps(getattr(self, name), start, stop) for name in timed}
        return self._replace(y=self.y[:, start:stop], **cut)

    def results(self, fields: tuple[Any, ...]) -> Any:
        """Fields (S, ...) as public functions return them: without an axis of series, if none was given."""
        return fields if self.many else tuple(x[0] for x in fields)


def of_steps(x: Any, start: int, stop: int) -> Any:
    """Some of the steps of an array (S, T, ...) of a system; all of what is constant, or None."""
    return x if x is None or x.shape[1] == 1 else x[:, start:stop]


def canonical(
    name: str,
    y: Any,
    transition: Any,
    design: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    state_intercept: Any = None,
    obs_intercept: Any = None,
    diffuse: Any = None,
) -> System:
    """Arguments of the public function `name`, checked, in their one form.

    Raises
    ------
    TypeError
        If an array is complex.
    ValueError
        If shapes do not fit, numbers are not finite (NaN in y is missing), or a covariance is not symmetric
        or has a negative variance or a correlation beyond 1.
    """
    ordinary = (y, transition, design, state_cov, obs_cov, initial_state, initial_state_cov)
    if state_intercept is obs_intercept is None:
        system = _of_one_series_in_order(name, ordinary, diffuse)
        if system is not None:
            _warn_of_long_gaps(name, system)
            return system
    transition, design = real(name, "transition", transition), real(name, "design", design)
    if transition.ndim < 2 or transition.shape[-1] != transition.shape[-2]:
        raise ValueError(
            f"{name}: transition of shape {transition.shape} must be (n, n), (T, n, n) or (S, T, n, n)"
        )
    n = transition.shape[-1]
    if n == 0:
        raise ValueError(
            f"{name}: the model has no states: write what is noise alone with one state of zeros"
        )
    if design.ndim < 2 or design.shape[-1] != n:
        raise ValueError(
            f"{name}: design of shape {design.shape} does not fit transition of shape {transition.shape}: "
            f"write it as (p, {n}), (T, p, {n}) or (S, T, p, {n})"
        )
    p = design.shape[-2]
    y = real(name, "y", y)
    many = y.ndim == 3
    checks = Checks(y)
    y = _data(name, y, design, checks)
    place = _Placing(name, y, checks)
    mask = _diffuse(name, diffuse, (n,))
    places = () if mask is None else tuple(int(i) for i in np.flatnonzero(mask))
    if len(places) < n:
        for argument, x in (("initial_state", initial_state), ("initial_state_cov", initial_state_cov)):
            if x is None:
                raise ValueError(
                    f"{name}: {argument} is missing; give it, take it from stationary_initialization, or "
                    f"write diffuse=True"
                )
    arrays = {
        "transition": place(transition, "transition", (n, n)),
        "design": place(design, "design", (p, n)),
        "state_cov": _covariance(place, real(name, "state_cov", state_cov), "state_cov", (n, n)),
        "obs_cov": _covariance(place, real(name, "obs_cov", obs_cov), "obs_cov", (p, p), row=True),
        "initial_state": place(initial_state, "initial_state", (n,), timed=False),
        "initial_state_cov": _covariance(place, initial_state_cov, "initial_state_cov", (n, n), timed=False),
        "state_intercept": place(state_intercept, "state_intercept", (n,)),
        "obs_intercept": place(obs_intercept, "obs_intercept", (p,)),
    }
    checks.settle()
    arrays = _of_one_dtype(y, arrays)
    y = arrays.pop("y")
    if place.series is not None:
        y = np.broadcast_to(y, (place.series, *y.shape[1:])) if y.shape[0] != place.series else y
    if places:
        arrays.update(_proper_start(mask, **arrays))
    system = System(y, **arrays, diffuse=places, many=many or place.owned)
    _warn_of_long_gaps(name, system)
    return system


def _warn_of_long_gaps(name: str, system: System) -> None:
    """Warn where correlated errors of the observations would lose the digits behind a long gap."""
    Q, R = value(system.state_cov), value(system.obs_cov)
    if R.shape[-2] == 1 or Q.shape[1] < 2 or type(Q) is not np.ndarray or type(R) is not np.ndarray:
        return
    variances = np.diagonal(Q, axis1=-2, axis2=-1)
    least = np.min(np.where(variances > 0, variances, np.inf), axis=1)
    is_long = np.any(np.max(variances, axis=1) > SPREAD_OF_GAPS * least)
    if is_long and np.any(makediag(np.diagonal(R, axis1=-2, axis2=-1)) != R):
        warnings.warn(
            f"{name}: behind a gap this long, observations whose errors are correlated (an obs_cov that is "
            "not diagonal) leave few digits: leave out the correlation, or begin anew behind the gap",
            UserWarning,
            stacklevel=4,
        )


def in_order(arrays: tuple[Any, ...], timed: bool = False) -> bool:
    """Whether y, transition, ..., initial_state_cov are surely in order, by their values: `model_in_order`.

    The one variance of a single observation may stand in a vector.
    """
    y, A, B, Q, R, m, P = map(value, arrays)
    if type(R) is np.ndarray and R.shape == (1,):
        R = R.reshape(1, 1)
    return model_in_order(y, A, B, Q, R, m, P, timed)


def _of_one_series_in_order(name: str, arrays: tuple[Any, ...], diffuse: Any) -> System | None:
    """The system of arrays that are in order, or Variables of such; None, if it takes a closer look."""
    y, A, B, Q, R, m, P = (in_rows(x) for x in arrays)
    mask, plain = None, value(A)
    if diffuse is not None and type(plain) is np.ndarray and plain.ndim in (2, 3):
        n = plain.shape[-1]
        mask = _diffuse(name, diffuse, (n,))
        if m is P is None and mask is not None and np.count_nonzero(mask) == n:
            m, P = np.zeros(n), np.zeros((n, n))
    if (diffuse is None) != (mask is None) or not in_order((y, A, B, Q, R, m, P), timed=True):
        return None
    system = _of_one_series(y, A, B, Q, R, m, P)
    if mask is None:
        return system
    start = _proper_start(mask, **dict(zip(System._fields[1:9], system[1:9], strict=True)))
    return system._replace(**start, diffuse=tuple(mask.nonzero()[0].tolist()))


def in_rows(x: Any) -> Any:
    """A plain array in C order; all else as it is."""
    return np.ascontiguousarray(x) if type(x) is np.ndarray and not x.flags.c_contiguous else x


def _of_one_series(y: Any, A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any) -> System:
    """The system of arrays, or Variables, that are in order."""
    p, n = B.shape[-2:]
    Q, R, P = (X if X.shape[-1] == 1 or type(X) is np.ndarray else hermitian_part(X) for X in (Q, R, P))
    return System(
        y.reshape(1, len(y), p),
        A.reshape(1, -1, n, n),
        B.reshape(1, -1, p, n),
        Q.reshape(1, -1, n, n),
        R.reshape(1, -1, p, p),
        m.reshape(1, n),
        P.reshape(1, n, n),
        None,
        None,
        diffuse=(),
        many=False,
    )


def check_method(name: str, method: Any) -> None:
    """Raise an error unless it is None, "composed" or "square_root"; `name` is the public function."""
    if method not in (None, "composed", "square_root"):
        raise ValueError(f'{name}: method must be None, "composed" or "square_root", not {method!r}')


class Checks:
    """What must hold of the numbers in arrays; on a GPU looked at all at once, because that waits for it."""

    def __init__(self, y: Any) -> None:
        self._faults = getattr(kernels(value(y)), "faults", None)
        self._asked: list[tuple[str, Any]] = []
        self._reports: list[Callable[[], None]] = []

    def require(self, condition: str, x: Any, report: Callable[[], None]) -> bool:
        """One of CONDITIONS of a plain array; `report` raises the error where it does not hold.

        True if it is known to hold.
        """
        if self._faults is not None:
            self._asked.append((condition, x))
            self._reports.append(report)
            return False
        holds = bool(CONDITIONS[condition](x))
        if not holds:
            report()
        return holds

    def settle(self) -> None:
        """Look at the conditions that are still open."""
        if self._faults is not None:
            for wrong, report in zip(self._faults(self._asked), self._reports, strict=True):
                if wrong:
                    report()


def _is_covariance(X: Any) -> Any:
    """Symmetric, no variance negative, no correlation beyond 1 but for the rounding of its computation."""
    if not (transposed(X) == X).all():
        return False
    variances = np.diagonal(X, axis1=-2, axis2=-1)
    one = 1 + 4 * float(np.finfo(X.dtype).eps)
    return (variances >= 0).all() and _has_correlations(X, one * variances, 0)


def _has_correlations(plain: Any, variances: Any, rounding: Any) -> bool:
    """Whether none of the correlations is beyond 1."""
    deviations = np.sqrt(np.abs(variances))
    return bool((np.abs(plain) <= deviations[..., :, None] * deviations[..., None, :] + rounding).all())


def _is_surely_finite(x: Any) -> bool:
    """By the sum of squares, in a fraction of the time of looking at each; False is no answer."""
    return type(x) is np.ndarray and math.isfinite(np.vdot(x, x))


CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "finite": lambda x: _is_surely_finite(x) or np.isfinite(x).all(),
    "not_infinite": lambda x: _is_surely_finite(x) or not np.isinf(x).any(),
    "not_negative": lambda x: (x >= 0).all(),
    "covariance": _is_covariance,
}


def _data(name: str, y: Any, design: Any, checks: Checks) -> Any:
    """y as (S, T, p)."""
    p, given = design.shape[-2], y.shape
    if y.ndim == 1 and p == 1:
        y = _reshaped(y, (1, *y.shape, 1))
    elif y.ndim == 2:
        y = _reshaped(y, (1, *y.shape))
    if y.ndim != 3 or y.shape[-1] != p:
        one = ", or (T,)" if p == 1 else ""
        raise ValueError(
            f"{name}: y of shape {given} does not fit design of shape {design.shape}: write it as "
            f"(T, {p}), or (S, T, {p}) for many series{one}"
        )

    def report() -> None:
        raise ValueError(f"{name}: y holds infinite numbers; write NaN for what is missing")

    checks.require("not_infinite", value(y), report)
    return y


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    """By the method, the fastest way for Variables, if there is one."""
    return x.reshape(shape) if hasattr(x, "reshape") else np.reshape(x, shape)


class _Placing:
    """Gives an array its axes of series and time, and says what does not fit."""

    def __init__(self, name: str, y: Any, checks: Checks) -> None:
        self.name, self.y, self.checks = name, y, checks
        self.of_numpy = foreign(y) is None
        self.steps: int = y.shape[1]
        self.series: int | None = y.shape[0] if y.shape[0] != 1 else None  # 1: not known yet
        self.owned = False  # whether an array has its own axis of series

    def __call__(
        self, x: Any, argument: str, core: tuple[int, ...], *, timed: bool = True, row: bool = False
    ) -> Any:
        if x is None:
            return None
        x = real(self.name, argument, x)
        self.check_kind(x, argument)
        given, k = x.shape, len(core)
        if row and given == core[-1:]:
            given = 1, *given
        lead, found = given[: max(len(given) - k, 0)], given[max(len(given) - k, 0) :]
        if (found != core and not (row and found == (1, core[-1]))) or len(lead) > 1 + timed:
            self.refuse(argument, given, core, timed, row)
        if timed and lead and lead[-1] not in (1, self.steps):
            self.refuse(argument, given, core, timed, row)
        missing = 1 + timed - len(lead)
        if missing:
            return self.finite(_reshaped(x, (1,) * missing + given), argument)
        if x.shape[0] not in (1, self.series) and self.series is not None:
            self.refuse(argument, given, core, timed, row)
        self.owned = True
        if x.shape[0] != 1:
            self.series = x.shape[0]
        return self.finite(x, argument)

    def check_kind(self, x: Any, argument: str) -> None:
        """Raise an error, unless all arrays are NumPy's or none is."""
        if (foreign(x) is None) != self.of_numpy:
            raise TypeError(
                f"{self.name}: {argument} is a {type_name(x)} and y a {type_name(self.y)}; give all arrays "
                f"on the same device"
            )

    def finite(self, x: Any, argument: str) -> Any:
        def report() -> None:
            raise ValueError(
                f"{self.name}: {argument} holds NaN or infinite numbers; only y may, for missing ones"
            )

        self.checks.require("finite", value(x), report)
        return x

    def refuse(self, argument: str, given: Any, core: tuple[int, ...], timed: bool, row: bool) -> None:
        cores = [core, (1, core[-1])] if row and core[-1] != 1 else [core]
        leads = [(), (self.steps,), ("S", self.steps)] if timed else [(), ("S",)]
        forms = [_form(*lead, *c) for c in cores for lead in leads]
        raise ValueError(
            f"{self.name}: {argument} of shape {given} does not fit y of {self.y.shape[0]} series, "
            f"{self.steps} steps and {self.y.shape[2]} numbers a step, shape {self.y.shape}: write it as "
            f"{', '.join(forms[:-1])} or {forms[-1]}" + (", with 1 for T if constant" if timed else "")
        )


def _form(*axes: Any) -> str:
    return "(" + ", ".join(map(str, axes)) + ("," if len(axes) == 1 else "") + ")"


def real(name: str, argument: str, x: Any) -> Any:
    """An array of floating point numbers, which integers become; data frames and lists are made arrays."""
    if x is None:
        raise TypeError(f"{name}: {argument} is None; an array is needed")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name}: {argument} is a masked array; write {argument}.filled(np.nan)")
    refuse_subclass(x, f"{name}: {argument}")
    x = x if hasattr(x, "__array_function__") else asarray(x)
    if x.dtype.kind == "f" and x.dtype.itemsize <= 8:
        return x
    if x.dtype.kind in "iub":
        return x.astype(np.float64)
    raise TypeError(f"{name}: {argument} has dtype {x.dtype}, real numbers of up to 64 bits are needed")


def _of_one_dtype(y: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    arrays = {"y": y, **arrays}
    dtype = np.result_type(np.float32, *(x.dtype for x in arrays.values() if x is not None))
    return {k: x if x is None or x.dtype == dtype else x.astype(dtype) for k, x in arrays.items()}


def _diffuse(name: str, diffuse: Any, shape: tuple[int, ...]) -> Any:
    """None, or the mask of the diffuse states."""
    if diffuse is None or diffuse is False:
        return None
    mask = on_host(diffuse)
    if mask.dtype != bool or mask.shape not in ((), shape):
        raise ValueError(
            f"{name}: diffuse of shape {mask.shape} and dtype {mask.dtype} must be True, or one boolean for "
            f"each of the {shape[0]} states, shape {shape}"
        )
    mask = mask if mask.shape else np.full(shape, mask)
    return mask if np.count_nonzero(mask) else None


def _covariance(place: _Placing, given: Any, argument: str, core: tuple[int, ...], **options: bool) -> Any:
    """In its place, and symmetric to the last bit; a row of variances as it is."""
    X = place(given, argument, core, **options)
    if X is None:
        return None
    plain, about = value(X), f"{place.name}: {argument} of shape {np.shape(value(given))}"
    row = plain.shape[-2] != plain.shape[-1]
    condition = "not_negative" if row or plain.shape[-1] == 1 else "covariance"
    exact = place.checks.require(condition, plain, lambda: _check_covariance(about, plain, row))
    return X if condition != "covariance" or (exact and plain is X) else hermitian_part(X)


def _check_covariance(about: str, plain: Any, row: bool) -> None:
    """Raise an error where it is by more than rounding no covariance; where it is one but for that, none."""
    variances = plain[..., 0, :] if row else np.diagonal(plain, axis1=-2, axis2=-1)
    eps = float(np.finfo(plain.dtype).eps)
    largest = 0 * variances if row else np.max(np.abs(plain), axis=(-2, -1))[..., None]
    if (variances < -eps * largest).any():
        least = np.min(variances)
        raise ValueError(f"{about} has a negative variance, {least}")
    if row:
        return
    deviations = np.sqrt(np.abs(variances))
    rounding = eps**0.5 * deviations[..., :, None] * deviations[..., None, :] + eps * largest[..., None]
    if (np.abs(plain - transposed(plain)) > rounding).any():
        raise ValueError(f"{about} is not symmetric; write 0.5 * (X + np.swapaxes(X, -1, -2))")
    if not _has_correlations(plain, variances, rounding):
        raise ValueError(f"{about} is indefinite: it has a correlation beyond 1")


def _proper_start(
    mask: Any,
    *,
    transition: Any,
    design: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any,
    initial_state_cov: Any,
    **others: Any,
) -> dict[str, Any]:
    """Mean zero and a moderate variance for diffuse states."""
    dtype = design.dtype
    A, B, Q, R = map(value, (transition, design, state_cov, obs_cov))
    variances = start_variances(A, B, Q, R, mask)
    variances = variances if variances.dtype == dtype else variances.astype(dtype)
    if len(variances) == 1 and is_of_one_series(initial_state) and is_of_one_series(initial_state_cov):
        mean, cov = with_variances(initial_state, initial_state_cov, mask, variances[0])
        return {"initial_state": mean, "initial_state_cov": cov}
    mask = placed(mask.astype(dtype), design)
    known = 1 - mask
    start = np.zeros_like(mask)[None] if initial_state is None else initial_state * known
    cov = makediag(variances * mask)
    if initial_state_cov is not None:
        cov = cov + initial_state_cov * np.outer(known, known)
    return {"initial_state": start, "initial_state_cov": cov}


# -- missing values ----------------------------------------------------------------------------------------


def series_by_pattern(y: Any) -> list[tuple[Any, Any]]:
    """The series of y (S, T, p) in groups with the same missing values.

    Returns
    -------
    list of (series, observed)
        Places of the group's series, ascending, and where they are observed, (T, p) of bool.
    """
    plain = value(y)
    if type(plain) is np.ndarray and not has_nan(plain):
        return [(np.arange(len(plain)), np.ones(plain.shape[1:], bool))]
    observed = ~np.isnan(plain)
    groups: dict[bytes, list[int]] = {}
    if observed.all():
        return [(np.arange(len(observed)), np.ones(observed.shape[1:], bool))]
    observed = on_host(observed)  # where decisions are made
    flat = observed.reshape(len(observed), observed[0].size)
    for series, row in enumerate(np.packbits(flat, axis=1)):
        groups.setdefault(row.tobytes(), []).append(series)
    return [(np.array(series), observed[series[0]]) for series in groups.values()]
