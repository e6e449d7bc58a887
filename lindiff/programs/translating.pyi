from typing import Any

import numpy as np

from lindiff.programs.cells import Cells
from lindiff.programs.machine import Form
from lindiff.programs.operands import Slot
from lindiff.programs.passes.steps import Step
from lindiff.programs.recording import Instruction

class Translation:
    def __init__(self, cells: Cells) -> None: ...
    @property
    def constants(self) -> list[tuple[int, np.ndarray[Any, Any]]]: ...
    def operations(
        self,
        instructions: list[Instruction],
        start: int,
        forms: list[Form],
        roots: list[tuple[Slot, int, Slot]],
        cells: list[int],
        steps: list[Step],
    ) -> int: ...
