"""Program files: what a program knows, saved and loaded.

A file is a zip archive of two parts: ``program.json``, which has the recorded operations by their names and
what the function reads besides its arguments, and ``arrays``, the contents of constants.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

import lindiff.kernels
from lindiff.programs.calling import Known
from lindiff.programs.compiling import uncollected
from lindiff.programs.described import Unsaveable, described, surroundings_of
from lindiff.programs.recording import Unrecordable
from lindiff.programs.written import Reader, Writer

if TYPE_CHECKING:
    from lindiff.programs.program import Program

__all__ = ["load", "save"]

_LAYOUT = 1
_TEXT, _ARRAYS = "program.json", "arrays"
_SOURCES = {".py", ".pyx", ".pxd", ".so", ".pyd"}
# What comes of a file that is not what it was written as.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, json.JSONDecodeError, UnicodeError, RecursionError),
    *(KeyError, IndexError, TypeError, AttributeError, NotImplementedError, OverflowError, RuntimeError),
)


def save(program: Program[..., Any], path: str | os.PathLike[str]) -> None:
    """Write what is known of a program, and of its derivatives; see :meth:`Program.save`."""
    writer = Writer()
    try:
        with uncollected():
            section = _section(program, writer)
    except Unsaveable as reason:
        raise ValueError(f"{program!r} cannot be saved: {reason}") from None
    if section is None:
        raise ValueError(
            f"{program!r} has nothing to save yet: call it three times with arguments of each form; "
            "program.explain() says why it has no program, where that is so"
        )
    written = {"layout": _LAYOUT, "environment": environment(), "program": section, "shared": writer.shared}
    _put_in_place(Path(path), json.dumps(written, separators=(",", ":")), b"".join(writer.blocks))


def _put_in_place(path: Path, text: str, content: bytes) -> None:
    """A file is there as a whole, or not at all."""
    made = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr(_TEXT, text)
            archive.writestr(_ARRAYS, content)
        os.replace(made, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            made.unlink()


def _section(program: Program[..., Any], writer: Writer) -> Any:
    """What is known of a program and its derivatives; None if that is nothing."""
    known_of, programs = program.contents()
    forms = [_form(key, known, writer) for key, known in known_of.items() if _is_known(known)]
    sections = [(writer.value(which), _section(of, writer)) for which, of in programs.items()]
    derivatives = [(which, section) for which, section in sections if section is not None]
    return {"forms": forms, "derivatives": derivatives} if forms or derivatives else None


def _is_known(known: Known) -> bool:
    return (
        known.reason is None
        and known.tree is not None
        and known.tree.confirmed
        and known.surroundings is not None
        and known.surroundings.unchanged()
    )


def _form(key: Any, known: Known, writer: Writer) -> Any:
    assert known.tree is not None
    assert known.surroundings is not None
    return {
        "key": writer.value(key),
        "constants": writer.value(known.surroundings.roots[1:]),
        "surroundings": described(known.surroundings),
        "tree": writer.tree(known.tree),
        "recordings": known.recordings,
        "callers": sorted(known.callers),
    }


# -- loading -----------------------------------------------------------------------------------------------


def load(program: Program[..., Any], path: str | os.PathLike[str]) -> None:
    """Let a program know what is in a file; see :meth:`Program.load`."""
    try:
        with uncollected():
            written, content = _contents(Path(path))
            _refuse_other_environment(written["environment"])
            reader = Reader(written["shared"], content)
            found = list(_known(program, written["program"], reader))
    except _DAMAGED as error:
        raise ValueError(f"{path} is damaged, or no program file: {type(error).__name__}, {error}") from error
    except (ValueError, Unrecordable) as reason:
        raise ValueError(
            f"{path} is not of {program!r} as it is now: {reason}. Without it the function is recorded in "
            "its first calls; save it again then"
        ) from reason
    for of, key, known in found:
        of.take(key, known)


def _contents(path: Path) -> tuple[Any, bytes]:
    with zipfile.ZipFile(path) as archive:
        written = json.loads(archive.read(_TEXT))
        if written["layout"] != _LAYOUT:
            raise ValueError(f"it has the layout {written['layout']}, and this lindiff reads {_LAYOUT}")
        return written, archive.read(_ARRAYS)


def _refuse_other_environment(saved: dict[str, str]) -> None:
    for name, now in environment().items():
        if saved.get(name) != now:
            raise ValueError(f"it was saved with {name} {saved.get(name)}, and this is {now}")


def _known(
    program: Program[..., Any], section: Any, reader: Reader
) -> Iterator[tuple[Program[..., Any], Any, Known]]:
    """What a program, and each of its derivatives, knows of arguments of each form."""
    for form in section["forms"]:
        surroundings = surroundings_of(program.function, reader.value(form["constants"]))
        _refuse_difference(form["surroundings"], described(surroundings))
        known = Known()
        known.tree, known.surroundings = reader.tree(form["tree"]), surroundings
        known.recordings, known.callers = form["recordings"], set(form["callers"])
        yield program, reader.value(form["key"]), known
    for which, of_derivative in section["derivatives"]:
        yield from _known(program.derivative(*reader.value(which)), of_derivative, reader)


def _refuse_difference(saved: list[str], now: list[str]) -> None:
    for before, after in zip_longest(saved, now, fillvalue="nothing more is read"):
        if before != after:
            raise ValueError(f"when it was saved, {before}; now {after}")


# -- where a program is at home ----------------------------------------------------------------------------


@cache
def environment() -> dict[str, str]:
    """What has to be the same where a file is loaded."""
    pivots = lindiff.kernels.getrf(np.eye(1))[1].dtype
    return {
        "lindiff": f"{lindiff.__version__} ({_checksum()})",
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "Python": f"{sys.implementation.name} {sys.version}",
        "machine": f"{sys.platform} {platform.machine()} {sys.byteorder}",
        "integers": f"{np.dtype(np.intp).str} {np.dtype('l').str}, {pivots.str} for LAPACK",
    }


def _checksum() -> str:
    """Of the files of this package: versions between releases have one name."""
    folder = Path(lindiff.kernels.__file__).parent.parent
    sources = sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES)
    total = 0
    for path in sources:
        total = zlib.crc32(path.relative_to(folder).as_posix().encode(), total)
        total = zlib.crc32(path.read_bytes(), total)
    return f"{total:08x}"
