"""Functions that arrange elements of arrays, and do nothing else with them: where each element comes from.

The functions themselves are asked, with the numbers of the elements in the place of the elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.machine import Form
from lindiff.programs.operands import Slot, replaced
from lindiff.programs.recorded import method
from lindiff.programs.recording import Instruction

__all__ = ["ARRANGING", "Run", "runs_of"]

# Those whose first argument holds the arrays, in lists; and those that arrange the first argument.
_JOINING = {np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block, np.append}
_ONE = {
    *(np.roll, np.tile, np.repeat, np.pad, np.tril, np.triu, np.diag, np.diagflat, np.take, np.delete),
    *(np.resize, np.fft.fftshift, np.fft.ifftshift, method("repeat"), method("take")),
}
ARRANGING = _JOINING | _ONE

# What `np.pad` fills up with elements of the array, or with zeros.
_PADDING = ("constant", "edge", "reflect", "symmetric", "wrap")


class Run(NamedTuple):
    """Elements of an operand (None: zeros), so many bytes behind its first one and each so far from the one
    before it."""

    operand: int | None
    offset: int
    step: int
    length: int


def runs_of(step: Instruction, forms: list[Form], by_rows: bool = True) -> tuple[list[Any], list[Run]] | None:
    """The operands, and the elements of the result, by rows or by columns; None where there is more to do."""
    if step.function is np.pad and not _pads_with_its_own(step):
        return None
    if any(step.kwargs.get(name) is not None for name in ("dtype", "out")):
        return None
    dtype = forms[step.result].dtype
    data = 2 if step.function is np.append else 1
    operands: list[Any] = []
    numbers: list[np.ndarray[Any, Any]] = []
    offsets: list[np.ndarray[Any, Any]] = [np.zeros(1, np.intp)]  # of number 0, of which there is none

    def numbered(operand: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        before = sum(map(len, offsets))
        offsets.append(_offsets(shape, strides).ravel())
        operands.append(operand)
        numbers.append(np.arange(before, before + len(offsets[-1])).reshape(shape))
        return numbers[-1]

    def of_slot(x: Any) -> Any:
        if type(x) is Slot:
            if forms[x].dtype != dtype:
                raise TypeError
            return numbered(x, forms[x].shape, forms[x].strides or ())
        if isinstance(x, (float, int, complex, np.ndarray, np.generic)) and step.function in _JOINING:
            constant = np.array(x, dtype)
            return numbered(constant, constant.shape, constant.strides)
        return x

    data_of = replaced(step.args[:data], of_slot)
    found = step.function(*data_of, *step.args[data:], **step.kwargs)
    found = found.ravel(order="C" if by_rows else "F")
    ends = np.cumsum([len(part) for part in offsets])
    places = np.concatenate(offsets)[found]
    return operands, _runs(np.searchsorted(ends, found, side="right") - 1, places)


def _pads_with_its_own(step: Instruction) -> bool:
    mode = step.args[2] if len(step.args) > 2 else step.kwargs.get("mode", "constant")
    filling = step.kwargs.get("constant_values", 0)
    return mode in _PADDING and filling in (0, (0, 0)) and not np.any(np.signbit(filling))


def _offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """How many bytes behind the first element each one lies."""
    offsets = np.zeros(shape, np.intp)
    for k, step in enumerate(strides):
        offsets += (np.arange(shape[k]) * step).reshape((-1,) + (1,) * (len(shape) - k - 1))
    return offsets


def _runs(operands: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> list[Run]:
    """Neighbours of one operand that lie equally far apart, together; operand -1 is zeros."""
    steps = np.where(np.diff(operands) == 0, np.diff(places), _APART)
    changes = [*(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    runs, at, next_change = [], 0, 0
    while at < len(places):
        operand = int(operands[at]) if operands[at] >= 0 else None
        while next_change < len(changes) - 1 and changes[next_change] <= at:
            next_change += 1
        alone = at == len(steps) or steps[at] == _APART
        last = at if alone else changes[next_change]
        runs.append(Run(operand, int(places[at]), 0 if alone else int(steps[at]), last - at + 1))
        at = last + 1
    return runs


# No way from one element to the next.
_APART = np.iinfo(np.intp).min
