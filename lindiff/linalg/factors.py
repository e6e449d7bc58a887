"""Factor objects: one factorization for solves, determinant, inverse, and all their derivatives.

The operators here are functions of a matrix A, plain or a Variable, and of the factor of the plain array in
it (``_factored.py``).  A rule sees A from outside its trace, and the factor as it is: so the derivatives of
any order use the factor that gave the value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from lindiff.core.differential import Differential, stand_in
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import failing_as, fused, learn_factor, looks, renamed
from lindiff.linalg._cholesky import cholesky_pullback, cholesky_pushforward, share
from lindiff.linalg._factored import LU, Cholesky, Factor, UpperCholesky, factored
from lindiff.linalg._matrices import adjoint, conj
from lindiff.linalg._operation import Operation
from lindiff.linalg.determinant import adjugate_of_any_order
from lindiff.linalg.triangular import trsm

__all__ = [
    "CholeskyFactor",
    "FactorObject",
    "LUFactor",
    "cho_factor",
    "det",
    "diag_inverse",
    "inverse",
    "lu_factor",
    "of_factor",
    "quad",
    "slogdet",
    "solve",
    "solved",
    "square_matrix",
    "triangle",
]

G = TypeVar("G", bound=Callable[..., Any])


# -- operators on a matrix and its factor ----------------------------------------------------------------


def of_factor(derivatives: Any) -> Any:
    """Make an operator of a rule ``function(A, ..., factor)``, or of a value with its two ``derivatives``.

    On plain arrays it is the factor's method of the same name.  Of a plain A the rule has the shape alone:
    the factor stands for its numbers, which may change.
    """
    if callable(derivatives):
        return _of_factor(derivatives, rule(derivatives))

    def decorate(value: G) -> G:
        return _of_factor(value, Operation(value, value, *derivatives))

    return decorate


def _of_factor(function: G, primitive: Any) -> G:
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        for x in args:
            if type(x) is Variable:
                return primitive(stand_in(args[0]), *args[1:])
        return getattr(args[-1], name)(*args[1:-1])

    return call  # type: ignore[return-value]


def _trace_of_product(X: Any, Y: Any) -> Any:
    return np.sum(np.swapaxes(X, -1, -2) * Y, axis=(-2, -1))


@of_factor
def solve(A: Any, B: Any, transpose: bool | str, factor: Factor) -> Any:
    """``X = t(A)⁻¹ B``: ``B_bar = t(A)⁻ᴴ X_bar``, ``t(A)_bar = -B_bar Xᴴ``; Giles (2008), section 2.3."""
    X = solve(A, B, transpose, factor)

    def push_A(A_dot: Any) -> Any:
        return solve(A, -factor.times(A_dot, X, transpose), transpose, factor)

    def push_B(B_dot: Any) -> Any:
        return solve(A, B_dot, transpose, factor)

    def solve_adjoint(X_bar: Any) -> Any:
        if transpose and transpose != "C":  # the adjoint of Aᵀ is the conjugate of A
            return conj(solve(A, conj(X_bar), False, factor))
        return solve(A, X_bar, False if transpose else "C", factor)

    def pull_B(X_bar: Any) -> Any:
        return None, solve_adjoint(X_bar)

    def pull_both(X_bar: Any) -> Any:
        B_bar = solve_adjoint(X_bar)
        if B_bar.shape[-1] < A.shape[-1]:
            return factor.against(-B_bar, X, transpose), B_bar
        return -factor.against(B_bar, X, transpose), B_bar

    pullbacks = {(0,): pull_both, (1,): pull_B, (0, 1): pull_both}
    return X, Differential((push_A, push_B), pullbacks, linear_in=(1,))


@fused
def inverse_pushforward(B: Any, A_dot: Any) -> Any:
    """``B_dot = -B A_dot B``; Giles (2008), section 2.2."""
    return -(B @ A_dot @ B)


@fused
def inverse_pullback(B: Any, B_bar: Any, overwrite_b_bar: bool = False) -> Any:
    return -(adjoint(B) @ B_bar @ adjoint(B))


@of_factor(
    (
        lambda B, factor, A_dot: inverse_pushforward(B, factor.part(A_dot)),
        lambda B, factor, B_bar: factor.gradient(inverse_pullback(B, B_bar)),
    )
)
def inverse(A: Any, factor: Factor) -> Any:
    """``B = A⁻¹``."""
    B = inverse(A, factor)
    return B, B, factor


def _scaled_inverse(A: Any, scale: Any, factor: Factor) -> Any:
    """``scale A⁻ᴴ``, in the memory of an inverse that is made for this alone."""
    if type(A) is Variable or type(scale) is Variable or factor.has_inverse:
        return scale * adjoint(inverse(A, factor))
    B = factor.adjoint_inverted()
    return np.multiply(B, scale, out=B) if type(B) is type(scale) is np.ndarray else B * scale


@of_factor
def diag_inverse(A: Any, factor: Factor) -> Any:
    """``d = diag(B)``, ``B = A⁻¹``: ``d_dot = -diag(B A_dot B)``, ``A_bar = -Bᴴ diag(d_bar) Bᴴ``."""
    d = diag_inverse(A, factor)

    def pushforward(A_dot: Any) -> Any:
        B = inverse(A, factor)
        d_dot = -np.sum(product(B, factor.part(A_dot)) * np.swapaxes(B, -1, -2), axis=-1)
        return d_dot if d.dtype.kind == "c" else d_dot.real

    def pullback(d_bar: Any) -> Any:
        B = adjoint(inverse(A, factor))
        return factor.gradient(-product(B * d_bar[..., None, :], B))

    return d, Differential(pushforward, pullback)


def slogdet_pushforward(A: Any, factor: Factor, sign: Any, A_dot: Any) -> Any:
    """``d log|det A| = Re tr(A⁻¹ dA)``, and for complex A ``d sign = i sign Im tr(A⁻¹ dA)``."""
    _check_regular(factor, sign)
    trace = _trace_of_product(inverse(A, factor), factor.part(A_dot))
    if A.dtype.kind != "c":
        return None, trace
    return 1j * sign * trace.imag, trace.real


def slogdet_pullback(A: Any, factor: Factor, sign: Any, sign_bar: Any, log_bar: Any) -> Any:
    _check_regular(factor, sign)
    scale = 0.0 if log_bar is None else log_bar[..., None, None]
    if A.dtype.kind == "c" and sign_bar is not None:
        scale = scale - 1j * np.imag(conj(sign_bar) * sign)[..., None, None]
    return factor.gradient(_scaled_inverse(A, scale, factor), symmetric=True)


def _check_regular(factor: Factor, sign: Any) -> None:
    if factor.known.regular or not looks():
        return
    singular = value(sign) == 0
    if singular.any():
        batch = f" (batch index {tuple(map(int, np.argwhere(singular)[0]))})" if singular.ndim else ""
        raise np.linalg.LinAlgError(
            f"slogdet: singular matrix, where the logarithm of the determinant has no derivative{batch}"
        )
    factor.known.regular = True


@of_factor((slogdet_pushforward, slogdet_pullback))
def slogdet(A: Any, factor: Factor) -> Any:
    sign, logabsdet = slogdet(A, factor)
    return [sign, logabsdet], A, factor, sign


def det_pushforward(A: Any, factor: LU, d: Any, A_dot: Any) -> Any:
    """``d_dot = tr(adj(A) A_dot)``, with ``adj(A) = det(A) A⁻¹`` from regular factors."""
    if factor.is_regular:
        return d * _trace_of_product(inverse(A, factor), A_dot)
    return _trace_of_product(adjugate_of_any_order(A), A_dot)


def det_pullback(A: Any, factor: LU, d: Any, d_bar: Any) -> Any:
    if factor.is_regular:
        return _scaled_inverse(A, (d_bar * conj(d))[..., None, None], factor)
    return d_bar[..., None, None] * adjoint(adjugate_of_any_order(A))


@of_factor((det_pushforward, det_pullback))
def det(A: Any, factor: LU) -> Any:
    d = det(A, factor)
    return d, A, factor, d


@of_factor
def quad(A: Any, B: Any, factor: Cholesky) -> Any:
    """``q = diag(Bᴴ X)``, ``X = A⁻¹ B``: ``B_bar = 2 X diag(q_bar)``, ``A_bar = -X diag(q_bar) Xᴴ``."""
    q = quad(A, B, factor)

    def push_A(A_dot: Any) -> Any:
        X = solve(A, B, False, factor)
        return -np.sum((conj(X) * product(factor.part(A_dot), X)).real, axis=-2)

    def push_B(B_dot: Any) -> Any:
        return 2 * np.sum((conj(solve(A, B, False, factor)) * B_dot).real, axis=-2)

    def pullback(q_bar: Any) -> Any:
        X = solve(A, B, False, factor)
        weighted = X * q_bar[..., None, :]
        return factor.gradient(product(-weighted, adjoint(X)), symmetric=True), 2 * weighted

    return q, Differential((push_A, push_B), pullback)


def triangle(A: Any, factor: Cholesky) -> Any:
    """The Cholesky factor itself, as ``potrf`` gives it."""
    return _triangle(A, factor) if type(A) is Variable else factor.triangle


def _value_of_triangle(A: Any, factor: Cholesky) -> Any:
    L = triangle(A, factor)
    return L, L, None if factor.matrix is None else factor.matrix.unpaired, factor.lower


_triangle = Operation(
    _value_of_triangle,
    _value_of_triangle,
    cholesky_pushforward,
    cholesky_pullback,
    overwrites=True,
    learn=learn_factor,
)


@share
def _shared_triangle(a: Any, A: Any, lower: bool) -> tuple[Cholesky, Any]:
    factor = factored(A, Cholesky if lower else UpperCholesky)
    return factor, triangle(a, factor)


# -- objects ---------------------------------------------------------------------------------------------


def square_matrix(A: Any, name: str) -> Any:
    """A as an array of square matrices; integers become float64."""
    A = A if hasattr(A, "shape") else np.asarray(A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise np.linalg.LinAlgError(
            f"{name}: the last two axes must make a square matrix, got shape {A.shape}"
        )
    if A.dtype.kind not in "fciub":
        raise TypeError(f"{name}: dtype {A.dtype} is not numeric")
    return A if A.dtype.kind in "fc" else A.astype(np.float64)


@dataclass(eq=False, repr=False)
class FactorObject:
    """A matrix, factored once, and what is computed from the factor.

    Parameters
    ----------
    matrix : (..., n, n) array

    Notes
    -----
    A dataclass with one field: it may be an argument or a result of a differentiated function.  Its cotangent
    is an object of the same kind with the cotangent of the matrix in the place of the matrix; nothing is
    factored before it is asked for.
    """

    matrix: Any
    _kind: ClassVar[type[Factor]]

    @classmethod
    def _of(cls, A: Any, name: str) -> Any:
        """The object of A as it is now: a Variable may be changed in place later."""
        A = square_matrix(A, name)
        F = cls(+A if type(A) is Variable else A)
        try:
            F.__dict__["_factor"] = factored(A, cls._kind)
        except np.linalg.LinAlgError as error:
            raise renamed(error, name) from None
        return F

    @functools.cached_property
    def _factor(self) -> Any:
        return factored(self.matrix, self._kind)

    def _failing_in(self, method: str) -> Any:
        """Let a kernel's error name the method that was called."""
        return failing_as(f"{type(self).__name__}.{method}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of a {_describe(self.matrix)}>"

    def _columns(self, b: Any, name: str) -> tuple[Any, bool]:
        """A right-hand side as columns, and whether it is a vector."""
        b = b if hasattr(b, "shape") else np.asarray(b)
        vector = b.ndim == 1
        B = b[:, None] if vector else b
        shape = self.matrix.shape
        if B.ndim < 2 or B.shape[-2] != shape[-1]:
            raise ValueError(
                f"{type(self).__name__}.{name}: a matrix of shape {shape} and b of shape {b.shape} do not "
                f"fit together"
            )
        return B, vector


def _describe(A: Any) -> str:
    plain = value(A)
    batch = "" if plain.ndim == 2 else f"batch {plain.shape[:-2]} of "
    recorded = "Variable: " if type(A) is Variable else ""
    return f"{recorded}{batch}{plain.shape[-1]}×{plain.shape[-1]} {plain.dtype} matrix"


class _WithInverse(FactorObject):
    """What the factors of one fixed matrix do besides."""

    def _solved(self, b: Any, transpose: bool | str) -> Any:
        B, vector = self._columns(b, "solve")
        with self._failing_in("solve"):
            X = solve(self.matrix, B, transpose, self._factor)
        return X[..., 0] if vector else X

    def inv(self) -> Any:
        """The inverse, (..., n, n).

        Notes
        -----
        From the factor: 2n³/3 flops for Cholesky, 4n³/3 for LU.  For a Variable it is computed once, and
        kept for the gradients of the determinant and of ``diag_inv``.  A solve costs less than a product
        with the inverse.
        """
        with self._failing_in("inv"):
            if type(self.matrix) is Variable:
                return inverse(self.matrix, self._factor)
            return self._factor.inverted()

    def diag_inv(self) -> Any:
        """The diagonal of the inverse, (..., n).

        Notes
        -----
        As much as the inverse, of which only the diagonal is kept.  Backward: the inverse, and one product.
        """
        with self._failing_in("diag_inv"):
            return diag_inverse(self.matrix, self._factor)


def solved(A: Any, B: Any) -> Any:
    """``A⁻¹ B`` as ``np.linalg.solve`` has it, of plain arrays by the BLAS that kernels use."""
    if type(A) is type(B) is np.ndarray and A.dtype == B.dtype and A.dtype.char in "dD":
        return lu_factor(A).solve(B)
    return np.linalg.solve(A, B)


class CholeskyFactor(_WithInverse):
    """A positive definite matrix K, factored once; made by :func:`cho_factor`."""

    _kind = Cholesky
    _L: Any = None

    @property
    def L(self) -> Any:
        """The lower triangular factor, ``K = L Lᴴ``; read-only."""
        if self._L is None:
            self._L = triangle(self.matrix, self._factor)
        if type(self._L) is Variable:
            return +self._L  # another Variable at the same place of the record
        L = self._L[...]
        if type(L) is np.ndarray:
            L.flags.writeable = False
        return L

    def solve(self, b: Any) -> Any:
        """``K⁻¹ b`` for a vector (n,) or columns (..., n, k).

        Notes
        -----
        2n²k flops.  Backward the same for ``b_bar = K⁻¹ x_bar``, and n²k for ``K_bar = -b_bar xᴴ``: a solve
        does not need the pullback of the factorization.
        """
        return self._solved(b, False)

    def whiten(self, b: Any) -> Any:
        """``L⁻¹ b``, of unit covariance where b has covariance K; for a vector (n,) or columns (..., n, k).

        Notes
        -----
        n²k flops, and backward 2n³/3 for the pullback of the factorization.
        """
        B, vector = self._columns(b, "whiten")
        if type(self.matrix) is Variable or type(B) is Variable:
            Z = trsm(self.L, B)
        else:
            Z = self._factor.whiten(B)
        return Z[..., 0] if vector else Z

    def quad(self, b: Any) -> Any:
        """``bᴴ K⁻¹ b``, real: a number for a vector (n,), one for each of the columns (..., n, k).

        Notes
        -----
        n²k flops, as ``|L⁻¹ b|²``.
        """
        B, vector = self._columns(b, "quad")
        q = quad(self.matrix, B, self._factor)
        return q[..., 0] if vector else q

    def logdet(self) -> Any:
        """``log det K``, (...).

        Notes
        -----
        n flops.  Backward ``K_bar = K⁻¹``: 2n³/3.
        """
        return slogdet(self.matrix, self._factor)[1]


class LUFactor(_WithInverse):
    """A square matrix A, factored once; made by :func:`lu_factor`."""

    _kind = LU

    def solve(self, b: Any, transpose: bool | str = False) -> Any:
        """``A⁻¹ b``, with ``transpose=True`` ``A⁻ᵀ b``, with ``"C"`` ``A⁻ᴴ b``.

        Parameters
        ----------
        b : (n,) or (..., n, k) array
            A vector or columns.
        transpose : bool or "C"

        Notes
        -----
        2n²k flops; backward as much for ``b_bar``, and as much for ``A_bar = -b_bar xᴴ``.
        """
        return self._solved(b, transpose)

    def slogdet(self) -> Any:
        """Sign and logarithm of the absolute value of the determinant, each (...)."""
        return slogdet(self.matrix, self._factor)

    def logdet(self) -> Any:
        """``log |det A|``, (...); backward 4n³/3 flops for ``A_bar = A⁻ᴴ``."""
        return slogdet(self.matrix, self._factor)[1]

    def det(self) -> Any:
        """The determinant, (...).

        Notes
        -----
        Its derivatives of any order are right at any rank.
        """
        return det(self.matrix, self._factor)


def cho_factor(K: Any) -> CholeskyFactor:
    """Factor a symmetric (complex: Hermitian) positive definite matrix once, for all that is asked of it.

    Parameters
    ----------
    K : (..., n, n) array
        Only the lower triangle is read.  Gradients are symmetric, but for entries whose mirror image differs
        or is exactly zero: they have the whole derivative in the lower triangle.

    Returns
    -------
    F : CholeskyFactor
        With ``F.solve(b)``, ``F.quad(b)``, ``F.whiten(b)``, ``F.logdet()``, ``F.inv()``, ``F.diag_inv()`` and
        ``F.L``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If K is not positive definite; names the leading minor and the matrix of the batch.

    Notes
    -----
    n³/3 flops and one n×n array beside K for everything: values, tangents and cotangents of any order come
    from this factor.  The gradients themselves are arrays of their own, one for each of the methods used.

    Examples
    --------
    The log density of a Gaussian, up to a constant, and its gradient from one factorization:

    >>> import numpy as np, lindiff as ld
    >>> def log_density(K, y):
    ...     F = ld.linalg.cho_factor(K)
    ...     return -0.5 * (F.quad(y) + F.logdet())
    >>> ld.grad(log_density)(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0, 0.0]))
    array([[ 0.25,  0.  ],
           [ 0.  , -0.5 ]])
    """
    F: CholeskyFactor = CholeskyFactor._of(K, "cho_factor")
    return F


def lu_factor(A: Any) -> LUFactor:
    """Factor a square matrix once, for all that is asked of it.

    Parameters
    ----------
    A : (..., n, n) array
        A triangle is its own factor.

    Returns
    -------
    F : LUFactor
        With ``F.solve(b, transpose)``, ``F.slogdet()``, ``F.logdet()``, ``F.det()``, ``F.inv()`` and
        ``F.diag_inv()``.  A singular matrix has factors and a determinant; the rest raises ``LinAlgError``.

    Notes
    -----
    2n³/3 flops and one n×n array beside A for everything: values, tangents and cotangents of any order come
    from these factors.  The gradients themselves are arrays of their own, one for each of the methods used.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> F = ld.linalg.lu_factor(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> F.solve(np.array([2.0, 3.0]))
    array([3., 1.])
    >>> F.det()
    np.float64(-2.0)
    >>> F
    <LUFactor of a 2×2 float64 matrix>
    """
    F: LUFactor = LUFactor._of(A, "lu_factor")
    return F
