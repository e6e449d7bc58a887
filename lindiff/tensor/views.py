"""Elements and products of two elements without sums, as strided views of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import Access, Apply, Scalar
from lindiff.tensor.layouts import Layout
from lindiff.tensor.updates import Interval, Update, intervals, size_of

__all__ = ["Elementwise", "elementwise"]

# Elements that hide what it costs to make views.
_FEWEST = 4096


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
    def of(cls, subscripts: tuple[Affine, ...], layout: Layout, boxes: dict[str, Interval]) -> _View:
        first = {name: affine(low) for name, (low, _) in boxes.items()}
        begin = [int(s.substituted(first).constant) for s in subscripts]
        steps = (
            sum(
                int(s.coefficient(name).constant) * step
                for s, step in zip(subscripts, layout.strides, strict=True)
            )
            for name in boxes
        )
        shape = tuple(high - low + 1 for low, high in boxes.values())
        return cls(tuple(slice(k, k + 1) for k in begin), shape, tuple(steps))

    def __call__(self, x: Any) -> Any:
        return np.lib.stride_tricks.as_strided(x[self.begin], self.shape, self.strides)


@dataclass(frozen=True)
class Elementwise:
    """``out[...] = combine(out[...], x[...])``, or ``x[...] y[...]``.

    Attributes
    ----------
    sources : list of (int, _View)
        Places of arrays in the list that is given, and which elements.
    to : _View
    combine : ufunc
    is_whole : bool
        Whether all of the result is written.
    """

    sources: list[tuple[int, _View]]
    to: _View
    combine: np.ufunc
    is_whole: bool

    def run(self, arrays: list[Any], out: Any) -> None:
        """Combine with what is in ``out``."""
        to = self.to(out)
        given = self._given(arrays)
        self.combine(to, given[0] if len(given) == 1 else given[0] * given[1], out=to)

    def put(self, arrays: list[Any], out: Any) -> None:
        """Write all of ``out``, whatever is in it."""
        given = self._given(arrays)
        if len(given) == 1:
            np.copyto(self.to(out), given[0])
        else:
            np.multiply(given[0], given[1], out=self.to(out))

    def _given(self, arrays: list[Any]) -> list[Any]:
        return [view(arrays[place]) for place, view in self.sources]


def elementwise(
    update: Update, layouts: Mapping[str, Layout], places: Mapping[str, int], out: Layout, combine: np.ufunc
) -> Elementwise | None:
    """An update of loops in boxes as an operation on views; None where it is another thing."""
    elements = _elements(update.body)
    if update.summed or not update.free or not elements:
        return None
    boxes = intervals(update.conditions, update.free)
    if boxes is None or not update.is_in_box or size_of(boxes, boxes) < _FEWEST:
        return None
    if any(form.denominator() != 1 for x in elements for form in x.subscripts):
        return None
    is_whole = update.is_whole(out.shape)
    if len(elements) == 2 and not is_whole:
        return None
    sources = [(places[x.array], _View.of(x.subscripts, layouts[x.array], boxes)) for x in elements]
    return Elementwise(sources, _View.of(update.subscripts, out, boxes), combine, is_whole)


def _elements(x: Scalar) -> list[Access]:
    """An element, or two that are multiplied; none of another expression."""
    parts = x.args if isinstance(x, Apply) and x.function is np.multiply else (x,)
    found = [part for part in parts if isinstance(part, Access) and part.outside == "error"]
    return found if len(found) == len(parts) else []
