"""Sylvester, Lyapunov and Riccati equations.

One Schur form of the coefficients serves value, pushforward and pullback of a linear equation, and one of the
closed loop both directions of a Riccati equation: its derivative solves a Lyapunov equation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import get_lapack_funcs

from lindiff._docstrings import documented_like
from lindiff.core.differential import Differential
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import operator
from lindiff.linalg._batches import over_batch, require_host
from lindiff.linalg._matrices import adjoint, hermitian_part
from lindiff.rules._common import as_array
from lindiff.scipy._drop_in import takes_lists
from lindiff.scipy.linalg._arguments import is_plain

__all__ = [
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
]


def of_one_dtype(*arrays: Any, least: Any = np.float32) -> list[Any]:
    """Arrays of one dtype: a real Schur form of one coefficient does not fit a complex one of another."""
    require_host("this matrix equation", *arrays)
    arrays = tuple(np.asarray(x) for x in arrays)
    dtype = np.result_type(*arrays, least)
    return [x.astype(dtype, copy=False) for x in arrays]


def check_fit(name: str, a: Any, b: Any, q: Any) -> None:
    """a and b must be square, and q have as many rows as a, columns as b; as a if b is None."""
    for x, which in ((a, "a"), (b, "b")):
        shape = np.shape(x)
        if x is not None and (len(shape) < 2 or shape[-1] != shape[-2]):
            raise ValueError(f"{name}: {which} of shape {shape} must be square in its last two axes")
    wanted = np.shape(a)[-1], np.shape(a if b is None else b)[-1]
    if np.shape(q)[-2:] != wanted:
        raise ValueError(f"{name}: q of shape {np.shape(q)} must have {wanted} as its last two axes")


def schur(a: Any) -> Any:
    """``a = U T Uᴴ``, T triangular, or nearly so if a is real."""
    if a.shape[-1] == 0:  # older versions refuse it
        return a, a
    return over_batch(2)(scipy.linalg.schur)(a)


@over_batch(2, 2, 2)
def trsyl(R: Any, S: Any, F: Any, trans: tuple[str, str]) -> Any:
    """``op(R) Y + Y op(S) = F`` with Schur forms R and S, and whether the equation is regular (0 if not)."""
    if F.size == 0:
        return F, np.ones(())
    solve: Any = get_lapack_funcs("trsyl", (R, S, F))
    Y, scale, info = solve(R, S, F, trana=trans[0], tranb=trans[1])
    Y = Y / Y.dtype.type(scale)
    rounding = sum(F.shape) * np.finfo(F.dtype).eps * max(np.abs(R).max(), np.abs(S).max())
    too_large = rounding * np.abs(Y).max() > np.abs(F).max()  # False where F holds NaN
    return Y, np.asarray(float(info == 0 and not too_large))


class Equation:
    """A linear equation for X, solved again and again with the Schur forms of its coefficients.

    Without them, where a coefficient or a right-hand side is a Variable, by the public function.
    """

    singular = "the equation is singular to rounding"

    def transformed(self, q: Any, transpose: bool) -> tuple[Any, Any]:
        """The solution by the Schur forms, and whether the equation is regular (0 if not)."""
        raise NotImplementedError

    def public(self, q: Any, transpose: bool) -> Any:
        raise NotImplementedError

    forms: tuple[Any, ...] | None = None

    def in_one_dtype(self, q: Any, transpose: bool) -> tuple[Any, Any]:
        """The solution, and whether the equation is regular; by parts for complex q of real forms."""
        assert self.forms is not None
        if q.dtype.kind != "c" or self.forms[0].dtype.kind == "c":
            return self.transformed(q.astype(np.result_type(q, self.forms[0])), transpose)
        real, regular = self.in_one_dtype(q.real, transpose)
        return real + 1j * self.in_one_dtype(q.imag, transpose)[0], regular

    def value(self, q: Any) -> Any:
        """The solution for q; a singular equation gives a warning."""
        if self.forms is None or not is_plain(q):
            return self.public(q, False)
        X, regular = self.in_one_dtype(q, False)
        if not np.all(regular):
            warnings.warn(self.singular, RuntimeWarning, stacklevel=2)
        return X

    def solve(self, q: Any, transpose: bool = False) -> Any:
        """The solution for another right-hand side; of the adjoint equation if `transpose`."""
        if self.forms is None or not is_plain(q):
            return self.public(q, transpose)
        X, regular = self.in_one_dtype(q, transpose)
        if not np.all(regular):
            index = tuple(np.argwhere(regular == 0)[0].tolist())
            where = f" (batch index {index})" if index else ""
            raise np.linalg.LinAlgError(f"{self.singular}: there is no derivative{where}")
        return X


class Sylvester(Equation):
    """``a X + X b = q``: ``a = U R Uᴴ``, ``b = V S Vᴴ`` leave ``R Y + Y S = Uᴴ q V``.

    Bartels and Stewart (1972).
    """

    singular = "solve_sylvester: a and -b have an eigenvalue in common, to rounding"

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b
        if is_plain(a, b):
            R, U = schur(of_one_dtype(a, b)[0])
            S, V = (R, U) if b is a else schur(of_one_dtype(a, b)[1])
            self.forms = R, U, S, V

    def transformed(self, q: Any, transpose: bool) -> tuple[Any, Any]:
        """The solution by the Schur forms of a and b, of the adjoint equation if `transpose`."""
        assert self.forms is not None
        R, U, S, V = self.forms
        Y, regular = trsyl(R, S, product(adjoint(U), q, V), ("C", "C") if transpose else ("N", "N"))
        return product(U, Y, adjoint(V)), regular

    def public(self, q: Any, transpose: bool) -> Any:
        a, b = (adjoint(self.a), adjoint(self.b)) if transpose else (self.a, self.b)
        return solve_sylvester(a, b, q)


class Lyapunov(Equation):
    """``a X + X aᴴ = q``: ``a = U T Uᴴ`` leaves ``T Y + Y Tᴴ = Uᴴ q U``."""

    singular = "solve_continuous_lyapunov: two eigenvalues λ, μ of a have λ + μ* = 0, to rounding"

    def __init__(self, a: Any) -> None:
        self.a = a
        if is_plain(a):
            self.forms = schur(*of_one_dtype(a))

    def transformed(self, q: Any, transpose: bool) -> tuple[Any, Any]:
        """The solution by the Schur form of a, of the adjoint equation if `transpose`."""
        assert self.forms is not None
        T, U = self.forms
        Y, regular = trsyl(T, T, product(adjoint(U), q, U), ("C", "N") if transpose else ("N", "C"))
        return product(U, Y, adjoint(U)), regular

    def public(self, q: Any, transpose: bool) -> Any:
        return solve_continuous_lyapunov(adjoint(self.a) if transpose else self.a, q)


class Stein(Equation):
    """``X = a X aᴴ + q``: with ``a = U T Uᴴ``, ``C = (T - I) (T + I)⁻¹`` and ``D = I - C = 2 (T + I)⁻¹``

    ``C Y + Y Cᴴ = -½ D Uᴴ q U Dᴴ``; Popov (1964).  An eigenvalue -1 makes the equation itself singular.
    """

    singular = "solve_discrete_lyapunov: two eigenvalues λ, μ of a have λ μ* = 1, to rounding"

    def __init__(self, a: Any) -> None:
        self.a = a
        if is_plain(a):
            T, U = schur(*of_one_dtype(a, least=np.float64))
            one = np.eye(T.shape[-1], dtype=T.dtype)
            try:
                D = np.triu(2 * np.linalg.solve(T + one, np.broadcast_to(one, T.shape)), -1)
            except np.linalg.LinAlgError as error:
                raise np.linalg.LinAlgError(f"{self.singular} (-1)") from error
            self.forms = (D, one - D, U)

    def transformed(self, q: Any, transpose: bool) -> tuple[Any, Any]:
        """The solution by a Lyapunov equation of the Schur vectors, of the adjoint one if `transpose`."""
        assert self.forms is not None
        D, C, U = self.forms
        D = adjoint(D) if transpose else D
        right = -0.5 * product(D, product(adjoint(U), q, U), adjoint(D))
        Y, regular = trsyl(C, C, right, ("C", "N") if transpose else ("N", "C"))
        return product(U, Y, adjoint(U)), regular

    def public(self, q: Any, transpose: bool) -> Any:
        return solve_discrete_lyapunov(adjoint(self.a) if transpose else self.a, q)


# -- linear equations ------------------------------------------------------------------------------------


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """SciPy's solution over a batch."""
    check_fit("solve_sylvester", a, b, q)
    a, b, q = of_one_dtype(a, b, q)
    if 0 in q.shape[-2:]:
        return np.zeros((*np.broadcast_shapes(*(x.shape[:-2] for x in (a, b, q))), *q.shape[-2:]), q.dtype)
    return over_batch(2, 2, 2)(scipy.linalg.solve_sylvester)(a, b, q)


