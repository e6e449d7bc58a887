from typing import Any

from lindiff.scipy.integrate._slopes import Slopes

class Steps:
    times: Any
    evaluations: int
    longest_at_rest: float
    def __init__(self, slopes: Slopes, n: int) -> None: ...
    def at(self, t: float) -> Any: ...
