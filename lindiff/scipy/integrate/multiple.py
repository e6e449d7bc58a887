"""Integrals over several numbers: ``nquad``, ``dblquad`` and ``tplquad``.

By the rule of Leibniz, which is simple where limits stand still: dI = ∫ f_p dp dx.  A number between limits
that move is ``x = a + (b - a) u``, or ``x = a + u`` where b is infinite, and the integral is over u.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import IntegrationWarning

from lindiff._docstrings import documented_like
from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.record import is_recording
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, kept_constant, value
from lindiff.programs.closures import Opened, closed_over
from lindiff.rules._common import depends_on_variables
from lindiff.scipy.integrate._jumps import may_jump
from lindiff.scipy.integrate._leibniz import cotangent_of, evaluator_of, in_unit, middle, tangent_of
from lindiff.scipy.integrate._witnesses import Witnessed

__all__ = ["dblquad", "nquad", "tplquad"]

# The limits of what is integrated over in the place of a number between limits that move.
STILL = {"between": (0.0, 1.0), "above": (0.0, np.inf), "below": (0.0, np.inf)}


@documented_like(scipy.integrate.nquad)
def nquad(
    func: Callable[..., Any],
    ranges: Any,
    args: Any = None,
    opts: Any = None,
    full_output: bool = False,
) -> Any:
    """Differentiable in the limits, in `args`, trees of anything, and in what the functions close over.

    The estimate of the error is constant.  `full_output` is for plain arguments.

    Raises
    ------
    TypeError
        For `full_output` with Variables, and for ``points`` between limits that move.

    Notes
    -----
    The value is SciPy's.  A derivative is one integral more for each number that it is by, in forward mode
    one in all, of the program of the integrand's derivative (:func:`lindiff.program`), if it has one.  A jump
    of the integrand at places that parameters move is not seen; where there may be one, an
    ``IntegrationWarning`` says so: make it a limit.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import nquad
    >>> def volume(r):  # of half a ball
    ...     def edge(x):
    ...         return [-np.sqrt(r**2 - x**2), np.sqrt(r**2 - x**2)]
    ...     return nquad(lambda y, x: np.sqrt(np.abs(r**2 - x**2 - y**2)), [edge, [-r, r]])[0]
    >>> ld.grad(volume)(1.0).round(4), (2 * np.pi).__round__(4)
    (np.float64(6.2832), 6.2832)
    """
    given = args if isinstance(args, tuple) else () if args is None else (args,)
    options = list(opts) if isinstance(opts, (list, tuple)) else [opts] * len(ranges)
    opened = [Opened(f) for f in (func, *filter(callable, ranges))] if is_recording() else []
    contents = [x.contents for x in opened]
    constant = [limits for limits in ranges if not callable(limits)]
    if not depends_on_variables((given, contents, constant)):
        return scipy.integrate.nquad(func, ranges, args, opts, full_output)
    if full_output:
        raise TypeError("nquad: full_output has no derivative in lindiff; leave it out")
    problem = Problem(opened, ranges, given)
    return problem.integral(options)


class Problem:
    """An integral of a function that depends on Variables, as one of these and of numbers.

    Parameters
    ----------
    opened : list of Opened
        The integrand, and the limits that are functions.
    ranges : sequence
        Limits, or functions.
    args : tuple
    """

    def __init__(self, opened: list[Opened], ranges: Any, args: tuple[Any, ...]) -> None:
        functions = iter(x.closing_over for x in opened)
        self._of_numbers = next(functions)
        self._of_limits = [next(functions) if callable(limits) else None for limits in ranges]
        constant = [None if callable(limits) else tuple(limits) for limits in ranges]
        leaves, restore = pytree.flatten(([x.contents for x in opened], constant, args))
        restore = pytree.without_variables(leaves, restore)
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
        self.params = [leaves[i] for i in places]
        self._filled = _filling(
            [None if isinstance(leaf, Variable) else kept_constant(leaf) for leaf in leaves], places, restore
        )
        self._limits = _limits_by(self._of_limits)
        self._kinds = self._kinds_of_numbers()

    def _kinds_of_numbers(self) -> list[str]:
        """How each number is made of the one that is integrated over, seen in the middle of all limits."""
        filled, kinds = self._filled(self.params), []
        outer: tuple[float, ...] = ()
        moves = depends_on_variables((filled[0][1:], filled[1:]))
        for k in reversed(range(len(self._of_limits))):
            low, high = self._limits(k, outer, filled)
            a, b = float(value(low)), float(value(high))
            is_moved = depends_on_variables((low, high)) or (moves and self._of_limits[k] is not None)
            if not is_moved or np.isinf([a, b]).all():
                kinds.append("itself")
            elif np.isfinite([a, b]).all():
                kinds.append("between")
            else:
                kinds.append("above" if np.isfinite(a) else "below")
            outer = (middle(a, b), *outer)
        return kinds[::-1]

    def integral(self, options: list[Any]) -> Any:
        """And the estimate of its error, as SciPy has them."""
        plain = self._filled([value(p) for p in self.params])
        kinds, of_numbers = self._kinds, self._of_numbers

        def limits_of(k: int) -> Any:
            return plain[1][k] if self._of_limits[k] is None else lambda *outer: self._limits(k, outer, plain)

        def of_plain(*numbers: Any) -> Any:
            return closed_over(of_numbers, plain[0][0], (*numbers, *plain[2]))

        own = [_without_arguments(option, plain[2]) for option in options]
        for kind, option in zip(kinds, own, strict=True):
            if kind != "itself" and not callable(option) and option.get("points") is not None:
                raise TypeError(
                    "nquad: points between limits that move have no derivative in lindiff; split the "
                    "integral there"
                )
        witnessed = Witnessed(of_plain)
        found = scipy.integrate.nquad(witnessed, [limits_of(k) for k in range(len(kinds))], opts=own)
        ranges = [limits_of(k) if kind == "itself" else STILL[kind] for k, kind in enumerate(kinds)]
        function = _of_still_limits(of_numbers, self._limits, kinds, self._filled)
        return _integral(self.params, _Integrand(function, ranges, own, found[0], witnessed)), found[1]


def _filling(
    leaves: list[Any], places: list[int], restore: Callable[[list[Any]], Any]
) -> Callable[[list[Any]], Any]:
    """From parameters to what functions close over, limits, and arguments."""

    def filled(params: list[Any]) -> Any:
        all_leaves = [*leaves]
        for i, p in zip(places, params, strict=True):
            all_leaves[i] = p
        return restore(all_leaves)

    return filled


def _limits_by(of_limits: list[Any]) -> Callable[..., Any]:
    """The limits of a number, given those that come after it, and what parameters fill."""

    def limits(k: int, outer: tuple[Any, ...], filled: Any) -> Any:
        contents, constant, args = filled
        if of_limits[k] is None:
            return constant[k]
        which = 1 + sum(x is not None for x in of_limits[:k])
        return closed_over(of_limits[k], contents[which], (*outer, *args))

    return limits


def _of_still_limits(
    of_numbers: Callable[[Any], Any],
    limits: Callable[..., Any],
    kinds: list[str],
    filling: Callable[[list[Any]], Any],
) -> Callable[..., Any]:
    """The integrand, of the numbers that are integrated over between limits that stand still."""

    def integrand(*given: Any) -> Any:
        *numbers, params = given
        filled = filling(params)
        outer: tuple[Any, ...] = ()
        weight = 1.0
        for k in reversed(range(len(numbers))):
            x = numbers[k]
            if kinds[k] != "itself":
                low, high = limits(k, outer, filled)
                if kinds[k] == "between":
                    x, weight = low + (high - low) * x, weight * (high - low)
                else:
                    x = low + x if kinds[k] == "above" else high - x
            outer = (x, *outer)
        contents, _, args = filled
        return weight * closed_over(of_numbers, contents[0], (*outer, *args))

    return integrand


def _without_arguments(option: Any, args: tuple[Any, ...]) -> Any:
    """Options that are a function of numbers and arguments, as one of numbers."""
    return (lambda *outer: option(*outer, *args)) if callable(option) else option or {}


class _Integrand:
    """``f(*numbers, params)``, a number or a vector, and how it is integrated.

    Parameters
    ----------
    function : callable
    ranges, options : list
        Of plain numbers, as SciPy takes them.
    known : number, optional
        The integral, where SciPy has found it.
    witnessed : Witnessed, optional
        What SciPy was given then.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        ranges: list[Any],
        options: list[Any],
        known: Any = None,
        witnessed: Witnessed | None = None,
    ) -> None:
        self.function, self.ranges, self.options = function, ranges, options
        self.known, self._witnessed = known, witnessed

    @property
    def somewhere(self) -> tuple[float, ...]:
        """Numbers at which a program is recorded."""
        return (0.5,) * len(self.ranges)

    def of(self, function: Callable[..., Any]) -> _Integrand:
        """Another one over the same numbers."""
        return _Integrand(function, self.ranges, self.options)

    def run(self, params: list[Any]) -> Any:
        """The integral for plain parameters: entry by entry, with the values of f kept."""
        if self.known is not None:
            return self.known
        numbers = [p[()] for p in params]
        compiled = evaluator_of(self.function, self.somewhere, numbers)
        at = compiled.at if compiled is not None else lambda *x: np.asarray(self.function(*x, numbers))
        kept: dict[tuple[float, ...], Any] = {}

        def once(*x: float) -> Any:
            if x not in kept:
                kept[x] = at(*x)
            return kept[x]

        def entry(i: int) -> Any:
            found = scipy.integrate.nquad(lambda *x: once(*x)[i], self.ranges, opts=self.options)
            return found[0]

        first = entry(0)
        return np.array([first, *(entry(i) for i in range(1, len(next(iter(kept.values())))))])

    def refuse_changes(self) -> None:
        """Raise where the integrand is another function now."""
        if self._witnessed is not None:
            self._witnessed.refuse_changes("nquad: the integrand")

    def warn_of_jumps(self, params: list[Any]) -> None:
        """Warn where the integrand may jump at a place that parameters move."""
        compiled = evaluator_of(self.function, self.somewhere, [value(p)[()] for p in params])
        known = None if compiled is None else compiled.known()
        if known is None or known.tree is None or may_jump(known.tree):
            warnings.warn(
                "nquad: the integrand may jump: where parameters move the place of a jump, the derivative "
                "misses that part. Make the jump a limit: limits are differentiated, too",
                IntegrationWarning,
                stacklevel=2,
            )


