"""Which NumPy function has which differential: one file a family."""

from lindiff.rules import elementwise, fft, indexing, products, reductions, shape  # noqa: F401
from lindiff.rules.arithmetic import use_fast_paths
from lindiff.rules.structure import use_structure_paths

use_fast_paths()
use_structure_paths()
