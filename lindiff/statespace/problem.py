"""What is fitted: a function that builds models beside data, its parameters, and where they may be."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.scipy.optimize._flat import Flat
from lindiff.scipy.optimize._running import Running
from lindiff.statespace.answers import labelled, own
from lindiff.statespace.columns import refuse_other_dates
from lindiff.statespace.defaults import completed, size_of_noise
from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.maximum import Likelihood, Scale
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import Beside, NonlinearModel, filter_for, with_functions_of
from lindiff.statespace.panels import of_series
from lindiff.statespace.partitioned import PartitionedPanel, is_partitioned
from lindiff.statespace.priors import log_densities, refuse_impossible
from lindiff.statespace.repeated import by_program
from lindiff.statespace.transforms import (
    NAMED,
    Transform,
    covariance,
    positive,
    size_of_triangle,
    unconstrained,
)
from lindiff.statespace.units import in_unit, unit_of

__all__ = ["Problem", "labels_of"]

Build = Callable[..., Model | NonlinearModel]


class Problem:
    """A builder, data and parameters, as :func:`fit` describes them.

    Parameters
    ----------
    build, y, start, transforms, fixed, tied, priors, filter
        Those of :func:`fit`.

    Attributes
    ----------
    y : array
        The data that are computed with, or by which it is begun: without series of which nothing is observed.
    count, diffuse : int
        How many observations, and how many diffuse states of all series.
    start : dict
        Where a search begins.
    free : dict
        The same in unconstrained numbers.
    notes : tuple of str
    """

    def __init__(
        self,
        build: Build,
        y: Any,
        start: Mapping[str, Any] | None = None,
        transforms: Mapping[str, Any] | None = None,
        fixed: Mapping[str, Any] | None = None,
        tied: Mapping[str, str] | None = None,
        priors: Mapping[str, Any] | None = None,
        filter: Any = None,
    ) -> None:
        if isinstance(build, Model | NonlinearModel):
            raise TypeError(
                f"fit: build is a {type(build).__name__}; give the function that makes one from parameters, "
                "as fit(statespace.local_level, y)"
            )
        given = {"start": start, "transforms": transforms, "fixed": fixed, "tied": tied, "priors": priors}
        _check_mappings(given)
        self.given = y = own(y)
        self._panel = PartitionedPanel(y) if is_partitioned(y) else None
        data, labels = labelled("fit", y if self._panel is None else self._panel.first)
        self.count = int(np.sum(~np.isnan(value(data)))) if self._panel is None else self._panel.count
        if not self.count:
            raise ValueError("fit: y has no observations, all of it is NaN or it is empty")
        self.y, self._kept, self.notes = _without_empty_series(data)
        if self._panel is not None:
            self.notes = _note_of_empty_series(self._panel.seen)
        self._unit = unit_of(self.y)
        self.filter, self._first = filter, None
        self.fixed, self.tied = dict(fixed or {}), dict(tied or {})
        _check_names(build, self.fixed, self.tied, {"start": start, "transforms": transforms})
        if self.fixed or self.tied:
            build = Held(build, self.fixed, self.tied)
        self._build = build
        self.start, maps = completed(build, self.y, start, _transforms_of(transforms or {}))
        self.transforms = _one_for_each(self.start, maps)
        self.free = _unconstrained(self.start, self.transforms, size_of_noise(self.y))
        self._densities = log_densities(priors or {}, self.start)
        refuse_impossible(self._densities, self.start)
        first = self.at(self.free)
        self._by = filter_for("fit", first, filter)
        self.diffuse = 0
        if isinstance(first, Model):
            refuse_other_dates("fit: the steps of the model are", first.dates, "the data are", labels.rows)
            self.diffuse = _diffuse_states(first) * self._series
        elif self._panel is not None:
            raise TypeError(
                "fit: y is on a cluster, and build returns a NonlinearModel: give its likelihood of some "
                "series to lindiff.distributed.Sum, and the sum to lindiff.scipy.optimize.minimize"
            )
        else:
            self._first, self._unit = first, None  # functions are those of the data in their own unit

    @property
    def _series(self) -> int:
        if self._panel is not None:
            return int(np.sum(self._panel.seen))
        return self.y.shape[0] if self.y.ndim == 3 else 1

    # -- models ---------------------------------------------------------------------------------------------

    def constrain(self, free: Any) -> dict[str, Any]:
        """The parameters that unconstrained numbers stand for."""
        return {name: self.transforms[name].constrain(x) for name, x in free.items()}

    def model(self, params: Any) -> Model | NonlinearModel:
        """The model with these parameters, where the data are."""
        if foreign(self.y) is not None:
            params = {k: beside(x, y=self.y) for k, x in params.items()}
        model = self._build(**params)
        if not isinstance(model, Model | NonlinearModel):
            raise TypeError(
                f"fit: build returns a lindiff.statespace.Model, or a NonlinearModel, got "
                f"{type(model).__name__}"
            )
        if self._first is not None and isinstance(model, NonlinearModel):
            return with_functions_of(self._first, model)
        return model

    def at(self, free: Any) -> Model | NonlinearModel:
        """The model at unconstrained numbers."""
        return self.model(self.constrain(free))

    def with_fixed(self, name: str, number: Any) -> Problem:
        """The same with one parameter less."""
        other = copy.copy(self)
        other._build = Held(self._build, {name: number}, {})
        other.fixed = self.fixed | {name: number}
        other.start, other.transforms, other.free = (
            {k: x for k, x in kept.items() if k != name} for kept in (self.start, self.transforms, self.free)
        )
        return other._afresh()

    def begun_at(self, free: Any) -> Problem:
        """The same, with a search that begins at these unconstrained numbers, or near infinite ones."""
        other, far = copy.copy(self), np.log(size_of_noise(self.y)) - 10
        other.free = {
            name: np.where(np.isneginf(x), min(far, -3.0), np.where(np.isposinf(x), 3.0, x))
            for name, x in free.items()
        }
        other.start = self.constrain(other.free)
        return other._afresh()

    @cached_property
    def form(self) -> Flat:
        """Of the unconstrained numbers as flat vectors."""
        return Flat(self.free)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name != "form"}

    def _afresh(self) -> Problem:
        """A copy whose numbers have changed: nothing that was computed from them is kept."""
        self.__dict__.pop("form", None)
        return self

    # -- densities ------------------------------------------------------------------------------------------

    def loglikelihood(self, params: Any) -> Any:
        """Of all the data."""
        return self._loglikelihood(self.model(params))

    def log_prior(self, params: Any) -> Any:
        """Zero without priors."""
        params = self.fixed | params
        return sum((np.sum(density(params[name])) for name, density in self._densities.items()), 0.0)

    def objective(self, params: Any) -> Any:
        """What is maximized: the log likelihood and the logarithm of the priors' densities."""
        return self.loglikelihood(params) + self.log_prior(params)

    def of_each_step(self, params: Any) -> Any:
        """The log densities of the steps of all series given those before, (S T,), up to constants."""
        return self._at_home(np.ravel(self._in_its_unit(self.model(params), per_step=True)))

    def _loglikelihood(self, model: Model | NonlinearModel) -> Any:
        found = np.sum(self._in_its_unit(model))
        if self._unit is not None:
            found = found - (self.count - self.diffuse) * np.log(self._unit)
        return self._at_home(found)

    def _in_its_unit(self, model: Model | NonlinearModel, per_step: bool = False) -> Any:
        """The log likelihoods of the series that have observations, of data in their own unit."""
        y = self.y
        if isinstance(model, NonlinearModel):
            if self._by is None:
                raise TypeError("fit: build returns a NonlinearModel here, and a Model at the start")
            found = []
            for series in y if y.ndim == 3 else y[None]:
                beside_it = Beside("fit", series, model, self._by)
                found.append(beside_it.loglikelihood(per_step))
                self._by = beside_it.by  # the next model will be near this one
            return np.stack(found)
        if self._panel is not None:
            model = model if self._unit is None else in_unit(model, self._unit)
            return self._panel.loglikelihood(model, self._unit)
        if self._kept is not None:
            model = of_series(model, *self._kept)
        if self._unit is not None:
            y, model = y / self._unit, in_unit(model, self._unit)
        return loglikelihood(y, model, per_step=per_step)

    def _at_home(self, x: Any) -> Any:
        """On the host, where the search is."""
        return x if foreign(self.y) is None else back_home(x, y=self.y)

    # -- for searches ---------------------------------------------------------------------------------------

    @property
    def has_units(self) -> bool:
        """Whether the data are so large or small that they are computed in a unit of their own."""
        return self._unit is not None

    @property
    def is_partitioned(self) -> bool:
        """Whether the data are on a cluster, and `y` has some of them."""
        return self._panel is not None

    @property
    def has_priors(self) -> bool:
        """Whether the maximum is one a posteriori."""
        return bool(self._densities)

    def searchable(
        self,
        tell: Callable[[int, float, dict[str, Any]], Any] | None = None,
        run: Running | None = None,
        beside: Callable[[Any], Any] | None = None,
    ) -> Likelihood:
        """The objective as a function of flat vectors.

        `tell` hears of iterations, `run` makes programs, `beside` is added, a function of `free` numbers.
        """
        at: Callable[[Any], Model | NonlinearModel] = self.at
        if run is not None and run.makes_programs and foreign(self.y) is None:
            at = by_program(self.at, self.free, run)

        def of_free(free: Any) -> Any:
            found = self._loglikelihood(at(free))
            found = found + self.log_prior(self.constrain(free)) if self._densities else found
            return found if beside is None else found + beside(free)

        def told(number: int, best: float, x: Any) -> None:
            if tell is not None:
                tell(number, best, self.constrain(self.form.tree_of(x)))

        return Likelihood(
            of_free,
            self.form,
            self._scale(),
            self.count,
            max(self.count - self.diffuse, 1),
            float(np.log(size_of_noise(self.y))),
            _log_of_rounding(self.y),
            None if tell is None else told,
        )

    def _scale(self) -> Scale:
        """What the transforms say of the coordinates."""
        form, free, transforms = self.form, self.free, self.transforms

        def where(kind: Callable[[str, Any], Any]) -> Any:
            kinds = {name: np.broadcast_to(kind(name, x), np.shape(x)) for name, x in free.items()}
            return form.flat(kinds) > 0

        def of_diagonal(name: str, x: Any) -> Any:
            return np.arange(x.shape[-1]) < size_of_triangle(x, "covariance", 1)

        factor = where(lambda name, x: transforms[name] is covariance)
        diagonal = where(lambda name, x: transforms[name] is covariance and of_diagonal(name, x))
        logarithms = where(lambda name, x: transforms[name] is positive or _vanishes(transforms[name], x))
        unbounded = where(lambda name, x: transforms[name] is unconstrained)
        shaped = ~(logarithms | factor | unbounded)
        numbers = {name: np.full(np.shape(x), float(i)) for i, (name, x) in enumerate(free.items())}
        return Scale(
            logarithms, diagonal, factor & ~diagonal, self._rows(), shaped, unbounded, form.flat(numbers)
        )

    def _rows(self) -> Any:
        """Of each coordinate of a covariance's factor, where the logarithm in the same row is."""
        places = self.form.tree_of(np.arange(self.form.size, dtype=np.float64))
        for name, x in places.items():
            if self.transforms[name] is covariance:
                n = size_of_triangle(x, "covariance", 1)
                rows = np.concatenate([np.arange(n), np.tril_indices(n, -1)[0]])
                places[name] = x[..., rows]
        return self.form.flat(places).astype(np.intp)


