"""Derivatives of what a solver finds, from the equation that it solves: ``implicit``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.directions import Directions, one_by_one
from lindiff.core.linearization import Linearization
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, differentiable_array, is_untraced, kept_constant, value
from lindiff.transforms.jacobian import is_complex, jacobian
from lindiff.transforms.linearize import linearize
from lindiff.transforms.reverse import grad, vjp

__all__ = ["implicit"]

LinearSolve = Callable[[Any, Any], Any]


def implicit(
    solver: Callable[..., Any] | None = None,
    residual: Callable[..., Any] | None = None,
    *,
    minimizer: bool = False,
    linear_solve: str | LinearSolve | None = None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Give a solver the derivatives of the root or minimizer that it finds.

    The solver may be any code (SciPy's, iterations, a table): it is called with plain arrays and not looked
    into.  At its solution x(θ) of r(x, θ) = 0 the implicit function theorem has

        ∂r/∂x · dx = -∂r/∂θ · dθ,

    of which the residual's derivatives are taken, at the solution alone.

    Parameters
    ----------
    solver : callable
        ``solver(*args, **kwargs)`` returns the solution, a tree of arrays.  What it is given by keyword
        (tolerances, a starting point) stays constant.  Left out: returns a decorator for the solver.
    residual : callable
        ``residual(x, *args)`` is zero at the solution: a tree with as many elements as ``x``.  Plain NumPy
        code; everything that is to be differentiated has to be among its arguments.
    minimizer : bool
        ``residual`` is an objective that the solver minimizes (or makes stationary); its gradient with
        respect to ``x`` is the residual.
    linear_solve : callable, {"cg", "gmres"} or None
        How to solve with ∂r/∂x.  None forms the matrix.  A callable ``linear_solve(A, b)`` gets a
        ``scipy.sparse.linalg.LinearOperator`` and a vector, and returns the solution of ``A x = b``; a name
        stands for SciPy's function, to a relative residual of 1e-10.
    has_aux : bool
        The solver returns ``(x, aux)``; so does the result.

    Returns
    -------
    callable
        Of the solver's arguments.  Both modes, any order, by ``grad`` and its kin.  Cost of a derivative
        beyond the solver: without ``linear_solve`` one Jacobian of the residual and one dense solve.

    Raises
    ------
    numpy.linalg.LinAlgError
        In the walk: ∂r/∂x is singular, or the iteration did not converge.
    TypeError
        The solver or the residual closes over a Variable.

    Notes
    -----
    The derivative is that of the equation: it is as exact as the solution.  An argument that the residual
    does not depend on, such as a starting point, has derivative zero.  Complex solutions need a residual
    that is holomorphic in ``x``.

    References
    ----------
    M. Blondel et al. (2022), Efficient and modular implicit differentiation, NeurIPS, arXiv:2105.15183.

    Examples
    --------
    A root, found by SciPy:

    >>> import numpy as np, lindiff as ld
    >>> from scipy.optimize import brentq
    >>> kepler = ld.implicit(
    ...     lambda M, e: brentq(lambda E: E - e * np.sin(E) - M, 0.0, 2 * np.pi, xtol=1e-14),
    ...     lambda E, M, e: E - e * np.sin(E) - M)
    >>> E = kepler(1.0, 0.3)
    >>> np.isclose(ld.grad(kepler)(1.0, 0.3), 1 / (1 - 0.3 * np.cos(E)))
    np.True_

    A minimizer, and a decorator:

    >>> A, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0, 2.5])
    >>> def ridge(w, damping):
    ...     return np.sum((A @ w - y) ** 2) + damping * np.sum(w**2)
    >>> @ld.implicit(residual=ridge, minimizer=True)
    ... def fit(damping):
    ...     return np.linalg.solve(A.T @ A + damping * np.eye(2), A.T @ y)
    >>> ld.jacobian(fit)(0.1).round(3)
    array([-0.439,  0.108])

    A fixed point x = g(x, a) has the residual g(x, a) - x:

    >>> def babylonian(a):
    ...     x = a
    ...     for _ in range(50):
    ...         x = (x + a / x) / 2
    ...     return x
    >>> root = ld.implicit(babylonian, lambda x, a: (x + a / x) / 2 - x)
    >>> ld.grad(root)(4.0), ld.grad(ld.grad(root))(4.0)
    (np.float64(0.25), np.float64(-0.03125))
    """
    if residual is None:
        raise TypeError("implicit needs the equation that is solved: give residual=...")
    if solver is None:
        return lambda given: implicit(
            given, residual, minimizer=minimizer, linear_solve=linear_solve, has_aux=has_aux
        )
    equation = grad(residual) if minimizer else residual
    solve = _krylov(linear_solve) if isinstance(linear_solve, str) else linear_solve
    find = solver

    @functools.wraps(solver)
    def solution(*args: Any, **kwargs: Any) -> Any:
        leaves, restore = pytree.flatten(args)
        leaves = [value(leaf) if is_untraced(leaf) else leaf for leaf in leaves]
        if any(type(leaf) is Variable for leaf in pytree.flatten(kwargs)[0]):
            raise TypeError(
                "an implicit function's keyword arguments go to its solver alone and are constant: pass what "
                "is to be differentiated by position, or ld.value(v)"
            )
        active = [i for i, leaf in enumerate(leaves) if type(leaf) is Variable]
        if not active:
            found = find(*restore(leaves), **kwargs)
            _refuse_variables(found, "solver")
            return found
        leaves = [kept_constant(leaf) for leaf in leaves]  # the residual is called again in the walk
        rest: list[Any] = []  # what the rule says beside the leaves of x: their tree, and aux

        def with_active(values: Any) -> Any:
            full = list(leaves)
            for i, x in zip(active, values, strict=True):
                full[i] = x
            return restore(full)

        @rule
        def root(*values: Any) -> Any:
            found = solution(*with_active([_for_solver(x) for x in values]), **kwargs)
            x, aux = found if has_aux else (found, None)
            x_leaves, restore_x = pytree.flatten(x)
            x_leaves = [
                differentiable_array(value(leaf) if is_untraced(leaf) else leaf, "the solution")
                for leaf in x_leaves
            ]
            rest.extend((restore_x, aux))
            at = _Solution(equation, solve, restore_x, x_leaves, with_active, list(values))
            return tuple(x_leaves), Differential(at.push, at.pull)

        outputs = root(*(leaves[i] for i in active))
        restore_x, aux = rest
        x = restore_x(list(outputs))
        return (x, aux) if has_aux else x

    return solution


