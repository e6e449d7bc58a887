"""Which NumPy function has which differential: one family a folder or file.

In the folders ``rules`` is the readable rules, ``compiled`` what carries them out on plain arrays.
"""

from lindiff.rules import (  # noqa: F401
    applying,
    batching,
    complex_domain,
    convolution,
    creation,
    fft,
    histograms,
    interpolation,
    padding,
    polynomial_series,
    polynomials,
    quantiles,
    special,
    windows,
    writers,
    zero_derivative,
)
from lindiff.rules.linalg import decompositions, determinants, rules  # noqa: F401
from lindiff.rules.linalg.factorizations import use_factorization_paths
from lindiff.rules.linalg.gaussian import use_gaussian_path
from lindiff.rules.views import use_views

# isort: split
import lindiff.rules.complex.compiled
import lindiff.rules.elementwise.compiled
import lindiff.rules.indexing.compiled
import lindiff.rules.products.compiled
import lindiff.rules.reductions.compiled
import lindiff.rules.selection.compiled
import lindiff.rules.shape.compiled  # noqa: F401
from lindiff.rules import operators  # noqa: F401

use_views()
use_factorization_paths()
use_gaussian_path()
