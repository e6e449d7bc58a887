"""Batches as large as memory allows: indices beyond 2³¹ entries, more matrices than a launch can number.

On the stand-in, the arrays are address space of which only the last matrices are ever touched, and of a
launch only the last blocks run: they must do there what they do with these matrices alone.
"""

import importlib
import mmap

import numpy as np
import pytest
from kernels.helpers import general, separated, spd, triangular
from standin import compiled
from standin.array import ndarray

from lindiff import kernels

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")

TOO_MANY = "2147483648 matrices or series at once, where a launch numbers up to 2147483647"
LAST = 3  # matrices that exist
FAR = 2**31  # entries, or matrices, that come before them
NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Python 3.13 has the name
LARGE = 1 << 16  # entries from which the stand-in's new arrays are address space


def address_space(shape, dtype=np.float32):
    """An array of zeros on the stand-in that takes no memory where it is not written to."""
    size = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    try:
        memory = mmap.mmap(-1, max(size, 1), flags=flags)
    except OSError as error:
        pytest.skip(f"no address space: {error}")
    return ndarray.of(np.frombuffer(memory, dtype, size // np.dtype(dtype).itemsize).reshape(shape))


def new(ordinary):
    """`cupy.empty` or `cupy.zeros` that can be as large as the address space."""

    def made(shape, dtype=float, **options):
        size = int(np.prod(shape, dtype=object))
        return ordinary(shape, dtype, **options) if size < LARGE else address_space(shape, dtype)

    return made


class LastBlocks:
    """A kernel of which the last blocks run."""

    def __init__(self, launching, blocks, source, name, dtype, constants):
        self.text = launching.kernel_text(source, name).replace("blockIdx.x", "(blockIdx.x + FIRST)")
        self.options = launching.options_of(dtype, dict(constants))
        self.name, self.blocks = name, blocks
        self.max_dynamic_shared_size_bytes = compiled.FREE_SHARED

    def __call__(self, grid, block, args, *, shared_mem=0):
        assert len(grid) == 1
        assert 1 <= grid[0] < 2**31
        first = max(grid[0] - self.blocks, 0)
        function = compiled.RawKernel(self.text, self.name, (*self.options, f"-DFIRST={first}u"))
        function.max_dynamic_shared_size_bytes = self.max_dynamic_shared_size_bytes
        function((grid[0] - first,), block, args, shared_mem=shared_mem)


@pytest.fixture
def last_blocks(standin, monkeypatch):
    """Kernels run their last blocks, the first ones with a number of their own."""
    from lindiff_cuda import launching, tuning

    monkeypatch.setattr(tuning, "BLOCKS_EACH", 0)  # blocks of one size for few matrices and for many

    def run(blocks=1):
        for name in ("empty", "zeros"):
            monkeypatch.setattr(standin, name, new(getattr(standin, name)), raising=False)
        monkeypatch.setattr(launching, "_kernel", lambda *kernel: LastBlocks(launching, blocks, *kernel))

    return run


def at_the_end(host, count):
    """A batch of so many matrices, the last of which are those of `host`."""
    X = address_space((count, *host.shape[1:]), host.dtype)
    X._host[-LAST:] = host
    return X


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def assert_same(standin, call, arrays, count):
    """What `call` returns and writes, for few matrices and for the last of many."""
    near, far = [standin.asarray(x) for x in arrays], [at_the_end(x, count) for x in arrays]
    pairs = zip((*as_tuple(call(*near)), *near), (*as_tuple(call(*far)), *far), strict=True)
    for x, y in pairs:
        if x is not None:
            np.testing.assert_array_equal(y._host[-LAST:], x._host)


def problems(rng, n):
    """Kernels by file, with arrays that have a matrix for each item."""
    A, L = spd(rng, (LAST,), n, np.float32), triangular(rng, (LAST,), n, np.float32)
    X, Y, Z = general(rng, (3, LAST, n, n), np.float32)
    U, lam = kernels.syevd(separated(rng, (LAST,), n, np.float32))
    Q, F = kernels.gelqf(X)
    LU, piv = kernels.getrf(X)
    piv = piv.astype(np.int32)
    info = np.array([0, 1, 0], np.int32)
    return {
        "small": {
            "potrf": (A,),
            "potrf_pullback": (L, X),
            "potrf_pushforward": (L, X),
            "potri": (L,),
            "potri_pullback": (L, X),
            "potri_pushforward": (L, X),
            "trsm": (L, X),
            "trsm_pullback": (L, X, Y, Z),
            "trmm": (L, X),
            "trmm_pullback": (L, X, Y, Z),
            "syevd": (A, lam),
            "syevd_pullback": (U, lam, X, lam),
            "syevd_pushforward": (U, lam, X, lam),
            "gelqf": (X, Y),
            "gelqf_pullback": (Q, F, X, Y),
            "getrf": (X, piv),
            "getrs": (LU, piv, Y),
            "getri": (LU, piv),
        },
        "blocks": {"gelqf": (X, Y), "syevd": (A, lam), "gesvd": (X, lam, Y, Z)},
        "structure": {
            "keep_triangle": (X,),
            "refuse": (X, info),
            "fix_signs": (X,),
            "mirror": (X,),
            "symmetrize": (X,),
            "find_unpaired": (X,),
            "give_to_unpaired": (A, A > 0),
            "divide_by_gaps": (X, lam, lam),
            "rotate_by_gaps": (X, lam, lam),
        },
        "checks": {"first_bad": (X,)},
    }


KERNELS = [
    (module, name) for module, names in problems(np.random.default_rng(0), 1).items() for name in names
]


def test_every_kernel_is_here(standin):
    from lindiff_cuda import blocks, small, structure

    own = {name for module, name in KERNELS if module == "small"}
    assert own == set(small.__all__) - {"ORDER", "holds_rows"}
    assert {name for module, name in KERNELS if module == "blocks"} == set(blocks.__all__)
    assert {name for module, name in KERNELS if module == "structure"} == set(structure.__all__)


@pytest.mark.parametrize(("module", "name"), KERNELS)
def test_entries_beyond_32_bits(standin, last_blocks, rng, module, name):
    """32 x 32 entries a matrix, and more than 2³¹ before the last ones."""
    function = getattr(importlib.import_module(f"lindiff_cuda.{module}"), name)
    last_blocks(8 * LAST if module == "structure" else LAST)
    n = 32
    assert_same(standin, function, problems(rng, n)[module][name], FAR // n**2 + LAST)


def test_series_beyond_32_bits(standin, last_blocks, rng):
    from cuda.test_kalman import Case, system

    import lindiff_cuda

    steps, outputs = 64, 8
    many = FAR // (steps * outputs) + LAST
    arrays, plan = system(rng, Case(LAST, steps, 4, outputs, own=True, intercept=True, dtype="f"))
    bars = tuple(
        rng.standard_normal(shape).astype("f") for shape in ((LAST,), (LAST, 0), (LAST, 0, 0), (LAST,))
    )

    def gradient(*arrays):
        own = lindiff_cuda.Sweeps(arrays[:8], plan)
        return own.gram, own.logdet, *own.pull(arrays[8:], (True,) * 8)

    last_blocks()
    assert_same(standin, gradient, (*arrays, *bars), many)


@pytest.mark.parametrize("name", ["potrf", "getri"])
def test_as_many_matrices_as_a_launch_can_number(standin, last_blocks, rng, name):
    from lindiff_cuda import small

    last_blocks()
    assert_same(standin, getattr(small, name), problems(rng, 1)["small"][name], 2**31 - 1)


@pytest.mark.parametrize("name", ["potrf", "trsm", "getrs"])
def test_more_matrices_than_a_launch_can_number(standin, last_blocks, name, rng):
    from lindiff_cuda import small

    last_blocks()
    arrays = [at_the_end(x, 2**31) for x in problems(rng, 1)["small"][name]]
    with pytest.raises(ValueError, match=TOO_MANY):
        getattr(small, name)(*arrays)


def test_more_blocks_than_a_launch_can_number(standin, last_blocks, rng):
    from lindiff_cuda import blocks

    last_blocks()
    arrays = [at_the_end(x, 2**31) for x in problems(rng, 1)["blocks"]["syevd"]]
    with pytest.raises(ValueError, match=TOO_MANY):
        blocks.syevd(*arrays)


@pytest.mark.parametrize("name", [name for module, name in KERNELS if module == "structure"])
def test_more_rows_than_a_launch_can_number(standin, last_blocks, rng, name):
    """Launches for some of the matrices at a time."""
    from lindiff_cuda import structure

    last_blocks(4)
    n, count = (2, 2**30 + LAST) if name in ("keep_triangle", "refuse", "fix_signs") else (1, 2**31 + LAST)
    assert_same(standin, getattr(structure, name), problems(rng, n)["structure"][name], count)


def test_long_vectors(standin):
    """What a kernel counts in 32 bits within one matrix is left to the libraries."""
    from lindiff_cuda import tuning

    single = np.dtype(np.float32)
    assert tuning.is_fused_along("trsm", 2, single, 2**29, tuning.VECTORS, 1024)
    assert not tuning.is_fused_along("trsm", 2, single, 2**29 + 1, tuning.VECTORS, 1024)
    assert not tuning.is_blockwise("gelqf", 2, single, 1024, 2**29 + 1)


def test_many_vectors_for_one_matrix(standin, monkeypatch):
    """LU factors that a batch shares: its columns together are more than cuSOLVER counts."""
    from lindiff_cuda import rowmajor

    calls = []
    monkeypatch.setattr(rowmajor, "_lapack", lambda *call: calls.append(call))
    X = address_space((1, 2**31 + 2, 1))
    rowmajor.getrs(standin.ones((1, 1, 1), np.float32), standin.ones((1, 1), np.int32), X)
    lengths, pointers = [call[4] for call in calls], [call[8] for call in calls]
    assert lengths == [2**31 - 1, 3]
    assert pointers == [X.data.ptr, X.data.ptr + 4 * (2**31 - 1)]


def test_long_series(standin):
    import lindiff_cuda
    from lindiff.statespace.sweep import Plan

    one = standin.ones((1, 1, 1, 1))
    arrays = address_space((1, 2**30 + 1, 1), float), one, one, one, one, one[0, 0], one[0], None
    with pytest.raises(ValueError, match="1073741825 steps are more than the 1073741824 of a series"):
        lindiff_cuda.Sweeps(arrays, Plan((), True, -1.0, 0, "loglikelihood"))


@pytest.mark.parametrize("name", ["potrf", "geqrf", "orgqr", "gesvdj", "getrf"])
def test_too_large_for_a_workspace(standin, monkeypatch, name):
    """cuSOLVER says with a negative number that 32 bits do not count what it needs."""
    from cupy_backends.cuda.libs import cusolver

    from lindiff_cuda import rowmajor

    rowmajor._routine.cache_clear()
    monkeypatch.setattr(cusolver, f"d{name}_bufferSize", lambda *arguments: -(2**31))
    A, x = standin.ones((1, 2, 2)), standin.ones((1, 2))
    others = {"geqrf": (x,), "orgqr": (x,), "gesvdj": (x, A, A), "getrf": (standin.ones((1, 2), np.int32),)}
    with pytest.raises(ValueError, match=f"cuSOLVER's d{name}, which counts its workspace in 32 bits"):
        getattr(rowmajor, name)(A, *others.get(name, ()))
    rowmajor._routine.cache_clear()
