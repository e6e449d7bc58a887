from lindiff.programs.cells import Cells
from lindiff.programs.passes.steps import Step

def without_dead(steps: list[Step], cells: Cells) -> list[Step]: ...
