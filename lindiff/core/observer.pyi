from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal

from typing_extensions import Self

from lindiff.core.record import Node
from lindiff.core.variable import Variable

class Step:
    kind: Literal["operation", "pull", "push"]
    what: Any
    inputs: Sequence[Any]
    keywords: dict[str, Any]
    result: Any
    outer: Step | None
    seconds: float
    def __init__(
        self, kind: str, what: Any, inputs: Sequence[Any], keywords: dict[str, Any] | None = ...
    ) -> None: ...
    def __enter__(self) -> Step: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def observing() -> bool: ...

class Observer:
    def before(self, step: Step) -> None: ...
    def see(self, step: Step) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...

def node_of(x: Variable) -> Node: ...
def layers(x: Any) -> list[Any]: ...