@rule
def _integral(params: list[Any], integrand: _Integrand) -> Any:
    """``∫ f(x, p) dx`` between limits that stand still: dI = ∫ f_p dp dx."""
    f, n = integrand.function, len(params)
    is_enclosed = depends_on_variables(params)  # of another trace
    y = _integral(params, integrand) if is_enclosed else np.asarray(integrand.run(params))

    def along(params_dot: list[Any]) -> Any:
        integrand.refuse_changes()
        integrand.warn_of_jumps(params)
        dots = [np.zeros_like(value(p)) if d is None else d for p, d in zip(params, params_dot, strict=True)]
        total = in_unit(lambda dots: _integral([*params, *dots], integrand.of(tangent_of(f, n))), dots)
        return np.reshape(total, np.shape(y))

    def over(y_bar: Any) -> list[Any]:
        integrand.refuse_changes()
        integrand.warn_of_jumps(params)
        sizes = [int(np.prod(np.shape(p))) for p in params]

        total = in_unit(lambda bars: _integral([*params, *bars], integrand.of(cotangent_of(f, n))), [y_bar])
        ends = np.cumsum([0, *sizes])
        return [np.reshape(total[ends[i] : ends[i + 1]], np.shape(params[i])) for i in range(n)]

    return y, Differential((along,), (over,))


