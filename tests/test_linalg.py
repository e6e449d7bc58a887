"""What is special about single functions of ``numpy.linalg``; the rest is in ``table_linalg.py``."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
import lindiff.scipy.linalg as scipy_linalg
from lindiff.core.registry import handled_functions
from lindiff.linalg._matrices import adjoint
from lindiff.rules.linalg import rules
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)


def spd(n, *batch):
    X = RNG.standard_normal((*batch, n, n))
    return X @ np.swapaxes(X, -1, -2) + n * np.eye(n)


def of_rank(rank, m, n):
    return RNG.standard_normal((m, rank)) @ RNG.standard_normal((rank, n))


# -- Cholesky, solve, inverse ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 40])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_has_a_symmetric_gradient(n, upper):
    weights = RNG.standard_normal((n, n))
    got = ld.grad(lambda A: np.sum(weights * np.linalg.cholesky(A, upper=upper)))(spd(n))
    assert_array_equal(got, got.T)


@pytest.mark.parametrize("n", [2, 40])
def test_cholesky_and_solve_fail_with_words(n):
    with pytest.raises(np.linalg.LinAlgError, match=r"minor"):
        ld.grad(lambda A: np.sum(np.linalg.cholesky(A)))(-np.eye(n))
    with pytest.raises(np.linalg.LinAlgError, match=r"batch index.*2"):
        ld.grad(lambda A: np.sum(np.linalg.cholesky(A)))(np.stack([np.eye(n), np.eye(n), -np.eye(n)]))
    for singular in [np.ones((n, n)), np.diag(np.arange(n) * 1.0)]:
        with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
            ld.grad(lambda A: np.sum(np.linalg.solve(A, np.ones(n))))(singular)
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        ld.grad(lambda A: np.sum(np.linalg.inv(A)))(np.zeros((n, n)))


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("triangle", [np.tril, np.triu])
def test_solve_with_a_triangle_has_a_full_gradient(n, triangle):
    A = triangle(RNG.standard_normal((n, n))) / n + 2 * np.eye(n)
    b = RNG.standard_normal(n)
    x = np.linalg.solve(A, b)
    got = ld.grad(lambda A: np.sum(np.linalg.solve(A, b)))(A)
    assert_allclose(got, -np.outer(np.linalg.solve(A.T, np.ones(n)), x), rtol=1e-10)
    check_grads(np.linalg.solve, (A, b))


def triangular_twin(operator, rightside=False, **options):
    call = functools.partial(operator, rightside=rightside, **options)
    return call, call, lambda n: (spd(n), RNG.standard_normal((3, n) if rightside else (n, 3)))


def upper_cholesky(A):
    return np.linalg.cholesky(A, upper=True)


TWINS = {
    "cholesky": (np.linalg.cholesky, np.linalg.cholesky, lambda n: (spd(n),)),
    "upper": (upper_cholesky, upper_cholesky, lambda n: (spd(n),)),
    "solve": (
        np.linalg.solve,
        rules.solve,
        lambda n: (RNG.standard_normal((n, n)) + n * np.eye(n), np.ones(n)),
    ),
    "solve matrix": (np.linalg.solve, rules.solve, lambda n: (spd(n), RNG.standard_normal((n, 3)))),
    "solve lower": (np.linalg.solve, rules.solve, lambda n: (np.linalg.cholesky(spd(n)), np.ones((n, 1)))),
    "solve upper": (np.linalg.solve, rules.solve, lambda n: (np.linalg.cholesky(spd(n)).T, np.ones((n, 1)))),
    **{
        f"{operator.__name__} {options}": triangular_twin(operator, **options)
        for operator in [ld.linalg.trmm, ld.linalg.trsm]
        for options in [
            {},
            {"transpose": True, "alpha": -2.0},
            {"transpose": "C", "rightside": True, "alpha": 2},
            {"rightside": True, "lower": False},
            {"transpose": True, "rightside": True, "lower": False},
        ]
    },
    "solve columns 0": (np.linalg.solve, rules.solve, lambda n: (spd(n), np.ones((n, 0)))),
}


@pytest.mark.parametrize("case", TWINS)
@pytest.mark.parametrize("n", [1, 2, 4, 9, 32, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_compiled_twin_gives_what_the_readable_rule_gives(case, n, dtype):
    function, readable, make = TWINS[case]
    args = [a.astype(dtype) for a in make(n)]
    tolerance = {"rtol": 1e-10, "atol": 1e-10} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-3}
    y, pullback = ld.vjp(function, *args)
    y_bar = RNG.standard_normal(y.shape).astype(dtype)
    batched = [a[None] for a in args] if np.ndim(args[-1]) > 1 else None
    if batched is None:
        batched = [args[0][None], args[1][None, :, None]]
        shape = (1, n, 1)
    else:
        shape = (1, *y.shape)
    Y, readable_pullback = ld.vjp(readable, *batched)  # batches never take the twin
    assert_allclose(y, np.reshape(Y, y.shape), **tolerance)
    for got, expected in zip(pullback(y_bar), readable_pullback(np.reshape(y_bar, shape)), strict=True):
        assert got.dtype == dtype
        assert_allclose(got, np.reshape(expected, got.shape), **tolerance)


def test_the_compiled_twins_accumulate_and_leave_cotangents_alone():
    """A filter's use: the same matrix in several operations, cotangents that the caller keeps."""
    A, b = spd(4), RNG.standard_normal((4, 2))

    def f(A, b):
        A = (A + A.T) / 2
        L = np.linalg.cholesky(A)
        x = np.linalg.solve(A, b) + np.linalg.solve(A.T, b) + np.linalg.solve(L, b)
        x = x + ld.linalg.trsm(L, b, transpose=True) + ld.linalg.trmm(L, b) + ld.linalg.trmm(L, x, alpha=2.0)
        return x, L

    check_grads(f, (A, b))
    (x, L), pullback = ld.vjp(f, A, b)
    x_bar, L_bar = np.ones_like(x), np.ones_like(L)
    first = pullback((x_bar, L_bar))
    assert_array_equal(x_bar, np.ones_like(x))
    assert_array_equal(L_bar, np.ones_like(L))
    for one, other in zip(first, pullback((x_bar, L_bar)), strict=True):
        assert_array_equal(one, other)


