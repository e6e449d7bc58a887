"""Which operations of a program need no Python, and how they are prepared.

:func:`prepare` knows the functions by their identity, and what they are called with by its form: shapes,
types, strides.  What it does not know, Python does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import lindiff.kernels
from lindiff.core import chain
from lindiff.programs import prepared
from lindiff.programs.arranging import ARRANGING, runs_of
from lindiff.programs.machine import Form, part_of
from lindiff.programs.operands import Slot, leaves_of, slots_of
from lindiff.programs.recorded import VIEWS, is_hashable, method, view_in_place
from lindiff.programs.recording import Instruction

__all__ = ["Between", "Part", "is_by_rows", "prepare"]

# The operations that IEEE's standard fixes to the last bit, and those of truth values.
_EXACT = {
    *(
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.reciprocal,
        np.square,
        np.sqrt,
        np.negative,
        np.positive,
    ),
    *(np.absolute, np.fabs, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or, np.invert, np.isnan),
    *(np.isfinite, np.isinf, np.sign, np.maximum, np.minimum, np.conjugate, np.floor, np.ceil, np.trunc),
}
_OF_INTEGERS = {np.remainder, np.floor_divide, np.bitwise_xor, np.logical_xor}
# Those of which the processor notes nothing.
_SILENT = {
    *(np.negative, np.positive, np.fabs, np.isnan, np.isfinite, np.isinf, np.conjugate),
    *(np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or, np.invert),
}
# What reduces from its first number as NumPy does it.
_REDUCING = {np.add, np.multiply, np.maximum, np.minimum}
# Up to so many elements, constant indices are turned into places.
_PLACES = 1 << 18
# Of a step of the machine there are fewer.
_OPERANDS = 255


class Part(NamedTuple):
    """An operand that lies in the array of a slot, so many bytes behind its first element."""

    slot: Slot
    offset: int


class Between:
    """Memory that operations need between them, in bytes."""

    def __init__(self, size: int) -> None:
        self.size = size


Operand = Any  # a Slot, a Part, a Between, or a constant array
Steps = list[tuple[Any, list[Operand]]]
Forms = list[Form]


def prepare(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    """The prepared operations that a step consists of, with their operands; None where Python has to do it.

    An empty list where there is nothing to do: a view of what is there.
    """
    found = _rule(step.function)
    if found is None or not step.args:
        return None
    try:
        with np.errstate(all="raise"):  # of constants in the type of their operation
            operations = found(step, forms, roots)
    except Exception:  # a call that a rule has not foreseen, such as u8 < 300: the function knows
        return None
    return operations if operations is None or _asks_for_all(step, operations) else None


def _asks_for_all(step: Instruction, operations: Steps) -> bool:
    """Whether each array that a step is given is an operand, not an axis, a shape or an option."""
    given = slots_of((step.args, step.kwargs))
    used = slots_of(step.args[0]) if not operations or step.function in _FILLING else []
    if not operations and step.function is operator.setitem:
        used += slots_of(step.args[2])
    for _, operands in operations:
        used += [x.slot if type(x) is Part else x for x in operands if type(x) in (Slot, Part)]
    return all(given.count(x) <= used.count(x) for x in given)


def _rule(function: Any) -> Callable[[Instruction, Forms, Any], Steps | None] | None:
    if isinstance(function, np.ufunc):
        return _ufunc
    return _KNOWN.get(function) if is_hashable(function) else _of_ufunc(function)


def _of_ufunc(function: Any) -> Callable[[Instruction, Forms, Any], Steps | None] | None:
    if function.__self__ is np.add and function.__name__ == "at":
        return lambda step, forms, roots: _scattered(step, forms, roots, adding=True)
    if function.__name__ != "reduce" or function.__self__ not in _REDUCING:
        return None
    return lambda step, forms, roots: _reduction(function.__self__, 0, step, forms)


def _layout(form: Form) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return form.shape, form.strides or ()


def is_by_rows(form: Form) -> bool:
    return form.strides is None or form.strides == _by_rows(form.shape, _dtype(form).itemsize)


def _by_rows(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides = [size] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return tuple(strides)


def _dtype(form: Form) -> np.dtype[Any]:
    assert form.dtype is not None
    return form.dtype


def _are_plain(*forms: Form) -> bool:
    """Whether all are arrays or numbers of NumPy's, of native types."""
    return all(form.dtype is not None and form.dtype.isnative for form in forms)


