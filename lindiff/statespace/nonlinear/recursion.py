"""The filter of a nonlinear model, whose functions are replaced, step by step, by Gaussian moments."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.arrays import zeros_beside
from lindiff.core.variable import value
from lindiff.linalg import potrf
from lindiff.linalg._matrices import transposed
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.programs import Program
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear.approximations import Approximation, Line, Moments
from lindiff.statespace.nonlinear.model import NonlinearSystem

__all__ = [
    "filter_moments",
    "functions_at",
    "linear_model",
    "loglikelihood",
    "loglikelihood_and_filter",
]

# Steps of a program: with more of them calls cost Python less, and each has to be recorded.
_BLOCK = 4

# How many models are remembered, with their programs.
_REMEMBERED = 64

# What a step gives besides the next state, from the approximation, the function and the state of each half,
# the moments of the observations, both covariances, and its term of the log likelihood.
Half = tuple[Callable[[Any], Any], Any, Any]
Others = Callable[[Approximation, Half, Half, Moments, Any, Any, Any], tuple[Any, ...]]


def loglikelihood(
    system: NonlinearSystem, by: Approximation, name: str, program: bool, per_step: bool = False
) -> Any:
    """The log likelihood, or its terms (T,); `name` is the public function that errors speak of."""
    return loglikelihood_and_filter(system, by, name, program, per_step)[0]


def loglikelihood_and_filter(
    system: NonlinearSystem, by: Approximation, name: str, program: bool, per_step: bool
) -> tuple[Any, Approximation]:
    """That, and what is better for likelihoods near this one: `by`, or what is for singular covariances."""
    run = _Run(system, by, _term if per_step else _nothing, ((),) if per_step else (), name, program)
    better = (run.has_failed and run.by.for_singular) or by
    if not per_step:
        return run.loglikelihood, better
    return run.others[0] - 0.5 * LOG_TWO_PI * np.sum(system.seen, axis=1), better


def filter_moments(system: NonlinearSystem, by: Approximation, name: str, program: bool) -> tuple[Any, ...]:
    """The fields of a FilterResult."""
    n, p = system.initial_state.shape[0], system.y.shape[1]
    run = _Run(system, by, _moments, ((n,), (n, n), (n,), (n, n), (p,), (p, p)), name, program)
    mean, cov, filtered, filtered_cov, forecast, S = run.others
    means = np.concatenate([mean, run.mean[None]])
    covs = np.concatenate([cov, run.cov[None]])
    error = system.data() - forecast
    return run.loglikelihood, means, covs, filtered, filtered_cov, forecast, error, S


def linear_model(system: NonlinearSystem, by: Approximation, name: str, program: bool) -> Model:
    """The linear model, whose matrices vary, that the filter has used: its log likelihood is the same."""
    n, p = system.initial_state.shape[0], system.y.shape[1]
    run = _Run(system, by, _lines, ((n, n), (p, n), (n, n), (p, p), (n,), (p,)), name, program)
    A, B, Q, R, c, d = run.others
    return Model(A, B, Q, R, system.initial_state, system.initial_state_cov, c, d)


def functions_at(system: NonlinearSystem, t: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Transition and observation of a step as functions of the state alone."""
    given = () if system.inputs is None else (_row(system.inputs, t),)
    return _functions(system.transition, system.observation, (*given, *system.params), system.y.shape[1])


# -- over time ---------------------------------------------------------------------------------------------


