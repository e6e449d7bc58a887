"""Integrals over one number: ``quad``, ``quad_vec`` and ``fixed_quad``."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import IntegrationWarning

from lindiff._docstrings import documented_like
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.programs.evaluating import Evaluator
from lindiff.rules._common import conj, depends_on_variables
from lindiff.scipy.integrate._given import of_variables, refuse_hidden
from lindiff.scipy.integrate._jumps import brackets_of_few, may_jump, moved_jump
from lindiff.scipy.integrate._leibniz import cotangent_of, evaluator_of, middle, tangent_of
from lindiff.scipy.integrate._witnesses import Witnessed

__all__ = ["fixed_quad", "quad", "quad_vec"]


# Entries of a vector that are integrated one by one: QUADPACK is compiled, `quad_vec` is not.
FEW = 8

# An absolute tolerance that is larger, beside an integral, says nothing of the accuracy of derivatives: then
# it is SciPy's, of numbers about 1.
COARSEST, FINE = 1e-3, 1.49e-8

# How the size of an integrand is found: so many nodes in each of at most so many intervals.
NODES, PARTS = 5, 8

OF_DERIVATIVE = "quad: the integral of a derivative of the integrand by args: "
# The value of an integral, and the ends of the intervals into which it was cut.
Found = tuple[Any, list[float]]


class _Integrand:
    """``f(x, params)``, a number or a vector, and how it is integrated between plain limits."""

    def __init__(
        self,
        name: str,
        function: Callable[[Any, list[Any]], Any],
        integrate: Callable[[Callable[[float], Any], float, float], Found],
        of_others: Callable[..., Found],
        epsabs: float = 0.0,
    ) -> None:
        self.name, self.function = name, function
        self.integrate = integrate
        self.integrate_others, self._epsabs = of_others, epsabs
        self.ends: list[float] = []
        self.limits = (0.0, 0.0)
        self.compiled: Evaluator | None = None
        self._witnessed: Witnessed | None = None

    def of_others(self, function: Callable[[Any, list[Any]], Any]) -> _Integrand:
        """A vector of integrands that a derivative makes of this one: they have peaks where this is steep,
        and begin with its intervals."""
        return _OfDerivative(self, function)

    def run(self, a: Any, b: Any, params: list[Any]) -> Any:
        """SciPy's integral for plain arguments; refuses an integrand that holds other Variables."""
        numbers = [p[()] for p in params]

        def of_number(x: float) -> Any:
            y = self.function(x, numbers)
            refuse_hidden(y, "the integrand")
            return np.asarray(y)[()]

        a, b = self.limits = float(a), float(b)
        self.compiled = evaluator_of(self.function, (middle(a, b),), numbers)
        self._witnessed = Witnessed(of_number, None if self.compiled is None else self.compiled.at)
        y, self.ends = self.integrate(self._witnessed, a, b)
        return y

    @functools.cached_property
    def relative(self) -> float:
        """The absolute tolerance beside the integral of what is integrated, without its sign."""
        assert self._witnessed is not None
        size = float(np.max(_size(self._witnessed, *self.limits, self.ends)))
        return self._epsabs / size if self._epsabs <= COARSEST * size else FINE

    def refuse_changes(self) -> None:
        """Raise where the integrand is another function now."""
        if self._witnessed is not None:
            self._witnessed.refuse_changes(f"{self.name}: the integrand")

    @property
    def may_jump(self) -> bool:
        known = None if self.compiled is None else self.compiled.known()
        return known is None or known.tree is None or may_jump(known.tree)

    def warn_of_moved_jumps(self, params: list[Any]) -> None:
        """Warn of a jump that parameters move, where the integration had to refine, or between its limits."""
        ends = self.ends or sorted(self.limits)
        if not self.may_jump or not np.all(np.isfinite(ends)):
            return
        plain = [value(p) for p in params]
        brackets = brackets_of_few(ends)
        if not brackets:
            middles = [0.5 * (ends[i] + ends[i + 1]) for i in range(len(ends) - 1)]
            brackets = list(itertools.pairwise(middles))
        place = moved_jump(lambda x, p: value(self.function(x, [q[()] for q in p])), brackets, plain)
        if place is not None:
            warnings.warn(
                f"{self.name}: the integrand jumps at x = {place:.6g}, which the parameters in args move: "
                f"the derivative misses that part. Split the integral there, {self.name}(f, a, c) and "
                f"{self.name}(f, c, b), with c computed from the parameters: limits are differentiated, too",
                IntegrationWarning,
                stacklevel=2,
            )


