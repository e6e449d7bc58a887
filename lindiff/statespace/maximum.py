"""The search for the maximum of a likelihood: SciPy's, begun where the data say, and looked over at its end.

Searches run in unconstrained numbers x.  Those of variances are logarithms: where one is far too small, the
slope along x vanishes though the likelihood rises with the variance itself, and no gradient tells that from a
maximum.  So searches begin at the likeliest of some ratios of the variances, with the common scale that the
data determine; Newton's steps finish them; and then variances are tried where the search has not been.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from lindiff.scipy.optimize._flat import Flat, linear_operator
from lindiff.transforms.reverse import grad, value_and_grad

__all__ = [
    "FAILURES",
    "FEW",
    "Likelihood",
    "Scale",
    "check_search",
    "in_units",
    "limited",
    "searched",
    "units_of",
]

WITH_GRADIENT = {"bfgs", "cg", "l-bfgs-b", "tnc", "slsqp"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
FAILURES = (ValueError, ArithmeticError)  # of a filter; LinAlgError is a ValueError
LIMITS = {"maxiter", "maxfun", "maxfev"}
FEW = 32  # parameters that are not too many for Hessians, and for searches elsewhere
FEW_SHAPED = 4  # of them, that are bounded and are looked for near their bounds
NEAR_BOUND = 8.0  # in the numbers of a search: partial autocorrelations of 0.992

# of log-likelihoods
SURE = 1e-10  # what Newton's steps leave, if rounding lets them
ALIKE = 1e-6  # what is lost without regret
SEEN = 1e-4  # what is worth a restart, or a note
FAR = 0.1  # of one observation, what a search does not make up for soon


class Scale(NamedTuple):
    """Which of the coordinates x are of the size of variances.

    Parameters
    ----------
    logarithms : (q,) array of bool
        Logarithms of variances.
    diagonal, below : (q,) arrays of bool
        Of factors of covariances: logarithms of the diagonal, and what is below it.
    row : (q,) array of int
        Of factors of covariances: where the logarithm in the same row is.
    shaped : (q,) array of bool
        Other coordinates of a transform, whose origin is in the middle of what it allows.
    free : (q,) array of bool
        Those without a transform, of any size.
    parameter : (q,) array
        The number of the parameter that they belong to.
    """

    logarithms: Any
    diagonal: Any
    below: Any
    row: Any
    shaped: Any
    free: Any
    parameter: Any

    def moved(self, x: Any, step: float, places: Any = True) -> Any:
        """With all covariances times ``exp(step)``, or those at these places."""
        x = x + step * (self.logarithms & places) + 0.5 * step * (self.diagonal & places)
        return np.where(self.below & places, x * np.exp(0.5 * step), x)

    def rows(self, x: Any) -> Any:
        """The lengths of the rows of factors of covariances, the deviations; 1 for other coordinates."""
        factor = self.diagonal | self.below
        squares = np.where(self.below, x, 0) ** 2 + self.diagonal * np.exp(np.where(self.diagonal, 2 * x, 0))
        lengths = np.sqrt(np.bincount(self.row, squares, x.size))[self.row]
        return np.where(factor & (lengths > 0) & np.isfinite(lengths), lengths, 1)

    def slope(self, x: Any, gradient: Any) -> float:
        """The derivative by the step of all."""
        return float(gradient @ self._changes(x))

    def slopes(self, x: Any, gradient: Any) -> Any:
        """The derivatives by the steps of single variances, at the places of their logarithms."""
        return np.bincount(self.row, gradient * self._changes(x), x.size)

    def _changes(self, x: Any) -> Any:
        return self.logarithms + 0.5 * self.diagonal + 0.5 * np.where(self.below, x, 0)


class Likelihood:
    """The negative log-likelihood per observation as a function of flat vectors, and the best point so far.

    Parameters
    ----------
    function : callable
        Of a tree of unconstrained parameters, the log-likelihood.
    form : Flat
        Of that tree.
    scale : Scale
    count : int
        How many observations.
    degrees : int
        How many of them the covariances are left with: without one for each diffuse state.
    noise, rounding : float
        Logarithms of variances of the size of the data's noise, and of their rounding.
    tell : callable or None
        Of an iteration, its log-likelihood and its point.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        form: Flat,
        scale: Scale,
        count: int,
        degrees: int,
        noise: float,
        rounding: float,
        tell: Callable[[int, float, Any], Any] | None,
    ) -> None:

        def negative_mean(free: Any) -> Any:
            return -function(free) / count

        self._value = negative_mean
        self._both = value_and_grad(negative_mean)
        self._gradient = grad(negative_mean)
        self.form, self.scale, self.count, self.degrees = form, scale, count, degrees
        self.noise, self.rounding = noise, rounding
        self.best: tuple[Any, float, Any] | None = None  # the point of the lowest value, that, its gradient
        self.failure: Exception | None = None
        self._tell = tell
        self.iterations = self.evaluations = 0

    def at(self, x: Any) -> tuple[float, Any]:
        """Value and gradient.  Raises what the filter does, and a ValueError where they are not finite."""
        self.evaluations += 1
        f, gradient = self._both(self.form.tree_of(x))
        f, gradient = float(f), self.form.flat(gradient)
        if not (np.isfinite(f) and np.all(np.isfinite(gradient))):
            raise ValueError(f"fit: minus the mean log-likelihood is {f}, its gradient {gradient}")
        if self.best is None or f < self.best[1]:
            self.best = np.copy(x), f, gradient
        return f, gradient

    def tried(self, x: Any) -> tuple[float, Any] | None:
        """The same, or None where it cannot be computed."""
        try:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                return self.at(x)
        except FAILURES as error:
            self.failure = error
            return None

    def value(self, x: Any) -> float:
        """Without the gradient; infinite where it cannot be computed."""
        self.evaluations += 1
        try:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                f = float(self._value(self.form.tree_of(x)))
        except FAILURES:
            return np.inf
        return f if np.isfinite(f) else np.inf

    def derivative(self, x: Any) -> Any:
        """The Hessian as an operator.  Raises what the filter does."""
        gradient, operator, _ = linear_operator(self._gradient, self.form.tree_of(x), self.form)
        if not np.all(np.isfinite(self.form.flat(gradient))):
            raise ValueError("fit: the gradient is not finite")
        return operator

    def hessian(self, x: Any, unit: Any) -> Any:
        """Of the log-likelihood itself, with the other sign, by ``x / unit``; zero where it has none."""
        try:
            H = self.count * in_units(self.derivative(x), unit)
        except FAILURES:
            return np.zeros((x.size, x.size))
        return np.nan_to_num(0.5 * (H + H.T), posinf=0.0, neginf=0.0)

    def is_exact(self, x: Any) -> bool:
        """Whether all variances are those of rounding: the model has no error left to explain."""
        variances = np.concatenate([x[self.scale.logarithms], 2 * x[self.scale.diagonal]])
        return bool(len(variances)) and bool(np.all(variances < self.rounding))

    def iterated(self) -> None:
        """One iteration more, of whichever search: the best point so far is told."""
        self.iterations += 1
        if self._tell is not None and self.best is not None:
            self._tell(self.iterations, -self.count * self.best[1], self.best[0])


