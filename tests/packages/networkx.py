"""networkx: PageRank in Python."""

import networkx as nx
import numpy as np
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

MODULES = ["networkx"]
START = np.array([0.5, 1.0])


def f(x):
    G = nx.DiGraph()
    G.add_weighted_edges_from([(0, 1, x[0]), (0, 2, 1.0), (1, 2, x[1]), (2, 0, 1.0), (1, 0, 0.3)])
    r = _pagerank_python(G, tol=1e-12, max_iter=500)
    return r[0] + 2 * r[1]
