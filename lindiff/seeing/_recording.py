"""One run of a function, with every operation that was recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.core.observer import Observer, Step, node_of
from lindiff.core.record import Component, Node, Trace, current_trace
from lindiff.core.registry import Rule
from lindiff.core.variable import Variable, is_untraced, node_in, value
from lindiff.seeing._memory import bytes_kept, memory
from lindiff.seeing._source import Place, users_line
from lindiff.transforms._arguments import select

Array = tuple[tuple[int, ...], str]  # shape and dtype

_WALKS = {"pull": "pullback", "push": "pushforward"}


@dataclass(eq=False)
class Recorded:
    """An operation of the record."""

    name: str
    within: str
    inputs: list[Array]
    outputs: list[Array]
    place: Place | None
    node: Node
    forward: float
    backward: float | None = None
    kept: int = 0


def name_of(what: Any) -> str:
    """``exp`` for ``np.exp``."""
    return what if isinstance(what, str) else getattr(what, "__name__", repr(what))


def leaves(tree: Any) -> Iterator[Any]:
    """The arrays, numbers and Variables in nested lists and tuples, without what is an axis or an index."""
    if isinstance(tree, (list, tuple)):
        for part in tree:
            yield from leaves(part)
    elif isinstance(tree, (float, complex)) or getattr(getattr(tree, "dtype", None), "kind", "") in tuple("fc"):
        yield tree


def operation_of(node: Node) -> Node:
    """The operation that a node is of, where it is one of several outputs."""
    return node.parents()[0] if type(node) is Component else node


def _array(x: Any) -> Array:
    x = value(x)
    return np.shape(x), str(x.dtype) if hasattr(x, "dtype") else type(x).__name__


@dataclass
class _Seen:
    """What is remembered of the nodes of all traces: ``node`` is held so that its identity stays its own."""

    node: Node
    name: str
    place: Place | None


@dataclass
class Recording(Observer):
    """What happened in one run of a function, in the trace that this class made for it.

    Operations of transforms inside the function are those of other traces; what they do to the Variables of
    this one is recorded like anything else.  So a derivative is looked at by running it here.
    """

    operations: list[Recorded] = field(default_factory=list)
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node | None] = field(default_factory=list)
    trace: Trace | None = None
    linearization: Linearization | None = None
    _inputs: set[int] = field(default_factory=set)
    _by_node: dict[int, Recorded] = field(default_factory=dict)
    _seen: dict[int, _Seen] = field(default_factory=dict)
    _constants: dict[int, Any] = field(default_factory=dict)

    def run(self, function: Callable[..., Any], primals: tuple[Any, ...], backward: bool) -> None:
        """Run the function on Variables, and pull ones back through its record."""

        def watched(*arguments: Any) -> Any:
            self.trace = current_trace()
            self.input_nodes = [self._own(x) for x in pytree.flatten(arguments)[0]]  # type: ignore[misc]
            self._inputs = set(map(id, self.input_nodes))
            result = function(*arguments)
            self.output_nodes = [self._own(y) for y in pytree.flatten(result)[0]]
            return result

        with self:
            self.linearization = linearization = Linearization(watched, primals)
            for x in pytree.flatten(primals)[0]:
                self._note_constant(x)
            sizes = bytes_kept([op.node for op in self.operations], self._constants.__contains__)
            for op, size in zip(self.operations, sizes, strict=True):
                op.kept = size
            if backward:
                ones = [pytree.ones_like(y) if hasattr(y, "dtype") else None
                        for y in linearization.outputs.arrays]
                linearization.pull_arrays(ones)

    def see(self, step: Step) -> None:
        if step.kind == "operation":
            self._see_operation(step)
        elif step.kind == "pull":
            op = self._by_node.get(id(operation_of(step.what)))
            if op is not None:
                op.backward = (op.backward or 0.0) + step.seconds

    def _own(self, x: Any) -> Node | None:
        return None if self.trace is None else node_in(x, self.trace)

    def _note_constant(self, x: Any) -> None:
        """The caller's arrays are not memory that operations keep."""
        if isinstance(x, np.ndarray):
            self._constants[memory(x)[0]] = x

    def _see_operation(self, step: Step) -> None:
        results = [y for y in leaves(step.result) if isinstance(y, Variable) and not is_untraced(y)]
        nodes = [operation_of(node_of(y)) for y in results]
        new = [node for node in nodes if id(node) not in self._seen and id(node) not in self._inputs]
        if not new:
            return
        name, within = self._names(step)
        place = self._place(step)
        for node in new:
            self._seen[id(node)] = _Seen(node, name, place)
        if step.outer is None:
            for x in leaves(step.inputs):
                self._note_constant(x)
        own = [self._own(y) for y in results]
        if own[0] is None or nodes[0] not in new:
            return
        op = Recorded(
            name,
            within,
            [_array(x) for x in leaves(step.inputs)],
            [_array(y) for y in leaves(step.result)],
            place,
            nodes[0],
            step.seconds,
        )
        self._by_node[id(nodes[0])] = op
        self.operations.append(op)

    def _names(self, step: Step) -> tuple[str, str]:
        """What an operation is called, and what it is a part of."""
        name, outer = name_of(step.what), step.outer
        if isinstance(step.what, Rule) and outer is not None and outer.kind == "operation":
            name, outer = name_of(outer.what), outer.outer  # a primitive that stands behind one function
        walk = self._walk(outer)
        if walk is not None:
            return name, f"{_WALKS[walk.kind]} of {self._name(walk)}"
        within = ""
        while outer is not None:
            within, outer = name_of(outer.what), outer.outer
        return name, "" if within == name else within

    def _place(self, step: Step) -> Place | None:
        """The line of the operation, or of the one that it is part of the derivative of."""
        walk = self._walk(step.outer)
        seen = None if walk is None else self._seen.get(id(operation_of(walk.what)))
        return users_line() if seen is None else seen.place

    def _name(self, walk: Step) -> str:
        """The name of the operation that a walk has come to."""
        seen = self._seen.get(id(operation_of(walk.what)))
        if seen is not None:
            return seen.name
        if walk.outer is not None and walk.outer.kind == "operation":  # its tangent is pushed at once
            return self._names(walk.outer)[0]
        return type(walk.what).__name__.lower()

    @staticmethod
    def _walk(step: Step | None) -> Step | None:
        """The innermost walk over a record that ``step`` is part of."""
        while step is not None and step.kind == "operation":
            step = step.outer
        return step


def record(
    function: Callable[..., Any],
    argnums: int | tuple[int, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backward: bool,
) -> tuple[Recording, list[str]]:
    """A run of ``function``, and the names of its inputs, leaf by leaf."""
    of_selected, selected = select(function, argnums, args, kwargs)
    recording = Recording()
    recording.run(of_selected, selected, backward)
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    parameters = _parameters(function)
    names: list[str] = []
    for place, primal in zip(places, selected, strict=True):
        place %= len(args)
        name = parameters[place] if place < len(parameters) else f"argument {place}"
        count = len(pytree.flatten(primal)[0])
        names += [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
    return recording, names


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some compiled functions do not say
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
