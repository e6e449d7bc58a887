from typing import Any

from numpy.typing import NDArray

class ArmaFilter:
    value: float | None
    def __init__(
        self,
        y: NDArray[Any],
        phi: NDArray[Any],
        gain: NDArray[Any],
        variance: float,
        innovation: float,
        whole: bool = False,
    ) -> None: ...
    def pull(self, bar: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]: ...

def is_surely_stationary(ar: NDArray[Any]) -> bool: ...
def unexplained(ar: NDArray[Any]) -> float: ...
