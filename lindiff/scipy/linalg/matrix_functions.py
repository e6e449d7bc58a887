"""Functions of matrices: exponential, logarithm, roots, powers, trigonometric functions, any function.

A function f of matrices has the Fréchet derivative L(A, E), linear in E; the adjoint of ``E -> L(A, E)`` is
``Y -> L(A, Yᴴ)ᴴ``, since ``tr(Z L(A, E)) = tr(L(A, Z) E)``.  So each function here needs L alone, written
again in functions that have derivatives; where nothing better is at hand, by
``f([[A, E], [0, A]]) = [[f(A), L(A, E)], [0, f(A)]]`` (Mathias, 1996).
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

import lindiff.linalg
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.linalg._backend import operator
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import adjoint, block_triangle, hermitian_part, upper_right
from lindiff.scipy.linalg.matrix_equations import Sylvester, as_array, is_plain, trsyl
from lindiff.transforms.forward import jvp

__all__ = [
    "coshm",
    "cosm",
    "expm",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "logm",
    "signm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]


class _Unset:
    def __repr__(self) -> str:
        return "<not given>"


# SciPy warns where a deprecated keyword is given at all
UNSET: Any = _Unset()


def _given(**options: Any) -> dict[str, Any]:
    return {name: option for name, option in options.items() if option is not UNSET}


def _matrix(A: Any, name: str) -> Any:
    A = as_array(A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: expected square matrices in the last two axes, got shape {A.shape}")
    return A


def _of_scipy(function: Callable[..., Any], A: Any, *args: Any, **options: Any) -> Any:
    """SciPy's own result for plain arrays, over a batch."""
    A = _matrix(A, function.__name__)
    return over_batch(2)(lambda M: function(M, *args, **options))(A)


def _with_options(
    primitive: Callable[..., Any], function: Callable[..., Any], A: Any, *args: Any, **options: Any
) -> Any:
    """SciPy's result, an error estimate with it under ``disp=False``; on Variables with a derivative."""
    if not options:
        return primitive(A, *args)
    plain = _of_scipy(function, value(A), *args, **options)
    if is_plain(A):
        return plain
    return (primitive(A, *args), plain[1]) if isinstance(plain, tuple) else primitive(A, *args)


def _primary(L: Callable[[Any], Any]) -> Differential:
    """The differential of a matrix function at A from ``L(E) = L(A, E)``, complex linear in E."""

    def pullback(Y_bar: Any) -> Any:
        return adjoint(L(adjoint(Y_bar)))

    return Differential((L,), (pullback,))


# -- exponential -----------------------------------------------------------------------------------------


def expm(A: Any) -> Any:
    """Matrix exponential.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not a square matrix.

    See Also
    --------
    lindiff.linalg.expm : the algorithm and its cost.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import expm
    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    A = as_array(A)
    if A.ndim < 2 and A.size == 1:
        return np.reshape(np.exp(A), (1, 1))
    if A.ndim < 2:
        raise np.linalg.LinAlgError("The input array must be at least two-dimensional")
    if A.shape[-1] != A.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if is_plain(A) and A.dtype.kind == "c":
        return _of_scipy(scipy.linalg.expm, A)
    return lindiff.linalg.expm(_inexact(A))


def _inexact(A: Any) -> Any:
    if A.dtype.kind not in "fc":
        return A.astype(np.float64)
    return A.astype(np.float32) if A.dtype == np.float16 else A


def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Fréchet derivative of the matrix exponential at A along E, and the exponential with it.

    Parameters
    ----------
    A, E : (..., n, n) array
    method : {None, 'SPS', 'blockEnlarge'}
        SciPy's names of two algorithms; here both are the first one.
    compute_expm : bool
        Whether to return the exponential, too.
    check_finite : bool
        Whether to look for NaN and infinity.

    Returns
    -------
    expm_A : (..., n, n) array
        If `compute_expm`.
    expm_frechet_AE : (..., n, n) array
        In double precision.

    Raises
    ------
    ValueError
        If A and E are not square matrices of one shape, or not finite; if the method is unknown.

    Notes
    -----
    Differentiable in A and E; see ``lindiff.linalg.expm_frechet``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import expm_frechet
    >>> expm_frechet(np.zeros((2, 2)), np.eye(2), compute_expm=False)
    array([[1., 0.],
           [0., 1.]])
    """
    A, E = as_array(A), as_array(E)
    if check_finite:
        for x in (A, E):
            np.asarray_chkfinite(value(x))
    for x, which in ((A, "A"), (E, "E")):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"expected {which} to be a square matrix")
    if A.shape[-2:] != E.shape[-2:]:
        raise ValueError("expected A and E to be the same shape")
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    dtype = np.result_type(A.dtype, E.dtype, np.float64)
    A, E = A.astype(dtype), E.astype(dtype)
    L = lindiff.linalg.expm_frechet(A, E)
    return (lindiff.linalg.expm(A), L) if compute_expm else L


