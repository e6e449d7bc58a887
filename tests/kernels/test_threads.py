"""Large batches of small matrices are shared among threads: the same results, the same errors."""

import os

import numpy as np
import pytest

from lindiff import kernels
from lindiff.kernels import threads

COUNT = 12_000


def positive(rng, n, count=COUNT):
    X = rng.standard_normal((count, n, n))
    return X @ np.swapaxes(X, 1, 2) + np.eye(n)


def in_pieces(kernel, *arrays, size=500):
    """Give the results of pieces that are too small for threads."""
    pieces = [kernel(*(x[i : i + size] for x in arrays)) for i in range(0, len(arrays[0]), size)]
    if isinstance(pieces[0], tuple):
        return tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return np.concatenate(pieces)


@pytest.mark.parametrize("n", [1, 3, 4])
def test_results_do_not_depend_on_threads(rng, n):
    A, X = positive(rng, n), rng.standard_normal((COUNT, n, n))
    L = kernels.potrf(A)
    np.testing.assert_array_equal(L, in_pieces(kernels.potrf, A))
    np.testing.assert_array_equal(kernels.trsm(L, X), in_pieces(kernels.trsm, L, X))
    np.testing.assert_array_equal(kernels.potrf_pullback(L, X), in_pieces(kernels.potrf_pullback, L, X))


@pytest.mark.parametrize("kernel", [kernels.syevd, kernels.gelqf, lambda A: kernels.getri(*kernels.getrf(A))])
def test_every_thread_has_its_own_workspace(rng, kernel):
    A = positive(rng, 4)
    got, expected = kernel(A), in_pieces(kernel, A)
    for x, y in zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]:
        np.testing.assert_array_equal(x, y)


def test_shared_operands(rng):
    A, X = positive(rng, 3), rng.standard_normal((3, 2))
    L = kernels.potrf(A)
    np.testing.assert_array_equal(kernels.trsm(L, X)[-1], kernels.trsm(L[-1], X))


@pytest.mark.parametrize("bad", [[0], [COUNT - 1], [COUNT - 2, 40], [COUNT // 2, COUNT // 2 + 1]])
def test_the_first_matrix_that_fails_is_named(rng, bad):
    A = positive(rng, 3)
    A[bad, 1, 1] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match=rf"order 2 .*batch index \({min(bad)},\)"):
        kernels.potrf(A)


@pytest.mark.parametrize(
    ("variable", "given", "most"),
    [("OMP_NUM_THREADS", "1", 1), ("OPENBLAS_NUM_THREADS", "1", 1), ("OMP_NUM_THREADS", "1,4", 1)],
)
def test_the_environment_limits_threads(variable, given, most, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv(variable, given)
    assert threads.available() == most


@pytest.mark.parametrize("given", ["", "0", "many"])
def test_nonsense_in_the_environment_is_ignored(given, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert threads.available() >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_after_a_fork(alone):
    """Nothing is left over that a child would wait for."""
    code = """
import os, numpy as np
from lindiff import kernels
A = np.eye(3) + np.zeros((20000, 3, 3))
kernels.potrf(A)
child = os.fork()
if child == 0:
    kernels.potrf(A)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    alone(code)
