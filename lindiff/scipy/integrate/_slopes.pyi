from typing import Any

from lindiff.programs.evaluating import Evaluator

class Slopes:
    evaluator: Evaluator
    count: int
    def __init__(self, evaluator: Evaluator, t: Any, y: Any, direction: Any = ...) -> None: ...
    def of(self, t: float, y: Any) -> Any: ...

def are_in_order(points: Any, t0: float, end: float) -> bool: ...
