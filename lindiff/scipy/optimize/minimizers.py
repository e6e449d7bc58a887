"""``minimize``: SciPy searches, by exact derivatives; what it finds has derivatives, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize

from lindiff._docstrings import documented_like
from lindiff.core import pytree
from lindiff.core.variable import value
from lindiff.rules._common import depends_on_variables
from lindiff.scipy.optimize._bounds import bounds_of_tree
from lindiff.scipy.optimize._flat import (
    Flat,
    as_arguments,
    flat_callable,
    flat_callback,
    flat_jacobian,
    linear_operator,
    matrix_of,
    refuse_variables,
    unknowns,
    vector_of,
)
from lindiff.scipy.optimize._running import Running, explained, running
from lindiff.scipy.optimize._solved import Stationary, end_of_search
from lindiff.transforms.reverse import grad, value_and_grad, vjp

__all__ = ["minimize"]

WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}


@documented_like(scipy.optimize.minimize)
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    program: bool = False,
) -> Any:
    """It minimizes over any tree of arrays, by exact derivatives; what it finds has derivatives.

    Differentiable in `args`, any nesting of arrays, and whatever `fun` picks up from around it; in `x0` the
    derivative is 0.  Not under `constraints`.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns one real number; x has the form of `x0`.
    x0 : tree of arrays
        Where the search begins: one array of any shape, where a number or a list of numbers is an array with
        one axis, as in SciPy; or any nesting with arrays in it.  It runs in float64; complex arrays count as
        real and imaginary parts.
    method : str or callable, optional
        One of SciPy's.  It gets the gradient, from the same run as the value, if it takes one; products with
        the Hessian if it takes these (Newton-CG, trust-ncg, trust-krylov, trust-constr); the Hessian if it
        needs that (dogleg, trust-exact).
    jac, hess, hessp : optional
        Instead of the exact derivatives, as SciPy takes them: callables of x and `args`, with gradients and
        products in the form of `x0`, Hessians as matrices; ``jac=True`` if `fun` returns value and gradient;
        names of finite differences.
    bounds : optional
        Of one array: as SciPy takes them, a sequence of pairs, or ``Bounds`` that broadcast to it.  Of a
        tree: a tree of its form with a pair, ``Bounds``, None, or a list of pairs for each array; or a pair
        of trees of its form, lower and upper, whose leaves broadcast to those of `x0` (also as ``Bounds``).
    constraints : optional
        As SciPy takes them.  Functions in them are functions of x in the form of `x0`, and get exact
        derivatives where none are given; a ``LinearConstraint`` acts on the flat vector.
    callback : callable, optional
        As SciPy calls it, with x in the form of `x0`.
    program : bool
        Run `fun`, the functions of `constraints` and the derivatives, exact or given, without Python from the
        third time on, as :func:`lindiff.program` does: their prints and counters are those of the first
        times.  What that gained is ``res.explain()``.

    Returns
    -------
    res : scipy.optimize.OptimizeResult
        With ``x`` and ``jac`` in the form of `x0`; matrices in it are of flat vectors.  ``x``, ``fun`` and
        ``jac`` have derivatives, the rest is constant: of an inverse Hessian, ask for that of
        ``ld.hessian(fun)(res.x)``.

    Raises
    ------
    TypeError
        If `fun` does not return one real number, or what it calls has no derivative; if there are Variables
        in `bounds`, or what is found under `constraints` depends on Variables.
    RuntimeError
        If what is found depends on Variables, and the search has failed, or ends where the gradient is not
        zero, as at a kink.
    numpy.linalg.LinAlgError
        From the derivative, where the Hessian is singular: a flat minimum.
    ValueError
        If the bounds of a tree have none of these forms, or could be read as two of them.

    Notes
    -----
    A step costs about three times the function, whatever the number of unknowns; a product with the Hessian
    as much again, and those at one point share one run.  At the minimum the gradient is zero:
    ``dx = -f_xx⁻¹ f_xp dp``, of any order; as exact as the minimum is, so where it matters give a small
    `tol`.  Cost of a derivative: a Hessian and a dense solve, and as much to see that this holds.  A number
    that is held by a bound does not move.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.optimize import minimize
    >>> def f(x):
    ...     return (x["a"] - 1.0) ** 2 + np.sum((x["b"] - x["a"]) ** 2)
    >>> found = minimize(f, {"a": 0.0, "b": np.zeros(2)}, method="trust-ncg")
    >>> print(found.success, found.x["a"].round(6), found.x["b"].round(6))
    True 1.0 [1. 1.]
    >>> import lindiff as ld
    >>> def least(a):
    ...     return minimize(lambda x: np.sum((x - a) ** 2 + x**2), np.zeros(1)).x[0]
    >>> ld.grad(least)(1.0).round(6)
    np.float64(0.5)
    """
    refuse_variables("minimize", bounds)
    x0 = unknowns(value(x0))
    form, run = Flat(x0), running(program)
    name = method.lower() if isinstance(method, str) else method

    def of_arguments(x: Any, *args: Any) -> Any:
        return fun(x, *args) if jac is True else _number(fun(x, *args))

    def objective(x: Any, *args: Any) -> Any:
        return _number(fun(x, *args)[0]) if jac is True else of_arguments(x, *args)

    limits = _flat_bounds(bounds, x0, form)
    stationary = Stationary(objective, form, _limits(limits, form))

    every_products: list[_Products] = []

    def forget() -> None:
        for products in every_products:
            products.forget()

    def functions(args: tuple[Any, ...], run: Running) -> dict[str, Any]:
        """SciPy's arguments of these names, of flat vectors."""
        flat_fun, flat_jac = _value_and_gradient(of_arguments, jac, form, name, args, run)
        flat_hess, flat_hessp = flat_callable(hess, args, form, run), _given_products(hessp, args, form, run)
        is_of_products = callable(name) or name in WITH_PRODUCTS
        if jac is None and hess is None and hessp is None and (is_of_products or name in WITH_HESSIAN):
            products = _Products(run(grad(of_arguments)), args, form)
            every_products.append(products)
            if is_of_products:
                flat_hessp = products
            else:
                flat_hess = products.matrix
        return {"fun": flat_fun, "jac": flat_jac, "hess": flat_hess, "hessp": flat_hessp}

    has_gradient = False

    def search(args: tuple[Any, ...]) -> Any:
        nonlocal has_gradient
        found = scipy.optimize.minimize(
            x0=form.flat(x0),
            method=method,
            **functions(args, run),
            bounds=limits,
            constraints=_flat_constraints(constraints, form, name, run),
            tol=tol,
            callback=flat_callback(callback, form, forget),
            options=options,
        )
        jac_found = found.get("jac")  # of trust-constr a list of those of the constraints
        has_gradient = isinstance(jac_found, np.ndarray) and jac_found.shape == (form.size,)
        if has_gradient:
            found.jac = form.tree_of(jac_found)
        stationary.look_for_bounds(found.x, args)
        return explained(found, lambda run: _calls(**functions(args, run)), run)

    args = as_arguments(args)
    every = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    refuse = partial(_refuse_constraints, every) if every else None
    found, least = end_of_search("minimize", search, stationary.equations, args, form, objective, refuse)
    if least is not None:
        found.fun = least
        if has_gradient:
            found.jac = grad(objective)(pytree.tree_map(np.positive, found.x), *args)
    return found


