from collections.abc import Callable
from typing import Any

from lindiff.programs.operands import Slot
from lindiff.programs.recording import Recording

VIEWS: dict[str, Callable[[Any], Any]]

class Recorded:
    array: Any
    recording: Recording
    slot: Slot
    shape: tuple[int, ...]

def method(name: str) -> Callable[..., Any]: ...
def record(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
def is_hashable(function: Any) -> bool: ...
def itself(x: Any) -> Any: ...
def is_number(x: Any) -> bool: ...
def recorded(
    recording: Recording, array: Any, line: str, given: list[Recorded] | None = None
) -> Recorded: ...
