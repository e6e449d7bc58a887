"""Where in the user's source an operation was called."""

from __future__ import annotations

import linecache
import os
import sys
from typing import NamedTuple

import numpy as np

import lindiff.core

# Code below these folders calls operations on the user's behalf.
_LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in (os.path.dirname(os.path.dirname(lindiff.core.__file__)), os.path.dirname(np.__file__))
)


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
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES):
            return Place(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return None
