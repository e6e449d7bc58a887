"""What all distributions of one variable have in common: parameters, support, location and scale, freezing.

A distribution is written in its standard form; SciPy answers for plain arguments.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.elementwise import elementwise_rule
from lindiff.core.formula import some
from lindiff.core.results import returned
from lindiff.core.variable import Variable, value
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.scipy._rest import plain_only

__all__ = [
    "EULER",
    "Continuous",
    "Discrete",
    "Distribution",
    "Frozen",
    "PlainOnly",
    "double",
    "log_of_complement",
    "of_distributions",
    "quantile_rule",
]

# What a function is below and above the support.
BEYOND = {
    "pdf": (0.0, 0.0),
    "logpdf": (-np.inf, -np.inf),
    "cdf": (0.0, 1.0),
    "logcdf": (-np.inf, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -np.inf),
}
TINY, SCALE = 2.0**-300, 2.0**800
EULER = float(np.euler_gamma)
REASONS = {
    "rvs": "draw plain samples of the standard form and transform them: loc + scale * rvs()",
    "fit": "maximize the sum of logpdf with lindiff.scipy.optimize.minimize",
    "expect": "integrate with lindiff.scipy.integrate.quad",
}


def double(x: Any) -> Any:
    """An array in double precision, in which SciPy computes distributions."""
    if isinstance(x, (int, float)):
        return np.float64(x)
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError("lindiff.scipy.stats has the distributions of real numbers, and got complex ones")
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _everywhere(condition: Any) -> bool:
    """Whether a condition, a NumPy boolean or an array of them, is known to hold everywhere.

    An array on a device is not asked, since its answer would have to be waited for.
    """
    return foreign(condition) is None and bool(condition.all() if condition.ndim else condition)


def _where(condition: Any, y: Any, otherwise: Any) -> Any:
    """``y`` where the condition holds; itself if that is everywhere."""
    return y if _everywhere(condition) else np.where(condition, y, otherwise)


def _returned(valid: Any, y: Any, *arguments: Any) -> Any:
    """``y`` as SciPy returns it; where it is not valid, it and its derivatives by the arguments are NaN."""
    return returned(_valid_or_nan(valid, y, *arguments), arguments)


def _valid_or_nan(valid: Any, y: Any, *arguments: Any) -> Any:
    """``y`` where it is valid; elsewhere NaN, with NaN for its derivatives by the arguments."""
    if _everywhere(valid):
        return y
    factor = np.where(valid, 0.0, np.nan)
    nothing: Any = np.nan
    for x in arguments:
        if isinstance(x, Variable):
            nothing = nothing + x * factor
    return np.where(valid, y, nothing)


def _of_shape(y: Any, *shapes: tuple[int, ...]) -> Any:
    """``y`` broadcast to these shapes together."""
    shape = y.shape if hasattr(y, "shape") else ()
    if all(other == shape or other == () for other in shapes):
        return y
    common = np.broadcast_shapes(*shapes)
    return y if shape == common else np.broadcast_to(y, common)


def quantile_rule(quantile: Callable[..., Any], *partials: Callable[..., Any]) -> Callable[..., Any]:
    """The primitive of a quantile function that SciPy computes, by its partial derivatives.

    They are functions of the quantile, the probability and the shapes.
    """

    def of_plain(q: Any, *shapes: Any) -> Any:
        """Under a derivative of higher order, the primitive of the one below; SciPy computes on the host."""
        if any(isinstance(x, Variable) for x in (q, *shapes)):
            return primitive(q, *shapes)
        found = quantile(*map(on_host, (q, *shapes)))
        there = placed(np.asarray(found), q, *shapes)
        return found if type(there) is np.ndarray else there

    primitive: Callable[..., Any] = elementwise_rule(of_plain, *partials)
    return primitive


class Distribution:
    """A distribution under SciPy's name for it.

    Its methods take a point, then the shape parameters, then ``loc`` and ``scale`` (discrete: ``loc``), by
    position or by name, all broadcast against each other, and return what SciPy's return: float64, NaN for
    parameters outside their domain (at infinite points the limits, where SciPy may say NaN).  All are
    differentiable, a discrete distribution in its shape parameters.  Called with parameters alone, it freezes
    them.  Methods that SciPy has besides are here for plain arrays.
    """

    shapes: tuple[str, ...] = ()
    # Parameters to compute with where the given ones are outside their domain.
    harmless: tuple[float, ...] = (1.0, 1.0, 1.0)
    located: tuple[str, ...] = ("loc", "scale")

    def __init__(self, name: str) -> None:
        self.name = name
        self._scipy = getattr(scipy.stats, name)

    def __repr__(self) -> str:
        return f"<lindiff.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        """The distribution with its parameters fixed: its methods then take the point alone."""
        self._parameters(args, kwds)
        return Frozen(self, args, kwds)

    freeze = __call__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._scipy, name)
        if not inspect.isroutine(found):
            return found
        return plain_only(f"scipy.stats.{self.name}.{name}", found, REASONS.get(name))

    # -- the standard form ---------------------------------------------------------------------------------

    def _valid(self, *shapes: Any) -> Any:
        """Where (plain) shape parameters are in their domain."""
        valid: Any = np.True_
        for shape in shapes:
            valid = valid & (shape > 0)
        return valid

    def _support(self, *shapes: Any) -> tuple[Any, Any]:
        """The least and the largest point, for plain shape parameters."""
        return -np.inf, np.inf

    # -- what methods share --------------------------------------------------------------------------------

    def _parameters(self, args: tuple[Any, ...], kwds: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """The shape parameters, and location and scale, None where they are not given."""
        names = (*self.shapes, *self.located)
        given = dict(zip(names, args, strict=False))
        wrong = [name for name in kwds if name in given or name not in names]
        missing = [name for name in self.shapes if name not in given and name not in kwds]
        if len(args) > len(names) or wrong or missing:
            raise TypeError(
                f"{self.name} has the parameters {', '.join(names)}; got {len(args)} by position"
                f"{', and ' + ', '.join(kwds) if kwds else ''}"
            )
        given.update(kwds)
        numbers = [None if given.get(name) is None else double(given[name]) for name in names]
        numbers = [placed(x, *numbers) for x in numbers]
        return numbers[: len(self.shapes)], numbers[len(self.shapes) :]

    def _checked(self, shapes: list[Any]) -> tuple[Any, list[Any]]:
        """Where shape parameters are in their domain; and the parameters, with harmless ones elsewhere."""
        valid = self._valid(*map(value, shapes))
        return valid, [_where(valid, s, safe) for s, safe in zip(shapes, self.harmless, strict=False)]

    def _formula(self, method: str) -> Callable[..., Any]:
        """The method in standard form: the distribution's own, or made of another; raises without it."""
        source = {"ppf": "_ppf", "isf": "_ppf"}.get(method, "_cdf")
        if method[-3:] not in ("pdf", "pmf") and not hasattr(self, source):
            raise TypeError(f"scipy.stats.{self.name}.{method} has no derivative in lindiff")
        return getattr(self, f"_{method}")

    def _plain(self, method: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        return getattr(self._scipy, method)(*args, **kwds)

    # -- moments -------------------------------------------------------------------------------------------

    def _moment(
        self, method: str, args: tuple[Any, ...], kwds: dict[str, Any], located: Callable[..., Any]
    ) -> Any:
        if not depends_on_variables((args, kwds)):
            return self._plain(method, args, kwds)
        formula = getattr(self, f"_{method}", None)
        if formula is None:
            raise TypeError(f"scipy.stats.{self.name}.{method} has no derivative in lindiff")
        shapes, (loc, *scales) = self._parameters(args, kwds)
        valid, safe = self._checked(shapes)
        scale = scales[0] if scales and scales[0] is not None else np.float64(1.0)
        valid = valid & (value(scale) > 0)
        y = located(formula(*safe), 0.0 if loc is None else loc, _where(valid, scale, 1.0))
        given = [np.shape(p) for p in (*shapes, loc, scale) if p is not None]
        return _returned(valid, _of_shape(y, *given), *shapes, loc, scale)

    def mean(self, *args: Any, **kwds: Any) -> Any:
        """The mean, a function of the parameters."""
        return self._moment("mean", args, kwds, lambda m, loc, scale: loc + scale * m)

    def var(self, *args: Any, **kwds: Any) -> Any:
        """The variance, a function of the parameters."""
        return self._moment("var", args, kwds, lambda v, loc, scale: scale * scale * v)

    def std(self, *args: Any, **kwds: Any) -> Any:
        """The standard deviation, a function of the parameters."""
        if not depends_on_variables((args, kwds)):
            return self._plain("std", args, kwds)
        return np.sqrt(self.var(*args, **kwds))

    def entropy(self, *args: Any, **kwds: Any) -> Any:
        """The entropy (differential, of a continuous distribution), a function of the parameters."""
        return self._moment("entropy", args, kwds, lambda h, loc, scale: h + np.log(scale))


class Frozen:
    """A distribution with fixed parameters."""

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist = distribution
        self.args = args
        self.kwds = kwds

    def __repr__(self) -> str:
        return f"<frozen {self.dist!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(type(self.dist), name, None)
        if method is None:
            if depends_on_variables((self.args, self.kwds)):
                return getattr(self.dist, name)(*self.args, **self.kwds)  # says why it has no derivative
            return getattr(self.dist._scipy(*self.args, **self.kwds), name)

        def call(*points: Any, **named: Any) -> Any:
            return method(self.dist, *points, *self.args, **named, **self.kwds)

        return call


class PlainOnly:
    """A distribution that has no derivatives here: SciPy's own, which refuses Variables."""

    def __init__(self, name: str, distribution: Any) -> None:
        self.name = name
        self._scipy = distribution

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """``isinstance(dist, rv_discrete)`` is asked by SciPy's fits and tests."""
        return type(self._scipy)

    def __call__(self, *args: Any, **kwds: Any) -> Any:
        return plain_only(f"scipy.stats.{self.name}", self._scipy)(*args, **kwds)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._scipy, name)
        return plain_only(f"scipy.stats.{self.name}.{name}", found) if inspect.isroutine(found) else found


