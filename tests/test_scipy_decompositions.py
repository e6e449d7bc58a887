"""Facts special to factorizations of ``lindiff.scipy.linalg``: errors, gauge, exchanges."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from table_operators import in_one_triangle

import lindiff as ld
from lindiff.scipy.linalg.decompositions import cholesky, ldl, lu
from lindiff.scipy.linalg.eigen import eig
from lindiff.scipy.linalg.qr_factorization import qr, qr_multiply, rq
from lindiff.scipy.linalg.schur_form import schur
from lindiff.scipy.linalg.singular_values import null_space, orth, polar, svd, svdvals
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)

CALLS = [
    (cholesky, {}),
    (cholesky, {"lower": True}),
    (lu, {}),
    (lu, {"permute_l": True}),
    (lu, {"p_indices": True}),
    (ldl, {}),
    (ldl, {"lower": False, "hermitian": False}),
    (qr, {}),
    (qr, {"mode": "r"}),
    (qr, {"mode": "economic", "pivoting": True}),
    (rq, {}),
    (rq, {"mode": "economic"}),
    (svd, {}),
    (svd, {"full_matrices": False, "lapack_driver": "gesvd"}),
    (svdvals, {}),
    (polar, {"side": "left"}),
    (schur, {}),
    (schur, {"output": "complex", "sort": "lhp"}),
    (orth, {}),
    (null_space, {"rcond": 0.1}),
]


def positive(n):
    X = RNG.standard_normal((n, n))
    return X @ X.T + np.eye(n)


@pytest.mark.parametrize(("function", "options"), CALLS)
def test_plain_arrays_give_what_scipy_gives(function, options):
    original = getattr(scipy.linalg, function.__name__)
    A = positive(3)
    for a in [A, A.astype(np.float32), A + 0j, A.tolist()]:
        got, expected = function(a, **options), original(a, **options)
        if not isinstance(expected, tuple):
            got, expected = (got,), (expected,)
        assert isinstance(got, tuple)
        for x, y in zip(got, expected, strict=True):
            assert_array_equal(x, y)
            assert np.result_type(x) == np.result_type(y)
    assert function.__doc__.splitlines()[0].endswith(f"like ``scipy.linalg.{function.__name__}``.")


@pytest.mark.parametrize(("function", "options"), [c for c in CALLS if c[0] is not null_space])
def test_variables_give_what_scipy_gives(function, options):
    A = positive(3)
    got = ld.vjp(lambda a: function(a, **options), A)[0]
    expected = function(A, **options)
    for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
        assert_allclose(x, y, atol=1e-12)


def test_batches_of_plain_arrays_are_loops():
    A = np.stack([positive(3) for _ in range(4)]).reshape(2, 2, 3, 3)
    P, L, U = lu(A)
    assert_allclose(P @ L @ U, A, atol=1e-12)
    for x, y in zip(lu(A[1, 0]), (P[1, 0], L[1, 0], U[1, 0]), strict=True):
        assert_array_equal(x, y)
    assert cholesky(np.empty((0, 3, 3))).shape == (0, 3, 3)
    c, R = qr_multiply(A, np.ones((2, 3)))
    assert_allclose(c @ R, np.ones((2, 3)) @ A, atol=1e-12)


def test_arrays_by_keyword():
    A = positive(2)
    assert_array_equal(cholesky(a=A, lower=True), cholesky(A, True))
    assert_allclose(ld.grad(lambda A: np.sum(cholesky(a=A)))(A), ld.grad(lambda A: np.sum(cholesky(A)))(A))


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [cholesky, ldl, schur])
def test_square(function):
    with pytest.raises(ValueError, match=r"square"):
        function(np.ones((2, 3)))
    with pytest.raises(ValueError, match=rf"{function.__name__}: .* must be square .* \(2, 3\)"):
        function(ld.Variable(np.ones((2, 3))))


@pytest.mark.parametrize("function", [cholesky, ldl, lu, null_space, qr, rq, schur, svd, svdvals])
def test_finite(function):
    A = np.array([[1.0, np.nan], [np.nan, 1.0]])
    for a in [A, ld.Variable(A)]:
        with pytest.raises(ValueError, match=r"infs or NaNs"):
            function(a)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: qr(a, mode="reduced"), r"qr: mode must be"),
        (lambda a: rq(a, mode="raw"), r"rq: mode must be"),
        (lambda a: qr_multiply(a, np.ones(2), mode="both"), r"qr_multiply: mode must be"),
        (lambda a: qr_multiply(a, np.ones(3)), r"a of shape \(2, 2\) and c of shape \(3,\)"),
        (lambda a: svd(a, lapack_driver="gesv"), r"lapack_driver must be"),
        (lambda a: polar(a, side="top"), r"polar: side must be"),
        (lambda a: schur(a, output="imaginary"), r"real.*complex"),
        (lambda a: schur(a, sort="up"), r"sort"),
    ],
)
def test_unknown_options(call, message):
    with pytest.raises(ValueError, match=message):
        call(ld.Variable(np.eye(2)))


def test_not_positive_definite_names_the_matrix():
    A = np.stack([np.eye(2), -np.eye(2)])
    for a in [A, ld.Variable(A)]:
        with pytest.raises(np.linalg.LinAlgError, match=r"1"):
            cholesky(a)


def test_raw_qr_has_no_derivative():
    assert len(qr(np.eye(2), mode="raw")) == 2
    with pytest.raises(TypeError, match=r"mode='raw'.*use mode='economic'"):
        qr(ld.Variable(np.eye(2)), mode="raw")


def test_singular_matrices():
    A = np.ones((2, 2))
    for function in [lu, ldl]:
        y, pullback = ld.vjp(lambda a: function(a)[:2], A)  # noqa: B023
        with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
            pullback(tuple(np.ones_like(part) for part in y))
    d_bar = ld.grad(lambda a: ldl(a)[1][0, 0])(A)  # D alone needs no inverse
    assert_array_equal(d_bar, [[1.0, 0.0], [0.0, 0.0]])


# -- triangles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lower", [True, False])
def test_only_the_named_triangle_is_read(lower):
    A = positive(3)
    half = np.where(np.tri(3) if lower else np.tri(3).T, A, 7.0)
    nan = np.where(np.tri(3) if lower else np.tri(3).T, A, np.nan)
    for f in [
        lambda a, **o: cholesky(a, lower=lower, **o),
        lambda a, **o: ldl(a, lower=lower, **o)[0],
    ]:
        expected = ld.grad(lambda a: np.sum(np.sin(f(a))))(A)  # noqa: B023
        assert_allclose(expected, expected.T)
        expected = in_one_triangle(expected, lower)
        assert_allclose(ld.grad(lambda a: np.sum(np.sin(f(a))))(half), expected)  # noqa: B023
    expected = in_one_triangle(ld.grad(lambda a: np.sum(cholesky(a, lower=lower)))(A), lower)
    assert_allclose(ld.grad(lambda a: np.sum(cholesky(a, lower=lower, check_finite=False)))(nan), expected)


def test_ldl_of_a_batch_with_different_blocks():
    A = np.array([[[4.0, 1.0], [1.0, 3.0]], [[0.1, 2.0], [2.0, 0.2]]])
    assert ldl(A)[1][0, 1, 0] == 0 != ldl(A)[1][1, 1, 0]
    check_grads(lambda a: ldl(a + np.swapaxes(a, -1, -2))[:2], (A / 2,))


# -- gauge ---------------------------------------------------------------------------------------------------


def test_full_q_warns_where_the_choice_of_columns_matters():
    A = RNG.standard_normal((4, 2))
    y, pullback = ld.vjp(lambda a: qr(a)[0], A)
    with pytest.warns(RuntimeWarning, match=r"qr: .*choice of a basis of the complement"):
        pullback(RNG.standard_normal(y.shape))
    Q_bar = np.zeros_like(y)
    Q_bar[:, :2] = 1.0
    economic = ld.vjp(lambda a: qr(a, mode="economic")[0], A)[1](Q_bar[:, :2])[0]
    assert_allclose(pullback(Q_bar)[0], economic)


@pytest.mark.parametrize(("function", "space"), [(orth, "range"), (null_space, "null space")])
def test_bases_warn_where_their_choice_matters(function, space):
    A = RNG.standard_normal((3, 1)) * np.ones((1, 3)) + np.diag([1.0, 0.0, 0.0])
    y, pullback = ld.vjp(lambda a: function(a, 1e-8), A)
    assert y.ndim == 2
    if y.shape[-1] == 1:
        pullback(y)
        return
    with pytest.warns(RuntimeWarning, match=rf"{function.__name__}: .*choice of a basis of the {space}"):
        pullback(RNG.standard_normal(y.shape))


def test_null_space_of_full_rank_is_empty():
    assert ld.vjp(null_space, np.eye(2))[0].shape == (2, 0)
    assert_array_equal(ld.vjp(null_space, np.eye(2))[1](np.zeros((2, 0)))[0], np.zeros((2, 2)))


def test_complex_schur_warns_where_phases_matter():
    A = RNG.standard_normal((3, 3)) + np.diag([0.0, 5.0, 10.0])
    y, pullback = ld.vjp(lambda a: schur(a, output="complex")[1], A)
    with pytest.warns(RuntimeWarning, match=r"schur: .*phase of vector"):
        pullback(1j * y)


# -- repeated values -----------------------------------------------------------------------------------------


def test_polar_does_not_mind_equal_singular_values():
    Q = scipy.linalg.qr(RNG.standard_normal((4, 3)), mode="economic")[0]
    for side in ["left", "right"]:
        check_grads(lambda a: polar(a, side=side), (2 * Q,))  # noqa: B023
        check_grads(lambda a: polar(a, side=side), (np.eye(3),))  # noqa: B023


def test_polar_of_a_singular_matrix_warns():
    y, pullback = ld.vjp(lambda a: polar(a)[0], np.diag([1.0, 0.0]) + 0j)
    with pytest.warns(RuntimeWarning, match=r"polar"):
        pullback(1j * np.eye(2))
    assert y.shape == (2, 2)


def test_schur_with_repeated_eigenvalues_is_exact_where_differentiable():
    """The sum of squares of ``T = Zᵀ A Z`` is that of A."""
    A = np.eye(3) + np.diag([0.0, 0.0, 2.0])
    gradient = ld.grad(lambda a: np.sum(schur(a)[0] ** 2))(A)
    assert_allclose(gradient, 2 * A, atol=1e-14)


def test_schur_with_repeated_eigenvalues_warns():
    with pytest.warns(RuntimeWarning, match=r"schur: values 0 and 1 \(1 and 1\) are equal"):
        ld.jvp(lambda a: schur(a)[0], [np.eye(2)], [np.array([[1.0, 0.0], [1.0, 2.0]])])


def test_real_schur_of_a_normal_block_points_to_the_complex_form():
    A = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match=r"rows 0 and 1 is normal.*output='complex'"):
        ld.grad(lambda a: np.sum(schur(a)[0] ** 2))(A)
    check_grads(lambda a: np.abs(schur(a, output="complex")[0]) ** 2, (A + np.diag([0.0, 0.1]),), rtol=1e-6)


def test_the_number_of_sorted_eigenvalues_is_plain():
    T, Z, sdim = ld.vjp(lambda a: schur(a, sort="lhp"), np.diag([1.0, -1.0, -2.0]))[0]
    assert sdim == 2
    assert T.shape == Z.shape == (3, 3)


# -- exchanges -----------------------------------------------------------------------------------------------


def test_pivots_are_plain_and_constant():
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    v = ld.Variable(A)
    p = lu(v, p_indices=True)[0]
    order = qr(v, mode="r", pivoting=True)[1]
    perm = ldl(v)[2]
    for x, expected in [(p, [1, 0]), (order, [1, 0]), (perm, ldl(A)[2])]:
        assert type(x) is np.ndarray
        assert_array_equal(x, expected)


def test_third_order():
    x = np.diag([3.0, 2.0, 1.0]) + 0.1 * RNG.standard_normal((3, 3))
    for f in [lu, polar, lambda a: ldl(a + a.T)[:2], lambda a: schur(a)[0] ** 2]:
        check_grads(lambda a: f(a)[-1], (x,), order=3, rtol=1e-5)  # noqa: B023


@pytest.mark.parametrize(
    ("function", "arrays", "says"),
    [
        (lu, (np.zeros((3, 3)),), "lu: .* no derivative"),
        (qr, (np.zeros((3, 2)),), "qr: .* full rank"),
        (polar, (np.zeros((3, 2)),), "polar: .* no derivative"),
        (eig, (np.eye(2), np.zeros((2, 2))), "eig: .* no derivative"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")  # of infinite eigenvalues
def test_derivatives_at_singular_matrices_name_the_function(function, arrays, says):
    y, pullback = ld.vjp(function, *arrays)
    with pytest.raises(np.linalg.LinAlgError, match=says):
        pullback(tuple(np.ones_like(part) for part in y))
    with pytest.raises(np.linalg.LinAlgError, match=says):
        ld.jvp(function, arrays, tuple(np.ones_like(a) for a in arrays))


def test_product_with_a_number_is_refused():
    with pytest.raises(ValueError, match="qr_multiply: c must be a vector or a matrix"):
        qr_multiply(ld.Variable(np.eye(2)), 2.0)


@pytest.mark.parametrize("function", [orth, null_space])
def test_batches_of_different_ranks_are_refused(function):
    a = np.stack([np.eye(2), np.diag([1.0, 0.0])])
    for x in (a, ld.Variable(a)):
        with pytest.raises(ValueError, match="results of one shape"):
            function(x)