class _OfDerivative(_Integrand):
    """What a derivative makes of an integrand, entry by entry in the unit of its own size.

    The absolute tolerance of the integral says nothing of tangents and cotangents, which may be of any size.
    """

    def __init__(self, of: _Integrand, function: Callable[[Any, list[Any]], Any]) -> None:
        super().__init__(of.name, function, self._in_units, of.integrate_others)
        self._of = of

    @property
    def relative(self) -> float:
        return self._of.relative

    def _in_units(self, f: Callable[[float], Any], a: float, b: float) -> Found:
        unit = _size(f, a, b, self._of.ends)
        unit = np.where(unit > 0, unit, np.max(unit) or 1.0)
        points = self._of.ends[1:-1]
        y, ends = self.integrate_others(lambda x: f(x) / unit, a, b, points=points, epsabs=self.relative)
        return y * unit, ends


def _size(f: Callable[[float], Any], a: float, b: float, ends: Sequence[float]) -> Any:
    """About the integral of a function without its sign, which is not 0 where this cancels."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    if np.isfinite(a) and np.isfinite(b):
        cuts = np.array(ends if len(ends) > 1 else (a, b))
        cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, PARTS + 1).astype(int))]
    else:  # ±(1 - t) / t away from a limit, or from 0
        cuts = np.array([0.0, 1.0])
    middles, halves = 0.5 * (cuts[1:] + cuts[:-1])[:, None], 0.5 * np.diff(cuts)[:, None]
    ts, steps = np.ravel(middles + halves * nodes), np.ravel(np.abs(halves) * weights)
    if np.isfinite(a) and np.isfinite(b):
        return _sum_of_sizes(f, ts, steps)
    ways = [(a, 1.0)] if np.isfinite(a) else [(b, -1.0)] if np.isfinite(b) else [(0.0, 1.0), (0.0, -1.0)]
    return sum(_sum_of_sizes(f, start + sign * (1 - ts) / ts, steps / ts**2) for start, sign in ways)


def _sum_of_sizes(f: Callable[[float], Any], xs: Any, weights: Any) -> Any:
    with np.errstate(all="ignore"):
        sizes = np.abs([np.asarray(f(float(x))) for x in xs])
    return np.tensordot(weights, np.where(np.isfinite(sizes), sizes, 0.0), 1)


def _of_number(
    f: Callable[[float], Any], a: float, b: float, options: dict[str, Any], prefix: str = ""
) -> tuple[float, float, list[float]]:
    """SciPy's quad: the integral, an estimate of its error, and the ends of intervals."""
    y, error, report, *message = scipy.integrate.quad(f, a, b, full_output=1, **options)
    if message:
        warnings.warn(prefix + message[0], IntegrationWarning, stacklevel=2)
    last = report["last"]
    return y, error, _places({*report["alist"][:last], *report["blist"][:last]}, a, b)


def _places(ends: set[float], a: float, b: float) -> list[float]:
    """Ends of several intervals as places on the line; an infinite one has been mapped to (0, 1]."""
    if len(ends) < 3:
        return []
    if np.isfinite(a) and np.isfinite(b):
        return sorted(ends)
    distances = {(1 - abs(end)) / abs(end) for end in ends if end}
    if np.isfinite(a) or np.isfinite(b):
        start, sign = (a, np.sign(b)) if np.isfinite(a) else (b, np.sign(a))
        return sorted(float(start + sign * t) for t in distances)
    return sorted({*distances, *(-t for t in distances)})


def _beginning_with(points: Sequence[float], a: float, b: float, options: dict[str, Any]) -> dict[str, Any]:
    """The options of integrals that begin with intervals between these points; finite ones do."""
    if not points or not np.isfinite(a) or not np.isfinite(b):
        return options
    every = sorted({*points, *([] if options["points"] is None else np.ravel(options["points"]).tolist())})
    return {**options, "points": every, "limit": options["limit"] + 2 * len(every)}


