from collections.abc import Callable
from typing import Any

class Function:
    def __init__(
        self,
        function: Callable[..., Any],
        lists: str = "arrays",
        wanted: Callable[[], bool] | None = None,
        module: str | None = None,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
