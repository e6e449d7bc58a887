"""The matrix exponential by scaling and squaring of a Padé approximant, and its Fréchet derivative.

Scaling: Al-Mohy and Higham (2009), "A new scaling and squaring algorithm for the matrix exponential", with
bounds in the place of estimated norms; single precision: Higham (2008), section 10.3. Every matrix of a batch
has the approximant of the highest order and a scaling of its own: that is one sequence of batched products,
where lower orders for some would be a sequence for each. Derivative: Al-Mohy and Higham (2009), "Computing
the Fréchet derivative of the matrix exponential": the same steps, differentiated, with all that the
exponential has computed. Its adjoint is itself at the transposed arguments, L(Aᵀ, X) = L(A, Xᵀ)ᵀ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from lindiff_cuda import lu, rowmajor
from lindiff_cuda.arrays import Batch
from lindiff_cuda.checks import checking
from lindiff_cuda.triangles import diagonal

__all__ = ["expm", "expm_keeping", "expm_pullback", "expm_pushforward"]


class Approximant(NamedTuple):
    """The Padé approximant of a precision: its order, coefficients of its numerator, the bound of the norm up
    to which it is exact to rounding, the first coefficient of its backward error, the norm up to which powers
    do not overflow.
    """

    order: int
    coefficients: tuple[float, ...]
    bound: float
    error: float
    large: float

    @property
    def powers(self) -> int:
        """How many even powers it is written in."""
        return 3


APPROXIMANT = {
    "f": Approximant(
        order=7,
        coefficients=(17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1),
        bound=3.925724783138660,
        error=1 / 4487938430976000,
        large=1e5,
    ),
    "d": Approximant(
        order=13,
        coefficients=(
            *(64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000),
            *(10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1),
        ),
        bound=4.25,
        error=1 / 113250775606021113483283660800000000,
        large=1e40,
    ),
}

# What is kept of one matrix, in this order: matrices of its order.
SCALED = 0  # A / 2ˢ
POWERS = 1  # its powers 2, 4, 6
ODD = 4  # W: the approximant is (V - A W)⁻¹ (V + A W)
FACTORS = 5  # LU of its denominator
SQUARES = 6  # its squares, the approximant first; the last one is the exponential


# ---- stacks --------------------------------------------------------------------------------------------


def norm(X: Any) -> Any:
    """The largest sum of a column, (count,), in double precision; NaN or infinite if any entry is."""
    return abs(X).sum(axis=1, dtype=np.float64).max(axis=1)


def squarings_for(norms: Any, bound: float) -> Any:
    """⌈log₂(norm / bound)⌉, at least 0."""
    return cupy.maximum(cupy.ceil(cupy.log2(cupy.maximum(norms / bound, 1))), 0)


def extra_squarings(A: Any, size: Any, pade: Approximant) -> Any:
    """How often A must be halved, that the first term of the backward error is rounding, for the norm `size`.

    The term is taken of |A|, in which no entry cancels another.
    """
    m = pade.order
    precision = np.finfo(A.dtype).eps / 2
    size = cupy.maximum(size, np.finfo(np.float64).tiny)
    B = abs(A) / size[:, None, None].astype(A.dtype)
    v = B.sum(axis=1, keepdims=True)
    for _ in range(2 * m):
        w = cupy.empty(v.shape, v.dtype)
        rowmajor.gemm(v, B, w)
        v = w
    largest = v.max(axis=(1, 2)).astype(np.float64)
    term = np.log2(pade.error / precision) + 2 * m * cupy.log2(size)
    term += cupy.log2(cupy.maximum(largest, np.finfo(np.float64).tiny))
    return cupy.maximum(cupy.ceil(term / (2 * m)), 0)


def power_of_two(exponent: Any, dtype: Any) -> Any:
    return cupy.ldexp(cupy.ones(exponent.shape, dtype), exponent.astype(np.int32))


def scale_by(X: Any, exponent: Any) -> None:
    """X := X 2^exponent, an exponent for each matrix."""
    X *= power_of_two(exponent, X.dtype)[:, None, None]


def powers_into(A: Any, P: list[Any]) -> None:
    """P := A², A⁴, A⁶."""
    rowmajor.gemm(A, A, P[0])
    rowmajor.gemm(P[0], P[0], P[1])
    rowmajor.gemm(P[1], P[0], P[2])


def scale(A: Any, P: list[Any], pade: Approximant) -> Any:
    """A := A / 2ˢ, and its even powers; returns s, (count,), int32."""
    size = norm(A)
    most = squarings_for(size, pade.bound)
    first = cupy.where(size > pade.large, most, 0)  # of which the powers would overflow
    scale_by(A, -first)
    powers_into(A, P)
    of_4, of_6 = norm(P[1]), norm(P[2])
    of_2 = norm(P[0])
    d4, d6 = of_4 ** (1 / 4), of_6 ** (1 / 6)  # dk bounds |Aᵏ|^(1/k)
    d8 = cupy.minimum(d4, (of_6 * of_2) ** (1 / 8))
    eta = cupy.maximum(d6, d8)
    if pade.order > 7:
        eta = cupy.minimum(eta, cupy.maximum(d8, (of_4 * of_6) ** (1 / 10)))
    further = cupy.maximum(squarings_for(eta, pade.bound), extra_squarings(A, norm(A), pade))
    further = cupy.where(first > 0, 0, cupy.minimum(further, most))
    for power, X in enumerate((A, *P)):
        scale_by(X, -further * (2 * power or 1))
    return (first + further).astype(np.int32)


def combine(coefficients: tuple[float, ...], P: list[Any], out: Any) -> None:
    """out := the sum of coefficients[2k] P[k]."""
    out[...] = coefficients[0] * P[0]
    for c, X in zip(coefficients[2::2], P[1:], strict=False):
        out += c * X


def approximate(A: Any, P: list[Any], W: Any, Q: Any, R: Any, pade: Approximant) -> Any:
    """R := (V - U)⁻¹ (V + U) = I + 2 (V - U)⁻¹ U, U = A W; V and W are even polynomials in A.

    W is left as it is, Q with the factors of V - U; returns their pivots.
    """
    c = pade.coefficients
    combine(c[3:9], P, W)
    combine(c[2:8], P, Q)
    diagonal(W)[...] += c[1]
    diagonal(Q)[...] += c[0]
    if pade.order == 13:
        combine(c[9:], P, R)
        rowmajor.gemm(P[2], R, W, beta=1.0)
        combine(c[8:], P, R)
        rowmajor.gemm(P[2], R, Q, beta=1.0)
    rowmajor.gemm(A, W, R)
    Q -= R
    R *= 2
    piv, _ = lu.factor(Q)
    lu.solve(Q, piv, R, False)
    diagonal(R)[...] += 1
    return piv


def quotient(x: Any, y: Any) -> Any:
    """(exp(x) - exp(y)) / (x - y)."""
    half = (x - y) / 2
    near = abs(half) <= 1
    safe = cupy.where(half == 0, 1, half)
    by_sinh = cupy.exp((x + y) / 2) * cupy.where(half == 0, 1, cupy.sinh(cupy.where(near, safe, 1)) / safe)
    return cupy.where(near, by_sinh, (cupy.exp(x) - cupy.exp(y)) / cupy.where(near, 1, x - y))


def refine(A: Any, t: Any, chosen: Any, lower: bool, R: Any) -> None:
    """What is known of the exponential of t A where A is triangular, for the `chosen` matrices: its diagonal,
    the entries beside it, the zeros above (lower) or below.
    """
    n = A.shape[1]
    i = cupy.arange(n)
    rows, columns = (i[1:], i[:-1]) if lower else (i[:-1], i[1:])
    x = t[:, None] * diagonal(A).astype(np.float64)
    beside = t[:, None] * A[:, rows, columns].astype(np.float64)
    beside = cupy.where(beside == 0, 0, beside * quotient(x[:, :-1], x[:, 1:]))
    T = cupy.tril(R) if lower else cupy.triu(R)
    T[:, i, i] = cupy.exp(x).astype(R.dtype)
    T[:, rows, columns] = beside.astype(R.dtype)
    cupy.copyto(R, T, where=chosen[:, None, None])


def is_triangular(A: Any) -> tuple[Any, Any]:
    """Whether all entries above the diagonal vanish, and whether all below do; (count,) each."""
    return ~cupy.triu(A, 1).any(axis=(1, 2)), ~cupy.tril(A, -1).any(axis=(1, 2))


def exponential(A: Any, keep: bool) -> tuple[Any, Any, Any, Any]:
    """E, and with `keep` what the derivative needs: kept (count, slots, n, n), pivots, s; else None.

    What is read from the GPU, also within `unchecked`: the largest s, whether there are triangular matrices.
    """
    count, n, _ = A.shape
    pade = APPROXIMANT[A.dtype.char]
    finite = cupy.isfinite(A).all(axis=(1, 2))
    B = cupy.where(finite[:, None, None], A, 0)
    P = [cupy.empty(A.shape, A.dtype) for _ in range(pade.powers)]
    lower, upper = is_triangular(B)
    X = B.copy()
    s = scale(X, P, pade)
    most, some_lower, some_upper = cupy.stack([s.max(), lower.any(), upper.any()]).tolist()
    kept = cupy.zeros((count, SQUARES + most, n, n), A.dtype) if keep else None
    W, Q, R = (cupy.empty(A.shape, A.dtype) for _ in range(3))
    piv = approximate(X, P, W, Q, R, pade)
    if kept is not None:
        for slot, matrix in enumerate((X, *P, W, Q)):
            kept[:, slot] = matrix
    E = cupy.empty(A.shape, A.dtype)
    for k in range(most + 1):
        if k > 0:
            if kept is not None:
                kept[:, SQUARES + k - 1] = R
            rowmajor.gemm(R, R, E)
            cupy.copyto(R, E, where=(k <= s)[:, None, None])
        t = power_of_two(cupy.minimum(k - s, 0), np.float64)
        if some_lower:
            refine(B, t, lower & (k <= s), True, R)
        if some_upper:
            refine(B, t, upper & (k <= s), False, R)
    cupy.copyto(R, np.nan, where=~finite[:, None, None])
    return R, kept, piv, s


def frechet(E: Any, kept: Any, piv: Any, s: Any, X: Any) -> None:
    """X := L(A, X)."""
    pade = APPROXIMANT[X.dtype.char]
    c = pade.coefficients
    A, W, Q = (kept[:, slot] for slot in (SCALED, ODD, FACTORS))
    P = [kept[:, POWERS + k] for k in range(pade.powers)]
    scale_by(X, -s)
    D = [cupy.empty(X.shape, X.dtype) for _ in P]  # derivatives of the powers
    commuted(A, X, X, A, D[0])
    commuted(P[0], D[0], D[0], P[0], D[1])
    commuted(P[1], D[0], D[1], P[0], D[2])
    W_dot, V_dot, U_dot = (cupy.empty(X.shape, X.dtype) for _ in range(3))
    combine(c[3:9], D, W_dot)
    combine(c[2:8], D, V_dot)
    if pade.order == 13:
        for high, out in ((c[9:], W_dot), (c[8:], V_dot)):
            combine(high, D, U_dot)
            rowmajor.gemm(P[2], U_dot, out, beta=1.0)
            combine(high, P, U_dot)
            rowmajor.gemm(D[2], U_dot, out, beta=1.0)
    commuted(A, W_dot, X, W, U_dot)
    # (V - U) L = U_dot + V_dot + (U_dot - V_dot) R
    X[...] = U_dot + V_dot
    U_dot -= V_dot
    squares = [kept[:, SQUARES + k] for k in range(kept.shape[1] - SQUARES)]
    first = cupy.where((s > 0)[:, None, None], squares[0], E) if squares else E
    rowmajor.gemm(U_dot, first, X, beta=1.0)
    lu.solve(cupy.ascontiguousarray(Q), piv, X, False)
    for k, R in enumerate(squares):
        commuted(R, X, X, R, U_dot)
        cupy.copyto(X, U_dot, where=(k < s)[:, None, None])


def commuted(A: Any, X: Any, Y: Any, B: Any, C: Any) -> None:
    """C := A X + Y B."""
    rowmajor.gemm(A, X, C)
    rowmajor.gemm(Y, B, C, beta=1.0)


# ---- arrays --------------------------------------------------------------------------------------------


def expm(A: Any) -> Any:
    """Six products, one LU factorization and solve (together 44n³/3 flops), and a product for each squaring
    that any matrix of the batch needs; temporaries of ten matrices. Of triangular matrices the diagonal and
    the entries beside it are exact to rounding.
    """
    return evaluate(A, False)[0]


def expm_keeping(A: Any) -> tuple[Any, Any, Any]:
    """The cost is that of `expm`. The order in `piv` is 0 for what needs no approximant."""
    return evaluate(A, True)


def evaluate(A: Any, keep: bool) -> tuple[Any, Any, Any]:
    """The exponential, with `keep` also what its derivative needs."""
    batch = Batch("expm", real=True)
    X = batch.read(batch.square(A, "A"))
    count, n, _ = X.shape
    if X.size == 0:
        E, kept, piv = (batch.empty(*core) for core in ((n, n), (SQUARES * n, n), (n + 2,)))
        piv = cupy.zeros(piv.shape, np.int32)
        return batch.result(E), batch.result(kept), batch.result(piv)
    E, kept, pivots, s = exponential(X, keep)
    if not keep:
        return batch.result(E), None, None
    needs = cupy.isfinite(X).all(axis=(1, 2))
    order = APPROXIMANT[X.dtype.char].order
    piv = cupy.empty((count, n + 2), np.int32)
    piv[:, :n] = pivots
    piv[:, n] = order * needs
    piv[:, n + 1] = s
    return batch.result(E), batch.result(kept.reshape(count, -1, n)), batch.result(piv)


def expm_pushforward(E: Any, kept: Any, piv: Any, A_dot: Any, overwrite_a_dot: bool = False) -> Any:
    """At most twice the flops of `expm`; temporaries of seven matrices."""
    return derivative("expm_pushforward", E, kept, piv, A_dot, "A_dot", False, overwrite_a_dot)


def expm_pullback(E: Any, kept: Any, piv: Any, E_bar: Any, overwrite_e_bar: bool = False) -> Any:
    """At most twice the flops of `expm`; temporaries of seven matrices."""
    return derivative("expm_pullback", E, kept, piv, E_bar, "E_bar", True, overwrite_e_bar)


def derivative(
    operator: str, E: Any, kept: Any, piv: Any, X: Any, argument: str, transpose: bool, overwrite: bool
) -> Any:
    """The Fréchet derivative along X, that at the transpose if `transpose`, from what `evaluate` has kept."""
    batch = Batch(operator, real=True)
    E, kept, X = batch.square(E, "E"), batch.enter(kept, "kept"), batch.enter(X, argument)
    batch.same_matrix(E, X, "E", argument)
    batch.keep(E, kept)
    n = E.shape[-1]
    pivots = lu.enter_pivots(batch, piv, n + 2)
    slots = kept.shape[-2] // max(n, 1) if kept.shape[-1] == n else 0
    if not is_kept(pivots, n, slots, APPROXIMANT[batch.dtype.char].order):
        raise ValueError(f"{operator}: E, kept and piv are not what expm_keeping has given")
    result = batch.own(X, overwrite)
    Y = batch.stack(result)
    if Y.size == 0:
        return result
    K = batch.read(kept)
    K = K.reshape(K.shape[0], slots, n, n)
    order, s = pivots[:, n], pivots[:, n + 1]
    Z = Y.swapaxes(1, 2).copy() if transpose else Y
    frechet(batch.read(E), K, pivots[:, :n], s, Z)
    cupy.copyto(Z, np.nan, where=(order == 0)[:, None, None])
    if transpose:
        Y[...] = Z.swapaxes(1, 2)
    return result


def is_kept(piv: Any, n: int, slots: int, order: int) -> bool:
    """Whether pivots, order and squarings are such as `expm_keeping` gives; within `unchecked` of the number
    of matrices alone.
    """
    if slots < SQUARES and n > 0:
        return False
    if not checking() or piv.size == 0 or n == 0:
        return True
    m, s = piv[:, n], piv[:, n + 1]
    indices = ((piv[:, :n] >= 0) & (piv[:, :n] < n)).all(axis=1)
    return bool((indices & ((m == order) | (m == 0)) & (s >= 0) & (s + SQUARES <= slots)).all())
