from typing import Any

from lindiff.scipy.integrate._jacobians import Jacobian
from lindiff.scipy.integrate._slopes import Slopes
from lindiff.scipy.integrate._steps import Steps

class ImplicitSteps(Steps):
    jacobian: Jacobian
    jacobians: int
    factorizations: int
    def __init__(self, slopes: Slopes, jacobian: Jacobian, n: int) -> None: ...
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
    ) -> Any: ...