# -- trigonometric and hyperbolic functions --------------------------------------------------------------


def _composed(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """On plain arrays SciPy's function; on Variables the decorated one, written in functions with rules."""

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(formula)
        def call(A: Any) -> Any:
            if is_plain(A):
                return _of_scipy(function, A)
            return formula(_inexact(_matrix(A, formula.__name__)))

        return call

    return decorate


def _cosine_and_sine(A: Any) -> tuple[Any, Any]:
    if A.dtype.kind != "c":
        E = expm(1j * A)
        return E.real, E.imag
    E, E_inv = expm(1j * A), expm(-1j * A)
    return 0.5 * (E + E_inv), -0.5j * (E - E_inv)


def _hyperbolic_cosine_and_sine(A: Any) -> tuple[Any, Any]:
    E, E_inv = expm(A), expm(-A)
    return 0.5 * (E + E_inv), 0.5 * (E - E_inv)


@_composed(scipy.linalg.cosm)
def cosm(A: Any) -> Any:
    """Matrix cosine, ``(exp(iA) + exp(-iA)) / 2``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import cosm
    >>> cosm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _cosine_and_sine(A)[0]


@_composed(scipy.linalg.sinm)
def sinm(A: Any) -> Any:
    """Matrix sine, ``(exp(iA) - exp(-iA)) / 2i``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import sinm
    >>> sinm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return _cosine_and_sine(A)[1]


@_composed(scipy.linalg.tanm)
def tanm(A: Any) -> Any:
    """Matrix tangent, ``cosm(A)⁻¹ sinm(A)``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import tanm
    >>> tanm(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    return np.linalg.solve(*_cosine_and_sine(A))


@_composed(scipy.linalg.coshm)
def coshm(A: Any) -> Any:
    """Matrix hyperbolic cosine, ``(exp(A) + exp(-A)) / 2``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import coshm
    >>> coshm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _hyperbolic_cosine_and_sine(A)[0]


@_composed(scipy.linalg.sinhm)
def sinhm(A: Any) -> Any:
    """Matrix hyperbolic sine, ``(exp(A) - exp(-A)) / 2``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import sinhm
    >>> sinhm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return _hyperbolic_cosine_and_sine(A)[1]


@_composed(scipy.linalg.tanhm)
def tanhm(A: Any) -> Any:
    """Matrix hyperbolic tangent, ``coshm(A)⁻¹ sinhm(A)``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import tanhm
    >>> tanhm(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    return np.linalg.solve(*_hyperbolic_cosine_and_sine(A))


# -- square root, sign -----------------------------------------------------------------------------------


def _plain_sqrtm(A: Any) -> Any:
    A = _matrix(A, "sqrtm")
    X = _of_scipy(scipy.linalg.sqrtm, A)
    # older versions give a complex matrix twice its precision
    return X.astype(A.dtype, copy=False) if A.dtype.char in "FD" else X


@operator(_plain_sqrtm)
def _sqrtm(A: Any) -> Any:
    """``X L + L X = E``; Higham (2008), equation (6.3)."""
    X = _sqrtm(A)

    @functools.cache
    def equation() -> Sylvester:
        found = Sylvester(X, X)
        found.singular = "sqrtm: A is singular, to rounding, or has eigenvalues astride the branch cut"
        return found

    return X, _primary(lambda E: equation().solve(E))


def sqrtm(A: Any, disp: Any = UNSET, blocksize: Any = UNSET) -> Any:
    """Principal square root of a matrix, ``X X = A``.

    Parameters
    ----------
    A : (..., n, n) array
    disp : bool, optional
        False adds an estimate of the error; deprecated since SciPy 1.16.
    blocksize : int, optional
        Of SciPy's algorithm; deprecated since SciPy 1.16.

    Returns
    -------
    X : (..., n, n) array
        Real for real A without negative eigenvalues.
    errest : float
        Under ``disp=False``.

    Warns
    -----
    scipy.linalg.LinAlgWarning
        As SciPy does where A is singular or ill-conditioned (older versions print a message).

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular: the root has none there.

    Notes
    -----
    The derivative solves ``X L + L X = A_dot`` with the Schur form of X: 25n³ flops for it, 10n³ for each
    solution.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import sqrtm
    >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    return _with_options(_sqrtm, scipy.linalg.sqrtm, A, **_given(disp=disp, blocksize=blocksize))


@operator(functools.partial(_of_scipy, scipy.linalg.signm))
def _signm(A: Any) -> Any:
    """``N L + L N = E - S E S`` with ``N = S A``; Higham (2008), theorem 5.3."""
    S = _signm(A)

    @functools.cache
    def equation() -> Sylvester:
        N = S @ A
        found = Sylvester(N, N)
        found.singular = "signm: A has an eigenvalue on the imaginary axis, to rounding"
        return found

    return S, _primary(lambda E: equation().solve(E - S @ E @ S))


def signm(A: Any, disp: Any = UNSET) -> Any:
    """Matrix sign function: -1 where eigenvalues have negative real part, 1 where it is positive.

    Parameters
    ----------
    A : (..., n, n) array
    disp : bool, optional
        False adds an estimate of the error; deprecated since SciPy 1.16.

    Returns
    -------
    S : (..., n, n) array
    errest : float
        Under ``disp=False``.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if an eigenvalue lies on the imaginary axis.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import signm
    >>> signm(np.diag([2.0, -3.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    return _with_options(_signm, scipy.linalg.signm, A, **_given(disp=disp))


# -- logarithm, powers -----------------------------------------------------------------------------------

# Gauss's nodes and weights on [0, 1]: the Padé approximant of log(I + Y) is the sum of w (I + x Y)⁻¹ Y.
_nodes, _weights = np.polynomial.legendre.leggauss(7)
NODES, WEIGHTS = (_nodes + 1) / 2, _weights / 2
NEAR_ONE = 0.25  # up to this norm of Y its derivative is exact to rounding
MOST_ROOTS = 100


class _Logarithm:
    """A matrix, decomposed for the derivative of its logarithm: roots of its Schur form, down to near I.

    Al-Mohy, Higham and Relton (2013): ``log A = 2ˢ log A^(1/2ˢ)``, each root differentiated by a Sylvester
    equation of triangles, the last logarithm by its Padé approximant.
    """

    def __init__(self, A: Any) -> None:
        T, self.Z = scipy.linalg.schur(A)
        if T.dtype.kind != "c":  # real eigenvalues stay real: rounding must not choose the side of the cut
            T, self.Z = scipy.linalg.rsf2csf(T, self.Z)
        if not np.abs(np.diagonal(T)).min(initial=np.inf) > np.finfo(T.dtype).tiny:
            raise np.linalg.LinAlgError("logm: A is singular: its logarithm has no derivative")
        one = np.eye(len(T), dtype=T.dtype)
        self.roots: list[Any] = []
        while not np.abs(T - one).sum(axis=0).max(initial=0.0) <= NEAR_ONE:
            T = np.triu(scipy.linalg.sqrtm(T)).astype(T.dtype)
            self.roots.append(T)
            if len(self.roots) > MOST_ROOTS or not np.isfinite(T).all():
                raise np.linalg.LinAlgError("logm: the square roots of A do not converge to the identity")
        self.near = [one + T.dtype.type(x) * (T - one) for x in NODES]

    def derivative(self, E: Any) -> Any:
        E = adjoint(self.Z) @ E @ self.Z
        for root in self.roots:
            E = trsyl(root, root, E, ("N", "N"))[0]
        terms = [w * self.between(M, E) for w, M in zip(WEIGHTS.tolist(), self.near, strict=True)]
        return 2.0 ** len(self.roots) * (self.Z @ sum(terms) @ adjoint(self.Z))

    @staticmethod
    def between(M: Any, E: Any) -> Any:
        """``M⁻¹ E M⁻¹``, M triangular."""
        left = scipy.linalg.solve_triangular(M, E, check_finite=False)
        return scipy.linalg.solve_triangular(M, left.T, trans="T", check_finite=False).T


def _logarithms(A: Any) -> Any:
    """One `_Logarithm` for each matrix of a batch."""
    found = np.empty(A.shape[:-2], dtype=object)
    for index in np.ndindex(*found.shape):
        try:
            found[index] = _Logarithm(A[index])
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(f"{error} (batch index {index})" if index else str(error)) from error
    return found


def _derivatives(logarithms: Any, E: Any) -> Any:
    """The derivative of each along its E."""
    batch = np.broadcast_shapes(logarithms.shape, E.shape[:-2])
    logarithms, E = np.broadcast_to(logarithms, batch), np.broadcast_to(E, (*batch, *E.shape[-2:]))
    L = np.empty(E.shape, np.result_type(E, np.complex64))
    for index in np.ndindex(*batch):
        L[index] = logarithms[index].derivative(E[index])
    return L


def _derivative_by_blocks(A: Any, E: Any) -> Any:
    """``L(A, E)`` of the logarithm; real blocks for a real A, so that its real eigenvalues stay real."""
    if A.dtype.kind != "c" and E.dtype.kind == "c":
        return _derivative_by_blocks(A, E.real) + 1j * _derivative_by_blocks(A, E.imag)
    return upper_right(_logm(block_triangle(A, E)))


def _derivative_of_logm(A: Any, X: Any) -> Callable[[Any], Any]:
    """``E -> L(A, E)``, ``X = log A``."""

    @functools.cache
    def logarithms() -> Any:
        return _logarithms(A)

    def L(E: Any) -> Any:
        if not is_plain(A, E):
            return _derivative_by_blocks(A, E)
        found = _derivatives(logarithms(), E)
        return found.real if X.dtype.kind != "c" and E.dtype.kind != "c" else found

    return L


@operator(functools.partial(_of_scipy, scipy.linalg.logm))
def _logm(A: Any) -> Any:
    X = _logm(A)
    return X, _primary(_derivative_of_logm(A, X))


def logm(A: Any, disp: Any = UNSET) -> Any:
    """Principal logarithm of a matrix, ``expm(X) = A``.

    Parameters
    ----------
    A : (..., n, n) array
    disp : bool, optional
        False adds an estimate of the error; deprecated since SciPy 1.16.

    Returns
    -------
    X : (..., n, n) array
        Real for real A without negative eigenvalues.
    errest : float
        Under ``disp=False``.

    Warns
    -----
    RuntimeWarning
        As SciPy does where the result may be inaccurate.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular.

    Notes
    -----
    The derivative takes the square roots of the Schur form of A, which serve both directions, and a Sylvester
    equation of triangles for each of them: Al-Mohy, Higham and Relton (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import logm
    >>> logm(np.array([[1.0, 1.0], [0.0, 1.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return _with_options(_logm, scipy.linalg.logm, A, **_given(disp=disp))


def _plain_power(A: Any, t: Any) -> Any:
    return _of_scipy(scipy.linalg.fractional_matrix_power, A, t)


@operator(_plain_power)
def _power(A: Any, t: Any) -> Any:
    """``Aᵗ = exp(t M)``, ``M = log A``: ``L(A, E) = L_exp(t M, t L_log(A, E))``, ``∂/∂t = M Aᵗ``."""
    X = _power(A, t)
    real = X.dtype.kind != "c"

    @functools.cache
    def logarithm() -> tuple[Any, Any]:
        # in single precision SciPy's logarithm warns that it is inaccurate
        B = A.astype(np.result_type(A.dtype, np.float64))
        M = _logm(B)
        return M, _derivative_of_logm(B, M)

    def L(E: Any) -> Any:
        M, L_log = logarithm()
        found = lindiff.linalg.expm_frechet(t * M, t * L_log(E))
        return found.real if real and E.dtype.kind != "c" else found

    def change() -> Any:
        found = logarithm()[0] @ X
        return found.real if real else found

    return X, Differential(
        (L, lambda t_dot: change() * t_dot),
        (
            lambda X_bar: adjoint(L(adjoint(X_bar))),
            lambda X_bar: np.sum(np.real(np.conjugate(change()) * X_bar)),
        ),
    )


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Power of a matrix, ``Aᵗ``.

    Parameters
    ----------
    A : (..., n, n) array
    t : float
        May be differentiated, too.

    Returns
    -------
    (..., n, n) array
        Real for real A without negative eigenvalues, and for integer t.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular and t not an integer.

    Notes
    -----
    An integer t gives ``np.linalg.matrix_power``.  The derivative is that of ``expm(t * logm(A))``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import fractional_matrix_power
    >>> fractional_matrix_power(np.array([[4.0, 0.0], [0.0, 9.0]]), 0.5)
    array([[2., 0.],
           [0., 3.]])
    """
    if is_plain(A, t):
        return _plain_power(A, t)
    A = _inexact(_matrix(A, "fractional_matrix_power"))
    if is_plain(t) and t == int(t):
        return np.linalg.matrix_power(A, int(t))
    return _power(A, t)


# -- any function ----------------------------------------------------------------------------------------


class _Spectrum:
    """A diagonalizable matrix, ``A = V diag(w) V⁻¹``, for derivatives of its functions of any order.

    ``Dᵏf(A)[E₁, …, Eₖ] = V M V⁻¹``, ``M = Σ f[wᵢ, wⱼ, …] ∘ Ẽᵢⱼ Ẽⱼ…``, summed over inner indices and over the
    orders of the directions ``Ẽ = V⁻¹ E V``: Daleckii and Krein (1965), with divided differences.
    """

    def __init__(self, A: Any) -> None:
        eps = float(np.finfo(A.dtype).eps)
        skew = np.max(np.abs(A - adjoint(A)), initial=0.0)
        if skew <= A.shape[-1] * eps * np.max(np.abs(A), initial=0.0):
            self.w, self.V = np.linalg.eigh(hermitian_part(A))
            self.V_inv = adjoint(self.V)
            return
        self.w, self.V = np.linalg.eig(A)
        self.check(np.linalg.cond(self.V) ** 2 * eps, eps)
        self.V_inv = np.linalg.inv(self.V)

    @staticmethod
    def check(errors: Any, eps: float) -> None:
        """What rounding in the products with V and its inverse makes of a derivative must be small."""
        if np.all(errors <= eps**0.5):
            return
        index = np.unravel_index(np.argmax(errors), errors.shape)
        where = f" (batch index {tuple(int(i) for i in index)})" if index else ""
        if errors[index] < 1:
            warnings.warn(
                f"funm: A has nearly parallel eigenvectors, the derivative is accurate to "
                f"{errors[index]:.0e}{where}",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        raise np.linalg.LinAlgError(
            "funm: A has no basis of eigenvectors, to rounding, and the derivative of a function that is "
            f"given by its values cannot be found; write it in expm, logm, sqrtm and arithmetic{where}"
        )

    def derivative(self, func: Callable[..., Any], directions: list[Any], real: bool) -> Any:
        k, n = len(directions), self.w.shape[-1]
        w = self.w.astype(np.result_type(self.w, np.complex64))  # as SciPy calls func
        shapes = [tuple(n if i == j else 1 for j in range(k + 1)) for i in range(k + 1)]
        axes = [np.reshape(w, (*w.shape[:-1], *shape)) for shape in shapes]
        table = divided_differences(func, np.stack(np.broadcast_arrays(*axes), axis=-1))[0]
        letters = "abcdefgh"[: k + 1]
        subscripts = (
            ",".join(["..." + letters, *("..." + letters[i : i + 2] for i in range(k))])
            + f"->...{letters[0]}{letters[-1]}"
        )
        turned = [self.V_inv @ E @ self.V for E in directions]
        M = sum(np.einsum(subscripts, table, *order) for order in itertools.permutations(turned))
        D = self.V @ M @ self.V_inv
        return D.real if real else D


def divided_differences(func: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """``f[x₀, …, xₖ]`` over the last axis, and an estimate of its error.

    By quotients of differences; where their cancellation costs more, by the formula of Hermite and Genocchi:
    the mean of the k-th derivative over the simplex of the nodes, which is exact where they are equal.
    """
    k = x.shape[-1] - 1
    eps = np.finfo(x.dtype).eps
    if k == 0:
        y = func(x[..., 0])
        if not is_plain(y):
            raise TypeError(
                "funm: func gives a Variable for a plain array: its parameters cannot be differentiated"
            )
        return y, eps * np.abs(y)
    x = _farthest_at_ends(x)
    low, low_error = divided_differences(func, x[..., :-1])
    high, high_error = divided_differences(func, x[..., 1:])
    gap = x[..., -1] - x[..., 0]
    with np.errstate(all="ignore"):
        quotient = (high - low) / gap
        error = np.where(gap == 0, np.inf, (low_error + high_error) / np.abs(gap))
        mean = _mean_over_simplex(func, x, 8)
        mean_error = np.abs(mean - _mean_over_simplex(func, x, 6)) + eps * np.abs(mean)
    better = mean_error < error
    return np.where(better, mean, quotient), np.where(better, mean_error, error)


def _farthest_at_ends(x: Any) -> Any:
    """The nodes in an order in which the two that are farthest apart are first and last."""
    k = x.shape[-1]
    pairs = list(itertools.combinations(range(k), 2))
    distances = np.stack([np.abs(x[..., i] - x[..., j]) for i, j in pairs], axis=-1)
    orders = np.array([[i, *(m for m in range(k) if m not in (i, j)), j] for i, j in pairs])
    return np.take_along_axis(x, orders[np.argmax(distances, axis=-1)], axis=-1)


def _mean_over_simplex(func: Callable[..., Any], x: Any, count: int) -> Any:
    """``∫ f⁽ᵏ⁾(x₀ + t₁ (x₁ - x₀) + t₁ t₂ (x₂ - x₁) + …) t₁ᵏ⁻¹ t₂ᵏ⁻² … dt``, t in the unit cube."""
    k = x.shape[-1] - 1
    nodes, weights = np.polynomial.legendre.leggauss(count)
    total = 0.0
    derivative = _derivative(func, k)
    for chosen in itertools.product(range(count), repeat=k):
        t = (nodes[list(chosen)] + 1) / 2
        weight = float(np.prod(weights[list(chosen)] / 2 * t ** np.arange(k - 1, -1, -1)))
        at = x[..., 0]
        for i, step in enumerate(np.cumprod(t).tolist()):
            at = at + step * (x[..., i + 1] - x[..., i])
        total = total + weight * derivative(at)
    return total


def _derivative(func: Callable[..., Any], order: int) -> Callable[..., Any]:
    """The derivative of this order of an elementwise function."""
    if order == 0:
        return func
    lower = _derivative(func, order - 1)
    return lambda x: jvp(lower, (x,), (np.ones_like(value(x)),))[1]


@rule
def _funm_derivative(A: Any, directions: list[Any], func: Callable[..., Any], real: bool) -> Any:
    """``Dᵏf(A)[E₁, …, Eₖ]``, symmetric in its directions; its own derivative in A is the next one."""
    if is_plain(A, *directions):
        D = _Spectrum(A).derivative(func, directions, real)
    else:
        D = _funm_derivative(A, directions, func, real)

    def along(i: int, E: Any) -> Any:
        others = [*directions[:i], E, *directions[i + 1 :]]
        return _funm_derivative(A, others, func, real)

    def pushforward(A_dot: Any, directions_dot: list[Any]) -> Any:
        D_dot = _funm_derivative(A, [*directions, A_dot], func, real)
        for i, E_dot in enumerate(directions_dot):
            D_dot = D_dot + along(i, E_dot)
        return D_dot

    def pullback(D_bar: Any) -> Any:
        Z = adjoint(D_bar)
        return (
            adjoint(_funm_derivative(A, [*directions, Z], func, real)),
            [adjoint(along(i, Z)) for i in range(len(directions))],
            None,
            None,
        )

    return D, Differential(pushforward, pullback)


def _plain_funm(A: Any, func: Callable[..., Any]) -> Any:
    return _of_scipy(scipy.linalg.funm, A, func)


@operator(_plain_funm)
def _funm(A: Any, func: Callable[..., Any]) -> Any:
    F = _funm(A, func)
    real = F.dtype.kind != "c"

    @functools.cache
    def spectrum() -> _Spectrum:
        return _Spectrum(A)

    def L(E: Any) -> Any:
        if not is_plain(A, E):
            return _funm_derivative(A, [E], func, real)
        return spectrum().derivative(func, [E], real)

    return F, _primary(L)


def funm(A: Any, func: Callable[..., Any], disp: Any = UNSET) -> Any:
    """Function of a matrix, from a function of numbers.

    Parameters
    ----------
    A : (..., n, n) array
    func : callable
        Takes and returns an array, elementwise; called with complex arrays, as SciPy does.  For the
        derivative it must be written in functions that have rules, and be differentiable at the eigenvalues
        of A (over complex numbers, unless they are real).  It must not depend on other Variables.
    disp : bool, optional
        False adds an estimate of the error.

    Returns
    -------
    F : (..., n, n) array
    errest : float
        Under ``disp=False``.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A has no basis of eigenvectors, to rounding.

    Warns
    -----
    RuntimeWarning
        From the derivative, if A is close to such a matrix.

    Notes
    -----
    The derivative of any order is made of divided differences of `func` at the eigenvalues, which are exact
    where eigenvalues are equal or close: Daleckii and Krein (1965).  Its k-th order takes of the order of
    nᵏ⁺¹ values of derivatives of `func`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg.matrix_functions import funm
    >>> funm(np.array([[2.0, 0.0], [0.0, 3.0]]), lambda x: x * x)
    array([[4., 0.],
           [0., 9.]])
    """
    if not is_plain(A):
        A = _inexact(A)
    return _with_options(_funm, scipy.linalg.funm, A, func, **_given(disp=disp))
