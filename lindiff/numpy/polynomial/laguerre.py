"""``numpy.polynomial.laguerre`` with derivatives."""

from lindiff.numpy._names import names_of_numpy
from lindiff.numpy.polynomial._series import take_over

__all__, __dir__, __getattr__ = names_of_numpy(globals(), take_over)
