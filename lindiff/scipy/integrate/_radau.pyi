from typing import Any

from lindiff.scipy.integrate._implicit import ImplicitSteps
from lindiff.scipy.integrate._slopes import Slopes

class RadauSteps(ImplicitSteps):
    def pull(self, back: Slopes, rows_bar: Any) -> tuple[Any, list[Any]]: ...
    def push(self, along: Slopes, first_dot: Any) -> Any: ...