# -- one of SciPy's searches -------------------------------------------------------------------------------


def check_search(method: str) -> None:
    """Raise an error unless it is one that uses a gradient."""
    methods = WITH_GRADIENT | WITH_PRODUCTS | WITH_HESSIAN
    if method.lower() not in methods:
        raise ValueError(
            f"fit: method {method!r} is none of SciPy's that use a gradient: {', '.join(sorted(methods))}"
        )


def limited(options: dict[str, Any] | None) -> bool:
    """Whether a search is to end after so many steps."""
    return bool(LIMITS & set(options or ()))


class _Objective:
    """What SciPy minimizes: the likelihood's function of ``x / unit``, with its derivatives.

    Where it cannot be computed it goes up as steeply as it goes down at the best point so far, because
    the line searches' interpolations take no infinite numbers: they go back to between a seventh and a
    quarter of the step (Moré & Thuente 1994, case 1), and regions of trust shrink.
    """

    def __init__(self, likelihood: Likelihood, unit: Any) -> None:
        self._likelihood, self._unit = likelihood, unit
        self.best: tuple[Any, float, Any] | None = None
        self._last: tuple[Any, Any] | None = None

    def __call__(self, u: Any) -> tuple[float, Any]:
        try:
            f, gradient = self._likelihood.at(u * self._unit)
        except FAILURES as error:
            if self.best is None:  # at the start
                raise
            self._likelihood.failure = error
            best, f, gradient = self.best
            return f + abs(float(gradient @ (u - best))), -gradient
        gradient = gradient * self._unit
        if self.best is None or f < self.best[1]:
            self.best = np.copy(u), f, gradient
        return f, gradient

    def _derivative(self, u: Any) -> Any:
        """The Hessian as an operator; products at one point share one linearization.

        Searches among regions of trust ask for it before they know the value; where there is none it is zero.
        """
        if self._last is not None and np.array_equal(u, self._last[0]):
            return self._last[1]
        try:
            operator = self._likelihood.derivative(u * self._unit)
        except FAILURES:
            operator = np.zeros((u.size, u.size))
        self._last = np.copy(u), operator
        return operator

    def product(self, u: Any, p: Any) -> Any:
        return self._unit * (self._derivative(u) @ (self._unit * p))

    def hessian(self, u: Any) -> Any:
        return in_units(self._derivative(u), self._unit)


