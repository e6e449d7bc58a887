"""``vmap`` in blocks: many elements at once give what a loop over them gives."""

import threading

import numpy as np
import pytest

import lindiff as ld
from lindiff.programs import blocks, many
from lindiff.programs.prepared import matrix_product
from lindiff.programs.together import together

COUNT = 37  # some blocks of 4, and a rest
FIRST, SECOND = np.array([0, 2]), np.array([1, 1])
VECTOR, MATRIX = np.linspace(-1.0, 1.0, 5), np.cos(np.arange(15.0)).reshape(3, 5)


@pytest.fixture(params=[4, 16], autouse=True)
def elements_of_a_block(request, monkeypatch):
    monkeypatch.setattr(blocks, "MOST_ELEMENTS", request.param)


def elements(rng, dtype=np.float64, count=COUNT):
    """A vector of five numbers, a matrix of three rows, and a number, for each element."""
    x, A, k = (rng.standard_normal((count, *shape)) for shape in [(5,), (3, 5), ()])
    if np.dtype(dtype).kind == "c":
        return (x + 1j * x[:, ::-1]).astype(dtype), (A + 1j * A[:, :, ::-1]).astype(dtype), k.astype(dtype)
    return x.astype(dtype), A.astype(dtype), k.astype(dtype)


def loop(f, *args, axes=None):
    axes = [0] * len(args) if axes is None else axes
    count = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
    results = [
        f(*[x if axis is None else np.moveaxis(x, axis, 0)[i] for x, axis in zip(args, axes, strict=True)])
        for i in range(count)
    ]
    if isinstance(results[0], tuple):
        return tuple(np.stack(parts) for parts in zip(*results, strict=True))
    return np.stack(results)


def assert_equal(got, expected, exactly=True):
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_equal(one, other, exactly)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if exactly:
        np.testing.assert_array_equal(got, expected)
    else:
        eps = np.finfo(got.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=200 * eps, atol=100 * eps * np.abs(expected).max())


def written(x, A, k):
    y = x + 0.0 * k
    y[1] = k
    y[2:4] += A[0, :2]
    y[2:] *= 2.0
    return y


def written_in_turn(x, A, k):
    total = np.zeros_like(x)
    for row in A:
        total += row * k
        total[0] = total[-1]
    return total, total.sum()


def gathered(x, A, k):
    places = np.argsort(VECTOR)[::-1]
    y = np.zeros_like(A)
    y[FIRST, SECOND] = x[FIRST]
    np.add.at(y, (SECOND - 1, SECOND), x[:2])
    return x[places], y, A[:, 1] * 1.0, A.ravel()[3:8] + k


def at_a_place(x, A, k):
    i = np.minimum(np.sum(x > 0), 4)
    y = x * 1.0
    y[i] = k
    y[-i - 1] += x[i]
    return x[i] * 1.0, y, A[:, 0][np.minimum(i, 2)] + k


def of_what_is_the_same(x, A, k):
    shared = np.exp(A) + 1.0
    shared = shared * shared.sum()
    return x * shared, shared[1], MATRIX @ np.sin(A[0]), k + shared[0, 2], x + np.arange(5.0)


def same_and_then_not(x, A, k):
    y = x * 2.0
    first = y[0] + k
    y += 1.0  # after it has been read
    z = np.zeros_like(x)
    z[1] = k
    return first, y, z


def products(x, A, k):
    return MATRIX @ x, A @ VECTOR, x @ VECTOR, x @ x, A @ x, A @ MATRIX.T, MATRIX @ A.T, A.T @ MATRIX[:, 0]


def outer(x, A, k):
    return x[:, None] * A[:, 0], x[:, None] * VECTOR, A * x + k, A - A[:, :1], A.T + x[:, None]


def reduced(x, A, k):
    return (
        *(np.sum(x), np.sum(A, axis=0), np.sum(A, axis=1), np.max(A, axis=1), np.min(A, axis=0)),
        *(np.mean(A), np.prod(x), np.any(x > 0), np.all(k < A, axis=1), np.sum(A > 0)),
    )


def elementwise(x, A, k):
    return (
        np.sin(x),
        np.tanh(A) / 2,
        np.exp(-np.abs(x * k)),
        np.log1p(x**2),
        np.sqrt(np.abs(k)),
        k**3,
        np.power(np.abs(x), 1.2),
    )


def of_strides(x, A, k):
    return np.exp(A[:, 1]), np.sin(A.T), np.exp(x[::2]), np.tanh(x[1:4]), np.exp(A[0, 0])


def masked(x, A, k):
    y = np.where(x > k, x, -x)
    return y, np.where(A > 0, A, 0.0), np.maximum(y, k), (x > 0) | (y < 1), np.where(x > 0, 1.0, k)


