"""Which functions give views of their first argument: what is written there is written here, and back.

And which give arrays without axes where most give scalars, which cannot be written to.
"""

from __future__ import annotations

import numpy as np

from lindiff.core.registry import gives_arrays, gives_views

__all__: list[str] = []

gives_views(
    np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.flip,
    np.rot90, np.real, np.imag,
)  # fmt: skip
gives_views(np.diagonal, np.broadcast_to, writable=False)

gives_arrays(
    np.apply_along_axis, np.array, np.asanyarray, np.asarray, np.asarray_chkfinite, np.block, np.broadcast_to,
    np.copy, np.cov, np.cross, np.empty, np.empty_like, np.expand_dims, np.fft.fftn, np.fft.ifftn, np.full,
    np.full_like, np.i0, np.linalg.tensordot, np.linalg.tensorsolve, np.ones, np.ones_like, np.pad,
    np.piecewise, np.polyint, np.real_if_close, np.resize, np.roll, np.select, np.tensordot, np.tile,
    np.where, np.zeros, np.zeros_like,
)  # fmt: skip
gives_arrays(np.astype, np.imag, np.trim_zeros, like_first=True)
