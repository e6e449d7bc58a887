from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.machine import Form, Raised
from lindiff.programs.operands import Slot

class Unrecordable(BaseException): ...

class Instruction(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    raised: Raised | None
    line: str
    quiet: bool = False

class Leaving(NamedTuple):
    function: Callable[[Any], Any]
    slot: Slot
    value: Any
    line: str

numbers: Iterator[int]

class Recording:
    number: int
    keeps_numbers: bool

    def __init__(self, keeps_numbers: bool = False) -> None: ...
    def tells_of_loans(self) -> bool: ...
    steps: list[Instruction | Leaving]
    forms: list[Form]
    lines: list[str]
    roots: list[tuple[Slot, int, Slot]]
    captured: list[np.ndarray[Any, Any]]
    arguments: int
    writes_arguments: bool
    ended: bool
    reason: str | None
    raised: Exception | None

    def give_up(self, reason: str) -> None: ...
    def end(self) -> None: ...

def repeated(steps: list[Instruction], forms: list[Form], recording: Recording, start: int) -> int: ...
def same_function(f: Any, g: Any) -> bool: ...