def _minimized(
    likelihood: Likelihood,
    x: Any,
    unit: Any,
    method: str,
    tol: float | None,
    options: Any,
    decided: Callable[[Any, float], bool] | None = None,
) -> Any:
    """SciPy's search from x, with the derivatives that it uses; its best point is the result's.  It ends
    early where `decided` says so of that point and the value there.
    """
    name = method.lower()
    if name == "l-bfgs-b" and tol is None:
        options = {"gtol": 1e-6, "ftol": 1e-13, **(options or {})}
    objective = _Objective(likelihood, unit)

    def callback(u: Any, *state: Any) -> None:
        likelihood.iterated()
        best = objective.best
        if decided is not None and best is not None and decided(best[0] * unit, best[1]):
            raise StopIteration

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = scipy.optimize.minimize(
            objective,
            x / unit,
            jac=True,
            method=method,
            hessp=objective.product if name in WITH_PRODUCTS else None,
            hess=objective.hessian if name in WITH_HESSIAN else None,
            tol=tol,
            callback=callback,
            options=options,
        )
    if objective.best is not None:
        u, found.fun, gradient = objective.best
        found.x, found.jac = u * unit, gradient / unit
    return found


def units_of(likelihood: Likelihood, x: Any) -> Any:
    """A unit for each parameter without a transform, in which its rows of the Hessian are as long as others;
    what is below the diagonal of a covariance's factor has that of its row.

    With them a search does not depend on the units of the data.  Matrix-free, by products with random signs:
    Bradley & Murray (2011), Matrix-free approximate equilibration, arXiv:1110.2805.
    """
    scale = likelihood.scale
    unit = np.where(scale.below, scale.rows(x), 1.0)
    if not np.any(scale.free):
        return unit
    try:
        operator = likelihood.derivative(x)
    except FAILURES:
        return unit
    rng = np.random.default_rng(0)
    for _ in range(8):
        with np.errstate(over="ignore", invalid="ignore"):
            rows = unit * (operator @ (unit * rng.choice([-1.0, 1.0], x.size)))
        if not np.all(np.isfinite(rows)):  # of parameters far from size 1: they may be as large as the data
            unit[scale.free] = np.exp(0.5 * likelihood.noise)
            continue
        others = _mean_size(rows[~scale.free]) if not np.all(scale.free) else 1.0
        for parameter in np.unique(scale.parameter[scale.free]):
            places = scale.parameter == parameter
            ratio = _mean_size(rows[places]) / (others or 1.0)
            if 0 < ratio < np.inf:
                unit[places] /= np.sqrt(ratio)
    return unit


def in_units(second: Any, unit: Any) -> Any:
    """A second derivative, given as an operator, by ``x / unit``."""
    return unit[:, None] * (second @ np.diag(unit))


def _mean_size(x: Any) -> float:
    """The root of the mean square, which itself may overflow or vanish."""
    largest = np.max(np.abs(x))
    return float(largest * np.sqrt(np.mean((x / largest) ** 2))) if 0 < largest < np.inf else float(largest)


# -- where it begins ---------------------------------------------------------------------------------------


