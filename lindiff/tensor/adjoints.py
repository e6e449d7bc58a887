"""Derivatives of expressions, as expressions: adjoints and tangents.

An array that is read at ``A α`` has the adjoint

    x̄[β] = Σ_{α: A α = β} f̄[α] ∂f[α] / ∂x[A α]

(Urban and van der Smagt 2017, Automatic Differentiation for Tensor Algebras), a sum over all indices of its
expression but for those that the equation cancels.  Of several statements the adjoints are taken from the
last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import (
    ONE,
    Access,
    Apply,
    Condition,
    Number,
    Scalar,
    accesses,
    at_least,
    is_number,
    substituted,
    times,
)
from lindiff.tensor.names import Names, free_names, size_of_axis
from lindiff.tensor.partials import conjugate, pulled, pushed
from lindiff.tensor.solving import counted_from_zero, solved
from lindiff.tensor.statements import (
    NEW_INDICES,
    Statement,
    Term,
    as_product,
    box_of,
    of_known_shapes,
    shapes_of,
    tidy,
)

__all__ = ["Contribution", "Contributions", "adjoint", "tangent"]


def adjoint(
    statements: list[Statement],
    by: str,
    rank: int,
    bar: Callable[[str], str],
    sizes: dict[str, Affine],
    alike: Mapping[str, Affine],
    conjugated: bool,
) -> list[Statement]:
    """The statements of the adjoint of an array, after those of the value that it needs.

    Parameters
    ----------
    statements : list of Statement
        Of the value; the last one is the result.
    by : str
        The array.
    rank : int
        How many axes it has.
    bar : callable
        From the name of a tensor to that of its adjoint; that of the result's is given.
    sizes : dict of str to Affine
        Of the indices of products; those of new ones are added.
    alike : dict of str to Affine
        Sizes of axes that are the same as others.
    conjugated : bool
        Whether numbers are complex: a cotangent is multiplied by the conjugates of derivatives.
    """
    return _Adjoint(statements, bar, sizes, alike, conjugated).of(by, rank)


def names_in(statements: list[Statement]) -> Iterator[str]:
    """All names that statements use."""
    yield from forms_in(statements)
    for statement in statements:
        yield statement.name
        yield from statement.indices
        for term in statement.terms:
            yield from term.summed
            for access in accesses(term.body):
                yield access.array


def forms_in(statements: Iterable[Statement]) -> Iterator[str]:
    """The indices and integers of subscripts and conditions."""
    for statement in statements:
        for term in statement.terms:
            yield from free_names(term.body)
            for condition in term.domain:
                yield from condition.names


@dataclass(frozen=True)
class Contribution:
    """``factor ∂body/∂access``, summed over the indices of a statement and of one of its terms.

    Attributes
    ----------
    access : Access
    indices : tuple of str
    conditions : tuple of Condition
    body : Scalar
        The factor and the derivative, as a product where sums may have to be taken apart.
    alone : Scalar
        The same where nothing is summed.
    """

    access: Access
    indices: tuple[str, ...]
    conditions: tuple[Condition, ...]
    body: Scalar
    alone: Scalar


class Contributions:
    """What each element of an expression contributes to derivatives: its own slope, without a cotangent."""

    def __init__(self, statements: list[Statement], sizes: dict[str, Affine]) -> None:
        self._made = _Slopes(statements, str, sizes, {})

    @property
    def of_value(self) -> list[Statement]:
        """What slopes need besides the statements."""
        return self._made.of_value

    def of(self, statement: Statement, term: Term) -> Iterator[Contribution]:
        for access in accesses(term.body):
            yield from self._made.contributions(statement, term, access)


class _Adjoint:
    def __init__(
        self,
        statements: list[Statement],
        bar: Callable[[str], str],
        sizes: dict[str, Affine],
        alike: Mapping[str, Affine],
        conjugated: bool = False,
    ) -> None:
        self.statements, self.bar, self.sizes, self.alike = statements, bar, sizes, alike
        self.conjugated = conjugated
        used = set(names_in(statements))
        self.names = Names(used)
        indices = {i for s in statements for i in s.indices}
        self.told = used - indices - {i for s in statements for term in s.terms for i in term.summed}
        self.of_value: list[Statement] = []  # what adjoints need besides the value's own
        self._shares: dict[tuple[str, Term], Scalar] = {}

    def of(self, by: str, rank: int) -> list[Statement]:
        depending = self.depending_on(by)
        found: list[Statement] = []
        contributions: dict[str, list[Contribution]] = {}
        for statement in reversed(self.statements):
            if statement.name not in depending:
                continue
            if statement is not self.statements[-1]:
                found.append(self.gathered(statement.name, statement.sizes, contributions))
            for term in statement.terms:
                for access in accesses(term.body):
                    if access.array in depending or access.array == by:
                        contributions.setdefault(access.array, []).extend(
                            self.contributions(statement, term, access)
                        )
        sizes = tuple(affine(size_of_axis(by, axis)) for axis in range(rank))
        found.append(self.gathered(by, sizes, contributions))
        shapes = shapes_of([*self.statements, *self.of_value])
        found = [of_known_shapes(statement, shapes) for statement in found]
        return _needed([*self.statements, *self.of_value, *found])

    def depending_on(self, by: str) -> set[str]:
        """The statements that an array has an influence on."""
        found = {by}
        for statement in self.statements:
            if any(access.array in found for term in statement.terms for access in accesses(term.body)):
                found.add(statement.name)
        return found - {by}

    def contributions(self, statement: Statement, term: Term, access: Access) -> Iterator[Contribution]:
        share = self.share(statement, term)
        x_bar = times(self.cotangent(statement), conjugate(share) if self.conjugated else share)
        body = pulled(term.body, access, x_bar, True, self.conjugated)
        if is_number(body, 0):
            return
        # the adjoint of what is in between may be infinite, or 0 beside elements that nothing reads
        is_last = statement is self.statements[-1]
        alone = body if is_last else pulled(term.body, access, x_bar, False, self.conjugated)
        conditions = (*statement.box(), *term.domain)
        indices = (*statement.indices[::-1], *term.summed[::-1])
        yield Contribution(access, indices, conditions, body, alone)

    def cotangent(self, statement: Statement) -> Scalar:
        return Access(self.bar(statement.name), tuple(map(affine, statement.indices)))

    def share(self, statement: Statement, term: Term) -> Scalar:
        """The derivative of a reduction by each of its numbers."""
        key = statement.name, term
        if key not in self._shares:
            self._shares[key] = self._share(statement, term)
        return self._shares[key]

    def _share(self, statement: Statement, term: Term) -> Scalar:
        if term.kind == "sum":
            return Number(1)
        if term.kind == "prod":
            before, after = (self.part_of_product(statement, term, behind) for behind in (False, True))
            return before * after
        value = Access(statement.name, tuple(map(affine, statement.indices)))
        is_extreme = Apply(
            np.logical_or, (Apply(np.equal, (term.body, value)), Apply(np.isnan, (term.body,)))
        )
        return 1 / self.ties(statement, term, is_extreme) * is_extreme

    def part_of_product(self, statement: Statement, term: Term, behind: bool) -> Access:
        """The product of what comes before each of the factors, or behind it."""
        (index,) = term.summed
        other = self.names.fresh(index)
        by = {index: other}
        order = at_least(other, affine(index) + 1) if behind else at_least(index, affine(other) + 1)
        domain = (*(c.substituted(by) for c in term.domain), order)
        self.sizes[other] = self.sizes[index]
        name = self.names.fresh("behind" if behind else "before")
        product = Term("prod", (other,), domain, substituted(term.body, by))
        indices = (*statement.indices, index)
        self.of_value.append(Statement(name, indices, (*statement.sizes, self.sizes[index]), (product,)))
        return Access(name, tuple(map(affine, indices)))

    def ties(self, statement: Statement, term: Term, is_extreme: Scalar) -> Access:
        """How many numbers are the largest: these share a derivative."""
        name = self.names.fresh("ties")
        count = Term("sum", term.summed, term.domain, is_extreme)
        self.of_value.append(Statement(name, statement.indices, statement.sizes, (count,)))
        return Access(name, tuple(map(affine, statement.indices)))

    def gathered(
        self, array: str, sizes: tuple[Affine, ...], contributions: dict[str, list[Contribution]]
    ) -> Statement:
        """The adjoint of an array: all that its elements have contributed to."""
        given = contributions.get(array, [])
        first = given[0] if given else None
        indices = self.free_indices(first, len(sizes))
        terms = [term for each in given if (term := self.solved(each, indices, sizes)) is not None]
        return Statement(self.bar(array), indices, sizes, tuple(terms))

    def free_indices(self, first: Contribution | None, rank: int) -> tuple[str, ...]:
        """Names for the indices of an adjoint: those that its elements are read by, or new ones."""
        given = () if first is None else first.indices
        found: list[str] = []
        for axis in range(rank):
            subscript = "" if first is None else first.access.subscripts[axis].text()
            if subscript in given and subscript not in found:
                found.append(subscript)
            else:
                found.append(Names({*self.told, *given, *found}).fresh(NEW_INDICES[axis % len(NEW_INDICES)]))
        self.names.take(found)
        return tuple(found)

    def solved(self, given: Contribution, free: tuple[str, ...], sizes: tuple[Affine, ...]) -> Term | None:
        """The sum over all indices with which an element is read, without those that this says."""
        own = {index: self.names.fresh(index) for index in given.indices}
        unknowns = tuple(own.values())
        conditions = [c.substituted(own) for c in given.conditions]
        equations = [c.form for c in conditions if c.kind == "=="]
        for index, size, subscript in zip(free, sizes, given.access.subscripts, strict=True):
            equation = subscript.substituted(own) - index
            if given.access.outside == "wrap":
                conditions.append(Condition("%", equation, size))
            else:
                equations.append(equation)
        solution = solved(equations, unknowns, lambda: self.names.fresh("z"))
        back = {name: index for index, name in own.items() if index not in free}
        values = {name: x.substituted(back) for name, x in solution.values.items()} | {
            name: affine(index) for name, index in back.items() if name in solution.unknowns
        }
        box = {c.substituted(self.alike) for c in box_of(free, sizes)}
        domain = [c.substituted(values) for c in conditions if c.kind != "=="]
        domain += [c.substituted(back) for c in solution.conditions]
        domain = [c.substituted(self.alike) for c in domain]
        domain = [c for c in dict.fromkeys(domain) if c.holds is not True and c not in box]
        if any(c.holds is False for c in domain):
            return None
        new = [name for name in solution.unknowns if name not in back and name not in own.values()]
        known = {**dict(zip(free, sizes, strict=True)), **self.sizes}
        shifts = counted_from_zero(new, domain, known)
        # the name of one that may be negative says so, and is none that can be read
        signed = {name: self.names.fresh(f"±{name}") for name in new if name not in shifts}
        shifts |= {name: affine(other) for name, other in signed.items()}
        domain = [c.substituted(shifts) for c in domain]
        values = {name: x.substituted(shifts) for name, x in values.items()}
        summed = tuple(signed.get(name, back.get(name, name)) for name in solution.unknowns)
        body = substituted(substituted(given.body if summed else given.alone, own), values)
        return tidy(Term("sum", summed[::-1], tuple(domain), as_product(body)))


class _Slopes(_Adjoint):
    def cotangent(self, statement: Statement) -> Scalar:
        return ONE


def _needed(statements: list[Statement]) -> list[Statement]:
    """The statements that the last one is computed from, in order."""
    wanted, kept = {statements[-1].name}, []
    for statement in reversed(statements):
        if statement.name in wanted:
            kept.append(statement)
            wanted |= {a.array for term in statement.terms for a in accesses(term.body)}
    return kept[::-1]


def tangent(
    statements: list[Statement],
    by: Iterable[str],
    dot: Callable[[str], str],
    sizes: dict[str, Affine],
) -> list[Statement]:
    """The statements of the tangent of the result along tangents of arrays."""
    moving, found = set(by), []
    extra = _Adjoint(statements, dot, sizes, {})
    for statement in statements:
        terms: list[Term] = []
        for term in statement.terms:
            terms += _pushed(extra, statement, term, moving, dot)
        found.append(statement)
        if terms:
            moving.add(statement.name)
            found += extra.of_value
            extra.of_value = []
            found.append(Statement(dot(statement.name), statement.indices, statement.sizes, tuple(terms)))
    if statements[-1].name not in moving:
        last = statements[-1]
        found.append(Statement(dot(last.name), last.indices, last.sizes, ()))
    shapes = shapes_of(found)
    return _needed([of_known_shapes(statement, shapes) for statement in found])


def _pushed(
    extra: _Adjoint, statement: Statement, term: Term, moving: set[str], dot: Callable[[str], str]
) -> Iterator[Term]:
    dots = {a: replace(a, array=dot(a.array)) for a in accesses(term.body) if a.array in moving}
    is_between = any(a.array == other.name for a in dots for other in extra.statements)
    total = pushed(term.body, dots, bool(term.summed) or not is_between)
    if is_number(total, 0):
        return
    share = extra.share(statement, term)
    yield tidy(Term("sum", term.summed, term.domain, as_product(times(total, share))))
