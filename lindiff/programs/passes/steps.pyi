from collections.abc import Iterable

from lindiff.programs.cells import Cells
from lindiff.programs.machine import ByPython
from lindiff.programs.operation import Operation

Step = Operation | ByPython

class Touched:
    reads: set[int]
    writes: set[int]
    def __init__(self, reads: Iterable[int] = ..., writes: Iterable[int] = ...) -> None: ...
    @property
    def all(self) -> set[int]: ...
    def meets(self, other: Touched) -> bool: ...
    def add(self, other: Touched) -> None: ...

def touched(step: Step, cells: Cells) -> Touched: ...
