from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.operation import Operation

MISSED: object
WARNED: object

class Form(NamedTuple):
    kind: type
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    writeable: bool

def form_of(x: Any) -> Form: ...

class Raised(NamedTuple):
    kind: type
    text: str

def raised(error: Exception) -> Raised: ...

class Cell(int): ...
class Back(int): ...

class ByPython:
    function: Any
    args: Any
    kwargs: Any
    result: Any
    of: tuple[int, ...]
    cells: list[int]
    def __init__(
        self, function: Any, args: Any, kwargs: Any, result: Any, quiet: bool, of: tuple[int, ...] = ...
    ) -> None: ...

class Layout:
    forms: list[Any]
    arena: int
    idle: list[Any]
    def __init__(
        self,
        forms: list[Any],
        places: list[int | None],
        constants: list[tuple[int, Any]],
        arena: int,
        units: list[Unit],
        made: dict[int, list[tuple[int, int]]],
        block: int,
        handed: list[int],
        cells: Any,
    ) -> None: ...

class Unit:
    kept: list[Operation | ByPython]
    def __init__(self, steps: list[Operation | ByPython]) -> None: ...

class Stretch:
    unit: Unit
    fresh: list[tuple[int, Any]]
    fork: Any
    outcomes: list[tuple[Any, Stretch, Any]]
    confirmed: bool
    leaves: list[Any]
    def __init__(
        self,
        fork: Any,
        leaves: list[Any],
        unflatten: Callable[[list[Any]], Any] | None,
        objects: list[int],
        confirmed: bool,
    ) -> None: ...
    def let_be_fresh(self, cell: int, views: list[tuple[int, int]], layout: Layout) -> None: ...

class Machine:
    layout: Layout
    start: Stretch
    def __init__(
        self, layout: Layout, arguments: list[tuple[int, int, list[tuple[int, int]]]], start: Stretch
    ) -> None: ...
    def __call__(self, arrays: list[Any]) -> Any: ...
    def timed(self, arrays: list[Any]) -> list[tuple[Stretch, list[int]]] | None: ...

def part_of(form: Any, index: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]: ...
