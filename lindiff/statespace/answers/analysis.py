"""A model beside data: everything that one says of the other."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import on_host
from lindiff.core.variable import value
from lindiff.statespace.answers import diagnostics, plots
from lindiff.statespace.answers.bands import Band
from lindiff.statespace.answers.contributions import ComponentBands, Moments, of_states, places
from lindiff.statespace.answers.disturbances import Disturbances, disturbances, lag_one_covariances, over_time
from lindiff.statespace.answers.expectation import PARTS, maximized
from lindiff.statespace.answers.extending import varying
from lindiff.statespace.answers.kinds import Kind, kind_of
from lindiff.statespace.answers.labels import Labels, labelled, own
from lindiff.statespace.answers.news import News, newly_observed, weights
from lindiff.statespace.answers.observations import expected_observations, imputed
from lindiff.statespace.answers.residuals import standardized
from lindiff.statespace.answers.tables import Section, Summary
from lindiff.statespace.columns import refuse_other_dates
from lindiff.statespace.filtering import FilterResult, kalman_filter
from lindiff.statespace.forecasting import forecast
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import NonlinearModel
from lindiff.statespace.partitioned import is_partitioned
from lindiff.statespace.semidefinite import semidefinite_factor
from lindiff.statespace.simulation import simulate_smoother
from lindiff.statespace.smoothing import SmootherResult, kalman_smoother

__all__ = ["Analysis", "Forecast", "ResidualTests"]


class ResidualTests(NamedTuple):
    """Whether standardized residuals are independent, normal and of one variance; arrays for p > 1 series.

    Attributes
    ----------
    ljung_box, ljung_box_p_value : (lags,) or (p, lags) array
        Of the first 1, 2, … autocorrelations.
    normality, normality_p_value, skewness, kurtosis : number or (p,) array
        Jarque and Bera's.
    heteroskedasticity, heteroskedasticity_p_value : number or (p,) array
        The squares of the last third over those of the first.
    """

    ljung_box: Any
    ljung_box_p_value: Any
    normality: Any
    normality_p_value: Any
    skewness: Any
    kurtosis: Any
    heteroskedasticity: Any
    heteroskedasticity_p_value: Any


class Forecast(Band):
    """Observations after the data, with their standard errors; see :class:`Band`.

    Attributes
    ----------
    cov : (steps, p, p) array
        Covariances of the observations of each step.
    components : dict of str to Band
    """

    def __init__(self, mean: Any, cov: Any, labels: Labels, rows: Any, components: dict[str, Band]) -> None:
        variance = np.diagonal(cov, axis1=-2, axis2=-1)
        shown = (mean[:, 0], variance[:, 0]) if labels.single else (mean, variance)
        super().__init__(*shown, labels, rows)
        self.cov, self.components = cov, components


class Analysis:
    """What a model says of data, with names, dates and intervals.

    Parameters
    ----------
    model : Model or NonlinearModel
        Of one series of p numbers a step.
    y : (T,) or (T, p) array, pandas.Series, pandas.DataFrame or xarray.DataArray
        NaN where nothing was observed.  Answers that go over time come in the same form.
    filter : {"extended", "unscented"} or callable, optional
        Of a nonlinear model, as :func:`fit` takes it.

    Attributes
    ----------
    model, y
    loglikelihood : float
    notes : tuple of str
        What to know of the dates.

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError
        As :func:`loglikelihood` does; if dates are out of order, doubled, or skipped where they have a
        frequency; if there are several series.

    Notes
    -----
    Nothing is computed before it is asked for, and nothing twice: components take a filter and a smoother,
    disturbances one gradient of the log likelihood.

    Those of a nonlinear model are of the linear one that its filter makes of it step by step, but for what is
    seen of states, which is by its function, and for draws.  It is one component, all that is seen.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> rng = np.random.default_rng(0)
    >>> y = np.cumsum(rng.normal(size=40)) + np.tile([3.0, 0.0, -1.0, -2.0], 10) + rng.normal(size=40)
    >>> model = statespace.local_level(1.0, obs_var=1.0) + statespace.seasonal(4, 0.0)
    >>> answers = statespace.Analysis(model, y)
    >>> list(answers.components)
    ['level', 'seasonal(4)']
    >>> answers.components["seasonal(4)"].smoothed.mean[:4].round(1)
    array([ 2.8, -0.3, -0.8, -1.7])
    >>> print(answers.forecast(2))
           mean  std. error    2.5 %  97.5 %
    40  0.80076      1.6803  -2.4925   4.094
    41  -2.2505      1.9523   -6.077   1.576
    """

    def __init__(self, model: Model | NonlinearModel, y: Any, *, filter: Any = None) -> None:
        self._hold(model, y, filter)
        self.loglikelihood = float(self.filter_result.loglikelihood)

    def _hold(self, model: Model | NonlinearModel, y: Any, filter: Any) -> None:
        """Keep what the answers are from."""
        self._kind: Kind = kind_of("Analysis", model, filter)
        y = own(y)
        data, labels = labelled("Analysis", y)
        if isinstance(model, Model):
            refuse_other_dates(
                "Analysis: the steps of the model are", model.dates, "the data are", labels.rows
            )
        self.model, self.y, self._filter = model, y, filter
        self.notes = () if getattr(model, "dates", None) is not None else labels.notes
        self._data = data if is_partitioned(data) else on_host(value(data))
        self._labels = labels

    @property
    def _y(self) -> Any:
        """The data as a plain array (T, p)."""
        if self._data.ndim == 3 or self._kind.has_series:
            raise ValueError(
                "Analysis: answers are of one series; those of many are found.series(i) of what fit returns, "
                "or Analysis(model, y[i]) with a model that has no axis of series"
            )
        return self._data[:, None] if self._data.ndim == 1 else self._data

    @cached_property
    def _model(self) -> Model:
        """The linear model with which the data are filtered, in plain arrays of NumPy's."""
        return self._kind.beside(self._y)

    # -- states ---------------------------------------------------------------------------------------------

    @cached_property
    def filter_result(self) -> FilterResult:
        """What :func:`kalman_filter` returns."""
        return kalman_filter(self._y, *self._model)

    @cached_property
    def smoother_result(self) -> SmootherResult:
        """What :func:`kalman_smoother` returns."""
        return kalman_smoother(self._y, *self._model)

    @cached_property
    def components(self) -> dict[str, ComponentBands]:
        """The parts of the model over time, with intervals, by name."""
        found, filtered = {}, self.filter_result
        T = len(self._y)
        before = Moments(filtered.predicted_state[:T], filtered.predicted_state_cov[:T])
        now = Moments(filtered.filtered_state, filtered.filtered_state_cov)
        for component, place in places(self._model.components):
            predicted, seen, smoothed = (
                self._band(*self._kind.contribution(self._model, place, moments))
                for moments in (before, now, self._smoothed)
            )
            states, seen_states = (
                of_states(component, place, moments, self._labels) for moments in (self._smoothed, now)
            )
            found[component.name] = ComponentBands(predicted, seen, smoothed, states, seen_states)
        return found

    @property
    def _smoothed(self) -> Moments:
        return Moments(self.smoother_result.smoothed_state, self.smoother_result.smoothed_state_cov)

    @cached_property
    def disturbances(self) -> Disturbances:
        """The noise of states and observations as all the data show it; standardized, it shows outliers (of
        the observations) and breaks (of the states)."""
        return disturbances(self._model, self._y)

    @cached_property
    def lag_one_covariances(self) -> Any:
        """``Cov[x[t+1], x[t] | y]``, (T - 1, n, n)."""
        return lag_one_covariances(self._model, self._y, self._smoothed)

    # -- residuals ------------------------------------------------------------------------------------------

    @cached_property
    def predictions(self) -> Band:
        """Each observation given the data before it; NaN until these determine diffuse states."""
        found = self.filter_result
        return self._band(found.forecast, _variances(found.forecast_error_cov))

    @cached_property
    def signal(self) -> Band:
        """What is observed but for its noise, all components together, given all the data."""
        means, covs = self._signal
        return self._band(means, _variances(covs))

    @cached_property
    def _signal(self) -> tuple[Any, Any]:
        return self._kind.seen(self._model, self._smoothed)

    @cached_property
    def imputed(self) -> Band:
        """Each observation given all the data: where one is missing, what it is expected to be; where not,
        itself with a standard error of zero."""
        return self._band(*imputed(self._model, self._y, *self._signal))

    def _band(self, means: Any, variances: Any, rows: Any = None) -> Band:
        """Of (T, p) numbers, in the form of the data."""
        shown = (means[:, 0], variances[:, 0]) if self._labels.single else (means, variances)
        return Band(*shown, self._labels, rows)

    @property
    def residuals(self) -> Any:
        """Standardized one-step forecast errors, in the form of the data: independent and standard normal if
        the model is right."""
        return self._labels.table(self._residuals[:, 0] if self._labels.single else self._residuals)

    @cached_property
    def _residuals(self) -> Any:
        found = self.filter_result
        return standardized(found.forecast_error, found.forecast_error_cov)

    @property
    def auxiliary_residuals(self) -> tuple[Any, Any]:
        """Standardized smoothed disturbances of observations, and of states by name, in the form of the data.

        Large ones of an observation are outliers, of a state breaks: Harvey & Koopman (1992), "Diagnostic
        checking of unobserved-components time series models".
        """
        found, names = self.disturbances, [s for part in self._model.components for s in part.states]
        obs = found.auxiliary_obs[:, 0] if self._labels.single else found.auxiliary_obs
        return self._labels.table(obs), self._labels.table(found.auxiliary_state, columns=names)

    def tests(self, lags: int | None = None) -> ResidualTests:
        """ResidualTests of the standardized residuals.

        Parameters
        ----------
        lags : int, optional
            Of the autocorrelations; by default 10, or a fifth of the residuals if they are few.

        Returns
        -------
        ResidualTests

        Raises
        ------
        ValueError
            If there are fewer than lags + 2 residuals.
        """
        e = self._residuals.T
        few = min(np.count_nonzero(np.isfinite(row)) for row in e)
        lags = max(1, min(10, few // 5)) if lags is None else _count("tests", "lags", lags)
        if few < lags + 2:
            raise ValueError(f"tests: {few} residuals are too few for {lags} lags")
        columns = []
        for row in e:
            box, change = diagnostics.ljung_box(row, lags), diagnostics.heteroskedasticity(row)
            normal, skewness, kurtosis = diagnostics.normality(row)
            columns.append([*box, *normal, skewness, kurtosis, *change])
        fields = [
            column[0] if len(columns) == 1 else np.array(column) for column in zip(*columns, strict=True)
        ]
        return ResidualTests(*fields)

    # -- what comes next ------------------------------------------------------------------------------------

    def forecast(
        self, steps: int, *, exog: Any = None, model: Model | NonlinearModel | None = None
    ) -> Forecast:
        """Observations after the data.

        Parameters
        ----------
        steps : int
        exog : (steps, k) or (steps,) array, data frame, series, dict of columns, or list of such, optional
            The explanatory variables in these steps, if the model has such: all, or those that vary in the
            data, in the order of their states, or by their names.
        model : Model or NonlinearModel, optional
            One of T + steps entries for all that varies with time, inputs too, instead of `exog`.

        Returns
        -------
        Forecast

        Raises
        ------
        ValueError
            If the model varies with time and nobody says how it goes on.
        """
        steps, T = _count("forecast", "steps", steps), len(self._y)
        rows = self._rows_after(steps, model)
        longer = self._kind.longer("forecast", T, steps, exog, rows, model)
        linear = longer.beside(_padded(self._y, T + steps))
        found = forecast(steps, self._y, *linear)
        moments = Moments(found.state, found.state_cov)
        components = {
            component.name: self._band(*longer.contribution(linear, place, moments, first=T), rows)
            for component, place in places(self._model.components)
        }
        return Forecast(found.mean, found.cov, self._labels, rows, components)

    def _rows_after(self, steps: int, longer: Any) -> Any:
        """What the steps after the data are called: as in a longer model that has dates, if there is one."""
        T, dates = len(self._y), getattr(longer, "dates", None)
        if dates is None or self._labels.rows is None or len(dates) != T + steps:
            return self._labels.after(steps, T)
        refuse_other_dates(
            "forecast: the first steps of model are", dates[:T], "the data are", self._labels.rows
        )
        return dates[T:]

    def simulate(
        self,
        steps: int,
        rng: Any,
        *,
        anchor: str = "end",
        size: Any = None,
        exog: Any = None,
        model: Model | NonlinearModel | None = None,
    ) -> Any:
        """Draws of observations.

        Parameters
        ----------
        steps : int
        rng : numpy.random.Generator or int
        anchor : {"end", "start", "smoothed"}
            From where: after the data, given these; from the model's start, which must not be diffuse; from
            the first state as the data show it.
        size : int or tuple of int, optional
            Shape of independent draws.
        exog, model : optional
            As in :meth:`forecast`, for what goes beyond the data.

        Returns
        -------
        (*size, steps, p) array

        Raises
        ------
        ValueError
            If the anchor is another one, or the model varies with time and nobody says how it goes on.
        """
        (T, p), steps = self._y.shape, operator.index(steps)
        if anchor not in ("end", "start", "smoothed"):
            raise ValueError(f'simulate: anchor must be "end", "start" or "smoothed", not {anchor!r}')
        more = steps if anchor == "end" else max(steps - T, 0)
        kind = self._kind.longer("simulate", T, more, exog, self._labels.after(more, T), model)
        if anchor == "end":
            kind = kind.begun_at(T, self._after_the_data(kind, steps))
        elif steps < T:
            kind = kind.cut(steps)
        if anchor == "smoothed":
            kind = kind.begun_at(0, (self._smoothed.means[0], self._smoothed.covs[0]))
        return kind.draws(steps, p, rng, size)

    def _after_the_data(self, kind: Kind, steps: int) -> tuple[Any, Any]:
        """Mean and covariance of the first state after the data, by a model of more steps."""
        found = forecast(steps, self._y, *kind.beside(_padded(self._y, len(self._y) + steps)))
        return found.state[0], found.state_cov[0]

    def simulate_states(self, rng: Any, size: Any = None) -> Any:
        """Draws of the states given all the data, (*size, T, n); see :func:`simulate_smoother`."""
        return simulate_smoother(self._y, *self._model, rng=rng, size=size)

    # -- more data ------------------------------------------------------------------------------------------

    def append(self, y: Any, *, exog: Any = None, model: Model | NonlinearModel | None = None) -> Analysis:
        """The same model beside these data and those that came after them.

        Parameters
        ----------
        y : array, Series, DataFrame or DataArray
            In the form of the data; dates must go on where these end.
        exog, model : optional
            As in :meth:`forecast`.

        Returns
        -------
        Analysis

        Raises
        ------
        TypeError, ValueError
            If the form or the dates do not fit.
        """
        more, labels = labelled("append", y)
        if not more.ndim:
            raise ValueError("append: y is a single number; write it as [y], one step")
        more = more[:, None] if more.ndim == 1 else more
        if more.shape[1] != self._y.shape[1]:
            raise ValueError(
                f"append: y has {more.shape[1]} numbers a step and the data have {self._y.shape[1]}"
            )
        joined = self._labels.followed_by(labels)
        both = np.concatenate([self._y, more])
        table = joined.table(both[:, 0] if joined.single else both)
        longer = self._kind.longer("append", len(self._y), len(more), exog, labels.rows, model)
        return Analysis(longer.model, table, filter=self._filter)

    def extend(self, y: Any, *, exog: Any = None, model: Model | NonlinearModel | None = None) -> Analysis:
        """The same model beside the data that came after these alone, from the state that these leave.

        The log likelihood is that of the new data given the old.  Parameters are those of :meth:`append`, and
        answers go on in the frequency of these dates.
        """
        both, T = self.append(y, exog=exog, model=model), len(self._y)
        steps = len(both._y) - T
        if not steps:
            raise ValueError("extend: y has no steps")
        start = both._kind.begun_at(T, self._after_the_data(both._kind, steps))
        later = Analysis(start.model, getattr(both.y, "iloc", both.y)[T:], filter=self._filter)
        later._labels = later._labels._replace(step=both._labels.known_step())
        return later

    def apply(self, y: Any, *, model: Model | NonlinearModel | None = None) -> Analysis:
        """The same model beside other data.

        Parameters
        ----------
        y : array, Series, DataFrame or DataArray
        model : Model, optional
            With what varies over time in these data.

        Returns
        -------
        Analysis

        Raises
        ------
        ValueError
            If the columns of y are those of the data in another order.
        """
        if model is None:
            self._labels.check_columns("apply", labelled("apply", y)[1], others=True)
        return Analysis(self._kind.model if model is None else model, y, filter=self._filter)

    def news(self, y: Any, step: Any, series: int | str = 0) -> News:
        """What more data change in the expectation of one observation, and by which of them.

        Parameters
        ----------
        y : array, Series, DataFrame or DataArray
            All the data there are now, from the same first step on: with gaps filled, steps added, values
            revised.
        step : int or date
            Of the observation that is expected; its number, or its date.  It may be after the data.
        series : int or str
            Which one of those that are observed.

        Returns
        -------
        News

        Raises
        ------
        ValueError
            If the new data lack what is known, begin elsewhere, have other columns, or the model varies with
            time.
        """
        self._kind.check_linear("news")
        new, labels = labelled("news", y)
        self._labels.check_columns("news", labels)
        new = new[:, None] if new.ndim == 1 else new
        self._labels.check_begins("news", labels)
        if varying(self._model):
            raise ValueError(f"news: {', '.join(varying(self._model))} of the model varies with time")
        place = _place(step, labels)
        i = self._series("news", series)
        T = max(len(new), len(self._y), place + 1)
        old, new = _padded(self._y, T), _padded(new, T)

        def expectation(y: Any) -> Any:
            states = kalman_smoother(y, *self._model).smoothed_state[:, place]
            return expected_observations(self._model, y[:, place], states)[:, i]

        found = newly_observed(old, new)
        revised = np.where(np.isnan(old), np.nan, new)
        before, base = expectation(old[None])[0], expectation(revised[None])[0]
        weight = weights(expectation, new, found)
        expected = self._expected(revised, found)
        actual = new[tuple(found.T)]
        rows, names = labels.rows if labels.rows is not None else np.arange(T), self._names
        return News(
            before=float(before),
            after=float(expectation(new[None])[0]),
            revisions=float(base - before),
            observed=[(rows[t], names[k]) for t, k in found],
            expected=expected,
            actual=actual,
            weight=weight,
            impact=weight * (actual - expected),
        )

    def _expected(self, y: Any, found: Any) -> Any:
        """Of these observations (k, 2), given data (T, p) without them."""
        states = kalman_smoother(y, *self._model).smoothed_state
        rows = (expected_observations(self._model, y[t, None], states[t, None])[0, k] for t, k in found)
        return np.array(list(rows))

    # -- what a model does ----------------------------------------------------------------------------------

    def impulse_responses(self, steps: int, *, orthogonal: bool = False, cumulative: bool = False) -> Any:
        """What a disturbance of one unit does to the observations, now and later.

        Parameters
        ----------
        steps : int
            How many after the one in which the disturbed state is first seen.
        orthogonal : bool
            Disturbances of one standard deviation that do not move together, in the order of the states: the
            columns of the Cholesky factor of state_cov.
        cumulative : bool
            Sums over the steps so far.

        Returns
        -------
        (steps + 1, p, n) array
            ``design transitionᵏ`` for k = 0, 1, …; the last axis is that of the disturbed state.

        Raises
        ------
        ValueError
            If transition, design or state_cov vary with time.

        Notes
        -----
        Lütkepohl (2005), New Introduction to Multiple Time Series Analysis, section 2.3.2.
        """
        self._kind.check_linear("impulse_responses")
        moving = [name for name in varying(self._model) if name in ("transition", "design", "state_cov")]
        if moving:
            raise ValueError(f"impulse_responses: {', '.join(moving)} of the model varies with time")
        timed = over_time(self._model, 1)
        A, B = timed.transition[0], timed.design[0]
        shock = np.eye(len(A))
        if orthogonal:
            shock = semidefinite_factor(timed.state_cov[0], "impulse_responses", "state_cov")
        found = []
        for _ in range(_count("impulse_responses", "steps", steps) + 1):
            found.append(B @ shock)
            shock = A @ shock
        return np.cumsum(found, axis=0) if cumulative else np.array(found)

    def em_step(self, parts: Sequence[str] = PARTS[:3]) -> Model:
        """The model after a step of expectation maximization: its likelihood is no less.

        Parameters
        ----------
        parts : sequence of {"transition", "state_cov", "obs_cov", "initial_state"}
            What may change, each as a whole matrix.

        Returns
        -------
        Model

        Raises
        ------
        ValueError
            If the model varies with time, a part is another one, or there is one step only.

        Notes
        -----
        Shumway & Stoffer (1982).  Steps are many near the maximum, where :func:`fit` takes few.
        """
        self._kind.check_linear("em_step")
        if len(self._y) == 1 and {"transition", "state_cov"} & set(parts):
            raise ValueError("em_step: one step says nothing of transition and state_cov; leave them out")
        wrong = [part for part in parts if part not in PARTS]
        if wrong or varying(self._model):
            raise ValueError(
                f"em_step: {', '.join(map(repr, wrong))} is none of {PARTS}"
                if wrong
                else f"em_step: {', '.join(varying(self._model))} of the model varies with time"
            )
        return maximized(
            self._model, self._smoothed, self.lag_one_covariances, self.disturbances, tuple(parts)
        )

    # -- to read --------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Size of the data, log likelihood and tests of the residuals, as text and HTML."""
        return Summary("State-space model", [self._overview(), self._tested()], self.notes)

    def _overview(self) -> Section:
        known = int(np.count_nonzero(~np.isnan(self._y)))
        rows = [
            ["observations", f"{known} in {len(self._y)} steps"],
            ["components", ", ".join(component.name for component in self._model.components)],
            ["states", str(self._model.transition.shape[-1])],
            ["log likelihood", f"{self.loglikelihood:.4f}"],
        ]
        return Section(["", ""], rows)

    def _tested(self) -> Section:
        try:
            tests = self.tests()
        except ValueError:
            return Section(["residuals", ""], [["", "too few for tests"]])
        rows = []
        box = np.atleast_2d(tests.ljung_box)[:, -1], np.atleast_2d(tests.ljung_box_p_value)[:, -1]
        lags = np.shape(tests.ljung_box)[-1]
        pairs = [
            (f"Ljung-Box ({lags} lags)", *box),
            ("normality", tests.normality, tests.normality_p_value),
            ("heteroskedasticity", tests.heteroskedasticity, tests.heteroskedasticity_p_value),
        ]
        for title, statistics, p_values in pairs:
            numbers = zip(self._names, np.atleast_1d(statistics), np.atleast_1d(p_values), strict=True)
            for name, statistic, p in numbers:
                label = title if len(self._names) == 1 else f"{title}, {name}"
                rows.append([label, f"{statistic:.3f}", f"{p:.3f}"])
        return Section(["residuals", "statistic", "p-value"], rows)

    @property
    def _names(self) -> list[Any]:
        columns = self._labels.columns
        return list(range(self._y.shape[1])) if columns is None else list(columns)

    def plot_components(self, alpha: float = 0.05, *, series: int | str | None = None) -> Any:
        """A matplotlib Figure of all components beside the observations, and of each component.

        Parameters
        ----------
        alpha : float
            Bands hold what they are of with probability ``1 - alpha``, given all the data.
        series : int or str, optional
            The one of those observed that is shown, by its number or name; all by default.
        """
        names = self._names_shown(None)
        chosen = range(len(names)) if series is None else [self._series("plot_components", series)]
        whole = "all components" if len(self.components) > 1 else next(iter(self.components))
        shown = {whole: self.signal}
        shown |= {name: part.smoothed for name, part in self.components.items() if name != whole}
        return plots.bands(shown, alpha, [(i, names[i]) for i in chosen], {whole: self._y})

    def plot_states(self, alpha: float = 0.05) -> Any:
        """A matplotlib Figure of each state given all the data."""
        shown = {name: band for part in self.components.values() for name, band in part.states.items()}
        return plots.bands(shown, alpha, [], {})

    def plot_diagnostics(self, series: int | str = 0, lags: int | None = None) -> Any:
        """A matplotlib Figure of the residuals over time, their distribution, quantiles, autocorrelations."""
        series = self._series("plot_diagnostics", series)
        residuals = self._residuals[:, series]
        few = np.count_nonzero(np.isfinite(residuals))
        lags = max(1, min(24, few // 3)) if lags is None else lags
        title = "" if len(self._names) == 1 else f" of {self._names[series]}"
        rows = np.arange(len(residuals)) if self._labels.rows is None else self._labels.rows
        return plots.diagnostics(residuals, rows, title, lags)

    def plot_forecast(
        self,
        steps: int,
        alpha: float = 0.05,
        *,
        history: int | None = None,
        exog: Any = None,
        model: Model | NonlinearModel | None = None,
    ) -> Any:
        """A matplotlib Figure of the data and what comes next.

        Parameters
        ----------
        steps : int
            After the data.  Where a series ends before them, its missing observations are shown, too.
        alpha : float
            Of the bands.
        history : int, optional
            How many steps of the data are shown; all by default.
        exog, model : optional
            As in :meth:`forecast`.
        """
        found = self.forecast(steps, exog=exog, model=model)
        T, p = self._y.shape
        past_mean, past_var = imputed(self._model, self._y, *self._signal)
        mean = np.concatenate([past_mean, np.reshape(np.asarray(found.mean), (-1, p))])
        variance = np.concatenate([past_var, _variances(found.cov)])
        rows = np.arange(T) if self._labels.rows is None else self._labels.rows
        places = plots.joined_places(rows, found.rows)
        first = 0 if history is None else max(0, T - operator.index(history))
        expected = Band(mean[first:], variance[first:], Labels())
        return plots.forecasts(self._y[first:], places[first:], expected, self._names_shown(""), alpha)

    def _names_shown(self, nameless: Any) -> list[Any]:
        """Of what is observed; numbers only where there are several without names."""
        return self._names if self._labels.columns is not None or len(self._names) > 1 else [nameless]

    def _series(self, function: str, series: int | str) -> int:
        """The number of what is observed, by its number or name."""
        names = self._names
        if isinstance(series, (int, np.integer)) and -len(names) <= series < len(names):
            return operator.index(series) % len(names)
        if isinstance(series, str) and series in names:
            return names.index(series)
        raise ValueError(f"{function}: series={series!r} is none of {', '.join(map(repr, names))}")


def _variances(covs: Any) -> Any:
    return np.diagonal(covs, axis1=-2, axis2=-1)


def _count(name: str, argument: str, x: Any) -> int:
    """An integer that is not negative; raises TypeError or ValueError for others."""
    if isinstance(x, bool) or not isinstance(x, int | np.integer):
        raise TypeError(f"{name}: {argument} is an integer, got {x!r}")
    if x < 0:
        raise ValueError(f"{name}: {argument} must not be negative, got {x}")
    return operator.index(x)


def _padded(y: Any, steps: int) -> Any:
    """With missing values up to so many steps."""
    return np.concatenate([y, np.full((steps - len(y), y.shape[1]), np.nan)])


def _place(step: Any, labels: Labels) -> int:
    """Of a step by its date or number; after the data, too."""
    try:
        return labels.place_or_after(step)
    except KeyError as error:
        raise ValueError(
            f"news: {step} is no step of the data, which end at {labels.rows[-1]}, or after them ({error})"
        ) from None
