"""On the floors that are built from many small functions a name means one thing, whatever file it is in.

A function is found by its name: where two files of a floor have one, a reader takes one for the other.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import blas, lapack

ROOT = Path(__file__).parent.parent / "lindiff"
FLOORS = ["kernels", "core", "linalg", "rules"]

# Names that still mean two things. None is to be added; take out what is told apart.
TO_BE_TOLD_APART = {
    "kernels": set(),
    "core": set(),
    "linalg": {"det", "inverse", "slogdet", "triangle"},
    "rules": set(),
}  # fmt: skip

DEFINITION = re.compile(
    r"^(?:(?:cdef |cpdef |def )(?!class|struct|enum|extern|packed|union)(?:inline )?"
    r"(?:[\w.\[\]]+ +\**)*?\**(\w+)\(|(?:cdef )?class (\w+)"
    r"|c(?:type)?def (?:packed )?(?:struct|enum|union) (\w+))",
    re.MULTILINE,
)


def defined(path: Path) -> set[str]:
    """The functions, classes and structs that a file defines at its top; without those of its own use."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        nodes = ast.parse(text).body
        names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    else:
        names = {name for found in DEFINITION.findall(text) for name in found if name}
    return {name for name in names if not name.startswith("_")}


def sources(floor: str) -> list[Path]:
    """The files with definitions; a .pxd beside a .pyx declares what that defines."""
    paths = (ROOT / floor).rglob("*.p*")
    return [
        path
        for path in sorted(paths)
        if path.suffix in (".py", ".pyx") or (path.suffix == ".pxd" and not path.with_suffix(".pyx").exists())
    ]


def is_of_library(floor: str, name: str) -> bool:
    """Whether a name means what it does in BLAS and LAPACK (kernels) or in NumPy (rules)."""
    if floor == "kernels":
        return hasattr(blas, f"d{name}") or hasattr(lapack, f"d{name}")
    return floor == "rules" and any(hasattr(space, name) for space in (np, np.linalg, np.ndarray))


def repeated(floor: str) -> dict[str, list[str]]:
    """The names that several files of a floor define, with these files."""
    found = defaultdict(list)
    for path in sources(floor):
        for name in defined(path):
            found[name].append(path.relative_to(ROOT).as_posix())
    return {n: files for n, files in found.items() if len(files) > 1 and not is_of_library(floor, n)}


@pytest.mark.parametrize("floor", FLOORS)
def test_a_name_means_one_thing(floor):
    found = repeated(floor)
    new = {name: files for name, files in found.items() if name not in TO_BE_TOLD_APART[floor]}
    assert not new, f"names with two meanings: {new}"
    assert set(found) == TO_BE_TOLD_APART[floor], "take out of the list what is told apart"


def test_definitions_are_found(tmp_path):
    text = (
        "cdef inline void one(int n) noexcept nogil:\n    cdef int two(int m)\n"
        "cpdef object three(x):\ncdef cnp.ndarray four(\ncdef class Five(Six):\ncdef struct Seven:\n"
        "cdef double EIGHT = nine(3)\ndef _ten():\ncdef scalar *eleven(x):\ncdef extern from *:\n"
        "class Twelve:\n"
    )
    path = tmp_path / "a.pyx"
    path.write_text(text, encoding="utf-8")
    assert defined(path) == {"one", "three", "four", "Five", "Seven", "eleven", "Twelve"}
