"""Maximum likelihood: estimates, what they are worth, and what to know of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.scipy.optimize._flat import Flat, jacobian_matrix, linear_operator
from lindiff.statespace.defaults import completed, size_of_noise
from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.maximum import (
    FAILURES,
    FEW,
    SEEN,
    Likelihood,
    Scale,
    Search,
    check_search,
    in_units,
    searched,
    units_of,
)
from lindiff.statespace.model import Model, real
from lindiff.statespace.repeated import by_program
from lindiff.statespace.transforms import Transform, covariance, positive, unconstrained
from lindiff.statespace.units import in_unit, unit_of
from lindiff.transforms.reverse import grad

__all__ = ["FitResult", "fit"]


class FitResult(NamedTuple):
    """What :func:`fit` found; printed, a table.

    Parameters
    ----------
    params : dict
        Estimates, in the form of the start.
    standard_errors : dict
        In the same form.  NaN for what is at a boundary, or not determined by the data; those of the others
        hold with the former fixed there.
    cov : (q, q) array
        Of the estimates, the inverse of the observed information, in the order of `params`, arrays in C
        order; NaN where the standard errors are.  Where data are so large or small that it overflows or
        vanishes, the standard errors still hold.
    loglikelihood : float
        Its maximum.
    aic, bic : float
        ``-2 loglikelihood`` plus 2, or the logarithm of the number of observations, for each parameter
        and each diffuse state; Durbin & Koopman (2012), section 7.4.
    model : Model
        With the estimates.
    notes : tuple of str
        What to know before these figures are used: a search that did not converge, parameters at a boundary,
        parameters that the data do not determine, series without data.
    search : scipy.optimize.OptimizeResult
        SciPy's result, of flat vectors of unconstrained parameters, minus infinity for a variance of zero.
        Its function is the negative log-likelihood per observation, its counts are of all searches.
    """

    params: dict[str, Any]
    standard_errors: dict[str, Any]
    cov: Any
    loglikelihood: float
    aic: float
    bic: float
    model: Model
    notes: tuple[str, ...]
    search: Any

    def __str__(self) -> str:
        form = Flat(self.params)
        estimates, errors = form.flat(self.params), form.flat(self.standard_errors)
        rows = [f"{'':20s} {'estimate':>12s} {'std. error':>12s}"]
        for label, estimate, error in zip(_labels(self.params), estimates, errors, strict=True):
            rows.append(f"{label:20s} {estimate:12.5g} {error:12.3g}")
        rows.append(f"log-likelihood {self.loglikelihood:.4f}, AIC {self.aic:.2f}, BIC {self.bic:.2f}")
        return "\n".join([*rows, *self.notes])


def fit(
    build: Callable[..., Model],
    y: Any,
    start: Mapping[str, Any] | None = None,
    *,
    transforms: Mapping[str, Transform] | None = None,
    method: str = "L-BFGS-B",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: bool | Callable[[int, float, dict[str, Any]], Any] = True,
    standard_errors: bool = True,
    restarts: bool = True,
    program: bool = False,
) -> FitResult:
    """Fit a state-space model by maximum likelihood.

    Parameters
    ----------
    build : callable
        ``build(**params)`` returns a `Model`: one of the builders, or any function written in NumPy.
    y : (T, p), (T,) or (S, T, p) array
        Observations, NaN where they are missing; the likelihoods of many series are added up.
    start : dict, optional
        Where the search begins: name of the parameter to number or array, or to None for a number that is
        taken from the data.  By default that holds for all arguments of `build` without a default, and for
        variances with a default that is a float; ``functools.partial(build, slope_var=0.0)`` fixes one.
    transforms : dict, optional
        Name of the parameter to `Transform` (`positive`, `stationary`, …); the others may take any values,
        but variances, numbers in which the model's covariances are linear, are positive.
    method : str
        One of SciPy's that use a gradient.  "trust-exact", "trust-krylov", "trust-ncg" and "Newton-CG" use
        exact second derivatives: fewer steps, each with several products.
    tol, options : optional
        As ``scipy.optimize.minimize`` takes them.  Slopes are those of the log-likelihood per observation; by
        default "L-BFGS-B" goes on until the largest is 1e-6.  A limit to iterations or evaluations is one of
        a single search from `start`, as it ends.
    progress : bool or callable
        True prints a line for each iteration, the best so far; ``progress(iteration, loglikelihood, params)``
        is called instead.
    standard_errors : bool
        False saves the Hessian, for which the q parameters cost q products; with more than 32 of them also
        the check that needs it.
    restarts : bool
        False looks for the maximum near `start` alone.
    program : bool
        Run `build` and `transforms`, with their derivatives, without Python from the third time on, as
        :func:`lindiff.program` does: their prints and counters are those of the first times.  It pays where
        `build` is long: the filter, which is compiled, runs as ever.  Models with a stationary start that
        depends on parameters are built by Python all the same.

    Returns
    -------
    FitResult

    Raises
    ------
    TypeError, ValueError
        If `start` and `transforms` do not fit together, a start is not allowed by its transform, `build`
        returns no Model, or `method` uses no gradient.
    numpy.linalg.LinAlgError, ValueError
        If the likelihood cannot be computed at the start.

    Notes
    -----
    Variances are searched by their logarithms, in which a variance far too small looks like a maximum.
    Therefore the search begins at the likeliest of some ratios of the variances, given `start` or not, with
    the scale that the data determine; so it depends on no units.  Newton's steps end it, when the next one
    expects to gain next to nothing.  Then each variance is tried on its other side, near zero or large, and
    what else is bounded in some other places (of 32 parameters at most), by short searches.  A variance that
    loses nothing at zero is zero.  All this costs three to five times the evaluations of one search.

    Where the likelihood cannot be computed later on, the search steps back.  An interrupt (Ctrl-C) comes
    through as KeyboardInterrupt; a callable given for `progress` has seen the parameters until then.

    Standard errors are from the observed information, the negative Hessian at the estimates with respect to
    the parameters themselves, not the unconstrained ones; where some are at a boundary, given that they are
    there.  An iteration costs about one value and gradient.

    If y is on a GPU, so is the model, and `build` gets its parameters as arrays there; the search, which has
    few numbers, and what is found are NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> rng = np.random.default_rng(0)
    >>> y = np.cumsum(rng.normal(size=200)) + rng.normal(size=200)
    >>> found = statespace.fit(statespace.local_level, y, progress=False)
    >>> print(found)
                             estimate   std. error
    level_var                  1.1156        0.239
    obs_var                   0.95087        0.189
    log-likelihood -381.4437, AIC 768.89, BIC 778.78

    Parameters that are arrays need a start, and those that are bounded a transform:

    >>> found = statespace.fit(
    ...     statespace.arma,
    ...     np.diff(y),
    ...     start={"ar": [], "ma": [0.0], "innovation_var": None},
    ...     transforms={"ma": statespace.invertible},
    ...     progress=False)
    >>> print(found)
                             estimate   std. error
    ma[0]                     -0.3548       0.0609
    innovation_var               2.68        0.269
    log-likelihood -380.5247, AIC 765.05, BIC 771.64
    """
    if isinstance(build, Model):
        raise TypeError(
            "fit: build is a Model; give the function that makes one from parameters: "
            "fit(statespace.local_level, y)"
        )
    check_search(method)
    y = real("fit", "y", y)
    count = int(np.sum(~np.isnan(value(y))))
    if not count:
        raise ValueError("fit: y has no observations, all of it is NaN or it is empty")
    y, kept, notes = _without_empty_series(y)
    unit = unit_of(y)
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(
            f"fit: start is a {type(start).__name__}: give the parameters of build by name, as "
            "{'level_var': 1.0, 'obs_var': 1.0}"
        )
    start, maps = completed(build, y, start, transforms or {})
    transforms = _one_for_each(start, maps)

    def constrain(free: Any) -> Any:
        return {name: transforms[name].constrain(x) for name, x in free.items()}

    def built(params: Any) -> Model:
        return _built(build, params if foreign(y) is None else {k: beside(x, y=y) for k, x in params.items()})

    def at(free: Any) -> Model:
        return built(constrain(free))

    def of_model(model: Model) -> Any:
        model = _of_series(model, kept)
        if unit is None:
            result = np.sum(loglikelihood(y, *model))
        else:
            result = np.sum(loglikelihood(y / unit, *in_unit(model, unit))) - (count - diffuse) * np.log(unit)
        return result if foreign(y) is None else back_home(result, y=y)

    def total(params: Any) -> Any:
        return of_model(built(params))

    free = _unconstrained(start, transforms, size_of_noise(y))
    form = Flat(free)
    x = form.flat(free)
    diffuse = _diffuse_states(at(free)) * (y.shape[0] if y.ndim == 3 else 1)
    model_at = by_program(at, free) if program and foreign(y) is None else at
    tell = progress if callable(progress) else _print_line
    likelihood = Likelihood(
        lambda free: of_model(model_at(free)),
        form,
        _scale(free, transforms, form),
        count,
        max(count - diffuse, 1),
        float(np.log(size_of_noise(y))),
        _log_of_rounding(y),
        (lambda number, best, x: tell(number, best, constrain(form.tree_of(x)))) if progress else None,
    )
    newton = standard_errors or form.size <= FEW
    search, missing = searched(likelihood, x, Search(method, tol, options, newton), restarts)
    free = form.tree_of(search.x)
    params = constrain(free)
    notes += _of_the_search(search, missing, likelihood)
    params_form = Flat(params)
    if standard_errors and missing != np.inf:
        try:
            units = np.ones(form.size) if unit is None else units_of(likelihood, form.flat(free))
            half, doubts = _half_of_covariance(total, constrain, free, likelihood, units)
        except FAILURES as error:
            half, doubts = _unknown(params_form), (f"No standard errors: {error}",)
        notes += doubts
    else:
        half = _unknown(params_form)
    cov, errors, doubts = _of_half(half)
    notes += doubts
    maximum, degrees = float(total(params)), form.size + diffuse
    return FitResult(
        params=params,
        standard_errors=params_form.tree_of(errors),
        cov=cov,
        loglikelihood=maximum,
        aic=2 * degrees - 2 * maximum,
        bic=float(np.log(count)) * degrees - 2 * maximum,
        model=built(params),
        notes=notes,
        search=search,
    )


def _print_line(iteration: int, loglikelihood: float, params: dict[str, Any]) -> None:
    if iteration == 1:
        print("iteration   log-likelihood")
    print(f"{iteration:9d} {loglikelihood:16.6f}", flush=True)


def _of_the_search(search: Any, missing: float, likelihood: Likelihood) -> tuple[str, ...]:
    """What its user should know; its counts are made those of all that was gone through."""
    search.nit, search.nfev = likelihood.iterations, likelihood.evaluations
    if missing < SEEN:
        search.success, search.message = True, "Newton's next step gains nothing"
    if search.success:
        return ()
    reason = f"; on its way: {likelihood.failure}" if likelihood.failure else ""
    more = f"; the log-likelihood may rise by about {missing:.2g}" if np.isfinite(missing) else ""
    return (f"The search did not converge: {search.message}{more}{reason}",)


def _log_of_rounding(y: Any) -> float:
    """The logarithm of the variance that rounding gives to the data."""
    numbers = on_host(value(y)).astype(np.float64)
    size = float(np.nanmax(np.abs(numbers))) or 1e-6
    return float(2 * np.log(1e3 * np.finfo(np.float64).eps * size))


# -- series and states -------------------------------------------------------------------------------------


def _without_empty_series(y: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """A panel without those of which nothing is observed, the places of the others, and a note."""
    if y.ndim != 3:
        return y, None, ()
    seen = on_host(np.any(~np.isnan(value(y)), axis=(1, 2)))
    if seen.all():
        return y, None, ()
    note = f"Without observations, and left out: series {', '.join(map(str, np.flatnonzero(~seen)))}"
    return y[seen], (seen.size, np.flatnonzero(seen)), (note,)


def _of_series(model: Model, kept: Any) -> Model:
    """The matrices of the series at these places, if they are not those of all."""
    if kept is None:
        return model
    series, places = kept
    axes = {"initial_state": 2, "initial_state_cov": 3, "state_intercept": 3, "obs_intercept": 3}
    own = {
        name: x[places]
        for name, x in zip(Model._fields[:-1], model[:-1], strict=True)
        if x is not None and np.ndim(x) == axes.get(name, 4) and x.shape[0] == series
    }
    return model._replace(**own)


def _diffuse_states(model: Model) -> int:
    if model.diffuse is None:
        return 0
    return int(np.sum(np.broadcast_to(model.diffuse, model.transition.shape[-1:])))


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
                f"{type(transform).__name__}: give one as lindiff.statespace.positive"
            )
    return {name: transforms.get(name, unconstrained) for name in start}


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


def _scale(free: dict[str, Any], transforms: dict[str, Transform], form: Flat) -> Scale:
    """What the transforms say of the coordinates."""

    def where(kind: Callable[[str, Any], Any]) -> Any:
        return form.flat({name: np.broadcast_to(kind(name, x), np.shape(x)) for name, x in free.items()}) > 0

    def of_diagonal(name: str, x: Any) -> Any:
        n = (int(np.sqrt(8 * x.shape[-1] + 1)) - 1) // 2
        return np.arange(x.shape[-1]) < n

    factor = where(lambda name, x: transforms[name] is covariance)
    diagonal = where(lambda name, x: transforms[name] is covariance and of_diagonal(name, x))
    logarithms = where(lambda name, x: transforms[name] is positive or _vanishes(transforms[name], x))
    unbounded = where(lambda name, x: transforms[name] is unconstrained)
    shaped = ~(logarithms | factor | unbounded)
    parameter = form.flat({name: np.full(np.shape(x), float(i)) for i, (name, x) in enumerate(free.items())})
    return Scale(logarithms, diagonal, factor & ~diagonal, shaped, unbounded, parameter)


def _vanishes(transform: Transform, x: Any) -> bool:
    """Whether parameters go to zero with their numbers to minus infinity: a user's own `positive`."""
    with np.errstate(all="ignore"):
        try:
            limit = transform.constrain(np.full(np.shape(x), -np.inf))
        except (ValueError, ArithmeticError, TypeError):
            return False
    return np.shape(limit) == np.shape(x) and bool(np.all(np.equal(limit, 0)))


