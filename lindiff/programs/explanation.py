"""What is known of a program, as tables that print."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, overload

from lindiff._tables import aligned, arrays, bytes_of, count, pandas, seconds

__all__ = ["Explanation", "Explanations", "Line", "Lines", "Step"]

MOST_ROWS = 60  # a longer program is shown by its lines of source
_LONGEST = 50  # letters of an operation, and of a line of source

Array = tuple[tuple[int, ...], str]  # shape and dtype


@dataclass(frozen=True)
class Step:
    """One row of an explanation.

    Attributes
    ----------
    kind : str
        "operation", "guard" or "return".
    name : str
        Of the function.
    text : str
        ``%5 = exp(%3)``: ``%3`` is the fourth array of the program, whose first ones are its arguments.
    inputs, outputs : list of (shape, dtype)
        Of the arrays that it takes and gives.
    seen : list of str
        What has come of a guard.
    way : tuple of str
        What the guards before it have given, where that decides whether it is done.
    file, line, source
        The user's line that asked for it; None, None and "" where there is none.
    by : str
        Who carries it out: "C", "Python" (as for all guards), or "" where there is nothing to do (views).
    steps : int
        How many steps the machine does for it.
    flops : float or None
        Floating point operations; None where there is no common formula.
    bytes : int
        Of what it reads and writes.
    seconds : float or None
        The median of several runs; None where nothing was run, or another way was taken.
    reads, writes : tuple of int
        The arrays that it takes and gives, or writes to, by their numbers.
    """

    kind: str
    name: str
    text: str
    inputs: list[Array]
    outputs: list[Array]
    seen: list[str]
    way: tuple[str, ...]
    file: str | None
    line: int | None
    source: str
    by: str
    steps: int
    flops: float | None
    bytes: int
    seconds: float | None
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """``name.py:12  x = np.exp(y)``."""
        return (
            "" if self.file is None else f"{os.path.basename(self.file)}:{self.line}  {_short(self.source)}"
        )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


@dataclass(frozen=True)
class Line:
    """The sums over the operations of one line of source, or of one function."""

    name: str
    operations: int
    guards: int
    by_python: int
    steps: int
    flops: float
    bytes: int
    seconds: float | None


def _line(name: str, rows: Sequence[Step]) -> Line:
    known = [row.seconds for row in rows if row.seconds is not None]
    return Line(
        name,
        sum(row.kind == "operation" for row in rows),
        sum(row.kind == "guard" for row in rows),
        sum(row.kind == "operation" and row.by == "Python" for row in rows),
        sum(row.steps for row in rows),
        sum(row.flops or 0.0 for row in rows),
        sum(row.bytes for row in rows),
        sum(known) if known else None,
    )


class Lines(list[Line]):
    """Sums over groups of operations, as a table."""

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``, in seconds and bytes."""
        return pandas().DataFrame([asdict(row) for row in self])

    def __str__(self) -> str:
        timed = any(row.seconds is not None for row in self)
        weights = [(row.seconds or 0.0) if timed else row.bytes for row in self]
        everything = sum(weights) or 1.0
        cells = [
            [
                str(row.operations),
                str(row.guards or ""),
                str(row.by_python or ""),
                str(row.steps),
                count(row.flops or None),
                bytes_of(row.bytes),
                seconds(row.seconds),
                f"{weight / everything:.0%}",
                row.name,
            ]
            for row, weight in zip(self, weights, strict=True)
        ]
        titles = ["operations", "guards", "by Python", "steps", "flops", "bytes", "time", "share", ""]
        shown = aligned(titles, cells[:MOST_ROWS], left={8})
        if len(cells) > MOST_ROWS:
            shown.append(f"... {len(cells) - MOST_ROWS} lines left out")
        return "\n".join(shown)

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Explanation(Sequence[Step]):
    """What a program does for arguments of one form: a table that prints, and the sequence of its rows.

    Attributes
    ----------
    program : str
    arguments : list of (name, form)
        Of each leaf of the arguments, in text.
    inputs : list of (name, form)
        Of those that are arrays: ``%0``, ``%1`` and so on.
    reason : str or None
        Why it runs as the function does, without a program.
    recordings : int
        How often the function has been recorded.
    ways : int
        How many ways are known through the guards.
    arena : int or None
        Bytes that a run needs for what lies between arguments and results.
    run : float or None
        Seconds that a run takes, the median of
    runs : int
        so many.
    rows : list of Step
    """

    program: str
    arguments: list[tuple[str, str]]
    inputs: list[tuple[str, str]]
    reason: str | None = None
    recordings: int = 0
    ways: int = 0
    arena: int | None = None
    run: float | None = None
    runs: int = 0
    rows: list[Step] = field(default_factory=list)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self.rows[index]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def total(self) -> Line:
        """The sums over all rows, of all ways."""
        return _line("total", self.rows)

    def by_line(self) -> Lines:
        """The rows summed over each line of source, the costliest first: by time, if known, else by bytes."""
        return self._grouped(lambda row: row.place or "?")

    def by_operation(self) -> Lines:
        """The rows summed over each function, the costliest first."""
        return self._grouped(lambda row: row.name)

    def _grouped(self, key: Callable[[Step], str]) -> Lines:
        groups: dict[str, list[Step]] = {}
        for row in self.rows:
            if row.kind != "return":
                groups.setdefault(key(row), []).append(row)
        totals = [_line(name, rows) for name, rows in groups.items()]
        return Lines(sorted(totals, key=lambda total: (total.seconds or 0.0, total.bytes), reverse=True))

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``, in seconds and bytes."""
        columns = [column.name for column in fields(Step)]
        return pandas().DataFrame([asdict(row) for row in self.rows], columns=columns)

    @property
    def head(self) -> str:
        """The first lines: for which arguments, what is known, and what the machine makes of it."""
        return "\n".join(self._head())

    def _head(self) -> Iterator[str]:
        arguments = ", ".join(f"{name} {form}" for name, form in self.arguments)
        yield f"{self.program} for {arguments}" if arguments else self.program
        if self.recordings:
            yield f"{_plural(self.recordings, 'recording')}, {_plural(self.ways, 'way')}"
        if self.reason is not None:
            yield f"runs without a program: {self.reason}"
        if not self.rows:
            return
        total = self.total
        idle = sum(row.kind == "operation" and not row.by for row in self.rows)
        in_c = total.operations - total.by_python - idle
        parts = [f"{in_c} in C", f"{total.by_python} by Python", f"{idle} with nothing to do"]
        guards = f"; {_plural(total.guards, 'guard')}" if total.guards else ""
        yield f"{_plural(total.operations, 'operation')} recorded: {', '.join(parts)}{guards}"
        machine = f"{_plural(total.steps, 'step')} of the machine"
        if self.arena is not None:
            machine += f" on {bytes_of(self.arena)} of memory"
        yield f"{machine}; {count(total.flops)} flops, {bytes_of(total.bytes)} read and written"
        if self.run is not None:
            yield f"a run takes {seconds(self.run)} (median of {self.runs})"

    def listing(self) -> str:
        """All rows, however many there are."""
        titles = ["operation", "result", "by", "flops", "bytes", "time", "line"]
        lines = aligned(titles, [_cells(row) for row in self.rows], left={0, 1, 2, 6})
        shown, way = lines[:1], tuple[str, ...]()
        for row, line in zip(self.rows, lines[1:], strict=True):
            if row.way != way and row.way:
                shown.append(f"where {', '.join(row.way)}:")
            shown.append(line)
            way = row.way
        return "\n".join(shown)

    def __str__(self) -> str:
        if not self.rows:
            return self.head
        if len(self.rows) <= MOST_ROWS:
            return f"{self.head}\n\n{self.listing()}"
        return f"{self.head}\n\n{self.by_line()}\n\n.listing() shows all {len(self.rows)} rows"

    __repr__ = __str__


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _cells(row: Step) -> list[str]:
    """The text of a row, cell by cell."""
    result = " or ".join(row.seen) if row.kind == "guard" else arrays(row.outputs)
    by = f"{row.by} × {row.steps}" if row.steps > 1 else row.by
    moved = bytes_of(row.bytes) if row.bytes else ""
    return [row.text, result, by, count(row.flops or None), moved, seconds(row.seconds), row.place]


class Explanations(list[Explanation]):
    """What is known of a program, for each form of its arguments."""

    def __init__(self, program: str, known: list[Explanation]) -> None:
        super().__init__(known)
        self._program = program

    def __str__(self) -> str:
        if not self:
            return f"{self._program} has not been called"
        if len(self) == 1:
            return str(self[0])
        heads = [f"[{i}] {explanation.head}" for i, explanation in enumerate(self)]
        return "\n\n".join([f"{self._program}, {len(self)} forms of arguments", *heads])

    __repr__ = __str__
