"""How arrays lie in memory: all that plans know of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Shape, strides in bytes, and dtype."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, x: Any) -> Layout:
        return cls(x.shape, x.strides, x.dtype)

    @classmethod
    def by_rows(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
        """Of a new array, the last axis in one piece."""
        strides = (prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))
        return cls(shape, tuple(strides), dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize
