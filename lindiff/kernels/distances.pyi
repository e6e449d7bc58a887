from typing import Any

from numpy.typing import ArrayLike, NDArray

def squared_distances(X: ArrayLike, Z: ArrayLike) -> NDArray[Any]: ...
def weighted_differences(
    weights: NDArray[Any], X: NDArray[Any], Z: NDArray[Any], R: NDArray[Any], of_columns: bool = False
) -> NDArray[Any]: ...
def directed_differences(
    W: NDArray[Any], X: NDArray[Any], Z: NDArray[Any], R: NDArray[Any]
) -> NDArray[Any]: ...
