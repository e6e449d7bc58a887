"""The normal form of an expression: tensors, each a sum of reductions of numbers.

A reduction inside a function, or beside factors that it does not depend on, is a tensor of its own, and so is
a function of one array's elements that stands in a larger loop: what is computed once is used many times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindiff.tensor.affine import Affine, AffineLike, affine
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Bracket,
    Condition,
    Number,
    Reduction,
    Scalar,
    accesses,
    applied,
    at_least,
    each_in,
    evaluated,
    is_number,
    product,
    scaled,
    substituted,
    total,
)
from lindiff.tensor.names import Names, bound_names, free_names, size_of_axis
from lindiff.tensor.reading import Equation

__all__ = ["Statement", "Term", "as_product", "factors_of", "statements_of", "tidy"]


# What indices are called that no expression has named.
NEW_INDICES = "pqrstuv"


# Elements that terms read which are added together.
_MOST_READ = 16

# Elements that are written in one expression: the derivative by each of n is one of n.
_MOST_WRITTEN = 32


@dataclass(frozen=True)
class Term:
    """The reduction of numbers over indices under conditions; 0 where no index fulfils them.

    Attributes
    ----------
    kind : {"sum", "prod", "max", "min"}
    summed : tuple of str
    domain : tuple of Condition
        Of the free and the summed indices; it bounds all that are summed.
    body : Scalar
    """

    kind: str
    summed: tuple[str, ...]
    domain: tuple[Condition, ...]
    body: Scalar

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those of its domain and in brackets."""
        return (*self.domain, *_in_brackets(self.body))

    def substituted(self, by: Mapping[str, AffineLike]) -> Term:
        """With forms in place of names that it does not sum over."""
        domain = tuple(c.substituted(by) for c in self.domain)
        return replace(self, domain=domain, body=substituted(self.body, by))


def _in_brackets(x: Scalar) -> Iterator[Condition]:
    for part in each_in(x):
        if isinstance(part, Bracket):
            yield from part.conditions


@dataclass(frozen=True)
class Statement:
    """``name[indices] = the sum of the terms``, for ``0 <= index < size``."""

    name: str
    indices: tuple[str, ...]
    sizes: tuple[Affine, ...]
    terms: tuple[Term, ...]

    def box(self) -> tuple[Condition, ...]:
        """The ranges of its indices."""
        return box_of(self.indices, self.sizes)


def box_of(forms: Iterable[AffineLike], sizes: Iterable[AffineLike]) -> tuple[Condition, ...]:
    """Where indices, or forms of these, are from 0 on below sizes."""
    return tuple(
        condition
        for form, size in zip(forms, sizes, strict=True)
        for condition in (at_least(form, 0), at_least(size, affine(form) + 1))
    )


def factors_of(x: Scalar) -> Iterator[Scalar]:
    """The factors of a product; what is divided by is a reciprocal, which `product` divides by again."""
    if isinstance(x, Apply) and x.function is np.multiply:
        for part in x.args:
            yield from factors_of(part)
    elif isinstance(x, Apply) and x.function is np.negative:
        yield Number(-1)
        yield from factors_of(x.args[0])
    elif isinstance(x, Apply) and x.function is np.divide:
        yield from factors_of(x.args[0])
        yield _inverse(x.args[1])
    elif not is_number(x, 1):
        yield x


def as_product(x: Scalar) -> Scalar:
    """The product of its factors, signs of zeros aside."""
    return product(factors_of(x))


def _inverse(x: Scalar) -> Scalar:
    """A factor that divides by an expression: another number, where that is one whose inverse is finite."""
    inverse = applied(np.divide, Number(1), x) if isinstance(x, Number) else x
    if isinstance(inverse, Number) and np.isfinite(inverse.value):
        return inverse
    return Apply(np.reciprocal, (x,))


def terms_of(x: Scalar, sign: int = 1) -> Iterator[Scalar]:
    """The terms of a sum."""
    if isinstance(x, Apply) and x.function is np.add:
        yield from terms_of(x.args[0], sign)
        yield from terms_of(x.args[1], sign)
    elif isinstance(x, Apply) and x.function is np.subtract:
        yield from terms_of(x.args[0], sign)
        yield from terms_of(x.args[1], -sign)
    elif isinstance(x, Apply) and x.function is np.negative:
        yield from terms_of(x.args[0], -sign)
    else:
        yield x if sign == 1 else -x