def _built(build: Callable[..., Model], params: dict[str, Any]) -> Model:
    model = build(**params)
    if not isinstance(model, Model):
        raise TypeError(f"fit: build returns a lindiff.statespace.Model, got {type(model).__name__}")
    return model


# -- standard errors ---------------------------------------------------------------------------------------


def _half_of_covariance(
    total: Callable[[Any], Any],
    constrain: Callable[[Any], Any],
    free: Any,
    likelihood: Likelihood,
    units: Any,
) -> tuple[Any, tuple[str, ...]]:
    """H of the covariance ``H Hᵀ = J (Jᵀ I J)⁻¹ Jᵀ``, and notes.

    I is the observed information of the parameters, J their derivative by the free ones.
    ``Jᵀ I J`` is the negative Hessian of ``ℓ(c(x)) - g · c(x)`` with the constant g = ∇ℓ: without the first
    derivatives by the parameters c, those of the second order of c have no part in it.  Where c is one to one
    between spaces of the same dimension, the result is I⁻¹.  What is at a boundary is fixed there; parameters
    in directions without information have none.
    """
    form, params = likelihood.form, constrain(free)
    params_form = Flat(params)
    slopes = params_form.flat(grad(total)(params))

    def without_slope(free: Any) -> Any:
        params = constrain(free)
        parts = [np.ravel(x) for x in params.values()]
        return total(params) - np.concatenate(parts) @ slopes

    def information_at(free: Any) -> Any:
        information = -in_units(linear_operator(grad(without_slope), free, form)[1], units)
        return np.nan_to_num(information, posinf=0.0, neginf=0.0)  # what overflows is not determined

    information = information_at(free)
    # where a parameter changes nothing, its information is what rounding leaves, and another one next to here
    slight = np.sqrt(np.abs(np.diag(information))) * np.exp(0.5 * likelihood.noise) / units < 1e-3
    if np.any(slight & likelihood.scale.free):
        beside = information_at(form.tree_of(form.flat(free) * (1 + 1e-6)))
        rounding = slight & likelihood.scale.free & _differ(np.diag(information), np.diag(beside))
        information[rounding], information[:, rounding] = 0.0, 0.0
    J = jacobian_matrix(constrain, free, form) * units
    inside = np.isfinite(form.flat(free))
    notes = _of_the_boundary(free, params, inside)
    if not np.any(inside):
        return _unknown(params_form), notes
    information, J = information[np.ix_(inside, inside)], J[:, inside]
    nothing = np.where(likelihood.scale.free, 0, 1e-8 * likelihood.count)[inside]
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), nothing))
    scale[scale == 0] = 1
    eigenvalues, V = np.linalg.eigh(information / (scale[:, None] * scale))
    labels = np.array(_labels(free))[inside]
    if eigenvalues[0] < -1e-6:
        label = labels[int(np.argmax(np.abs(V[:, 0])))]
        note = (
            f"No standard errors: the observed information is not positive definite, by {label} most of all: "
            f"this is no maximum, or hardly one; go on from here, or fix what the data do not determine"
        )
        return _unknown(params_form), (*notes, note)
    known = eigenvalues > 1e-10
    loose = np.max(np.abs(V[:, ~known]), axis=1, initial=0) > 1e-2
    faint = np.max(np.abs(V[:, eigenvalues < 1e-6]), axis=1, initial=0) > 0.1
    if np.any(faint):
        notes += (
            f"The data determine {', '.join(labels[faint])} only together, or not at all: restrict the "
            f"model, or fix one of them",
        )
    half = J / scale @ (V[:, known] / np.sqrt(eigenvalues[known]))
    found = np.any(J != 0, axis=1) & ~np.any(J[:, loose] != 0, axis=1)
    return np.where(found[:, None], half, np.nan), notes


