"""Which functions give views of their first argument: what is written there is written here, and back."""

from __future__ import annotations

import numpy as np

from lindiff.core.registry import gives_views

__all__: list[str] = []

gives_views(
    np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.flip,
    np.rot90, np.real, np.imag,
)  # fmt: skip
gives_views(np.diagonal, np.broadcast_to, writable=False)
