"""Elements that are copied, as strided views of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import Access
from lindiff.tensor.layouts import Layout
from lindiff.tensor.updates import Interval, Update, intervals

__all__ = ["Copy", "copy_of"]


@dataclass(frozen=True)
class _View:
    """The elements at forms of loops, one axis for each loop.

    Attributes
    ----------
    begin : tuple of slice
        The first element.
    shape, strides : tuple of int
    """

    begin: tuple[slice, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(
        cls, subscripts: tuple[Affine, ...], strides: tuple[int, ...], boxes: dict[str, Interval]
    ) -> _View:
        first = {name: affine(low) for name, (low, _) in boxes.items()}
        begin = [int(s.substituted(first).constant) for s in subscripts]
        steps = (
            sum(int(s.coefficient(name).constant) * step for s, step in zip(subscripts, strides, strict=True))
            for name in boxes
        )
        shape = tuple(high - low + 1 for low, high in boxes.values())
        return cls(tuple(slice(k, k + 1) for k in begin), shape, tuple(steps))

    def __call__(self, x: Any) -> Any:
        return np.lib.stride_tricks.as_strided(x[self.begin], self.shape, self.strides)


@dataclass(frozen=True)
class Copy:
    """``out[...] = combine(out[...], x[...])``, or ``x[...]`` alone if that is all of it.

    Attributes
    ----------
    place : int
        Of the array in the list that is given.
    combine : ufunc
    is_whole : bool
        Whether all of the result is written.
    """

    place: int
    source: _View
    to: _View
    combine: np.ufunc
    is_whole: bool

    def run(self, arrays: list[Any], out: Any) -> None:
        """Combine with what is in ``out``."""
        to = self.to(out)
        self.combine(to, self.source(arrays[self.place]), out=to)

    def put(self, arrays: list[Any], out: Any) -> None:
        """Write all of ``out``, whatever is in it."""
        np.copyto(self.to(out), self.source(arrays[self.place]))


def copy_of(update: Update, array: Layout, place: int, out: Layout, combine: np.ufunc) -> Copy | None:
    """The copy that an update is, of loops in boxes; None where it is another thing."""
    x = update.body
    if update.summed or not isinstance(x, Access) or x.outside != "error" or not update.free:
        return None
    boxes = intervals(update.conditions, update.free)
    if boxes is None or any(len(c.form.names) != 1 or c.kind != ">=" for c in update.conditions):
        return None
    if any(form.denominator() != 1 for form in x.subscripts):
        return None
    is_whole = update.subscripts == tuple(map(affine, update.free)) and all(
        box == (0, size - 1) for box, size in zip(boxes.values(), out.shape, strict=True)
    )
    return Copy(
        place,
        _View.of(x.subscripts, array.strides, boxes),
        _View.of(update.subscripts, out.strides, boxes),
        combine,
        is_whole,
    )
