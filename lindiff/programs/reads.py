"""What code reads by name: globals, free variables and modules, and what it asks of these at once."""

from __future__ import annotations

import dis
import types
import weakref
from itertools import islice, takewhile
from typing import Any, NamedTuple

__all__ = [
    "ATTRIBUTES",
    "CALLS",
    "SILENT",
    "Import",
    "Read",
    "asks_for",
    "handles_exceptions",
    "loads_one",
    "raising_frame",
    "reads",
]

ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_COMPARING = ("isinstance", "issubclass")
_COMBINING = ("BUILD_TUPLE", "BINARY_OP", "BINARY_OR")
CALLS = ("CALL", "CALL_FUNCTION")
SILENT = ("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME")


class Read(NamedTuple):
    """A global or a free variable, and the attributes that are asked for at once: ``cfg.a.b`` and no more.

    What is only ``compared`` is a class, or classes, that ``isinstance`` is called with, or ``is``.
    """

    name: str
    attributes: tuple[str, ...]
    is_global: bool
    compared: bool = False


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
    [Read(name='np', attributes=('linalg', 'norm'), is_global=True, compared=False)]
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
    instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
    found: list[Read | Import] = []
    compared = {k for start in range(len(instructions)) for k in _compared(instructions, start)}
    for k, i in enumerate(instructions):
        if i.opname in _GLOBALS or i.opname in _CELLS:
            found.append(Read(i.argval, _attributes(instructions, k), i.opname in _GLOBALS, k in compared))
        elif i.opname == "IMPORT_NAME":
            found += _imports(instructions, k)
    return found


def _attributes(instructions: list[dis.Instruction], k: int) -> tuple[str, ...]:
    """What is asked of what instruction ``k`` loads."""
    following = islice(instructions, k + 1, None)
    return tuple([i.argval for i in takewhile(lambda i: i.opname in ATTRIBUTES, following)])


def _compared(instructions: list[dis.Instruction], start: int) -> list[int]:
    """What loads the classes of a call of ``isinstance`` that begins here, or what ``is`` compares; no jump
    leads into it."""
    k = start + 1 + len(_attributes(instructions, start))
    if k < len(instructions) and instructions[k].opname == "IS_OP":
        return [start] if not instructions[k].is_jump_target else []
    if instructions[start].opname not in _GLOBALS or instructions[start].argval not in _COMPARING:
        return []
    k, found, arguments = start + 1, list[int](), 0
    while _loads(instructions, k):
        found.append(k)
        arguments += 1
        k += 1 + len(_attributes(instructions, k))
        while k < len(instructions) and instructions[k].opname in _COMBINING:
            arguments -= instructions[k].argval - 1 if instructions[k].opname == "BUILD_TUPLE" else 1
            if arguments < 2:
                return []
            k += 1
    calls = k < len(instructions) and instructions[k].opname in CALLS and instructions[k].argval == 2
    if arguments != 2 or not calls or any(i.is_jump_target for i in instructions[start + 1 : k + 1]):
        return []
    return found[1:]


def _loads(instructions: list[dis.Instruction], k: int) -> bool:
    return (
        k < len(instructions)
        and loads_one(instructions[k].opname)
        and instructions[k].opname not in (*ATTRIBUTES, "LOAD_BUILD_CLASS")
    )


def loads_one(opname: str) -> bool:
    """Whether an instruction puts one object there; some of Python 3.13 put two."""
    return opname.startswith("LOAD_") and opname.count("LOAD_") == 1


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