def _calls(fun: Any, jac: Any, hess: Any, hessp: Any) -> dict[str, Callable[[Any], Any]]:
    """What a search calls, by names, as functions of the flat vector."""
    named = {
        "the value and the gradient" if jac is True else "the value": fun,
        "the gradient": jac,
        "the Hessian": hess,
        "the Hessian, times a vector": None if hessp is None else lambda x: hessp(x, np.ones_like(x)),
    }
    return {name: call for name, call in named.items() if callable(call)}


def _given_products(hessp: Any, args: tuple[Any, ...], form: Flat, run: Running) -> Any:
    """SciPy's ``hessp``, of the user's; None where there is none."""
    if hessp is None:
        return None
    product = run(hessp)
    return lambda x, p: form.flat(product(form.tree_of(x), form.tree_of(p), *args))


def _limits(bounds: Any, form: Flat) -> tuple[Any, Any] | None:
    """Lower and upper bounds of the flat vector, from what SciPy's ``minimize`` takes."""
    if bounds is None:
        return None
    if not isinstance(bounds, scipy.optimize.Bounds):
        pairs = [(-np.inf if low is None else low, np.inf if up is None else up) for low, up in bounds]
        bounds = scipy.optimize.Bounds(*np.reshape(np.asarray(pairs, np.float64), (-1, 2)).T)
    lower, upper = (np.broadcast_to(np.asarray(b, np.float64), (form.size,)) for b in (bounds.lb, bounds.ub))
    return lower, upper


def _refuse_constraints(constraints: Any, x: Any) -> None:
    """Raise where a solution with constraints, or a constraint, depends on Variables.

    Their multipliers are unknowns, too, and SciPy's searches do not give them.
    """
    if depends_on_variables(x) or any(depends_on_variables(_parts_of_constraint(c, x)) for c in constraints):
        raise TypeError(
            "lindiff.scipy.optimize.minimize: what is found under constraints has no derivative here: search "
            "with ld.value(v), and differentiate the conditions that hold there, multipliers included, by "
            "ld.implicit(search, conditions)"
        )


def _parts_of_constraint(constraint: Any, x: Any) -> list[Any]:
    """What a constraint is made of, at x."""
    if isinstance(constraint, dict):
        return [vector_of(constraint["fun"](x, *constraint.get("args", ())))]
    if isinstance(constraint, scipy.optimize.LinearConstraint):
        return [constraint.A, constraint.lb, constraint.ub]
    return [vector_of(constraint.fun(x)), constraint.lb, constraint.ub]


def _number(y: Any) -> Any:
    """An array or list of one element as a number: a formula of one unknown, an array, returns such."""
    if y is None:
        raise TypeError("minimize: fun returns one real number, and returned nothing: it may lack its return")
    if isinstance(y, (list, tuple)) and len(y) == 1:
        return _number(y[0])
    return np.reshape(y, ()) if getattr(y, "ndim", 0) > 0 and y.size == 1 else y


