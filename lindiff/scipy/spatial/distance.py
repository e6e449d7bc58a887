"""``scipy.spatial.distance`` with derivatives: distances between vectors, and between all rows of matrices.

On plain arrays the functions are SciPy's own.  What SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy.spatial import distance
>>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> ld.grad(lambda X: np.sum(distance.pdist(X)))(X)
array([[-0.6, -0.8],
       [ 0.6,  0.8]])
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance

from lindiff.core.variable import value
from lindiff.linalg import squared_distances
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.scipy._by_formula import by_formula
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.spatial._metrics import METRICS

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]

IN_ONE_BLOCK = 2**20  # the formula takes so many coordinates of pairs at a time

_DOC = """Differentiable in every argument that is real numbers.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy.spatial import distance
>>> x = np.array([1.0, 2.0, 4.0])
>>> ld.grad(distance.{name})(x, x{more})
array([0., 0., 0.])
"""


def _real(name: str, x: Any) -> Any:
    """Vectors of real floats; raises for complex ones."""
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: vectors are real; put real and imaginary parts beside each other")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _of_vectors(original: Callable[..., Any], more: str = "") -> Any:
    """SciPy's distance between two vectors, with derivatives; `more` are further arguments of its example."""
    name = original.__name__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def distance(*args: Any, **options: Any) -> Any:
        (_, u), (_, v), *rest = signature.bind(*args, **options).arguments.items()
        u, v = _real(name, u), _real(name, v)
        keywords = {key: as_array(x) if isinstance(x, (list, tuple)) else x for key, x in rest}
        if not keywords.keys().isdisjoint(("axis", "keepdims")):
            raise TypeError(
                "jensenshannon: axis and keepdims have no derivative in lindiff: write "
                "cdist(p, q, 'jensenshannon'), or one call for each pair of vectors"
            )

        def of_scipy(u: Any, v: Any, keywords: dict[str, Any]) -> Any:
            return original(u, v, **keywords)

        def formula(u: Any, v: Any, keywords: dict[str, Any]) -> Any:
            return METRICS[name](u, v, **keywords)

        return by_formula(of_scipy, formula, u, v, keywords)

    distance.__doc__ = _DOC.format(name=name, more=more)
    return drop_in(original)(distance)


_scipys = scipy.spatial.distance
braycurtis = _of_vectors(_scipys.braycurtis)
canberra = _of_vectors(_scipys.canberra)
chebyshev = _of_vectors(_scipys.chebyshev)
cityblock = _of_vectors(_scipys.cityblock)
correlation = _of_vectors(_scipys.correlation)
cosine = _of_vectors(_scipys.cosine)
euclidean = _of_vectors(_scipys.euclidean)
jensenshannon = _of_vectors(_scipys.jensenshannon)
mahalanobis = _of_vectors(_scipys.mahalanobis, ", np.eye(3)")
minkowski = _of_vectors(_scipys.minkowski, ", 3.0")
seuclidean = _of_vectors(_scipys.seuclidean, ", np.ones(3)")
sqeuclidean = _of_vectors(_scipys.sqeuclidean)


def _keywords(name: str, metric: str, kwargs: dict[str, Any], *data: Any) -> dict[str, Any]:
    """The keywords of a metric; variances that are not given are those of all the data, as in SciPy."""
    if kwargs.pop("out", None) is not None:
        raise TypeError(f"{name}: out has no derivative in lindiff: write D[...] = {name}(...)")
    keywords = {key: x if np.isscalar(x) or x is None else as_array(x) for key, x in kwargs.items()}
    if metric == "seuclidean" and keywords.get("V") is None:
        keywords["V"] = np.var(np.concatenate(data), axis=0, ddof=1)
    if metric == "mahalanobis" and keywords.get("VI") is None:
        points = np.concatenate(data)
        if len(points) <= points.shape[1]:
            raise ValueError(
                f"{name}: the covariance of {len(points)} points in {points.shape[1]} dimensions is singular"
            )
        keywords["VI"] = np.linalg.inv(np.atleast_2d(np.cov(points.T)))
    return keywords


def _formula(name: str, metric: str) -> Callable[..., Any]:
    """The formula of a metric by its name; raises for one without derivative."""
    formula = METRICS.get(metric)
    if formula is None:
        raise TypeError(
            f"{name}: the metric {metric!r} has no derivative in lindiff; there are {', '.join(METRICS)}. "
            f"Where its derivative does not matter, write {name}(ld.value(x), ...)"
        )
    return formula


def _is_euclidean(metric: str, keywords: dict[str, Any]) -> bool:
    return metric in ("euclidean", "sqeuclidean") and all(x is None for x in keywords.values())


def _euclidean(metric: str, r2: Any) -> Any:
    """Distances of squared ones; the derivative at 0 counts as 0."""
    if metric == "sqeuclidean":
        return r2
    is_zero = np.equal(value(r2), 0)
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, r2)))


