"""``least_squares`` and ``root``: SciPy searches, the Jacobians are exact."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.optimize._numdiff import group_columns

from lindiff._docstrings import documented_like
from lindiff.core import pytree
from lindiff.scipy.optimize._bounds import bounds_of_tree
from lindiff.scipy.optimize._flat import (
    Flat,
    as_arguments,
    flat_callable,
    flat_callback,
    flat_jacobian,
    linear_operator,
    refuse_variables,
    unknowns,
    vector_of,
)
from lindiff.scipy.optimize._running import running

__all__ = ["least_squares", "root"]

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
    """It minimizes over any tree of arrays, by the exact Jacobian.

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
        :func:`lindiff.program` does: their prints and counters are those of the first times.
    **options
        SciPy's others.  With ``tr_solver="lsmr"`` the Jacobian is never formed: it is a linear operator that
        walks the record of one run.  With ``jac_sparsity`` it is a sparse matrix, from one walk for each
        group of columns that share no row.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        With ``x`` in the form of `x0`; what else it has is of flat vectors.

    Raises
    ------
    TypeError
        If what `fun` calls has no derivative, or Variables are given.

    Notes
    -----
    The Jacobian is pushed or pulled, whichever are fewer, columns or rows.

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
    args, kwargs = as_arguments(args), kwargs or {}
    refuse_variables("least_squares", x0, args, kwargs, bounds)
    x0 = unknowns(x0)
    form, run = Flat(x0), running(program)

    def residuals(x: Any, *args: Any, **kwargs: Any) -> Any:
        return vector_of(fun(x, *args, **kwargs))

    of_tree = run(residuals)

    def derivative(x: Any) -> Any:
        return linear_operator(lambda x: of_tree(x, *args, **kwargs), form.tree_of(x), form)[1]

    if jac is not None:
        flat_jac = flat_callable(partial(jac, **kwargs) if callable(jac) else jac, args, form, run)
    elif options.get("tr_solver") == "lsmr":
        flat_jac = derivative
    elif options.get("jac_sparsity") is not None and method != "lm":
        structure = _Structure(options["jac_sparsity"])

        def flat_jac(x: Any) -> Any:
            return structure.matrix_of(derivative(x))

    else:
        flat_jac = flat_jacobian(of_tree, form, args, kwargs)
    if "callback" in options:
        options["callback"] = flat_callback(options["callback"], form)
    found = scipy.optimize.least_squares(
        lambda x: of_tree(form.tree_of(x), *args, **kwargs),
        form.flat(x0),
        jac=flat_jac,
        bounds=_lower_and_upper(bounds, x0, form),
        method=method,
        **options,
    )
    found.x = form.tree_of(found.x)
    return found


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


class _Structure:
    """The entries of a sparse Jacobian, and groups of columns that share no row: one product gives a group.

    References
    ----------
    A. R. Curtis, M. J. D. Powell, J. K. Reid (1974), On the estimation of sparse Jacobian matrices, IMA
    Journal of Applied Mathematics 13, 117-119.
    """

    def __init__(self, sparsity: Any) -> None:
        entries = scipy.sparse.coo_array(sparsity)
        self._rows, self._columns = entries.row, entries.col
        self._shape = entries.shape
        self._group_of = group_columns(scipy.sparse.csc_matrix(sparsity))

    def matrix_of(self, derivative: Any) -> Any:
        """A linear map with that structure as a sparse matrix."""
        groups = np.arange(1 + np.max(self._group_of, initial=0))
        products = derivative.matmat((self._group_of[:, None] == groups).astype(np.float64))
        values = products[self._rows, self._group_of[self._columns]]
        return scipy.sparse.csr_array((values, (self._rows, self._columns)), shape=self._shape)


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
    """It solves for any tree of arrays, by the exact Jacobian.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns as many real numbers as `x0` has, in any tree; x has the form of `x0`.
    x0 : tree of arrays
        One array of any shape, where a number or a list of numbers is an array with one axis, as in SciPy; or
        any nesting with arrays in it.
    method : str
        One of SciPy's.  'hybr' and 'lm' get the exact Jacobian; the others use none.
    jac : callable or bool, optional
        Instead of the exact Jacobian: a callable that returns the matrix for flat vectors; ``True`` if `fun`
        returns the equations and that matrix; ``False`` for finite differences.
    tol, callback, options : optional
        As SciPy takes them; `callback` gets x and the residuals, flat.
    program : bool
        Run `fun` and its Jacobian, or the `jac` that is given, without Python from the third time on, as
        :func:`lindiff.program` does: their prints and counters are those of the first times.

    Returns
    -------
    sol : scipy.optimize.OptimizeResult
        With ``x`` in the form of `x0`; what else it has is of flat vectors.

    Raises
    ------
    TypeError
        If what `fun` calls has no derivative, or Variables are given.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.optimize import root
    >>> found = root(lambda x: np.cos(x) - x, np.array([0.5, 1.0]))
    >>> print(found.x.round(6))
    [0.739085 0.739085]
    """
    args = as_arguments(args)
    refuse_variables("root", x0, args)
    x0 = unknowns(x0)
    form, run = Flat(x0), running(program)

    def equations(x: Any, *args: Any) -> Any:
        if jac is not True:
            return vector_of(fun(x, *args))
        y, matrix = fun(x, *args)
        return vector_of(y), matrix

    of_tree = run(equations)
    if jac is None and method.lower() in WITH_JACOBIAN:
        flat_jac = flat_jacobian(of_tree, form, args, {})
    else:
        flat_jac = flat_callable(jac, args, form, run)
    found = scipy.optimize.root(
        lambda x: of_tree(form.tree_of(x), *args),
        form.flat(x0),
        method=method,
        jac=flat_jac,
        tol=tol,
        callback=callback,
        options=options,
    )
    found.x = form.tree_of(found.x)
    return found
