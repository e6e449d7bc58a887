from typing import Any

from lindiff.scipy.integrate._slopes import Slopes
from lindiff.scipy.integrate._steps import Steps

class Method:
    stages: int
    all: int
    order: int
    def __init__(
        self, A: Any, C: Any, stages: int, E: Any, order: int, W: Any, alternating: bool
    ) -> None: ...

class ExplicitSteps(Steps):
    segments: int
    def __init__(self, method: Method, slopes: Slopes, n: int, kept: int) -> None: ...
    def run(
        self,
        t0: float,
        end: float,
        y0: Any,
        points: Any,
        rtol: float,
        atol: Any,
        longest: float,
        first: float | None,
        at_rest: float,
        leaves_stiff: bool,
    ) -> Any: ...
    def replay(self, times: Any, y0: Any, points: Any) -> None: ...
    def pull(self, back: Slopes, rows_bar: Any) -> tuple[Any, list[Any]]: ...
    def push(self, along: Slopes, first_dot: Any) -> Any: ...
