"""Maximum likelihood: SciPy searches with exact derivatives, the Hessian gives standard errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.scipy.optimize._flat import Flat, jacobian_matrix, linear_operator, matrix_of
from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.model import Model, real
from lindiff.statespace.transforms import Transform, unconstrained
from lindiff.transforms.reverse import grad, value_and_grad

__all__ = ["FitResult", "fit"]

WITH_GRADIENT = {"bfgs", "cg", "l-bfgs-b", "tnc", "slsqp"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
FAILURES = (ValueError, ArithmeticError)  # of a filter; LinAlgError is a ValueError


class FitResult(NamedTuple):
    """What :func:`fit` found; printed, a table.

    Parameters
    ----------
    params : dict
        Estimates, in the form of the start.
    standard_errors : dict
        In the same form.  NaN where the observed information is not positive definite.
    cov : (q, q) array
        Of the estimates, the inverse of the observed information, in the order of `params`, arrays in C
        order.
    loglikelihood : float
        Its maximum.
    aic, bic : float
        ``-2 loglikelihood`` plus 2, or the logarithm of the number of observations, for each parameter
        and each diffuse state; Durbin & Koopman (2012), section 7.4.
    model : Model
        With the estimates.
    notes : tuple of str
        What to know before these figures are used: a search that did not converge, an information that is
        not positive definite.
    search : scipy.optimize.OptimizeResult
        SciPy's result, of flat vectors of unconstrained parameters.  Its function is the negative
        log-likelihood per observation.
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
    start: Mapping[str, Any],
    *,
    transforms: Mapping[str, Transform] | None = None,
    method: str = "L-BFGS-B",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: bool | Callable[[int, float, dict[str, Any]], Any] = True,
    standard_errors: bool = True,
) -> FitResult:
    """Fit a state-space model by maximum likelihood.

    Parameters
    ----------
    build : callable
        ``build(**params)`` returns a `Model`: one of the builders, or any function written in NumPy.
    y : (T, p), (T,) or (S, T, p) array
        Observations, NaN where they are missing; the likelihoods of many series are added up.
    start : dict
        Where the search begins: name of the parameter to number or array.
    transforms : dict, optional
        Name of the parameter to `Transform` (`positive`, `stationary`, …); the others may take any values.
    method : str
        One of SciPy's that use a gradient.  "trust-exact", "trust-krylov", "trust-ncg" and "Newton-CG" use
        exact second derivatives: fewer steps, each with several products.
    tol, options : optional
        As ``scipy.optimize.minimize`` takes them.  Slopes are those of the log-likelihood per observation; by
        default "L-BFGS-B" goes on until the largest is 1e-5.
    progress : bool or callable
        True prints a line for each iteration; ``progress(iteration, loglikelihood, params)`` is called
        instead.
    standard_errors : bool
        False saves the Hessian, for which the q parameters cost q products.

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
    Where it cannot be computed later on, the search steps back.  An interrupt (Ctrl-C) comes through
    as KeyboardInterrupt; a callable given for `progress` has seen the parameters until then.

    Standard errors are from the observed information, the negative Hessian at the estimates with respect to
    the parameters themselves, not the unconstrained ones.  An iteration costs about one value and gradient.

    If y is on a GPU, so is the model, and `build` gets its parameters as arrays there; the search, which has
    few numbers, and what is found are NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> rng = np.random.default_rng(0)
    >>> y = np.cumsum(rng.normal(size=200)) + rng.normal(size=200)
    >>> found = statespace.fit(
    ...     statespace.local_level,
    ...     y,
    ...     start={"level_var": 0.5, "obs_var": 0.5},
    ...     transforms={"level_var": statespace.positive, "obs_var": statespace.positive},
    ...     progress=False)
    >>> print(found)
                             estimate   std. error
    level_var                  1.1156        0.239
    obs_var                   0.95087        0.189
    log-likelihood -381.4437, AIC 768.89, BIC 778.78
    """
    start = dict(start)
    transforms = _one_for_each(start, transforms or {})
    y = real("fit", "y", y)
    count = int(np.sum(~np.isnan(value(y))))
    if not count:
        raise ValueError("fit: y has no observations, all of it is NaN or it is empty")

    def constrain(free: Any) -> Any:
        return {name: transforms[name].constrain(x) for name, x in free.items()}

    def built(params: Any) -> Model:
        return _built(build, params if foreign(y) is None else {k: beside(x, y=y) for k, x in params.items()})

    def total(params: Any) -> Any:
        result = np.sum(loglikelihood(y, *built(params)))
        return result if foreign(y) is None else back_home(result, y=y)

    free = _unconstrained(start, transforms)
    form = Flat(free)
    objective = _Objective(lambda free: -total(constrain(free)) / count, form)
    callback = _callback(
        progress, lambda x: -count * objective.value_at(x), lambda x: constrain(form.tree_of(x))
    )
    search = _minimize(objective, form.flat(free), method, tol, options, callback)
    free = form.tree_of(search.x if objective.best is None else objective.best[0])
    params = constrain(free)
    model = built(params)
    maximum = float(total(params))
    notes: tuple[str, ...] = ()
    if not search.success:
        reason = f"; on its way: {objective.failure}" if objective.failure else ""
        notes = (f"The search did not converge: {search.message}{reason}",)
    params_form = Flat(params)
    if standard_errors:
        cov, indefinite = _covariance_of_estimates(total, constrain, free, form)
        notes += indefinite
    else:
        cov = np.full((params_form.size, params_form.size), np.nan)
    degrees = form.size + _diffuse_states(model) * (y.shape[0] if y.ndim == 3 else 1)
    return FitResult(
        params=params,
        standard_errors=params_form.tree_of(np.sqrt(np.diag(cov))),
        cov=cov,
        loglikelihood=maximum,
        aic=2 * degrees - 2 * maximum,
        bic=float(np.log(count)) * degrees - 2 * maximum,
        model=model,
        notes=notes,
        search=search,
    )


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


