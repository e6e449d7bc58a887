"""How far indices go.

Indices count from 0.  One that is a subscript by itself, wherever that axis is read, ends with the axis;
others end where they are told to, where conditions say so, or where a subscript of theirs would leave its
array.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import floor
from typing import Any

from lindiff.tensor.affine import Affine, AffineLike, affine
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Condition,
    Reduction,
    Scalar,
    accesses,
    each_in,
    substituted,
)
from lindiff.tensor.names import Names, bound_names, free_names, size_of_axis
from lindiff.tensor.reading import Equation, form_of

__all__ = ["Ranges", "uniquely_bound"]


@dataclass
class Ranges:
    """The sizes of indices.

    Attributes
    ----------
    sizes : dict of str to Affine
        Of each index, in integers that shapes and the caller give.
    same : list of (str, Affine, Affine)
        An index, and two sizes of it that have to be equal.
    """

    sizes: dict[str, Affine] = field(default_factory=dict)
    same: list[tuple[str, Affine, Affine]] = field(default_factory=list)
    _written: dict[str, str] = field(default_factory=dict)
    _searched: dict[str, list[Condition]] = field(default_factory=dict)
    _subscripts: list[tuple[Access, int, Affine]] = field(default_factory=list)

    @classmethod
    def of(cls, equation: Equation, given: Mapping[str, int | str], written: Mapping[str, str]) -> Ranges:
        """Of an equation with one name for one index, some of which are written with others."""
        found = cls(_written=dict(written))
        conditions = [*equation.conditions, *_conditions(equation.body)]
        _refuse_empty_words(conditions)
        indices = [*equation.indices, *bound_names(equation.body)]
        known = dict.fromkeys(written.get(index, index) for index in indices)
        for name in given:
            if name not in known:
                raise ValueError(f"ranges: there is no index {name}; there are {', '.join(known) or 'none'}")
        found._subscripts = [
            (access, axis, subscript)
            for access in accesses(equation.body)
            for axis, subscript in enumerate(access.subscripts)
        ]
        for index in indices:
            ends = [
                affine(size_of_axis(access.array, axis))
                for access, axis, subscript in found._subscripts
                if subscript == affine(index) and not found._is_shifted(index, access, axis)
            ]
            if (name := written.get(index, index)) in given:
                found.sizes[index] = _size_of(name, given[name], known)
            elif ends:
                found.sizes[index] = ends[0]
                found.same += [(index, ends[0], end) for end in dict.fromkeys(ends[1:]) if end != ends[0]]
            else:
                found.sizes[index] = affine(f"size({index})")
                found._searched[index] = [c for c in conditions if index in c.form.names]
        return found

    def _is_shifted(self, index: str, access: Access, axis: int) -> bool:
        """Whether the same axis is read elsewhere at another form of an index, and has to hold that, too."""
        return access.outside == "error" and any(
            other.array == access.array and k == axis and index in form.names and form != affine(index)
            for other, k, form in self._subscripts
        )

    def with_numbers(self, by: Mapping[str, AffineLike]) -> Ranges:
        """The same with numbers in the place of integers."""
        return Ranges(
            {index: size.substituted(by) for index, size in self.sizes.items()},
            [(index, one.substituted(by), other.substituted(by)) for index, one, other in self.same],
            self._written,
            {index: [c.substituted(by) for c in conditions] for index, conditions in self._searched.items()},
            [(access, axis, form.substituted(by)) for access, axis, form in self._subscripts],
        )

    @property
    def alike(self) -> dict[str, Affine]:
        """Sizes of axes that are the same as others."""
        return {other.text(): one for _, one, other in self.same}

    def settled(self, integers: dict[str, int]) -> dict[str, int]:
        """All integers: with the sizes that are neither given nor those of axes."""
        known = dict(integers)
        for name, of_index in self.sizes.items():
            number = of_index.substituted(known).number
            if number is not None and number < 0:
                raise ValueError(f"the range of {self._written.get(name, name)} is {number}: it is from 0 on")
        searched = dict(self._searched)
        while searched:
            progress = False
            for index, conditions in list(searched.items()):
                size = self._size(index, conditions, known, searched)
                if size is not None:
                    known[f"size({index})"] = size
                    del searched[index]
                    progress = True
            if not progress:
                index = self._written.get(first := next(iter(searched)), first)
                raise ValueError(
                    f"the range of {index} cannot be found: give ranges={{'{index}': ...}}, or a condition"
                )
        for index, one, other in self.same:
            a, b = (x.substituted(known).number for x in (one, other))
            if a != b:
                index = self._written.get(index, index)
                raise ValueError(f"{index} has two ranges: {one.text()} is {a} and {other.text()} is {b}")
        return known

    def _size(
        self, index: str, conditions: list[Condition], known: dict[str, int], searched: Mapping[str, object]
    ) -> int | None:
        ends = []
        for condition in conditions:
            sides = [condition.form, -condition.form] if condition.kind == "==" else [condition.form]
            if condition.kind != "%":
                ends += [self._end(index, side, known, searched, largest=True) for side in sides]
        if all(end is None for end in ends):
            for access, axis, subscript in self._subscripts:
                if index in subscript.names and access.outside == "error":
                    size = affine(size_of_axis(access.array, axis))
                    ends.append(self._end(index, size - 1 - subscript, known, searched, largest=False))
                    ends.append(self._end(index, subscript, known, searched, largest=False))
        found = [end for end in ends if end is not None]
        return max(min(found) + 1, 0) if found else None

    def _end(
        self, index: str, form: Affine, known: dict[str, int], searched: Mapping[str, object], largest: bool
    ) -> int | None:
        """The last value of an index for which ``form >= 0``, for some values of the others or for all."""
        form = form.substituted(known)
        c = form.coefficient(index).number
        if c is None or c >= 0:
            return None
        rest = form.without((index,))
        total = rest.constant
        for name in rest.names:
            size = self.sizes.get(name)
            if size is None or name in searched:
                return None
            end, step = size.substituted(known).number, rest.coefficient(name).number
            if end is None or step is None:
                return None
            if (step > 0) == largest:
                total += step * (end - 1)
        return floor(total / -c)


def _size_of(index: str, given: Any, indices: Collection[str]) -> Affine:
    """The size of an index that ranges say."""
    if isinstance(given, str):
        size = form_of(given)
        if not size.names & {*indices}:
            return size
    elif isinstance(given, numbers.Integral) and not isinstance(given, bool):
        return affine(int(given))
    raise TypeError(
        f"ranges: {given!r} is no integer and no name of one: how far {index} goes by other indices is said "
        f"by conditions, sum[{index} | ...]"
    )


def _refuse_empty_words(conditions: list[Condition]) -> None:
    """Raise for a condition that says nothing, as indices count from 0: it was meant to say something."""
    for condition in conditions:
        form = condition.form
        says = condition.kind != ">=" or any(c < 0 for c in form.terms.values())
        if not says and not (len(form.terms) == 1 and form.names and form.constant == 0):
            raise ValueError(
                f"the condition {form.text()} >= 0 holds always, as indices count from 0: for an index k "
                f"from -2 on write k - 2 in its place"
            )


def uniquely_bound(equation: Equation) -> tuple[Equation, dict[str, str]]:
    """With another name for an index that a second reduction binds, too; and what is written for it."""
    taken = free_names(equation.body) | set(equation.indices) | {a.array for a in accesses(equation.body)}
    names = Names(taken.union(*(c.names for c in equation.conditions)))
    written: dict[str, str] = {}

    def rebound(x: Scalar) -> Scalar:
        if isinstance(x, Apply):
            return Apply(x.function, tuple(map(rebound, x.args)))
        if not isinstance(x, Reduction):
            return x
        new = {index: names.fresh(index) for index in x.indices}
        written.update({name: index for index, name in new.items()})
        conditions = tuple(c.substituted(new) for c in x.conditions)
        return Reduction(x.kind, tuple(new.values()), conditions, rebound(substituted(x.body, new)))

    body = rebound(equation.body)
    return Equation(equation.name, equation.indices, equation.conditions, body), written


def _conditions(x: Scalar) -> Iterator[Condition]:
    for part in each_in(x):
        if isinstance(part, Reduction):
            yield from part.conditions
