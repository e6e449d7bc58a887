"""``explain``: the operations of a computation and what each of them costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, overload

from lindiff._tables import aligned, arrays, bytes_of, count, pandas, seconds
from lindiff.seeing._flops import flops
from lindiff.seeing._recording import Array, Recorded, record
from lindiff.transforms._arguments import Argnums
from lindiff.transforms._transformed import transformed

__all__ = ["Explanation", "explain"]

MOST_ROWS = 60  # a longer table is shown by its beginning and its end


def explain(
    function: Callable[..., Any], argnums: Argnums = 0, *, repeats: int = 1
) -> Callable[..., Explanation]:
    """What differentiating a function does, operation by operation, and what each operation costs.

    Parameters
    ----------
    function : callable
        May be a derivative itself: ``ld.explain(ld.grad(f))`` lists the operations of the pullbacks as well.
    argnums : int, str or tuple of these
        The arguments that are differentiated, by position or by name, as for :func:`lindiff.grad`.
    repeats : int
        How often to run it; each time shown is the least.

    Returns
    -------
    callable
        Of the same arguments; returns an :class:`lindiff.seeing.Explanation`: a table that prints, a sequence
        of its rows, with ``total``, ``by_operation()``, ``by_line()`` and ``to_pandas()``.

    Notes
    -----
    The function runs on Variables, then ones are pulled back through its record.  The time forward is that of
    an operation's value together with what it prepares for its derivative.  In a single run many operations
    run for the first time, which takes longer; ``repeats=10`` shows what they take in a loop.  Of arrays on a
    GPU the times are those of the host, which queues the work and does not wait for it.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> table = ld.explain(lambda x: np.sum(np.sin(x) * x))(np.ones(1000))
    >>> [row.operation for row in table]
    ['sin', 'multiply', 'sum']
    >>> table[1].outputs, table[1].kept  # the sine
    ([((1000,), 'float64')], 8000)
    """

    @transformed(explain, function, argnums=argnums, repeats=repeats)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        runs = [record(function, argnums, args, kwargs, backward=True)[0].operations for _ in range(repeats)]
        if len({tuple(op.name for op in run) for run in runs}) != 1:
            raise ValueError(f"explain: the function did different operations in {repeats} runs")
        return Explanation([_row(i, ops) for i, ops in enumerate(zip(*runs, strict=True))])

    return explained


@dataclass(frozen=True)
class Operation:
    """One row of an explanation.

    Attributes
    ----------
    number : int
        In the order of recording.
    operation : str
        The name of the function.
    within : str
        What it is a part of: ``"pullback of exp"``, or a function that is composed of several.
    inputs, outputs : list of (shape, dtype)
        Of the arrays that it took and gave.
    file, line, text
        The user's source line that called it; None, None and "" where there is none.
    forward, backward : float
        Seconds for its value, and for its pullback; None where nothing was pulled back through it.
    kept : int
        Bytes of arrays that it keeps for its derivative, and no operation before it; arrays that came from
        outside are not counted.
    flops : float or None
        Floating point operations of the value, for products and factorizations.
    """

    number: int
    operation: str
    within: str
    inputs: list[Array]
    outputs: list[Array]
    file: str | None
    line: int | None
    text: str
    forward: float
    backward: float | None
    kept: int
    flops: float | None

    @property
    def source(self) -> str:
        """``name.py:12``."""
        return "" if self.file is None else f"{os.path.basename(self.file)}:{self.line}"


def _row(number: int, runs: tuple[Recorded, ...]) -> Operation:
    """One operation, by its records in several runs."""
    op = runs[0]
    place = op.place
    return Operation(
        number,
        op.name,
        op.within,
        op.inputs,
        op.outputs,
        None if place is None else place.file,
        None if place is None else place.line,
        "" if place is None else place.text,
        min(run.forward for run in runs),
        None if op.backward is None else min(run.backward or 0.0 for run in runs),
        op.kept,
        flops(op.name, [shape for shape, _ in op.inputs], op.outputs[0][0]),
    )


@dataclass(frozen=True)
class Total:
    """The sum over operations: their number, seconds, bytes, and flops where they are known."""

    name: str
    operations: int
    forward: float
    backward: float
    kept: int
    flops: float


def _total(name: str, rows: Sequence[Operation]) -> Total:
    """The sums of some rows."""
    return Total(
        name,
        len(rows),
        sum(row.forward for row in rows),
        sum(row.backward or 0.0 for row in rows),
        sum(row.kept for row in rows),
        sum(row.flops or 0.0 for row in rows),
    )


class Explanation(Sequence[Operation]):
    """The operations of a computation, as a table.  Made by :func:`lindiff.explain`."""

    def __init__(self, rows: list[Operation]) -> None:
        self._rows = rows

    @overload
    def __getitem__(self, index: int) -> Operation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Operation]: ...
    def __getitem__(self, index: int | slice) -> Operation | Sequence[Operation]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def total(self) -> Total:
        """The sum over all operations."""
        return _total("total", self._rows)

    def by_operation(self) -> Groups:
        """The same, summed over operations of one name; the costliest first."""
        return self._grouped(lambda row: row.operation)

    def by_line(self) -> Groups:
        """The same, summed over the operations of one source line; the costliest first."""
        return self._grouped(lambda row: f"{row.source}  {row.text}" if row.source else "?")

    def _grouped(self, key: Callable[[Operation], str]) -> Groups:
        """The rows summed up by a key, those that took longest first."""
        groups: dict[str, list[Operation]] = {}
        for row in self._rows:
            groups.setdefault(key(row), []).append(row)
        totals = [_total(name, rows) for name, rows in groups.items()]
        return Groups(sorted(totals, key=lambda t: t.forward + t.backward, reverse=True))

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``, in seconds and bytes."""
        return pandas().DataFrame(
            [asdict(row) for row in self._rows], columns=[column.name for column in fields(Operation)]
        )

    def __str__(self) -> str:
        titles = ["", "operation", "arrays", "forward", "backward", "kept", "flops", "line"]
        rows: Sequence[Operation] = self._rows
        if len(rows) > MOST_ROWS:
            rows = [*rows[: MOST_ROWS // 2], *rows[-MOST_ROWS // 2 :]]
        lines = aligned(titles, [_cells(row) for row in rows], left={1, 2, 7})
        if len(rows) < len(self._rows):
            left_out = f"... {len(self) - len(rows)} operations left out, see .by_operation(), .by_line() ..."
            lines.insert(1 + MOST_ROWS // 2, left_out)
        return "\n".join([*lines, _sum_line(self.total)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Groups(Sequence[Total]):
    """Sums over groups of operations, as a table."""

    rows: list[Total] = field(default_factory=list)

    @overload
    def __getitem__(self, index: int) -> Total: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Total]: ...
    def __getitem__(self, index: int | slice) -> Total | Sequence[Total]:
        return self.rows[index]

    def __iter__(self) -> Iterator[Total]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``, in seconds and bytes."""
        return pandas().DataFrame([asdict(row) for row in self.rows])

    def __str__(self) -> str:
        everything = sum(row.forward + row.backward for row in self.rows) or 1.0
        cells = [
            [
                str(row.operations),
                seconds(row.forward),
                seconds(row.backward),
                f"{(row.forward + row.backward) / everything:.0%}",
                bytes_of(row.kept),
                count(row.flops or None),
                row.name,
            ]
            for row in self.rows
        ]
        titles = ["operations", "forward", "backward", "share", "kept", "flops", ""]
        return "\n".join(aligned(titles, cells, left={6}))

    __repr__ = __str__


def _cells(row: Operation) -> list[str]:
    """The text of a row, cell by cell."""
    name = f"{row.operation} ({row.within})" if row.within else row.operation
    text = row.text if len(row.text) <= 50 else row.text[:47] + "..."
    return [
        str(row.number),
        name,
        f"{arrays(row.inputs)} → {arrays(row.outputs)}",
        seconds(row.forward),
        seconds(row.backward),
        bytes_of(row.kept),
        count(row.flops),
        f"{row.source}  {text}",
    ]


def _sum_line(total: Total) -> str:
    """The sums in one line of text."""
    parts = [
        f"{total.operations} operations",
        f"forward {seconds(total.forward)}",
        f"backward {seconds(total.backward)}",
        f"kept {bytes_of(total.kept)}",
    ]
    return ", ".join(parts + ([f"{count(total.flops)} flops"] if total.flops else []))
