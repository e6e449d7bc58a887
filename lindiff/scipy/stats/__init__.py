"""``scipy.stats`` with derivatives: densities, distribution functions and quantiles of distributions.

The distributions have SciPy's names, parameters and methods, and can be frozen; points, shapes, location and
scale are differentiable.  On plain arrays SciPy answers.  What SciPy has besides is here, too, for plain
arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import stats
>>> data = np.array([1.0, 2.0, 6.0])
>>> ld.grad(lambda loc: np.sum(stats.norm(loc, 2.0).logpdf(data)))(0.0)
np.float64(2.25)
"""

import inspect
from typing import Any

import scipy.stats

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.stats._distribution import PlainOnly, of_distributions
from lindiff.scipy.stats.continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    f,
    gamma,
    halfcauchy,
    halfnorm,
    invgamma,
    invgauss,
    laplace,
    logistic,
    lognorm,
    norm,
    pareto,
    powerlaw,
    rayleigh,
    skewnorm,
    t,
    uniform,
    vonmises,
    weibull_min,
)
from lindiff.scipy.stats.discrete import bernoulli, betabinom, binom, geom, nbinom, poisson
from lindiff.scipy.stats.extreme_values import genextreme, gumbel_l, gumbel_r
from lindiff.scipy.stats.multivariate import (
    dirichlet,
    multinomial,
    multivariate_normal,
    multivariate_t,
    wishart,
)
from lindiff.scipy.stats.truncated_normal import truncnorm

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "f",
    "gamma",
    "genextreme",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "halfcauchy",
    "halfnorm",
    "invgamma",
    "invgauss",
    "laplace",
    "logistic",
    "lognorm",
    "multinomial",
    "multivariate_normal",
    "multivariate_t",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "powerlaw",
    "rayleigh",
    "skewnorm",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "weibull_min",
    "wishart",
]

_rest = rest_of(
    scipy.stats,
    {
        "gmean": "write np.exp(np.mean(np.log(a)))",
        "gaussian_kde": "write it with norm.logpdf and scipy.special.logsumexp",
        "zscore": "write (a - np.mean(a)) / np.std(a)",
    },
)


def __getattr__(name: str) -> Any:
    found = _rest(name)
    if inspect.isroutine(found):
        return of_distributions(found)
    is_distribution = hasattr(found, "rvs") and callable(found) and not isinstance(found, type)
    return PlainOnly(name, found) if is_distribution else found


__dir__ = names_of(scipy.stats, __all__)
