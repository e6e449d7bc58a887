"""Gradients of the sweep by the parts of transition and state_cov that move, beside those by all of them."""

import functools

import numpy as np
import pytest

import lindiff as ld
from lindiff import statespace
from lindiff.core.moving import moving
from lindiff.kernels.kalman import Collapse, Sweep, Wanted
from lindiff.statespace.sweep import parts
from lindiff.testing import check_grads

RNG = np.random.default_rng(5)
Y = np.cumsum(RNG.standard_normal(60))


@pytest.fixture(autouse=True)
def looks(monkeypatch):
    """It looks for the parts of small models, too."""
    monkeypatch.setattr(parts, "WORTH_A_LOOK", 0)


def by_all(function, *args):
    """The gradient without a look for parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lindiff.statespace.sweep.likelihood.parts_of", lambda A, Q, steps: parts.ALL)
        return ld.grad(function)(*args)


def seasonal(x):
    return statespace.sarima(
        x[:2], x[2:3], np.exp(x[3]), difference=1, period=4, seasonal_ar=x[4:5], seasonal_difference=1
    )


def autoregressive(x):
    ar = x[:1] * np.array([1, 0.5, 0.25, 0, 0, 0.1, 0.1])
    return statespace.arma(ar, x[1:3], np.exp(x[3]), np.exp(x[4]))


def with_waves(x):
    cycle = statespace.cycle(6 + x[0], np.exp(x[2]), np.exp(x[3]), damping=0.8 + x[1])
    return cycle + statespace.seasonal(12, np.exp(x[4]))


def in_time(x):
    """Rows of a transition that changes at each step."""
    n, steps = 6, len(Y)
    moved = np.reshape(np.sin(np.arange(steps)), (steps, 1)) * x[:1] + 0.1 * np.ones((1, n))
    A = np.concatenate([moved[:, None], np.broadcast_to(0.5 * np.eye(5, 6), (steps, 5, 6))], axis=1)
    Q = np.concatenate([np.exp(x[1]) * np.eye(1, n), 0.2 * np.eye(5, n, 1)])
    return A, np.ones((1, n)), Q + Q.T, np.exp(x[2:3])[:, None], np.zeros(n), np.eye(n)


POINT = np.array([0.3, 0.1, 0.2, -0.3, 0.2])


@pytest.mark.parametrize("build", [seasonal, autoregressive, with_waves, in_time], ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{}, {"checkpoint": True}, {"steady_tol": 0.0}], ids=str)
@pytest.mark.parametrize("gaps", [False, True])
def test_gradient(build, options, gaps):
    y = np.where(np.arange(len(Y)) % 7 == 5, np.nan, Y) if gaps else Y

    def f(x):
        return statespace.loglikelihood(y, *build(x), **options)

    np.testing.assert_allclose(ld.grad(f)(POINT), by_all(f, POINT), rtol=1e-9, atol=1e-9)
    check_grads(f, (POINT,), modes=("rev",), order=1)


@pytest.mark.parametrize(
    ("build", "of_A", "of_Q"),
    [(seasonal, (1, 1), 1), (autoregressive, (1, 1), 3), (with_waves, (0, 2), 3), (in_time, (0, 1), 1)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_found(build, of_A, of_Q):
    def f(x):
        A, _, Q = build(x)[:3]
        found.extend(parts.parts_of(A, Q, len(Y)))
        return np.sum(A) + np.sum(Q)

    found: list[Wanted] = []
    ld.grad(f)(POINT)
    assert (found[0].axis, len(found[0].places)) == of_A
    assert (found[1].axis, len(found[1].places)) == (None, of_Q)


def test_second_order():
    def f(x):
        return statespace.loglikelihood(Y[:30], *seasonal(x))

    check_grads(f, (POINT,), order=2)
    check_grads(f, (np.zeros(5),), order=2)  # where products in the transition have no derivatives


def test_programs_where_others_move():
    """A program made where an entry has no derivative is right where it has one."""

    def f(x):
        still = 0.5 * np.eye(6)
        A = np.concatenate([still[:, :3], still[:, 3:4] + x[0] * x[1], still[:, 4:]], axis=1)
        return statespace.loglikelihood(Y, A, np.ones((1, 6)), np.eye(6), np.eye(1), np.zeros(6), np.eye(6))

    gradient = ld.program(ld.grad(f))
    for x in (*3 * [np.zeros(2)], np.array([0.3, 0.2]), np.array([0.0, 0.2]), np.zeros(2)):
        np.testing.assert_allclose(gradient(x), by_all(f, x), rtol=1e-9, atol=1e-12)


def test_rules_of_the_users():
    """A rule whose pushforward is not that of its pullback, as there are on purpose: its pullback counts."""

    @ld.rule
    def straight_through(x):
        return np.round(x, 1), ld.Differential(lambda dot: 0 * dot, lambda bar: bar)

    def f(x):
        return statespace.loglikelihood(Y, *autoregressive(straight_through(x)))

    expected = by_all(f, POINT)
    assert np.all(expected != 0)
    np.testing.assert_allclose(ld.grad(f)(POINT), expected, rtol=1e-9)


def test_rules_that_pass_for_numpys():
    """One entry that is large beside the others does not hide another one whose derivatives differ."""

    @ld.rule
    @functools.wraps(np.round)
    def rounded(x):
        return np.round(x, 1), ld.Differential(lambda dot: 0 * dot, lambda bar: bar)

    def f(x):
        one = np.eye(6)
        A = 0.5 * np.eye(6, k=1) + 1e6 * x[0] * np.outer(one[0], one[0])
        A = A + rounded(x[1]) * np.outer(one[1], one[1])
        return statespace.loglikelihood(Y, A, np.ones((1, 6)), one, np.eye(1), np.zeros(6), one)

    x = np.array([3e-7, 0.23])
    assert by_all(f, x)[1] != 0
    np.testing.assert_allclose(ld.grad(f)(x), by_all(f, x), rtol=1e-9)


def test_likelihoods_that_run_again():
    def f(x):
        return statespace.loglikelihood(Y, *seasonal(x))

    np.testing.assert_allclose(ld.grad(ld.checkpoint(f))(POINT), ld.grad(f)(POINT), rtol=1e-12)


def test_inside_of_other_derivatives():
    """Of what is differentiated on the way to the likelihood, of steps that run again, and by hand."""

    def f(x):
        inner = ld.grad(lambda z: statespace.loglikelihood(Y[:20], *autoregressive(z)))(x)
        model = ld.checkpoint(lambda z: tuple(autoregressive(z)[:7]))(x + 1e-4 * inner)
        return statespace.loglikelihood(Y, *model)

    np.testing.assert_allclose(ld.grad(f)(POINT), by_all(f, POINT), rtol=1e-9)
    x = ld.Variable(POINT)
    statespace.loglikelihood(Y, *autoregressive(x)).backward()
    expected = by_all(lambda x: statespace.loglikelihood(Y, *autoregressive(x)), POINT)
    np.testing.assert_allclose(x.grad, expected, rtol=1e-9)


def test_many_series():
    """With parameters of their own, and shared."""
    y = np.stack([Y, Y[::-1], np.where(np.arange(60) % 9 == 4, np.nan, Y)])[..., None]

    def shared(x):
        return np.sum(statespace.loglikelihood(y, *seasonal(x)))

    def own(x):
        A, B, Q, R, m, P = autoregressive(x)[:6]
        A = np.stack([A, 0.5 * A, A])[:, None]
        return np.sum(statespace.loglikelihood(y, A, B, Q, R[:, None] * np.eye(1), m, P))

    for f in (shared, own):
        np.testing.assert_allclose(ld.grad(f)(POINT), by_all(f, POINT), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("dtype", "diffuse"), [(np.float64, 0), (np.float64, 3), (np.complex128, 0), (np.float32, 0)]
)
@pytest.mark.parametrize("places", [[], [2], [7, 0], [1, 2, 5, 6]])
def test_sweep(p, sparse, dtype, diffuse, places):
    """The kernel, beside all of its gradient: what is wanted is the same, the rest zero."""
    n, T = 9, 40
    rng = np.random.default_rng(n)
    A = 0.3 * np.eye(n) + np.diag(np.full(n - 1, 0.5), 1) if sparse else 0.2 * rng.standard_normal((n, n))
    B, Q, R = rng.standard_normal((p, n)), np.diag(rng.random(n)), np.diag(1 + rng.random(p))
    y, m, P = rng.standard_normal((T, p, 1)), rng.standard_normal((n, 1)), np.eye(n)
    at = np.array(places, np.intp)
    given = [np.ascontiguousarray(x, dtype) for x in (y, A, B, Q, R, m, P)]
    if diffuse:
        y, A, B, Q, R, m, P = given
        sweep = Collapse(y[..., 0], A, B, Q, R, m[:, 0], P, np.arange(diffuse), None, False, 1e-14, True)
        pull = lambda *wanted: sweep.pull(-0.5, (True, *wanted))
    else:
        swept = Sweep(*given)
        bars = -0.5 * np.ones(1), np.empty((1, 0)), -0.5
        pull = lambda *wanted: swept.pull(*bars, (True, *wanted, False))[0]
    whole = pull(*6 * [True])
    for axis in (0, 1):
        some = pull(Wanted(axis, at), True, Wanted(None, at), True, True, True)
        kept = np.zeros((n, n), bool)
        kept[(at,) if axis == 0 else (slice(None), at)] = True
        both = np.zeros((n, n), bool)
        both[np.ix_(at, at)] = True
        expected = *whole[:1], whole[1] * kept, whole[2], whole[3] * both, *whole[4:7]
        for found, wanted in zip(some, expected, strict=False):
            if wanted is not None:
                tolerance = 1e-4 if dtype is np.float32 else 1e-11
                np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_moving():
    x = np.array([0.0, 2.0])

    def f(x):
        found.append(moving(np.stack([x[0] * x[1], x[1] ** 2, 3.0 + 0 * x[0], np.prod(x)]), 100))
        found.append(moving(x, 100))
        return x[0]

    found: list[np.ndarray | None] = []
    ld.grad(f)(x)
    assert found[0].tolist() == [True, True, False, True]
    assert found[1] is None
    ld.jvp(lambda x: (found.append(moving(2 * x, 100)), x)[1], (x,), (x,))
    assert found[2] is None