def arranged(x, A, k):
    return (
        *(np.concatenate([x, A[0]]), np.stack([x, VECTOR]), np.roll(x, 2), np.flip(A, axis=1) * 1.0),
        *(A.T.copy(), A.reshape(5, 3) * k, np.diag(x), np.repeat(x, 2), np.ones(3) * k),
        (x > 0).astype(np.float64),
    )


def solved(x, A, k):
    S = A @ A.T + 4 * np.eye(3)
    return np.linalg.cholesky(S), np.linalg.solve(S, A[:, 0]), np.linalg.solve(S, A)


def little_but_views(x, A, k):
    return A.T.copy(), x[1:3] * 1.0, A[0] + 0.0, k * 1.0


def the_same_twice(x, A, k):
    y = x * 2.0
    return y, y * 1.0, np.reshape(y, (5, 1)) + 0.0, y.sum()


EXACT = [
    *(written, written_in_turn, gathered, at_a_place, same_and_then_not, outer, reduced, elementwise),
    *(of_strides, masked, arranged, little_but_views, the_same_twice),
]
ROUNDED = [of_what_is_the_same, products, solved]


@pytest.mark.parametrize("f", [*EXACT, *ROUNDED])
def test_values(f):
    fast = ld.vmap(f)
    for seed in range(5):
        args = elements(np.random.default_rng(seed))
        assert_equal(fast(*args), loop(f, *args), f in EXACT)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("f", [written, outer, products, the_same_twice, little_but_views])
def test_dtypes(f, dtype):
    fast = ld.vmap(f)
    for seed in range(4):
        args = elements(np.random.default_rng(seed), dtype)
        exactly = f in EXACT and np.dtype(dtype).kind != "c"
        assert_equal(fast(*args), loop(f, *args), exactly)


@pytest.mark.parametrize("f", [*EXACT, *ROUNDED])
@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (None, None, 0), (1, 2, 0), (1, 0, None)])
def test_axes_and_arguments_of_all(f, axes):
    fast = ld.vmap(f, axes)
    for seed in range(4):
        args = [
            x[0] if axis is None else np.moveaxis(x, 0, axis)
            for x, axis in zip(elements(np.random.default_rng(seed)), axes, strict=True)
        ]
        assert_equal(fast(*args), loop(f, *args, axes=axes), f in EXACT)


@pytest.mark.parametrize("f", [*EXACT, *ROUNDED])
def test_arguments_with_gaps(f):
    fast = ld.vmap(f)
    for seed in range(4):
        x, A, k = elements(np.random.default_rng(seed), count=2 * COUNT)
        wide = np.zeros((COUNT, 3, 9))
        wide[:, :, 2:7] = A[:COUNT]
        args = x[::2], wide[:, :, 2:7], k[::-2]
        assert_equal(fast(*args), loop(f, *args), f in EXACT)
        same = np.broadcast_to(x[0], x[::2].shape)
        assert_equal(fast(same, A[1::2], k[::2]), loop(f, same, A[1::2], k[::2]), f in EXACT)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 32, 33, 36, 64, 65, 67, 129])
def test_numbers_of_elements(count):
    fast = ld.vmap(outer)
    for seed in range(4):
        args = elements(np.random.default_rng(seed), count=count)
        assert_equal(fast(*args), loop(outer, *args))


STEPS = [
    lambda x, A, k, c: (x * c, A, k),
    lambda x, A, k, c: (x + VECTOR, A - x, k * c),
    lambda x, A, k, c: (np.sin(x), np.tanh(A), np.exp(-k * k)),
    lambda x, A, k, c: (np.sum(A, axis=0), A * k, np.sum(x) * c),
    lambda x, A, k, c: (np.where(x > k, x, c), A[::-1], np.max(A)),
    lambda x, A, k, c: (x[::-1], A * A[:, :1], x[2] - k),
    lambda x, A, k, c: (np.roll(x, 1) * k, np.stack([x, A[0], VECTOR * c]), np.mean(x)),
    lambda x, A, k, c: (written(x, A, k), A + np.zeros((3, 5)), np.abs(k) + c),
    lambda x, A, k, c: (x / (1.0 + x * x), A.reshape(5, 3).T.copy(), np.sqrt(np.abs(k))),
    lambda x, A, k, c: (np.zeros_like(x) + VECTOR * c, A / (c + A * A), k),
    lambda x, A, k, c: (np.maximum(x, k), np.minimum(A, c), np.min(x)),
]
PRODUCTS = [
    lambda x, A, k, c: (A.T @ MATRIX[:, 1], MATRIX * k, x @ VECTOR),
    lambda x, A, k, c: (x, A @ np.diag(VECTOR), k),
    lambda x, A, k, c: (VECTOR @ np.outer(x, x), A, k * c),
]