def _unconstrained(start: dict[str, Any], transforms: dict[str, Transform]) -> dict[str, Any]:
    free = {}
    for name, x in start.items():
        try:
            given = x if type(x) is Variable else on_host(x)  # of a Variable the error says what to write
            free[name] = transforms[name].unconstrain(np.asarray(given, np.float64))
        except ValueError as error:
            raise ValueError(f"fit: start of {name!r}: {error}") from None
        if not np.all(np.isfinite(free[name])):
            raise ValueError(
                f"fit: start of {name!r}: {x} is not finite, or on the boundary of what is allowed"
            )
    return free


def _built(build: Callable[..., Model], params: dict[str, Any]) -> Model:
    model = build(**params)
    if not isinstance(model, Model):
        raise TypeError(f"fit: build returns a lindiff.statespace.Model, got {type(model).__name__}")
    return model


# -- the search --------------------------------------------------------------------------------------------


class _Objective:
    """What SciPy minimizes: a function of a tree as one of flat vectors, with its derivatives.

    Where it cannot be computed it goes up as steeply as it goes down at the best point so far, because
    the line searches' interpolations take no infinite numbers: they go back to between a seventh and a
    quarter of the step (Moré & Thuente 1994, case 1), and regions of trust shrink.
    """

    def __init__(self, function: Callable[[Any], Any], form: Flat) -> None:
        self._both = value_and_grad(function)
        self._gradient = grad(function)
        self._form = form
        self.best: tuple[Any, float, Any] | None = None  # the point of the lowest value, that, its gradient
        self.failure: Exception | None = None
        self._last: tuple[Any, Any] | None = None

    def __call__(self, x: Any) -> tuple[float, Any]:
        try:
            f, gradient = self._both(self._form.tree_of(x))
            f, gradient = float(f), self._form.flat(gradient)
            if not (np.isfinite(f) and np.all(np.isfinite(gradient))):
                raise ValueError(f"fit: minus the mean log-likelihood is {f}, its gradient {gradient}")
        except FAILURES as error:
            if self.best is None:  # at the start
                raise
            self.failure = error
            best, f, gradient = self.best
            return f + abs(float(gradient @ (x - best))), -gradient
        if self.best is None or f < self.best[1]:
            self.best = np.copy(x), f, gradient
        return f, gradient

    def value_at(self, x: Any) -> float:
        """At a point that the search has come to, the best one most often."""
        if self.best is not None and np.array_equal(x, self.best[0]):
            return self.best[1]
        return self(x)[0]

    def _derivative(self, x: Any) -> Any:
        """The Hessian as an operator; products at one point share one linearization.

        Searches among regions of trust ask for it before they know the value; where there is none it is zero.
        """
        if self._last is not None and np.array_equal(x, self._last[0]):
            return self._last[1]
        try:
            gradient, operator, _ = linear_operator(self._gradient, self._form.tree_of(x), self._form)
            computed = bool(np.all(np.isfinite(self._form.flat(gradient))))
        except FAILURES:
            computed = False
        if not computed:
            operator = np.zeros((x.size, x.size))
        self._last = np.copy(x), operator
        return operator

    def product(self, x: Any, p: Any) -> Any:
        return self._derivative(x) @ p

    def hessian(self, x: Any) -> Any:
        return self._derivative(x) @ np.eye(x.size)


