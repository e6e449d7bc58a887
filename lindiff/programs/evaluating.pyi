from typing import Any

import numpy as np

from lindiff.programs.calling import Known
from lindiff.programs.program import Program

class Evaluator:
    def unchanged(self) -> bool: ...
    def known(self) -> Known | None: ...
    def at(self, *numbers: float) -> Any: ...
    results: list[np.ndarray[Any, Any]]

def evaluator(
    program: Program[..., Any], args: tuple[Any, ...], moving: dict[int, np.ndarray[Any, Any]]
) -> Evaluator | None: ...
