"""What the operations of a record are called, and where in the user's source they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from lindiff.core.observer import Observer, Step, node_of
from lindiff.core.record import Component, Node
from lindiff.core.registry import Rule
from lindiff.core.variable import Variable, is_untraced
from lindiff.seeing._source import Place, users_line

_WALKS = {"pull": "pullback", "push": "pushforward"}


class Call(NamedTuple):
    """How an operation came about; ``node`` is held where its identity has to stay its own."""

    name: str
    within: str
    place: Place | None
    node: Node | None


def name_of(what: Any) -> str:
    """``exp`` for ``np.exp``."""
    return what if isinstance(what, str) else getattr(what, "__name__", repr(what))


def leaves(tree: Any) -> Iterator[Any]:
    """The arrays, numbers and Variables in nested lists and tuples, without axes and indices."""
    if isinstance(tree, (list, tuple)):
        for part in tree:
            yield from leaves(part)
    elif isinstance(tree, Variable) or kind_of(tree) in ("f", "c"):
        yield tree


def kind_of(x: Any) -> str:
    """The kind of the dtype of an array, "f" of a number; empty for anything else."""
    return "f" if isinstance(x, (float, complex)) else getattr(getattr(x, "dtype", None), "kind", "")


def operation_of(node: Node) -> Node:
    """The operation of a node, which may be one of its several outputs."""
    return node.parents()[0] if type(node) is Component else node


def operations_in(tree: Any) -> list[Node]:
    """The operations that the Variables in ``tree`` are results of."""
    variables = [y for y in leaves(tree) if isinstance(y, Variable) and not is_untraced(y)]
    return [operation_of(node_of(y)) for y in variables]


class Naming(Observer):
    """Remembers the operations of all traces by the identity of their nodes.

    With ``hold`` it keeps the nodes alive.  Without, a later node takes the place of one that has died.
    """

    def __init__(self, hold: bool) -> None:
        self._hold = hold
        self._calls: dict[int, Call] = {}

    def remember(self, step: Step) -> Call | None:
        """Take note of an operation; None where its result is nothing new."""
        given = {id(node) for node in operations_in(step.inputs)}
        known = self._calls if self._hold else {}
        results = operations_in(step.result)
        new = [node for node in results if id(node) not in given and id(node) not in known]
        if not new:
            return None
        call = Call(*self._names(step), self._place(step), new[0] if self._hold else None)
        for node in new:
            self._calls[id(node)] = call._replace(node=node if self._hold else None)
        return call

    def call(self, node: Node) -> Call:
        """What is known of the operation of a node."""
        unknown = Call(operation_of(node).name, "", None, None)
        return self._calls.get(id(operation_of(node)), unknown)

    def _names(self, step: Step) -> tuple[str, str]:
        """What an operation is called, and what it is a part of."""
        name, outer = name_of(step.what).lstrip("_"), step.outer
        if isinstance(step.what, Rule) and outer is not None and outer.kind == "operation":
            name, outer = (
                name_of(outer.what),
                outer.outer,
            )  # a primitive is called by the function that it serves
        walk = _walk(outer)
        if walk is not None:
            return name, f"{_WALKS[walk.kind]} of {self._name(walk)}"
        within = ""
        while outer is not None:
            within, outer = name_of(outer.what), outer.outer
        return name, "" if within == name else within

    def _name(self, walk: Step) -> str:
        """The name of the operation that a walk has come to."""
        outer = walk.outer
        if id(operation_of(walk.what)) not in self._calls and outer is not None and outer.kind == "operation":
            return self._names(outer)[0]  # its tangent is pushed while it runs
        return self.call(walk.what).name

    def _place(self, step: Step) -> Place | None:
        """The line of the operation, or of the operation whose derivative it belongs to."""
        walk = _walk(step.outer)
        place = None if walk is None else self.call(walk.what).place
        return users_line() if place is None else place


def _walk(step: Step | None) -> Step | None:
    """The innermost walk over a record that ``step`` is part of."""
    while step is not None and step.kind == "operation":
        step = step.outer
    return step