def _minimize(
    objective: _Objective, start: Any, method: str, tol: float | None, options: Any, callback: Any
) -> Any:
    """SciPy's search, with the derivatives that it uses."""
    name = method.lower()
    if name not in WITH_GRADIENT | WITH_PRODUCTS | WITH_HESSIAN:
        methods = sorted(WITH_GRADIENT | WITH_PRODUCTS | WITH_HESSIAN)
        raise ValueError(
            f"fit: method {method!r} is none of SciPy's that use a gradient: {', '.join(methods)}"
        )
    if name == "l-bfgs-b" and tol is None:
        options = {"gtol": 1e-5, "ftol": 1e-13, **(options or {})}
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return scipy.optimize.minimize(
            objective,
            start,
            jac=True,
            method=method,
            hessp=objective.product if name in WITH_PRODUCTS else None,
            hess=objective.hessian if name in WITH_HESSIAN else None,
            tol=tol,
            callback=callback,
            options=options,
        )


def _callback(
    progress: bool | Callable[[int, float, dict[str, Any]], Any],
    loglikelihood_at: Callable[[Any], float],
    params_at: Callable[[Any], dict[str, Any]],
) -> Callable[..., None] | None:
    """SciPy's callback: prints a line for each iteration, or tells the user's function."""
    if not progress:
        return None
    tell = progress if callable(progress) else _print_line
    numbers = itertools.count(1)

    def callback(x: Any, *state: Any) -> None:
        tell(next(numbers), loglikelihood_at(x), params_at(x))

    return callback


def _print_line(iteration: int, loglikelihood: float, params: dict[str, Any]) -> None:
    if iteration == 1:
        print("iteration   log-likelihood")
    print(f"{iteration:9d} {loglikelihood:16.6f}", flush=True)


# -- standard errors ---------------------------------------------------------------------------------------


def _covariance_of_estimates(
    total: Callable[[Any], Any], constrain: Callable[[Any], Any], free: Any, form: Flat
) -> tuple[Any, tuple[str, ...]]:
    """``J (Jᵀ I J)⁻¹ Jᵀ``: I the observed information of the parameters, J their derivative by the free ones.

    ``Jᵀ I J`` is the negative Hessian of ``ℓ(c(x)) - g · c(x)`` with the constant g = ∇ℓ: without the first
    derivatives by the parameters c, those of the second order of c have no part in it.  Where c is one to one
    between spaces of the same dimension, the result is I⁻¹.
    """
    params = constrain(free)
    params_form = Flat(params)
    slopes = params_form.flat(grad(total)(params))

    def without_slope(free: Any) -> Any:
        params = constrain(free)
        parts = [np.ravel(x) for x in params.values()]
        return total(params) - np.concatenate(parts) @ slopes

    information = -matrix_of(linear_operator(grad(without_slope), free, form)[1])
    information = np.nan_to_num(information, posinf=0.0, neginf=0.0)  # what overflows is not determined
    J = jacobian_matrix(constrain, free, form)
    scale = np.sqrt(np.abs(np.diag(information)))
    scale[scale == 0] = 1
    eigenvalues, V = np.linalg.eigh(information / (scale[:, None] * scale))
    if not eigenvalues[0] > form.size * np.finfo(np.float64).eps:
        label = _labels(free)[int(np.argmax(np.abs(V[:, 0])))]
        note = (
            f"No standard errors: the observed information is not positive definite, by {label} most of all. "
            f"If it is at a boundary, a variance of zero for instance, fix it there and fit the others; if "
            f"the data do not determine it, restrict the model"
        )
        return np.full((params_form.size, params_form.size), np.nan), (note,)
    half = J / scale @ (V / np.sqrt(eigenvalues))
    return half @ half.T, ()


def _labels(params: dict[str, Any]) -> list[str]:
    """A name for each number, in the order of flat vectors."""
    return [
        name + (f"[{', '.join(map(str, place))}]" if place else "")
        for name, x in params.items()
        for place in np.ndindex(np.shape(x))
    ]
