"""The graph of a program: its operations, and the guards between its ways."""

from __future__ import annotations

import itertools
from collections import Counter

from lindiff.programs.explanation import Explanation, Explanations, Step
from lindiff.seeing._graph import Box, Graph, array_text, groups, repeated

__all__ = ["graph_of_program"]

MOST = 200  # boxes, before lines of source are drawn instead of operations

Way = tuple[str, ...]


def graph_of_program(explanation: Explanation | Explanations, collapse: bool) -> Graph:
    """What a program does for arguments of one form."""
    if isinstance(explanation, Explanations):
        raise ValueError("draw(program) needs arguments: a program is another one for each form of them")
    if not explanation.rows:
        raise ValueError(f"{explanation.program} cannot be drawn: {explanation.reason}")
    if not collapse:
        return _Drawn(explanation, False).graph
    drawn = _Drawn(explanation, True).graph
    return drawn if len(drawn.boxes) <= MOST else _ByLine(explanation, True).graph


class _Drawn:
    """Boxes for the rows of an explanation, in their order."""

    def __init__(self, explanation: Explanation, collapse: bool) -> None:
        self.boxes: list[Box] = []
        self.edges: dict[tuple[int, int], None] = {}
        self.collapse = collapse
        start = {i: self.add(Box(*told, "input")) for i, told in enumerate(explanation.inputs)}
        self.makers: dict[Way, dict[int, int]] = {(): start}  # the boxes of arrays, at the end of each way
        self.forks: dict[Way, int] = {}  # the boxes of guards with several ways behind them
        for way, rows in itertools.groupby(explanation.rows, lambda row: row.way):
            self.way(way, list(rows))

    @property
    def graph(self) -> Graph:
        return Graph(self.boxes, [(start, end) for start, end in self.edges if start != end])

    def add(self, box: Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def way(self, way: Way, rows: list[Step]) -> None:
        """The rows up to a guard behind which there are several ways, or to the end."""
        first = len(self.boxes)
        if way:
            self.makers[way] = dict(self.makers[way[:-1]])
            fork = self.forks[way[:-1]]
            self.edges[fork, self.add(Box(way[-1].rpartition(" is ")[2], "", "way"))] = None
        for is_operation, some in itertools.groupby(rows, lambda row: row.kind == "operation"):
            together = list(some)
            if is_operation:
                self.operations(together)
                continue
            for row in together:
                self.other(row)
        if way and len(self.boxes) > first + 1:
            self.edges[first, first + 1] = None

    def operations(self, rows: list[Step]) -> None:
        """Operations without a guard between them; of repeated blocks, the first and the last one."""
        signatures = [f"{row.name} {row.inputs} {row.outputs} {row.place}" for row in rows]
        for group in groups(signatures) if self.collapse else [[i] for i in range(len(rows))]:
            some = [rows[i] for i in group]
            detail = "\n".join(map(array_text, some[0].outputs))
            box = Box(some[0].name, detail, "operation")
            self.place(some, self.add(box if len(group) == 1 else repeated([row.name for row in some])))

    def other(self, row: Step) -> None:
        """A guard, or the end."""
        if row.kind == "return":
            box = Box("result", "\n".join(map(array_text, row.outputs)), "output")
        else:
            box = Box(row.text.removeprefix("guard "), " or ".join(row.seen), "guard")
        self.place([row], self.add(box))
        if len(row.seen) > 1:
            self.forks[row.way] = len(self.boxes) - 1

    def place(self, rows: list[Step], at: int) -> None:
        """Edges from what these rows read to their box."""
        makers = self.makers[rows[0].way]
        for row in rows:
            for number in row.reads:
                if number in makers:
                    self.edges[makers[number], at] = None
            for number in row.writes:
                makers[number] = at


class _ByLine(_Drawn):
    """One box for each line of source, in each way."""

    def way(self, way: Way, rows: list[Step]) -> None:
        self.lines: dict[str, int] = {}
        self.counts = Counter(row.place for row in rows)
        super().way(way, rows)

    def operations(self, rows: list[Step]) -> None:
        for row in rows:
            self.line(row)

    def other(self, row: Step) -> None:
        if row.kind == "guard" and len(row.seen) == 1:
            self.line(row)
        else:
            super().other(row)

    def line(self, row: Step) -> None:
        """Take a row into the box of its line."""
        if row.place not in self.lines:
            where, _, source = row.place.partition("  ")
            box = Box(source or where or "?", f"{where}, {self.counts[row.place]} operations", "repeated")
            self.lines[row.place] = self.add(box)
        self.place([row], self.lines[row.place])
