"""Maximum likelihood, and maximum a posteriori."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lindiff.scipy.optimize._flat import Flat
from lindiff.scipy.optimize._running import running
from lindiff.statespace.fit_result import FitResult
from lindiff.statespace.information import check_cov_type, covariance_of, covariance_unknown
from lindiff.statespace.maximum import FAILURES, FEW, SEEN, Likelihood, Search, check_search, searched
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import NonlinearModel
from lindiff.statespace.problem import Problem
from lindiff.statespace.transforms import Transform

__all__ = ["fit"]

# What Newton's next step may gain where a search has ended beside what has no likelihood, and be told of.
NOTICEABLE = 1e-2


def fit(
    build: Callable[..., Model | NonlinearModel],
    y: Any,
    start: Mapping[str, Any] | None = None,
    *,
    transforms: Mapping[str, Transform | str] | None = None,
    fixed: Mapping[str, Any] | None = None,
    tied: Mapping[str, str] | None = None,
    priors: Mapping[str, Any] | None = None,
    method: str = "L-BFGS-B",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: bool | Callable[[int, float, dict[str, Any]], Any] = True,
    standard_errors: bool = True,
    cov_type: str = "observed",
    restarts: bool = True,
    program: bool = False,
    filter: Any = None,
) -> FitResult:
    """Fit a state-space model by maximum likelihood.

    Parameters
    ----------
    build : callable
        ``build(**params)`` returns a `Model`: one of the builders, or any function written in NumPy.  Or a
        `NonlinearModel`, whose likelihood is that of its filter.
    y : (T, p), (T,) or (S, T, p) array, Series, DataFrame or DataArray
        Observations, NaN where they are missing; the likelihoods of many series are added up.  Dates and
        names come back with the answers of the result.  Of a Dask array in blocks of series each block is
        filtered by the worker that has it, all with one model.
    start : dict, optional
        Where the search begins: name of the parameter to number or array, or to None for a number that is
        taken from the data.  By default that holds for all arguments of `build` without a default, and for
        variances with a default that is a float; ``fixed={"slope_var": 0.0}`` leaves one out.
    transforms : dict, optional
        Name of the parameter to `Transform` (`positive`, `stationary`, …), or to the name of one of these
        (``"positive"``), or to `bounded` (-1, 1); the others may take any values, but variances, numbers in
        which the model's covariances are linear, are positive.
    fixed : dict, optional
        Arguments of `build` that stay as they are, by name.
    tied : dict, optional
        Name of an argument of `build` to that of the parameter that it equals.
    priors : dict, optional
        Name of a parameter to its distribution before there are data, such as ``scipy.stats.gamma(2.0)``, or
        to a function that returns the logarithm of a density.  The maximum is that of the posterior density
        of the parameters themselves then, and so are standard errors.
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
    cov_type : {"observed", "opg", "robust"}
        Of the standard errors: from the observed information I; from the outer product G of the scores of
        steps; or ``I⁻¹ G I⁻¹``, which holds where disturbances are not normal, too (White 1982).
    restarts : bool
        False looks for the maximum near `start` alone.
    program : bool
        Run `build` and `transforms`, with their derivatives, without Python from the third time on, as
        :func:`lindiff.program` does: their prints and counters are those of the first times.  It pays where
        `build` is long: the filter, which is compiled, runs as ever; ``found.explain()`` says what it gains,
        before and after.  Models with a stationary start that depends on parameters are built by Python all
        the same.
    filter : {"extended", "unscented"} or callable, optional
        Of a nonlinear model, by tangents, the default, or by sigma points; for other ones
        ``functools.partial(statespace.unscented_filter, alpha=1e-3)``.

    Returns
    -------
    FitResult

    Raises
    ------
    TypeError, ValueError
        If `start` and `transforms` do not fit together, a start is not allowed by its transform, `build`
        returns no model, or `method` uses no gradient.
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
    through as KeyboardInterrupt, with the best parameters so far as its `best_params`.

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
    check_search(method)
    problem = Problem(build, y, start, transforms, fixed, tied, priors, filter)
    check_cov_type(cov_type, problem)
    tell = None if not progress else progress if callable(progress) else _print_line
    likelihood = problem.searchable(tell, running(program))
    form = problem.form
    newton = standard_errors or form.size <= FEW
    x = form.flat(problem.free)
    try:
        search, missing = searched(likelihood, x, Search(method, tol, options, newton), restarts)
    except BaseException as error:
        _leave_the_best(error, problem, likelihood)
        raise
    free = form.tree_of(search.x)
    params = problem.constrain(free)
    notes = problem.notes + _of_the_search(search, missing, likelihood)
    params_form = Flat(params)
    if standard_errors and missing != np.inf:
        cov, errors, doubts = covariance_of(problem, likelihood, free, cov_type)
        notes += doubts
    else:
        cov, errors = covariance_unknown(params_form), np.full(params_form.size, np.nan)
    return FitResult(
        problem,
        params=params,
        standard_errors=params_form.tree_of(errors),
        cov=cov,
        cov_type=cov_type,
        notes=notes,
        search=search,
    )


def _leave_the_best(error: BaseException, problem: Problem, likelihood: Likelihood) -> None:
    """An interrupt, or whatever the builder raises, carries the best point so far."""
    if likelihood.best is None:
        if isinstance(error, FAILURES) and hasattr(error, "add_note"):
            error.add_note(f"fit: this is at the start, {problem.start}; start= gives another one")
        return
    x, f, _ = likelihood.best
    params = problem.constrain(problem.form.tree_of(x))
    error.best_params = params  # type: ignore[attr-defined]
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"fit: the best so far, its log-likelihood {-likelihood.count * f:.6f}: {params}")


def _print_line(iteration: int, loglikelihood: float, params: dict[str, Any]) -> None:
    if iteration == 1:
        print("iteration   log-likelihood")
    print(f"{iteration:9d} {loglikelihood:16.6f}", flush=True)


def _of_the_search(search: Any, missing: float, likelihood: Likelihood) -> tuple[str, ...]:
    """What its user should know; its counts are made those of all that was gone through."""
    search.nit, search.nfev = likelihood.iterations, likelihood.evaluations
    if missing < SEEN:
        search.success, search.message = True, "Newton's next step gains nothing"
    elif likelihood.failure and NOTICEABLE < missing < np.inf:
        search.success, search.message = False, "it ended beside parameters that have no likelihood"
    if search.success:
        return ()
    reason = f"; on its way: {likelihood.failure}" if likelihood.failure else ""
    more = f"; the log-likelihood may rise by about {missing:.2g}" if np.isfinite(missing) else ""
    return (f"The search did not converge: {search.message}{more}{reason}",)
