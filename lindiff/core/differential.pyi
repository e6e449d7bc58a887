from collections.abc import Callable
from typing import Any

from lindiff.core.record import Node

_Map = Callable[..., Any] | tuple[Callable[..., Any] | None, ...] | None
# by the arguments that are differentiated
_Pullback = _Map | dict[tuple[int, ...], Callable[..., Any]]

class Differential(Node):
    pushforward: _Map
    pullback: _Pullback
    symbolic_zeros: bool
    def __init__(
        self,
        pushforward: _Map = None,
        pullback: _Pullback = None,
        *,
        symbolic_zeros: bool = False,
        linear_in: tuple[int, ...] = (),
        selective: bool = False,
        overwrites: bool = False,
        accumulates: tuple[int, ...] = (),
    ) -> None: ...

class Linear(Differential): ...
class Bilinear(Differential): ...

class Elementwise(Differential):
    def __init__(self, *partials: Any) -> None: ...

def stand_in(x: Any) -> Any: ...