class _Run:
    """A run over the data.

    Attributes
    ----------
    loglikelihood : number
    mean, cov : (n,) and (n, n) arrays
        The state predicted for the step after the data.
    others : list of (T, ...) arrays
        What each step gives besides.
    has_failed : bool
        Whether a covariance was found to be singular.
    """

    def __init__(
        self,
        system: NonlinearSystem,
        by: Approximation,
        others: Others,
        shapes: tuple[tuple[int, ...], ...],
        name: str,
        program: bool,
    ) -> None:
        self.system, self.by, self.gives, self.name = system, by, others, name
        self.has_failed = False  # for a singular covariance, which will be so in later steps
        functions = system.transition, system.observation
        self.remembers = program and all(isinstance(f, Hashable) for f in functions)
        try:
            found = self._walk(self._block)
        except _EarlierError:
            found = None
        if found is None or not _are_finite(*found[:3]):
            found = self._walk(self._one_by_one)  # to say at which step
        self.mean, self.cov, total, self.others = found
        self.loglikelihood = total - 0.5 * LOG_TWO_PI * np.sum(system.seen)
        if not len(system.y):
            self.others = [zeros_beside(system.y, (0, *shape), system.y.dtype) for shape in shapes]

    def _walk(self, through: Callable[..., Any]) -> Any:
        m, P, steps = self.system.initial_state, self.system.initial_state_cov, len(self.system.y)
        terms, others = [], []
        for start in range(0, steps, _BLOCK):
            m, P, term, *more = through(m, P, start, min(start + _BLOCK, steps))
            terms.append(term)
            others.append(more)
        return m, P, _sum(terms, m), [np.concatenate(parts) for parts in zip(*others, strict=True)]

    def _block(self, m: Any, P: Any, start: int, stop: int) -> Any:
        """Some steps at once; where a covariance is indefinite, one by one, to say which."""
        try:
            return self._steps(m, P, start, stop)
        except np.linalg.LinAlgError:
            return self._one_by_one(m, P, start, stop)

    def _one_by_one(self, m: Any, P: Any, start: int, stop: int) -> Any:
        terms, others = [], []
        for t in range(start, stop):
            m, P, term, *more = self._step(m, P, t)
            terms.append(term)
            others.append(more)
        return m, P, _sum(terms, m), *(np.concatenate(parts) for parts in zip(*others, strict=True))

    def _step(self, m: Any, P: Any, t: int) -> Any:
        """One step, which says what is wrong."""
        if not _are_finite(m, P):
            raise _EarlierError
        try:
            found = self._steps(m, P, t, t + 1)
        except np.linalg.LinAlgError as error:
            raise self._is_singular(t) from error
        if not _are_finite(*found[:2]):
            raise OverflowError(
                f"{self.name}: the state predicted for step {t + 1}, or its covariance, is not finite: "
                f"transition or observation overflows at step {t}, or gives NaN"
            )
        if not _are_finite(found[2]):
            raise self._is_singular(t)
        return found

    def _is_singular(self, t: int) -> np.linalg.LinAlgError:
        return np.linalg.LinAlgError(
            f"{self.name}: the covariance of the observations at step {t} is not positive definite: obs_cov "
            f"and the states leave a combination of them without variance, or the states' is not semidefinite"
        )

    def _steps(self, m: Any, P: Any, start: int, stop: int) -> Any:
        """By what is for singular covariances, where one is, or was so before."""
        again = self.by.for_singular
        if again is None:
            return self._by(self.by, m, P, start, stop)
        if not self.has_failed and np.all(np.diagonal(value(P)) > 0):
            try:
                return self._by(self.by, m, P, start, stop)
            except np.linalg.LinAlgError:
                self.has_failed = True
        return self._by(again, m, P, start, stop)

    def _by(self, by: Any, m: Any, P: Any, start: int, stop: int) -> Any:
        given, is_masked = self.system.part(start, stop)
        functions = self.system.transition, self.system.observation
        parts: Any = by, self.gives, is_masked, self.system.inputs is not None
        if self.remembers:
            return _program(*map(_Itself, functions), *parts)(m, P, *given)
        return _steps(*functions, *parts)(m, P, *given)


class _EarlierError(Exception):
    """Steps before have gone wrong."""


def _sum(terms: list[Any], like: Any) -> Any:
    return np.sum(np.stack(terms)) if terms else zeros_beside(like, (), like.dtype)


def _are_finite(*arrays: Any) -> bool:
    return all(bool(np.all(np.isfinite(value(x)))) for x in arrays)


# -- steps -------------------------------------------------------------------------------------------------


class _Itself:
    """A function that equals itself alone: an object may equal another one that has other numbers."""

    def __init__(self, function: Any) -> None:
        self.function = function
        is_method = isinstance(function, types.MethodType)
        self._key = (id(function.__self__), id(function.__func__)) if is_method else id(function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=_REMEMBERED)
def _program(transition: _Itself, observation: _Itself, *parts: Any) -> Any:
    """The same program for the same functions, so that it is recorded once."""
    return Program(_steps(transition.function, observation.function, *parts))


