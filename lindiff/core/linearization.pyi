from collections.abc import Callable
from typing import Any

from lindiff.core.record import Record, Trace

class Inputs:
    arrays: list[Any]
    primals: tuple[Any, ...]
    def __init__(self, primals: tuple[Any, ...], what: str = "argument", kept: bool = False) -> None: ...
    def tangents(self, given: Any) -> list[Any]: ...
    def restore(self, leaves: list[Any]) -> tuple[Any, ...]: ...

class Outputs:
    value: Any
    arrays: list[Any]
    def __init__(self, returned: Any, trace: Trace) -> None: ...

class Linearization:
    value: Any
    aux: Any
    inputs: Inputs
    outputs: Outputs
    record: Record
    def __init__(
        self,
        function: Callable[..., Any],
        primals: tuple[Any, ...],
        has_aux: bool = False,
        kept: bool = False,
    ) -> None: ...
    def pull(self, y_bar: Any) -> tuple[Any, ...]: ...
    def pull_reached(self, y_bar: Any) -> tuple[Any, ...]: ...
    def pull_arrays(self, y_bars: list[Any], consume: bool = False) -> list[Any]: ...
    def pull_one(self, consume: bool) -> tuple[Any, ...]: ...
    def push(self, tangents: Any) -> Any: ...
    def push_leaves(self, x_dots: list[Any]) -> list[Any]: ...

def explain_errors(explain: Callable[[Exception], None]) -> None: ...
def push_forward(
    function: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    has_aux: bool = False,
) -> tuple[Any, Any, Any]: ...
