"""``numpy.polynomial.laguerre`` with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.numpy._names import public_names
from lindiff.numpy.polynomial._series import take_over

__all__ = public_names(np.polynomial.laguerre)


def __getattr__(name: str) -> Any:
    return take_over(np.polynomial.laguerre, name, globals())


def __dir__() -> list[str]:
    return __all__
