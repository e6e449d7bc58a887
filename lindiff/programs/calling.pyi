from collections.abc import Callable
from typing import Any

from lindiff.core.differential import Differential
from lindiff.programs.machine import Machine
from lindiff.programs.matching import Arguments
from lindiff.programs.surroundings import Surroundings
from lindiff.programs.tree import Tree

class Known:
    tree: Tree | None
    machine: Machine | bool | None
    surroundings: Surroundings | None
    recordings: int
    callers: set[str]
    in_vain: int
    reason: str | None
    shares: bool
    unsteady: bool
    def machine_of(self, tree: Tree, arguments: int) -> Any: ...
    def forget(self) -> None: ...
    def ready(self) -> Machine | None: ...
    def run(self, arrays: list[Any]) -> Any: ...

class Calls:
    recomputes: bool
    function: Any
    recent: list[tuple[Arguments, Known]]
    in_vain: int
    def __init__(self, function: Any) -> None: ...
    def carried_out(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], begun: list[Surroundings] | None = None
    ) -> Any: ...
    def called(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], begun: list[Surroundings] | None = None
    ) -> Any: ...
    def derivative(self, of: str, chosen: tuple[int, ...], others: tuple[int, ...] = ()) -> Calls: ...
    def repeated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
    def repeated_by(self, args: tuple[Any, ...], known: Known, tree: Tree) -> Any: ...
    def run(self, known: Known, arrays: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

def is_counted() -> bool: ...

class OfProgram(Differential):
    likes: list[Any]
    variables: tuple[int, ...]
    def __init__(
        self,
        calls: Calls,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: list[Any],
        first: int,
        surroundings: Surroundings,
    ) -> None: ...

def as_one_operation(function: Callable[..., Any], *args: Any) -> Any: ...
def has_outputs(result: Any) -> bool: ...
