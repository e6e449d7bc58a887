"""``python -m lindiff_cuda.check`` as its users run it."""

import json
import subprocess
import sys

import pytest
from gpu import real_cupy


@pytest.mark.gpu
def test_quick(tmp_path):
    real_cupy()
    call = [sys.executable, "-m", "lindiff_cuda.check", "--quick"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert json.loads((tmp_path / "lindiff_cuda_check.json").read_text())["comparisons"]