def test_bad_shapes():
    for function in [np.linalg.cholesky, np.linalg.inv, np.linalg.det, np.linalg.slogdet]:
        with pytest.raises(np.linalg.LinAlgError, match=r"square"):
            function(ld.Variable(np.ones((2, 3))))
    for b in [np.ones(3), np.ones((3, 2))]:
        with pytest.raises(ValueError, match=r"solve: a of shape \(2, 2\) and b of shape"):
            np.linalg.solve(ld.Variable(np.eye(2)), b)


def test_lists_as_constant_arguments():
    A = [[2.0, 0.0], [1.0, 3.0]]
    assert_allclose(ld.grad(lambda b: np.sum(np.linalg.solve(A, b)))(np.ones(2)), [1 / 3, 1 / 3])
    assert ld.grad(lambda A: np.sum(np.linalg.solve(A, [1, 2])))(np.eye(2)).shape == (2, 2)
    assert ld.grad(lambda A: np.sum(np.linalg.lstsq(A, [1, 2])[0]))(np.eye(2)).shape == (2, 2)


def test_mixed_arguments_of_solve():
    A, b = spd(3), np.arange(3)
    assert_allclose(ld.grad(lambda A: np.sum(np.linalg.solve(A, b)))(A).shape, (3, 3))
    got = ld.vjp(lambda A: np.linalg.solve(A, np.ones(3, np.float32)), A)[0]
    assert got.dtype == np.float64
    assert (
        ld.vjp(lambda b: np.linalg.solve(A + 1j, b), np.ones(3))[1](np.ones(3, complex))[0].dtype
        == np.float64
    )


# -- determinants ----------------------------------------------------------------------------------------