def _value_and_gradient(
    of_arguments: Callable[..., Any],
    jac: Any,
    form: Flat,
    name: Any,
    args: tuple[Any, ...],
    run: Running,
) -> tuple[Callable[[Any], Any], Any]:
    """SciPy's ``fun`` and ``jac``: from one run if they are ours."""
    if jac is None and name not in WITHOUT_GRADIENT:
        both = run(value_and_grad(of_arguments))

        def value_and_gradient(x: Any) -> tuple[np.float64, Any]:
            y, gradient = both(form.tree_of(x), *args)
            return np.float64(value(y)), form.flat(gradient)

        return value_and_gradient, True
    repeated = run(of_arguments)
    if jac is True:

        def given(x: Any) -> tuple[Any, Any]:
            y, gradient = repeated(form.tree_of(x), *args)
            return value(_number(y)), form.flat(gradient)

        return given, True
    return lambda x: value(repeated(form.tree_of(x), *args)), flat_callable(jac, args, form, run, form.flat)


class _Products:
    """Products of vectors with the Hessian; those at one point share one linearization of the gradient."""

    def __init__(self, gradient: Callable[..., Any], args: tuple[Any, ...], form: Flat) -> None:
        self._gradient = lambda x: gradient(x, *args)
        self._form = form
        self._x: Any = None

    def _at(self, x: Any) -> Any:
        """The derivative of the gradient at x as a linear operator; the last one is kept."""
        if self._x is None or not np.array_equal(x, self._x):
            self._x = np.copy(x)
            self._derivative = linear_operator(self._gradient, self._form.tree_of(self._x), self._form)[1]
        return self._derivative

    def forget(self) -> None:
        """Linearize anew at the next point, also where it is the last one: the function may have changed."""
        self._x = None

    def __call__(self, x: Any, p: Any) -> Any:
        return self._at(x) @ p

    def matrix(self, x: Any) -> Any:
        return matrix_of(self._at(x))


def _flat_bounds(bounds: Any, x0: Any, form: Flat) -> Any:
    """Bounds as SciPy's ``minimize`` takes them, of the flat vector."""
    if bounds is None:
        return None
    if pytree.is_tree(x0) or form.is_complex:
        return bounds_of_tree(bounds, x0)
    if isinstance(bounds, scipy.optimize.Bounds):
        every = (bounds.lb, bounds.ub, bounds.keep_feasible)
        return scipy.optimize.Bounds(*(np.ravel(np.broadcast_to(b, form.shapes[0])) for b in every))
    return bounds


def _flat_constraints(constraints: Any, form: Flat, name: Any, run: Running) -> Any:
    if isinstance(constraints, (list, tuple)):
        return [_flat_constraint(constraint, form, name, run) for constraint in constraints]
    return _flat_constraint(constraints, form, name, run)


def _flat_constraint(constraint: Any, form: Flat, name: Any, run: Running) -> Any:
    """A constraint on flat vectors; differences and quasi-Newton defaults give way to exact derivatives."""
    if isinstance(constraint, dict):
        args = constraint.get("args", ())
        flat = {**constraint, "args": ()}
        functions = constraint["fun"], constraint.get("jac")
        flat["fun"], flat["jac"] = _residual_and_matrix(*functions, args, form, run)
        return flat
    if not isinstance(constraint, scipy.optimize.NonlinearConstraint):
        return constraint
    jac = None if constraint.jac == "2-point" else constraint.jac
    fun, matrix = _residual_and_matrix(constraint.fun, jac, (), form, run)
    hess = constraint.hess
    if callable(hess):
        given = run(hess)

        def flat_hess(x: Any, v: Any) -> Any:
            return value(given(form.tree_of(x), v))

    elif isinstance(hess, scipy.optimize.BFGS) and name == "trust-constr":

        def weighted(x: Any, v: Any) -> Any:
            return vjp(lambda x: vector_of(constraint.fun(x)), x)[1](v)[0]

        gradient = run(weighted)

        def flat_hess(x: Any, v: Any) -> Any:
            return linear_operator(lambda x: gradient(x, v), form.tree_of(x), form)[1]

    else:
        flat_hess = hess
    return scipy.optimize.NonlinearConstraint(
        fun,
        constraint.lb,
        constraint.ub,
        matrix,
        flat_hess,
        constraint.keep_feasible,
        constraint.finite_diff_rel_step,
        constraint.finite_diff_jac_sparsity,
    )


def _residual_and_matrix(fun: Any, jac: Any, args: Any, form: Flat, run: Running) -> tuple[Any, Any]:
    """A constraint's function as a vector, and its Jacobian: the given one, or the exact one."""

    def of_arguments(x: Any, *args: Any) -> Any:
        return vector_of(fun(x, *args))

    repeated = run(of_arguments)

    def of_vector(x: Any) -> Any:
        return value(repeated(form.tree_of(x), *args))

    if jac is None:
        return of_vector, flat_jacobian(repeated, form, args, {})
    return of_vector, flat_callable(jac, args, form, run)
