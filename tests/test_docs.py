"""The examples of the documentation run as written, and the figures it cites are the measured ones."""

from __future__ import annotations

import csv
import doctest
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest
import scipy.special

import lindiff

ROOT = Path(__file__).parent.parent
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if ">>> " in (text := page.read_text(encoding="utf-8")) and ">>> import cupy" not in text  # tests/cuda
]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(lindiff.__path__, "lindiff.")
    if (source := importlib.util.find_spec(module.name).origin or "").endswith(".py")
    and re.search(r"\n +>>> ", Path(source).read_text(encoding="utf-8"))
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page):
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name.endswith(".harmonics") and not hasattr(scipy.special, "sph_harm_y"):
        pytest.skip("SciPy has sph_harm_y since 1.15")
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    "module",
    ["", ".linalg", ".statespace", ".testing", ".seeing", ".descent", ".distributed", ".gp", ".gp.kernels"]
    + [
        ".scipy." + name
        for name in (
            "linalg",
            "special",
            "stats",
            "signal",
            "integrate",
            "optimize",
            "fft",
            "spatial.distance",
        )
    ],
)
def test_every_public_name_is_on_a_page(module):
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    words = set(re.findall(r"\w+", " ".join(page.read_text(encoding="utf-8") for page in pages)))
    missing = set(importlib.import_module("lindiff" + module).__all__) - words
    assert not missing, missing


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_pages_link_to_what_is_there(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#:]+)[)#]", text):
        assert (page.parent / link).exists(), link


def test_gains_of_custom_rules():
    page = (ROOT / "docs" / "custom_rules.md").read_text(encoding="utf-8")
    with open(ROOT / "benchmarks" / "results" / "custom_rules.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cited = next(line for line in page.splitlines() if f"/{row['rule']}.py)" in line)
            assert f"{row['gain']}× (n = {int(row['size']):_})".replace("_", " ") in cited
