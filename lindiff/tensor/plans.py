"""Terms as nests of loops: for given shapes, strides and integers.

The order of the loops, their bounds and where each element lies are numbers then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from lindiff.core.formula import read
from lindiff.kernels.loops import Program
from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.bounds import Level, levels_of
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Bracket,
    Condition,
    Coordinate,
    Number,
    Scalar,
    accesses,
    at_least,
    evaluated,
)
from lindiff.tensor.fusing import fused
from lindiff.tensor.gemm import Product
from lindiff.tensor.layouts import Layout
from lindiff.tensor.machine import Nest, block_length, sources
from lindiff.tensor.products import matrices_of, place_in_bytes, planned_product
from lindiff.tensor.updates import Update, intervals, lengths_of, points, rows_of, size_of
from lindiff.tensor.views import Elementwise, elementwise

__all__ = ["COMBINE", "IDENTITY", "Plan", "planned"]

COMBINE = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
IDENTITY = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
_SOURCE = sources()

# Numbers of a program.
_GIVEN = 4

# What a number takes in a loop, for each function in it and for itself.
_NANOSECONDS = 0.5

# The loop over blocks of the innermost one: a name that no expression has.
_TILE = " tile"

# What has room in 64 bits, twice.
_LARGEST = 1 << 62

# Loops of the innermost axis that hide what a nest costs beside them.
_LONG = 64


# Rows of integers, as the machine takes them.
Forms: TypeAlias = list[list[int]]


@dataclass
class Loops:
    """An update as loops: the nest, the numbers in it, the loops' names, outermost first, and whether there
    is `put`."""

    nest: Nest
    numbers: list[Any]
    loops: list[str]
    is_whole: bool

    def run(self, arrays: list[Any], out: Any) -> None:
        """Combine with what is in ``out``."""
        self.nest.run([*arrays, *self.numbers], out)

    def put(self, arrays: list[Any], out: Any) -> None:
        """Write all of ``out``, whatever is in it."""
        self.nest.run([*arrays, *self.numbers], out, True)


# What carries out an update, of a list of arrays.
Plan: TypeAlias = Loops | Product | Elementwise


def planned(
    update: Update,
    layouts: Mapping[str, Layout],
    places: Mapping[str, int],
    out: Layout,
    by_loops: bool = False,
) -> Plan | None:
    """The plan of an update; None where there is nothing in its loops.

    Parameters
    ----------
    update : Update
    layouts : dict of str to Layout
        Of arrays of one dtype.
    places : dict of str to int
        Where these will be in the list that the plan is given, which is as long as this.
    out : Layout
        Of the result.
    by_loops : bool, default False
        Whether loops are asked for: nothing is multiplied by zeros that conditions leave out.
    """
    matrices = None if by_loops else matrices_of(update)
    if matrices is not None:
        product = planned_product(matrices, update, layouts, places, out)
        if product is not None:
            return product
    views = elementwise(update, layouts, places, out, COMBINE[update.kind])
    if views is not None:
        return views
    is_whole = update.is_whole(out.shape)
    update, layouts, out = fused(update, layouts, out)
    return _Planner(update, layouts, places, out, is_whole).plan()


@dataclass
class _Planner:
    update: Update
    layouts: Mapping[str, Layout]
    places: Mapping[str, int]
    out: Layout
    is_whole: bool
    loops: list[str] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    stages: list[Any] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)
    found: dict[Scalar, int] = field(default_factory=dict)

    def plan(self) -> Loops | None:
        self.loops = self.order()
        free = self.beside()
        conditions = (*self.update.conditions, *self.tile(free))
        hull = self.hull(free)
        if hull is None:
            return None
        levels = levels_of(*rows_of(conditions, self.loops), len(self.loops))
        if levels is None:
            return None
        self.check_sizes(levels)
        body, factors = self.reduced(self.update.body)
        nest = Nest(
            [self.forms_of(level) for level in levels],
            self.inputs,
            self.stages,
            body,
            factors,
            self.form(self.to),
            free,
            _TILE in self.loops,
            hull,
            COMBINE[self.update.kind],
            IDENTITY[self.update.kind],
            self.out.dtype.num,
            self.nanoseconds(),
        )
        return Loops(nest, self.numbers, self.loops, self.is_whole)

    @property
    def to(self) -> Affine:
        """Where the result is, in bytes."""
        return place_in_bytes(self.update.subscripts, self.out.strides)

    def check_sizes(self, levels: list[Level]) -> None:
        """Raise where a bound of a loop has no room in 64 bits."""
        boxes = intervals(self.update.conditions, self.update.loops) or {}
        ends = [max(map(abs, boxes.get(name, boxes[self.loops[-1]]))) for name in self.loops] if boxes else []
        for level in levels:
            for row, _ in (*level.lower, *level.upper):
                most = abs(row[-1]) + sum(abs(c) * end for c, end in zip(row, ends, strict=False))
                if most > _LARGEST:
                    raise OverflowError(f"{self.update.of}: an integer of {most} in the bounds of its loops")

    # -- loops ---------------------------------------------------------------------------------------------

    def order(self) -> list[str]:
        """The loops: those of the result, those that are summed, and the innermost one behind them."""
        loops = list(self.update.loops)
        if not loops:
            return []
        lengths = lengths_of(self.update.conditions, loops)
        innermost = max(loops, key=lambda name: self.worth(name, lengths[name]))
        return [name for name in loops if name != innermost] + [innermost]

    def nanoseconds(self) -> float:
        """About what the loops take; 0 where those of the outermost one meet in the result."""
        if len(self.loops) < 2 or self.loops[0] not in self.update.free:
            return 0.0
        each = _NANOSECONDS * (1 + sum(isinstance(x, Apply) for x in self.found))
        return each * points(self.update.conditions, self.update.loops)

    def beside(self) -> int:
        """How many loops are around those that are summed beside the result; -1 without such."""
        is_beside = self.update.summed and self.loops[-1] in self.update.free
        return len(self.update.free) - 1 if is_beside else -1

    def hull(self, free: int) -> tuple[Forms, Forms] | None:
        """The bounds of the innermost loop given those around what is summed; None where there is nothing."""
        if free < 0:
            return [], []
        loops = [name for name in self.loops if name != _TILE]
        order = [*loops[:free], loops[-1], *loops[free:-1]]
        levels = levels_of(*rows_of(self.update.conditions, order), len(order))
        if levels is None:
            return None

        def in_order(form: list[int]) -> list[int]:  # those that are summed have no part in it
            by_name = dict(zip(order, form, strict=False))
            return [*(by_name.get(name, 0) for name in self.loops), *form[len(order) :]]

        lower, upper, _ = self.forms_of(levels[free])
        return [in_order(form) for form in lower], [in_order(form) for form in upper]

    def tile(self, free: int) -> list[Condition]:
        """What a loop over blocks of the innermost one says, where conditions tie that to summed loops: these
        go no farther than they say of the block."""
        boxes = intervals(self.update.conditions, self.loops) if free >= 0 else None
        if boxes is None or size_of(boxes, self.loops[-1:]) <= block_length():
            return []
        innermost, summed = self.loops[-1], {*self.update.summed}
        bounds = [c.form.names for c in self.update.conditions if c.kind != "%"]
        if not any(innermost in names and names & summed for names in bounds):
            return []
        self.loops.insert(free, _TILE)
        return [at_least(innermost, _TILE), at_least(affine(_TILE) + (block_length() - 1), innermost)]

    def worth(self, name: str, length: int) -> tuple[float, float]:
        """How well a loop is an innermost one: long, and over neighbours in memory."""
        steps = [self.stride(access).coefficient(name).number for access in accesses(self.update.body)]
        if not self.update.summed:
            steps.append(self.to.coefficient(name).number)
        near = sum(step in (0, self.out.itemsize) for step in steps) / max(len(steps), 1)
        return min(length, _LONG) * (0.25 + near), near

    def stride(self, access: Access) -> Affine:
        """Where an element is, in bytes."""
        return place_in_bytes(access.subscripts, self.layouts[access.array].strides)

    def form(self, x: Affine) -> list[int]:
        """As the machine takes it: with a divisor behind."""
        divisor = x.denominator()
        whole = x * divisor
        unknown = whole.names - set(self.loops)
        assert not unknown, f"{', '.join(unknown)} of a subscript is not known"
        row = [int(whole.terms.get((name,), 0)) for name in self.loops]
        return [*row, int(whole.constant), divisor]

    def forms_of(self, level: Level) -> tuple[list[list[int]], ...]:
        bounds = ([[*row, divisor] for row, divisor in side] for side in (level.lower, level.upper))
        return (*bounds, [[*c.row, c.modulus] for c in level.congruences])

    # -- the body ------------------------------------------------------------------------------------------

    def reduced(self, body: Scalar) -> tuple[int, tuple[int, int]]:
        """The input that is reduced, or the two whose product is summed."""
        is_product = isinstance(body, Apply) and body.function is np.multiply
        if self.update.kind == "sum" and is_product:
            x, y = body.args  # type: ignore[attr-defined]
            return -1, (self.input(x), self.input(y))
        return self.input(body), (0, 0)

    def input(self, x: Scalar) -> int:
        """The place of an expression among the inputs."""
        if x not in self.found:
            made = self.leaf(x) if not isinstance(x, Apply) else self.stage(x)
            self.inputs.append(made)
            self.found[x] = len(self.inputs) - 1
        return self.found[x]

    def leaf(self, x: Scalar) -> tuple[int, int, list[int], list[list[int]]]:
        nothing = self.form(affine(0))
        if isinstance(x, Access):
            return self.element(x)
        if isinstance(x, Number):
            self.numbers.append(np.full(1, x.value, self.out.dtype))
            return _SOURCE["element"], len(self.places) + len(self.numbers) - 1, nothing, []
        if isinstance(x, Coordinate):
            return _SOURCE["coordinate"], 0, self.form(x.form), []
        assert isinstance(x, Bracket)
        guards = []
        for c in x.conditions:
            sides = [c.form, -c.form] if c.kind == "==" else [c.form]
            guards += [
                [*self.form(side)[:-1], int(c.modulus.constant) if c.kind == "%" else 0] for side in sides
            ]
        return _SOURCE["bracket"], 0, nothing, guards

    def element(self, x: Access) -> tuple[int, int, list[int], list[list[int]]]:
        """An element of an array, and what says where it lies."""
        array, place = self.layouts[x.array], self.places[x.array]
        guards: list[list[int]] = []
        if x.outside == "wrap" and array.ndim:
            for subscript, size, step in zip(x.subscripts, array.shape, array.strides, strict=True):
                if size == 0:
                    raise IndexError(f"{self.update.of}: {x.array} has no elements, of shape {array.shape}")
                *form, divisor = self.form(subscript)
                guards += [[*form, size], [*self.form(affine(step))[:-1], divisor]]
            return _SOURCE["wrapped"], place, self.form(affine(0)), guards
        if x.outside == "zero":
            for subscript, size in zip(x.subscripts, array.shape, strict=True):
                guards += [self.form(subscript), self.form(affine(size - 1) - subscript)]
        return _SOURCE["or zero" if guards else "element"], place, self.form(self.stride(x)), guards

    def stage(self, x: Apply) -> tuple[int, int, list[int], list[list[int]]]:
        """What functions give, by programs of up to four numbers each."""
        leaves = self.leaves(x)
        program = compiled(
            lambda *symbols: evaluated(x, dict(zip(leaves, symbols, strict=False))),
            len(leaves),
            self.out.dtype,
        )
        self.stages.append((program, [self.input(leaf) for leaf in leaves]))
        # the stages of its inputs have been put in front by now
        return _SOURCE["result"], len(self.stages) - 1, self.form(affine(0)), []

    def leaves(self, x: Apply) -> list[Scalar]:
        """What a program of an expression is given: elements, or parts that have programs of their own."""
        parts: list[Scalar] = [x]
        while True:
            wider = []
            for part in parts:
                opened = part.parts if isinstance(part, Apply) else (part,)
                for each in opened:
                    if each not in wider and not isinstance(each, Number):
                        wider.append(each)
            if len(wider) > _GIVEN or wider == parts:
                break
            parts = wider
        if parts == [x]:
            raise ValueError(f"{x.function} has more than {_GIVEN} arguments")
        return parts


def compiled(formula: Callable[..., Any], count: int, dtype: np.dtype[Any]) -> Program:
    """The program of a formula of numbers of one type, with a result of that type."""
    nothing = complex(-0.0, -0.0) if dtype.kind == "c" else -0.0  # which changes the type alone
    for wrapped in (formula, lambda *symbols: formula(*symbols) + nothing):
        found = read(wrapped, dtype.char * max(count, 1), count)
        if found is not None:
            program = Program(*found)
            if program.kind == dtype.num:
                return program
    raise ValueError("a function in it has no loop for these numbers")
