"""All integer solutions of ``A z = b``, exactly.

Urban and van der Smagt (2017), Automatic Differentiation for Tensor Algebras, take the singular value
decomposition of A for the particular solution ``A⁺ b``, the kernel K and the condition ``C b = 0``.  Over the
integers that is the Smith normal form ``P A Q = S``: with ``z = Q y`` it reads ``S y = P b``, so that
``(P b)_r`` has to be divisible by ``s_r`` up to the rank of S, and to vanish behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Lattice", "smith"]

Matrix = list[list[int]]


def _unit(n: int) -> Matrix:
    return [[int(i == j) for j in range(n)] for i in range(n)]


def smith(A: Matrix) -> tuple[Matrix, list[int], Matrix]:
    """``P``, the diagonal of ``S`` (its nonzeros) and ``Q``, with ``P A Q = S`` and P, Q unimodular.

    The diagonal is positive; its numbers need not divide each other, which solving does not ask for.

    Cost: O(m n min(m, n)) operations on integers for each round of division.
    """
    S = [list(row) for row in A]
    m, n = len(S), len(S[0]) if S else 0
    P, Q = _unit(m), _unit(n)
    diagonal: list[int] = []
    for r in range(min(m, n)):
        if not _put_least_at(S, P, Q, r):
            break
        while not _cleared(S, P, Q, r):
            _put_least_at(S, P, Q, r, cross=True)
        if S[r][r] < 0:
            S[r] = [-x for x in S[r]]
            P[r] = [-x for x in P[r]]
        diagonal.append(S[r][r])
    return P, diagonal, Q


def _put_least_at(S: Matrix, P: Matrix, Q: Matrix, r: int, cross: bool = False) -> bool:
    """Bring the least entry to (r, r), with ``cross`` that of row and column r; False where all are 0."""
    places = [
        (abs(S[i][j]), i, j)
        for i in range(r, len(S))
        for j in range(r, len(S[i]))
        if S[i][j] and (not cross or i == r or j == r)
    ]
    if not places:
        return False
    _, i, j = min(places)
    S[r], S[i], P[r], P[i] = S[i], S[r], P[i], P[r]
    for M in (S, Q):
        for row in M:
            row[r], row[j] = row[j], row[r]
    return True


def _cleared(S: Matrix, P: Matrix, Q: Matrix, r: int) -> bool:
    """Subtract multiples of row and column r; whether nothing is left beside the diagonal."""
    pivot = S[r][r]
    for i in range(r + 1, len(S)):
        times = S[i][r] // pivot
        if times:
            S[i] = [x - times * y for x, y in zip(S[i], S[r], strict=True)]
            P[i] = [x - times * y for x, y in zip(P[i], P[r], strict=True)]
    for j in range(r + 1, len(S[r])):
        times = S[r][j] // pivot
        if times:
            for M in (S, Q):
                for row in M:
                    row[j] -= times * row[r]
    rest = [S[i][r] for i in range(r + 1, len(S))] + S[r][r + 1 :]
    return not any(rest)


@dataclass(frozen=True)
class Lattice:
    """The solutions ``z = Q y`` of ``A z = b``: ``y_r = (P b)_r / s_r`` up to the rank, any integers behind.

    Attributes
    ----------
    rows : list of list of int
        P.
    divisors : list of int
        s, all positive.
    columns : list of list of int
        Q.
    """

    rows: Matrix
    divisors: list[int]
    columns: Matrix

    @classmethod
    def of(cls, A: Matrix) -> Lattice:
        return cls(*smith(A))

    @property
    def rank(self) -> int:
        return len(self.divisors)