def cofactor_by_minors(A):
    n = len(A)
    minors = [[np.delete(np.delete(A, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array([[(-1) ** (i + j) * np.linalg.det(minors[i][j]) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize(("n", "rank"), [(1, 0), (2, 1), (3, 2), (4, 3), (4, 2), (3, 0), (5, 5)])
def test_det_is_right_for_singular_matrices(n, rank):
    A = of_rank(rank, n, n) if rank else np.zeros((n, n))
    expected = cofactor_by_minors(A) if n > 1 else np.ones((1, 1))
    assert_allclose(ld.grad(np.linalg.det)(A), expected, atol=1e-12)
    check_grads(np.linalg.det, (A,))


def test_det_of_a_singular_complex_matrix():
    A = of_rank(2, 3, 3) + 1j * np.outer([1.0, 2.0, 0.0], [0.0, 1.0, 1.0])
    A[2] = A[0] + 1j * A[1]
    check_grads(np.linalg.det, (A,))


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_third_derivatives_of_det_at_any_rank(rank):
    check_grads(np.linalg.det, (of_rank(rank, 4, 4),), order=3, rtol=1e-6)


def test_det_of_triangles_and_batches():
    A = np.stack([np.diag([1.0, 0.0, 2.0]), np.eye(3)])
    expected = np.stack([np.diag([0.0, 2.0, 0.0]), np.eye(3)])
    assert_allclose(ld.grad(lambda A: np.sum(np.linalg.det(A)))(A), expected, atol=1e-14)


def test_slogdet():
    result = ld.vjp(np.linalg.slogdet, np.diag([2.0, -3.0]))[0]
    assert isinstance(result, type(np.linalg.slogdet(np.eye(2))))
    assert result.sign == -1
    sign, logabsdet = ld.vjp(np.linalg.slogdet, np.zeros((2, 2)))[0]
    assert (sign, logabsdet) == (0, -np.inf)
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        ld.grad(lambda A: np.linalg.slogdet(A)[1])(np.zeros((2, 2)))


# -- repeated eigenvalues and singular values, rank, gauge -----------------------------------------------


def test_eigh_with_repeated_eigenvalues_is_exact_where_differentiable():
    Q, _ = np.linalg.qr(RNG.standard_normal((4, 4)))
    A = (Q * np.array([1.0, 1.0, 1.0, 3.0])) @ Q.T
    A = (A + A.T) / 2

    def square(A):
        w, V = np.linalg.eigh(A)
        return np.sum((V * w**2) @ V.T * np.arange(16.0).reshape(4, 4))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(ld.grad(lambda A: np.sum(np.linalg.eigvalsh(A) ** 2))(A), 2 * A, atol=1e-12)
        assert_allclose(ld.grad(lambda A: np.sum(np.linalg.eigh(A)[0] ** 2))(A), 2 * A, atol=1e-12)
        commuting = ld.grad(lambda A: np.trace((lambda w, V: (V * w**2) @ V.T)(*np.linalg.eigh(A)) @ A))(A)
    assert_allclose(commuting, 3 * A @ A, atol=1e-11)
    with pytest.warns(RuntimeWarning, match=r"eigh: values 0 and . .* or on how they part"):
        assert np.all(np.isfinite(ld.grad(square)(A)))


def test_eigh_has_a_symmetric_gradient_and_reads_one_triangle():
    A = spd(3)
    for UPLO in ["L", "U"]:
        got = ld.grad(lambda A: np.sum(np.linalg.eigh(A, UPLO)[1] ** 3))(A)  # noqa: B023
        assert_array_equal(got, got.T)
        got = ld.grad(lambda A: np.sum(np.linalg.eigvalsh(A, UPLO=UPLO) ** 3))(A)  # noqa: B023
        assert_allclose(got, got.T)


def test_warnings_name_the_pair():
    with pytest.warns(RuntimeWarning, match=r"eigh: values 0 and 1 \(1 and 1\) are equal"):
        ld.grad(lambda A: np.linalg.eigh(A)[1][0, 1])(np.diag([1.0, 1.0, 2.0]))
    with pytest.warns(RuntimeWarning, match=r"svd: values 1 and 2 \(1 and 1\) are equal"):
        ld.grad(lambda A: np.linalg.svd(A)[0][1:, 2].sum())(np.diag([2.0, 1.0, 1.0]))
    with pytest.warns(RuntimeWarning, match=r"svd: value 1 \(0\) is zero"):
        ld.grad(lambda A: np.linalg.svd(A, full_matrices=False)[0][1:, 1].sum())(
            np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        )
    with pytest.warns(RuntimeWarning, match=r"null space.*gauge"):
        ld.grad(lambda A: np.linalg.svd(A)[0][2, 3])(np.eye(4, 2) + 0.1 * RNG.standard_normal((4, 2)))
    with pytest.warns(RuntimeWarning, match=r"phase of vector 0.*gauge"):
        ld.grad(lambda A: np.sum(np.imag(np.linalg.eigh(A)[1][:, 0])))(np.array([[2.0, 1j], [-1j, 3.0]]))


def test_svd_with_repeated_and_zero_singular_values_is_exact_where_differentiable():
    Q, _ = np.linalg.qr(RNG.standard_normal((4, 4)))
    P, _ = np.linalg.qr(RNG.standard_normal((3, 3)))
    W = RNG.standard_normal((4, 3))

    def rebuilt(A):
        U, s, Vh = np.linalg.svd(A, full_matrices=False)
        return np.sum(W * ((U * s) @ Vh))

    for s in [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]:
        A = (Q[:, :3] * s) @ P
        assert_allclose(ld.grad(lambda A: np.sum(np.linalg.svdvals(A) ** 2))(A), 2 * A, atol=1e-12)
        assert_allclose(ld.grad(lambda A: np.sum(np.linalg.svd(A)[1] ** 2))(A), 2 * A, atol=1e-12)
    assert_allclose(ld.grad(rebuilt)((Q[:, :3] * [3.0, 2.0, 1.0]) @ P), W, atol=1e-12)
    for s, words in [
        ([2.0, 2.0, 1.0], "values 0 and 1"),
        ([2.0, 1.0, 0.0], "value 2"),
        ([1.0, 0.0, 0.0], "1"),
    ]:
        with pytest.warns(RuntimeWarning, match=words):
            ld.grad(rebuilt)((Q[:, :3] * s) @ P)


def test_singular_values_of_zero():
    assert_array_equal(ld.grad(lambda A: np.linalg.norm(A, "nuc"))(np.zeros((3, 2))), np.zeros((3, 2)))
    A = np.outer([3.0, 4.0], [1.0, 0.0])
    assert_allclose(ld.grad(lambda A: np.linalg.norm(A, "nuc"))(A), A / 5, atol=1e-15)


def test_qr_refuses_what_is_not_determined():
    A = RNG.standard_normal((4, 2))
    with pytest.warns(RuntimeWarning, match=r"qr: .*null space.*gauge"):
        ld.grad(lambda A: np.linalg.qr(A, "complete")[0][2, 3])(A)
    with pytest.raises(TypeError, match=r"mode='raw'.*use mode='reduced'"):
        np.linalg.qr(ld.Variable(A), "raw")
    with pytest.raises(ValueError, match="mode"):
        np.linalg.qr(ld.Variable(A), "nonsense")


def test_qr_knows_numpys_old_names_of_modes():
    A = RNG.standard_normal((3, 2))
    with pytest.warns(DeprecationWarning, match="full"):
        got = ld.grad(lambda A: np.sum(np.linalg.qr(A, "full")[1]))(A)
    assert_array_equal(got, ld.grad(lambda A: np.sum(np.linalg.qr(A)[1]))(A))
    with pytest.warns(DeprecationWarning, match="economic"), pytest.raises(TypeError, match="economic"):
        np.linalg.qr(ld.Variable(A), "economic")


def test_named_results():
    A = spd(3)
    assert ld.vjp(np.linalg.eigh, A)[0].eigenvalues.shape == (3,)
    assert ld.vjp(np.linalg.svd, A)[0].Vh.shape == (3, 3)
    assert ld.vjp(np.linalg.qr, A)[0].R.shape == (3, 3)


# -- as NumPy does it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (2, 2, 3)])
def test_svd_has_the_signs_that_numpy_chose(shape, full_matrices):
    A = RNG.standard_normal(shape)
    expected = np.linalg.svd(A, full_matrices)
    for got, part in zip(np.linalg.svd(ld.Variable(A), full_matrices), expected, strict=True):
        assert_allclose(ld.value(got), part, rtol=1e-13, atol=1e-15)  # rounding is not the same twice


def test_cond_of_singular_matrices():
    A = np.stack([np.diag([1.0, 2.0]), np.diag([1.0, 0.0]), np.zeros((2, 2))])
    for p in [None, 1, 2, -2, "fro"]:
        assert_array_equal(ld.value(np.linalg.cond(ld.Variable(A), p)), np.linalg.cond(A, p))
        with pytest.raises(np.linalg.LinAlgError, match=r"cond: infinite.*singular"):
            ld.grad(lambda A: np.sum(np.linalg.cond(A, p)))(A)  # noqa: B023
    inf = np.array([[np.inf, 1.0], [1.0, 2.0]])
    assert ld.value(np.linalg.cond(ld.Variable(inf))) == np.linalg.cond(inf)
    with pytest.raises(np.linalg.LinAlgError, match="empty"):
        np.linalg.cond(ld.Variable(np.zeros((0, 0))), "fro")


def test_hermitian_pinv_reads_the_lower_triangle():
    A = spd(3)
    B = np.tril(A) + np.triu(RNG.standard_normal((3, 3)), 1)
    assert_allclose(ld.value(np.linalg.pinv(ld.Variable(B), hermitian=True)), np.linalg.inv(A), rtol=1e-9)
    got = ld.grad(lambda A: np.sum(np.linalg.pinv(A, hermitian=True) ** 2))(B)
    expected = ld.grad(lambda A: np.sum(np.linalg.inv(A) ** 2))(A)
    assert_allclose(got, np.tril(expected) + np.tril(expected, -1), rtol=1e-9)  # B has nothing opposite


def test_pinv_cuts_where_numpy_does():
    A = np.diag([1.0, 1e-5, 1e-15]).astype(np.float32)
    for options in [{}, {"rtol": None}, {"rtol": 1e-3}, {"rcond": 1e-4}]:
        expected = np.linalg.pinv(A, **options)
        assert_allclose(ld.value(np.linalg.pinv(ld.Variable(A), **options)), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda A: np.linalg.qr(A[0]),
        lambda A: np.linalg.svd(A[0]),
        lambda A: np.linalg.pinv(A[0]),
        lambda A: np.linalg.cond(A[0]),
        lambda A: np.linalg.cholesky(A[0]),
        lambda A: np.linalg.multi_dot([A, np.stack([A, A]), A]),
        lambda A: np.linalg.tensorinv(np.reshape(A, (9, 1)), 1),
    ],
)
def test_shapes_that_do_not_fit_are_linear_algebra_errors(call):
    A = spd(3)
    with pytest.raises(np.linalg.LinAlgError):
        call(A)
    with pytest.raises(np.linalg.LinAlgError, match=r"shape|axes"):
        call(ld.Variable(A))


def test_matrix_power_takes_whole_numbers():
    for a in [spd(2), ld.Variable(spd(2))]:
        with pytest.raises(TypeError):
            np.linalg.matrix_power(a, 1.5)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cholesky", lambda A: np.linalg.cholesky(-A)),
        ("solve", lambda A: np.linalg.solve(A, np.ones(2))),
        ("solve", lambda A: np.linalg.solve(np.tril(A), np.ones(2))),
        ("inv", np.linalg.inv),
        ("slogdet", lambda A: np.linalg.slogdet(A)[1]),
        ("qr", lambda A: np.linalg.qr(A)[0]),
        ("qr", lambda A: np.linalg.qr(A, "r")),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_errors_name_the_function_that_was_called(name, call, dtype):
    A = np.array([[0.0, 0.0], [0.0, 2.0]], dtype)
    for x in (A, np.stack([np.eye(2, dtype=dtype), A])):
        with pytest.raises(np.linalg.LinAlgError, match=rf"^(np\.linalg\.)?{name}: "):
            ld.grad(lambda A: np.sum(np.real(call(A))))(x)


@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_nan_goes_through_det(hole):
    A = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 2.0, hole])])
    A_bar = ld.grad(lambda A: np.sum(np.linalg.det(A)))(A)
    np.testing.assert_array_equal(A_bar[0], np.diag([6.0, 3.0, 2.0]))
    assert np.isnan(A_bar[1]).any()


@pytest.mark.parametrize("mode", ["reduced", "r"])
def test_qr_without_full_rank_names_qr(mode):
    A = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])

    def f(A):
        return np.linalg.qr(A, mode=mode) if mode == "r" else np.linalg.qr(A)[1]

    with pytest.raises(np.linalg.LinAlgError, match=r"np\.linalg\.qr"):
        ld.vjp(f, A)[1](np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match=r"np\.linalg\.qr"):
        ld.jvp(f, (A,), (np.ones((3, 2)),))


