"""Roots of functions of one number: SciPy searches, the implicit function theorem differentiates."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from lindiff._docstrings import documented_like
from lindiff.core.variable import value
from lindiff.programs import Program
from lindiff.scipy.optimize._flat import as_arguments, unpacked_arguments
from lindiff.scipy.optimize._solved import root_of

__all__ = ["bisect", "brenth", "brentq", "newton", "ridder", "root_scalar", "toms748"]

_DOC = """Differentiable in `args`, any nesting of arrays, and whatever `f` picks up from around it.

The derivative of the root with respect to `a` and `b` is 0.

Parameters
----------
program : bool
    Run `f` without Python from the third time on, as :func:`lindiff.program` does: its prints and counters
    are those of the first times.  It is given NumPy's numbers, not Python's.

Raises
------
numpy.linalg.LinAlgError
    From the derivative at a multiple root, which is no smooth function of the parameters.
RuntimeError
    If what is found depends on Variables, and is no root: a sign that changes in a jump.

Notes
-----
From f(x, p) = 0: dx = -f_p dp / f_x, of any order; as exact as the root is, so keep `xtol` small.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy.optimize import {name}
>>> ld.grad(lambda c: {name}(lambda x: x**2 - c, 0.0, 3.0))(4.0).round(6)
np.float64(0.25)
"""


def _plainly(function: Any, program: bool) -> Any:
    """A function of the user's, for SciPy, which takes no Variables: those that it closes over are values."""
    if not callable(function):
        return function
    if not program:
        return lambda *args: value(function(*args))
    repeated = Program(function)
    # of a number of Python's each would have a program of its own
    return lambda x, *args: value(repeated(np.asarray(x)[()], *args))


def _search_of(method: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's search in an interval, with derivatives of what it finds."""
    signature = inspect.signature(method)
    program = inspect.Parameter("program", inspect.Parameter.KEYWORD_ONLY, default=False)
    signature = signature.replace(parameters=[*signature.parameters.values(), program])

    def search(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options).arguments
        f, a, b = (given.pop(name) for name in ("f", "a", "b"))
        parameters, is_full = as_arguments(given.pop("args", ())), given.pop("full_output", False)
        plain, starts = _plainly(f, given.pop("program", False)), value((a, b))

        def number(*args: Any) -> Any:
            y = plain(*args)
            if np.ndim(y):  # SciPy's searches go on with the error, and fail elsewhere
                raise TypeError(f"{method.__name__}: f returns an array of shape {np.shape(y)}, not a number")
            return y

        def find(parameters: tuple[Any, ...]) -> Any:
            asked = number if callable(plain) else plain
            return method(asked, *starts, parameters, full_output=True, **given)

        x, report = root_of(method.__name__, find, f, parameters, starts, given.get("xtol"))
        report.root = x
        return (x, report) if is_full else x

    search.__name__ = search.__qualname__ = method.__name__
    search.__signature__ = signature  # type: ignore[attr-defined]
    search.__doc__ = _DOC.format(name=method.__name__)
    return documented_like(method)(search)


bisect = _search_of(scipy.optimize.bisect)
brenth = _search_of(scipy.optimize.brenth)
brentq = _search_of(scipy.optimize.brentq)
ridder = _search_of(scipy.optimize.ridder)
toms748 = _search_of(scipy.optimize.toms748)


@documented_like(scipy.optimize.newton)
def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Callable[..., Any] | None = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Callable[..., Any] | None = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
    *,
    program: bool = False,
) -> Any:
    """Differentiable in `args`, any nesting of arrays, and whatever `func` picks up from around it.

    The derivative of the root with respect to `x0` and `x1` is 0.

    Parameters
    ----------
    program : bool
        Run `func`, `fprime` and `fprime2` without Python from the third time on, as :func:`lindiff.program`
        does: their prints and counters are those of the first times.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative at a multiple root, which is no smooth function of the parameters.
    RuntimeError
        If what is found depends on Variables, and is no root: an end of the search, or a jump.

    Notes
    -----
    From f(x, p) = 0: dx = -f_p dp / f_x, of any order, whatever method has found x; as exact as the root is.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.optimize import newton
    >>> ld.grad(lambda c: newton(lambda x: x**3 - c, 1.5))(8.0).round(6)
    np.float64(0.083333)
    """
    f, df, ddf = (_plainly(function, program) for function in (func, fprime, fprime2))

    def search(args: tuple[Any, ...]) -> Any:
        found = scipy.optimize.newton(
            f, value(x0), df, args, tol, maxiter, ddf, value(x1), rtol, True, disp
        )  # fmt: skip
        return found[0], found

    one_by_one = np.size(x0) > 1
    solve = "diagonal" if one_by_one else None
    starts = value((x0, x1))
    x, found = root_of("newton", search, func, unpacked_arguments(args), starts, tol, solve)
    if not full_output:
        return x
    if one_by_one:
        return found._replace(root=x)
    found[1].root = x
    return x, found[1]


@documented_like(scipy.optimize.root_scalar)
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
    *,
    program: bool = False,
) -> Any:
    """Differentiable in `args`, any nesting of arrays, and whatever `f` picks up from around it.

    The derivative of the root with respect to `bracket`, `x0` and `x1` is 0.

    Parameters
    ----------
    program : bool
        Run `f`, `fprime` and `fprime2` without Python from the third time on, as :func:`lindiff.program`
        does: their prints and counters are those of the first times.  They are given NumPy's numbers, not
        Python's.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative at a multiple root, which is no smooth function of the parameters.
    RuntimeError
        If what is found depends on Variables, and is no root: an end of the search, or a jump.

    Notes
    -----
    From f(x, p) = 0: dx = -f_p dp / f_x, of any order; as exact as the root is, so keep `xtol` small.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.optimize import root_scalar
    >>> ld.grad(lambda c: root_scalar(lambda x: x**2 - c, bracket=[0.0, 3.0]).root)(4.0).round(6)
    np.float64(0.25)
    """
    with_derivatives = any(part is not None and not callable(part) and part for part in (fprime, fprime2))
    plain, df, ddf = (_plainly(function, program) for function in (f, fprime, fprime2))

    def search(args: tuple[Any, ...]) -> Any:
        report = scipy.optimize.root_scalar(
            plain, args, method, value(bracket), df, ddf, value(x0), value(x1), xtol, rtol, maxiter, options
        )
        return report.root, report

    def equation(x: Any, *args: Any) -> Any:
        return f(x, *args)[0] if with_derivatives else f(x, *args)

    starts = (x0, x1) if bracket is None else bracket
    x, report = root_of("root_scalar", search, equation, as_arguments(args), value(tuple(starts)), xtol)
    report.root = x
    return report
