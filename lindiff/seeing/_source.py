"""Where in the user's source an operation was called."""

from __future__ import annotations

import linecache
from typing import NamedTuple

from lindiff.core.constants import users_frame


class Place(NamedTuple):
    """A line of source."""

    file: str
    line: int
    function: str

    @property
    def text(self) -> str:
        """The line itself; empty where there is no source."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f'File "{self.file}", line {self.line}, in {self.function}'


def users_line() -> Place | None:
    """The innermost line that runs and belongs to neither lindiff nor NumPy."""
    frame = users_frame()
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