def test_tensorsolve_takes_lists_beside_variables():
    a, b = 2 * np.eye(2), [1.0, 2.0]
    np.testing.assert_allclose(ld.grad(lambda a: np.sum(np.linalg.tensorsolve(a, b)))(a), [[-0.25, -0.5]] * 2)
    solution = ld.grad(lambda b: np.sum(np.linalg.tensorsolve(a.tolist(), b)))(np.array(b))
    np.testing.assert_allclose(solution, [0.5, 0.5])


def test_nan_goes_through_cholesky_as_in_numpy():
    A = np.array([[np.nan, 0.0], [0.0, 1.0]])
    try:
        expected = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.cholesky(ld.Variable(A))
    else:
        assert_array_equal(ld.value(np.linalg.cholesky(ld.Variable(A))), expected)


# -- norms -----------------------------------------------------------------------------------------------


def test_norm_at_zero_has_gradient_zero():
    for order in [None, 1, 2, 3, 0.5, np.inf]:
        assert_array_equal(ld.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3)), np.zeros(3))  # noqa: B023
        assert_array_equal(ld.jvp(lambda x: np.linalg.norm(x, order), (np.zeros(3),), (np.ones(3),))[1], 0)  # noqa: B023
    for order in [None, "fro", "nuc", 1, 2, np.inf]:
        got = ld.grad(lambda x: np.linalg.norm(x, order))(np.zeros((2, 2)))  # noqa: B023
        assert_array_equal(got, np.zeros((2, 2)))


