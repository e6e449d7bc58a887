"""``least_squares``, ``root`` and ``fixed_point``: SciPy searches, by exact Jacobians.

What is found has derivatives, of the equations that hold there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from lindiff._docstrings import documented_like
from lindiff.core import pytree
from lindiff.core.arrays import on_host
from lindiff.core.results import returned
from lindiff.core.variable import Variable, value
from lindiff.scipy.optimize._bounds import bounds_of_tree
from lindiff.scipy.optimize._flat import (
    Flat,
    as_arguments,
    flat_callable,
    flat_callback,
    flat_jacobian,
    linear_operator,
    matrix_by_columns,
    refuse_variables,
    unknowns,
    unpacked_arguments,
    vector_of,
)
from lindiff.scipy.optimize._losses import cost_of, scaled_for_loss
from lindiff.scipy.optimize._running import Running, explained, running
from lindiff.scipy.optimize._solved import Stationary, end_of_search, solved
from lindiff.transforms.compression import Compression
from lindiff.transforms.jacobian import jacobian
from lindiff.transforms.reverse import grad

__all__ = ["fixed_point", "least_squares", "root"]

WITH_JACOBIAN = {"hybr", "lm"}
NO_BOUNDS = (-np.inf, np.inf)


@documented_like(scipy.optimize.least_squares)
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    bounds: Any = NO_BOUNDS,
    method: str = "trf",
    *,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    program: bool = False,
    **options: Any,
) -> Any:
    """It minimizes over any tree of arrays, by the exact Jacobian; what it finds has derivatives.

    Differentiable in `args`, `kwargs`, and whatever `fun` picks up from around it; in `x0` the derivative is
    0.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args, **kwargs)`` returns the residuals, any tree of real arrays; x has the form of `x0`.
    x0 : tree of arrays
        One array of any shape, where a number or a list of numbers is an array with one axis, as in SciPy; or
        any nesting with arrays in it.  Complex arrays count as real and imaginary parts.
    jac : callable or str, optional
        Instead of the exact Jacobian, as SciPy takes it: a callable that returns the matrix for flat vectors,
        or the name of a finite difference.
    bounds : pair or scipy.optimize.Bounds
        Of one array: lower and upper, which broadcast to it.  Of a tree: also as
        :func:`lindiff.scipy.optimize.minimize` takes them.
    program : bool
        Run `fun` and its Jacobian, or the `jac` that is given, without Python from the third time on, as
        :func:`lindiff.program` does: their prints and counters are those of the first times.  What that
        gained is ``res.explain()``.
    **options
        SciPy's others.  With ``tr_solver="lsmr"`` the Jacobian is never formed: it is a linear operator that
        walks the record of one run.  With ``jac_sparsity`` it is a sparse matrix, from one walk for each
        group of columns that share no row.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        With ``x`` in the form of `x0`; what else it has is of flat vectors.  ``x``, ``fun``, ``cost``,
        ``grad`` and ``jac``, where that is an array, have derivatives, the rest is constant.

    Raises
    ------
    TypeError
        If what `fun` calls has no derivative, or there are Variables in `bounds`.
    RuntimeError
        If what is found depends on Variables, and the search has failed, or ends where the gradient of the
        cost is not zero, as at a kink.
    numpy.linalg.LinAlgError
        From the derivative, if the residuals do not determine x.

    Notes
    -----
    The Jacobian is pushed or pulled, whichever are fewer, columns or rows.  At the solution the gradient of
    the cost F is zero: ``dx = -F_xx⁻¹ F_xp dp``, with the whole second derivative, of any order; as exact as
    the solution is, so where it matters give a small ``xtol`` and ``ftol``.  A number that is held by a bound
    does not move.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.optimize import least_squares
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> y = 2.0 * np.exp(-3.0 * t)
    >>> found = least_squares(lambda p: p["scale"] * np.exp(-p["rate"] * t) - y, {"scale": 1.0, "rate": 1.0})
    >>> print(found.x["scale"].round(6), found.x["rate"].round(6))
    2.0 3.0
    """
    refuse_variables("least_squares", bounds)
    x0 = unknowns(value(x0))
    form, run = Flat(x0), running(program)

    def residuals(x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return vector_of(fun(x, *args, **kwargs))

    def objective(x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return cost_of(residuals(x, args, kwargs), options.get("loss", "linear"), options.get("f_scale", 1.0))

    limits = _lower_and_upper(bounds, x0, form)
    stationary = Stationary(objective, form, limits)
    if "callback" in options:
        options["callback"] = flat_callback(options["callback"], form)

    def functions(given: tuple[Any, ...], run: Running) -> dict[str, Any]:
        """SciPy's arguments of these names, of flat vectors."""
        args, kwargs = given
        of_tree = run(lambda x, *args, **kwargs: residuals(x, args, kwargs))
        return {
            "fun": lambda x: on_host(value(of_tree(form.tree_of(x), *args, **kwargs))),
            "jac": _jacobian_for(of_tree, jac, method, args, kwargs, form, run, options),
        }

    def search(given: tuple[Any, ...]) -> Any:
        found = scipy.optimize.least_squares(
            x0=form.flat(x0),
            **functions(given, run),
            bounds=limits,
            method=method,
            **options,
        )
        stationary.look_for_bounds(found.x, given)
        return explained(found, lambda run: _calls(**functions(given, run)), run)

    given = unpacked_arguments(args), kwargs or {}
    found, cost = end_of_search("least_squares", search, stationary.equations, given, form, objective)
    if cost is not None:
        x = pytree.tree_map(np.positive, found.x)  # the user's function may write into it
        found.fun, found.cost = residuals(x, *given), cost
        found.grad = vector_of(form.parted(grad(objective)(x, *given)))
        if isinstance(found.jac, np.ndarray) and not form.is_complex:
            of_loss = options.get("loss", "linear"), options.get("f_scale", 1.0)
            J = matrix_by_columns(jacobian(residuals)(x, *given))
            found.jac = scaled_for_loss(J, found.fun, *of_loss)
    return found


