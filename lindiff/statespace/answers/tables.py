"""Tables of a few columns, as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from lindiff import _tables

__all__ = ["Section", "Summary"]


class Section(NamedTuple):
    """Rows of text under titles; the first column is that of names."""

    titles: list[str]
    rows: list[list[str]]


class Summary:
    """What is printed in a terminal, and shown as HTML in a notebook.

    Parameters
    ----------
    title : str
    sections : sequence of Section
    notes : sequence of str
    """

    def __init__(self, title: str, sections: Sequence[Section], notes: Sequence[str] = ()) -> None:
        self.title, self.sections, self.notes = title, list(sections), list(notes)

    def __str__(self) -> str:
        blocks = [
            "\n".join(_tables.aligned(titles, rows, {0})[0 if any(titles) else 1 :])
            for titles, rows in self.sections
        ]
        rule = "-" * max(len(line) for block in [self.title, *blocks] for line in block.splitlines())
        return "\n".join([self.title, rule, f"\n{rule}\n".join(blocks), rule, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<h4>{html.escape(self.title)}</h4>"]
        for titles, rows in self.sections:
            heading = [_html_row("th", titles)] if any(titles) else []
            parts += ["<table>", *heading, *(_html_row("td", row) for row in rows), "</table>"]
        parts += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        return "\n".join(parts)


def _html_row(tag: str, cells: list[str]) -> str:
    inside = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"