def test_ties_in_norms_are_shared():
    assert_allclose(ld.grad(lambda x: np.linalg.norm(x, np.inf))(np.array([2.0, -2.0, 1.0])), [0.5, -0.5, 0])


def test_largest_singular_values_share_the_gradient_of_norm_2():
    Q, _ = np.linalg.qr(RNG.standard_normal((3, 3)))
    A = (Q * [2.0, 2.0, 1.0]) @ Q.T
    got = ld.grad(lambda A: np.linalg.norm(A, 2))(A)
    assert_allclose(got, (Q * [0.5, 0.5, 0.0]) @ Q.T, atol=1e-12)
    got = ld.grad(lambda A: np.linalg.norm(A, -2))(A)
    assert_allclose(got, np.outer(Q[:, 2], Q[:, 2]), atol=1e-12)


def test_norms_of_nothing():
    for order in [None, "fro", "nuc", 1, 2, np.inf]:
        for shape in [(0, 3), (3, 0), (0, 0)]:
            y, pullback = ld.vjp(lambda x: np.linalg.norm(x, order), np.zeros(shape))  # noqa: B023
            assert y == 0
            assert pullback(1.0)[0].shape == shape


def test_norm_of_order_0_counts():
    x = np.array([0.0, 2.0, 3.0])
    y, pullback = ld.vjp(lambda x: np.linalg.norm(x, 0), x)
    assert y == 2
    assert_array_equal(pullback(1.0)[0], np.zeros(3))


