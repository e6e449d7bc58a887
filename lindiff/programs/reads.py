"""What code reads by name: globals, free variables and modules, and what it asks of these at once."""

from __future__ import annotations

import dis
import types
import weakref
from itertools import islice, takewhile
from typing import Any, NamedTuple

__all__ = ["Import", "Read", "asks_for", "handles_exceptions", "raising_frame", "reads"]

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_SILENT = ("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PUSH_NULL", "RESUME")


class Read(NamedTuple):
    """A global or a free variable, and the attributes that are asked for at once: ``cfg.a.b`` and no more."""

    name: str
    attributes: tuple[str, ...]
    is_global: bool


class Import(NamedTuple):
    """A module that is imported on the way, with what is asked of it: ``from .a import b`` asks for b."""

    level: int
    module: str
    attributes: tuple[str, ...]


_known: weakref.WeakKeyDictionary[types.CodeType, list[Read | Import]] = weakref.WeakKeyDictionary()


def reads(code: types.CodeType) -> list[Read | Import]:
    """What code, and the functions within it, may read.

    Examples
    --------
    >>> reads((lambda x: np.linalg.norm(x)).__code__)
    [Read(name='np', attributes=('linalg', 'norm'), is_global=True)]
    """
    found = _known.get(code)
    if found is None:
        found = _known[code] = list(dict.fromkeys(_reads(code)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                found += reads(constant)
    return found


def asks_for(code: types.CodeType, attributes: set[str]) -> bool:
    """Whether code, or a function within it, may ask something for one of these attributes."""
    return not attributes.isdisjoint(code.co_names) or any(
        asks_for(constant, attributes) for constant in code.co_consts if isinstance(constant, types.CodeType)
    )


def handles_exceptions(code: types.CodeType) -> bool:
    """Whether code, or a function within it, goes on after exceptions, or may do so."""
    return bool(getattr(code, "co_exceptiontable", True)) or any(  # Python 3.10 has no table
        handles_exceptions(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)
    )


def raising_frame(error: BaseException) -> types.FrameType | None:
    """The frame whose own ``raise``, or ``assert``, an exception comes from; None of others."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or dis.opname[at.tb_frame.f_code.co_code[at.tb_lasti]] != "RAISE_VARARGS":
        return None
    return at.tb_frame


def _reads(code: types.CodeType) -> list[Read | Import]:
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _SILENT]
    found: list[Read | Import] = []
    for k, i in enumerate(instructions):
        if i.opname in _GLOBALS or i.opname in _CELLS:
            found.append(Read(i.argval, _attributes(instructions, k), i.opname in _GLOBALS))
        elif i.opname == "IMPORT_NAME":
            found += _imports(instructions, k)
    return found


def _attributes(instructions: list[dis.Instruction], k: int) -> tuple[str, ...]:
    """What is asked of what instruction ``k`` loads."""
    following = islice(instructions, k + 1, None)
    return tuple([i.argval for i in takewhile(lambda i: i.opname in _ATTRIBUTES, following)])


def _imports(instructions: list[dis.Instruction], k: int) -> list[Read | Import]:
    level, names = instructions[k - 2].argval, instructions[k - 1].argval
    module = instructions[k].argval
    found: list[Read | Import] = []
    if not names:  # import a.b gives a, import a.b as c asks it for b
        top, *below = module.split(".")
        stored = k + 1
        while instructions[stored].opname in ("IMPORT_FROM", "SWAP", "ROT_TWO", "POP_TOP"):
            stored += 1
        asked = tuple(below) if stored > k + 1 else ()
        return [Import(level, top, asked + used) for used in _uses(instructions, stored)]
    for at in range(k + 1, len(instructions)):
        if instructions[at].opname == "IMPORT_NAME":
            break
        if instructions[at].opname == "IMPORT_FROM":
            name = instructions[at].argval
            found += [Import(level, module, (name, *used)) for used in _uses(instructions, at + 1)]
    return found


def _uses(instructions: list[dis.Instruction], stored: int) -> list[tuple[str, ...]]:
    """What is asked of what an instruction stores: nothing, where it goes on as a whole."""
    if instructions[stored].opname != "STORE_FAST":
        return [()]
    local: Any = instructions[stored].argval
    uses = []
    for k, i in enumerate(instructions):
        if i.opname.startswith("LOAD_FAST") and i.argval == local:
            uses.append(_attributes(instructions, k))
        elif isinstance(i.argval, tuple) and local in i.argval and "FAST" in i.opname:  # two at once
            uses.append(())
    return uses
