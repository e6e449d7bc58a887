"""The namespace ``lindiff.scipy.linalg``: SciPy's names and signatures, and what is refused."""

import inspect

import numpy as np
import pytest
import scipy.linalg

import lindiff as ld
import lindiff.scipy.linalg as sl

NAMES = """
    cholesky cho_factor cho_solve cholesky_banded cho_solve_banded solve solve_triangular solve_banded
    solveh_banded solve_toeplitz inv det pinv pinvh lstsq lu lu_factor lu_solve ldl qr rq qr_multiply
    eigh eigvalsh eig eigvals eigh_tridiagonal svd svdvals polar schur expm expm_frechet logm sqrtm sinm
    cosm tanm funm fractional_matrix_power solve_sylvester solve_continuous_lyapunov
    solve_discrete_lyapunov solve_continuous_are solve_discrete_are block_diag toeplitz circulant hankel
    khatri_rao norm
""".split()  # noqa: SIM905
ALL = sorted(sl.__all__)
REMOVED = {"turbo", "eigvals", "cond", "rcond"}  # deprecated in SciPy 1.13, and then no more


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_there(name):
    assert name in sl.__all__
    assert callable(getattr(sl, name))


@pytest.mark.parametrize("name", [name for name in ALL if hasattr(scipy.linalg, name)])
def test_signatures_are_scipys(name):
    """Everything that the installed SciPy takes is taken, by the same names and in the same order."""
    function = getattr(scipy.linalg, name)
    ours = inspect.signature(getattr(sl, name)).parameters
    theirs = inspect.signature(function).parameters
    positional = [p.name for p in theirs.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [p for p in ours if p in positional][: len(positional)] == positional
    assert set(theirs) - set(ours) <= REMOVED
    for parameter in positional:
        expected, got = theirs[parameter].default, ours[parameter].default
        # SciPy, or we for the sake of several of its versions, want to know whether it was given
        sentinel = type(expected) is object or repr(got) == "<not given>"
        general = (expected, got) == ("gen", None)  # without a name, older versions take any matrix so
        assert sentinel or general or got is expected or got == expected


def test_positional_arguments_come_in_the_installed_order():
    A = np.array([[2.0, 1.0], [0.0, 3.0]])
    positional = inspect.signature(scipy.linalg.eigvals).parameters
    options = [name == "homogeneous_eigvals" for name in positional][2:]
    expected = scipy.linalg.eigvals(A, None, *options)
    np.testing.assert_array_equal(sl.eigvals(A, None, *options), expected)
    np.testing.assert_array_equal(ld.value(sl.eigvals(ld.Variable(A), None, *options)), expected)


@pytest.mark.parametrize("name", ALL)
def test_documented(name):
    doc = inspect.getdoc(getattr(sl, name))
    assert doc is not None
    assert "Examples" in doc


def test_the_rest_of_scipy_is_there_for_plain_arrays():
    np.testing.assert_array_equal(sl.hadamard(4), scipy.linalg.hadamard(4))
    assert sl.LinAlgError is np.linalg.LinAlgError
    with pytest.raises(AttributeError):
        sl.no_such_function  # noqa: B018


@pytest.mark.parametrize(("name", "says"), [("hessenberg", "schur"), ("qz", "eig")])
def test_what_has_no_derivative_says_why(name, says):
    function = getattr(sl, name)
    A = np.array([[2.0, 1.0], [0.0, 3.0]])
    arguments = 2 if name == "qz" else 1
    function(*[A] * arguments)
    with pytest.raises(TypeError, match=rf"scipy.linalg.{name} has no derivative in lindiff.*{says}"):
        ld.vjp(lambda A: function(*[A] * arguments), A)
