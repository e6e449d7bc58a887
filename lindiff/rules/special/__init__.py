"""Rules of ``scipy.special``: one file a family."""

import inspect

import numpy as np

from lindiff.core.registry import alias, handled_functions
from lindiff.rules.special import (  # noqa: F401
    bessel,
    distributions,
    elementary,
    elliptic,
    errors,
    gamma,
    hypergeometric,
    in_python,
    incomplete,
    information,
    integrals,
    orthogonal,
    refused,
    zeta,
)

# Under SCIPY_ARRAY_API=1 SciPy's names stand for functions around the ufuncs, which are called in the end.
for _function in handled_functions():
    _ufunc = inspect.unwrap(_function)
    if _ufunc is not _function and isinstance(_ufunc, np.ufunc):
        alias(_function, _ufunc)
