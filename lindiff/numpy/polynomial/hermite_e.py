"""``numpy.polynomial.hermite_e`` with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.numpy._names import public_names
from lindiff.numpy.polynomial._series import take_over

__all__ = public_names(np.polynomial.hermite_e)


def __getattr__(name: str) -> Any:
    return take_over(np.polynomial.hermite_e, name, globals())


def __dir__() -> list[str]:
    return __all__
