from collections.abc import Callable
from typing import Any

from lindiff.core.record import Node

_Map = Callable[..., Any] | tuple[Callable[..., Any] | None, ...] | None

class Differential(Node):
    pushforward: _Map
    pullback: _Map
    symbolic_zeros: bool
    def __init__(
        self, pushforward: _Map = None, pullback: _Map = None, *, symbolic_zeros: bool = False
    ) -> None: ...

class Linear(Differential): ...
class Bilinear(Differential): ...

class Elementwise(Differential):
    def __init__(self, *partials: Any) -> None: ...
