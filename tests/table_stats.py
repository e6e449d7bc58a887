"""Records of ``lindiff.scipy.stats``: each distribution's functions, inverses and moments against SciPy's."""

from __future__ import annotations

import numpy as np
import scipy.stats
from table import Operator, sample

from lindiff.scipy import stats

# Shape parameters, broadcast against points.
CONTINUOUS = {
    "beta": (1.7, 2.6),
    "cauchy": (),
    "chi2": (3.4,),
    "expon": (),
    "f": (3.1, 5.3),
    "gamma": (1.8,),
    "genextreme": (0.3,),
    "gumbel_l": (),
    "gumbel_r": (),
    "halfcauchy": (),
    "halfnorm": (),
    "invgamma": (3.2,),
    "invgauss": (0.8,),
    "laplace": (),
    "logistic": (),
    "lognorm": (0.7,),
    "norm": (),
    "pareto": (2.7,),
    "powerlaw": (1.8,),
    "rayleigh": (),
    "skewnorm": (1.3,),
    "t": (3.7,),
    "truncnorm": (-0.9, 1.7),
    "uniform": (),
    "vonmises": (1.4,),
    "weibull_min": (1.6,),
}
# Whole numbers are constants.
DISCRETE = {
    "bernoulli": (0.3,),
    "betabinom": (6, 1.4, 2.3),
    "binom": (6, 0.3),
    "geom": (0.3,),
    "nbinom": (2.6, 0.4),
    "poisson": (2.3,),
}
FUNCTIONS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]
MOMENTS = ["mean", "var", "std", "entropy", "median"]
DENSITY_ALONE = {"skewnorm", "betabinom", "vonmises"}
WITHOUT_ENTROPY = {"f", "skewnorm", "betabinom", "binom", "nbinom", "poisson"}


def several(module, name, methods):
    """All these methods of a distribution at once."""
    distribution = getattr(module, name)
    return lambda *args, **kwds: [getattr(distribution, method)(*args, **kwds) for method in methods]


def both(name, methods, samples, **options):
    return Operator(
        f"scipy.stats.{name} ({methods[0]}, ...)",
        getattr(stats, name),
        samples,
        call=several(stats, name, methods),
        reference=several(scipy.stats, name, methods),
        rtol=1e-5,  # of differences, near the ends of supports
        **options,
    )


def spread(shapes):
    """Shape parameters as arrays, two of each."""
    return [np.array([[s], [1.1 * s]]) for s in shapes]


def continuous(name, shapes):
    q = np.array([0.3, 0.45, 0.6, 0.8])

    def points(rng):
        loc, scale = np.array(0.3), np.array([1.4])
        yield sample(
            getattr(scipy.stats, name).ppf(q, *shapes, loc=loc, scale=scale), *spread(shapes), loc, scale
        )
        yield sample(getattr(scipy.stats, name).ppf(q[1], *shapes), *(np.array(s) for s in shapes))

    def probabilities(rng):
        yield sample(np.array([0.2, 0.6]), *spread(shapes), loc=np.array(0.3), scale=np.array([1.4]))
        yield sample(np.array(0.7), *(np.array(s) for s in shapes))

    def parameters(rng):
        yield sample(*spread(shapes), loc=np.array(0.3), scale=np.array([1.4]))
        yield sample(*(np.array(s) for s in shapes), scale=np.array(0.6))

    alone = name in DENSITY_ALONE
    yield both(name, FUNCTIONS[:2] if alone else FUNCTIONS, points, single=name in ("norm", "gamma"))
    if not alone:
        yield both(name, ["ppf", "isf"], probabilities, single=False)
    moments = [m for m in MOMENTS if (m, name in WITHOUT_ENTROPY) != ("entropy", True)]
    if name == "vonmises":  # SciPy's other moments are not those of angles
        moments = ["entropy", ""]
    if name not in ("cauchy", "halfcauchy"):  # they have none
        yield both(name, moments[:-1] if alone else moments, parameters, single=False)


def discrete(name, shapes):
    least = 1.0 if name == "geom" else 0.0
    most = 1.0 if name == "bernoulli" else 5.0
    k = [int(least), int(least) + 1, 2, int(most)]

    def parameters():
        return [[s] if isinstance(s, int) else np.array([[s], [0.9 * s]]) for s in shapes]

    def of_points(methods):
        return lambda *parameters, **loc: [
            getattr(methods[0], m)(methods[2], *parameters, **loc) for m in methods[1]
        ]

    inner = ["pmf", "logpmf"] + ([] if name == "betabinom" else ["cdf", "sf", "logsf"])
    if name == "bernoulli":
        inner, k = inner[:4], [0, 1]
    yield Operator(
        f"scipy.stats.{name} (pmf, ...)",
        getattr(stats, name),
        lambda rng: [sample(*parameters())],
        call=of_points((getattr(stats, name), inner, k)),
        reference=of_points((getattr(scipy.stats, name), inner, k)),
        single=name == "poisson",
    )
    moments = [m for m in MOMENTS[:4] if (m, name in WITHOUT_ENTROPY) != ("entropy", True)]
    yield both(name, moments, lambda rng: [sample(*parameters())], single=False)


