"""What a fit found: parameters with their errors, and the answers of the fitted model."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from lindiff import _tables
from lindiff.scipy.optimize._flat import Flat, jacobian_matrix
from lindiff.scipy.optimize._running import Gains, Running, gains_of
from lindiff.statespace.answers import Analysis, Section, Summary, check_alpha
from lindiff.statespace.posterior import Posterior
from lindiff.statespace.problem import Problem, labels_of
from lindiff.statespace.profile import profile_interval
from lindiff.transforms.reverse import grad

__all__ = ["FitResult", "TransformedParameters"]


class TransformedParameters(NamedTuple):
    """A function of estimates.

    Attributes
    ----------
    value, standard_errors : number or array
    cov : (k, k) array
        Of its numbers in C order.
    """

    value: Any
    standard_errors: Any
    cov: Any


class FitResult(Analysis):
    """What :func:`fit` found; printed, a table.

    Its answers are those of :class:`Analysis`, of the fitted model beside the data: components, forecasts,
    residuals, plots.  Those that are of one series raise a ValueError for many, of which :meth:`series` takes
    one.

    Attributes
    ----------
    params : dict
        Estimates, in the form of the start.
    fixed, tied : dict
        As they were given.
    standard_errors : dict
        In the same form.  NaN for what is at a boundary, or not determined by the data; those of the others
        hold with the former fixed there.
    cov : (q, q) array
        Of the estimates, the inverse of the observed information, in the order of `params`, arrays in C
        order; NaN where the standard errors are.  Where data are so large or small that it overflows or
        vanishes, the standard errors still hold.
    cov_type : str
        What it is from.
    loglikelihood : float
        Its maximum; with priors that of the posterior density, without them.
    aic, aicc, bic, hqic : float
        ``-2 loglikelihood`` plus, for each of k parameters and diffuse states, 2, ``2 n / (n - k - 1)``,
        ``log n`` or ``2 log log n`` of n observations; Durbin & Koopman (2012), section 7.4; Brockwell &
        Davis (1991), section 9.2 and 9.3.
    model : Model or NonlinearModel
        With the estimates.
    y
        The data, as they were given.
    notes : tuple of str
        What to know before these figures are used: a search that did not converge, parameters at a boundary,
        parameters that the data do not determine, series without data.
    search : scipy.optimize.OptimizeResult
        SciPy's result, of flat vectors of unconstrained parameters, minus infinity for a variance of zero.
        Its function is the negative log-likelihood per observation, its counts are of all searches.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        params: dict[str, Any],
        standard_errors: dict[str, Any],
        cov: Any,
        cov_type: str,
        notes: tuple[str, ...],
        search: Any,
    ) -> None:
        self._hold(problem.model(params), problem.given, problem.filter)
        self.params, self.standard_errors, self.cov, self.cov_type = params, standard_errors, cov, cov_type
        self.fixed, self.tied = problem.fixed, problem.tied
        self.loglikelihood = float(problem.loglikelihood(params))
        self.notes, self.search = notes + self.notes, search
        self._problem: Problem | None = problem
        self._has_priors = problem.has_priors
        self._degrees, self._observations = problem.form.size + problem.diffuse, problem.count

    def __getstate__(self) -> dict[str, Any]:
        """A builder that cannot be pickled stays behind, and what needs it says so."""
        try:
            pickle.dumps(self._problem)
        except (pickle.PicklingError, TypeError, AttributeError):
            return self.__dict__ | {"_problem": None}
        return self.__dict__

    def _criterion(self, penalty: float) -> float:
        return self._degrees * penalty - 2 * self.loglikelihood

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return self._criterion(2.0)

    @property
    def aicc(self) -> float:
        """Akaike's criterion, corrected for few observations; infinite for too few."""
        left = self._observations - self._degrees - 1
        return self._criterion(2.0 * self._observations / left) if left > 0 else np.inf

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return self._criterion(float(np.log(self._observations)))

    @property
    def hqic(self) -> float:
        """Hannan's and Quinn's criterion."""
        return self._criterion(2 * float(np.log(np.log(max(self._observations, 3)))))

    def interval(self, alpha: float = 0.05) -> dict[str, Any]:
        """Lower and upper bounds of each parameter, from its standard error.

        Parameters
        ----------
        alpha : float
            The bounds hold the parameter with probability ``1 - alpha``.

        Returns
        -------
        dict
            Name to a pair (lower, upper) of numbers or arrays; NaN where there is no standard error.

        Notes
        -----
        Wald's: estimates of variances near zero are not distributed as these take it, and bounds may be below
        zero.
        """
        width = norm.isf(check_alpha(alpha) / 2)
        return {
            name: (np.asarray(x) - width * self.standard_errors[name], x + width * self.standard_errors[name])
            for name, x in self.params.items()
        }

    def profile_interval(self, name: str, alpha: float = 0.05) -> tuple[float, float]:
        """Lower and upper bound of one parameter, from the likelihood itself.

        Parameters
        ----------
        name : str
            Of a parameter that is one number.
        alpha : float
            The bounds hold the parameter with probability ``1 - alpha``.

        Returns
        -------
        lower, upper : float
            Where twice the log likelihood, the other parameters at their best, has fallen by the quantile of
            χ²(1); the bound of what is allowed, as zero of a variance, where it does not fall so far.

        Raises
        ------
        ValueError
            If there is no such parameter, or it is an array.

        Notes
        -----
        It needs no normality of the estimate, so it holds for variances near zero; some twenty searches.

        Examples
        --------
        >>> import numpy as np
        >>> from lindiff import statespace
        >>> rng = np.random.default_rng(0)
        >>> y = np.cumsum(rng.normal(size=100)) + rng.normal(size=100)
        >>> found = statespace.fit(statespace.local_level, y, progress=False)
        >>> lower, upper = found.profile_interval("level_var")
        >>> print(f"{lower:.2f} {found.params['level_var']:.2f} {upper:.2f}")
        0.44 0.82 1.57
        """
        begun = self._problem_at_estimates("profile_interval")
        if name not in self.params:
            raise ValueError(f"profile_interval: {name!r} is none of {list(self.params)}")
        if np.ndim(self.params[name]):
            raise ValueError(
                f"profile_interval: {name} is an array; let build take the number as an argument of its own"
            )
        x, constrain = float(begun.free[name]), begun.transforms[name].constrain
        slope = abs(float(grad(constrain)(x)))
        step = float(self.standard_errors[name]) / slope if slope > 0 else 1.0
        top = float(begun.objective(self.params))
        return profile_interval(begun, name, x, step if 0 < step < 10 else 1.0, top, alpha)

    def explain(self) -> Gains:
        """What ``program=True`` gains in a search, or would: a call by programs, and by Python.

        The log-likelihood and its gradient are computed some fifty times for that.

        Returns
        -------
        Gains
            A list of `name`, `by_program`, `by_python` (seconds) and `ratio` that prints as a table, with why
            functions run without a program after all as its `reasons`.

        Raises
        ------
        ValueError
            If this result was pickled with a builder that cannot be.

        Examples
        --------
        >>> import numpy as np
        >>> from lindiff import statespace
        >>> y = np.cumsum(np.random.default_rng(0).normal(size=50))
        >>> gained = statespace.fit(statespace.local_level, y, progress=False).explain()
        >>> [row.name for row in gained], gained.reasons
        (['the log-likelihood and its gradient'], [])
        """
        begun = self._problem_at_estimates("explain")

        def calls(run: Running) -> dict[str, Callable[[Any], Any]]:
            return {"the log-likelihood and its gradient": begun.searchable(run=run).at}

        return gains_of(calls, begun.form.flat(begun.free))

    def posterior(self) -> Posterior:
        """The density of the parameters, for samplers, beginning at the estimates; it has a `laplace`."""
        return Posterior.of(self._problem_at_estimates("posterior"))

    def series(self, which: Any) -> Analysis:
        """The answers of one of many series.

        Parameters
        ----------
        which : int or label
            Its number; of an xarray.DataArray the name that it has there.

        Returns
        -------
        Analysis

        Raises
        ------
        ValueError
            If y is one series.
        KeyError, IndexError
            If there is none of this name or number.
        """
        if self._data.ndim != 3:
            raise ValueError("series: y is one series, whose answers this result has itself")
        place = which
        if hasattr(self.y, "get_index"):
            place = self.y.get_index(self.y.dims[0]).get_loc(which)
        model = self._kind.of_series(len(self._data), operator.index(place))
        return Analysis(model, self.y[place], filter=self._filter)

    def _problem_at_estimates(self, name: str) -> Problem:
        """What was fitted, for `name` to begin where the search has ended."""
        if self._problem is None:
            raise ValueError(
                f"{name}: this result was pickled with a builder that cannot be, such as a lambda: fit "
                f"again, from params"
            )
        return self._problem.begun_at(self._problem.form.tree_of(self.search.x))

    def transformed(self, f: Callable[..., Any]) -> TransformedParameters:
        """A function of the parameters, with the standard errors that theirs give it (delta method).

        Parameters
        ----------
        f : callable
            ``f(**params)`` returns a number or an array; written in functions that have derivatives.

        Returns
        -------
        TransformedParameters
            ``cov = J cov Jᵀ`` with the derivative J of f; NaN where f depends on what has no standard error.

        Examples
        --------
        >>> import numpy as np
        >>> from lindiff import statespace
        >>> rng = np.random.default_rng(0)
        >>> y = np.cumsum(rng.normal(size=200)) + rng.normal(size=200)
        >>> found = statespace.fit(statespace.local_level, y, progress=False)
        >>> ratio = found.transformed(lambda level_var, obs_var: level_var / obs_var)
        >>> print(f"{ratio.value:.3f} ± {ratio.standard_errors:.3f}")
        1.173 ± 0.423
        """
        plain = {name: np.asarray(x, np.float64) for name, x in self.params.items()}
        found = np.asarray(f(**self.params))
        J = jacobian_matrix(lambda params: {"of": f(**params)}, plain, Flat(plain))
        used = np.any(J != 0, axis=0)
        cov = J[:, used] @ self.cov[np.ix_(used, used)] @ J[:, used].T
        errors = np.sqrt(np.diag(cov)).reshape(found.shape)
        return TransformedParameters(found[()], errors[()], cov)

    def to_frame(self, alpha: float = 0.05) -> Any:
        """The parameters as a pandas.DataFrame: estimate, standard error, z, p-value, bounds.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = ["estimate", "std_error", "z", "p_value", "lower", "upper"]
        return _tables.pandas().DataFrame(self._numbers(alpha), index=labels_of(self.params), columns=columns)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Parameters with their errors, criteria, and tests of the residuals, as text and HTML."""
        sides = f"{100 * alpha / 2:g} %", f"{100 - 100 * alpha / 2:g} %"
        rows = [
            [
                label,
                *(f"{x:.4g}" for x in row[:2]),
                f"{row[2]:.2f}",
                f"{row[3]:.3f}",
                *(f"{x:.4g}" for x in row[4:]),
            ]
            for label, row in zip(labels_of(self.params), self._numbers(alpha), strict=True)
        ]
        sections = [
            self._overview(),
            Section(["", "estimate", "std. error", "z", "P>|z|", *sides], rows),
        ]
        held = [[name, f"{x}"] for name, x in self.fixed.items()]
        held += [[name, f"= {other}"] for name, other in self.tied.items()]
        if held:
            sections.append(Section(["fixed, tied", ""], held))
        if self._data.ndim < 3:
            sections.append(self._tested())
        kind = "maximum a posteriori" if self._has_priors else "maximum likelihood"
        return Summary(f"State-space model, {kind}", sections, self.notes)

    def _overview(self) -> Section:
        criteria = [("AIC", self.aic), ("AICc", self.aicc), ("BIC", self.bic), ("HQIC", self.hqic)]
        rows = [
            ["observations", str(self._observations)],
            ["components", ", ".join(component.name for component in self.model.components)],
            ["log likelihood", f"{self.loglikelihood:.4f}"],
            *([name, f"{x:.2f}"] for name, x in criteria),
        ]
        return Section(["", ""], rows)

    def _numbers(self, alpha: float) -> Any:
        """Estimate, standard error, z, p-value and bounds of each parameter, (q, 6)."""
        form = Flat(self.params)
        x, errors = form.flat(self.params), form.flat(self.standard_errors)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = x / errors
        width = norm.isf(check_alpha(alpha) / 2) * errors
        return np.stack([x, errors, z, 2 * norm.sf(np.abs(z)), x - width, x + width], axis=1)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __repr__(self) -> str:
        rows = [f"{'':20s} {'estimate':>12s} {'std. error':>12s}"]
        for label, row in zip(labels_of(self.params), self._numbers(0.05), strict=True):
            rows.append(f"{label:20s} {row[0]:12.5g} {row[1]:12.3g}")
        rows.append(f"log-likelihood {self.loglikelihood:.4f}, AIC {self.aic:.2f}, BIC {self.bic:.2f}")
        return "\n".join([*rows, *self.notes])
