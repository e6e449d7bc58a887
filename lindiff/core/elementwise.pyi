from collections.abc import Callable
from typing import Any

from lindiff.core.registry import Handler, Rule

class ElementwiseRule(Rule):
    def __init__(
        self, function: Callable[..., Any], partials: tuple[Callable[..., Any] | None, ...]
    ) -> None: ...

class ElementwiseEntry(Handler): ...

def elementwise_rule(
    function: Callable[..., Any],
    *partials: Callable[..., Any] | None,
    value: Callable[..., Any] | None = None,
) -> Any: ...
def elementwise(function: Callable[..., Any], *partials: Callable[..., Any] | None) -> None: ...
def elementwise_rules() -> dict[Callable[..., Any], ElementwiseRule]: ...
def operator_of(function: Callable[..., Any], operator: Callable[..., Any]) -> None: ...
