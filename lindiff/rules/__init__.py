"""Which NumPy function has which differential: one file a family."""

from lindiff.rules import (  # noqa: F401
    complex,
    creation,
    elementwise,
    fft,
    indexing,
    products,
    reductions,
    selection,
    shape,
    zero_derivative,
)
from lindiff.rules.arithmetic import use_fast_paths

use_fast_paths()
