from lindiff.programs.machine import Form
from lindiff.programs.operands import Slot
from lindiff.programs.preparing import Steps
from lindiff.programs.recording import Instruction

class Preparations:
    def __call__(
        self, step: Instruction, forms: list[Form], roots: list[tuple[Slot, int, Slot]]
    ) -> Steps | None: ...
