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
def eigh(A: ArrayLike, lower: bool = True) -> tuple[NDArray[Any], NDArray[Any]]: ...
def eigh_pullback(
    w: ArrayLike,
    V: ArrayLike,
    w_bar: ArrayLike | None,
    V_bar: ArrayLike | None,
    overwrite_v_bar: bool = False,
) -> NDArray[Any]: ...
def eigh_pushforward(
    w: ArrayLike,
    V: ArrayLike,
    A_dot: ArrayLike,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def nearly_equal(values: ArrayLike, zero: bool = False) -> bool: ...