def _steps(
    transition: Any, observation: Any, by: Approximation, others: Others, is_masked: bool, has_inputs: bool
) -> Callable[..., tuple[Any, ...]]:
    """Some steps as a function of arrays.

    It is given mean and covariance of the state, then observations (k, p), with a mask (k, p) of which are
    there, covariances, inputs (k, ...), and the params.  Of observations that are missing the error is 0, the
    covariance with the state is 0 and with each other the identity: they change nothing, and what is done
    does not depend on which are missing.
    """

    def step(m: Any, P: Any, y: Any, seen: Any, Q: Any, R: Any, *given: Any) -> tuple[Any, ...]:
        f, h = _functions(transition, observation, given, len(y))
        z = by.moments(h, m, P)
        S, error, cross = z.cov + R, y - z.mean, z.cross
        if is_masked:
            S = S * (seen[:, None] * seen) + np.diag(1 - seen)
            error, cross = error * seen, cross * seen
        L = potrf(S)
        solved = _solved(L, np.concatenate([transposed(cross), error[:, None]], axis=1))
        W, e = solved[:, :-1], solved[:, -1]
        filtered, cov = m + e @ W, P - transposed(W) @ W
        x = by.moments(f, filtered, cov)
        term = -0.5 * (e @ e) - _half_logdet(L, S, len(m))
        found = others(by, (h, m, P), (f, filtered, cov), z, Q, R, term)
        return x.mean, x.cov + Q, term, *found

    def steps(m: Any, P: Any, y: Any, *arrays: Any) -> tuple[Any, ...]:
        seen, arrays = (arrays[0], arrays[1:]) if is_masked else (None, arrays)
        Q, R, *given = arrays
        terms, found = [], []
        for t in range(len(y)):
            covs = (X if X.ndim == 2 else X[t] for X in (Q, R))
            here = [_row(given[0], t), *given[1:]] if has_inputs else given
            m, P, term, *more = step(m, P, y[t], None if seen is None else seen[t], *covs, *here)
            terms.append(term)
            found.append(more)
        total = sum(terms[1:], terms[0])
        return m, P, total, *(np.stack(parts) for parts in zip(*found, strict=True))

    return steps


def _functions(
    transition: Any, observation: Any, given: tuple[Any, ...], p: int
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Of the state alone, returning arrays."""

    def f(x: Any) -> Any:
        return _of_shape("transition", transition(x, *given), x.shape)

    def h(x: Any) -> Any:
        return _of_shape("observation", observation(x, *given), (p,))

    return f, h


def _row(inputs: Any, t: int) -> Any:
    return pytree.tree_map(lambda x: x[t], inputs)


def _half_logdet(L: Any, S: Any, n: int) -> Any:
    """Of S = L Lᵀ; NaN where it is singular to rounding."""
    pivots, variances = np.diagonal(L), np.diagonal(value(S))
    rounding = 10 * (n + len(L)) * float(np.finfo(S.dtype).eps)
    return np.sum(np.log(np.where(value(pivots) ** 2 > rounding * variances, pivots, np.nan)))


def _solved(L: Any, B: Any) -> Any:
    """``L⁻¹ B``; by the general solver, which programs have."""
    return B / L if L.shape == (1, 1) else np.linalg.solve(L, B)


def _of_shape(argument: str, result: Any, shape: tuple[int, ...]) -> Any:
    """What a function of the user's returns, as an array of this shape."""
    if not hasattr(result, "__array_function__"):
        result = np.stack(result) if isinstance(result, list | tuple) else np.asarray(result)
    if result.shape == shape:
        return result
    if result.shape == () and shape == (1,):
        return np.reshape(result, shape)
    raise ValueError(
        f"{argument} returns an array of shape {result.shape}, and {shape} is needed, "
        + ("that of the state" if argument == "transition" else "a number for each observation of a step")
    )


def _nothing(*_: Any) -> tuple[Any, ...]:
    return ()


def _term(*given: Any) -> tuple[Any, ...]:
    return given[-1:]


def _moments(
    by: Approximation, seen: Half, moved: Half, z: Moments, Q: Any, R: Any, term: Any
) -> tuple[Any, ...]:
    """Predicted and filtered moments of the state, and those of the observations."""
    return *seen[1:], *moved[1:], z.mean, z.cov + R


def _lines(
    by: Approximation, seen: Half, moved: Half, z: Moments, Q: Any, R: Any, term: Any
) -> tuple[Any, ...]:
    """Matrices and intercepts of the linear model of this step."""
    of_y: Line = by.line(*seen)
    of_x: Line = by.line(*moved)
    noise = of_x.error_cov + Q, of_y.error_cov + R
    return of_x.slope, of_y.slope, *noise, of_x.offset, of_y.offset
