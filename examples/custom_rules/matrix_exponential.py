"""The exponential of a matrix: the derivative reuses the powers and the factor of the Padé approximant.

Scaling and squaring, Higham (2005): with A = B 2ˢ and the Padé approximant of order 13, of numerator V + U
and denominator V - U (U odd in B, V even),

    exp(B) = (V - U)⁻¹ (V + U),   exp(A) = exp(B) squared s times.

Al-Mohy & Higham (2009) differentiate this as it stands: every product in it becomes two, the powers of B, the
squares and the factor of V - U are there already.  The pullback is the derivative at Aᴴ, whose powers are
those of A, transposed.
"""

import numpy as np
import scipy.linalg

import lindiff as ld

PADE = [64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
        10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1]  # fmt: skip
BOUND = 5.37


@ld.rule
def naive(A):
    """The pullback starts from nothing."""

    def pullback(Y_bar):
        return scipy.linalg.expm_frechet(A.conj().T, Y_bar, compute_expm=False)

    return scipy.linalg.expm(A), pullback


@ld.rule
def matrix_exponential(A):
    """Value and derivative from the same powers, factor and squares."""
    norm = np.linalg.norm(ld.value(A), 1)
    squarings = max(0, int(np.ceil(np.log2(norm / BOUND)))) if norm > 0 else 0
    one = np.eye(len(A))
    c = PADE

    B = A / 2**squarings
    B2 = B @ B
    B4 = B2 @ B2
    B6 = B4 @ B2
    high = c[13] * B6 + c[11] * B4 + c[9] * B2
    W = B6 @ high + c[7] * B6 + c[5] * B4 + c[3] * B2 + c[1] * one
    U = B @ W
    high_even = c[12] * B6 + c[10] * B4 + c[8] * B2
    V = B6 @ high_even + c[6] * B6 + c[4] * B4 + c[2] * B2 + c[0] * one
    denominator = ld.linalg.lu_factor(V - U)
    squares = [denominator.solve(V + U)]
    for _ in range(squarings):
        squares.append(squares[-1] @ squares[-1])

    def pullback(Y_bar):
        # X ↦ the derivative at A in the direction of X, applied to transposes: L(Aᴴ, Ȳ) = L(A, Ȳᴴ)ᴴ
        return pushforward(Y_bar.conj().T).conj().T

    def pushforward(A_dot):
        D = A_dot / 2**squarings
        M2 = B @ D + D @ B
        M4 = B2 @ M2 + M2 @ B2
        M6 = B4 @ M2 + M4 @ B2
        W_dot = (
            B6 @ (c[13] * M6 + c[11] * M4 + c[9] * M2) + M6 @ high + c[7] * M6 + c[5] * M4 + c[3] * M2
        )  # fmt: skip
        U_dot = B @ W_dot + D @ W
        V_dot = (
            B6 @ (c[12] * M6 + c[10] * M4 + c[8] * M2) + M6 @ high_even + c[6] * M6 + c[4] * M4 + c[2] * M2
        )  # fmt: skip
        E_dot = denominator.solve(V_dot + U_dot + (U_dot - V_dot) @ squares[0])
        for E in squares[:-1]:
            E_dot = E @ E_dot + E_dot @ E
        return E_dot

    return squares[-1], ld.Differential(pushforward, pullback)


SIZES = (20, 200)


def arguments(size, rng):
    return (rng.normal(size=(size, size)) * 4 / np.sqrt(size),)
