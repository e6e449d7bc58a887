"""``nan_check``: which operation makes the first NaN."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core.observer import Observer, Step, layers, node_of
from lindiff.core.record import Node
from lindiff.core.registry import Rule
from lindiff.core.variable import Variable, value
from lindiff.seeing._recording import leaves, name_of, operation_of
from lindiff.seeing._source import Place, users_line

__all__ = ["nan_check"]


@contextlib.contextmanager
def nan_check(*, inf: bool = False) -> Iterator[None]:
    """Stop at the operation on Variables that makes a NaN out of finite numbers.

    Used as ``with ld.nan_check():`` or as a decorator.  Looks at the result of every operation, at every
    tangent that is pushed and at every cotangent that is pulled back.

    Parameters
    ----------
    inf : bool
        Stop at infinities as well.

    Raises
    ------
    FloatingPointError
        At the first NaN: names the operation, in which of its arrays and where in it the NaN is, and the line
        of source that called the operation.

    Notes
    -----
    A NaN that an operation was given, in an argument or in a constant such as data with gaps, is not held
    against it.  Neither are those that a function deals with inside, as ``np.nanmean`` does.  Cost: every
    array is read once more; nothing outside the context.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> def loss(x):
    ...     return np.sum(np.sqrt(x - 1))
    >>> with ld.nan_check(), np.errstate(invalid="ignore"):
    ...     ld.grad(loss)(np.array([2.0, 0.0]))
    Traceback (most recent call last):
    ...
    FloatingPointError: sqrt makes a NaN: in its result of shape (2,), at index (1,)
      File "...", line 2, in loss
        return np.sum(np.sqrt(x - 1))
    """
    with _NanCheck(np.isfinite if inf else _not_nan):
        yield


def _not_nan(x: Any) -> Any:
    return np.logical_not(np.isnan(x))


class _NanCheck(Observer):
    def __init__(self, good: Any) -> None:
        self.good = good
        self.given_good = True
        # by the identity of their nodes, which are not held: a later node takes the place of one that died
        self.calls: dict[int, tuple[str, Place | None]] = {}

    def before(self, step: Step) -> None:
        if step.outer is None and step.kind != "operation":
            self.given_good = all(self.is_good(part) for x in _arrays(step.inputs) for part in layers(x))

    def see(self, step: Step) -> None:
        if step.outer is not None:  # a part of what is looked at as a whole
            if step.kind == "operation":
                self.remember(step)
        elif step.kind == "operation":
            self.remember(step)
            self.look_at_operation(step)
        else:
            self.look_at_walk(step)

    def remember(self, step: Step) -> None:
        """The name and the line of an operation, for the walks over the record."""
        call = None
        for y in leaves(step.result):
            if isinstance(y, Variable):
                node = id(operation_of(node_of(y)))
                call = call or (_outermost(step), users_line())
                if node not in self.calls or step.outer is None:
                    self.calls[node] = call

    def look_at_operation(self, step: Step) -> None:
        for number, y in enumerate(leaves(step.result)):
            if not isinstance(y, Variable):
                continue
            *tangents, y_value = layers(y)
            if not self.is_good(y_value):
                if all(self.is_good(value(x)) for x in leaves(step.inputs)):
                    where = f"in its result {number}" if isinstance(step.result, (tuple, list)) else "in its result"
                    self.stop(name_of(step.what), y_value, where, users_line())
            elif not all(map(self.is_good, tangents)) and all(
                self.is_good(part) for x in leaves(step.inputs) for part in layers(x)
            ):
                bad = next(part for part in tangents if not self.is_good(part))
                self.stop(f"the derivative of {name_of(step.what)}", bad, "in its tangent", users_line())

    def look_at_walk(self, step: Step) -> None:
        """Cotangents or tangents of one node."""
        results = step.result if isinstance(step.result, list) else [step.result]
        if not self.given_good:
            return
        walk, array = ("pullback", "cotangent of its input") if step.kind == "pull" else ("pushforward", "tangent")
        for number, x_bar in enumerate(results):
            for part in [part for x in _arrays([x_bar]) for part in layers(x)]:
                if not self.is_good(part):
                    name, place = self.call(step.what)
                    where = f"in the {array} {number}" if step.kind == "pull" else f"in its {array}"
                    self.stop(f"the {walk} of {name}", part, where, place)

    def call(self, node: Node) -> tuple[str, Place | None]:
        unknown = (type(node).__name__.lower(), None)
        return self.calls.get(id(operation_of(node)), unknown)

    def is_good(self, x: Any) -> bool:
        return getattr(getattr(x, "dtype", None), "kind", "") not in tuple("fc") or bool(np.all(self.good(x)))

    def stop(self, what: str, array: Any, where: str, place: Place | None) -> None:
        bad = np.argwhere(np.logical_not(self.good(array)))
        index = tuple(map(int, bad[0]))
        kind = "a NaN" if np.isnan(array[index]) else "an infinity"
        source = "" if place is None else f"\n  {place}\n    {place.text}"
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise FloatingPointError(
            f"{what} makes {kind}: {where} of shape {np.shape(array)}, at index {index}{more}{source}"
        )


def _outermost(step: Step) -> str:
    """The name of the operation as the user called it."""
    while isinstance(step.what, Rule) and step.outer is not None and step.outer.kind == "operation":
        step = step.outer
    return name_of(step.what)


def _arrays(parts: Any) -> Iterator[Any]:
    """The arrays among cotangents: None stands for zero, a list holds those of several outputs."""
    for part in parts:
        if isinstance(part, list):
            yield from _arrays(part)
        elif part is not None:
            yield part
