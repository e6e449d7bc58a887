"""One run of a function, with every operation that was recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.core.names import positional_names
from lindiff.core.observer import Step
from lindiff.core.record import Node, Trace, current_trace
from lindiff.core.variable import node_in, value
from lindiff.seeing._memory import bytes_kept, memory
from lindiff.seeing._naming import Naming, leaves, operation_of
from lindiff.seeing._source import Place
from lindiff.transforms._arguments import Argnums, places_of, select

Array = tuple[tuple[int, ...], str]  # shape and dtype


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


def _array(x: Any) -> Array:
    x = value(x)
    return np.shape(x), str(x.dtype) if hasattr(x, "dtype") else type(x).__name__


class Recording(Naming):
    """What happened in one run of a function, in the trace that was made for this run.

    Operations of transforms inside the function are those of other traces; what they do to the Variables of
    this one is recorded like anything else.  So a derivative is looked at by running it here.

    Attributes
    ----------
    operations : list of Recorded
    inputs : list of (shape, dtype)
        The leaves of the arguments, and
    input_nodes : list of Node
        what stands for them in the record.
    output_nodes : list of Node or None
        The leaves of the result; None for constants.
    """

    def __init__(self, function: Callable[..., Any], primals: tuple[Any, ...], backward: bool) -> None:
        super().__init__(hold=True)
        self.operations: list[Recorded] = []
        self.input_nodes: list[Node] = []
        self.output_nodes: list[Node | None] = []
        self._trace: Trace | None = None
        self._by_node: dict[int, Recorded] = {}
        self._constants: dict[int, Any] = {}

        def watched(*arguments: Any) -> Any:
            self._trace = current_trace()
            self.input_nodes = [node_in(x, self._trace) for x in pytree.flatten(arguments)[0]]  # type: ignore[misc]
            result = function(*arguments)
            self.output_nodes = [node_in(y, self._trace) for y in pytree.flatten(result)[0]]
            return result

        with self:
            linearization = Linearization(watched, primals)
            self.inputs = [_array(x) for x in linearization.inputs.arrays]
            self._measure(primals)
            if backward:
                outputs = linearization.outputs.arrays
                linearization.pull_arrays(
                    [pytree.ones_like(y) if hasattr(y, "dtype") else None for y in outputs]
                )

    def see(self, step: Step) -> None:
        """Take a step into the record: an operation, or the time of its pullback."""
        if step.kind == "operation":
            self._see_operation(step)
        elif step.kind == "pull":
            op = self._by_node.get(id(operation_of(step.what)))
            if op is not None:
                op.backward = (op.backward or 0.0) + step.seconds

    def _see_operation(self, step: Step) -> None:
        """Add an operation of the user's function, with its arrays and the line that called it."""
        call = self.remember(step)
        if call is None:
            return
        if step.outer is None:
            for x in leaves(step.inputs):
                self._note_constant(x)
        own = [
            y for y in leaves(step.result) if self._trace is not None and node_in(y, self._trace) is not None
        ]
        if not own or call.node is None:
            return
        op = Recorded(
            call.name,
            call.within,
            [_array(x) for x in leaves(step.inputs)],
            [_array(y) for y in leaves(step.result)],
            call.place,
            call.node,
            step.seconds,
        )
        self._by_node[id(call.node)] = op
        self.operations.append(op)

    def _note_constant(self, x: Any) -> None:
        """Note an array of the caller's, which does not count as kept by operations."""
        if isinstance(x, np.ndarray):
            self._constants[memory(x)[0]] = x

    def _measure(self, primals: tuple[Any, ...]) -> None:
        """Count what the operations keep."""
        for x in pytree.flatten(primals)[0]:
            self._note_constant(x)
        sizes = bytes_kept([op.node for op in self.operations], self._constants.__contains__)
        for op, size in zip(self.operations, sizes, strict=True):
            op.kept = size


def record(
    function: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backward: bool,
) -> tuple[Recording, list[str]]:
    """A run of ``function``, and the names of its inputs, leaf by leaf."""
    of_selected, selected = select(function, argnums, args, kwargs)
    recording = Recording(of_selected, selected, backward)
    parameters = positional_names(function)
    names: list[str] = []
    for place, primal in zip(places_of(function, argnums, len(args), kwargs), selected, strict=True):
        name = place if isinstance(place, str) else _named(parameters, place)
        count = len(pytree.flatten(primal)[0])
        names += [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
    return recording, names


def _named(parameters: list[str], place: int) -> str:
    return parameters[place] if place < len(parameters) else f"argument {place}"
