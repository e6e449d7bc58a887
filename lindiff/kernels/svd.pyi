from typing import Any

from numpy.typing import ArrayLike, NDArray

def gesdd(A: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def gesdd_pullback(
    U: ArrayLike,
    s: ArrayLike,
    Vh: ArrayLike,
    U_bar: ArrayLike | None,
    s_bar: ArrayLike | None,
    Vh_bar: ArrayLike | None,
) -> NDArray[Any]: ...
def gesdd_pushforward(
    U: ArrayLike,
    s: ArrayLike,
    Vh: ArrayLike,
    A_dot: ArrayLike,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