def test_errors_of_norm():
    for x, options in [
        (np.ones((2, 2, 2)), {"ord": 2}),
        (np.ones(3), {"ord": "fro"}),
        (np.ones((2, 2)), {"ord": 3}),
        (np.ones((2, 2)), {"ord": "x"}),
        (np.ones((2, 2)), {"axis": (0, 0)}),
    ]:
        with pytest.raises(ValueError, match=r"[Ii]nvalid|Improper|Duplicate"):
            np.linalg.norm(x, **options)
        with pytest.raises(ValueError, match=r"[Ii]nvalid|Improper|Duplicate"):
            np.linalg.norm(ld.Variable(x), **options)
    for x, options in [
        (np.ones(3), {"axis": 1}),
        (np.ones((2, 2)), {"axis": (0, 2)}),
        (np.ones(()), {"axis": 0}),
    ]:
        with pytest.raises(np.exceptions.AxisError):
            np.linalg.norm(ld.Variable(x), **options, keepdims=True)


# -- least squares ---------------------------------------------------------------------------------------


def test_lstsq_gives_what_numpy_gives():
    for a, b in [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((3, 3), (3, 2))]:
        a, b = RNG.standard_normal(a), RNG.standard_normal(b)
        expected = np.linalg.lstsq(a, b)
        got = np.linalg.lstsq(ld.Variable(a), ld.Variable(b))
        for one, other in zip(got, expected, strict=True):
            assert_allclose(ld.value(one), other)
        assert not isinstance(got[2], ld.Variable)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_lstsq_decomposes_once_for_both_directions(rank, monkeypatch):
    a, b = of_rank(rank, 5, 3), RNG.standard_normal((5, 2))
    _, lin = ld.linearize(lambda a, b: np.linalg.lstsq(a, b, 1e-10)[0], a, b)
    calls = []
    svd = np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda *args, **options: calls.append(1) or svd(*args, **options))
    for _ in range(2):
        x_dot = lin(a @ np.ones((3, 3)), b)
        a_bar, b_bar = lin.T(np.ones((3, 2)))
        assert_allclose(np.sum(a_bar * (a @ np.ones((3, 3)))) + np.sum(b_bar * b), np.sum(x_dot), rtol=1e-9)
    assert len(calls) == 1


