"""``nan_check``: which operation makes the first NaN."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lindiff.core.observer import Step, layers
from lindiff.core.variable import Variable
from lindiff.seeing._naming import Naming, kind_of, leaves, name_of, operation_of, operations_in
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
    against it or its derivatives.  Neither are those that a function deals with inside, as ``np.nanmean``
    does.  Cost: every array is read once more; nothing outside the context.

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


class _NanCheck(Naming):
    def __init__(self, good: Callable[[Any], Any]) -> None:
        super().__init__(hold=False)
        self._good = good
        self._given_good = True  # whether the running step of a walk was given good arrays
        self._excused: set[int] = set()  # nodes of operations that were given a NaN
        # For running operations: the nodes of their parts, and whether a part was given a NaN.
        self._parts: dict[int, tuple[set[int], bool]] = {}

    def before(self, step: Step) -> None:
        """Before a step of a walk: notes whether what it is given is good."""
        self._parts.pop(id(step), None)
        if step.outer is None and step.kind != "operation":
            node = id(operation_of(step.what))
            self._given_good = node not in self._excused and self._bad_part(step.inputs) is None

    def see(self, step: Step) -> None:
        """Look at a step; one that is part of another is judged by the outcome of that one."""
        if step.kind == "operation":
            self.remember(step)
            excused = self._excuse(step)
            if step.outer is None and not excused:
                self._look_at_operation(step)
        elif step.outer is None and self._given_good:
            self._look_at_walk(step)

    def _excuse(self, step: Step) -> bool:
        """Whether an operation, or a part of it, was given a NaN: then its derivatives may have it, too."""
        given = self._bad_part(leaves((*step.inputs, *step.keywords.values()))) is not None
        of_parts, excused = self._parts.pop(id(step), (set(), False))
        given = given or excused
        judged = of_parts | {id(node) for node in operations_in(step.inputs)}
        for node in {id(node) for node in operations_in(step.result)} - judged:
            (self._excused.add if given else self._excused.discard)(node)
            of_parts.add(node)
        if step.outer is not None:
            others, excused = self._parts.get(id(step.outer), (set(), False))
            self._parts[id(step.outer)] = others | of_parts, excused or given
        return given

    def _look_at_operation(self, step: Step) -> None:
        """Stop at an operation whose result or tangent is bad."""
        name = name_of(step.what)
        for number, y in enumerate(leaves(step.result)):
            if not isinstance(y, Variable):
                continue
            *tangents, y_value = layers(y)
            count = f" {number}" if isinstance(step.result, (tuple, list)) else ""
            if not self._is_good(y_value):
                self._stop(name, y_value, f"in its result{count}", users_line())
            y_dot = self._bad_part(tangents)
            if y_dot is not None:
                self._stop(f"the derivative of {name}", y_dot, f"in its tangent{count}", users_line())

    def _look_at_walk(self, step: Step) -> None:
        """Stop at an operation whose walk gives a bad tangent, or bad cotangents of its inputs."""
        name, within, place, _ = self.call(step.what)
        if within:
            name += f" (in the {within})" if " of " in within else f" (in {within})"
        if step.kind == "push":
            y_dot = self._bad_part([step.result])
            if y_dot is not None:
                self._stop(f"the pushforward of {name}", y_dot, "in its tangent", place)
            return
        for number, x_bar in enumerate(step.result):
            part = self._bad_part([x_bar])
            if part is not None:
                self._stop(f"the pullback of {name}", part, f"in the cotangent of its input {number}", place)

    def _bad_part(self, arrays: Any) -> Any:
        """The first plain array with a NaN among (co)tangents; None if there is none."""
        for x in arrays:
            if isinstance(x, list):  # the cotangents of several outputs
                found = self._bad_part(x)
                if found is not None:
                    return found
            elif x is not None:
                for part in layers(x):
                    if not self._is_good(part):
                        return part
        return None

    def _is_good(self, x: Any) -> bool:
        return kind_of(x) not in ("f", "c") or bool(np.all(self._good(x)))

    def _stop(self, what: str, array: Any, where: str, place: Place | None) -> None:
        """Raise a FloatingPointError that says what made which bad number, and where."""
        bad = np.argwhere(np.logical_not(self._good(array)))
        index = tuple(map(int, bad[0]))
        kind = "a NaN" if np.isnan(array[index]) else "an infinity"
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        source = "" if place is None else f"\n  {place}\n    {place.text}"
        raise FloatingPointError(
            f"{what} makes {kind}: {where} of shape {np.shape(array)}, at index {index}{more}{source}"
        )