def _for_solver(x: Any) -> Any:
    """A plain array for the solver to do with as it likes, a number as such."""
    return x.copy()[()] if type(x) is np.ndarray else x


def _refuse_variables(tree: Any, what: str) -> None:
    if any(type(leaf) is Variable and not is_untraced(leaf) for leaf in pytree.flatten(tree)[0]):
        raise TypeError(
            f"implicit: the {what} closes over a Variable: make it an argument of solver and residual, to "
            f"differentiate with respect to it, or take ld.value(v)"
        )


@dataclass
class _Solution:
    """The differential of x(θ) at one θ, with r(x, θ) = 0.

    Everything is written in functions that dispatch: x and θ may be Variables of an outer trace.
    """

    equation: Callable[..., Any]  # r of trees
    linear_solve: LinearSolve | None
    restore: Callable[[list[Any]], Any]  # the tree of x from its leaves
    likes: list[Any]  # these leaves
    arguments: Callable[[Any], Any]  # the trees of the arguments from θ
    theta: list[Any]

    def __post_init__(self) -> None:
        self.x = _vector(self.likes)
        if is_complex(self.x) and not all(map(is_complex, self.likes)):
            raise TypeError("implicit: the parts of a solution are all real or all complex")

    def residual(self, x: Any, *theta: Any) -> Any:
        """r between vectors."""
        r = self.equation(self.restore(_parts(x, self.likes)), *self.arguments(theta))
        r = _vector(pytree.flatten(r)[0])
        if r.shape != x.shape:
            raise ValueError(
                f"implicit: the residual has {r.shape[0]} elements, the solution {x.shape[0]}; there have to "
                f"be as many equations as unknowns"
            )
        return r

    @functools.cached_property
    def in_theta(self) -> Linearization:
        """∂r/∂θ."""
        linearization = Linearization(functools.partial(self.residual, self.x), tuple(self.theta), kept=True)
        if not any(type(value) is Variable for value in [self.x, *self.theta]):
            _refuse_variables(linearization.value, "residual")
        return linearization

    @functools.cached_property
    def matrix(self) -> Any:
        """∂r/∂x."""
        return jacobian(self.residual, holomorphic=is_complex(self.x))(self.x, *self.theta)

    def push(self, *theta_dots: Any) -> Any:
        (r_dot,) = self.in_theta.push_leaves(list(theta_dots))
        return tuple(_parts(-self.solve(r_dot, adjoint=False), self.likes))

    def pull(self, x_bars: Any) -> Any:
        r_bar = -self.solve(_vector(list(x_bars)), adjoint=True)
        return tuple(self.in_theta.pull_arrays([r_bar]))

    def solve(self, b: Any, adjoint: bool) -> Any:
        """A⁻¹ b or A⁻ᴴ b, A = ∂r/∂x."""
        if self.linear_solve is not None:
            return _solve_without_matrix(self.residual, self.x, self.theta, b, self.linear_solve, adjoint)
        A = np.conjugate(np.transpose(self.matrix)) if adjoint else self.matrix
        try:
            return np.linalg.solve(A, b)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                "implicit: the residual's derivative with respect to the solution is singular: the solution "
                "is no smooth function of the arguments there (a double root, a flat or degenerate minimum)"
            ) from error


