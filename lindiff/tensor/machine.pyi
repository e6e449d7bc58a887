from typing import Any

import numpy as np

def block_length() -> int: ...
def sources() -> dict[str, int]: ...

class Nest:
    def __init__(
        self,
        levels: list[Any],
        inputs: list[Any],
        stages: list[Any],
        body: int,
        factors: tuple[int, int],
        out: list[int],
        free: int,
        tiled: bool,
        hull: tuple[list[list[int]], list[list[int]]],
        combine: np.ufunc,
        identity: float,
        kind: int,
        nanoseconds: float,
    ) -> None: ...
    def run(self, arrays: list[Any], out: np.ndarray[Any, Any], puts: bool = False) -> None: ...