def _centred(likelihood: Likelihood, x: Any) -> tuple[float, Any] | None:
    """x with the likeliest common scale of the covariances, and the value there.

    Where all covariances have that scale, ``-2 ℓ(c) = N c + S exp(-c) + …``, so that ``S = N + 2 ℓ'(0)``
    gives the maximum at once; elsewhere it is a step towards it.
    """
    scale, best = likelihood.scale, None
    for _ in range(6):
        found = likelihood.tried(x)
        if found is None:
            break
        f, gradient = found
        if best is None or f < best[0]:
            best = f, x
        share = 1 - 2 * likelihood.count / likelihood.degrees * scale.slope(x, gradient)
        step = np.log(max(share, 1e-13)) if share > -1e-6 else -1.0
        if abs(step) < 0.1 or likelihood.is_exact(x):
            break
        x = scale.moved(x, step)
    return best


def _begun(likelihood: Likelihood, x: Any) -> Any:
    """The likeliest of x, ratios of the variances, and the middle or anywhere of what else is bounded."""
    scale, rng = likelihood.scale, np.random.default_rng(0)
    logarithms = np.flatnonzero(scale.logarithms)
    found = [(likelihood.at(x)[0], x), _centred(likelihood, x)]
    for small in _corners(logarithms, rng):
        trial = np.copy(x)
        trial[logarithms] = np.mean(x[logarithms])
        trial[small] -= 7
        found.append(_centred(likelihood, trial))
    best = min((each for each in found if each is not None), key=lambda each: each[0])
    if np.any(scale.diagonal):
        best = _each_centred(likelihood, *best)
    if np.any(scale.shaped):
        places = [np.zeros(x.size), *rng.normal(size=(4, x.size))]
        others = [_centred(likelihood, np.where(scale.shaped, place, best[1])) for place in places]
        best = min((each for each in [best, *others] if each is not None), key=lambda each: each[0])
    return best[1]


def _each_centred(likelihood: Likelihood, f: float, x: Any) -> tuple[float, Any]:
    """The value, and x with likelier scales of single variances and rows of covariances: units may differ.

    Looked for where the slope by one is more than what a tenth of the observations would make.
    """
    scale = likelihood.scale
    scaled = np.flatnonzero(scale.logarithms | scale.diagonal)
    for _ in range(3):
        gradient = likelihood.at(x)[1]
        slopes = scale.slopes(x, gradient)[scaled]
        if np.max(np.abs(slopes)) < 0.05:
            break
        for j in scaled[np.argsort(-np.abs(slopes))]:
            for step in (6.0, -6.0, 2.0, -2.0):
                while True:
                    trial = scale.moved(x, step, scale.row == j)
                    value = likelihood.value(trial)
                    if not value < f:
                        break
                    f, x = value, trial
    return f, x


def _corners(places: Any, rng: Any) -> list[Any]:
    """Which variances are to be small: each choice of some but not all, or a dozen of them."""
    k = len(places)
    if k < 2:
        return []
    if k <= 4:
        choices = itertools.product([False, True], repeat=k)
        return [places[list(chosen)] for chosen in choices if not all(chosen)]
    return [places[:0], *(places[chosen] for chosen in rng.random((11, k)) < 0.5)]


# -- how it ends -------------------------------------------------------------------------------------------


class Search(NamedTuple):
    """How the likelihoods of a model are gone through."""

    method: str
    tol: float | None
    options: Any
    newton: bool  # whether there may be Hessians

    def settled(self, likelihood: Likelihood, x: Any) -> tuple[Any, float]:
        """SciPy's result from x on, its point where Newton's steps lead and no variance is too small by
        itself; and what they expect to be missing.
        """
        if limited(self.options):
            return _minimized(likelihood, x, units_of(likelihood, x), *self[:3]), np.nan
        for _ in range(5):
            unit = units_of(likelihood, x)
            found = _minimized(likelihood, x, unit, *self[:3])
            gain = np.nan
            if self.newton:
                _vanishing(likelihood, found)
                gain = _polished(likelihood, found, unit)
            higher = _raised(likelihood, found.x, found.fun)
            if higher is None:
                break
            x = higher
        return found, gain


