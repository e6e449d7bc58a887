"""``scipy.spatial`` with derivatives: distances.

What SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import spatial
>>> ld.grad(spatial.distance.euclidean)(np.array([3.0, 4.0]), np.zeros(2))
array([0.6, 0.8])
"""

import scipy.spatial

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.spatial import distance

__all__ = ["distance"]

__getattr__ = rest_of(
    scipy.spatial,
    {
        "distance_matrix": "write distance.cdist",
        "minkowski_distance": "write distance.minkowski",
        "minkowski_distance_p": "write distance.minkowski",
    },
)


__dir__ = names_of(scipy.spatial, __all__)
