from typing import Any

from numpy.typing import ArrayLike, NDArray

def squared_distances(X: ArrayLike, Z: ArrayLike) -> NDArray[Any]: ...
def weighted_differences(
    weights: NDArray[Any], X: NDArray[Any], Z: NDArray[Any], R: NDArray[Any], of_columns: bool = False
) -> NDArray[Any]: ...
def directed_differences(
    W: NDArray[Any], X: NDArray[Any], Z: NDArray[Any], R: NDArray[Any]
) -> NDArray[Any]: ...
def scaled_squared_distances(
    X: NDArray[Any], Z: NDArray[Any], scale: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def scaled_squared_distances_pullback(
    R_bar: NDArray[Any],
    X: NDArray[Any],
    Z: NDArray[Any],
    scale: NDArray[Any],
    R: NDArray[Any],
    points: NDArray[Any],
    norms: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]: ...