def _solve_without_matrix(
    residual: Callable[..., Any], x: Any, theta: list[Any], b: Any, linear_solve: LinearSolve, adjoint: bool
) -> Any:
    """Solve with ∂r/∂x as an operator; itself an implicit function of all it is given, to any order."""
    if isinstance(b, Directions):
        return one_by_one(
            lambda part: _solve_without_matrix(residual, x, theta, part, linear_solve, adjoint), (b,)
        )

    def solver(x: Any, theta: Any, b: Any) -> Any:
        _, derivative = linearize(lambda x: residual(x, *theta), x)
        A = derivative.as_linear_operator()
        return np.asarray(linear_solve(A.H if adjoint else A, b)).astype(b.dtype)

    def equation(u: Any, x: Any, theta: Any, b: Any) -> Any:
        _, pullback = vjp(lambda x: residual(x, *theta), x)
        if adjoint:
            return pullback(u)[0] - b
        _, derivative = linearize(lambda x: residual(x, *theta), x)
        return derivative(u) - b

    return implicit(solver, equation, linear_solve=linear_solve)(x, theta, b)


def _krylov(name: str) -> LinearSolve:
    """A method of ``scipy.sparse.linalg`` that raises where it does not converge."""
    import scipy.sparse.linalg

    if name not in ("cg", "gmres"):
        raise ValueError(f'linear_solve is None, "cg", "gmres" or a function of (A, b), got {name!r}')
    method = getattr(scipy.sparse.linalg, name)

    def solve(A: Any, b: Any) -> Any:
        x, info = method(A, b, rtol=1e-10)
        if info != 0:
            raise np.linalg.LinAlgError(
                f"implicit: {name} did not converge in solving with the residual's derivative; give a "
                f"linear_solve with a preconditioner, or none to form the matrix"
            )
        return x

    return solve


def _vector(leaves: list[Any]) -> Any:
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def _parts(vector: Any, likes: list[Any]) -> list[Any]:
    """A vector cut into arrays of given shapes and dtypes."""
    parts, start = [], 0
    for like in likes:
        part = np.reshape(vector[start : start + like.size], like.shape)
        parts.append(part if part.dtype == like.dtype else part.astype(like.dtype))
        start += like.size
    return parts
