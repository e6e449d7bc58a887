"""Repeated and nearly repeated eigenvalues and singular values, defective matrices, gauge.

Exact where the function is differentiable and the cotangents tell it, else a warning that names the pair.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lindiff as ld

RNG = np.random.default_rng(3)
Q = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
W = RNG.standard_normal((4, 4))
CLUSTERS = {
    "equal": np.array([1.0, 1.0, 1.0, 3.0]),
    "two pairs": np.array([1.0, 1.0, 3.0, 3.0]),
    "close": np.array([1.0, 1.0 + 1e-12, 1.0 + 3e-12, 3.0]),
    "rounding": np.array([1.0, 1.0 + 2e-16, 1.0 + 1e-15, 3.0]),
    "identity": np.ones(4),
}


def symmetric(X):
    return 0.5 * (X + X.T)


def with_eigenvalues(w):
    return symmetric((Q * w) @ Q.T)


@pytest.fixture
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -- what only depends on eigenvalues, symmetrically -----------------------------------------------------


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize(
    "eigenvalues", [np.linalg.eigvalsh, lambda A: np.linalg.eigh(A)[0], lambda A: ld.linalg.syevd(A)[1]]
)
def test_symmetric_functions_of_eigenvalues_are_exact(cluster, eigenvalues, strict):
    A = with_eigenvalues(CLUSTERS[cluster])
    for f, derivative in [
        (np.exp, lambda A: _function(A, np.exp)),
        (np.log, np.linalg.inv),
        (lambda w: w**3, lambda A: 3 * A @ A),
    ]:
        got = ld.grad(lambda A: np.sum(f(eigenvalues(A))))(A)  # noqa: B023
        assert_allclose(got, derivative(A), atol=1e-11)
    got = ld.grad(lambda A: np.prod(eigenvalues(A)))(A)
    assert_allclose(got, np.linalg.det(A) * np.linalg.inv(A), atol=1e-11)


def _function(A, f):
    w, V = np.linalg.eigh(A)
    return (V * f(w)) @ V.T


@pytest.mark.parametrize("cluster", ["equal", "two pairs", "rounding", "identity"])
def test_single_eigenvalues_of_a_group_have_no_derivative(cluster):
    A = with_eigenvalues(CLUSTERS[cluster])
    for name, f in {
        "eigvalsh": lambda A: np.linalg.eigvalsh(A)[0],
        "eigh": lambda A: np.linalg.eigh(A)[0][1],
        "syevd": lambda A: ld.linalg.syevd(A)[1][1],
    }.items():
        with pytest.warns(RuntimeWarning, match=rf"{name}: values 0 and 1 \(1 and 1\) are equal to rounding"):
            ld.grad(f)(A)
    with pytest.warns(RuntimeWarning, match=r"values 0 and 1 of matrix \(1,\)"):
        ld.grad(lambda A: np.sum(np.linalg.eigvalsh(A)[:, 0]))(np.stack([np.diag([1.0, 2.0, 3.0, 4.0]), A]))


def test_sums_over_a_whole_group_and_eigenvalues_apart_from_it_are_exact(strict):
    A = with_eigenvalues(CLUSTERS["equal"])
    got = ld.grad(lambda A: np.sum(np.linalg.eigvalsh(A)[:3]))(A)
    assert_allclose(got, Q[:, :3] @ Q[:, :3].T, atol=1e-12)
    got = ld.grad(lambda A: np.linalg.eigvalsh(A)[3])(A)
    assert_allclose(got, np.outer(Q[:, 3], Q[:, 3]), atol=1e-12)


# -- projectors on whole groups, functions of matrices -----------------------------------------------------


def gradient_of_projector(w, weights):
    """Of ``sum(weights * P)``, P the projector on all eigenvalues but the last."""
    Z = Q.T @ symmetric(weights) @ Q
    G = np.zeros((4, 4))
    G[:3, 3] = Z[:3, 3] / (w[:3] - w[3])
    return Q @ (G + G.T) @ Q.T


@pytest.mark.parametrize("cluster", ["equal", "close", "rounding"])
def test_projectors_on_a_whole_group_are_exact(cluster, strict):
    w = CLUSTERS[cluster]
    A = with_eigenvalues(w)
    expected = gradient_of_projector(w, W)
    inner = ld.grad(lambda A: np.sum(W * (lambda V: V[:, :3] @ V[:, :3].T)(np.linalg.eigh(A)[1])))(A)
    outer = ld.grad(lambda A: -np.sum(W * np.outer(*[np.linalg.eigh(A)[1][:, 3]] * 2)))(A)
    rows = ld.grad(lambda A: np.sum(W * (lambda U: U[:3].T @ U[:3])(ld.linalg.syevd(A)[0])))(A)
    for got in (inner, outer, rows):
        assert_allclose(got, expected, atol=1e-11)


@pytest.mark.parametrize("cluster", ["equal", "two pairs", "identity"])
def test_lost_limits_warn(cluster):
    """Of ``V f(w) Vᵀ`` weighed by a general matrix."""
    A = with_eigenvalues(CLUSTERS[cluster])
    for f in [np.sqrt, np.exp, np.log]:
        with pytest.warns(RuntimeWarning, match=r"eigh: values .* are equal .* sqrtm, logm and funm"):
            got = ld.grad(lambda A: np.sum(W * _function(A, f)))(A)  # noqa: B023
        assert np.all(np.isfinite(got))


def test_few_digits_warn():
    w = CLUSTERS["close"]
    A = with_eigenvalues(w)
    with pytest.warns(RuntimeWarning, match=r"eigh: values .* are equal .* approximate"):
        got = ld.grad(lambda A: np.sum(W * _function(A, np.exp)))(A)
    gaps = w[:, None] - w + np.eye(4)
    D = np.where(np.eye(4), np.exp(w), (np.exp(w)[:, None] - np.exp(w)) / gaps)
    assert_allclose(got, Q @ (D * (Q.T @ symmetric(W) @ Q)) @ Q.T, atol=1e-2)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_functions_weighed_by_what_commutes_are_exact(cluster, strict):
    A = with_eigenvalues(CLUSTERS[cluster])
    assert_allclose(ld.grad(lambda A: np.trace(_function(A, np.exp)))(A), _function(A, np.exp), atol=1e-10)


@pytest.mark.parametrize("cluster", ["equal", "identity"])
def test_pushforwards_are_exact_where_nothing_depends_on_the_choice_of_vectors(cluster):
    A, A_dot = with_eigenvalues(CLUSTERS[cluster]), symmetric(W)
    y_dot = ld.jvp(lambda A: np.sum(np.exp(np.linalg.eigvalsh(A))), (A,), (A_dot,))[1]
    assert_allclose(y_dot, np.sum(_function(A, np.exp) * A_dot), rtol=1e-12)
    with pytest.warns(RuntimeWarning, match=r"eigh: values 0 and .* exact only of"):
        y_dot = ld.jvp(lambda A: np.sum(np.exp(np.linalg.eigh(A)[0])), (A,), (A_dot,))[1]
    assert_allclose(y_dot, np.sum(_function(A, np.exp) * A_dot), rtol=1e-12)
    if cluster == "equal":
        with pytest.warns(RuntimeWarning, match=r"eigh: values 0 and "):
            P_dot = ld.jvp(lambda A: (lambda V: V[:, :3] @ V[:, :3].T)(np.linalg.eigh(A)[1]), (A,), (A_dot,))[
                1
            ]
        expected = gradient_of_projector(CLUSTERS[cluster], W)
        assert_allclose(np.sum(W * P_dot), np.sum(expected * A_dot), rtol=1e-11)


@pytest.mark.parametrize("cluster", ["equal", "two pairs", "rounding", "identity"])
def test_hessians_of_symmetric_functions_of_eigenvalues_are_exact(cluster, strict):
    A, E = with_eigenvalues(CLUSTERS[cluster]), symmetric(W)
    w, V = np.linalg.eigh(A)
    M = V.T @ E @ V
    mean = 0.5 * (w[:, None] + w)
    gap = 0.5 * (w[:, None] - w)
    slopes = np.exp(mean) * np.sinc(1j * gap / np.pi).real  # of exp between two eigenvalues
    for f, expected in [
        (lambda w: np.sum(w**2), 2 * E),
        (lambda w: np.sum(w**3), 3 * (A @ E + E @ A)),
        (lambda w: np.sum(np.exp(w)), V @ (slopes * M) @ V.T),
    ]:
        got = ld.hvp(lambda A: f(np.linalg.eigvalsh(A)), (A,), (E,))  # noqa: B023
        assert_allclose(got, expected, atol=1e-10)
    H = ld.hessian(lambda A: np.sum(np.linalg.eigvalsh(A) ** 2))(A)
    assert_allclose(np.tensordot(H, E), 2 * E, atol=1e-10)
    stacked = np.stack([np.diag([1.0, 2.0, 3.0, 4.0]), A])
    got = ld.hvp(lambda A: np.sum(np.linalg.eigvalsh(A) ** 3), (stacked,), (np.stack([E, E]),))
    assert_allclose(got[1], 3 * (A @ E + E @ A), atol=1e-10)
    complex_A = A + 0j
    got = ld.hvp(lambda A: np.sum(np.linalg.eigvalsh(A) ** 2), (complex_A,), (E + 0j,))
    assert_allclose(got, 2 * E, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_hessians_in_single_precision(dtype, strict):
    A, E = with_eigenvalues(CLUSTERS["two pairs"]).astype(dtype), symmetric(W).astype(dtype)
    got = ld.hvp(lambda A: np.sum(np.linalg.eigvalsh(A) ** 3), (A,), (E,))
    assert got.dtype == dtype
    assert_allclose(got, 3 * (A @ E + E @ A), atol=1e-4)


def test_single_eigenvalues_of_a_group_have_one_sided_derivatives(strict):
    A, E = with_eigenvalues(CLUSTERS["two pairs"]), symmetric(W)
    w_dot = ld.jvp(np.linalg.eigvalsh, (A,), (E,))[1]
    t = 1e-6
    assert_allclose(w_dot, (np.linalg.eigvalsh(A + t * E) - np.linalg.eigvalsh(A)) / t, atol=1e-5)


EIGENVALUES = {
    "eigvalsh": np.linalg.eigvalsh,
    "eigh": lambda A: np.linalg.eigh(A)[0],
    "syevd": lambda A: ld.linalg.syevd(A)[1],
    "svdvals": np.linalg.svdvals,
    "svd": lambda A: np.linalg.svd(A)[1],
    "svd (values)": lambda A: np.linalg.svd(A, compute_uv=False),
}


@pytest.mark.filterwarnings("ignore:.* and their vectors are arbitrary")
@pytest.mark.parametrize("cluster", ["equal", "two pairs", "identity"])
@pytest.mark.parametrize("name", EIGENVALUES)
def test_symmetric_functions_in_second_order_in_every_way(name, cluster):
    values, A, E = EIGENVALUES[name], with_eigenvalues(CLUSTERS[cluster]), symmetric(W)

    def f(A):
        w = values(A)
        return np.sum(w**3) + np.prod(w)

    g = ld.grad(f)
    B = np.linalg.inv(A)
    d = np.linalg.det(A)
    expected = 3 * (A @ E + E @ A) + d * (np.trace(B @ E) * B - B @ E @ B)
    for got in [
        ld.hvp(f, (A,), (E,)),
        ld.jvp(g, (A,), (E,))[1],
        ld.grad(lambda A: np.sum(E * g(A)))(A),
        ld.grad(lambda A: ld.jvp(f, (A,), (E,))[1])(A),
        np.tensordot(ld.hessian(f)(A), E),
        np.tensordot(E, ld.jacobian(g, mode="reverse")(A)),
    ]:
        assert_allclose(symmetric(got), expected, atol=1e-9)
    curvature = ld.jvp(lambda A: ld.jvp(f, (A,), (E,))[1], (A,), (E,))[1]
    assert_allclose(curvature, np.sum(expected * E), atol=1e-9)


def test_batches_and_complex_matrices_in_second_order(strict):
    E = symmetric(W)
    A = np.stack([with_eigenvalues(CLUSTERS[cluster]) for cluster in ("equal", "identity")])

    def f(A):
        return np.sum(np.linalg.eigvalsh(A) ** 3)

    for dtype in (float, complex):
        X, X_dot = A.astype(dtype), np.stack([E, E]).astype(dtype)
        expected = 3 * (X @ X_dot + X_dot @ X)
        got = ld.grad(lambda A: np.sum((X_dot * ld.grad(f)(A)).real))(X)  # noqa: B023
        assert_allclose(got, expected, atol=1e-9)
        got = ld.grad(lambda A: ld.jvp(f, (A,), (X_dot,))[1])(X)  # noqa: B023
        assert_allclose(got, expected, atol=1e-9)


def test_several_inner_derivatives_of_one_record_warn():
    """There is one basis for the vectors, and each wants another."""
    A, E, F = np.eye(4), symmetric(W), symmetric(W[::-1])

    def both(w):
        return np.stack([np.sum(w**2), np.sum(w**3)])

    def reverse(A):
        return np.sum(E * ld.jacobian(lambda A: both(np.linalg.eigvalsh(A)), mode="reverse")(A))

    with pytest.warns(RuntimeWarning, match=r"eigvalsh: values \d and "):
        assert np.all(np.isfinite(ld.grad(reverse)(A)))

    def slope(A):
        return ld.jvp(lambda A: np.sum(np.linalg.eigvalsh(A) ** 2), (A,), (E,))[1]

    with pytest.warns(RuntimeWarning, match=r"eigh: values \d and "):
        assert np.isfinite(ld.jvp(slope, (A,), (F,))[1])


def test_vectors_of_equal_eigenvalues_in_second_order_warn():
    A, E = with_eigenvalues(CLUSTERS["equal"]), symmetric(W)

    def f(A):
        w, V = np.linalg.eigh(A)
        return np.sum(W * ((V * np.exp(w)) @ V.T))

    with pytest.warns(RuntimeWarning, match=r"eigh: values 0 and "):
        assert np.all(np.isfinite(ld.hvp(f, (A,), (E,))))


@pytest.mark.parametrize("gap", [1e-6, 1e-8, 1e-12])
def test_second_derivatives_of_close_values_warn(gap):
    """Their error is as 1e-16 / gap²."""
    A = with_eigenvalues(np.array([1.0, 2.0, 3.0, 3.0 + gap]))
    for f in [
        lambda A: np.sum(W * polar_factor(A)),
        lambda A: np.sum(W * (lambda w, V: (V * np.exp(w)) @ V.T)(*np.linalg.eigh(A))),
    ]:
        for second in [
            lambda: ld.hvp(f, (A,), (symmetric(W),)),  # noqa: B023
            lambda: ld.grad(lambda A: np.sum(W * ld.grad(f)(A)))(A),  # noqa: B023
            lambda: ld.grad(lambda A: ld.jvp(f, (A,), (W,))[1])(A),  # noqa: B023
        ]:
            with pytest.warns(RuntimeWarning, match=r"values \d and \d "):
                second()


# -- singular values ---------------------------------------------------------------------------------------


def polar_factor(A):
    U, _, Vh = np.linalg.svd(A, full_matrices=False)
    return U @ Vh


def with_singular_values(s):
    P = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    return (Q[:, :3] * np.asarray(s)) @ P


@pytest.mark.parametrize("s", [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0] * 3])
@pytest.mark.parametrize("wide", [False, True])
def test_smooth_functions_of_singular_values_are_exact(s, wide, strict):
    A = with_singular_values(s)
    A = A.T if wide else A
    for values in [
        np.linalg.svdvals,
        lambda A: np.linalg.svd(A)[1],
        lambda A: np.linalg.svd(A, compute_uv=False),
    ]:
        got = ld.grad(lambda A: np.sum(values(A) ** 2))(A)  # noqa: B023
        assert_allclose(got, 2 * A, atol=1e-12)
        got = ld.grad(lambda A: np.sum(np.log1p(values(A) ** 2)))(A)  # noqa: B023
        assert_allclose(got, 2 * np.linalg.solve(np.eye(len(A)) + A @ A.T, A), atol=1e-12)


@pytest.mark.parametrize("s", [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
@pytest.mark.parametrize("wide", [False, True])
def test_polar_factor_and_nuclear_norm_are_exact_at_repeated_singular_values(s, wide, strict):
    A = with_singular_values(s)
    A = A.T if wide else A
    weights = W[: A.shape[0], : A.shape[1]]

    assert_allclose(ld.grad(lambda A: np.sum(np.linalg.svdvals(A)))(A), polar_factor(A), atol=1e-12)
    assert_allclose(ld.grad(lambda A: np.linalg.norm(A, "nuc"))(A), polar_factor(A), atol=1e-12)
    got = ld.grad(lambda A: np.sum(weights * polar_factor(A)))(A)
    h = 1e-4
    A_dot = RNG.standard_normal(A.shape)
    expected = np.sum(weights * (polar_factor(A + h * A_dot) - polar_factor(A - h * A_dot))) / (2 * h)
    assert_allclose(np.sum(got * A_dot), expected, rtol=1e-6)


@pytest.mark.parametrize("s", [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0] * 3])
@pytest.mark.parametrize("wide", [False, True])
def test_hessians_of_smooth_functions_of_singular_values_are_exact(s, wide, strict):
    A, E = with_singular_values(s), W[:, :3]
    A, E = (A.T, E.T) if wide else (A, E)
    got = ld.hvp(lambda A: np.sum(np.linalg.svdvals(A) ** 2), (A,), (E,))
    assert_allclose(got, 2 * E, atol=1e-9)
    got = ld.hvp(lambda A: np.sum(np.linalg.svdvals(A) ** 4), (A,), (E,))
    assert_allclose(got, 4 * (E @ A.T @ A + A @ E.T @ A + A @ A.T @ E), atol=1e-9)
    if s[-1] > 0:
        got = ld.hvp(lambda A: np.linalg.norm(A, "nuc"), (A,), (E,))
        h = 1e-4
        assert_allclose(got, (polar_factor(A + h * E) - polar_factor(A - h * E)) / (2 * h), atol=1e-6)


def test_kinks_of_singular_values_warn():
    for values in [np.linalg.svdvals, lambda A: np.linalg.svd(A)[1]]:
        for s, words in [([2.0, 1.0, 0.0], r"value 2 \(.*\) is zero .*subgradient"), ([0.0] * 3, "value 0")]:
            with pytest.warns(RuntimeWarning, match=words):
                ld.grad(lambda A: np.sum(values(A)))(with_singular_values(s))  # noqa: B023
        with pytest.warns(RuntimeWarning, match="values 0 and 1"):
            ld.grad(lambda A: values(A)[0])(with_singular_values([2.0, 2.0, 1.0]))  # noqa: B023


@pytest.mark.parametrize("s", [[2.0, 2.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 0.0]])
def test_pinv_is_exact_at_repeated_singular_values_and_low_rank(s, strict):
    A = with_singular_values(s)
    weights = W[:3]
    E = RNG.standard_normal((4, 4)), RNG.standard_normal((3, 3))
    A_dot = E[0] @ A + A @ E[1]  # of constant rank
    got = ld.grad(lambda A: np.sum(weights * np.linalg.pinv(A, 1e-10)))(A)

    def at(t):
        return np.linalg.pinv((np.eye(4) + t * E[0]) @ A @ (np.eye(3) + t * E[1]), 1e-10)

    h = 1e-4
    assert_allclose(np.sum(got * A_dot), np.sum(weights * (at(h) - at(-h))) / (2 * h), rtol=1e-5)


# -- matrices that are not symmetric -------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
def test_defective_matrices_warn(size):
    J = np.eye(size) + np.diag(np.ones(size - 1), 1)
    rng = np.random.default_rng(0)  # of its own: some matrices warn of equal values as well
    S = rng.standard_normal((size, size)) + 2 * np.eye(size)
    for A in [J, S @ J @ np.linalg.inv(S)]:
        for name, f in {
            "eigvals": lambda A: np.sum(np.abs(np.linalg.eigvals(A)) ** 2),
            "eig": lambda A: np.sum(np.abs(np.linalg.eig(A)[1]) ** 2),
        }.items():
            with pytest.warns(RuntimeWarning, match=rf"{name}: the eigenvectors are linearly dependent"):
                ld.grad(f)(A)
            with pytest.warns(RuntimeWarning, match=rf"{name}: .* values \d and \d are closest"):
                ld.jvp(f, (A,), (A,))
    with pytest.warns(RuntimeWarning, match=r"eigenvectors of matrix \(1,\)"):
        ld.grad(lambda A: np.sum(np.linalg.eigvals(A).real))(np.stack([np.diag(np.arange(size) + 1.0), J]))


def test_eigenvalues_of_a_matrix_with_repeated_but_independent_vectors(strict):
    S = RNG.standard_normal((3, 3)) + 2 * np.eye(3)
    A = S @ np.diag([1.0, 1.0, 2.0]) @ np.linalg.inv(S)
    got = ld.grad(lambda A: np.sum(np.linalg.eigvals(A).real ** 2))(A)
    assert_allclose(got, 2 * A.T, atol=1e-9)
    got = ld.grad(lambda A: np.sum(np.linalg.eig(A)[0].real))(np.eye(3))
    assert_allclose(got, np.eye(3))
    with pytest.warns(RuntimeWarning, match=r"eigvals: values 0 and 1"):
        ld.grad(lambda A: np.linalg.eigvals(A)[0].real)(np.eye(3))


EIGENVALUES_OF_ANY = {"eigvals": np.linalg.eigvals, "eig": lambda A: np.linalg.eig(A)[0]}


def repeated(cluster):
    if cluster == "identity":
        return 2.0 * np.eye(4)
    S = np.random.default_rng(8).standard_normal((4, 4)) + 2 * np.eye(4)
    return (
        S
        @ np.diag({"two pairs": [1.0, 1.0, 2.0, 2.0], "triple": [2.0, 2.0, 2.0, 1.0]}[cluster])
        @ np.linalg.inv(S)
    )


@pytest.mark.filterwarnings("ignore:.* and their vectors are arbitrary")
@pytest.mark.parametrize("seed", [5, 58, 70, 72, 85, 86, 148, 227])
def test_equal_eigenvalues_that_rounding_parts_by_the_condition_of_their_vectors(seed):
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((4, 4)) + 2 * np.eye(4)
    A = (S @ np.diag([1.0, 1.0, 2.0, 2.0]) @ np.linalg.inv(S)).astype(complex if seed % 2 else float)
    E, F = rng.standard_normal((2, 4, 4)).astype(A.dtype)

    def f(A):
        w = np.linalg.eigvals(A)
        return np.real(np.sum(w**3) + np.prod(w))

    B, d = np.linalg.inv(A), np.linalg.det(A)
    expected = (3 * (A @ E + E @ A) + d * (np.trace(B @ E) * B - B @ E @ B)).conj().T
    size = np.max(np.abs(expected))
    found = ld.jvp(lambda A: ld.jvp(f, (A,), (E,))[1], (A,), (F,))[1]
    assert_allclose(found, np.sum(np.real(np.conj(expected) * F)), atol=1e-8 * size)
    assert_allclose(ld.hvp(f, (A,), (E,)), expected, atol=1e-8 * size)
    assert_allclose(ld.grad(lambda A: ld.jvp(f, (A,), (E,))[1])(A), expected, atol=1e-8 * size)


@pytest.mark.filterwarnings("ignore:.* and their vectors are arbitrary")
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("cluster", ["two pairs", "triple", "identity"])
@pytest.mark.parametrize("name", EIGENVALUES_OF_ANY)
def test_symmetric_functions_of_eigenvalues_of_any_matrix_in_second_order_in_every_way(name, cluster, dtype):
    values, A = EIGENVALUES_OF_ANY[name], repeated(cluster).astype(dtype)
    E, F = (X.astype(dtype) for X in np.random.default_rng(9).standard_normal((2, 4, 4)))
    if dtype is complex:
        E, F = E + 1j * F, F - 0.5j * E

    def f(A):
        w = values(A)
        return np.real(np.sum(w**3) + np.prod(w))

    def slope(A):
        return ld.jvp(f, (A,), (E,))[1]

    def inner(X, Y):
        return np.sum(np.real(np.conj(X) * Y))

    g = ld.grad(f)
    B, d = np.linalg.inv(A), np.linalg.det(A)
    expected = (3 * (A @ E + E @ A) + d * (np.trace(B @ E) * B - B @ E @ B)).conj().T
    for got in [
        ld.hvp(f, (A,), (E,)),
        ld.jvp(g, (A,), (E,))[1],
        ld.grad(lambda A: inner(E, g(A)))(A),
        ld.grad(slope)(A),
    ]:
        assert_allclose(got, expected, atol=1e-9)
    assert_allclose(ld.jvp(slope, (A,), (F,))[1], inner(expected, F), atol=1e-9)
    assert_allclose(ld.linearize(slope, A)[1](F), inner(expected, F), atol=1e-9)
    if dtype is float:
        assert_allclose(np.tensordot(E, ld.jacobian(g, mode="reverse")(A)), expected, atol=1e-9)
        assert_allclose(np.tensordot(ld.hessian(f)(A), E), expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.* and their vectors are arbitrary")
@pytest.mark.parametrize("name", EIGENVALUES)
def test_second_derivatives_by_two_directions_at_equal_eigenvalues(name):
    """The two directions have no vectors in common."""
    A, E, F = with_eigenvalues(CLUSTERS["two pairs"]), symmetric(W), symmetric(W[::-1])

    def slope(A):
        return ld.jvp(lambda A: np.sum(EIGENVALUES[name](A) ** 3), (A,), (E,))[1]

    expected = 3 * np.trace((A @ E + E @ A) @ F)
    assert_allclose(ld.jvp(slope, (A,), (F,))[1], expected, atol=1e-9)
    assert_allclose(ld.linearize(slope, A)[1](F), expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.* and their vectors are arbitrary")
def test_several_inner_derivatives_of_eigenvalues_of_any_matrix_warn():
    A, E = np.eye(3), np.random.default_rng(9).standard_normal((3, 3))

    def f(A):
        return np.sum(np.linalg.eigvals(A).real ** 2)

    for mode in ("forward", "reverse"):
        with pytest.warns(RuntimeWarning, match=r"eigvals: values \d and \d .* approximate"):
            ld.jacobian(ld.jacobian(f, mode="forward"), mode=mode)(A)
    with pytest.warns(RuntimeWarning, match=r"eigvals: values 0 and 1"):
        ld.grad(lambda A: np.sum(E * ld.grad(lambda A: np.linalg.eigvals(A)[0].real)(A)))(A)
    with pytest.warns(RuntimeWarning, match=r"eigvals: values 0 and 1"):
        ld.grad(lambda A: ld.jvp(lambda A: np.linalg.eigvals(A)[0].real, (A,), (E,))[1])(A)


QR = {
    "Q": lambda A: np.sum(np.linalg.qr(A)[0]),
    "R": lambda A: np.sum(np.linalg.qr(A)[1]),
    "r": lambda A: np.sum(np.linalg.qr(A, mode="r")),
    "complete": lambda A: np.sum(np.linalg.qr(A, mode="complete")[1]),
}


@pytest.mark.parametrize("name", QR)
def test_columns_that_depend_on_others_have_no_qr_derivative(name, rng):
    f = QR[name]
    A = rng.standard_normal((4, 5, 3))
    ld.grad(f)(A)
    ld.grad(f)(A[0] * np.array([1e-100, 1.0, 1e100]))  # other units
    A[2, :, 1] = 3 * A[2, :, 0]
    message = (
        r"qr: column 1 of matrix \(2,\) depends on those before it to rounding: Q and R have no derivative"
    )
    with pytest.warns(RuntimeWarning, match=message):
        ld.grad(f)(A)
    with pytest.warns(RuntimeWarning, match="qr: column 1 depends"):
        ld.jvp(f, (A[2],), (A[2],))