def _blocks(count: int, size: int) -> list[slice]:
    """Parts of ``count`` rows, each of so many coordinates that memory holds them."""
    rows = max(IN_ONE_BLOCK // max(size, 1), 1)
    return [slice(begin, begin + rows) for begin in range(0, count, rows)]


@drop_in(scipy.spatial.distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Differentiable in `XA`, `XB` and the keywords ``w``, ``p``, ``V`` and ``VI`` of a metric.

    `metric` is a callable, or a name with a function in this module.  Arrays are real.  `out` is for plain
    arrays.

    Raises
    ------
    TypeError
        For metrics without derivative, those of truth values.

    Notes
    -----
    Of the Euclidean metrics without weights, distances and derivatives are products of matrices,
    :func:`lindiff.linalg.squared_distances`.  Other derivatives are those of the formula, block by block:
    O(m k) memory, O(m k n) time.  At distance 0 the derivative is 0.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.spatial.distance import cdist
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> ld.grad(lambda X: np.sum(np.exp(-cdist(X, X, "sqeuclidean"))))(X).round(4)
    array([[ 1.473],
           [-1.325],
           [-0.148]])
    """
    XA, XB = (_real("cdist", x).astype(np.float64) for x in (XA, XB))
    if XA.ndim != 2 or XB.ndim != 2 or XA.shape[1] != XB.shape[1]:
        raise ValueError(f"cdist: needs matrices with as many columns, got shapes {XA.shape} and {XB.shape}")
    if callable(metric):
        pairs = [metric(a, b, **kwargs) for a in XA for b in XB]
        return np.reshape(np.stack(pairs), (len(XA), len(XB)))
    metric = metric.lower()
    formula = _formula("cdist", metric)
    keywords = _keywords("cdist", metric, {"out": out, **kwargs}, XA, XB)

    if _is_euclidean(metric, keywords) and depends_on_variables([XA, XB]):
        return _euclidean(metric, squared_distances(XA, XB))

    def of_scipy(XA: Any, XB: Any, keywords: dict[str, Any]) -> Any:
        return scipy.spatial.distance.cdist(XA, XB, metric, **keywords)

    def of_rows(rows: slice) -> Callable[..., Any]:
        return lambda XA, XB, keywords: formula(XA[rows, None], XB, **keywords)

    blocks = _blocks(len(XA), XB.size) or [slice(0)]
    return by_formula(of_scipy, [*map(of_rows, blocks)], XA, XB, keywords)


@drop_in(scipy.spatial.distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Differentiable in `X` and the keywords ``w``, ``p``, ``V`` and ``VI`` of a metric, like :func:`cdist`.

    Raises
    ------
    TypeError
        For metrics without derivative, those of truth values.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.spatial.distance import pdist
    >>> ld.grad(lambda X: pdist(X, "cityblock")[0])(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]))
    array([[-1.,  1.],
           [ 1., -1.],
           [ 0.,  0.]])
    """
    X = _real("pdist", X).astype(np.float64)
    if X.ndim != 2:
        raise ValueError(f"pdist: needs a matrix, got shape {X.shape}")
    first, second = np.triu_indices(len(X), 1)
    if callable(metric):
        return np.stack([metric(X[i], X[j], **kwargs) for i, j in zip(first, second, strict=True)])
    metric = metric.lower()
    formula = _formula("pdist", metric)
    keywords = _keywords("pdist", metric, {"out": out, **kwargs}, X)

    if _is_euclidean(metric, keywords) and depends_on_variables(X):
        return _euclidean(metric, squared_distances(X, X)[first, second])

    def of_scipy(X: Any, keywords: dict[str, Any]) -> Any:
        return scipy.spatial.distance.pdist(X, metric, **keywords)

    def of_pairs(pairs: slice) -> Callable[..., Any]:
        return lambda X, keywords: formula(X[first[pairs]], X[second[pairs]], **keywords)

    blocks = _blocks(len(first), X.shape[1]) or [slice(0)]
    return by_formula(of_scipy, [*map(of_pairs, blocks)], X, keywords)


@drop_in(scipy.spatial.distance.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Differentiable in `X`: of a matrix its upper triangle is read.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.spatial.distance import squareform
    >>> ld.grad(lambda d: np.sum(squareform(d)))(np.ones(3))
    array([2., 2., 2.])
    """
    X = np.atleast_1d(X)
    scipy.spatial.distance.squareform(value(X), force, checks)  # for its errors
    if X.ndim == 2:
        return X[np.triu_indices(len(X), 1)]
    places = scipy.spatial.distance.squareform(np.arange(1, len(X) + 1))  # 0 on the diagonal
    return np.concatenate([np.zeros(1, X.dtype), X])[places]


__getattr__ = rest_of(
    scipy.spatial.distance,
    dict.fromkeys(("dice", "hamming", "jaccard", "rogerstanimoto", "yule"), "it compares truth values")
    | {"directed_hausdorff": "write it with cdist, np.min and np.max"},
)


__dir__ = names_of(scipy.spatial.distance, __all__)
