from typing import Any

from numpy.typing import ArrayLike, NDArray

def squared_distances(X: ArrayLike, Z: ArrayLike) -> NDArray[Any]: ...