# -- vectors ---------------------------------------------------------------------------------------------


def positive_definite(A):
    return A @ np.swapaxes(A, -1, -2) + np.identity(A.shape[-1], dtype=A.dtype, like=A)


def normals(rng):
    A = rng.standard_normal((3, 3))
    for shape in [(3,), (4, 3), (2, 1, 3)]:
        yield sample(rng.standard_normal(shape), rng.standard_normal(3), A)


def of_normal(module):
    def density(x, mean, A):
        cov = positive_definite(A)
        normal = module.multivariate_normal
        return normal.logpdf(x, mean, cov), normal(mean, cov).pdf(x), normal(mean, cov).entropy()

    return density


def simple_normals(rng):
    """Covariances that are numbers and vectors."""
    yield sample(rng.standard_normal(3), None, np.array(2.0))
    yield sample(rng.standard_normal((3, 1)), None, np.array(2.0))
    yield sample(np.array(0.3), np.array(0.1), np.array(2.0))
    yield sample(rng.standard_normal((4, 2)), rng.standard_normal(2), np.array(2.0))
    yield sample(rng.standard_normal((4, 2)), rng.standard_normal(2), np.array([2.0, 0.7]))
    yield sample(rng.standard_normal((4, 2)), rng.standard_normal(2))


def ts(rng):
    A = rng.standard_normal((3, 3))
    for shape in [(3,), (4, 3), (2, 1, 3)]:
        yield sample(rng.standard_normal(shape), rng.standard_normal(3), A, np.array(3.4))


def of_t(module):
    def density(x, loc, A, df):
        shape = positive_definite(A)
        t = module.multivariate_t
        return t.logpdf(x, loc, shape, df), t(loc, shape, df).pdf(x)

    return density


def wisharts(rng):
    A = rng.standard_normal((3, 3))
    for shape in [(3, 3), (4, 3, 3), (1, 3, 3)]:
        yield sample(rng.standard_normal(shape), np.array(4.3), A)
    yield sample(rng.standard_normal((5, 1, 1)), np.array(1.3), rng.standard_normal((1, 1)))


def of_wishart(module):
    def density(X, df, A):
        x, scale, df = positive_definite(X), positive_definite(A), df[()]  # SciPy's df is a number
        x = np.moveaxis(x, 0, -1) if x.ndim == 3 else x
        w = module.wishart
        return w.logpdf(x, df, scale), w(df, scale).pdf(x), w.mean(df, scale), w(df, scale).var()

    return density


def on_simplex(x):
    return np.exp(x) / np.sum(np.exp(x), axis=0)


def of_dirichlet(module):
    def density(x, alpha):
        d = module.dirichlet
        x = on_simplex(x)
        return d.logpdf(x, alpha), d(alpha).pdf(x[:-1]), d.mean(alpha), d.var(alpha), d.entropy(alpha)

    return density


def of_multinomial(module):
    def probabilities(logits):
        d, p = module.multinomial, on_simplex(logits)
        return d.logpmf([[1, 2, 1], [0, 4, 0]], 4, p), d(4, p).pmf([1, 1, 2]), d.mean(4, p), d.cov(4, p)

    return probabilities


OPERATORS = [
    *(record for name, shapes in CONTINUOUS.items() for record in continuous(name, shapes)),
    *(record for name, shapes in DISCRETE.items() for record in discrete(name, shapes)),
    Operator(
        "scipy.stats.multivariate_normal",
        stats.multivariate_normal,
        normals,
        call=of_normal(stats),
        reference=of_normal(scipy.stats),
    ),
    Operator(
        "scipy.stats.multivariate_normal (simple)",
        stats.multivariate_normal,
        simple_normals,
        call=stats.multivariate_normal.logpdf,
        reference=scipy.stats.multivariate_normal.logpdf,
        single=False,
    ),
    Operator(
        "scipy.stats.multivariate_t",
        stats.multivariate_t,
        ts,
        call=of_t(stats),
        reference=of_t(scipy.stats),
    ),
    Operator(
        "scipy.stats.wishart",
        stats.wishart,
        wisharts,
        call=of_wishart(stats),
        reference=of_wishart(scipy.stats),
        single=False,
    ),
    Operator(
        "scipy.stats.dirichlet",
        stats.dirichlet,
        lambda rng: [
            sample(rng.standard_normal(3), 1.0 + rng.random(3)),
            sample(rng.standard_normal((3, 2)), 1.0 + rng.random(3)),
        ],
        call=of_dirichlet(stats),
        reference=of_dirichlet(scipy.stats),
        single=False,
    ),
    Operator(
        "scipy.stats.multinomial",
        stats.multinomial,
        lambda rng: [sample(rng.standard_normal(3))],
        call=of_multinomial(stats),
        reference=of_multinomial(scipy.stats),
        single=False,
    ),
]
