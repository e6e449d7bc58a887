"""Columns beyond the ones that are determined: of them, only the space that they span is."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.kernels.matmul import product
from lindiff.linalg._degeneracy import without_rotation
from lindiff.linalg._matrices import adjoint

__all__ = ["with_beyond", "without_beyond"]


def with_beyond(Q_dot: Any, inner: Any, beyond: Any) -> Any:
    """Joins to the change of ``inner`` that of ``beyond``, whose columns stay orthogonal to its own."""
    if beyond.shape[-1] == 0:
        return Q_dot
    return np.concatenate([Q_dot, -product(inner, product(adjoint(Q_dot), beyond))], axis=-1)


def without_beyond(Q_bar: Any, inner: Any, beyond: Any, name: str) -> Any:
    """The cotangent of ``inner`` alone: the adjoint of :func:`with_beyond`."""
    n = inner.shape[-1]
    if beyond.shape[-1] == 0:
        return Q_bar
    beyond_bar = Q_bar[..., n:]
    without_rotation(product(adjoint(beyond), beyond_bar), name)
    return Q_bar[..., :n] - product(beyond, product(adjoint(beyond_bar), inner))
