"""Reading a formula once: which ufuncs an elementwise Python function calls, one after the other.

The partial derivatives of elementwise rules are Python functions of arrays.  Called with :class:`Symbol` in
place of the arrays they tell their steps, which compiled code repeats without Python and without arrays in
between.  A formula that asks about its data (``if x.any()``) cannot be read and is called each time; where
the answer only saves work it asks by :func:`some`, and is read as if the answer were yes.  Besides ufuncs,
programs know ``np.where`` and :func:`unit_step`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign

__all__ = ["perhaps", "read", "some", "unit_step"]

# What the loops of a program take: truth values, and real and complex numbers of two precisions.
_TYPES = "?fdFD"
_CASTS = {("?", "f"), ("?", "d"), ("?", "F"), ("?", "D"), ("f", "d"), ("f", "F"), ("f", "D"), ("d", "D")}
# What NumPy's operator ** does for these exponents, of complex numbers for these of one type alone.
_POWERS: dict[Any, np.ufunc] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}
_POWERS_OF_COMPLEX = {(int, 2), (int, -1), (float, 0.5)}


class Unreadable(Exception):
    """The formula does something else than calling what programs know."""


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array in a formula that is read."""

    __slots__ = ("dtype", "formula")

    def __init__(self, formula: Formula, dtype: np.dtype[Any]) -> None:
        self.formula = formula
        self.dtype = dtype

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Symbol:
        if method != "__call__" or kwargs:
            raise Unreadable
        return self.formula.call(ufunc, inputs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Symbol:
        if function is not np.where or len(args) != 3 or kwargs:
            raise Unreadable
        return self.formula.where(*args)

    def __pow__(self, exponent: Any) -> Symbol:
        is_known = isinstance(exponent, (int, float)) and exponent in _POWERS
        if is_known and (self.dtype.kind == "f" or (type(exponent), exponent) in _POWERS_OF_COMPLEX):
            return self.formula.call(_POWERS[exponent], (self,))
        return self.formula.call(np.power, (self, exponent))

    def __bool__(self) -> bool:
        raise Unreadable

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise Unreadable


def some(mask: Any) -> bool:
    """Whether a mask holds anywhere, asked to save work where it does not.

    Of a formula that is read, yes; of an array on a device as well, whose answer would have to be waited for.
    """
    if isinstance(mask, Symbol):
        mask.formula.asks = True
        return True
    return foreign(mask) is not None or bool(mask.any())


def unit_step(x: Any, y: Any) -> Any:
    """1 where ``x > y``, 1/2 where they are equal, 0 where ``x < y``; 1 where one of them is a NaN."""
    for operand in (x, y):
        if isinstance(operand, Symbol):
            return operand.formula.unit_step(x, y)
    above, ties = np.logical_not(np.less_equal(x, y)), np.equal(x, y)
    return np.where(ties, 0.5, above) if some(ties) else above


def perhaps(mask: Any) -> bool:
    """``np.any(mask)``, to save work where it holds nowhere; of an array on a device, yes.

    Unlike :func:`some`, for code that tells its steps to nobody.
    """
    if isinstance(mask, Symbol):
        raise Unreadable
    return foreign(mask) is not None or bool(np.any(mask))


class Formula:
    """The steps of a formula so far: what is called, of which operands, and the Symbol of its result.

    ``asks``: it has asked what saves work.
    """

    def __init__(self, precision: str) -> None:
        self.steps: list[tuple[Any, tuple[Any, ...], Symbol]] = []
        self.precision = precision
        self.asks = False

    def call(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Symbol:
        operands = self.alike(inputs)
        kinds = "".join(type_of(x) for x in operands)
        for types in ufunc.types:
            before, _, after = types.partition("->")
            if before == kinds and after in _TYPES and len(after) == 1:
                return self.step(ufunc, operands, np.dtype(after))
        raise Unreadable

    def where(self, mask: Any, x: Any, y: Any) -> Symbol:
        if not isinstance(mask, Symbol) or mask.dtype.char != "?":
            raise Unreadable
        x, y = self.alike((x, y))
        return self.step("where", (mask, x, y), np.dtype(type_of(x)))

    def unit_step(self, x: Any, y: Any) -> Symbol:
        x, y = self.alike((x, y))
        if type_of(x) not in "fd":
            raise Unreadable
        return self.step("unit step", (x, y), np.dtype(type_of(x)))

    def alike(self, inputs: tuple[Any, ...]) -> list[Any]:
        """Operands in their common type: Symbols cast, numbers as ``(number, type)``."""
        weak = [x if isinstance(x, Symbol) else as_number(x) for x in inputs]
        common = np.result_type(*[x.dtype if isinstance(x, Symbol) else x for x in weak])
        if self.precision == "f" and not any(isinstance(x, Symbol) and x.dtype.char in "dD" for x in weak):
            common = np.dtype(
                {"d": "f", "D": "F"}.get(common.char, common.char)
            )  # of numbers and truth values
        if common.char not in _TYPES:
            raise Unreadable
        return [self.cast(x, common) if isinstance(x, Symbol) else (x, common.char) for x in weak]

    def cast(self, x: Symbol, dtype: np.dtype[Any]) -> Symbol:
        if x.dtype == dtype:
            return x
        if (x.dtype.char, dtype.char) not in _CASTS:
            raise Unreadable
        return self.step("cast", (x,), dtype)

    def step(self, what: Any, operands: Any, dtype: np.dtype[Any]) -> Symbol:
        result = Symbol(self, dtype)
        self.steps.append((what, tuple(operands), result))
        return result


def as_number(x: Any) -> Any:
    """A number as NumPy's weak scalar."""
    if isinstance(x, np.generic):
        x = x.item()
    if not isinstance(x, (bool, int, float, complex)):
        raise Unreadable
    return x


def type_of(operand: Any) -> str:
    return str(operand.dtype.char if isinstance(operand, Symbol) else operand[1])


def number_of(kind: str) -> int:
    """The type number of a type."""
    return int(np.dtype(kind).num)


def read(partial: Callable[..., Any], dtypes: str, given: int) -> tuple[Any, ...] | None:
    """The program of a formula, as the compiled ``Program`` takes it; None where it cannot be read.

    Parameters
    ----------
    partial : callable
        A function of as many arrays as are ``given``.
    dtypes : str
        The characters of the types of value and arguments.
    """
    formula = Formula("f" if dtypes[-1] in "fF" else "d")
    symbols = [Symbol(formula, np.dtype(kind)) for kind in dtypes]
    try:
        result = partial(*symbols[:given])
        if not isinstance(result, Symbol):
            result = (as_number(result), "d")
    except Exception:  # whatever is wrong with it, calling it with arrays will tell
        return None
    return (*Assembly(symbols, needed(formula.steps, result), result).program(), formula.asks)


def needed(steps: list[tuple[Any, tuple[Any, ...], Symbol]], result: Any) -> list[Any]:
    """The steps that lead to the result."""
    wanted, kept = {id(result)}, []
    for what, operands, target in reversed(steps):
        if id(target) in wanted:
            wanted.update(map(id, operands))
            kept.append((what, operands, target))
    return kept[::-1]


class Assembly:
    """Registers for the operands of a formula: what is given, constants, and blocks that are used again."""

    GIVEN = 4  # the value and three arguments

    def __init__(self, given: list[Symbol], steps: list[Any], result: Any) -> None:
        self.steps, self.result = steps, result
        self.constants: list[tuple[Any, int]] = []
        self.registers: dict[Any, int] = {id(x): i for i, x in enumerate(given)}
        for operand in [x for _, operands, _ in steps for x in operands] + [result]:
            if isinstance(operand, tuple) and repr(operand) not in self.registers:
                self.registers[repr(operand)] = self.GIVEN + len(self.constants)
                self.constants.append((operand[0], number_of(operand[1])))

    def register(self, operand: Any) -> int:
        return self.registers[repr(operand) if isinstance(operand, tuple) else id(operand)]

    def conditions(self) -> list[int]:
        """Of each step whether it is needed only where a mask holds, or only where it fails: ``2 i + 1`` or
        ``2 i`` if step i gives that mask, -1 where it is needed anyway.

        Of several masks it is the last one, which is itself left out with what it belongs to.
        """
        given_by = {id(target): i for i, (_, _, target) in enumerate(self.steps)}
        needed_where: list[set[int] | None] = [None] * len(self.steps)  # None before a use is known
        needed_where[-1:] = [set()] if self.steps else []
        for i, (what, operands, _) in reversed(list(enumerate(self.steps))):
            for place, operand in enumerate(operands):
                source = given_by.get(id(operand))
                if source is None:
                    continue
                here = set(needed_where[i] or ())
                mask = given_by.get(id(operands[0])) if what == "where" else None
                if mask is not None and place > 0:
                    here.add(2 * mask + (place == 1))
                before = needed_where[source]
                needed_where[source] = here if before is None else before & here
        return [
            max((each for each in conditions or () if each // 2 < i), default=-1)
            for i, conditions in enumerate(needed_where)
        ]

    def program(self) -> tuple[Any, ...]:
        conditions = self.conditions()
        first = self.GIVEN + len(self.constants)
        last_use = {id(x): i for i, (_, operands, _) in enumerate(self.steps) for x in operands}
        free: list[int] = []
        slots, assembled = 0, []
        for i, (what, operands, target) in enumerate(self.steps):
            sources = [self.register(x) for x in operands]
            if not free:
                free.append(first + slots)
                slots += 1
            self.registers[id(target)] = free.pop()
            done = {self.register(x) for x in operands if last_use[id(x)] == i}
            free += sorted(register for register in done if register >= first)
            kinds = [number_of(type_of(x)) for x in operands]
            to = self.registers[id(target)], number_of(type_of(target))
            assembled.append((what, sources, kinds, *to, conditions[i]))
        kind = number_of(type_of(self.result))
        return self.constants, assembled, slots, self.register(self.result), kind
