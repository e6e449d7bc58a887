"""gelqf, gelqf_l."""

import numpy as np
import pytest

from .helpers import assert_adjoint, assert_close, assert_pushforward, general, t


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def dtype(request):
    return request.param


@pytest.fixture(params=[0, 3], ids=["square", "wide"])
def problem(request, rng, dtype, n, batch):
    A = general(rng, (*batch, n, n + request.param), dtype) / np.sqrt(max(n, 1)).astype(dtype)
    A[..., range(n), range(n)] -= 3
    return A


def test_factors(kernels, problem, dtype):
    n = problem.shape[-2]
    Q, L = kernels.gelqf(problem)
    assert_close(L @ Q, problem, dtype)
    assert_close(Q @ t(Q), np.broadcast_to(np.eye(n), L.shape), dtype)
    np.testing.assert_array_equal(L, np.tril(L))
    assert (np.diagonal(L, axis1=-2, axis2=-1) > 0).all()
    assert_close(kernels.gelqf_l(problem), L, dtype)


@pytest.mark.parametrize("given", ["both", "Q", "L"])
def test_adjoint(kernels, problem, rng, dtype, given):
    Q, L = kernels.gelqf(problem)
    A_dot, Q_bar = general(rng, (2, *problem.shape), dtype)
    L_bar = general(rng, L.shape, dtype)
    L_bar[..., ~np.tri(L.shape[-1], dtype=bool)] = np.nan  # never read
    Q_dot, L_dot = kernels.gelqf_pushforward(Q, L, A_dot)
    pairs = []
    if given != "L":
        pairs.append((Q_bar, Q_dot))
    if given != "Q":
        pairs.append((np.tril(np.nan_to_num(L_bar)), L_dot))
    A_bar = kernels.gelqf_pullback(Q, L, None if given == "L" else Q_bar, None if given == "Q" else L_bar)
    assert_adjoint([(A_bar, A_dot)], pairs, dtype)
    if given == "L":
        assert_close(kernels.gelqf_l_pullback(L, problem, L_bar), A_bar, dtype)
        assert_close(kernels.gelqf_l_pushforward(L, problem, A_dot), L_dot, dtype)


def test_pushforward_by_differences(kernels, rng):
    A, A_dot = general(rng, (2, 2, 4, 6))
    assert_pushforward(kernels.gelqf, A, A_dot, kernels.gelqf_pushforward(*kernels.gelqf(A), A_dot))


def test_scaling_is_safe(kernels, rng):
    A = general(rng, (3, 5))
    for scale in (1e-300, 1e300):
        Q, L = kernels.gelqf(A * scale)
        assert_close(Q, kernels.gelqf(A)[0])
        assert_close(L / scale, kernels.gelqf(A)[1])


def test_overwriting(kernels, rng):
    A = general(rng, (2, 3, 5))
    Q_want, L_want = kernels.gelqf(A)
    Q, L = kernels.gelqf(A, overwrite_a=True)
    assert Q is A
    assert_close(Q, Q_want)
    assert_close(L, L_want)
    Q_bar = general(rng, A.shape)
    want = kernels.gelqf_pullback(Q, L, Q_bar, None)
    assert kernels.gelqf_pullback(Q, L, Q_bar, None, overwrite_q_bar=True) is Q_bar
    assert_close(Q_bar, want)


@pytest.mark.parametrize("n", [3, 12])
def test_errors(kernels, rng, n):
    with pytest.raises(ValueError, match=r"A must not have more rows than columns, got shape \(3, 2\)"):
        kernels.gelqf(np.ones((3, 2)))
    Q, L = kernels.gelqf(general(rng, (n, n)))
    L[1, 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match="gelqf_pullback: A has not full rank, entry 1"):
        kernels.gelqf_pullback(Q, L, Q, L)
    with pytest.raises(ValueError, match="one of Q_bar and L_bar"):
        kernels.gelqf_pullback(Q, L, None, None)


@pytest.mark.parametrize("shape", [(9, 150), (33, 33), (64, 64), (65, 90), (100, 101)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blocks_of_reflections(kernels, rng, shape, kind):
    A = general(rng, (2, *shape), kind)
    A[1, 3:6] = 0  # reflections that are none
    Q, L = kernels.gelqf(A)
    m = shape[0]
    eps = 20 * m * np.finfo(kind).eps
    assert np.abs(Q @ t(Q) - np.eye(m)).max() <= eps
    assert np.abs(L @ Q - A).max() <= eps * np.abs(A).max()
    np.testing.assert_array_equal(L, np.tril(L))
    assert_close(kernels.gelqf_l(A), L, kind)
