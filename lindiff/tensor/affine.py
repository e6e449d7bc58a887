"""Integer forms of indices: sums of products of names, with exact coefficients.

``2*i - k + m*j + 3`` is such a form; ``i``, ``j`` and ``k`` may be indices and ``m`` an integer that is known
later.  A form is affine in the indices where no product has two of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import chain
from math import lcm
from typing import Any, TypeAlias, Union

__all__ = ["Affine", "AffineLike", "Exact", "affine"]

Exact: TypeAlias = int | Fraction
AffineLike: TypeAlias = Union["Affine", str, int, Fraction]


def _tidy(x: Exact) -> Exact:
    return x.numerator if x.denominator == 1 else x


class Affine:
    """A sum of products of names.

    Attributes
    ----------
    terms : dict of tuple of str to int or Fraction
        The coefficient of each product of names; ``()`` is the constant.
    names : frozenset of str
    """

    __slots__ = ("_hash", "names", "terms")

    def __init__(self, terms: Mapping[tuple[str, ...], Exact]) -> None:
        self.terms = {names: _tidy(c) for names, c in sorted(terms.items()) if c}
        self.names = frozenset(chain.from_iterable(self.terms))
        self._hash = hash(tuple(self.terms.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Affine, (self.terms,)  # another process has other hashes

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine):
            return NotImplemented
        return self.terms == other.terms

    def __repr__(self) -> str:
        return f"<{self.text()}>"

    def __add__(self, other: AffineLike) -> Affine:
        terms = dict(self.terms)
        for names, c in affine(other).terms.items():
            terms[names] = terms.get(names, 0) + c
        return Affine(terms)

    def __sub__(self, other: AffineLike) -> Affine:
        terms = dict(self.terms)
        for names, c in affine(other).terms.items():
            terms[names] = terms.get(names, 0) - c
        return Affine(terms)

    def __neg__(self) -> Affine:
        return Affine({names: -c for names, c in self.terms.items()})

    def __mul__(self, other: AffineLike) -> Affine:
        if isinstance(other, int):
            return self if other == 1 else Affine({names: c * other for names, c in self.terms.items()})
        terms: dict[tuple[str, ...], Exact] = {}
        for names, c in self.terms.items():
            for others, d in affine(other).terms.items():
                product = tuple(sorted((*names, *others)))
                terms[product] = terms.get(product, 0) + c * d
        return Affine(terms)

    def __truediv__(self, divisor: int) -> Affine:
        return Affine({names: Fraction(c) / divisor for names, c in self.terms.items()})

    @property
    def constant(self) -> Exact:
        return self.terms.get((), 0)

    @property
    def number(self) -> Exact | None:
        """Its value where that depends on no name."""
        return None if self.terms.keys() - {()} else self.constant

    def coefficient(self, name: str) -> Affine:
        """What ``name`` is multiplied by, in a form that is affine in it."""
        found = {}
        for names, c in self.terms.items():
            if name in names:
                rest = list(names)
                rest.remove(name)
                found[tuple(rest)] = c
        return Affine(found)

    def without(self, names: Collection[str]) -> Affine:
        """The part that none of these names is in."""
        return Affine({product: c for product, c in self.terms.items() if not set(product) & set(names)})

    def product_of_two(self, indices: Collection[str]) -> tuple[str, ...] | None:
        """A product with two of these indices; None in a form that is affine in them."""
        for product in self.terms:
            if sum(name in indices for name in product) > 1:
                return product
        return None

    def substituted(self, by: Mapping[str, AffineLike]) -> Affine:
        if by.keys().isdisjoint(self.names):
            return self
        total = Affine({})
        for names, c in self.terms.items():
            product = Affine({(): c})
            for name in names:
                product = product * by.get(name, name)
            total = total + product
        return total

    def denominator(self) -> int:
        """The least number that makes all coefficients integers."""
        return lcm(*(c.denominator for c in self.terms.values()))

    def text(self) -> str:
        """As it is written, the constant last."""
        divisor = self.denominator()
        written = ""
        for product in sorted(self.terms, key=lambda names: (not names, names)):
            c = self.terms[product] * divisor
            sign = "-" if c < 0 else "+"
            factors = [str(abs(c))] * (abs(c) != 1 or not product) + list(product)
            written += f" {sign} " if written else "-" * (c < 0)
            written += "*".join(factors)
        if divisor != 1:
            return f"({written})/{divisor}" if len(self.terms) > 1 else f"{written}/{divisor}"
        return written or "0"


def affine(x: AffineLike) -> Affine:
    """A name or a number as a form."""
    if isinstance(x, Affine):
        return x
    return Affine({(x,): 1} if isinstance(x, str) else {(): x})