def random_function(rng, kinds):
    """A function of some steps, that it takes one after the other."""
    chosen = [
        (kinds[i], float(c))
        for i, c in zip(rng.integers(len(kinds), size=6), rng.uniform(0.5, 2.0, 6), strict=True)
    ]

    def f(x, A, k):
        for step, c in chosen:
            x, A, k = step(x, A, k, c)
        return x, A, k

    return f


@pytest.mark.parametrize("seed", range(30))
def test_random_functions(seed):
    rng = np.random.default_rng(seed)
    f = random_function(rng, STEPS)
    axes = [0 if rng.random() < 0.7 else None for _ in range(3)]
    axes = axes if 0 in axes else [0, 0, 0]
    fast = ld.vmap(f, tuple(axes))
    for _ in range(4):
        args = [x[0] if axis is None else x for x, axis in zip(elements(rng), axes, strict=True)]
        assert_equal(fast(*args), loop(f, *args, axes=axes))


def total(f):
    return lambda x, A, k: sum(np.sum(np.cos(part)) for part in f(x, A, k))


def value_and_gradient(f):
    def both(*args):
        value, gradients = ld.value_and_grad(total(f), (0, 1, 2))(*args)
        return value, *gradients

    return both


DERIVATIVES = {
    "gradient": lambda f: ld.grad(total(f), (0, 1, 2)),
    "value and gradient": value_and_gradient,
    "jvp": lambda f: lambda *args: ld.jvp(total(f), args, tuple(np.cos(x) for x in args)),
    "hvp": lambda f: lambda *args: ld.hvp(total(f), args, tuple(np.cos(x) for x in args)),
    "jacobian": lambda f: ld.jacobian(lambda x, A, k: f(x, A, k)[0]),
}


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
@pytest.mark.parametrize("seed", range(5))
def test_of_derivatives(seed, derivative):
    rng = np.random.default_rng(seed)
    f = derivative(random_function(rng, [*STEPS, *PRODUCTS]))
    fast = ld.vmap(f)
    for _ in range(4):
        args = elements(rng)
        assert_equal(fast(*args), loop(f, *args), False)


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_nested_and_in_programs(seed):
    rng = np.random.default_rng(seed)
    f = random_function(rng, [*STEPS, *PRODUCTS])
    each = ld.vmap(f)

    def all_of(g):
        return lambda x, A, k: sum(np.sum(np.sin(part)) for part in g(x, A, k))

    slow = all_of(lambda x, A, k: tuple(np.stack(p) for p in zip(*[f(*a) for a in zip(x, A, k)])))  # noqa: B905
    pairs = ld.vmap(ld.vmap(f, (0, None, None)), (None, 0, 0))
    program = ld.program(ld.grad(all_of(each), (0, 1, 2)))
    for _ in range(4):
        args = elements(rng, count=9)
        expected = ld.grad(slow, (0, 1, 2))(*args)
        assert_equal(ld.grad(all_of(each), (0, 1, 2))(*args), expected, False)
        assert_equal(program(*args), expected, False)
        dots = tuple(np.cos(x) for x in args)
        assert_equal(ld.hvp(all_of(each), args, dots), ld.hvp(slow, args, dots), False)
        x, A, k = args
        found = [[f(x[j], A[i], k[i]) for j in range(9)] for i in range(9)]
        expected = tuple(np.stack([np.stack([row[p] for row in rows]) for rows in found]) for p in range(3))
        assert_equal(pairs(*args), expected, False)


def test_an_element_that_fails_among_others():
    def f(A):
        return np.linalg.cholesky(A)

    fast, A = ld.vmap(f), np.stack([np.eye(3) * (i + 1) for i in range(COUNT)])
    expected = np.linalg.cholesky(A)
    bad = A.copy()
    bad[20] = -np.eye(3)
    for _ in range(3):
        np.testing.assert_array_equal(fast(A), expected)
        with pytest.raises(np.linalg.LinAlgError):
            fast(bad)


def test_warnings_are_of_their_elements():
    def f(x, k):
        return np.log(x) * k

    fast, x, k = ld.vmap(f), np.full((COUNT, 5), 2.0), np.arange(float(COUNT))
    for at in (5, 20, 36):
        fast(x, k)
        bad = x.copy()
        bad[at, 3] = 0.0
        with pytest.warns(RuntimeWarning, match="divide by zero") as seen:
            got = fast(bad, k)
        assert len(seen) == 1
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, np.log(bad) * k[:, None])
            np.testing.assert_array_equal(fast(bad, k), got)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            fast(bad, k)


