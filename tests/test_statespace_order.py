"""The files of lindiff.statespace import in the order that the docstrings of its folders give."""

import ast
import re
from pathlib import Path

import pytest

from lindiff import statespace

ROOT = Path(statespace.__file__).parent
FOLDERS = [".", *sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))]


def order(folder):
    """The lines of names in the docstring of a folder: what stands further down may import from above."""
    text = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text()))
    lines = re.findall(r"^    (\w+(?:, \w+)*)(?:  |$)", text, re.MULTILINE)
    return [line.split(", ") for line in lines]


def files(folder):
    """The names in a folder: its files, and the folders in it."""
    paths = [*(ROOT / folder).glob("*.py"), *(path.parent for path in (ROOT / folder).glob("*/__init__.py"))]
    return {path.stem for path in paths} - {"__init__"}


def imports(path):
    """The modules of lindiff.statespace that a file imports anywhere, as tuples of names."""
    for node in ast.walk(ast.parse(path.read_text())):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name of the module"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in found:
            if name.startswith("lindiff.statespace."):
                yield module(name.split(".")[2:])


def module(names):
    """Those of the names that are files and folders."""
    for count in range(len(names), 0, -1):
        path = ROOT.joinpath(*names[:count])
        if path.is_dir() or path.with_suffix(".py").exists():
            return tuple(names[:count])
    return ()  # a name of the face


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_has_a_place(folder):
    names = [name for line in order(folder) for name in line]
    assert sorted(names) == sorted(files(folder))


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_go_one_way(folder):
    floor = {name: i for i, line in enumerate(order(folder)) for name in line}
    prefix = () if folder == "." else (folder,)
    for path in (ROOT / folder).rglob("*.py"):
        own = path.relative_to(ROOT / folder).with_suffix("").parts[0]
        for found in imports(path):
            if own == "__init__" or found[: len(prefix)] != prefix:
                continue
            assert found != prefix, f"{path} imports from the face of its own folder"
            other = found[len(prefix)]
            if other != own:
                assert floor[other] < floor[own], f"{path} imports from {other}, which is not above {own}"


@pytest.mark.parametrize("folder", FOLDERS[1:])
def test_folders_are_entered_by_their_face(folder):
    for path in ROOT.rglob("*.py"):
        if path.parent.name != folder:
            assert not [found for found in imports(path) if found[:1] == (folder,) and len(found) > 1], path
