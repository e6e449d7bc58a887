from typing import Any

class Program:
    kind: int
    def __init__(
        self, constants: list[Any], steps: list[Any], slots: int, result: int, kind: int, asks: bool
    ) -> None: ...