def of_distributions(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's that gets SciPy's distributions in the place of ours."""

    def scipys(x: Any) -> Any:
        return x._scipy if isinstance(x, (Distribution, PlainOnly)) else x

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return function(*map(scipys, args), **{name: scipys(x) for name, x in options.items()})

    return call


def _log(p: Any) -> Any:
    """``log p``; of tiny p that of ``c p``, c a power of two, since later derivatives divide by squares."""
    tiny = value(p) < TINY
    if not some(tiny):
        return np.log(p)
    c = np.where(tiny, SCALE, 1.0)
    return np.log(c * p) - np.log(c)


def _log_of_probability(
    probability: Callable[..., Any], complement: Callable[..., Any], z: Any, *shapes: Any
) -> Any:
    """``log p``, computed from 1 - p where that is smaller."""
    p = probability(z, *shapes)
    is_likely = value(p) > 0.5
    if not some(is_likely):
        return _log(p)
    rest = np.where(is_likely, complement(z, *shapes), 0.5)
    return np.where(is_likely, np.log1p(-rest), _log(np.where(is_likely, 1.0, p)))


def log_of_complement(w: Any, log_w: Any) -> Any:
    """``log(1 - exp(-w))`` for w > 0, given its logarithm; of small w that is ``log w + log exprel(-w)``."""
    small = value(w) < 1
    far = np.log1p(-np.exp(-np.where(small, 1.0, w)))
    return np.where(small, log_w + np.log(special.exprel(-np.where(small, w, 0.0))), far)


class Continuous(Distribution):
    __doc__ = Distribution.__doc__
    # Whether the density at the ends of the support is that of SciPy's formula, or zero.
    has_ends = True

    # -- the standard form ---------------------------------------------------------------------------------

    def _pdf(self, z: Any, *shapes: Any) -> Any:
        return np.exp(self._logpdf(z, *shapes))

    def _logcdf(self, z: Any, *shapes: Any) -> Any:
        return _log_of_probability(self._cdf, self._sf, z, *shapes)

    def _sf(self, z: Any, *shapes: Any) -> Any:
        return 1.0 - self._cdf(z, *shapes)

    def _logsf(self, z: Any, *shapes: Any) -> Any:
        return _log_of_probability(self._sf, self._cdf, z, *shapes)

    def _isf(self, q: Any, *shapes: Any) -> Any:
        return self._ppf(1.0 - q, *shapes)

    # -- with location and scale ---------------------------------------------------------------------------

    def _at(self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        """A function of points."""
        if type(x) is not Variable and not depends_on_variables((x, args, kwds)):
            return self._plain(method, (x, *args), kwds)
        formula = self._formula(method)
        shapes, (loc, scale) = self._parameters(args, kwds)
        arguments = [*shapes, loc, scale]
        valid, safe = self._checked(shapes)
        if scale is not None:
            positive = value(scale) > 0
            valid = valid & positive
            scale = _where(positive, scale, 1.0)
        z = placed(double(x), *shapes, loc, scale)
        z = z if loc is None else z - loc
        z = z if scale is None else z / scale
        low, high = self._support(*map(value, safe))
        at = value(z)
        is_density = method in ("pdf", "logpdf")
        inside = _is_inside(at, low, high, is_density and self.has_ends)
        all_inside = _everywhere(inside)
        y = formula(z if all_inside else np.where(inside, z, _between(low, high)), *safe)
        if scale is not None and is_density:
            y = y / scale if method == "pdf" else y - np.log(scale)
        y = _of_shape(y, at.shape, np.shape(valid))
        if not all_inside:
            below, above = BEYOND[method]
            y = np.where(inside, y, np.where(at >= high, above, below))
            valid = valid & ~np.isnan(at)
        return _returned(valid, y, x, *arguments)

    def pdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The density at x."""
        return self._at("pdf", x, args, kwds)

    def logpdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the density at x; minus infinity outside the support."""
        return self._at("logpdf", x, args, kwds)

    def cdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of values up to x."""
        return self._at("cdf", x, args, kwds)

    def logcdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the probability of values up to x."""
        return self._at("logcdf", x, args, kwds)

    def sf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of values above x."""
        return self._at("sf", x, args, kwds)

    def logsf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the probability of values above x."""
        return self._at("logsf", x, args, kwds)

    def _inverse(self, method: str, q: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        """A function of probabilities."""
        if not depends_on_variables((q, args, kwds)):
            return self._plain(method, (q, *args), kwds)
        formula = self._formula(method)
        shapes, (loc, scale) = self._parameters(args, kwds)
        arguments = [*shapes, loc, scale]
        valid, safe = self._checked(shapes)
        if scale is not None:
            positive = value(scale) > 0
            valid = valid & positive
            scale = _where(positive, scale, 1.0)
        q = placed(double(q), *shapes, loc, scale)
        at = value(q)
        inside = (at > 0) & (at < 1)
        z = formula(_where(inside, q, 0.5), *safe)
        first, last = self._support(*map(value, safe))
        if method == "isf":
            first, last = last, first
        z = _where(inside, z, np.where(at == 0, first, np.where(at == 1, last, np.nan)))
        z = placed(z, *shapes, loc, scale)
        x = z if scale is None else z * scale
        x = x if loc is None else x + loc
        return _returned(valid, _of_shape(x, np.shape(x), np.shape(valid), at.shape), q, *arguments)

    def ppf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """The point up to which the probability is q, the inverse of `cdf`."""
        return self._inverse("ppf", q, args, kwds)

    def isf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """The point above which the probability is q, the inverse of `sf`."""
        return self._inverse("isf", q, args, kwds)

    def median(self, *args: Any, **kwds: Any) -> Any:
        """The median, a function of the parameters."""
        return self.ppf(0.5, *args, **kwds)


def _is_inside(at: Any, low: Any, high: Any, with_ends: bool) -> Any:
    """Which points are finite and in the support, whose ends may depend on the shapes."""
    inside = np.isfinite(at)
    if not isinstance(low, float) or low > -np.inf:
        inside = inside & (at >= low if with_ends else at > low)
    if not isinstance(high, float) or high < np.inf:
        inside = inside & (at <= high if with_ends else at < high)
    return inside


def _between(low: Any, high: Any) -> Any:
    """A point inside the support."""
    if not isinstance(low, float) or not isinstance(high, float):
        first = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0, -1.0))
        last = np.where(np.isfinite(high), high, first + 2.0)
        return 0.5 * (first + last)
    if low > -np.inf:
        return 0.5 * (low + high) if high < np.inf else low + 1.0
    return high - 1.0 if high < np.inf else 0.0


class Discrete(Distribution):
    __doc__ = Distribution.__doc__
    located = ("loc",)

    # -- the standard form ---------------------------------------------------------------------------------

    def _support(self, *shapes: Any) -> tuple[Any, Any]:
        return 0.0, np.inf

    def _pmf(self, k: Any, *shapes: Any) -> Any:
        return np.exp(self._logpmf(k, *shapes))

    def _logcdf(self, k: Any, *shapes: Any) -> Any:
        return _log_of_probability(self._cdf, self._sf, k, *shapes)

    def _sf(self, k: Any, *shapes: Any) -> Any:
        return 1.0 - self._cdf(k, *shapes)

    def _logsf(self, k: Any, *shapes: Any) -> Any:
        return _log_of_probability(self._sf, self._cdf, k, *shapes)

    # -- with location -------------------------------------------------------------------------------------

    def _at(self, method: str, k: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        if not depends_on_variables((k, args, kwds)):
            return self._plain(method, (k, *args), kwds)
        shapes, (loc,) = self._parameters(args, kwds)
        valid, safe = self._checked(shapes)
        k = placed(value(double(k)), *shapes, loc) - (0.0 if loc is None else value(loc))
        low, high = self._support(*map(value, safe))
        if method in ("pmf", "logpmf"):
            inside = (k >= low) & (k <= high) & (np.floor(k) == k)
        else:
            inside = (k >= low) & (k < high)
        y = self._formula(method)(np.floor(_where(inside, k, low)), *safe)
        y = _of_shape(y, k.shape, *(s.shape for s in shapes))
        below, above = BEYOND[method.replace("pmf", "pdf")]
        y = _where(inside, y, np.where(k >= high, above, below))
        return _returned(valid & ~np.isnan(k), y, *shapes)

    def pmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of k."""
        return self._at("pmf", k, args, kwds)

    def logpmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the probability of k; minus infinity where that is zero."""
        return self._at("logpmf", k, args, kwds)

    def cdf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of values up to k."""
        return self._at("cdf", k, args, kwds)

    def logcdf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the probability of values up to k."""
        return self._at("logcdf", k, args, kwds)

    def sf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The probability of values above k."""
        return self._at("sf", k, args, kwds)

    def logsf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """The logarithm of the probability of values above k."""
        return self._at("logsf", k, args, kwds)

    def ppf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """The least k with a probability of at least q up to it: a plain array, its derivative is zero."""
        return self._plain("ppf", (value(q), *map(value, args)), value(kwds))

    def isf(self, q: Any, *args: Any, **kwds: Any) -> Any:
        """The least k with a probability of at most q above it: a plain array, its derivative is zero."""
        return self._plain("isf", (value(q), *map(value, args)), value(kwds))

    def median(self, *args: Any, **kwds: Any) -> Any:
        """The median: a plain array, its derivative is zero."""
        return self._plain("median", tuple(map(value, args)), value(kwds))