def _calls(fun: Any, jac: Any) -> dict[str, Callable[[Any], Any]]:
    """What a search calls, by names, as functions of the flat vector."""
    named = {"the equations and the Jacobian" if jac is True else "the equations": fun, "the Jacobian": jac}
    return {name: call for name, call in named.items() if callable(call)}


def _jacobian_for(
    of_tree: Callable[..., Any],
    jac: Any,
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    form: Flat,
    run: Running,
    options: dict[str, Any],
) -> Any:
    """SciPy's ``jac``: the one that is given, or ours as an operator, a sparse or a dense matrix."""

    def derivative(x: Any) -> Any:
        return linear_operator(lambda x: of_tree(x, *args, **kwargs), form.tree_of(x), form)[1]

    if jac is not None:
        return flat_callable(partial(jac, **kwargs) if callable(jac) else jac, args, form, run)
    if options.get("tr_solver") == "lsmr":
        return derivative
    if options.get("jac_sparsity") is not None and method != "lm":
        pattern = scipy.sparse.csr_array(options["jac_sparsity"])
        told = Compression.of(pattern, looks=False, mode="fwd", dtype=np.dtype(np.float64))
        return lambda x: told.matrix_of(derivative(x).matmat(told.directions.T).T)
    return flat_jacobian(of_tree, form, args, kwargs)


def _lower_and_upper(bounds: Any, x0: Any, form: Flat) -> Any:
    """Bounds as SciPy's ``least_squares`` takes them: two flat vectors."""
    if bounds is NO_BOUNDS:  # they fit complex numbers, too
        return bounds
    if pytree.is_tree(x0) or form.is_complex:
        bounds = bounds_of_tree(bounds, x0)
        return bounds.lb, bounds.ub
    if isinstance(bounds, scipy.optimize.Bounds):
        bounds = (bounds.lb, bounds.ub)
    if len(bounds) != 2:
        raise ValueError("least_squares: the bounds of an array are a pair, lower and upper")
    return tuple(np.ravel(np.broadcast_to(np.asarray(b, np.float64), form.shapes[0])) for b in bounds)


