"""``numpy.fft`` as part of ``lindiff.numpy``."""

from typing import TYPE_CHECKING

from lindiff.numpy._names import names_of_numpy

if TYPE_CHECKING:
    from numpy.fft import *  # noqa: F403
else:
    __all__, __dir__, __getattr__ = names_of_numpy(globals())
