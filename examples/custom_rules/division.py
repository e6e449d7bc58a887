"""Matrix division: the pullback solves with the factor that the value was found with.

For X = A⁻¹ B, Giles (2008):

    B̄ = A⁻ᴴ X̄,   Ā = -B̄ Xᴴ.

Solving with Aᴴ from nothing takes a second LU factorization, 2n³/3 operations; with the factor of A it takes
2n² for each right-hand side.
"""

import numpy as np

import lindiff as ld


@ld.rule
def naive(A, b):
    """Each solve factorizes."""
    x = np.linalg.solve(A, b)

    def pullback(x_bar):
        b_bar = np.linalg.solve(A.conj().T, x_bar)
        return -np.outer(b_bar, x.conj()), b_bar

    return x, pullback


@ld.rule
def divide(A, b):
    """One factorization for both."""
    factor = ld.linalg.lu_factor(A)
    x = factor.solve(b)

    def pullback(x_bar):
        b_bar = factor.solve(x_bar, transpose="C")
        return -np.outer(b_bar, x.conj()), b_bar

    return x, pullback


SIZES = (100, 1000)


def arguments(size, rng):
    return rng.normal(size=(size, size)) + size * np.eye(size), rng.normal(size=size)
