"""The square-root form of the filter: factors in place of covariances, by LQ factorizations.

A factor has the square root of its covariance's condition number, and what it is the factor of cannot become
indefinite.  Values come from the factors.  Derivatives are those of the recursion for covariances, taken at
these values: they hold where a covariance is singular and has no differentiable factor, and rounding touches
them as it does those of the covariance form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import zeros_beside
from lindiff.core.differential import Differential, Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.kernels.matmul import product
from lindiff.linalg import gelqf_l, trsm
from lindiff.linalg._matrices import transposed
from lindiff.linalg.cholesky import potrf_pullback, potrf_pushforward
from lindiff.statespace.composed.grouping import Group
from lindiff.statespace.semidefinite import factors, semidefinite_factor

__all__ = ["SquareRoots", "factor_with_value", "with_value"]


@rule
def with_value(x: Any, *, known: Any) -> Any:
    """x, of which the value is known better."""
    y = with_value(x, known=known) if type(x) is Variable else known
    return y, Linear(lambda x_dot: x_dot, lambda y_bar: y_bar)


@rule
def factor_with_value(S: Any, *, known: Any) -> Any:
    """The Cholesky factor of S, of which the value is known better."""
    L = factor_with_value(S, known=known) if type(S) is Variable else known
    return L, Differential(
        lambda S_dot: potrf_pushforward(L, 0.5 * (S_dot + transposed(S_dot))),
        lambda L_bar: potrf_pullback(L, L_bar),
    )


@rule
def solved_with_value(L: Any, C: Any, *, known: Any) -> Any:
    """``W = L⁻¹ C``, of which the value is known better."""
    W = solved_with_value(L, C, known=known) if Variable in (type(L), type(C)) else known

    def pushforward(L_dot: Any, C_dot: Any) -> Any:
        return trsm(L, C_dot - product(np.tril(L_dot), W))

    def pullback(W_bar: Any) -> Any:
        C_bar = trsm(L, W_bar, transpose=True)
        return -np.tril(product(C_bar, transposed(W))), C_bar

    return W, Differential(pushforward, pullback)


class SquareRoots:
    """The factors of a group's covariances, one step after the other; plain arrays.

    ::

        [ R½  B U ]  =  [ L   0   ] O₁,      [ A U_f  Q½ ]  =  U⁺ O₂
        [ 0   U   ]     [ Wᵀ  U_f ]

    with P = U Uᵀ, S = L Lᵀ, and orthogonal O₁, O₂ that are never formed.  Anderson & Moore (1979), section
    6.5; Morf & Kailath (1975).
    """

    def __init__(self, group: Group, name: str) -> None:
        self.group = group
        self.U = semidefinite_factor(value(group.initial_state_cov), name, "initial_state_cov")
        self.of_state = factors(_values(group.state_cov), name, "state_cov")
        self.of_obs = factors(_values(group.obs_cov), name, "obs_cov")

    def observed(self, B: Any, P: Any, R: Any, t: int, o: Any) -> tuple[Any, Any]:
        """L and W of the observed places o, and their derivatives by B, P and R."""
        noise, U = self.of_obs[t][..., o, :], self.U
        loaded = product(value(B), U)
        top = _side_by_side(noise, loaded)
        below = _side_by_side(zeros_beside(U, (U.shape[-2], noise.shape[-1]), U.dtype), U)
        lead = top.shape[:-2]
        L = gelqf_l(np.concatenate([top, np.broadcast_to(below, (*lead, *below.shape[-2:]))], axis=-2))
        m = top.shape[-2]
        pivots = np.diagonal(L, axis1=-2, axis2=-1)[..., :m]
        rounding = 10 * L.shape[-1] * np.finfo(L.dtype).eps * np.sqrt(np.sum(top * top, axis=-1))
        if not np.all(pivots > rounding):
            raise np.linalg.LinAlgError("a combination of the observations has no variance")
        self.U = L[..., m:, m:]
        C = with_value(product(B, P), known=product(loaded, transposed(U)))
        factor = factor_with_value(product(C, transposed(B)) + R, known=L[..., :m, :m])
        return factor, solved_with_value(factor, C, known=transposed(L[..., m:, :m]))

    def predict(self, t: int) -> None:
        """From the state of step t to the next."""
        self.U = gelqf_l(_side_by_side(product(value(self.group.transition[t]), self.U), self.of_state[t]))

    def substituted(self, P: Any) -> Any:
        """The covariance P of the state, with its value from the factor."""
        return with_value(P, known=product(self.U, transposed(self.U)))


def _values(covs: list[Any]) -> list[Any]:
    """Plain arrays; one for what is constant."""
    known = {id(cov): value(cov) for cov in covs}
    return [known[id(cov)] for cov in covs]


def _side_by_side(a: Any, b: Any) -> Any:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b)], axis=-1)
