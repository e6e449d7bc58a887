from typing import Any

from numpy.typing import ArrayLike, NDArray

def trmm(
    L: ArrayLike,
    A: ArrayLike,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_a: bool = False,
) -> NDArray[Any]: ...
def trsm(
    L: ArrayLike,
    A: ArrayLike,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_a: bool = False,
) -> NDArray[Any]: ...
def trmm_pullback(
    L: ArrayLike,
    A: ArrayLike,
    B_bar: ArrayLike,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_b_bar: bool = False,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def trsm_pullback(
    L: ArrayLike,
    B: ArrayLike,
    B_bar: ArrayLike,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_b_bar: bool = False,
    overwrite_l: bool = False,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
