from typing import Any

from numpy.typing import ArrayLike, NDArray

def log_density(
    A: ArrayLike,
    R: ArrayLike,
    noise: ArrayLike | None = None,
    overwrite_a: bool = False,
    overwrite_r: bool = False,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def log_density_pullback(
    L: ArrayLike,
    Z: ArrayLike,
    p_bar: ArrayLike,
    overwrite_l: bool = False,
    overwrite_z: bool = False,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