def test_lstsq_in_single_precision_has_numpys_rank():
    a = np.array([[1.0, 1.0], [0.0, 1e-8], [0.0, 0.0]], np.float32)
    b = np.array([1.0, 1e-8, 0.0], np.float32)
    assert np.linalg.lstsq(a, b)[2] == 2
    got = ld.jvp(lambda b: np.linalg.lstsq(a, b)[0], (b,), (b,))[1]
    assert_allclose(got, np.linalg.lstsq(a, b)[0], rtol=1e-4, atol=1e-4)


def test_pinv_refuses_both_cutoffs():
    with pytest.raises(ValueError, match="can't be both"):
        np.linalg.pinv(ld.Variable(np.eye(2)), 1e-3, rtol=1e-3)


# -- all -------------------------------------------------------------------------------------------------


def test_every_function_of_numpy_linalg_is_handled():
    names = [name for name in np.linalg.__all__ if name != "LinAlgError"]
    missing = [name for name in names if getattr(np.linalg, name) not in handled_functions()]
    assert not missing


def test_second_order_of_a_gaussian_likelihood():
    x, y = np.linspace(0, 1, 6), RNG.standard_normal(6)

    def f(theta):
        K = np.exp(theta[0]) * np.exp(-((x[:, None] - x) ** 2) / 2) + np.exp(theta[1]) * np.eye(6)
        L = np.linalg.cholesky(K)
        return np.sum(np.linalg.solve(L, y) ** 2) + np.sum(np.log(np.diagonal(L)))

    check_grads(f, (np.array([0.1, -0.5]),))
    assert_allclose(adjoint(np.eye(2)), np.eye(2))


# -- what LAPACK would search for forever, and names of errors -----------------------------------------------

OF_FINITE = {
    "svd": lambda A: np.linalg.svd(A)[0],
    "svd (values)": lambda A: np.linalg.svd(A, compute_uv=False),
    "svd (hermitian)": lambda A: np.linalg.svd(A, hermitian=True)[1],
    "svdvals": np.linalg.svdvals,
    "norm": lambda A: np.linalg.norm(A, 2, axis=(-2, -1)),
    "norm (nuclear)": lambda A: np.linalg.norm(A, "nuc", axis=(-2, -1)),
    "pinv": np.linalg.pinv,
    "pinv (hermitian)": lambda A: np.linalg.pinv(A, hermitian=True),
    "eigh": lambda A: np.linalg.eigh(A)[1],
    "eigvalsh": np.linalg.eigvalsh,
}


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("name", OF_FINITE)
def test_matrices_that_are_not_finite_raise_at_once(name, bad, n, dtype):
    A = np.stack([np.eye(n), np.eye(n) + 1.0, np.eye(n)]).astype(dtype)
    A[1, 1, 0] = bad
    called = {"svd (hermitian)": "eigh"}.get(name, name.split()[0])
    for X, where in [(A, r" \(batch index \(1,\)\)"), (A[1], "$")]:
        for transform in (ld.grad, lambda f: ld.grad(lambda A: np.sum(ld.grad(f)(A).real))):
            message = rf"np.linalg.{called}: the matrix holds NaN or infinity{where}"
            with pytest.raises(np.linalg.LinAlgError, match=message):
                transform(lambda A: np.sum(np.abs(OF_FINITE[name](A))))(X)


def test_least_squares_and_condition_numbers_of_what_is_not_finite():
    A = np.array([[np.inf, 1.0], [1.0, 2.0]])
    with pytest.raises(np.linalg.LinAlgError, match=r"np.linalg.lstsq: the matrix holds NaN or infinity"):
        ld.grad(lambda A: np.sum(np.linalg.lstsq(A, np.ones(2), rcond=None)[0]))(A)
    for p in (None, 2, -2):
        with pytest.raises(np.linalg.LinAlgError, match=r"np.linalg.cond: infinite"):
            ld.grad(lambda A: np.linalg.cond(A, p))(A)  # noqa: B023
    with pytest.raises(np.linalg.LinAlgError, match=r"np.linalg.cond: "):
        ld.grad(np.linalg.cond)(np.full((2, 2), np.nan))
    with pytest.raises(np.linalg.LinAlgError, match=r"np.linalg.eig: "):
        ld.grad(lambda A: np.sum(np.abs(np.linalg.eig(A)[0])))(A)


