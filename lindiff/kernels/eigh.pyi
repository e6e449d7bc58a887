from typing import Any

from numpy.typing import ArrayLike, NDArray

def syevd(A: ArrayLike, overwrite_a: bool = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
def syevd_pullback(
    U: ArrayLike,
    lam: ArrayLike,
    U_bar: ArrayLike | None,
    lam_bar: ArrayLike | None,
    overwrite_u_bar: bool = False,
) -> NDArray[Any]: ...
def syevd_pushforward(
    U: ArrayLike,
    lam: ArrayLike,
    A_dot: ArrayLike,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