# -- elementwise -------------------------------------------------------------------------------------------


def _ufunc(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    ufunc: Any = step.function
    if ufunc.signature is not None:
        return _matmul(step, forms, []) if ufunc is np.matmul and not step.kwargs else None
    raises = vars(np).get(ufunc.__name__) is not ufunc
    if raises and vars(scipy.special).get(ufunc.__name__) is not ufunc:
        return None
    if ufunc.nout != 1 or len(step.args) != ufunc.nin or ufunc.nin > 2 or type(step.result) is not Slot:
        return None
    if step.kwargs and (set(step.kwargs) != {"out"} or step.kwargs["out"] != (step.result,)):
        return None
    result = forms[step.result]
    types: list[Any] = []
    for x in step.args:
        if type(x) is Slot and _overlaps(x, step.result, forms, roots):
            return None
        if type(x) is Slot:
            types.append(forms[x].dtype)
        elif isinstance(x, (np.ndarray, np.generic)):
            types.append(x.dtype)
        elif type(x) is bool:
            types.append(np.dtype(bool))
        elif type(x) in (int, float, complex):
            types.append(type(x))
        else:
            return None
    if any(kind is None for kind in types) or not _are_plain(result):
        return None
    try:
        resolved = ufunc.resolve_dtypes((*types, None))
    except TypeError:
        return None
    if resolved[-1] != result.dtype:
        return None
    if resolved[0].kind in "iu" and ufunc not in _EXACT | _OF_INTEGERS:  # powers of integers raise errors
        return None
    operands: list[Operand] = []
    layouts = []
    before: Steps = []
    for x, kind, dtype in zip(step.args, types, resolved, strict=False):
        if type(x) is Slot and kind == dtype and kind.isnative:
            operands.append(x)
            layouts.append(_layout(forms[x]))
        elif type(x) is Slot:
            layouts.append((forms[x].shape, _by_rows(forms[x].shape, dtype.itemsize)))
            operands.append(Between(int(np.prod(forms[x].shape)) * dtype.itemsize))
            cast = _cast(forms[x], dtype, layouts[-1])
            if cast is None:
                return None
            before.append((cast, [x, operands[-1]]))
        else:
            constant = np.array(x, dtype)
            operands.append(constant)
            layouts.append((constant.shape, constant.strides))
    letters = "".join(dtype.char for dtype in resolved)
    forms_of_all = [*layouts, _layout(result)]
    exact, tells = ufunc in _EXACT, ufunc not in _SILENT
    made = prepared.elementwise(ufunc, letters, forms_of_all, exact, tells, raises)
    return None if made is None else [*before, (made, [*operands, step.result])]


def _cast(of: Form, dtype: np.dtype[Any], layout: Any) -> Any:
    """The numbers of an array in another type, laid out so."""
    if not _are_plain(of):
        return None
    return prepared.cast(_dtype(of), dtype, [_layout(of), layout])


def _astype(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    x = step.args[0]
    if type(x) is not Slot or type(step.result) is not Slot or len(step.args) > 2:
        return None
    if not set(step.kwargs) <= {"dtype", "copy"}:
        return None
    if step.result == x or roots[step.result][0] != step.result:
        return []
    result = forms[step.result]
    if not _are_plain(result) or forms[x].dtype == result.dtype:
        return _copy(step, forms, roots)
    made = _cast(forms[x], _dtype(result), _layout(result))
    return None if made is None else [(made, [x, step.result])]


# What NumPy takes for these powers of an array of floating point numbers.
_POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


def _power(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    """``x ** y`` for a constant y: of an array by the ufunc of this power, of a number by the C library."""
    x, y = step.args
    if type(x) is not Slot or type(step.result) is not Slot or type(y) not in (int, float):
        return None
    of, result = forms[x], forms[step.result]
    if not _are_plain(of, result) or of.dtype != result.dtype or _dtype(of).kind != "f":
        return None
    if of.strides is not None:
        found = _POWERS.get(y) if of.shape else None
        return None if found is None else _ufunc(step._replace(function=found, args=(x,)), forms, roots)
    if _dtype(of).char != "d":
        return None
    return [(prepared.power_of_number(), [x, np.array(float(y)), step.result])]


def _power_in_place(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    """``x **= y`` of an array."""
    x, y = step.args
    if step.result != x:
        return None
    if type(y) in (int, float) and _dtype(forms[x]).kind == "f" and forms[x].shape:
        found, args = (_POWERS[y], (x,)) if y in _POWERS else (np.power, (x, y))
    elif type(y) is Slot and forms[y].shape:
        found, args = np.power, (x, y)
    else:
        return None
    return _ufunc(step._replace(function=found, args=args, kwargs={"out": (x,)}), forms, roots)


def _overlaps(x: Slot, result: Slot, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> bool:
    """Whether a result is written into memory of an operand, and not each element onto its own."""
    if roots[x][2] != roots[result][2]:
        return False
    return (roots[x], *_layout(forms[x])) != (roots[result], *_layout(forms[result]))


def _product(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    """The chain rule's product."""
    g, partial, conjugated, *_ = *step.args, False
    if type(g) is not Slot or type(step.result) is not Slot or step.kwargs:
        return None
    of, result = forms[g], forms[step.result]
    if not _are_plain(of, result) or of.dtype != result.dtype or not is_by_rows(result):
        return None
    if of.shape != result.shape or 0 in of.shape:
        return None
    before: Steps = []
    if not is_by_rows(of):
        size = _dtype(of).itemsize
        # the two parts of a complex product are not there before the first one is written
        at = step.result if _dtype(of).kind == "f" else Between(int(np.prod(of.shape)) * size)
        before = [(prepared.copy(size, [_layout(of), _layout(result)]), [g, at])]
        g = at
    letter, n = _dtype(of).char, int(np.prod(of.shape))
    if type(partial) in (float, int):
        partial = np.array(float(partial), of.dtype)
        by_number = True
    elif type(partial) is Slot:
        other = forms[partial]
        if other.dtype != of.dtype:
            return None
        if not is_by_rows(other):
            layout = other.shape, _by_rows(other.shape, _dtype(of).itemsize)
            by_rows = Between(int(np.prod(other.shape)) * _dtype(of).itemsize)
            before.append((prepared.copy(_dtype(of).itemsize, [_layout(other), layout]), [partial, by_rows]))
            partial = by_rows
        by_number = other.shape == () != of.shape
        if not by_number and other.shape != of.shape:
            return None
    elif _is_constant_of(partial, of.dtype) and partial.shape in (of.shape, ()):
        partial = np.array(partial, order="C")
        by_number = partial.shape == () != of.shape
    else:
        return None
    if letter not in "fdFD":
        return None
    made = prepared.chain_product(letter, n, bool(conjugated), by_number)
    return None if made is None else [*before, (made, [g, partial, step.result])]


def _is_constant_of(x: Any, dtype: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype == dtype


def _quotient(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    """The chain rule's quotient."""
    if step.kwargs or len(step.args) != 2 or type(step.args[0]) is not Slot or type(step.result) is not Slot:
        return None
    g, y = step.args
    of, result = forms[g], forms[step.result]
    if not _are_plain(of, result) or of.dtype != result.dtype or not is_by_rows(result):
        return None
    if type(y) in (int, float):
        y = np.array(y, of.dtype)
    other, layout = (forms[y].dtype, _layout(forms[y])) if type(y) is Slot else _layout_of(y)
    if other != of.dtype:
        return None
    made = prepared.chain_quotient(_dtype(of).char, [_layout(of), layout, _layout(result)])
    return None if made is None else [(made, [g, y, step.result])]


def _layout_of(x: Any) -> tuple[Any, Any]:
    """The dtype of a constant array, and how it lies; None of anything else."""
    return (x.dtype, (x.shape, x.strides)) if isinstance(x, np.ndarray) else (None, None)


def _where(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    if len(step.args) != 3 or step.kwargs or type(step.result) is not Slot:
        return None
    result = forms[step.result]
    mask, *branches = step.args
    if type(mask) is not Slot or forms[mask].dtype != np.bool_ or not _are_plain(result):
        return None
    operands: list[tuple[Operand, Any]] = []
    for x in branches:
        if type(x) is Slot:
            if forms[x].dtype != result.dtype:
                return None
            operands.append((x, _layout(forms[x])))
        elif type(x) in (int, float):
            operands.append((np.array(x, result.dtype), ((), ())))
        else:
            return None
    size = _dtype(result).itemsize
    first = prepared.copy(size, [operands[1][1], _layout(result)])
    second = prepared.masked_copy(size, [_layout(forms[mask]), operands[0][1], _layout(result)])
    if first is None or second is None:
        return None
    return [(first, [operands[1][0], step.result]), (second, [mask, operands[0][0], step.result])]


# -- reductions --------------------------------------------------------------------------------------------


def _reducing(ufunc: np.ufunc) -> Callable[[Instruction, Forms, Any], Steps | None]:
    return lambda step, forms, roots: _reduction(ufunc, None, step, forms)


def _of_truth(ufunc: np.ufunc) -> Callable[[Instruction, Forms, Any], Steps | None]:
    """Of truth values; of numbers Python does it."""

    def steps(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
        is_truth = type(step.args[0]) is Slot and forms[step.args[0]].dtype == bool
        return _reduction(ufunc, None, step, forms) if is_truth else None

    return steps


def _reduction(ufunc: np.ufunc, default: Any, step: Instruction, forms: Forms) -> Steps | None:
    options = dict(step.kwargs)
    axis = step.args[1] if len(step.args) == 2 else options.pop("axis", default)
    options.pop("keepdims", None)
    x = step.args[0]
    if (
        any(x is not (None if name in ("dtype", "out") else np._NoValue) for name, x in options.items())
        or len(step.args) > 2
        or type(x) is not Slot
        or type(step.result) is not Slot
    ):
        return None
    of, result = forms[x], forms[step.result]
    if not _are_plain(of, result) or not is_by_rows(result):
        return None
    before: Steps = []
    if ufunc in (np.add, np.multiply) and of.dtype == bool and result.dtype == np.int64:
        layout = of.shape, _by_rows(of.shape, 8)
        counted = Between(int(np.prod(of.shape)) * 8)
        before = [(_cast(of, _dtype(result), layout), [x, counted])]
        of, x = of._replace(dtype=result.dtype, strides=of.strides and layout[1]), counted
    if of.dtype != result.dtype:
        return None
    if len(of.shape) == 1 and not is_by_rows(of):
        size = _dtype(of).itemsize
        by_rows = Between(of.shape[0] * size)
        before = [(prepared.copy(size, [_layout(of), (of.shape, (size,))]), [x, by_rows])]
        of, x = of._replace(strides=(size,)), by_rows
    if not is_by_rows(of):
        return None
    axes = len(of.shape)
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    if axis is not None:
        if type(axis) is not int or not -axes <= axis < axes:
            return None
        axis %= axes
    dtype = _dtype(of)
    if 0 in of.shape or (dtype.kind == "c" and ufunc is not np.add):
        return None
    made = prepared.reduction(ufunc, dtype.char, of.shape, axis, dtype.itemsize)
    return None if made is None else [*before, (made, [x, step.result])]


def _mean(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    """The sum, divided by how many there are: NumPy takes that for a number of 64 bits."""
    total = _reduction(np.add, None, step, forms)
    if total is None:
        return None
    x, result = forms[step.args[0]], forms[step.result]
    n = int(np.prod(x.shape)) // max(int(np.prod(result.shape)), 1)
    count = np.array(n, x.dtype)
    if _dtype(x).char == "F" or int(count.real) != n:
        return None
    letters, layout = _dtype(x).char * 3, _layout(result)
    divided = prepared.elementwise(np.divide, letters, [layout, ((), ()), layout], True)
    return None if divided is None else [*total, (divided, [step.result, count, step.result])]


# -- views and copies --------------------------------------------------------------------------------------


def _view(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    """Nothing to do where the result is a view, or several; else a copy in the order of the rows."""
    given = slots_of(step.args)
    if all(roots[slot][0] != slot or slot in given for slot in slots_of(step.result)):
        return []
    if type(step.result) is not Slot:
        return None
    x = step.args[0]
    if type(x) is not Slot or forms[x].dtype != forms[step.result].dtype or not _are_plain(forms[x]):
        return None
    if step.kwargs or (step.function in _RAVELING and len(step.args) > 1):
        return None  # another order
    if any(type(option) is not int for option in leaves_of(step.args[1:])):
        return None
    of, result = forms[x], forms[step.result]
    if not is_by_rows(result) or np.prod(of.shape) != np.prod(result.shape) or step.function in _NO_COPIES:
        return None
    size = _dtype(of).itemsize
    made = prepared.copy(size, [_layout(of), (of.shape, _by_rows(of.shape, size))])
    return None if made is None else [(made, [x, step.result])]


def _copy(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    """A copy in any order of axes."""
    x = step.args[0]
    if type(x) is not Slot or type(step.result) is not Slot or step.result == x:
        return None
    of, result = forms[x], forms[step.result]
    if not _are_plain(of, result) or of.dtype != result.dtype or of.shape != result.shape:
        return None
    if roots[step.result][0] != step.result:
        return None
    made = prepared.copy(_dtype(of).itemsize, [_layout(of), _layout(result)])
    return None if made is None else [(made, [x, step.result])]


def _is_basic(index: Any) -> bool:
    if isinstance(index, tuple):
        return all(_is_basic(part) for part in index)
    if type(index) is slice:
        return all(part is None or type(part) is int for part in (index.start, index.stop, index.step))
    return index is None or index is Ellipsis or type(index) is int


def _places(form: Form, index: Any) -> np.ndarray[Any, Any] | None:
    """How many bytes behind the first element those lie that a constant index names, in its shape."""
    if form.strides is None or np.prod(form.shape) > _PLACES:
        return None
    if _is_basic(index):
        first, shape, strides = part_of(form, index)
        return _offsets(shape, strides) + first
    return _offsets(form.shape, form.strides)[index]


def _offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """How many bytes behind the first element those of an array lie, in its shape."""
    offsets = np.zeros(shape, np.intp)
    for k, step in enumerate(strides):
        offsets += (np.arange(shape[k]) * step).reshape((-1,) + (1,) * (len(shape) - k - 1))
    return offsets


def _is_constant(index: Any) -> bool:
    if isinstance(index, tuple):
        return all(_is_constant(part) for part in index)
    return _is_basic(index) or (isinstance(index, np.ndarray) and index.dtype.kind in "biu")


def _getitem(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    x, index = step.args
    if type(x) is not Slot or type(step.result) is not Slot:
        return None
    if type(index) is Slot:
        return _element("get", [index, x, step.result], forms)
    if not _is_basic(index):
        return _gathered(step, forms) if _is_constant(index) else None
    if roots[step.result][0] != step.result:
        return []
    of, result = forms[x], forms[step.result]
    if not _are_plain(of, result):
        return None
    offset, shape, strides = part_of(of, index) if of.strides is not None else (0, (), ())
    made = prepared.copy(_dtype(of).itemsize, [(shape, strides), _layout(result)])
    return None if made is None else [(made, [Part(x, offset), step.result])]


def _element(kind: str, operands: list[Any], forms: Forms) -> Steps | None:
    """The element of an array with one axis at a place that is data: to get, to set, or to add to."""
    if any(type(x) is not Slot for x in operands):
        return None
    place, x, item = (forms[operand] for operand in operands)
    if not _are_plain(place, x, item) or place.shape or item.shape or len(x.shape) != 1 or x.strides is None:
        return None
    if item.dtype != x.dtype or (kind != "get" and not x.writeable) or (kind == "get" and item.strides == ()):
        return None
    made = prepared.element(kind, _dtype(place).char, _dtype(x).char, x.shape[0], x.strides[0])
    return None if made is None else [(made, operands)]


def _gathered(step: Instruction, forms: Forms) -> Steps | None:
    x, index = step.args
    of, result = forms[x], forms[step.result]
    at = _places(of, index)
    if at is None or not _are_plain(of) or not is_by_rows(result) or at.shape != result.shape:
        return None
    return [(prepared.places(_dtype(of).itemsize, at.ravel().tolist(), True, 0), [x, step.result])]


def _scattered(
    step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]], adding: bool = False
) -> Steps | None:
    x, index, item = step.args
    if adding and type(index) is Slot:
        return _element("add", [index, x, item], forms)
    if type(x) is not Slot or not _is_constant(index) or (adding and _dtype(forms[x]).char not in "fd"):
        return None
    of = forms[x]
    at = _places(of, index)
    if at is None or not _are_plain(of) or not of.writeable or type(item) is not Slot:
        return None
    form = forms[item]
    if (
        form.dtype != of.dtype
        or roots[item][2] == roots[x][2]
        or (form.shape != at.shape and form.shape != ())
    ):
        return None
    if not is_by_rows(form) and len(form.shape) != 1:
        return None
    step_of_item = 0 if form.shape == () else form.strides[-1] if form.strides else 0
    number = _dtype(of).num if adding else -1
    made = prepared.places(_dtype(of).itemsize, at.ravel().tolist(), False, step_of_item, number)
    return [(made, [item, x])]


def _setitem(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    x, index, item = step.args
    if type(x) is not Slot:
        return None
    if type(index) is Slot:
        return _element("set", [index, x, item], forms)
    if not _is_basic(index):
        return _scattered(step, forms, roots) if _is_constant(index) else None
    of = forms[x]
    if not _are_plain(of) or of.strides is None or not of.writeable:
        return None
    offset, shape, strides = part_of(of, index)
    if type(item) is Slot:
        layout = _layout(forms[item])
        if forms[item].dtype != of.dtype:
            return None
        if roots[item][2] == roots[x][2]:  # ``x[i] += y`` writes what is there already
            there = (roots[x][0], roots[x][1] + offset, roots[x][2]), shape, strides
            return [] if (roots[item], *layout) == there else None
    elif type(item) in (int, float) and _dtype(of).kind == "f":
        item, layout = np.array(item, of.dtype), ((), ())
    else:
        return None
    if len(layout[0]) > len(shape):
        return None
    made = prepared.copy(_dtype(of).itemsize, [layout, (shape, strides)])
    return None if made is None else [(made, [item, Part(x, offset)])]


def _filled(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    """New arrays of zeros, of ones, of constants."""
    if type(step.result) is not Slot or not _are_plain(forms[step.result]):
        return None
    result = forms[step.result]
    dtype = _dtype(result)
    content: Any = step.args[1] if step.function is np.full_like else _FILLING[step.function]
    if dtype.kind not in "biufc" or type(content) not in (int, float, np.ndarray):
        return None
    constant = np.array(content, dtype if np.ndim(content) == 0 else None)
    if constant.shape not in ((), result.shape) or constant.dtype != dtype:
        return None
    made = prepared.copy(dtype.itemsize, [(constant.shape, constant.strides), _layout(result)])
    return None if made is None else [(made, [constant, step.result])]


def _arranged(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    """Elements of arrays put elsewhere."""
    if type(step.result) is not Slot or roots[step.result][0] != step.result:
        return None
    result = forms[step.result]
    operands = [forms[x] for x in slots_of(step.args)]
    if not _are_plain(result, *operands):
        return None
    by_rows = is_by_rows(result)
    if not by_rows and result.strides != _by_rows(result.shape[::-1], _dtype(result).itemsize)[::-1]:
        return None
    if 0 in result.shape or sum(int(np.prod(form.shape)) for form in (result, *operands)) > _PLACES:
        return None
    found = runs_of(step, forms, by_rows)
    if found is None or len(found[0]) >= _OPERANDS:
        return None
    made = prepared.arrangement(_dtype(result).itemsize, len(found[0]), found[1])
    return [(made, [*found[0], step.result])]


def _diag(step: Instruction, forms: Forms, roots: list[tuple[Slot, int, Slot]]) -> Steps | None:
    """The diagonal of a matrix, a view or a copy of it; the matrix with that diagonal."""
    x = step.args[0]
    if type(x) is Slot and len(forms[x].shape) == 1:
        return _arranged(step, forms, roots)
    if type(x) is not Slot or len(forms[x].shape) != 2 or len(step.args) > 1 or step.kwargs:
        return None
    if roots[step.result][0] != step.result:
        return []
    of, result = forms[x], forms[step.result]
    if not _are_plain(of, result) or of.strides is None:
        return None
    made = prepared.copy(_dtype(of).itemsize, [(result.shape, (sum(of.strides),)), _layout(result)])
    return None if made is None else [(made, [x, step.result])]


# -- matrices ----------------------------------------------------------------------------------------------


def _matmul(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    return _matrix_product(step, forms, False, False)


def _gemm2(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    options = dict(step.kwargs)
    first, second = options.pop("transpose_a", False), options.pop("transpose_b", False)
    if options or len(step.args) != 2:
        return None
    if any(type(x) is not Slot or len(forms[x].shape) != 2 for x in step.args):
        return None
    made = _matrix_product(step, forms, bool(first), bool(second))
    if made is not None:
        made[0][0].hushed = True
    return made


def _matrix_product(step: Instruction, forms: Forms, first: bool, second: bool) -> Steps | None:
    if len(step.args) != 2 or type(step.result) is not Slot:
        return None
    operands: list[Operand] = []
    layouts = []
    result = forms[step.result]
    if not _are_plain(result) or not is_by_rows(result):
        return None
    for x in step.args:
        if type(x) is Slot:
            if forms[x].dtype != result.dtype:
                return None
            operands.append(x)
            layouts.append(_layout(forms[x]))
        elif isinstance(x, np.ndarray) and x.dtype == result.dtype:
            constant = np.array(x, order="C")
            operands.append(constant)
            layouts.append((constant.shape, constant.strides))
        else:
            return None
    made = prepared.matrix_product(_dtype(result).char, layouts[0], layouts[1], first, second)
    return None if made is None else [(made, [*operands, step.result])]


def _cholesky(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    if step.kwargs.get("upper"):
        return None
    return _of_square("potrf")(step._replace(kwargs={}), forms, roots)


def _solve(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
    """``np.linalg.solve`` by the factors, which lie in a cell of their own.

    LAPACK makes other numbers of infinities: the function is left to say which.
    """
    if step.kwargs or any(type(x) is not Slot for x in (*step.args, step.result)):
        return None
    A, B, X = (forms[x] for x in (*step.args, step.result))
    if not _are_plain(A, B, X) or len(A.shape) != 2 or not (A.dtype == B.dtype == X.dtype):
        return None
    if len(B.shape) > 2 or B.shape != X.shape or not is_by_rows(X) or A.strides is None or B.strides is None:
        return None
    n, k = A.shape[0], 1 if len(B.shape) == 1 else B.shape[1]
    letter, size = _dtype(A).char, _dtype(A).itemsize
    factor = prepared.of_square("getrf", letter, n, 0)
    solve = prepared.of_square("getrs", letter, n, k)
    if factor is None or solve is None:
        return None
    LU, piv = Between(n * n * size), Between(n * 4)
    copy_A = prepared.copy(size, [_layout(A), (A.shape, _by_rows(A.shape, size))])
    copy_B = prepared.copy(size, [_layout(B), _layout(X)])
    X_ = step.result
    return [
        (copy_A, [step.args[0], LU]),
        (prepared.are_finite(letter, n * n), [LU]),
        (factor, [LU, LU, piv]),
        (copy_B, [step.args[1], X_]),
        (solve, [LU, piv, X_, X_]),
        (prepared.are_finite(letter, n * k), [X_]),
    ]


def _of_square(name: str) -> Callable[[Instruction, Forms, Any], Steps | None]:
    def steps(step: Instruction, forms: Forms, roots: Any) -> Steps | None:
        arrays = _ARRAYS[name]
        options = dict(zip(_OPTIONS[name], step.args[arrays:], strict=False)) | step.kwargs
        options.pop("hermitian", None)
        lower, transpose = options.pop("lower", True), options.pop("transpose", False)
        results = () if step.result is None else step.result
        results = results if isinstance(results, tuple) else (results,)
        operands = [*step.args[:arrays], *results]
        options = {name: x for name, x in options.items() if not name.startswith("overwrite_")}
        if options or any(type(x) is not Slot for x in operands):
            return None
        A = forms[step.args[0]]
        if not all(_are_plain(forms[x]) for x in operands) or len(A.shape) != 2:
            return None
        before: Steps = []
        if name in _OVERWRITING and not is_by_rows(forms[operands[_OVERWRITING[name]]]):
            i = _OVERWRITING[name]
            of, to = forms[operands[i]], forms[results[0]]
            if of.shape != to.shape or of.dtype != to.dtype:
                return None
            before = [
                (prepared.copy(_dtype(of).itemsize, [_layout(of), _layout(to)]), [operands[i], results[0]])
            ]
            operands[i] = results[0]
        if not all(is_by_rows(forms[x]) for x in operands):
            return None
        others = [forms[x] for x in operands if _dtype(forms[x]).kind == "f"]
        if any(form.dtype != A.dtype or len(form.shape) != 2 for form in others):
            return None
        k = forms[step.args[2]].shape[1] if name == "getrs" else 0
        kernel = "unpaired_places" if name == "unpaired" and results else name
        if name == "getri":
            n = A.shape[0]
            operands.insert(2, Between((n + 1) * (n + 1) // 4 * _dtype(A).itemsize))
        made = prepared.of_square(kernel, _dtype(A).char, A.shape[0], k, bool(lower), 1 if transpose else 0)
        return None if made is None else [*before, (made, operands)]

    return steps


# How many arrays they take, what options; and those whose result overwrites a copy of this operand.
_ARRAYS = {
    "potrf": 1,
    "getri": 2,
    "getrf": 1,
    "potrf_pullback": 2,
    "getrs": 3,
    "unpaired": 1,
    "onto_unpaired": 2,
}
_OPTIONS = {
    "potrf": ("lower", "overwrite_a"),
    "getrf": ("overwrite_a",),
    "potrf_pullback": ("lower", "overwrite_l_bar"),
    "getrs": ("transpose", "overwrite_b"),
    "getri": ("overwrite_lu",),
    "unpaired": ("lower", "hermitian"),
    "onto_unpaired": ("overwrite_m_bar",),
}
_OVERWRITING = {"potrf": 0, "getrf": 0, "potrf_pullback": 1, "getrs": 2}

_VIEWING = {
    *(
        np.swapaxes,
        np.transpose,
        np.moveaxis,
        np.squeeze,
        np.expand_dims,
        np.broadcast_to,
        np.diagonal,
        np.real,
        np.imag,
        np.flip,
        np.flipud,
        np.fliplr,
        np.rot90,
        np.rollaxis,
        np.atleast_1d,
        np.atleast_2d,
        np.atleast_3d,
        np.split,
        np.array_split,
        np.hsplit,
        np.vsplit,
        np.dsplit,
    ),
    *(method("transpose"), method("swapaxes"), method("squeeze"), method("diagonal"), *VIEWS.values()),
}
_RESHAPING = {np.reshape, np.ravel, method("reshape"), method("ravel"), method("flatten")}
_RAVELING = {np.ravel, method("ravel"), method("flatten")}
_NO_COPIES = _VIEWING
view_in_place(operator.getitem, np.diag, *_VIEWING, *_RESHAPING)
# What asks for nothing but the form of an array.
_FILLING: dict[Any, int | None] = {np.zeros_like: 0, np.ones_like: 1, np.full_like: None}

_KNOWN: dict[Any, Callable[[Instruction, Forms, Any], Steps | None]] = {
    **dict.fromkeys(_VIEWING | _RESHAPING, _view),
    **dict.fromkeys((np.copy, method("copy"), method("__copy__")), _copy),
    **dict.fromkeys((np.astype, method("astype")), _astype),
    **dict.fromkeys(ARRANGING, _arranged),
    operator.getitem: _getitem,
    operator.setitem: _setitem,
    operator.pow: _power,
    operator.ipow: _power_in_place,
    np.where: _where,
    np.diag: _diag,
    np.linalg.cholesky: _cholesky,
    np.linalg.solve: _solve,
    **dict.fromkeys(_FILLING, _filled),
    **dict.fromkeys((np.sum, method("sum")), _reducing(np.add)),
    **dict.fromkeys((np.prod, method("prod")), _reducing(np.multiply)),
    **dict.fromkeys((np.all, method("all")), _of_truth(np.logical_and)),
    **dict.fromkeys((np.any, method("any")), _of_truth(np.logical_or)),
    **dict.fromkeys((np.mean, method("mean")), _mean),
    **dict.fromkeys((np.max, method("max")), _reducing(np.maximum)),
    **dict.fromkeys((np.min, method("min")), _reducing(np.minimum)),
    chain.product: _product,
    chain.quotient_of: _quotient,
    lindiff.kernels.gemm2: _gemm2,
    lindiff.kernels.potrf: _of_square("potrf"),
    lindiff.kernels.potrf_pullback: _of_square("potrf_pullback"),
    lindiff.kernels.getrf: _of_square("getrf"),
    lindiff.kernels.getrs: _of_square("getrs"),
    lindiff.kernels.getri: _of_square("getri"),
    lindiff.kernels.unpaired: _of_square("unpaired"),
    lindiff.kernels.onto_unpaired: _of_square("onto_unpaired"),
}
