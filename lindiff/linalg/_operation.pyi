from collections.abc import Callable
from typing import Any

from lindiff.core.registry import Rule

class Fused:
    formula: Callable[..., Any]
    def __init__(
        self, name: str, formula: Callable[..., Any], otherwise: Callable[..., Any], real: bool
    ) -> None: ...
    def __call__(self, *args: Any, **options: Any) -> Any: ...

class Operation(Rule):
    def __init__(
        self,
        function: Callable[..., Any],
        value: Callable[..., Any],
        pushforward: Callable[..., Any],
        pullback: Callable[..., Any],
        result: type | None = None,
        overwrites: bool = False,
        shares: bool = False,
        learn: Callable[..., Any] | None = None,
    ) -> None: ...

class Operator:
    primitive: Rule
    def __init__(
        self,
        function: Callable[..., Any],
        primitive: Rule,
        value: Callable[..., Any],
        arrays: int,
        options: list[str],
        known: Callable[..., Any] | None,
    ) -> None: ...
    def __call__(self, *args: Any, **options: Any) -> Any: ...

def know_constants(*classes: type) -> None: ...
def operation(function: Callable[..., Any], *description: Any, **options: Any) -> Operation: ...