def _differ(x: Any, y: Any) -> Any:
    """Where numbers that should be nearly the same are not: they are rounding."""
    return np.abs(x - y) > 0.1 * np.maximum(np.abs(x), np.abs(y))


def _of_half(half: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Covariance, standard errors, which may have no squares, and a note of that."""
    with np.errstate(over="ignore", under="ignore"):
        cov = half @ half.T
    size = np.max(np.abs(half), axis=1, keepdims=True, initial=0)
    errors = (size * np.linalg.norm(half / np.where(size == 0, 1, size), axis=1, keepdims=True))[:, 0]
    if not np.any(np.isinf(np.diag(cov)) | ((errors > 0) & (np.diag(cov) == 0))):
        return cov, errors, ()
    note = "The variances of some estimates are out of the range of numbers: use standard_errors, not cov"
    return cov, errors, (note,)


def _unknown(form: Flat) -> Any:
    """Half of a covariance of which nothing is known."""
    return np.full((form.size, form.size), np.nan)


def _of_the_boundary(free: Any, params: Any, inside: Any) -> tuple[str, ...]:
    """A note that names what is at a boundary."""
    if np.all(inside):
        return ()
    said = [
        f"{label} = {params[name][place]:.4g}" if np.shape(params[name]) == np.shape(x) else label
        for name, x in free.items()
        for place, label in zip(np.ndindex(np.shape(x)), _labels({name: x}), strict=True)
    ]
    ended = [each for each, is_inside in zip(said, inside, strict=True) if not is_inside]
    return (
        f"At the boundary of what is allowed: {', '.join(ended)}.  There are no standard errors there; those "
        f"of the others hold with this fixed",
    )


def _labels(params: dict[str, Any]) -> list[str]:
    """A name for each number, in the order of flat vectors."""
    return [
        name + (f"[{', '.join(map(str, place))}]" if place else "")
        for name, x in params.items()
        for place in np.ndindex(np.shape(x))
    ]
