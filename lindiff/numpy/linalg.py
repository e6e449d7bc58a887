"""``numpy.linalg`` as part of ``lindiff.numpy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lindiff.numpy._names import public_names, take_over

__all__ = public_names(np.linalg)


if TYPE_CHECKING:
    from numpy.linalg import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return take_over(np.linalg, name, globals())


def __dir__() -> list[str]:
    return __all__
