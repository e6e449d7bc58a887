"""SciPy's functions with derivatives, under SciPy's names.

``lindiff.scipy.fft``, ``integrate``, ``interpolate``, ``linalg``, ``ndimage``, ``optimize``, ``signal``,
``spatial``, ``special`` and ``stats`` stand in for SciPy's modules.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lindiff.scipy import (
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        spatial,
        special,
        stats,
    )

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "spatial",
    "special",
    "stats",
]


if not TYPE_CHECKING:

    def __getattr__(name):
        if name in __all__:  # imported when it is first asked for
            return _import_module(f"lindiff.scipy.{name}")
        raise AttributeError(
            f"lindiff.scipy has no {name!r}, it has {', '.join(__all__)}: of what else SciPy has there are "
            f"no derivatives"
        )


def __dir__() -> list[str]:
    return __all__
