from lindiff.programs.prepared import Prepared

class Operation:
    prepared: Prepared
    cells: list[int]
    quiet: bool
    of: tuple[int, ...]
    def __init__(
        self, prepared: Prepared, cells: list[int], quiet: bool, of: tuple[int, ...] = ...
    ) -> None: ...