def _groups(terms: Iterable[Scalar]) -> Iterator[list[Scalar]]:
    """Terms that are added together: as many as a loop has room for what they read."""
    group: list[Scalar] = []
    read: set[Access] = set()
    for x in terms:
        if group and len(read.union(accesses(x))) > _MOST_READ:
            yield group
            group, read = [], set()
        group.append(x)
        read.update(accesses(x))
    if group:
        yield group


def _together(summands: Iterable[Scalar]) -> list[Scalar]:
    """Summands of a reduction, those without conditions as one and those beside the same brackets, too: what
    cancels in these does so before it is summed."""
    found: list[Scalar] = []
    groups: dict[tuple[Scalar, ...], list[Scalar]] = {}
    for x in summands:
        factors = list(factors_of(x))
        brackets = tuple(y for y in factors if isinstance(y, Bracket))
        rest = product(y for y in factors if not isinstance(y, Bracket)) if brackets else x
        if _is_conditional(rest):
            found.append(x)
        else:
            groups.setdefault(brackets, []).append(rest)
    return [*found, *(product([*brackets, total(group)]) for brackets, group in groups.items())]


def _is_conditional(x: Scalar) -> bool:
    """Whether a summand is 0 by a factor where conditions say so, whatever the others are or read there."""
    factors = [y for y in factors_of(x) if not isinstance(y, Number)]
    is_zero_outside = any(isinstance(y, Access) and y.outside == "zero" for y in factors)
    return any(map(_is_condition, factors)) or (is_zero_outside and len(factors) > 1)


def _is_condition(factor: Scalar) -> bool:
    """Whether a factor is a bracket, or sums what is conditional."""
    is_sum = isinstance(factor, Reduction) and factor.kind == "sum"
    return isinstance(factor, Bracket) or (is_sum and all(map(_is_conditional, factor.parts)))


def _is_sign(x: Scalar) -> bool:
    return is_number(x, 1) or is_number(x, -1)


def _is_sum(x: Scalar) -> bool:
    return isinstance(x, Apply) and x.function in (np.add, np.subtract)


def said_by(factor: Scalar) -> tuple[Condition, ...]:
    """Where a factor is no zero of a bracket or outside an array."""
    if isinstance(factor, Bracket):
        return factor.conditions
    if isinstance(factor, Access) and factor.outside == "zero":
        sizes = [size_of_axis(factor.array, axis) for axis in range(len(factor.subscripts))]
        return box_of(factor.subscripts, sizes)
    return ()


def _has_reduction(x: Scalar) -> bool:
    return any(isinstance(part, Reduction) for part in each_in(x))


@dataclass(frozen=True)
class _Scope:
    """The indices around a place in an expression, and what holds of them."""

    domain: tuple[Condition, ...]
    indices: tuple[str, ...]

    def within(self, reduction: Reduction) -> _Scope:
        return _Scope((*self.domain, *reduction.conditions), (*self.indices, *reduction.indices))

    def where(self, factors: Iterable[Scalar]) -> _Scope:
        """Where these are no zeros: nothing else is asked for of what they are multiplied by."""
        return replace(self, domain=(*self.domain, *(c for x in factors for c in said_by(x))))


def statements_of(equation: Equation, sizes: dict[str, Affine]) -> list[Statement]:
    """The tensors of an equation, in an order in which they can be computed; the last is its own.

    Parameters
    ----------
    equation : Equation
        With one name for one index; conditions bound the indices of its reductions.
    sizes : dict of str to Affine
        Of each free index.
    """
    return _Normal(equation, sizes).statements()


