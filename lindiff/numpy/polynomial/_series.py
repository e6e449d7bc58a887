"""Series whose coefficients may be Variables: NumPy's classes with functions that have derivatives."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np
from numpy.polynomial import polyutils

from lindiff.core.registry import has_handler
from lindiff.core.variable import Variable, value
from lindiff.numpy._function import Function
from lindiff.rules._common import as_array

__all__ = ["take_over"]

_BASE: Any = np.polynomial.Polynomial.__mro__[1]  # NumPy's base class of all series
_FUNCTIONS = ["add", "sub", "mul", "div", "pow", "val", "int", "der", "fit", "line", "roots", "fromroots"]


def _never() -> bool:
    return False


class SeriesOfVariables:
    """What NumPy's classes do with coefficients, points, roots and data, where Variables are among them.

    Domain and window are plain: representations of the function, not arguments of it.
    """

    def __init__(self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> None:
        coef = as_array(coef)
        super().__init__(value(coef), domain, window, symbol)  # type: ignore[call-arg]
        if isinstance(coef, Variable):
            self.coef: Any = np.copy(coef)

    def _with(self: Any, coef: Any) -> Any:
        return type(self)(coef, self.domain, self.window, self.symbol)

    def __call__(self: Any, arg: Any) -> Any:
        if isinstance(arg, _BASE):  # a series of a series
            if not isinstance(self.coef, Variable):
                return super().__call__(arg)  # type: ignore[misc]
            if not isinstance(arg, SeriesOfVariables):
                kind: Any = type(arg)
                arg = _of_variables(kind)(arg.coef, arg.domain, arg.window, arg.symbol)
            terms = [
                c * self.basis(i, self.domain, self.window, self.symbol)(arg) for i, c in enumerate(self.coef)
            ]
            return sum(terms[1:], terms[0])
        offset, scale = self.mapparms()
        return self._val(offset + scale * as_array(arg), self.coef)

    def __truediv__(self: Any, other: Any) -> Any:
        if isinstance(other, Variable) and other.ndim == 0:
            return self._with(self.coef / other)
        return super().__truediv__(other)  # type: ignore[misc]

    def roots(self: Any) -> Any:
        """The roots, in the domain."""
        offset, scale = polyutils.mapparms(self.window, self.domain)
        return offset + scale * self._roots(self.coef)

    def trim(self: Any, tol: float = 0) -> Any:
        """Without coefficients up to ``tol`` at the end."""
        return self._with(self.coef[: len(polyutils.trimcoef(value(self.coef), tol))])

    @classmethod
    def fit(
        cls: Any,
        x: Any,
        y: Any,
        deg: Any,
        domain: Any = None,
        rcond: Any = None,
        full: bool = False,
        w: Any = None,
        window: Any = None,
        symbol: str = "x",
    ) -> Any:
        """Least squares, as ``numpy.polynomial.Polynomial.fit`` describes it."""
        if domain is None:
            domain = polyutils.getdomain(value(x))
            if domain[0] == domain[1]:
                domain = domain + np.array([-1, 1])
        elif isinstance(domain, list) and len(domain) == 0:
            domain = cls.domain
        window = cls.window if window is None else window
        offset, scale = polyutils.mapparms(domain, window)
        found = cls._fit(offset + scale * as_array(x), y, deg, w=w, rcond=rcond, full=full)
        if full:
            return cls(found[0], domain, window, symbol), found[1]
        return cls(found, domain, window, symbol)

    @classmethod
    def fromroots(cls: Any, roots: Any, domain: Any = (), window: Any = None, symbol: str = "x") -> Any:
        """The series with these roots, and with 1 as the factor of the highest power."""
        roots = np.atleast_1d(as_array(roots))
        if domain is None:
            domain = polyutils.getdomain(value(roots))
        elif len(domain) == 0:
            domain = cls.domain
        window = cls.window if window is None else window
        offset, scale = polyutils.mapparms(domain, window)
        return cls(cls._fromroots(offset + scale * roots) / scale ** len(roots), domain, window, symbol)

    def _plainly(self: Any) -> Any:
        """NumPy's own object of the values."""
        return type(self).__mro__[2](value(self.coef), self.domain, self.window, self.symbol)

    def __repr__(self) -> str:
        return repr(self._plainly())

    def __str__(self) -> str:
        return str(self._plainly())

    def __format__(self, spec: str) -> str:
        return format(self._plainly(), spec)

    def _repr_latex_(self) -> str:
        return self._plainly()._repr_latex_()


@functools.cache
def _of_variables(cls: Any) -> Any:
    """NumPy's class of series with coefficients that may be Variables."""
    functions = {
        f"_{name}": staticmethod(Function(getattr(cls, f"_{name}"), "arrays", _never)) for name in _FUNCTIONS
    }
    names = {"__module__": f"lindiff.{cls.__module__}", "__doc__": cls.__doc__, **functions}
    return type(cls.__name__, (SeriesOfVariables, cls), names)


def take_over(module: ModuleType, name: str, names: dict[str, Any]) -> Any:
    """What NumPy's ``module`` has under ``name``, for Variables, and kept in ``names``."""
    found = getattr(module, name)
    if isinstance(found, type) and issubclass(found, _BASE) and found is not _BASE:
        found = _of_variables(found)
    elif callable(found) and has_handler(found):
        found = Function(found, "arrays")
    names[name] = found
    return found
