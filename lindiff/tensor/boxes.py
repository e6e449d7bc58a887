"""Loops in boxes: what a band of conditions says of a sum, as bounds that are numbers.

Where ``0 <= p - 2*y < 3`` bounds a sum over y, p is ``2*q + s`` for each s, and y is ``q - t`` for a few t
that are the same for all q.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.names import Names
from lindiff.tensor.updates import Update, intervals, needed, size_of

__all__ = ["in_boxes"]

# Parts that a term is divided into at most, one for each remainder.
_MOST = 16


def in_boxes(update: Update, names: Names) -> list[Update]:
    """Updates that give the same together, with each summed loop in a box where a band allows it."""
    done: list[Update] = []
    todo = [update]
    while todo:
        one = todo.pop()
        band = _band(one)
        if band is None:
            done.append(one)
            continue
        name, form, last = band
        by = abs(int(form.terms[(name,)]))
        others = sorted(n for n in form.names if int(form.terms[(n,)]) % by)
        if by ** len(others) * (len(todo) + len(done) + 1) > _MOST:
            done.append(one)
        elif others:
            todo += _divided(one, others, by, names)
        else:
            todo.append(_along(one, name, form, last, names))
    return done


def _band(update: Update) -> tuple[str, Affine, int] | None:
    """A summed loop, and a form of it and others from 0 to a last value that holds it best."""
    boxes = intervals(update.conditions, update.loops)
    if boxes is None:
        return None
    upper: dict[Affine, int] = {}
    for c in update.conditions:
        if c.kind == ">=":
            form, constant = c.form - c.form.constant, int(c.form.constant)
            upper[form] = min(constant, upper.get(form, constant))
    found = []
    for form, constant in upper.items():
        if len(form.names) > 1 and -form in upper:
            # form >= -constant and form <= the other constant
            start, last = form + constant, upper[-form] + constant
            for name in form.names & set(update.summed):
                width = last // abs(int(form.terms[(name,)])) + 1
                length = size_of(boxes, [name])
                if last >= 0 and 2 * width <= length:
                    found.append((width / length, name, start, last))
    if not found:
        return None
    _, name, start, last = min(found, key=lambda one: (one[0], one[1], one[3], one[2].text()))
    return name, start, last


def _divided(update: Update, loops: list[str], by: int, names: Names) -> Iterator[Update]:
    """One for each remainder of loops."""
    new = {name: names.fresh(name) for name in loops}
    for remainders in product(range(by), repeat=len(loops)):
        forms = {name: affine(new[name]) * by + s for name, s in zip(loops, remainders, strict=True)}
        one = update.substituted(forms)
        yield replace(
            one,
            free=tuple(new.get(name, name) for name in one.free),
            summed=tuple(new.get(name, name) for name in one.summed),
            conditions=needed(one.conditions),
        )


def _along(update: Update, name: str, form: Affine, last: int, names: Names) -> Update:
    """With the band's form in the place of a loop."""
    new = names.fresh(name)
    c = int(form.terms[(name,)])
    value = (affine(new) - form.without((name,))) / c
    one = update.substituted({name: value})
    return replace(
        one,
        summed=tuple(new if n == name else n for n in one.summed),
        conditions=needed(one.conditions),
    )