class _Normal:
    def __init__(self, equation: Equation, sizes: dict[str, Affine]) -> None:
        self.equation, self.sizes = equation, sizes
        self.found: list[Statement] = []
        self.written: dict[Scalar, int] = {}
        self.tensors: dict[Any, str] = {}  # by what they are of
        self.parts: dict[tuple[Scalar, _Scope], list[Scalar]] = {}
        taken = {access.array for access in accesses(equation.body)} | free_names(equation.body)
        self.names = Names({equation.name, *equation.indices, *taken, *bound_names(equation.body)})

    def statements(self) -> list[Statement]:
        equation = self.equation
        scope = _Scope(equation.conditions, equation.indices)
        terms, plain = [], []
        summands = list(self.summands(equation.body, scope))
        for x in summands:
            if _has_reduction(x) or _is_conditional(x):
                terms.append(self.term(x, scope, len(summands) == 1 and not scope.domain))
            else:
                plain.append(x)
        groups = [total(group) for group in _groups(plain)]
        if len(groups) == 1 and plain == list(terms_of(equation.body)):
            groups = [equation.body]  # as it is written
        terms += [tidy(Term("sum", (), scope.domain, self.short(body, scope))) for body in groups]
        sizes = tuple(self.sizes[index] for index in equation.indices)
        self.found.append(Statement(equation.name, equation.indices, sizes, tuple(terms)))
        shapes = shapes_of(self.found)
        return [of_known_shapes(statement, shapes) for statement in self.found]

    def summands(self, x: Scalar, scope: _Scope) -> Iterator[Scalar]:
        """The terms of a sum, and those of the sums in them where conditions say when one of these is 0."""
        for term in terms_of(x):
            yield from self.distributed(term, scope)

    def distributed(self, x: Scalar, scope: _Scope) -> Iterator[Scalar]:
        """A sum, or a reduction of one, with a conditional summand as several, signs aside.

        Beside other factors it is a tensor of its own: multiplied out its summands would not cancel each
        other as they do where they are added first.
        """
        factors = list(factors_of(x))
        found = [self.conditional_parts(factor, scope) for factor in factors]
        if not any(found):
            yield x
            return
        factors = [each[0] if len(each) == 1 else factor for factor, each in zip(factors, found, strict=True)]
        parts = {place: summands for place, summands in enumerate(found) if len(summands) > 1}
        others = [factor for place, factor in enumerate(factors) if place not in parts]
        if len(parts) == 1 and all(map(_is_sign, others)):
            (summands,) = parts.values()
            for part in summands:
                yield from self.distributed(product([*others, part]), scope)
            return
        inside = scope.where(factors)
        for place in parts:
            factors[place] = self.hoisted(factors[place], inside)
        yield product(factors)

    def conditional_parts(self, factor: Scalar, scope: _Scope) -> list[Scalar]:
        """The summands of a factor, if conditions say when one of these is 0; none of any other.

        One is the factor itself, with tensors for what is in it.
        """
        if (factor, scope) not in self.parts:
            parts, written = [factor], [factor]
            if isinstance(factor, Reduction) and factor.kind == "sum":
                bodies = list(self.summands(factor.body, scope.within(factor)))
                if any(map(_is_conditional, bodies)):
                    bodies = _together(bodies)
                parts = [replace(factor, body=body) for body in bodies]
                written = [replace(factor, body=body) for body in terms_of(factor.body)]
            elif _is_sum(factor):
                parts, written = list(self.summands(factor, scope)), list(terms_of(factor))
            is_conditional = len(parts) > 1 and any(map(_is_conditional, written))
            if parts == written and not is_conditional:
                parts = []
            self.parts[factor, scope] = parts
        return self.parts[factor, scope]

    def term(self, x: Scalar, scope: _Scope, is_alone: bool) -> Term:
        """A summand as the sum that is among its factors, or another reduction that is all there is."""
        factors = list(factors_of(x))
        scope = scope.where(factors)
        sums = [y for y in factors if isinstance(y, Reduction) and (y.kind == "sum" or (x is y and is_alone))]
        if not sums:
            return tidy(Term("sum", (), scope.domain, self.flat(x, scope)))
        inner: Any = sums[-1]
        others = [y for y in factors if y is not inner]
        return self.reduced(inner, product(self.flat(y, scope) for y in others), scope)

    def reduced(self, x: Reduction, factor: Scalar, scope: _Scope) -> Term:
        """``factor`` times a reduction; sums of sums are one."""
        inside = scope.within(x)
        if len(x.indices) > 1 and x.kind == "prod":
            x = Reduction("prod", x.indices[:1], (), Reduction("prod", x.indices[1:], x.conditions, x.body))
            inside = scope.within(x)
        body: Any = x.body
        summed = x.indices
        while isinstance(body, Reduction) and body.kind == x.kind == "sum":
            inside = inside.within(body)
            body, summed = body.body, (*summed, *body.indices)
        if x.kind == "sum":
            inside = inside.where(factors_of(body))
        box = box_of(summed, (self.sizes[index] for index in summed))
        return tidy(Term(x.kind, summed, (*box, *inside.domain), scaled(factor, self.flat(body, inside))))

    def flat(self, x: Scalar, scope: _Scope) -> Scalar:
        """Without reductions: each is a tensor of its own."""
        if isinstance(x, Reduction):
            return self.hoisted(x, scope)
        if isinstance(x, Apply):
            element = self.of_one_element(x, scope)
            if element is not None:
                return element
            return self.in_tensors(x, [self.flat(part, scope) for part in x.args], scope)
        return x

    def short(self, x: Scalar, scope: _Scope) -> Scalar:
        """With tensors for parts of an expression in which many elements are written."""
        if not isinstance(x, Apply) or self.written_in(x) <= _MOST_WRITTEN:
            return x
        return self.in_tensors(x, [self.short(part, scope) for part in x.args], scope)

    def in_tensors(self, x: Apply, args: list[Scalar], scope: _Scope) -> Scalar:
        """A function of arguments, of which the longest are tensors where it would be too long."""
        while sum(map(self.written_in, args)) > _MOST_WRITTEN:
            place = max(range(len(args)), key=lambda k: self.written_in(args[k]))
            if not self.is_worth_a_tensor(args[place], scope):
                break
            args[place] = self.hoisted(args[place], scope)
        return applied(x.function, *args)

    def written_in(self, x: Scalar) -> int:
        """How many elements are written in an expression, each as often as it is."""
        if not isinstance(x, Apply):
            return 1
        if x not in self.written:
            self.written[x] = sum(map(self.written_in, x.args))
        return self.written[x]

    def is_worth_a_tensor(self, x: Scalar, scope: _Scope) -> bool:
        """Whether a tensor of an expression is no larger than the arrays in it, and reads what it does."""
        indices = free_names(x).intersection(scope.indices)
        conditions = [c.names.intersection(scope.indices) for c in scope.domain]
        return (
            isinstance(x, Apply)
            and len(indices) <= max((len(access.subscripts) for access in accesses(x)), default=0)
            and all(names <= indices for names in conditions if names & indices)
        )

    def of_one_element(self, x: Apply, scope: _Scope) -> Access | None:
        """A function of one array's elements, computed once for each of them where loops would repeat it."""
        found = list(accesses(x))
        if len(found) != 1 or not _is_of_elements(x) or not _is_costly(x):
            return None
        if len(found[0].subscripts) >= len(scope.indices):
            return None
        (access,) = found
        leaves: dict[Scalar, Any] = {access: 0.0}
        if access.outside == "zero" and evaluated(x, leaves) != 0:
            return None
        of_any = replaced(x, access, replace(access, subscripts=()))
        if of_any not in self.tensors:
            self.tensors[of_any] = self.made_of_one(x, access)
        return Access(self.tensors[of_any], access.subscripts, access.outside)

    def made_of_one(self, x: Apply, access: Access) -> str:
        """The name of a tensor of a function of each of an array's elements."""
        sizes = tuple(affine(size_of_axis(access.array, axis)) for axis in range(len(access.subscripts)))
        indices = tuple(self.names.fresh(NEW_INDICES[axis % len(NEW_INDICES)]) for axis in range(len(sizes)))
        name = self.names.fresh("u")
        body = replaced(x, access, Access(access.array, tuple(map(affine, indices))))
        self.found.append(Statement(name, indices, sizes, (Term("sum", (), (), body),)))
        return name

    def hoisted(self, x: Scalar, scope: _Scope) -> Access:
        """An expression as a tensor of its own."""
        free = free_names(x)
        indices = tuple(index for index in scope.indices if index in free)
        box = box_of(indices, (self.sizes[index] for index in indices))
        said = (each for c in scope.domain for each in self._said(c, indices))
        holding = tuple(c for c in dict.fromkeys(said) if c not in box)
        inside = _Scope(holding, indices)
        if (x, inside) not in self.tensors:
            self.tensors[x, inside] = self.made(x, inside)
        return Access(self.tensors[x, inside], tuple(map(affine, indices)))

    def made(self, x: Scalar, scope: _Scope) -> str:
        """The name of a tensor of an expression, over all indices of a scope."""
        name = self.names.fresh(f"{x.kind}1" if isinstance(x, Reduction) else "part1")
        own = {index: self.names.fresh(index) for index in scope.indices}
        sizes = tuple(self.sizes[index] for index in scope.indices)
        parts = list(self.distributed(x, scope))
        terms = tuple(self.term(part, scope, len(parts) == 1) for part in parts)
        self.found.append(renamed(Statement(name, scope.indices, sizes, terms), own))
        return name

    def _said(self, condition: Condition, indices: tuple[str, ...]) -> Iterator[Condition]:
        """What a condition says of some indices, whatever values others have in their ranges."""
        others = condition.form.names & self.sizes.keys() - set(indices)
        if not others:
            yield condition
        elif condition.kind != "%":
            for form in (condition.form, -condition.form)[: 1 + (condition.kind == "==")]:
                most = self._most(form, others)
                if most is not None and most.names & set(indices):
                    yield Condition(">=", most)

    def _most(self, form: Affine, others: Iterable[str]) -> Affine | None:
        """The largest value of a form over the ranges of indices; None where integers multiply these."""
        for name in sorted(others):
            c = form.coefficient(name).number
            if c is None:
                return None
            form = form.substituted({name: self.sizes[name] - 1 if c > 0 else 0})
        return form


