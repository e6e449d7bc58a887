"""Fixtures of all tests."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

# `python -m pytest` puts the source tree first on the path, where no compiled modules are.
ROOT = Path(__file__).parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


@pytest.fixture
def rng():
    return np.random.default_rng(20260)
