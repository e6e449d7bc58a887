"""Which card this is, with which driver and libraries."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import cupy
import numpy as np

from lindiff_cuda.arrays import without_gpu

__all__ = ["described", "require_gpu"]


def require_gpu() -> None:
    """Exit with what CuPy says where it finds no GPU."""
    reason = without_gpu()
    if reason is not None:
        raise SystemExit(
            f"lindiff_cuda.check: CuPy finds no GPU ({reason}); it needs an NVIDIA driver and a card"
        )


def described() -> dict[str, Any]:
    """The card, its driver, and the versions of what runs on it."""
    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice())
    return {
        "card": properties["name"].decode(),
        "compute capability": f"{properties['major']}.{properties['minor']}",
        "multiprocessors": properties["multiProcessorCount"],
        "memory": properties["totalGlobalMem"],
        "driver": dotted(runtime.driverGetVersion()),
        "CUDA": dotted(runtime.runtimeGetVersion()),
        "CuPy": cupy.__version__,
        "lindiff": version("lindiff"),
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "system": platform.platform(),
    }


def dotted(number: int) -> str:
    """CUDA's 12040 is 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}"