@documented_like(scipy.optimize.root)
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    program: bool = False,
) -> Any:
    """It solves for any tree of arrays, by the exact Jacobian; what it finds has derivatives.

    Differentiable in `args`, any nesting of arrays, and whatever `fun` picks up from around it; in `x0` the
    derivative is 0.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns as many real numbers as `x0` has, in any tree; x has the form of `x0`.
    x0 : tree of arrays
        One array of any shape, where a number or a list of numbers is an array with one axis, as in SciPy; or
        any nesting with arrays in it.  Complex arrays count as real and imaginary parts, and so do complex
        equations for them.
    method : str
        One of SciPy's.  'hybr' and 'lm' get the exact Jacobian; the others use none.
    jac : callable or bool, optional
        Instead of the exact Jacobian: a callable that returns the matrix for flat vectors; ``True`` if `fun`
        returns the equations and that matrix; ``False`` for finite differences.
    tol, callback, options : optional
        As SciPy takes them; `callback` gets x and the residuals, flat.
    program : bool
        Run `fun` and its Jacobian, or the `jac` that is given, without Python from the third time on, as
        :func:`lindiff.program` does: their prints and counters are those of the first times.  What that
        gained is ``res.explain()``.

    Returns
    -------
    sol : scipy.optimize.OptimizeResult
        With ``x`` in the form of `x0`; what else it has is of flat vectors, and constant.

    Raises
    ------
    TypeError
        If what `fun` calls has no derivative.
    RuntimeError
        If what is found depends on Variables, and the search has failed.
    numpy.linalg.LinAlgError
        From the derivative, where the Jacobian is singular: a double root.

    Notes
    -----
    From f(x, p) = 0: ``dx = -f_x⁻¹ f_p dp``, of any order; as exact as the root is, so keep `tol` small.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.optimize import root
    >>> found = root(lambda x: np.cos(x) - x, np.array([0.5, 1.0]))
    >>> print(found.x.round(6))
    [0.739085 0.739085]
    >>> import lindiff as ld
    >>> ld.jacobian(lambda c: root(lambda x: x**2 - c, np.ones(2)).x)(np.array([4.0, 9.0])).round(6) + 0.0
    array([[0.25    , 0.      ],
           [0.      , 0.166667]])
    """
    x0 = unknowns(value(x0))
    form, run = Flat(x0), running(program)

    def equations(x: Any, *args: Any) -> Any:
        y = vector_of(fun(x, *args)[0] if jac is True else fun(x, *args))
        if form.is_complex and y.dtype.kind == "c":
            return np.concatenate([y.real, y.imag])
        return y

    def with_matrix(x: Any, *args: Any) -> Any:
        y, matrix = fun(x, *args)
        return vector_of(y), matrix

    def functions(args: tuple[Any, ...], run: Running) -> dict[str, Any]:
        """SciPy's arguments of these names, of flat vectors."""
        of_tree = run(with_matrix if jac is True else equations)
        if jac is None and method.lower() in WITH_JACOBIAN:
            flat_jac = flat_jacobian(of_tree, form, args, {})
        else:
            flat_jac = flat_callable(jac, args, form, run)
        return {
            "fun": lambda x: pytree.tree_map(on_host, value(of_tree(form.tree_of(x), *args))),
            "jac": flat_jac,
        }

    def search(args: tuple[Any, ...]) -> Any:
        found = scipy.optimize.root(
            x0=form.flat(x0),
            **functions(args, run),
            method=method,
            tol=tol,
            callback=callback,
            options=options,
        )
        return explained(found, lambda run: _calls(**functions(args, run)), run)

    return end_of_search("root", search, equations, as_arguments(args), form)[0]


@documented_like(scipy.optimize.fixed_point)
def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
    *,
    program: bool = False,
) -> Any:
    """Differentiable in `args`, any nesting of arrays, and whatever `func` picks up from around it.

    The derivative with respect to `x0` is 0.

    Parameters
    ----------
    program : bool
        Run `func` without Python from the third time on, as :func:`lindiff.program` does: its prints and
        counters are those of the first times.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, where the fixed point is no smooth function of the parameters.

    Notes
    -----
    From x = f(x, p): ``(1 - f_x) dx = f_p dp``, of any order; as exact as the fixed point is, so keep `xtol`
    small.  Cost of a derivative: one Jacobian of f and one dense solve.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.optimize import fixed_point
    >>> ld.grad(lambda a: fixed_point(lambda x: (x + a / x) / 2, 1.5))(4.0).round(6)
    np.float64(0.25)
    """
    repeated = running(program)(func)

    def search(args: tuple[Any, ...]) -> Any:
        plain = lambda x, *args: value(repeated(x, *args))
        return scipy.optimize.fixed_point(plain, value(x0), args, xtol, maxiter, method), None

    x = solved(search, lambda x, *args: func(x, *args) - x, unpacked_arguments(args))[0]
    return returned(x, (), "array" if method == "del2" else "scalar") if isinstance(x, Variable) else x
