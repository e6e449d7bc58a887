"""Records of ``lindiff.scipy.spatial.distance``."""

from __future__ import annotations

import numpy as np
import scipy.spatial.distance
from table import Operator, sample

from lindiff.scipy.spatial import distance

POSITIVE = ["braycurtis", "canberra", "jensenshannon"]


def positive(x):
    return np.abs(x) + 0.25


def named(name, samples, **options):
    function, reference = getattr(distance, name), getattr(scipy.spatial.distance, name)
    return Operator(f"scipy.{name}", function, samples, reference=reference, single=False, **options)


def of_vectors(name):
    def samples(rng):
        u, v, w = rng.standard_normal((3, 4))
        if name in ("mahalanobis", "seuclidean"):
            yield sample(u, v, np.eye(4) + 0.1 if name == "mahalanobis" else np.abs(w) + 1.0)
            return
        yield sample(u, v)
        if name == "minkowski":
            yield sample(u, v, np.array(2.5), w=np.abs(w) + 0.5)
        elif name == "jensenshannon":
            yield sample(u, v, 2.0)
        else:
            yield sample(u, v, w=(np.abs(w) + 0.5).tolist() if name == "chebyshev" else np.abs(w) + 0.5)

    return named(name, samples, domain=positive if name in POSITIVE else None)


METRICS = [*POSITIVE, "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "mahalanobis"]
METRICS += ["minkowski", "seuclidean", "sqeuclidean"]


def of_all_pairs(metrics):
    def samples(rng):
        for metric in metrics:
            yield sample(rng.standard_normal((3, 2)), rng.standard_normal((4, 2)), metric)
        if "minkowski" in metrics:
            A, B, w = rng.standard_normal((2, 3)), rng.standard_normal((3, 3)), np.array([0.5, 1.0, 2.0])
            yield sample(A, B, "minkowski", p=3)
            yield sample(A, B, "seuclidean", V=w)
            yield sample(A, B, "mahalanobis", VI=np.eye(3) + 0.1)
            yield sample(A, B, "euclidean", w=w)
            yield sample(np.zeros((0, 2)), rng.standard_normal((4, 2)))

    return samples


def of_each_pair(metrics):
    def samples(rng):
        for metric in metrics:
            yield sample(rng.standard_normal((4, 2)), metric)

    return samples


OTHERS = [name for name in METRICS if name not in POSITIVE]

OPERATORS = [
    *map(of_vectors, METRICS),
    named("cdist", of_all_pairs(OTHERS)),
    named("pdist", of_each_pair(OTHERS)),
    *(
        Operator(
            f"scipy.{name} of positive numbers",
            getattr(distance, name),
            samples(POSITIVE),
            domain=positive,
            single=False,
            reference=getattr(scipy.spatial.distance, name),
        )
        for name, samples in [("cdist", of_all_pairs), ("pdist", of_each_pair)]
    ),
    named("squareform", lambda rng: [sample(rng.standard_normal(6))]),
    Operator(
        "scipy.squareform of a matrix",
        distance.squareform,
        lambda rng: [sample(rng.standard_normal((3, 3)))],
        call=lambda X: distance.squareform(X + X.T, checks=False),
        single=False,
    ),
]
