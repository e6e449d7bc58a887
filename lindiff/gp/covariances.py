"""Matrices of covariances, and their derivatives, tile by tile.

A tile of the matrix fits the cache, and the kernel is a program on it: NumPy's functions without Python
between them and without arrays on their way.  On the way back each tile is computed anew from the points, so
that nothing of the size of the matrix is kept, and the matrix itself may be overwritten.  What one tile alone
needs for that is kept, which takes less time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.gp.moving import Still, apart, leaves
from lindiff.gp.tiles import IN_ONE_TILE, Pulled, Tiles, between
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["covariances"]


def covariances(kernel: Any, F: Any, G: Any = None) -> Any:
    """Covariances (n, m) between points of features F and of G, or (n, n) of those of F.

    Differentiable in the numbers of the kernel and in both features.

    Notes
    -----
    One array, its result; of one tile with derivatives its distances and factors, too.  That of F alone is
    symmetric, there but for rounding, and computed by half where it has more tiles.
    """
    tree = (kernel.of_features(), F, G)
    moving, still = apart(tree)
    return _covariances(moving, still) if moving else _filled(tree)


@rule
def _covariances(moving: list[Any], still: Still) -> Any:
    def whole(*moving: Any) -> Any:
        kernel, F, G = still.tree(moving)
        return between(kernel, F, F if G is None else G)

    is_outer = depends_on_variables(moving)
    if not is_outer and _is_one_tile(*still.tree(moving)[1:]):
        with np.errstate(all="ignore"):  # as programs of tiles
            K, kept = vjp(whole, *moving)
    else:
        K, kept = _covariances(moving, still) if is_outer else _filled(still.tree(moving)), None

    def push(moving_dot: list[Any]) -> Any:
        return jvp(whole, tuple(moving), tuple(moving_dot))[1]

    def pull(K_bar: Any) -> Any:
        if is_outer or type(K_bar) is not np.ndarray:
            return [*vjp(whole, *moving)[1](K_bar)]
        if kept is not None:
            with np.errstate(all="ignore"):
                return [*kept(K_bar)]
        pulled = Pulled(Tiles(still.tree(moving)), still.active)
        pulled.add_all(K_bar)
        return pulled.total

    return K, Differential((push,), (pull,))


def _is_one_tile(F: Any, G: Any) -> bool:
    first, second = leaves(F), leaves(F if G is None else G)
    of_numpy = all(type(x) is np.ndarray for x in (*first, *second))
    return of_numpy and len(first[0]) * len(second[0]) <= IN_ONE_TILE


def _filled(tree: Any) -> Any:
    kernel, F, G = tree
    if any(type(x) is not np.ndarray for x in pytree.flatten((F, G))[0]):
        return between(kernel, F, F if G is None else G)
    return Tiles(tree).matrix()
