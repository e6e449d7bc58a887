"""Which NumPy function has which differential: one file a family."""

from lindiff.core.linearization import explain_errors
from lindiff.rules import (  # noqa: F401
    applying,
    complex,
    complex_domain,
    convolution,
    creation,
    decompositions,
    determinants,
    directions,
    elementwise,
    fft,
    histograms,
    indexing,
    interpolation,
    linalg,
    norms,
    padding,
    polynomial_series,
    polynomials,
    products,
    quantiles,
    reductions,
    selection,
    shape,
    special,
    windows,
    writers,
    zero_derivative,
)
from lindiff.rules.abroad import explain
from lindiff.rules.arithmetic import use_fast_paths
from lindiff.rules.factorizations import use_factorization_paths
from lindiff.rules.gaussian import use_gaussian_path
from lindiff.rules.pointwise import use_pointwise_paths
from lindiff.rules.reduced import use_reduction_paths
from lindiff.rules.structure import use_structure_paths
from lindiff.rules.views import use_views

use_views()
use_fast_paths()
use_pointwise_paths()
use_structure_paths()
use_reduction_paths()
use_factorization_paths()
use_gaussian_path()
explain_errors(explain)
