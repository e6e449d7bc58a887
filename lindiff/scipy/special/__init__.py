"""``scipy.special`` with derivatives: the same names, signatures and results, on arrays and on Variables.

SciPy's ufuncs (``gammaln``, ``erf``, ``jv``, …) take Variables by themselves, from either import; lists of
them from this one.  Functions that SciPy writes in Python do not; here they are.  What SciPy has besides is
here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import special
>>> ld.grad(lambda x: special.logsumexp(special.gammaln(x)))(np.array([1.0, 1.0])).round(6)
array([-0.288608, -0.288608])
"""

from typing import Any

import scipy.special

from lindiff.scipy._rest import names_of
from lindiff.scipy.special._others import other
from lindiff.scipy.special.combinatorics import comb, diric, factorial, multigammaln, perm, polygamma
from lindiff.scipy.special.exponential import log_softmax, logsumexp, softmax
from lindiff.scipy.special.spherical import spherical_in, spherical_jn, spherical_kn, spherical_yn

__all__ = [
    "comb",
    "diric",
    "factorial",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "softmax",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
]


def __getattr__(name: str) -> Any:
    globals()[name] = found = other(name)
    return found


__dir__ = names_of(scipy.special, __all__)
