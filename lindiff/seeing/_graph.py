"""The graph of a computation, and its text in the DOT language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lindiff.core.record import Leaf, Node
from lindiff.seeing._naming import operation_of
from lindiff.seeing._recording import Array, Recorded, Recording

FEWEST = 5  # repetitions that are drawn as one
LONGEST = 200  # operations in a repetition

FILL = {"": "white", "pullback": "#fde4cf", "pushforward": "#d8ecd3", "input": "#dbe9f6", "output": "#dbe9f6"}

_SHAPES = {"operation": "ellipse", "repeated": "plaintext", "guard": "diamond", "way": "plaintext"}


@dataclass(frozen=True)
class Box:
    """A node of the drawing: an input, an operation, an output, or repetitions that are left out.

    ``kind`` is "input", "output", "operation" or "repeated", in programs also "guard", and "way" for what a
    guard has given; ``part`` is "pullback" or "pushforward" for the operations of a walk over an inner
    record.
    """

    label: str
    detail: str
    kind: str
    part: str = ""


@dataclass(frozen=True)
class Graph:
    """Boxes, and edges between their numbers, without duplicates, in the order of the computation."""

    boxes: list[Box] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def dot(self) -> str:
        """The graph in the DOT language of Graphviz."""
        lines = ["digraph computation {", '  node [fontname="Helvetica", fontsize=11, style=filled];']
        for i, box in enumerate(self.boxes):
            label = _quoted(box.label) + (r"\n" + _quoted(box.detail) if box.detail else "")
            shape = _SHAPES.get(box.kind, "box")
            lines.append(f'  n{i} [label="{label}", shape={shape}, fillcolor="{fill(box)}"];')
        lines += [f"  n{start} -> n{end};" for start, end in self.edges]
        return "\n".join([*lines, "}", ""])


def fill(box: Box) -> str:
    """The colour of a box."""
    return FILL.get(box.kind, FILL[box.part])


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")


def graph_of(recording: Recording, names: Sequence[str], collapse: bool) -> Graph:
    """What the results of a recorded run depend on."""
    used = _ancestors([node for node in recording.output_nodes if node is not None])
    operations = [op for op in recording.operations if id(op.node) in used]
    boxes: list[Box] = []
    number: dict[int, int] = {}
    for node, name, array in zip(recording.input_nodes, names, recording.inputs, strict=True):
        if id(node) in used:
            number[id(node)] = len(boxes)
            boxes.append(Box(name, array_text(array), "input"))
    for group in groups([_signature(op) for op in operations]) if collapse else _single(operations):
        first = operations[group[0]]
        box = Box(first.name, "\n".join(map(array_text, first.outputs)), "operation", _part(first))
        if len(group) > 1:
            box = repeated([operations[i].name for i in group], _part(first))
        for i in group:
            number[id(operations[i].node)] = len(boxes)
        boxes.append(box)
    edges = dict.fromkeys(
        (number[id(operation_of(parent))], number[id(op.node)])
        for op in operations
        for parent in op.node.parents()
    )
    for i, result in enumerate(recording.output_nodes):
        name = "result" if len(recording.output_nodes) == 1 else f"result[{i}]"
        if result is not None:
            edges[number[id(operation_of(result))], len(boxes)] = None
            boxes.append(Box(name, "", "output"))
    return Graph(boxes, [(start, end) for start, end in edges if start != end])


def _ancestors(nodes: list[Node]) -> dict[int, Node]:
    """All nodes that these depend on, by identity."""
    found: dict[int, Node] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(node.parents() if type(node) is not Leaf else [])
    return found


def array_text(array: Array) -> str:
    shape, dtype = array
    return str(shape) if dtype == "float64" else f"{shape} {dtype}"


def _part(op: Recorded) -> str:
    part = op.within.partition(" of ")
    return part[0] if part[1] else ""


def _signature(op: Recorded) -> str:
    """What has to be alike in two operations of a repetition."""
    return f"{op.name} {op.inputs} {op.outputs} {op.place} {op.within}"


def repeated(names: list[str], part: str = "") -> Box:
    """One box for operations that repeat a shorter sequence."""
    period = next(p for p in range(1, len(names) + 1) if len(names) % p == 0 and names[p:] == names[:-p])
    one = ", ".join(names[:period] if period <= 6 else [*names[:3], "…", *names[period - 2 : period]])
    return Box(f"{len(names) // period} × ({one})", "", "repeated", part)


def _single(operations: list[Recorded]) -> list[list[int]]:
    return [[i] for i in range(len(operations))]


def groups(signatures: list[str]) -> list[list[int]]:
    """Consecutive operations that are drawn as one: of a block that is repeated often, all but its first and
    its last repetition."""
    ids = {signature: i for i, signature in enumerate(dict.fromkeys(signatures))}
    codes = np.array([ids[signature] for signature in signatures], int)
    found: list[list[int]] = []
    runs = _runs(codes)
    i = 0
    while i < len(codes):
        period, length = runs.get(i, (1, 0))
        repetitions = length // period
        if repetitions >= FEWEST:
            found += [[j] for j in range(i, i + period)]
            found.append(list(range(i + period, i + (repetitions - 1) * period)))
            found += [[j] for j in range(i + (repetitions - 1) * period, i + repetitions * period)]
            i += repetitions * period
        else:
            found.append([i])
            i += 1
    return found


def _runs(codes: np.ndarray) -> dict[int, tuple[int, int]]:
    """The periodic runs in a sequence: ``{start: (period, length)}``, for each start the longest, and
    of equally long ones that of the shortest period."""
    found: dict[int, tuple[int, int]] = {}
    for period in range(1, min(LONGEST, len(codes) // FEWEST) + 1):
        same = np.concatenate([[False], codes[period:] == codes[:-period], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            length = end - start + period
            if length >= FEWEST * period and length > found.get(start, (0, 0))[1]:
                found[start] = (period, length)
    return found