def _moved_to(likelihood: Likelihood, found: Any, x: Any) -> bool:
    """Whether x is better, where the result is moved to then."""
    trial = likelihood.tried(x)
    if trial is None or not trial[0] < found.fun:
        return False
    found.x, found.fun, found.jac = x, *trial
    return True


def _vanishing(likelihood: Likelihood, found: Any) -> None:
    """Variances that are on their way to zero get there at once."""
    logarithms = np.flatnonzero(likelihood.scale.logarithms)
    for j in logarithms:
        if found.jac[j] > 0 and found.x[j] < np.max(found.x[logarithms]) - 5:
            x = np.copy(found.x)
            x[j] -= 30
            _moved_to(likelihood, found, x)


def _polished(likelihood: Likelihood, found: Any, unit: Any) -> float:
    """Newton's steps from where SciPy's search has ended; what the last one expects to be missing."""
    steps = np.where(likelihood.scale.free, np.inf, 2.0)
    for _ in range(30):
        H = likelihood.hessian(found.x, unit)
        step, gain = _newton(H, likelihood.count * found.jac * unit, steps)
        if gain < SURE:
            break
        if not any(_moved_to(likelihood, found, found.x + t * unit * step) for t in (1, 0.3, 0.1, 0.01)):
            break
        likelihood.iterated()
    return gain


def _newton(H: Any, g: Any, longest: Any) -> tuple[Any, float]:
    """The step to the minimum of ``g·s + ½ s·Hs``, and what it gains; along negative curvature, away.

    In units of the diagonal, and without what the data do not determine in them.
    """
    s = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), 1e-6))
    curvature, V = np.linalg.eigh(s[:, None] * H * s)
    b, rounding = V.T @ (s * g), 1e-8
    bent = np.where(np.abs(curvature) > rounding, np.abs(curvature), np.inf)
    along = -b / bent
    along = np.where(curvature < -rounding, np.where(b > 0, -1, 1) * np.maximum(np.abs(along), 1), along)
    step = s * (V @ along)
    step *= min(1, 1 / max(np.max(np.abs(step) / longest), 1e-300))
    return step, float(-(g @ step + 0.5 * step @ H @ step))


def _raised(likelihood: Likelihood, x: Any, f: float) -> Any:
    """x with a small variance larger, if that is better: what the slope by its logarithm hides."""
    logarithms = np.flatnonzero(likelihood.scale.logarithms)
    if not len(logarithms):
        return None
    top = max(np.max(x[logarithms]), likelihood.noise)
    best, place = f - ALIKE / likelihood.count, None
    for j in logarithms[x[logarithms] < top - 5]:
        for height in np.arange(6.0, -22.0, -3.0):
            if top + height > x[j] + 1:
                trial = np.copy(x)
                trial[j] = top + height
                value = likelihood.value(trial)
                if value < best:
                    best, place = value, trial
    return place


def _elsewhere(likelihood: Likelihood, x: Any, seed: int) -> list[Any]:
    """Points with one variance on the other side, nearly zero or among the largest; and some of the likeliest
    places of what else is bounded.
    """
    scale, points = likelihood.scale, []
    logarithms = np.flatnonzero(scale.logarithms)
    top = np.max(x[logarithms], initial=-np.inf)
    small = logarithms[x[logarithms] < top - 5]
    heights = dict.fromkeys(small[:6], top - 2)
    if len(logarithms) <= 6:
        heights.update({j: x[j] - 12 for j in logarithms if j not in small})
    for j, height in heights.items():
        point = np.copy(x)
        point[j] = height
        points.append(point)
    shaped = int(np.sum(scale.shaped))
    if not shaped or x.size > FEW:
        return points
    places = np.random.default_rng(seed).normal(scale=1.5, size=(4 * min(shaped, 3), x.size))
    tried = [_centred(likelihood, np.where(scale.shaped, place, x)) for place in places]
    likeliest = sorted((each for each in tried if each is not None), key=lambda each: each[0])
    return points + [point for _, point in likeliest[: 1 + min(shaped, 3)]]