def tidy(term: Term) -> Term:
    """With the conditions among the factors of a sum, brackets and zeros outside arrays, in its domain."""
    if term.kind != "sum":
        return term
    factors = list(factors_of(term.body))
    said = [c for factor in factors for c in said_by(factor)]
    others = [_inside(factor) for factor in factors if not isinstance(factor, Bracket)]
    domain = [c for c in dict.fromkeys([*term.domain, *said]) if c.holds is not True]
    return replace(term, domain=tuple(domain), body=product(others) if said else term.body)


def _inside(factor: Scalar) -> Scalar:
    """A factor, where it is in its array."""
    if isinstance(factor, Access) and factor.outside == "zero":
        return replace(factor, outside="error")
    return factor


_CHEAP = (np.add, np.subtract, np.multiply, np.negative)


def _is_of_elements(x: Scalar) -> bool:
    """Whether an expression is made of elements and numbers alone, of no index."""
    if isinstance(x, Apply):
        return all(map(_is_of_elements, x.args))
    return isinstance(x, (Access, Number))


def _is_costly(x: Scalar) -> bool:
    """Whether an expression is more than sums and products."""
    return isinstance(x, Apply) and (x.function not in _CHEAP or any(map(_is_costly, x.args)))


def replaced(x: Scalar, access: Access, by: Scalar) -> Scalar:
    """With another expression for an element."""
    if x == access:
        return by
    return applied(x.function, *(replaced(p, access, by) for p in x.args)) if isinstance(x, Apply) else x


def shapes_of(statements: Iterable[Statement]) -> dict[str, Affine]:
    """How long the axes of tensors are, by the names that sizes of axes have."""
    return {size_of_axis(s.name, axis): size for s in statements for axis, size in enumerate(s.sizes)}


def with_numbers(statement: Statement, by: Mapping[str, AffineLike]) -> Statement:
    """With numbers in the place of integers."""
    sizes = tuple(size.substituted(by) for size in statement.sizes)
    return replace(statement, sizes=sizes, terms=tuple(tidy(t.substituted(by)) for t in statement.terms))


def of_known_shapes(statement: Statement, shapes: dict[str, Affine]) -> Statement:
    """With the sizes of tensors in the place of their names."""
    return replace(statement, terms=tuple(t.substituted(shapes) for t in statement.terms))


def renamed(statement: Statement, names: dict[str, str]) -> Statement:
    """With other names for indices."""

    def new(indices: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(index, index) for index in indices)

    terms = tuple(replace(t.substituted(names), summed=new(t.summed)) for t in statement.terms)
    return replace(statement, indices=new(statement.indices), terms=terms)
