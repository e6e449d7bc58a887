from typing import Any

from lindiff.programs.calling import Calls
from lindiff.programs.surroundings import Surroundings
from lindiff.programs.tree import Tree

class Taped: ...

def taped_of(
    tree_of_both: Tree,
    surroundings: Surroundings,
    tree: Tree,
    y_bars: list[Any],
    active: tuple[int, ...],
    arrays: list[Any],
    several: bool,
) -> Taped | bool: ...
def refuse_change(calls: Calls, surroundings: Surroundings) -> None: ...
def lie_alike(x: Any, y: Any) -> bool: ...
