from typing import Any

from numpy.typing import ArrayLike, NDArray

def copyltu(X: ArrayLike, overwrite_x: bool = False) -> NDArray[Any]: ...