def test_a_triangle_that_is_not_read_need_not_be_finite():
    A = spd(3)
    B = np.where(np.tri(3), A, np.nan)
    for f in (np.linalg.eigvalsh, lambda A: np.linalg.eigh(A)[0]):
        slope = ld.grad(lambda A: np.sum(f(A) ** 2))(B)  # noqa: B023
        assert_allclose(slope, 2 * (np.tril(A) + np.tril(A, -1)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        (np.float64, [1e110, 1e-110, 1e150, 1e-150, 1e38, 1e-38]),
        (np.float32, [1e14, 1e-13, 2e4, 5e-5]),
        (complex, [1e110, 1e-110]),
    ],
)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_derivatives_of_pinv_neither_overflow_nor_vanish(shape, dtype, sizes):
    A, W, A_dot = (RNG.standard_normal(shape).astype(dtype) for _ in range(3))
    W = np.swapaxes(W, -1, -2)

    def f(A):
        return np.sum((W * np.linalg.pinv(A)).real)

    single = np.dtype(dtype).itemsize == 4
    slope, change = ld.grad(f)(A), ld.jvp(np.linalg.pinv, (A,), (A_dot,))[1]
    for size in sizes:
        c = np.exp2(np.round(np.log2(size))).astype(dtype)
        rtol = 1e-3 if single else 1e-9
        assert_allclose(ld.grad(f)(c * A) * c * c, slope, rtol=rtol, atol=rtol)
        got = ld.jvp(np.linalg.pinv, (c * A,), (A_dot,))[1]
        assert_allclose(got * c * c, change, rtol=rtol, atol=rtol)
    assert np.isfinite(ld.grad(f)(np.zeros_like(A))).all()


def test_errors_name_what_was_called():
    indefinite, singular = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])
    triangle, b = np.array([[1.0, 0.0], [2.0, 0.0]]), np.ones(2)
    calls = [
        ("gp_logpdf", lambda A: ld.linalg.gp_logpdf(b, A), indefinite),
        ("mvn_logpdf", lambda A: ld.linalg.mvn_logpdf(b, None, A), indefinite),
        ("cho_factor", lambda A: ld.linalg.cho_factor(A).logdet(), indefinite),
        ("eigh_factor", lambda A: ld.linalg.eigh_factor(A).logdet(), np.nan * singular),
        ("LUFactor.solve", lambda A: ld.linalg.lu_factor(A).solve(b), singular),
        ("LUFactor.solve", lambda A: ld.linalg.lu_factor(A).solve(b), triangle),
        ("LUFactor.inv", lambda A: ld.linalg.lu_factor(A).inv(), triangle),
        ("LUFactor.diag_inv", lambda A: ld.linalg.lu_factor(A).diag_inv(), singular),
        ("cholesky", scipy_linalg.cholesky, indefinite),
        ("cho_factor", lambda A: scipy_linalg.cho_factor(A)[0], indefinite),
        ("cho_solve", lambda A: scipy_linalg.cho_solve((A, True), b), triangle),
        ("lu_solve", lambda A: scipy_linalg.lu_solve((A, np.arange(2)), b), triangle),
        ("solve", lambda A: scipy_linalg.solve(A, b, assume_a="pos"), indefinite),
        ("solve_triangular", lambda A: scipy_linalg.solve_triangular(A, b, lower=True), triangle),
        ("eigh", lambda A: scipy_linalg.eigh(np.eye(2), A)[0], indefinite),
    ]
    for name, f, A in calls:
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
            ld.grad(lambda A: np.sum(f(A)))(A)  # noqa: B023
    for name, f, A in calls[:8]:
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: "):
            f(A)


@pytest.mark.parametrize("p", [None, "fro", 1, -2, np.inf])
@pytest.mark.parametrize(
    ("dtype", "scale"), [(float, 1e110), (float, 1e-110), (np.float32, 1e14), (np.float32, 1e-14)]
)
def test_second_derivatives_of_cond_of_large_and_small_matrices(p, dtype, scale):
    rng = np.random.default_rng(3)
    A, E = rng.standard_normal((2, 2, 3, 3)).astype(dtype)
    A, scale = np.stack([A[0], A[1] * dtype(0.1)]), dtype(scale)
    f = lambda A: np.sum(np.linalg.cond(A, p))
    expected = ld.hvp(f, (A,), (E,))
    tolerance = {"rtol": 1e-3 if dtype is np.float32 else 1e-9}
    for got in [
        ld.hvp(f, (A * scale,), (E * scale,)),
        ld.grad(lambda A: np.sum(ld.grad(f)(A) * (E * scale)))(A * scale),
        ld.grad(lambda A: ld.jvp(f, (A,), (E * scale,))[1])(A * scale),
    ]:
        assert_allclose(got * scale, expected, **tolerance)
