from typing import Any

from numpy.typing import ArrayLike, NDArray

def getrf(A: ArrayLike, overwrite_a: bool = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
def getrs(
    LU: ArrayLike,
    piv: ArrayLike,
    B: ArrayLike,
    transpose: bool | str = False,
    overwrite_b: bool = False,
) -> NDArray[Any]: ...