def _of_vector(f: Callable[[float], Any], a: float, b: float, options: dict[str, Any]) -> Found:
    """Entry by entry, with the values of f kept; many entries all at once, if that comes to the tolerance,
    which it does not at singular ends and for slow tails."""
    kept: dict[float, Any] = {}

    def once(x: float) -> Any:
        if x not in kept:
            kept[x] = f(x)
        return kept[x]

    def entry(i: int) -> Callable[[float], Any]:
        return lambda x: once(x)[i]

    size = len(once(middle(a, b)))
    found = _all_at_once(once, a, b, options) if size > FEW else None
    if found is not None:
        return found
    total, ends = np.empty(size), set[float]()
    for i in range(size):
        total[i], _, places = _of_number(entry(i), a, b, options, OF_DERIVATIVE)
        ends |= {*places}
    return total, sorted(ends)


def _all_at_once(f: Callable[[float], Any], a: float, b: float, options: dict[str, Any]) -> Found | None:
    """None where that does not come to the tolerance."""
    limit = max(options["limit"], 10)
    y, error, report = scipy.integrate.quad_vec(f, a, b, full_output=True, **{**options, "limit": limit})
    tolerance = max(options["epsabs"], options["epsrel"] * float(np.linalg.norm(y)))
    if not report.success or error > tolerance:
        return None
    return y, _places({float(end) for interval in report.intervals for end in interval}, a, b)


@rule
def _integral(a: Any, b: Any, params: list[Any], integrand: _Integrand) -> Any:
    """``∫ f(x, p) dx`` from a to b; by the rule of Leibniz dI = f(b) db - f(a) da + ∫ f_p dp dx.

    At an infinite limit f vanishes.
    """
    f = integrand.function
    if depends_on_variables((a, b, params)):  # of an enclosing trace
        y = _integral(a, b, params, integrand)
    else:
        y = np.asarray(integrand.run(a, b, params))
    n = len(params)

    def at(limit: Any) -> Any:
        integrand.refuse_changes()
        if not np.isfinite(value(limit)):
            return np.zeros_like(value(y))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = f(limit, params)
        if not np.all(np.isfinite(value(found))):
            raise ValueError(
                f"{integrand.name}: the integrand is not finite at the limit x = {float(value(limit)):.6g}, "
                f"which moves: the rule of Leibniz does not hold there. Put x = a + (b - a) * u, and "
                f"integrate over u from 0 to 1: these limits stand still"
            )
        return found

    def along(params_dot: list[Any]) -> Any:
        integrand.refuse_changes()
        integrand.warn_of_moved_jumps(params)
        total = _integral(a, b, [*params, *params_dot], integrand.of_others(tangent_of(f, n)))
        return np.reshape(total, np.shape(y))

    def over(y_bar: Any) -> list[Any]:
        integrand.refuse_changes()
        integrand.warn_of_moved_jumps(params)
        sizes = [int(np.prod(np.shape(p))) for p in params]

        total = _integral(a, b, [*params, y_bar], integrand.of_others(cotangent_of(f, n)))
        ends = np.cumsum([0, *sizes])
        return [np.reshape(total[ends[i] : ends[i + 1]], np.shape(params[i])) for i in range(n)]

    return y, Differential(
        (lambda a_dot: -at(a) * a_dot, lambda b_dot: at(b) * b_dot, along),
        (lambda y_bar: -_inner(at(a), y_bar), lambda y_bar: _inner(at(b), y_bar), over),
    )


def _inner(x: Any, y: Any) -> Any:
    return np.real(np.sum(conj(x) * y))


