"""Derivatives of what a solver finds, from the equation that it solves: ``implicit``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.directions import Directions, one_by_one
from lindiff.core.linearization import Linearization
from lindiff.core.record import Trace, is_recording
from lindiff.core.registry import rule, tell_apart
from lindiff.core.sealing import called
from lindiff.core.variable import (
    Variable,
    differentiable_array,
    inside,
    is_untraced,
    kept_constant,
    outside,
    traces_of,
    value,
)
from lindiff.transforms._transformed import transformed
from lindiff.transforms.jacobian import is_complex, jacobian
from lindiff.transforms.linearize import linear_operator, linearize
from lindiff.transforms.reverse import grad, vjp

__all__ = ["implicit"]

LinearSolve = Callable[[Any, Any], Any]

DIAGONAL = "diagonal"
KRYLOV = ("cg", "gmres")
P = ParamSpec("P")
R = TypeVar("R")


@overload
def implicit(
    solver: Callable[P, R],
    residual: Callable[..., Any],
    *,
    minimizer: bool = False,
    linear_solve: str | LinearSolve | None = None,
    has_aux: bool = False,
) -> Callable[P, R]: ...
@overload
def implicit(
    solver: None = None,
    residual: Callable[..., Any] | None = None,
    *,
    minimizer: bool = False,
    linear_solve: str | LinearSolve | None = None,
    has_aux: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


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
        ``solver(*args, **kwargs)`` returns the solution, a tree of arrays, and leaves ``args`` as they are.
        What it is given by keyword (tolerances, a starting point) stays constant.  Left out: returns a
        decorator for the solver.
    residual : callable
        ``residual(x, *args)`` is zero at the solution: a tree with as many elements as ``x``.  Plain NumPy
        code; Variables that it closes over get their derivatives as its arguments do.
    minimizer : bool
        ``residual`` is an objective that the solver minimizes (or makes stationary); its gradient with
        respect to ``x`` is the residual.
    linear_solve : callable, {"cg", "gmres", "diagonal"} or None
        How to solve with ∂r/∂x.  None forms the matrix.  "diagonal" divides: each equation is of its own
        unknown, in the same order.  A callable ``linear_solve(A, b)`` gets a
        ``scipy.sparse.linalg.LinearOperator`` and a vector, and returns the solution of ``A x = b``; other
        names stand for SciPy's functions, to a relative residual of 1e-10.
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
        From the derivative: ∂r/∂x is singular, or the iteration did not converge.
    TypeError
        The solver returns a Variable: it closes over one; give it as an argument, or ld.value(v).  Solver or
        residual write into an argument: what they write there has no derivative.

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
    solve = _krylov(linear_solve) if linear_solve in KRYLOV else linear_solve
    if not (solve is None or solve == DIAGONAL or callable(solve)):
        raise ValueError(
            f'linear_solve is None, "cg", "gmres", "diagonal" or a function of (A, b), got {linear_solve!r}'
        )
    find = solver

    @transformed(
        implicit, solver, residual=residual, minimizer=minimizer, linear_solve=linear_solve, has_aux=has_aux
    )
    def solution(*args: Any, **kwargs: Any) -> Any:
        tell_apart()
        leaves, restore = pytree.flatten(args)
        if any(type(leaf) is Variable for leaf in pytree.flatten(kwargs)[0]):
            raise TypeError(
                "an implicit function's keyword arguments go to its solver alone and are constant: pass what "
                "is to be differentiated by position, or ld.value(v)"
            )
        if not is_recording() and not any(map(traces_of, leaves)):
            found = _in_own_memory(find(*value(args), **kwargs))
            _refuse_variables(found)
            return found
        plain = restore([_for_solver(leaf) for leaf in leaves])
        found = _in_own_memory(called(functools.partial(find, **kwargs), plain))
        _refuse_variables(found)
        x, aux = found if has_aux else (found, None)
        x_leaves, restore_x = pytree.flatten(x)
        given = [kept_constant(leaf) for leaf in leaves]
        likes = [
            differentiable_array(value(leaf) if is_untraced(leaf) else leaf, "the solution")
            for leaf in x_leaves
        ]
        outputs = _differentiated(_Residual(equation, restore_x, restore, likes), given, solve, None)
        if outputs is likes:
            return found
        x = restore_x(outputs)
        return (x, aux) if has_aux else x

    return solution


def _differentiated(
    residual: _Residual, leaves: list[Any], linear_solve: LinearSolve | str | None, within: Trace | None
) -> list[Any]:
    """The leaves of a solution as Variables of the traces that its equation depends on.

    From the outermost trace inwards: in each, x is that of the traces outside, and its differential that of
    the residual's operations on arguments of the trace as on what the residual closes over.  A solution
    ``within`` a walk of a trace takes what the residual closes over as it is outside that.
    """
    x = residual.likes
    traces = sorted({trace for leaf in leaves for trace in traces_of(leaf)}, key=_beginning)
    traces = traces or _outside(within, traces_of(residual(x, leaves)))
    while traces:
        trace = traces.pop(0)
        r = residual(x, [_up_to(leaf, trace) for leaf in leaves])
        others = _outside(within, traces_of(r))
        others = [other for other in others if other is not trace and other not in traces]
        outer = [other for other in others if other.began < trace.began and not _is_in(other, x)]
        inner = [other for other in others if other.began > trace.began]
        traces = sorted([*traces, *inner], key=_beginning)
        if outer:
            traces = [*outer, trace, *traces]
        elif trace in traces_of(r):
            at = _Solution(residual, linear_solve, trace, x, [outside(leaf, trace) for leaf in leaves])
            x = at.of(_up_to(r, trace))
    return x


def _outside(within: Trace | None, traces: list[Trace]) -> list[Trace]:
    return traces if within is None else [trace for trace in traces if trace.began < within.began]


def _beginning(trace: Trace) -> int:
    return trace.began


def _is_in(trace: Trace, leaves: list[Any]) -> bool:
    return any(trace in traces_of(leaf) for leaf in leaves)


def _up_to(x: Any, trace: Trace) -> Any:
    """``x`` seen from within ``trace``, outside of those that it contains."""
    inside = [other for other in traces_of(x) if other.began > trace.began]
    return outside(x, inside[0]) if inside else x


def _for_solver(x: Any) -> Any:
    """A plain array or number, as solvers take them."""
    if type(x) is not Variable:
        return x
    x = inside(x)
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x


def _in_own_memory(found: Any) -> Any:
    """What a solver found, in memory of its own: it may be an argument, or a buffer that is filled again."""
    return pytree.tree_map(lambda x: x.copy() if type(x) is np.ndarray else x, found)


def _refuse_variables(found: Any) -> None:
    """Raise for a solution with a Variable in it: its derivative would be lost."""
    if any(type(leaf) is Variable and not is_untraced(leaf) for leaf in pytree.flatten(found)[0]):
        raise TypeError(
            "implicit: the solver closes over a Variable: make it an argument of solver and residual, or "
            "take ld.value(v) in the solver"
        )


@dataclass
class _Residual:
    """r(x, θ) between lists of leaves and a vector."""

    equation: Callable[..., Any]  # r of trees
    restore: Callable[[list[Any]], Any]  # the tree of x from its leaves
    arguments: Callable[[list[Any]], Any]  # the trees of the arguments from their leaves
    likes: list[Any]  # leaves of x

    def __post_init__(self) -> None:
        if any(map(is_complex, self.likes)) and not all(map(is_complex, self.likes)):
            raise TypeError("implicit: the parts of a solution are all real or all complex")

    def __call__(self, x: list[Any], leaves: list[Any]) -> Any:
        r = called(self.equation, (self.restore(x), *self.arguments(leaves)))
        r = _vector(pytree.flatten(r)[0])
        size = sum(like.size for like in self.likes)
        if r.shape != (size,):
            raise ValueError(
                f"implicit: the residual has {r.shape[0]} elements, the solution {size}; there have to "
                f"be as many equations as unknowns"
            )
        return r


@dataclass
class _Solution:
    """The differential of x at one point, with r(x, θ) = 0, by the tangent of r at constant x.

    Everything is written in functions that dispatch: x and θ may be Variables of an enclosing trace.
    """

    residual: _Residual
    linear_solve: LinearSolve | str | None
    trace: Trace
    leaves_of_x: list[Any]
    theta: list[Any]

    def __post_init__(self) -> None:
        self.x = _vector(self.leaves_of_x)

    def of(self, r: Any) -> list[Any]:
        """The leaves of x, which depend on r at constant x.

        The derivative is taken at once, where it is a matrix or a diagonal: what the equation reads may be
        another when derivatives are asked for.
        """
        if self.linear_solve is None:
            self.matrix = self.outside(self.matrix)
        elif self.linear_solve == DIAGONAL:
            self.diagonal = self.outside(self.diagonal)

        @rule
        def root(_: Any) -> Any:
            return tuple(self.leaves_of_x), Differential(self.push, self.pull)

        return list(root(r))

    def outside(self, x: Any) -> Any:
        """``x`` as it is outside the trace, of which the residual may close over Variables."""
        return outside(_up_to(x, self.trace), self.trace)

    def of_vector(self, x: Any, *theta: Any) -> Any:
        return self.residual(_parts(x, self.residual.likes), list(theta))

    @functools.cached_property
    def matrix(self) -> Any:
        """∂r/∂x."""
        return jacobian(self.of_vector, holomorphic=is_complex(self.x))(self.x, *self.theta)

    @functools.cached_property
    def diagonal(self) -> Any:
        """The diagonal of ∂r/∂x, where it has no more."""
        _, slopes = linearize(lambda x: self.of_vector(x, *self.theta), self.x)
        return slopes(np.ones_like(value(self.x)))

    @functools.cached_property
    def condition(self) -> Any:
        """The condition of ∂r/∂x in the 1-norm, in units in which its rows and columns are about 1.

        In functions that dispatch: a program computes it, and looks at no more than whether it is too large.
        """
        A = value(self.matrix)
        if not A.size or not np.all(np.isfinite(A)):
            return 1.0  # what is NaN gives NaN
        for axis in (1, 0):
            largest = np.max(np.abs(A), axis=axis, keepdims=True)
            A = A / np.where(largest == 0, 1.0, largest)
        try:
            inverse = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return np.inf
        return _norm(A) * _norm(inverse)

    def push(self, r_dot: Any) -> Any:
        return tuple(_parts(-self.solve(r_dot, adjoint=False), self.residual.likes))

    def pull(self, x_bars: Any) -> Any:
        return -self.solve(_vector(list(x_bars)), adjoint=True)

    def solve(self, b: Any, adjoint: bool) -> Any:
        """A⁻¹ b or A⁻ᴴ b, A = ∂r/∂x."""
        if self.linear_solve == DIAGONAL:
            if np.any(value(self.diagonal) == 0):
                raise np.linalg.LinAlgError(
                    "implicit: the derivative of an equation with respect to its unknown is zero: the "
                    "solution is no smooth function of the arguments there (a double root, an event that "
                    "grazes the solution)"
                )
            return b / (np.conjugate(self.diagonal) if adjoint else self.diagonal)
        if self.linear_solve is not None:
            return self.solve_without_matrix(b, adjoint)
        A = np.conjugate(np.transpose(self.matrix)) if adjoint else self.matrix
        if self.condition > 1 / np.finfo(self.x.dtype).eps:
            raise np.linalg.LinAlgError(
                "implicit: the residual's derivative with respect to the solution is singular (condition "
                f"{float(self.condition):.2g}): the solution is no smooth function of the arguments there (a "
                "double root, a flat or degenerate minimum)"
            )
        return np.linalg.solve(A, b)

    def solve_without_matrix(self, b: Any, adjoint: bool) -> Any:
        """Solve with ∂r/∂x as an operator; itself an implicit function of all it is given, to any order."""
        if isinstance(b, Directions):
            return one_by_one(lambda part: self.solve_without_matrix(part, adjoint), (b,))
        residual, linear_solve = self.of_vector, self.linear_solve
        assert callable(linear_solve)

        def equation(u: Any, x: Any, theta: Any, b: Any) -> Any:
            _, pullback = vjp(lambda x: residual(x, *theta), x)
            if adjoint:
                return pullback(u)[0] - b
            _, derivative = linearize(lambda x: residual(x, *theta), x)
            return derivative(u) - b

        given, restore = pytree.flatten((self.x, self.theta, b))
        x, theta, plain = restore([_for_solver(leaf) for leaf in given])
        at_x = Linearization(lambda x: residual(x, *theta), (x,), kept=True)
        A = linear_operator(at_x, lambda v: np.array(value(v)))  # the residual may close over Variables
        u = _solved(linear_solve(A.H if adjoint else A, plain), plain).astype(b.dtype)
        of_u = _Residual(equation, lambda leaves: leaves[0], restore, [u])
        return _differentiated(of_u, given, linear_solve, self.trace)[0]


def _solved(u: Any, b: Any) -> Any:
    """What ``linear_solve`` has returned, a vector as ``b``."""
    if isinstance(u, (tuple, list)) or np.shape(u) != b.shape:
        found = f"an array of shape {np.shape(u)}" if hasattr(u, "shape") else f"a {type(u).__name__}"
        raise TypeError(
            f"implicit: linear_solve(A, b) returns the solution of A x = b alone, an array of shape "
            f"{b.shape}, and returned {found}; of SciPy's (x, info) write "
            f"linear_solve=lambda A, b: cg(A, b)[0]"
        )
    return np.asarray(u)


def _krylov(name: str) -> LinearSolve:
    """A method of ``scipy.sparse.linalg`` that raises where it does not converge."""
    import scipy.sparse.linalg

    method = getattr(scipy.sparse.linalg, name)

    def solve(A: Any, b: Any) -> Any:
        size = np.max(np.abs(b), initial=0.0)  # its square may under- or overflow
        size = size if 0 < size < np.inf else 1.0
        x, info = method(A, b / size, rtol=1e-10)
        if info != 0:
            raise np.linalg.LinAlgError(
                f"implicit: {name} did not converge in solving with the residual's derivative; give a "
                f"linear_solve with a preconditioner, or none to form the matrix"
            )
        return x * size

    return solve


def _norm(A: Any) -> Any:
    """The largest sum of a column's sizes."""
    return np.max(np.sum(np.abs(A), axis=0))


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
