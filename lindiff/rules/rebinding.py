"""``a += v`` on a plain array: the name ``a`` may be bound to a Variable where nobody else sees the array.

Python gives the statement ``a += v`` to NumPy as ``np.add(a, v, out=(a,))`` and binds ``a`` to what comes
back.  An array that only this name holds is gone then.  Another name, a list or a view would keep its old
numbers, and a call of ``np.add`` with ``out=`` binds nothing: these are told by the references to the array,
and by the instruction that the caller is at.  ``holder.a += v`` and ``holder[k] += v`` store what comes back
where the holder likes, which may be another place than it found the array in: that is not certain, either.
"""

from __future__ import annotations

import opcode
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from lindiff.core.variable import untraced

__all__ = ["is_statement", "may_rebind"]

# BINARY_OP's arguments for += and its kin (Python 3.11 and later; before, they are instructions of their own)
_IN_PLACE = range(13, 26)
_TO_NAMES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")

_expected: dict[tuple[bool, Callable[[], Any]], int] = {}
_measuring = threading.local()


def is_statement(frame: FrameType) -> bool:
    """Whether the frame, which has called NumPy, is at a statement ``a op= b``, not at a call."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if not 0 <= at < len(code):
        return False
    name = opcode.opname[code[at]]
    return name.startswith("INPLACE_") or (name == "BINARY_OP" and code[at + 1] in _IN_PLACE)


def a_variable() -> Any:
    return untraced(np.zeros((1, 1)))


def may_rebind(
    ufunc: np.ufunc,
    a: Any,
    frame: FrameType,
    names: tuple[str, ...] = _TO_NAMES,
    operand: Callable[[], Any] = a_variable,
) -> bool:
    """Whether the array ``a`` of a statement ``a op= v`` is certainly seen by nobody but the name ``a``.

    Parameters
    ----------
    ufunc : np.ufunc
        Of the operator.
    a : np.ndarray
    frame : FrameType
        That is at the statement.
    names : tuple of str
        The instructions by which it binds a name that may be bound to something else.
    operand : callable
        Makes a matrix of one number that asks the same, as ``v`` does.
    """
    references = sys.getrefcount(a)
    if getattr(_measuring, "now", False):
        _measuring.references = references
        return True
    if weakref.getweakrefcount(a) > 0 or not _binds_a_name(frame, names):
        return False
    return references <= _references_of_one_name(ufunc, operand) and _has_its_memory_alone(a)


def _binds_a_name(frame: FrameType, names: tuple[str, ...]) -> bool:
    """Whether the statement that the frame is at binds a name, not an attribute or an item."""
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(code) and opcode.opname[code[at]] == "CACHE":
        at += 2
    return at < len(code) and opcode.opname[code[at]].startswith(names)


def _references_of_one_name(ufunc: np.ufunc, operand: Callable[[], Any]) -> int:
    """How many references :func:`may_rebind` counts to an array that one name holds: they depend on Python,
    on NumPy and, as operands may be cast, on whether it is a product."""
    product = ufunc is np.matmul
    if (product, operand) not in _expected:
        v = operand()
        a = np.zeros((1, 1))
        _measuring.now = True
        try:
            if product:
                a @= v
            else:
                a += v
        finally:
            _measuring.now = False
        _expected[product, operand] = _measuring.references
    return _expected[product, operand]


def _has_its_memory_alone(a: Any) -> bool:
    """Whether ``a`` owns its memory, or is the only one that refers to the array that does."""
    base = a.base
    if base is None:
        return bool(a.flags.owndata)
    # references to the base: of the view, of the name here, of the argument
    return type(base) is np.ndarray and base.flags.owndata and sys.getrefcount(base) == 3
