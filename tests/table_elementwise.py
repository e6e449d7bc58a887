"""Records of the elementwise functions."""

from __future__ import annotations

import numpy as np
from table import Operator, sample


def one_array(rng):
    for shape in [(), (3,), (2, 3), (0,)]:
        yield sample(rng.standard_normal(shape))


def two_arrays(rng):
    for shapes in [((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2, 3)), ((0, 3), (3,))]:
        yield sample(*(rng.standard_normal(shape) for shape in shapes))


OPERATORS = [
    Operator("exp", np.exp, one_array, complex=True),
    Operator("log", np.log, one_array, domain=np.exp, complex=True),
    Operator("multiply", np.multiply, two_arrays, complex=True),
]
