"""Long batches in parts: libraries and launches number their matrices up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy

__all__ = ["parts", "slices"]


def slices(length: int, most: int) -> Iterator[slice]:
    """The parts of an axis of this length, none longer than `most`."""
    return (slice(begin, begin + most) for begin in range(0, length, most))


def parts(count: int, most: int, *stacks: Any) -> Iterator[tuple[Any, ...]]:
    """Stacks of `count` matrices, at most so many of them at a time.

    What is no array, and a matrix that all of the batch share, is in each part as it is.
    """
    if count <= most:
        yield stacks
        return
    for part in slices(count, most):
        yield tuple(x[part] if isinstance(x, cupy.ndarray) and x.shape[0] == count else x for x in stacks)
