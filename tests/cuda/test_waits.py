"""How often the host waits for the device: once for each operator that can fail, once for a gradient."""

import sys
from types import ModuleType

import numpy as np
import pytest
from kernels.helpers import general, spd
from standin.array import Device

import lindiff as ld
import lindiff.scipy.linalg as sl
from lindiff import linalg

total, LA = np.sum, np.linalg


def waits(function, *args):
    before = Device.synchronizations
    function(*args)
    return Device.synchronizations - before


@pytest.fixture(params=[5, 40], ids=str)
def arrays(request, standin, rng):
    """Positive definite matrices and right-hand sides, in orders of fused kernels and of libraries."""
    n = request.param
    return standin.asarray(spd(rng, (2,), n)), standin.asarray(general(rng, (2, n, 3)))


# ---- operators on plain arrays --------------------------------------------------------------------------

OPERATORS = {
    "getrf": lambda k, A, B: ((A,), 0),
    "getrs": lambda k, A, B: ((*k.getrf(A), B), 1),
    "getri": lambda k, A, B: (k.getrf(A), 1),
    "inverse": lambda k, A, B: ((A,), 1),
    "det": lambda k, A, B: ((A,), 0),
    "slogdet": lambda k, A, B: ((A,), 0),
    "slogdet_pullback": lambda k, A, B: ((*k.getrf(A), A[:, 0, 0]), 1),
    "potrf": lambda k, A, B: ((A,), 1),
    "potrf_pullback": lambda k, A, B: ((k.potrf(A), A), 1),
    "potrf_pushforward": lambda k, A, B: ((k.potrf(A), A), 1),
    "potri": lambda k, A, B: ((k.potrf(A),), 1),
    "potri_pullback": lambda k, A, B: ((k.potrf(A), A, A), 1),
    "trsm": lambda k, A, B: ((A, B), 1),
    "trsm_pullback": lambda k, A, B: ((A, B, B), 1),
    "trmm_pullback": lambda k, A, B: ((A, B, B), 0),
    "gelqf": lambda k, A, B: ((A,), 0),
    "gelqf_pullback": lambda k, A, B: ((*k.gelqf(A), A, None), 1),
    "syevd": lambda k, A, B: ((A,), 1),
    "syevd_pullback": lambda k, A, B: ((*k.syevd(A), A, None), 0),
    "gesdd": lambda k, A, B: ((A,), 1),
    "expm": lambda k, A, B: ((A,), 1),
    "expm_pullback": lambda k, A, B: ((*k.expm_keeping(A), A), 1),
    "expm_pushforward": lambda k, A, B: ((*k.expm_keeping(A), A), 1),
    "log_density": lambda k, A, B: ((A, B.swapaxes(1, 2)), 1),
    "log_density_pullback": lambda k, A, B: ((k.potrf(A), B.swapaxes(1, 2), B[:, 0]), 1),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_of_operators(arrays, name):
    import lindiff_cuda

    args, expected = OPERATORS[name](lindiff_cuda, *arrays)
    assert waits(getattr(lindiff_cuda, name), *args) == expected


@pytest.mark.parametrize("name", ["getrs", "getri", "slogdet_pullback"])
@pytest.mark.parametrize("index", [-1, 99])
def test_an_index_out_of_range_is_named(arrays, name, index):
    import lindiff_cuda

    (LU, piv, *rest), _ = OPERATORS[name](lindiff_cuda, *arrays)
    piv[1, 2] = index
    with pytest.raises(ValueError, match=rf"{name}: piv holds the index {index}, out of range for order"):
        getattr(lindiff_cuda, name)(LU, piv, *rest)


@pytest.mark.parametrize(("place", "bad"), [(0, -1), (0, 99), (-2, 6), (-1, -1), (-1, 99)])
def test_what_expm_has_not_kept(arrays, place, bad):
    import lindiff_cuda

    E, kept, piv = lindiff_cuda.expm_keeping(arrays[0])
    piv[1, place] = bad
    with pytest.raises(
        ValueError, match="expm_pullback: E, kept and piv are not what expm_keeping has given"
    ):
        lindiff_cuda.expm_pullback(E, kept, piv, arrays[0])


# ---- gradients ------------------------------------------------------------------------------------------


def of_svd(A, B):
    U, s, _ = LA.svd(A, full_matrices=False)
    return total(U * A) + total(s)


def of_cho_factor(A, B):
    F = linalg.cho_factor(A)
    return total(F.quad(B)) + total(F.solve(B)) + total(F.logdet()) + total(F.diag_inv())


def of_lu_factor(A, B):
    F = linalg.lu_factor(A)
    return total(F.solve(B)) + total(F.logdet()) + total(F.inv())


def likelihood(A, B):
    L = LA.cholesky(A)
    return 0.5 * total(LA.solve(L, B) ** 2) + total(np.log(np.diagonal(L, axis1=-2, axis2=-1)))


# The gradient and the tangent of each wait once.
GRADIENTS = {
    "solve": lambda A, B: total(LA.solve(A, B) ** 2),
    "inv": lambda A, B: total(LA.inv(A) ** 2),
    "slogdet": lambda A, B: total(LA.slogdet(A)[1] ** 2),
    "det": lambda A, B: total(LA.det(A)),
    "cholesky": lambda A, B: total(LA.cholesky(A) ** 2),
    "solve, cholesky": lambda A, B: total(LA.solve(LA.cholesky(A), B) ** 2),
    "solve, upper cholesky": lambda A, B: total(LA.solve(LA.cholesky(A, upper=True), B) ** 2),
    "trsm, potrf": lambda A, B: total(linalg.trsm(linalg.potrf(A), B) ** 2),
    "potri, potrf": lambda A, B: total(linalg.potri(linalg.potrf(A)) * A),
    "trsm twice": lambda A, B: total(linalg.trsm(A, linalg.trsm(A, B), transpose=True)),
    "expm": lambda A, B: total(linalg.expm(A / 40.0) * A),
    "gp_logpdf": lambda A, B: total(linalg.gp_logpdf(B, A)),
    "mvn_logpdf": lambda A, B: total(linalg.mvn_logpdf(np.swapaxes(B, 1, 2)[0], None, A[0])),
    "cho_factor": of_cho_factor,
    "lu_factor": of_lu_factor,
    "likelihood": likelihood,
    "gelqf": lambda A, B: total(linalg.gelqf(A)[0] * A),
    "eigvalsh": lambda A, B: total(LA.eigvalsh(A) ** 2),
    "eigh": lambda A, B: total(LA.eigh(A)[1] * A),
}
# What warns of equal values looks for them, besides for a failure.
LOOKING = {"syevd": (lambda A, B: total(linalg.syevd(A)[0] * A), 2), "svd": (of_svd, 3)}


@pytest.mark.parametrize("name", GRADIENTS)
def test_of_gradients(arrays, name):
    A, B = arrays
    f = GRADIENTS[name]
    assert waits(ld.grad(f), A, B) == 1
    assert waits(lambda: ld.jvp(lambda A: f(A, B), (A,), (A,))) == 1


@pytest.mark.parametrize("name", LOOKING)
def test_of_gradients_that_look_for_equal_values(arrays, name):
    f, expected = LOOKING[name]
    assert waits(ld.grad(f), *arrays) == expected


@pytest.mark.parametrize("name", ["solve", "inv", "slogdet", "det", "likelihood", "cho_factor", "gp_logpdf"])
def test_of_products_with_hessians(arrays, name):
    A, B = arrays
    assert waits(lambda: ld.hvp(lambda A: GRADIENTS[name](A, B), (A,), (A,))) == 1


# SciPy's functions look for NaN beforehand, at each argument, unless they are told not to.
OF_SCIPY = {
    "solve": lambda A, B, **finite: sl.solve(A, B, **finite),
    "solve, positive": lambda A, B, **finite: sl.solve(A, B, assume_a="pos", **finite),
    "solve_triangular": lambda A, B, **finite: sl.solve_triangular(A, B, **finite),
    "cho_solve": lambda A, B, **finite: sl.cho_solve(sl.cho_factor(A, **finite), B, **finite),
    "inv": lambda A, B, **finite: sl.inv(A, **finite),
}


@pytest.mark.parametrize("name", OF_SCIPY)
def test_of_gradients_of_scipy(arrays, name):
    A, B = (x[0] for x in arrays)
    assert waits(ld.grad(lambda A: total(OF_SCIPY[name](A, B, check_finite=False))), A) == 1
    assert waits(ld.grad(lambda A: total(OF_SCIPY[name](A, B))), A) > 1


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_numpy(arrays, name):
    host = [x.get() for x in arrays]
    f = GRADIENTS[name]
    np.testing.assert_allclose(ld.grad(f)(*arrays).get(), ld.grad(f)(*host), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["solve", "slogdet", "likelihood", "trsm, potrf", "lu_factor", "gp_logpdf"])
def test_nothing_waits_unchecked(arrays, name):
    import lindiff_cuda

    with lindiff_cuda.unchecked():
        assert waits(ld.grad(GRADIENTS[name]), *arrays) == 0


# ---- what is known of a matrix ends with its numbers ------------------------------------------------------


@pytest.fixture
def factored(standin, monkeypatch):
    """What LU has been called on."""
    import lindiff_cuda

    calls, getrf = [], lindiff_cuda.getrf
    monkeypatch.setattr(lindiff_cuda, "getrf", lambda A: calls.append(A) or getrf(A))
    return calls


def test_a_cholesky_factor_is_not_factored(arrays, factored):
    for name in ("solve, cholesky", "solve, upper cholesky", "likelihood"):
        ld.grad(GRADIENTS[name])(*arrays)
    assert not factored


def by_both_triangles(A, B):
    L = LA.cholesky(A)
    return total(LA.solve(np.swapaxes(L, -1, -2), LA.solve(L, B)) ** 2)


def by_both_triangles_of_one(A, B):
    R = LA.cholesky(A[1], upper=True)
    return total(LA.solve(R, LA.solve(R.T, B[1])) ** 2)


@pytest.mark.parametrize("f", [by_both_triangles, by_both_triangles_of_one])
def test_a_transposed_cholesky_factor_is_not_factored(arrays, factored, f):
    """Nor waited for once more."""
    host = [x.get() for x in arrays]
    assert waits(ld.grad(f), *arrays) == 1
    got = ld.grad(f)(*arrays).get()
    assert not factored
    np.testing.assert_allclose(got, ld.grad(f)(*host), rtol=1e-8, atol=1e-10)
    product, expected = (ld.hvp(lambda A, B=B: f(A, B), (A,), (A,)) for A, B in (arrays, host))
    np.testing.assert_allclose(product.get(), expected, rtol=1e-7, atol=1e-9)


def test_a_transpose_of_what_was_written_to_is_factored(arrays, factored):
    def f(A, B):
        L = LA.cholesky(A)
        R = np.swapaxes(L, -1, -2)
        x = LA.solve(R, B)
        L[..., 0, -1] = 3.0
        return total(LA.solve(R, x) ** 2)

    got = ld.grad(f)(*arrays).get()
    assert len(factored) == 1
    np.testing.assert_allclose(got, ld.grad(f)(*(x.get() for x in arrays)), rtol=1e-8, atol=1e-10)


def write_by_index(L):
    L[..., 0, -1] = 3.0


def write_to_a_view(L):
    np.swapaxes(L, -1, -2)[..., -1, 0] = 3.0


def write_to_a_view_of_one(L):
    row = L[1][0]
    row[-1] = 3.0


def write_as_out(L):
    np.add(L, 1.0, out=L)


@pytest.mark.parametrize("write", [write_by_index, write_to_a_view, write_to_a_view_of_one, write_as_out])
@pytest.mark.parametrize("used", [False, True])
def test_a_cholesky_factor_that_was_written_to_is_factored(arrays, factored, write, used):
    def f(A, B):
        L = LA.cholesky(A)
        x = LA.solve(L, B) if used else B
        write(L)
        return total(LA.solve(L, x) ** 2)

    got = ld.grad(f)(*arrays).get()
    assert len(factored) == 1
    np.testing.assert_allclose(got, ld.grad(f)(*(x.get() for x in arrays)), rtol=1e-8, atol=1e-10)


def test_a_zero_that_was_written_is_found(arrays):
    def f(A, B):
        L = linalg.potrf(A)
        L[..., 1, 1] = 0.0
        return total(linalg.trsm(L, B))

    with pytest.raises(LA.LinAlgError, match="trsm: singular matrix, entry 1 of the diagonal is zero"):
        ld.grad(f)(*arrays)


def test_a_regular_matrix_may_be_no_regular_triangle(standin):
    """And the other way round."""
    A, ones = standin.asarray([[0.0, 1.0], [1.0, 0.0]]), standin.asarray(np.ones((2, 2)))
    with pytest.raises(LA.LinAlgError, match="trsm: singular matrix, entry 0 of the diagonal is zero"):
        ld.grad(lambda A: total(LA.solve(A, ones)) + total(linalg.trsm(A, ones)))(A)
    with pytest.raises(LA.LinAlgError, match=r"np.linalg.solve: singular matrix"):
        ld.grad(lambda A: total(linalg.trsm(A, ones)) + total(LA.solve(A, ones)))(ones)


@pytest.mark.parametrize("name", ["solve", "inv", "slogdet", "lu_factor"])
def test_singular_matrices_still_raise(standin, name):
    A, B = standin.asarray(np.ones((2, 3, 3))), standin.asarray(np.ones((2, 3, 1)))
    with pytest.raises(LA.LinAlgError, match="singular matrix"):
        ld.grad(GRADIENTS[name])(A, B)


def test_what_was_not_looked_at_is_not_known(standin):
    """A solve within `unchecked` says nothing of the next one outside."""
    import lindiff_cuda

    def f(A):
        F = linalg.lu_factor(A)
        with lindiff_cuda.unchecked():
            x = F.solve(np.ones_like(A))
        return total(x) + total(F.solve(np.ones_like(A)))

    with pytest.raises(LA.LinAlgError, match="singular matrix"):
        ld.grad(f)(standin.asarray(np.ones((3, 3))))


def test_while_another_thread_imports_the_package(monkeypatch, rng):
    """Arrays of NumPy need nothing of it."""
    for name in ("lindiff_cuda", "lindiff_cuda.checks"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    A, B = spd(rng, (2,), 3), general(rng, (2, 3, 1))
    for name in ("solve, cholesky", "trsm, potrf", "cho_factor"):
        assert np.isfinite(ld.grad(GRADIENTS[name])(A, B)).all()