@documented_like(scipy.linalg.solve_sylvester)
@takes_lists
@operator(_solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Differentiable in `a`, `b` and `q`.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if a and -b have a common eigenvalue, to rounding.

    Notes
    -----
    Bartels and Stewart (1972): 25 (m³ + n³) flops for the Schur forms of a and b, which serve the derivative,
    too, and about 5 mn (m + n) for each solution.  The pullback solves ``aᴴ Y + Y bᴴ = X_bar``:
    ``q_bar = Y``, ``a_bar = -Y Xᴴ``, ``b_bar = -Xᴴ Y``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_equations import solve_sylvester
    >>> solve_sylvester(np.diag([1.0, 2.0]), np.array([[1.0]]), np.array([[2.0], [6.0]]))
    array([[1.],
           [2.]])
    """
    check_fit("solve_sylvester", a, b, q)
    a, b, q = as_array(a), as_array(b), as_array(q)
    equation = Sylvester(a, b)
    X = equation.value(q)

    def pushforward(a_dot: Any, b_dot: Any, q_dot: Any) -> Any:
        return equation.solve(q_dot - product(a_dot, X) - product(X, b_dot))

    def pullback(X_bar: Any) -> Any:
        Y = equation.solve(X_bar, transpose=True)
        return -product(Y, adjoint(X)), -product(adjoint(X), Y), Y

    return X, Differential(pushforward, pullback)


def _solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """SciPy's solution over a batch."""
    check_fit("solve_continuous_lyapunov", a, None, q)
    a, q = of_one_dtype(a, q)
    if q.shape[-1] == 0:
        return np.zeros(np.broadcast_shapes(a.shape, q.shape), q.dtype)
    return over_batch(2, 2)(scipy.linalg.solve_continuous_lyapunov)(a, q)


@documented_like(scipy.linalg.solve_continuous_lyapunov)
@takes_lists
@operator(_solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Differentiable in `a` and `q`.

    Warns
    -----
    RuntimeWarning
        If two eigenvalues λ, μ of a have ``λ + μ* = 0``, to rounding.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, in that case.

    Notes
    -----
    25n³ flops for the Schur form of a, which serves the derivative, too, and about 10n³ for each solution.
    The pullback solves ``aᴴ Y + Y a = X_bar``: ``q_bar = Y``, ``a_bar = -(Y Xᴴ + Yᴴ X)``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_equations import solve_continuous_lyapunov
    >>> solve_continuous_lyapunov(np.diag([-1.0, -2.0]), np.array([[-2.0, 0.0], [0.0, -8.0]]))
    array([[1., 0.],
           [0., 2.]])
    """
    check_fit("solve_continuous_lyapunov", a, None, q)
    a, q = as_array(a), as_array(q)
    equation = Lyapunov(a)
    X = equation.value(q)

    def pushforward(a_dot: Any, q_dot: Any) -> Any:
        return equation.solve(q_dot - product(a_dot, X) - product(X, adjoint(a_dot)))

    def pullback(X_bar: Any) -> Any:
        Y = equation.solve(X_bar, transpose=True)
        return -(product(Y, adjoint(X)) + product(adjoint(Y), X)), Y

    return X, Differential(pushforward, pullback)


def _solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """SciPy's solution over a batch, in double precision."""
    check_fit("solve_discrete_lyapunov", a, None, q)
    a, q = of_one_dtype(a, q, least=np.float64)
    batch = np.broadcast_shapes(a.shape[:-2], q.shape[:-2])
    if 0 in (*batch, q.shape[-1]):  # `over_batch` would try identity matrices: singular
        return np.zeros((*batch, *q.shape[-2:]), q.dtype)
    return over_batch(2, 2)(scipy.linalg.solve_discrete_lyapunov)(a, q, method)


@documented_like(scipy.linalg.solve_discrete_lyapunov)
@takes_lists
@operator(_solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Differentiable in `a` and `q`.

    On Variables the method is always 'bilinear'.  The result has double precision.

    Warns
    -----
    RuntimeWarning
        If two eigenvalues λ, μ of a have ``λ μ* = 1``, to rounding.

    Raises
    ------
    numpy.linalg.LinAlgError
        In that case, by the direct method and from the derivative.

    Notes
    -----
    On Variables 25n³ flops for the Schur form of a, which serves the derivative, too, and about 16n³ for each
    solution.  The pullback solves ``Y = aᴴ Y a + X_bar``: ``q_bar = Y``, ``a_bar = Y a Xᴴ + Yᴴ a X``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_equations import solve_discrete_lyapunov
    >>> solve_discrete_lyapunov(np.array([[0.5]]), np.array([[3.0]]))
    array([[4.]])
    """
    if method is not None and method.lower() not in ("direct", "bilinear"):
        raise ValueError(f"Unknown solver {method}")
    check_fit("solve_discrete_lyapunov", a, None, q)
    a, q = as_array(a), as_array(q)
    equation = Stein(a)
    X = equation.value(q)

    def pushforward(a_dot: Any, q_dot: Any) -> Any:
        aX = product(a, X)
        return equation.solve(
            q_dot + product(a_dot, adjoint(product(a, adjoint(X)))) + product(aX, adjoint(a_dot))
        )

    def pullback(X_bar: Any) -> Any:
        Y = equation.solve(X_bar, transpose=True)
        return product(Y, a, adjoint(X)) + product(adjoint(Y), a, X), Y

    return X, Differential(pushforward, pullback)


# -- Riccati equations -----------------------------------------------------------------------------------


def _plain_are(solve: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's solver over a batch; e and s may be None.

    With e the pencil is not balanced: SciPy forgets to balance e, and what it returns is no solution then.
    """

    def call(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
        arrays = [x for x in (a, b, q, r, e, s) if x is not None]
        require_host("this matrix equation", *arrays)
        arrays = [np.asarray(x) for x in arrays]

        def one(*matrices: Any) -> Any:
            rest = iter(matrices[4:])
            extra = {name: next(rest) for name, x in (("e", e), ("s", s)) if x is not None}
            return solve(*matrices[:4], **extra, balanced=balanced and e is None)

        if all(x.ndim <= 2 for x in arrays):
            return one(*arrays)
        return over_batch(*(2 for _ in arrays))(one)(*arrays)

    return call


def _matrix(x: Any) -> Any:
    """A matrix; scalars and vectors are rows, as in SciPy."""
    return x if x is None else np.atleast_2d(as_array(x))


def _left_divided(e: Any, x: Any) -> Any:
    """``e⁻¹ x``."""
    return x if e is None else np.linalg.solve(e, x)


def _congruent(e: Any, X: Any) -> Any:
    """``e⁻¹ X e⁻ᴴ``."""
    return _left_divided(e, adjoint(_left_divided(e, adjoint(X))))


def _bars(L: Any, W: Any, Z: Any, K: Any, e: Any, s: Any) -> tuple[Any, ...]:
    """Cotangents of a, b, q, r, e, s.

    Of ``N + Nᴴ + Kᴴ dr K + dq`` with ``N = Wᴴ (da - db K) + deᴴ Z - ds K``, W and Z as the equations have
    them; L is the cotangent of that sum.
    """
    P = 2 * L
    a_bar = product(W, P)
    return (
        a_bar,
        -product(a_bar, adjoint(K)),
        L,
        product(K, L, adjoint(K)),
        None if e is None else product(Z, P),
        None if s is None else -product(P, adjoint(K)),
    )


@operator(_plain_are(scipy.linalg.solve_continuous_are))
def _continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
    """The change of the solution solves a Lyapunov equation of the closed loop ``A = a - b K``.

    With ``K = r⁻¹ (bᴴ X e + sᴴ)``: ``eᴴ dX A + Aᴴ dX e + M = 0``, ``M = N + Nᴴ + Kᴴ dr K + dq``,
    ``N = eᴴ X (da - db K) + deᴴ X A - ds K``; with ``dX = e⁻ᴴ Y e⁻¹``, ``F = e⁻¹ A`` this is
    ``Fᴴ Y + Y F = -M``.
    """
    X = _continuous_are(a, b, q, r, e, s, balanced)
    Xe = X if e is None else product(X, e)
    G = product(adjoint(b), Xe) if s is None else product(adjoint(b), Xe) + adjoint(s)
    K = np.linalg.solve(r, G)
    A = a - product(b, K)
    equation = Lyapunov(_left_divided(e, A))
    equation.singular = "solve_continuous_are: the closed loop has eigenvalues on the imaginary axis"

    def pushforward(a_dot: Any, b_dot: Any, q_dot: Any, r_dot: Any, e_dot: Any, s_dot: Any) -> Any:
        N = product(adjoint(Xe), a_dot - product(b_dot, K))
        if e_dot is not None:
            N = N + product(adjoint(e_dot), X, A)
        if s_dot is not None:
            N = N - product(s_dot, K)
        M = N + adjoint(N) + product(adjoint(K), hermitian_part(r_dot), K) + hermitian_part(q_dot)
        Y = equation.solve(-M, transpose=True)
        return Y if e is None else _congruent(adjoint(e), Y)

    def pullback(X_bar: Any) -> Any:
        L = hermitian_part(equation.solve(-_congruent(e, X_bar)))
        return _bars(L, Xe, product(X, A), K, e, s)

    return X, Differential(pushforward, pullback)


@operator(_plain_are(scipy.linalg.solve_discrete_are))
def _discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
    """The change of the solution solves a discrete Lyapunov equation of the closed loop ``A = a - b K``.

    With ``K = (r + bᴴ X b)⁻¹ (bᴴ X a + sᴴ)``: ``eᴴ dX e = Aᴴ dX A + M``, ``M = N + Nᴴ + Kᴴ dr K + dq``,
    ``N = Aᴴ X (da - db K) - deᴴ X e - ds K``; with ``dX = e⁻ᴴ Y e⁻¹``, ``F = e⁻¹ A``
    this is ``Y = Fᴴ Y F + M``.
    """
    X = _discrete_are(a, b, q, r, e, s, balanced)
    G = product(adjoint(b), X, a) if s is None else product(adjoint(b), X, a) + adjoint(s)
    K = np.linalg.solve(r + product(adjoint(b), X, b), G)
    A = a - product(b, K)
    XA = product(X, A)
    Xe = X if e is None else product(X, e)
    equation = Stein(_left_divided(e, A))
    equation.singular = "solve_discrete_are: the closed loop has eigenvalues on the unit circle"

    def pushforward(a_dot: Any, b_dot: Any, q_dot: Any, r_dot: Any, e_dot: Any, s_dot: Any) -> Any:
        N = product(adjoint(XA), a_dot - product(b_dot, K))
        if e_dot is not None:
            N = N - product(adjoint(e_dot), Xe)
        if s_dot is not None:
            N = N - product(s_dot, K)
        M = N + adjoint(N) + product(adjoint(K), hermitian_part(r_dot), K) + hermitian_part(q_dot)
        Y = equation.solve(M, transpose=True)
        return Y if e is None else _congruent(adjoint(e), Y)

    def pullback(X_bar: Any) -> Any:
        L = hermitian_part(equation.solve(_congruent(e, X_bar)))
        return _bars(L, XA, -Xe, K, e, s)

    return X, Differential(pushforward, pullback)


@documented_like(scipy.linalg.solve_continuous_are)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Differentiable in all matrices.

    The gradients of `q` and `r` are Hermitian.  With `e` the data is never balanced before it is factored.

    Raises
    ------
    ValueError
        If shapes do not fit together, q or r is not Hermitian, r or e is singular, or there are NaNs.

    Notes
    -----
    The derivative solves a Lyapunov equation of the closed loop ``a - b K``, whose Schur form serves both
    directions: with the pullback's solution L, ``q_bar = L``, ``r_bar = K L Kᴴ``, ``a_bar = 2 X e L``,
    ``b_bar = -a_bar Kᴴ``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_equations import solve_continuous_are
    >>> one = np.eye(1)
    >>> solve_continuous_are(0 * one, one, 4 * one, one)
    array([[2.]])
    """
    a, b, q, r, e, s = map(_matrix, (a, b, q, r, e, s))
    return _continuous_are(a, b, q, r, e, s, balanced)


@documented_like(scipy.linalg.solve_discrete_are)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Differentiable in all matrices.

    The gradients of `q` and `r` are Hermitian.  With `e` the data is never balanced before it is factored.

    Raises
    ------
    ValueError
        If shapes do not fit together, q or r is not Hermitian, e is singular, or there are NaNs.

    Notes
    -----
    The derivative solves a discrete Lyapunov equation of the closed loop ``a - b K``, whose Schur form serves
    both directions: with the pullback's solution L, ``q_bar = L``, ``r_bar = K L Kᴴ``,
    ``a_bar = 2 X (a - b K) L``, ``b_bar = -a_bar Kᴴ``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_equations import solve_discrete_are
    >>> one = np.eye(1)
    >>> solve_discrete_are(one, one, 0.5 * one, one)
    array([[1.]])
    """
    a, b, q, r, e, s = map(_matrix, (a, b, q, r, e, s))
    return _discrete_are(a, b, q, r, e, s, balanced)
