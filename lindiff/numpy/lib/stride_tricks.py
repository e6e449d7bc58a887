"""``numpy.lib.stride_tricks`` as part of ``lindiff.numpy``."""

from lindiff.numpy._names import names_of_numpy

__all__, __dir__, __getattr__ = names_of_numpy(globals())
