from collections.abc import Callable
from typing import Any

from lindiff.programs.machine import Machine

def room_for(y: Any, count: int) -> Any: ...
def run_many(
    machine: Machine,
    arrays: list[Any],
    are_many: list[bool],
    outs: list[Any],
    start: int,
    stop: int,
    has_structure: Callable[[Any, int], bool],
) -> int: ...