class Held:
    """A function of some of its arguments: others have values, or are those of another one.

    Parameters
    ----------
    build : callable
    fixed : dict
        Name of an argument to its value.
    tied : dict
        Name of an argument to that of the one that it equals.
    """

    def __init__(self, build: Build, fixed: dict[str, Any], tied: dict[str, str]) -> None:
        self.build, self.fixed, self.tied = build, fixed, tied

    def __call__(self, **params: Any) -> Model | NonlinearModel:
        params = self.fixed | params
        return self.build(**params, **{name: params[other] for name, other in self.tied.items()})

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.build)
        held = {*self.fixed, *self.tied}
        # what comes after an argument that is left out can only be given by name
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
        left = [
            argument.replace(kind=inspect.Parameter.KEYWORD_ONLY) if argument.kind in named else argument
            for name, argument in signature.parameters.items()
            if name not in held
        ]
        return signature.replace(parameters=left)


def labels_of(params: dict[str, Any]) -> list[str]:
    """A name for each number, in the order of flat vectors."""
    return [
        name + (f"[{', '.join(map(str, place))}]" if place else "")
        for name, x in params.items()
        for place in np.ndindex(np.shape(x))
    ]


# -- series and states -------------------------------------------------------------------------------------


def _without_empty_series(y: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """A panel without those of which nothing is observed, the places of the others, and a note."""
    if y.ndim != 3:
        return y, None, ()
    seen = on_host(np.any(~np.isnan(value(y)), axis=(1, 2)))
    if seen.all():
        return y, None, ()
    return y[seen], (seen.size, np.flatnonzero(seen)), _note_of_empty_series(seen)


def _note_of_empty_series(seen: Any) -> tuple[str, ...]:
    if seen.all():
        return ()
    return (f"Without observations, and left out: series {', '.join(map(str, np.flatnonzero(~seen)))}",)


def _diffuse_states(model: Model) -> int:
    if model.diffuse is None:
        return 0
    return int(np.sum(np.broadcast_to(model.diffuse, model.transition.shape[-1:])))


def _log_of_rounding(y: Any) -> float:
    """The logarithm of the variance that rounding gives to the data."""
    numbers = on_host(value(y)).astype(np.float64)
    size = float(np.nanmax(np.abs(numbers))) or 1e-6
    return float(2 * np.log(1e3 * np.finfo(np.float64).eps * size))


# -- on a GPU ----------------------------------------------------------------------------------------------


@rule
def beside(x: Any, *, y: Any) -> Any:
    """An array of NumPy's, where the data y are."""
    moved = beside(x, y=y) if type(x) is Variable else placed(np.asarray(x), y)
    return moved, Linear(lambda x_dot: beside(x_dot, y=y), lambda bar: back_home(bar, y=y))


@rule
def back_home(x: Any, *, y: Any) -> Any:
    """The other way."""
    moved = back_home(x, y=y) if type(x) is Variable else on_host(x)
    return moved, Linear(lambda x_dot: back_home(x_dot, y=y), lambda bar: beside(bar, y=y))


# -- parameters --------------------------------------------------------------------------------------------


def _one_for_each(start: dict[str, Any], transforms: Mapping[str, Transform]) -> dict[str, Transform]:
    if not start:
        raise ValueError("fit: start has no parameters: there is nothing to fit")
    others = [name for name in transforms if name not in start]
    if others:
        raise ValueError(f"fit: transforms has {others}, which start has not; it has {list(start)}")
    for name, transform in transforms.items():
        if not isinstance(transform, Transform):
            raise TypeError(
                f"fit: the transform of {name!r} is no lindiff.statespace.Transform but a "
                f"{type(transform).__name__}: give one as lindiff.statespace.positive, or its name"
            )
    return {name: transforms.get(name, unconstrained) for name in start}


BY_NAME = {
    "start": "{'level_var': 1.0, 'obs_var': 1.0}",
    "transforms": "{'level_var': 'positive'}",
    "fixed": "{'obs_var': 0.0}",
    "tied": "{'obs_var': 'level_var'}",
    "priors": "{'level_var': scipy.stats.gamma(2.0)}",
}


def _check_mappings(given: dict[str, Any]) -> None:
    """Whatever is said of parameters is said by their names."""
    for name, x in given.items():
        if x is not None and not isinstance(x, Mapping):
            raise TypeError(
                f"fit: {name} is a {type(x).__name__}: name the parameters of build, as {BY_NAME[name]}"
            )


def _check_names(
    build: Build,
    fixed: dict[str, Any],
    tied: dict[str, str],
    given: dict[str, Any],
) -> None:
    """What begins somewhere, is fixed or tied is an argument of the builder, and nothing is twice."""
    places = {"fixed": fixed, "tied": tied, **{name: x or {} for name, x in given.items()}}
    for name in [*fixed, *tied]:
        twice = [place for place, names in places.items() if name in names]
        if len(twice) > 1:
            raise ValueError(f"fit: {name!r} is in {' and in '.join(twice)}: leave it out of one")
    try:
        signature = inspect.signature(build)
    except (TypeError, ValueError):  # of compiled functions nobody knows
        return
    for said, parameters in (("is in start", given["start"] or {}), ("is fixed or tied", {**fixed, **tied})):
        try:
            signature.bind_partial(**parameters)
        except TypeError as error:
            raise TypeError(f"fit: build does not take what {said}: {error}") from None
    names = [name for name in {**signature.parameters, **(given["start"] or {}), **fixed} if name not in tied]
    for name, other in tied.items():
        if other not in names:
            raise ValueError(f"fit: {name!r} is tied to {other!r}, which is none of {names}")


def _transforms_of(transforms: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are given by their names, too."""
    unknown = [kind for kind in transforms.values() if isinstance(kind, str) and kind not in NAMED]
    if unknown:
        raise ValueError(f"fit: no transform is called {unknown[0]!r}; there are {', '.join(NAMED)}")
    return {name: NAMED[kind] if isinstance(kind, str) else kind for name, kind in transforms.items()}


def _unconstrained(start: dict[str, Any], transforms: dict[str, Transform], size: float) -> dict[str, Any]:
    """The start in free numbers; variances of zero, as an estimate may be, begin at this size."""
    free = {}
    for name, x in start.items():
        try:
            given = np.asarray(x if type(x) is Variable else on_host(x), np.float64)  # Variables: refused
            if transforms[name] is positive:
                given = np.where(given == 0, size, given)
            free[name] = transforms[name].unconstrain(given)
        except ValueError as error:
            raise ValueError(f"fit: start of {name!r}: {error}") from None
        if not np.all(np.isfinite(free[name])):
            raise ValueError(
                f"fit: start of {name!r}: {x} is not finite, or on the boundary of what is allowed"
            )
    return free


def _vanishes(transform: Transform, x: Any) -> bool:
    """Whether parameters go to zero and infinity with their numbers: a user's own `positive`."""
    with np.errstate(all="ignore"):
        try:
            limits = [transform.constrain(np.full(np.shape(x), end)) for end in (-np.inf, np.inf)]
        except (ValueError, ArithmeticError, TypeError):
            return False
    same = all(np.shape(limit) == np.shape(x) for limit in limits)
    return same and bool(np.all(np.equal(limits[0], 0)) and np.all(np.isposinf(limits[1])))
