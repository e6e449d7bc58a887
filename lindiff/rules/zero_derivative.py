"""Functions whose derivative is zero wherever they have one: they run on the plain values.

And, for the functions that lindiff refuses, what to write instead.
"""

from __future__ import annotations

import numpy as np

from lindiff.core.registry import constant, suggest

__all__: list[str] = []

# comparisons and logic
constant(
    np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.logical_and,
    np.logical_or, np.logical_xor, np.logical_not, np.all, np.any, np.array_equal, np.array_equiv,
    np.allclose, np.isclose, np.isin, np.count_nonzero,
)  # fmt: skip

# what kind of number, of array
constant(
    np.isfinite, np.isinf, np.isnan, np.isneginf, np.isposinf, np.signbit, np.iscomplex, np.isreal,
    np.iscomplexobj, np.isrealobj, np.ndim, np.shape, np.size, np.result_type, np.can_cast,
    np.common_type, np.min_scalar_type, np.may_share_memory, np.shares_memory, np.array_repr, np.array_str,
    np.array2string,
)  # fmt: skip

# rounding: piecewise constant
constant(
    np.round, np.around, np.ceil, np.floor, np.floor_divide, np.trunc, np.fix, np.rint, np.sign, np.spacing
)

# positions, counts, ranks
constant(
    np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.argwhere, np.nonzero,
    np.flatnonzero, np.lexsort, np.searchsorted, np.digitize, np.unique, np.unique_counts, np.unique_inverse,
    np.linalg.matrix_rank, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from,
)  # fmt: skip

for name, instead in {
    "convolve": "numpy.einsum or slices",
    "correlate": "numpy.einsum or slices",
    "interp": "numpy.searchsorted for the interval and a formula in its ends",
    "unwrap": "numpy.diff, numpy.round and numpy.cumsum",
    "bincount": "lindiff's index sums: one-hot matrix @ weights",
    "histogram": "numpy.searchsorted and a one-hot matrix @ weights",
    "polyval": "Horner's rule in a loop",
    "polyfit": "numpy.linalg.lstsq with numpy.vander",
    "roots": "numpy.linalg.eigvals of the companion matrix",
    "i0": "scipy.special.i0",
    "apply_along_axis": "numpy.stack([f(row) for row in v])",
    "apply_over_axes": "the function with axis=(...)",
    "putmask": "numpy.where(mask, new, v)",
    "copyto": "numpy.where(mask, new, v), or the array itself",
    "put": "numpy.where(mask, new, v)",
    "place": "numpy.where(mask, new, v)",
    "put_along_axis": "numpy.where(mask, new, v)",
    "fill_diagonal": "v + numpy.diag(d)",
    "require": "numpy.astype",
}.items():
    suggest(name, instead)