def _near_bounds(x: Any, scale: Scale) -> list[Any]:
    """Points with one of what is bounded near each bound that it is not near, as roots at the unit circle."""
    top = np.max(x[scale.logarithms], initial=-np.inf)
    even = np.where(scale.logarithms, np.maximum(x, top - 2), x)
    points = []
    for j in np.flatnonzero(scale.shaped)[:FEW_SHAPED]:
        for bound in (-NEAR_BOUND, NEAR_BOUND):
            if abs(x[j] - bound) > NEAR_BOUND / 2 and x[j] * bound <= NEAR_BOUND**2:
                point = np.copy(even)
                point[j] = bound
                points.append(point)
    return points


def searched(likelihood: Likelihood, x: Any, search: Search, restarts: bool) -> tuple[Any, float]:
    """The maximum from x on: SciPy's result, and what Newton's next step expects to be missing.

    Parameters
    ----------
    likelihood : Likelihood
    x : (q,) array
        Where it can be computed; raises what the filter does, if not.
    search : Search
    restarts : bool
        Whether to look elsewhere, before and after.
    """
    likelihood.at(x)
    if limited(search.options):
        return search.settled(likelihood, x)
    likelihood.iterated()
    if restarts:
        x = _begun(likelihood, x)
    if likelihood.is_exact(x):
        return _exact(likelihood, x), np.inf
    found, gain = search.settled(likelihood, x)
    for seed in range(1, 1 + 3 * restarts):
        points = [(point, 40) for point in _elsewhere(likelihood, found.x, seed)]
        if seed == 1 and found.x.size <= FEW:
            points += [(point, 16) for point in _near_bounds(found.x, likelihood.scale)]
        for point, patience in points:
            higher = _higher(likelihood, point, found, patience)
            if higher is not None:
                found, gain = search.settled(likelihood, higher)
                break
        else:
            break
    _ended(likelihood, found)
    return found, gain


def _exact(likelihood: Likelihood, x: Any) -> Any:
    """What SciPy's search would end with, if the likelihood had a maximum."""
    f, gradient = likelihood.at(x)
    message = "the model fits the data without an error, its likelihood grows as all variances go to zero"
    return scipy.optimize.OptimizeResult(x=x, fun=f, jac=gradient, success=False, status=1, message=message)


def _ended(likelihood: Likelihood, found: Any) -> None:
    """Coordinates that lose nothing at infinity, but elsewhere, go there: variances become zero."""
    scale, slack = likelihood.scale, ALIKE / likelihood.count
    for j in np.argsort(found.x):
        if scale.free[j] or scale.below[j] or (scale.shaped[j] and abs(found.x[j]) < 3):
            continue
        end, within = np.copy(found.x), np.copy(found.x)
        end[j] = np.copysign(np.inf, found.x[j]) if scale.shaped[j] else -np.inf
        within[j] = (
            0.0 if scale.shaped[j] else max(likelihood.noise, np.max(found.x)) / (1 + scale.diagonal[j])
        )
        trial = likelihood.tried(end)
        if trial is None or trial[0] > found.fun + slack:
            continue
        if likelihood.value(within) > found.fun + slack:
            found.x, found.fun, found.jac = end, *trial


def _higher(likelihood: Likelihood, x: Any, found: Any, patience: int) -> Any:
    """A search of so many steps from x: where it gets above what was found; None where it comes back, or is
    far below after half of them, or stays below.
    """
    begin = _centred(likelihood, x)
    if begin is None:
        return None
    unit, logarithms = units_of(likelihood, x), likelihood.scale.logarithms
    until = likelihood.iterations + patience // 2

    def decided(x: Any, f: float) -> bool:
        if f < found.fun - SEEN / likelihood.count or bool(np.all(_near(x, found.x, unit, logarithms))):
            return True
        return likelihood.iterations >= until and f > found.fun + FAR

    ended = _minimized(likelihood, begin[1], unit, "L-BFGS-B", None, {"maxiter": patience}, decided)
    return ended.x if ended.fun < found.fun - SEEN / likelihood.count else None


def _near(x: Any, y: Any, unit: Any, logarithms: Any) -> Any:
    """Whether coordinates are the same by and large, in their units; variances in that of the largest."""
    size = np.exp(np.clip(np.stack([x, y]), None, 700))
    top = np.max(np.where(logarithms, size, 0))
    same = np.abs(x - y) < 0.3 * unit
    return same | (logarithms & (np.max(size, axis=0) < 1e-7 * top))
