from typing import Any

from numpy.typing import ArrayLike, NDArray

def gemm2(
    A: ArrayLike,
    B: ArrayLike,
    transpose_a: bool | str = False,
    transpose_b: bool | str = False,
    alpha: float = 1.0,
) -> NDArray[Any]: ...
def gemm(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike,
    transpose_a: bool | str = False,
    transpose_b: bool | str = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    overwrite_c: bool = False,
) -> NDArray[Any]: ...
def syrk(A: ArrayLike, transpose: bool | str = False, alpha: float = 1.0) -> NDArray[Any]: ...
def syrk_pullback(
    A: ArrayLike,
    B_bar: ArrayLike,
    transpose: bool | str = False,
    alpha: float = 1.0,
    A_bar: ArrayLike | None = None,
    overwrite_a_bar: bool = False,
) -> NDArray[Any]: ...
