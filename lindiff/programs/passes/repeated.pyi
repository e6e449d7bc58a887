from lindiff.programs.cells import Cells
from lindiff.programs.passes.steps import Step

def without_repeats(steps: list[Step], cells: Cells) -> list[Step]: ...
