"""``numpy.lib`` as part of ``lindiff.numpy``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.numpy._names import public_names
from lindiff.numpy.lib import stride_tricks

__all__ = public_names(np.lib)

_OWN = (stride_tricks,)


def __getattr__(name: str) -> Any:
    return getattr(np.lib, name)


def __dir__() -> list[str]:
    return __all__
