from typing import Any

from numpy.typing import NDArray

MOST_GUARDS: int

class Product:
    @property
    def has_zeros(self) -> bool: ...
    @property
    def is_whole(self) -> bool: ...
    def __init__(
        self,
        sizes: tuple[int, int, int, int],
        first: tuple[Any, ...],
        second: tuple[Any, ...],
        out: tuple[Any, ...],
        scale: float,
        kind: int,
        is_whole: bool,
    ) -> None: ...
    def run(self, arrays: list[Any], out: NDArray[Any]) -> None: ...
    def put(self, arrays: list[Any], out: NDArray[Any]) -> None: ...
