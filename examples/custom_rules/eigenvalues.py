"""Eigenvalues: the vectors that only the derivative needs are computed with the value.

For A = V diag(w) V⁻¹ the derivative of the eigenvalues is dw = diag(V⁻¹ dA V), so its pullback needs the
vectors.  `np.linalg.eigvals` would throw them away, and the pullback would have to compute the whole
decomposition again; another algorithm gives the values together with them.  They differ in the last places.
"""

import numpy as np

import lindiff as ld


def pull(V, w_bar):
    """V⁻ᴴ diag(w̄) Vᴴ."""
    V_adjoint = V.conj().T
    return np.linalg.solve(V_adjoint, w_bar[:, None] * V_adjoint)


@ld.rule
def naive(A):
    """Values alone; then, in the pullback, everything."""
    return np.linalg.eigvals(A), lambda w_bar: pull(np.linalg.eig(A)[1], w_bar)


@ld.rule
def eigenvalues(A):
    """Everything, once."""
    w, V = np.linalg.eig(A)
    return w, lambda w_bar: pull(V, w_bar)


SIZES = (20, 200)


def arguments(size, rng):
    A = rng.normal(size=(size, size))
    return (
        A @ A.T / size + np.diag(4.0 * np.arange(size)) + 0.01 * A,
    )  # real eigenvalues, apart from each other
