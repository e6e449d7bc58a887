"""Two loops as one, where all that they read and write goes on in memory from the end of the inner one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import Access, Apply, Number, Scalar, accesses, at_least
from lindiff.tensor.layouts import Layout
from lindiff.tensor.products import place_in_bytes
from lindiff.tensor.updates import Interval, Update, intervals, size_of

__all__ = ["fused"]


def fused(
    update: Update, layouts: Mapping[str, Layout], out: Layout
) -> tuple[Update, Mapping[str, Layout], Layout]:
    """An update of the same numbers in fewer loops, and the layouts of its subscripts then: bytes."""
    boxes = intervals(update.conditions, update.loops)
    if boxes is None or len(boxes) < 2 or not update.is_in_box or not _is_of_elements(update.body):
        return update, layouts, out
    place = place_in_bytes(update.subscripts, out.strides)
    places = {x: place_in_bytes(x.subscripts, layouts[x.array].strides) for x in accesses(update.body)}
    free, summed = list(update.free), list(update.summed)
    by: dict[str, Affine] = {}
    for loops in (free, summed):
        while (pair := _pair(loops, boxes, [place, *places.values()])) is not None:
            outer, inner = pair
            first, length = boxes[inner][0], size_of(boxes, pair)
            by[outer] = affine(boxes[outer][0])
            place, places = _without(outer, boxes, place, places)
            loops.remove(outer)
            boxes[inner] = first, first + length - 1
            del boxes[outer]
    if not by:
        return update, layouts, out
    whole = {name: Layout((), (1,), layout.dtype) for name, layout in layouts.items()}
    box = [c for name, (low, high) in boxes.items() for c in (at_least(name, low), at_least(high, name))]
    found = replace(
        update,
        subscripts=(place,),
        free=tuple(free),
        summed=tuple(summed),
        conditions=tuple(box),
        body=_at(update.body, places),
    )
    return found, whole, replace(out, strides=(1,))


def _is_of_elements(x: Scalar) -> bool:
    """Whether there are elements alone, and numbers."""
    if isinstance(x, Apply):
        return all(map(_is_of_elements, x.args))
    if isinstance(x, Access):
        return x.outside == "error" and all(form.denominator() == 1 for form in x.subscripts)
    return isinstance(x, Number)


def _pair(
    loops: list[str], boxes: Mapping[str, Interval], places: Iterable[Affine]
) -> tuple[str, str] | None:
    """An outer and an inner loop that are one."""
    forms = list(places)
    for outer, inner in permutations(loops, 2):
        length = size_of(boxes, [inner])
        if all(
            form.coefficient(outer).constant == length * form.coefficient(inner).constant for form in forms
        ):
            return outer, inner
    return None


def _without(
    outer: str, boxes: Mapping[str, Interval], place: Affine, places: Mapping[Access, Affine]
) -> tuple[Affine, dict[Access, Affine]]:
    """The places where the outer loop begins: the inner one goes on from there."""
    start = {outer: affine(boxes[outer][0])}
    return place.substituted(start), {x: form.substituted(start) for x, form in places.items()}


def _at(x: Scalar, places: Mapping[Access, Affine]) -> Scalar:
    """With bytes for subscripts."""
    if isinstance(x, Access):
        return replace(x, subscripts=(places[x],))
    return Apply(x.function, tuple(_at(part, places) for part in x.args)) if isinstance(x, Apply) else x
