"""Each floor of the house imports only from floors below it, as the table in CONTRIBUTING.md has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("lindiff", "lindiff_cuda")
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / package).rglob("*")
    if path.suffix in (".py", ".pyi", ".pyx", ".pxd")
)


def floors() -> list[tuple[str, list[str]]]:
    """The floors from the top to the bottom, and the folders and files of each."""
    house = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The house")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", house.partition("\n## ")[0], re.MULTILINE)
    return [(name, found) for name, where in rows if (found := re.findall("`([^`]+)`", where))]


FLOORS = floors()
HEIGHT = {place: len(FLOORS) - k for k, (_, places) in enumerate(FLOORS) for place in places}


def place_of(path: str) -> str | None:
    """The folder or file of the table that a source file belongs to: the longest that it lies in."""
    return max((p for p in HEIGHT if path == p or path.startswith(f"{p}/")), key=len, default=None)


def file_of(module: str) -> str | None:
    """The source file of a module of ours."""
    path = module.replace(".", "/")
    named = [f"{path}/__init__.py", *(path + suffix for suffix in (".py", ".pyx", ".pxd"))]
    return next((name for name in named if name in SOURCES), None)


def imported_from(module: str, names: list[str]) -> Iterator[str]:
    """The modules that ``from module import names`` imports: some names may be modules themselves."""
    for name in names:
        yield f"{module}.{name}" if file_of(f"{module}.{name}") else module


def absolute(path: str, level: int, module: str) -> str:
    """The whole name of a module that is named from a file with so many dots."""
    if level == 0:
        return module
    parts = Path(path).parent.parts
    return ".".join([*parts[: len(parts) - level + 1], *([module] if module else [])])


def imports_of_python(path: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            yield from imported_from(absolute(path, node.level, node.module or ""), names)
        elif isinstance(node, ast.Call) and node.args:  # import_module, sys.modules.get
            name = ast.unparse(node.func).rpartition(".")[2]
            if name.endswith("import_module") or ast.unparse(node.func) == "sys.modules.get":
                yield from beginning(node.args[0])
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            yield from beginning(node.slice)


def beginning(node: ast.expr) -> Iterator[str]:
    """The name of a module that stands in a string, or as much of it as does."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
        if isinstance(node, ast.Constant):
            yield node.value.rpartition(".")[0]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+c?import[ \t]+(\([^)]*\)|.*)|c?import[ \t]+(.+))$", re.MULTILINE
)


def imports_of_cython(path: str, text: str) -> Iterator[str]:
    for dots, module, names, modules in STATEMENT.findall(text):
        listed = re.sub(r"#.*|[()]", "", names or modules).split(",")
        found = [words[0] for part in listed if (words := part.split())]
        yield from found if modules else imported_from(absolute(path, len(dots), module), found)


def imports(path: str, text: str) -> set[str]:
    """The modules of ours that a source file imports, in functions and for type checkers too."""
    read = imports_of_cython if path.endswith((".pyx", ".pxd")) else imports_of_python
    return {module for module in read(path, text) if module.partition(".")[0] in PACKAGES}


def test_every_source_file_is_on_a_floor():
    assert {place_of(path) for path in SOURCES} == set(HEIGHT)


@pytest.mark.parametrize("path", SOURCES)
def test_imports_from_floors_below(path):
    own = place_of(path)
    for module in imports(path, (ROOT / path).read_text(encoding="utf-8")):
        file = file_of(module)
        assert file is not None, f"there is no {module}"
        place = place_of(file)
        assert HEIGHT[place] <= HEIGHT[own], f"{path} imports {module}, of the floor {place} above {own}"


@pytest.mark.parametrize(
    ("path", "text", "modules"),
    [
        ("lindiff/core/a.py", "def f():\n    from lindiff.rules import shape, METHODS", "rules.shape rules"),
        ("lindiff/core/a.py", "if TYPE_CHECKING:\n    import lindiff.numpy", "numpy"),
        ("lindiff/core/a.py", "from . import record\nfrom ..linalg import potrf", "core.record linalg"),
        ("lindiff/core/a.py", "sys.modules.get('lindiff.seeing')", "seeing"),
        ("lindiff/core/a.py", "x = import_module(f'lindiff.scipy.{name}')", "scipy"),
        (
            "lindiff/core/a.pyx",
            "from lindiff.kernels.rowmajor cimport (\n  potrf,  # one\n)",
            "kernels.rowmajor",
        ),
        ("lindiff/core/a.pyx", "    cimport lindiff.rules.arithmetic as a", "rules.arithmetic"),
        ("lindiff/core/a.pyx", "from . cimport record", "core.record"),
    ],
)
def test_imports_are_found(path, text, modules):
    assert imports(path, text) == {f"lindiff.{module}" for module in modules.split()}
