"""Functions whose derivative is zero wherever they have one: they run on the plain values."""

from __future__ import annotations

import numpy as np

from lindiff.core.registry import constant

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
    np.common_type, np.min_scalar_type, np.array_repr, np.array_str, np.array2string,
)  # fmt: skip

# rounding: piecewise constant; np.sign, of real numbers alone, is beside its rule for complex ones
constant(np.round, np.around, np.ceil, np.floor, np.floor_divide, np.trunc, np.fix, np.rint, np.spacing)

# positions, counts, ranks
constant(
    np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.argwhere, np.nonzero,
    np.flatnonzero, np.lexsort, np.searchsorted, np.digitize, np.linalg.matrix_rank,
    np.einsum_path, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.ravel_multi_index,
    np.unravel_index,
)  # fmt: skip