@documented_like(scipy.integrate.dblquad)
def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: tuple[Any, ...] = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Differentiable in limits, `args`, and what `func`, `gfun` and `hfun` close over, as :func:`nquad`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import dblquad
    >>> ld.grad(lambda b: dblquad(lambda y, x: x * y, 0.0, b, 0.0, lambda x: x)[0])(2.0).round(6)
    np.float64(4.0)
    """
    limits = [_limits(gfun, hfun), [a, b]]
    return nquad(func, limits, args, {"epsabs": epsabs, "epsrel": epsrel})


@documented_like(scipy.integrate.tplquad)
def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: tuple[Any, ...] = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Differentiable in limits, `args`, and what the functions close over, as :func:`nquad`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import tplquad
    >>> ld.grad(lambda k: tplquad(lambda z, y, x: k * x * y * z, 0, 1, 0, 1, 0, 2)[0])(1.0).round(6)
    np.float64(0.5)
    """
    limits = [_limits(qfun, rfun, 2), _limits(gfun, hfun), [a, b]]
    return nquad(func, limits, args, {"epsabs": epsabs, "epsrel": epsrel})


def _limits(low: Any, high: Any, outer: int = 1) -> Any:
    """Limits that are numbers, or functions of the outer numbers, the outermost first."""
    if not callable(low) and not callable(high):
        return [low, high]

    def limits(*numbers: Any) -> list[Any]:
        return [x(*numbers[outer - 1 :: -1]) if callable(x) else x for x in (low, high)]

    return limits
