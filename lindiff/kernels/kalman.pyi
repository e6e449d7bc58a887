from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

class Wanted(NamedTuple):
    axis: int | None
    places: NDArray[Any]

class Sweep:
    quad: NDArray[Any]
    logdet: NDArray[Any]
    gram: NDArray[Any]
    means: NDArray[Any]
    after: tuple[NDArray[Any], NDArray[Any]]
    arrays: tuple[Any, ...]
    starts: list[tuple[NDArray[Any], NDArray[Any]]]
    def __init__(
        self,
        y: NDArray[Any],
        A: NDArray[Any],
        B: NDArray[Any],
        Q: NDArray[Any],
        R: NDArray[Any],
        m: NDArray[Any],
        P: NDArray[Any],
        c: NDArray[Any] | None = None,
        observed: NDArray[Any] | None = None,
        independent: bool = False,
        tolerance: float = 1e-14,
        mixed: int = 0,
        block: int = 0,
        predicts: bool = False,
        origin: int = 0,
        whole: bool = True,
    ) -> None: ...
    def filtered_covariances(self) -> NDArray[Any]: ...
    def squares_from(self, delta: NDArray[Any]) -> NDArray[Any]: ...
    def pull(
        self,
        quad_bar: Any,
        gram_bar: Any,
        logdet_bar: Any,
        wanted: Sequence[bool | Wanted],
        after: tuple[Any, Any] | None = None,
    ) -> tuple[tuple[Any, ...], tuple[NDArray[Any], NDArray[Any]]]: ...
    def pull_steps(
        self,
        weights: Any,
        wanted: Sequence[bool | Wanted],
        filtered_bar: tuple[Any, Any] = ...,
        predicted_bar: tuple[Any, Any] = ...,
    ) -> tuple[Any, ...]: ...
    def smooth(
        self, after: tuple[Any, Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[Any], tuple[NDArray[Any], NDArray[Any]]]: ...

class Collapse:
    value: float | None
    def __init__(
        self,
        y: NDArray[Any],
        A: NDArray[Any],
        B: NDArray[Any],
        Q: NDArray[Any],
        R: NDArray[Any],
        m: NDArray[Any],
        P: NDArray[Any],
        places: NDArray[Any],
        observed: NDArray[Any] | None = None,
        independent: bool = False,
        tolerance: float = 1e-14,
        whole: bool = False,
    ) -> None: ...
    def pull(self, bar: float, wanted: Sequence[bool | Wanted]) -> tuple[Any, ...]: ...

def start_variances(
    A: NDArray[Any], B: NDArray[Any], Q: NDArray[Any], R: NDArray[Any], mask: NDArray[Any]
) -> NDArray[Any]: ...
def with_variances(
    m: NDArray[Any], P: NDArray[Any], mask: NDArray[Any], variances: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]: ...