@documented_like(scipy.integrate.quad)
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: str | None = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """Differentiable in `a`, `b` and the arrays in `args`, trees of anything, or that `func` closes over.

    The estimate of the error is constant.  Weights, complex functions and full output are for plain
    arguments.

    Raises
    ------
    TypeError
        If `func` uses Variables that it is neither given nor closes over, or for options without derivative.

    Notes
    -----
    The rule of Leibniz: f at the limits, and the integral of the derivative with respect to parameters, as
    accurately beside its own size as the integral has to be: one by one with extrapolation, of more than
    eight all in one run where that does.  With Variables, QUADPACK calls the program of f and of its
    derivatives (:func:`lindiff.program`), if they have one: a gradient costs some five to ten integrals of a
    short function.  What does not come to its tolerance gives an ``IntegrationWarning``, and so does a jump
    of f at a place that parameters move, which that rule does not see: split the integral there.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import quad
    >>> ld.grad(lambda k: quad(lambda x, k: np.exp(-k * x), 0.0, np.inf, args=(k,))[0])(2.0).round(6)
    np.float64(-0.25)
    >>> ld.grad(lambda b: quad(np.cos, 0.0, b)[0])(0.0)
    np.float64(1.0)
    """
    function, params = of_variables(func, args)
    if not params and not depends_on_variables((a, b)):
        return scipy.integrate.quad(
            func, a, b, args, full_output, epsabs, epsrel, limit, points, weight, wvar, wopts, maxp1, limlst,
            complex_func,
        )  # fmt: skip
    if weight is not None or complex_func or full_output:
        raise TypeError(
            "quad: weight, complex_func and full_output have no derivative in lindiff; write the weight into "
            "the function, and integrate real and imaginary parts"
        )
    errors: list[float] = []
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": value(points)}

    def integrate(f: Callable[[float], Any], a: float, b: float) -> Found:
        y, error, ends = _of_number(f, a, b, options)
        errors.append(error)
        return y, ends

    def of_others(
        f: Callable[[float], Any], a: float, b: float, points: Sequence[float], epsabs: float
    ) -> Found:
        return _of_vector(f, a, b, _beginning_with(points, a, b, {**options, "epsabs": epsabs}))

    y = _integral(a, b, params, _Integrand("quad", function, integrate, of_others, epsabs))
    return y, errors[0]


@documented_like(scipy.integrate.quad_vec)
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """Differentiable in `a`, `b` and the arrays in `args`, trees of anything, or that `f` closes over.

    The estimate of the error is constant.  Full output is for plain arguments.

    Raises
    ------
    TypeError
        If `f` uses Variables that it is neither given nor closes over, or for full output with Variables.

    Notes
    -----
    The rule of Leibniz, as in :func:`quad`: the derivatives by all parameters are integrated together.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import quad_vec
    >>> def moments(rate):
    ...     return quad_vec(lambda x: x ** np.arange(3) * np.exp(-rate * x), 0.0, np.inf)[0]
    >>> print(ld.jacobian(moments)(1.0).round(6))
    [-1. -2. -6.]
    """
    options = {"epsabs": epsabs, "epsrel": epsrel, "norm": norm, "cache_size": cache_size, "limit": limit}
    options |= {"workers": workers, "points": value(points), "quadrature": quadrature}
    function, params = of_variables(f, args)
    if not params and not depends_on_variables((a, b)):
        return scipy.integrate.quad_vec(f, a, b, full_output=full_output, args=args, **options)
    if full_output:
        raise TypeError("quad_vec: full_output has no derivative in lindiff; leave it out")
    errors: list[float] = []

    def integrate(g: Callable[[float], Any], a: float, b: float) -> Found:
        y, error, report = scipy.integrate.quad_vec(g, a, b, full_output=True, **options)
        errors.append(error)
        return y, _places({float(end) for interval in report.intervals for end in interval}, a, b)

    def of_others(
        g: Callable[[float], Any], a: float, b: float, points: Sequence[float], epsabs: float
    ) -> Found:
        given = _beginning_with(points, a, b, {**options, "epsabs": epsabs})
        y, error, report = scipy.integrate.quad_vec(g, a, b, full_output=True, **given)
        if not report.success:
            warnings.warn(
                f"quad_vec: the integral of a derivative of the integrand has not come to its tolerance: the "
                f"estimate of its error is {error:.2g}",
                IntegrationWarning,
                stacklevel=2,
            )
        return y, []

    y = _integral(a, b, params, _Integrand("quad_vec", function, integrate, of_others, epsabs))
    return y, errors[0]


@documented_like(scipy.integrate.fixed_quad)
def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...] = (), n: int = 5) -> Any:
    """Differentiable in `a`, `b` and whatever `func` computes with, given by `args` or not.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import fixed_quad
    >>> ld.grad(lambda b: fixed_quad(np.cos, 0.0, b)[0])(0.5).round(6)
    np.float64(0.877583)
    """
    if np.isinf(value(a)) or np.isinf(value(b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = np.polynomial.legendre.leggauss(n)
    x = (b - a) * (nodes + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(x, *args), axis=-1), None
