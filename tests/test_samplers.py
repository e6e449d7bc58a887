"""The recipes for other libraries' samplers, as the documentation has them, where these are installed."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "samplers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", ["pymc", "blackjax"])
def test_recipes(alone, tmp_path, package):
    """The posterior mean of eight schools' mean effect is 4.4, with a standard deviation of 3.3."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (recipe,) = [block for block in blocks if f"import {package}" in block]
    printed = alone(recipe)
    mean = np.array(printed.split("[")[-1].split("]")[0].split(), float)[0]
    assert mean == pytest.approx(4.4, abs=1.5)
