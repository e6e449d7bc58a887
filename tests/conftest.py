"""Fixtures of all tests."""

from __future__ import annotations

import os
import subprocess
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


@pytest.fixture
def alone(tmp_path):
    """Run a script in a process of its own, outside the source tree, and get what it prints."""

    def run(script: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run