def test_warnings_of_what_is_the_same_for_all():
    fast, x = ld.vmap(lambda x, y: x / np.sum(y), (0, None)), np.ones((COUNT, 5))
    for y in (np.ones(3), np.ones(3), np.ones(3)):
        np.testing.assert_array_equal(fast(x, y), x / 3)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.testing.assert_array_equal(fast(x, np.zeros(3)), np.full_like(x, np.inf))


def test_places_that_do_not_exist():
    fast, x = ld.vmap(lambda x, i: x[i]), np.arange(5.0 * COUNT).reshape(COUNT, 5)
    i = np.arange(COUNT) % 5
    for _ in range(3):
        np.testing.assert_array_equal(fast(x, i), x[np.arange(COUNT), i])
    with pytest.raises(IndexError):
        fast(x, np.where(np.arange(COUNT) == 30, 5, i))
    np.testing.assert_array_equal(fast(x, i - 5), x[np.arange(COUNT), i])


@pytest.mark.parametrize("f", [*EXACT, *ROUNDED])
def test_there_are_blocks(f, monkeypatch):
    made = []
    monkeypatch.setattr(many, "block_of", lambda *args: made.append(blocks.block_of(*args)) or made[-1])
    fast = ld.vmap(f, (None, 0, 0) if f is of_what_is_the_same else 0)
    x, A, k = elements(np.random.default_rng(0))
    for _ in range(3):
        fast(x[0] if f is of_what_is_the_same else x, A, k)
    assert made
    assert all(4 <= block.elements <= blocks.MOST_ELEMENTS for block in made)
    assert not made[0].copied or f in (little_but_views, the_same_twice, of_what_is_the_same)


def test_what_is_the_same_is_computed_once(monkeypatch):
    made = []
    monkeypatch.setattr(many, "block_of", lambda *args: made.append(blocks.block_of(*args)) or made[-1])
    fast = ld.vmap(lambda x, y: x * np.sum(np.exp(y)) + y, (0, None))
    x, _, _ = elements(np.random.default_rng(0))
    for _ in range(3):
        fast(x, VECTOR)
    assert (len(made[0].once), len(made[0].each)) == (2, 2)


def test_blocks_are_kept_for_few_layouts():
    fast, x = ld.vmap(lambda x: np.sin(x) * 2.0), np.linspace(0.0, 1.0, 40 * 80)
    for step in range(1, 80):
        part = x[: 40 * step : step]
        for _ in range(2):
            np.testing.assert_array_equal(fast(part), np.sin(part) * 2.0)


def test_threads():
    fast, args = ld.vmap(outer), elements(np.random.default_rng(0), count=500)
    expected = loop(outer, *args)
    for _ in range(3):
        fast(*args)
    wrong = []

    def run(k):
        for _ in range(20):
            got = fast(*[x[k:] for x in args])
            wrong.extend(not np.array_equal(one, other[k:]) for one, other in zip(got, expected, strict=True))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 8 * 20 * 5
    assert not any(wrong)


def test_elements_that_need_much_memory_go_one_by_one():
    def f(x):
        return np.sum(np.sin(x) * x[::-1])

    rows = np.random.default_rng(0).standard_normal((40, blocks.BLOCK_BYTES // 16))
    fast = ld.vmap(f)
    for _ in range(3):
        np.testing.assert_array_equal(fast(rows), loop(f, rows))


def test_elements_of_many_numbers():
    """Of which a program does several operations at a time."""

    def f(x, y):
        z = np.sin(x) * y + 1.0
        return z, np.sum(z / (1.0 + x * x)), y * y + y

    rows = np.random.default_rng(0).standard_normal((40, blocks.BLOCK_BYTES // 40))
    fast = ld.vmap(f, (0, None))
    for _ in range(3):
        assert_equal(fast(rows, rows[3]), loop(f, rows, rows[3], axes=(0, None)))


def test_results_without_numbers():
    fast = ld.vmap(lambda x: (x[:0] * 2.0, np.zeros((3, 0)), x))
    for _ in range(3):
        x = elements(np.random.default_rng(0))[0]
        none, nothing, same = fast(x)
        assert none.shape == (COUNT, 0)
        assert nothing.shape == (COUNT, 3, 0)
        np.testing.assert_array_equal(same, x)


def test_products_that_blas_would_share_among_threads():
    """They are left to the elements."""
    x, y = ((64, 128), (1024, 8)), ((128,), (8,))
    few = together(matrix_product("d", x, y), 16, [0, 1024, 512])
    many = together(matrix_product("d", x, y), 64, [0, 1024, 512])
    assert few.fails
    assert few.key()[0] != many.key()[0]
