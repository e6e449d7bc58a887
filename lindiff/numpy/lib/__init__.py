"""``numpy.lib`` as part of ``lindiff.numpy``."""

from lindiff.numpy._names import names_of_numpy
from lindiff.numpy.lib import stride_tricks as stride_tricks

__all__, __dir__, __getattr__ = names_of_numpy(globals())
