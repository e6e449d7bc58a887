"""``numpy.lib.stride_tricks`` as part of ``lindiff.numpy``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.numpy._names import public_names, take_over

__all__ = public_names(np.lib.stride_tricks)


def __getattr__(name: str) -> Any:
    return take_over(np.lib.stride_tricks, name, globals())


def __dir__() -> list[str]:
    return __all__
