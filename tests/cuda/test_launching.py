"""Kernels put together, compiled and launched."""

from importlib.resources import files

import numpy as np
import pytest


@pytest.fixture
def launching(cupy):
    from lindiff_cuda import launching

    return launching


@pytest.fixture
def compile_text(cupy, launching):
    """A kernel of a text behind the header `tile.cuh`."""

    def kernel(text, name, dtype=np.float64, width=4):
        text = launching.source_text("tile.cuh") + text
        options = launching.options_of(np.dtype(dtype), {"WIDTH": width})
        return cupy.RawModule(code=text, options=options).get_function(name)

    return kernel


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("width", [1, 8, 32])
@pytest.mark.parametrize("count", [0, 1, 37, 300])
def test_tiles(cupy, launching, compile_text, rng, dtype, width, count, sums):
    host = rng.standard_normal((count, width)).astype(dtype)
    x, y = cupy.asarray(host), cupy.zeros((count, width), dtype)
    scale = host.real.dtype.type(2)
    function = compile_text(sums, "sums", dtype, width)
    launching.launch(function, count, width, (x, y, count, scale), shared=width * x.itemsize)
    expected = 2 * host.sum(1, keepdims=True) + host[:, -1:]
    np.testing.assert_allclose(y.get(), np.broadcast_to(expected, host.shape), rtol=2e-5)


def test_width_of(launching):
    widths = [launching.width_of(n) for n in (0, 1, 2, 3, 4, 5, 8, 9, 17, 32)]
    assert widths == [1, 1, 2, 4, 4, 8, 8, 16, 32, 32]


def test_every_header_once(launching):
    text = launching.source_text("tile.cuh")
    assert "#include" not in text
    assert text.count("struct __align__(2 * sizeof(R)) Complex") == 1


def test_a_kernel_without_the_others(launching):
    """Every kernel of a file is found; its text has what it calls."""
    names = launching.kernels_of("cholesky.cu")
    assert names == ["potrf", "potrf_pullback", "potrf_pushforward"]
    text = launching.kernel_text("cholesky.cu", "potrf")
    assert "void potrf(" in text
    assert "void potrf_pullback(" not in text
    assert "DEVICE void load(" in text
    for path in (files("lindiff_cuda") / "sources").iterdir():
        if path.suffix == ".cu":
            whole = launching.source_text(path.name)
            assert len(launching.kernels_of(path.name)) == whole.count("__global__")


def test_much_shared_memory(cupy, launching, compile_text, sums):
    x, y = cupy.ones((3, 32)), cupy.zeros((3, 32))
    function = compile_text(sums, "sums", width=32)
    launching.launch(function, 3, 32, (x, y, 3, np.float64(1)), shared=60_000)
    assert function.max_dynamic_shared_size_bytes == launching.ALL_SHARED
    np.testing.assert_array_equal(y.get(), 33)


@pytest.mark.parametrize(
    ("count", "width", "shared", "threads"),
    [
        (500, 8, 0, 32),  # 125 blocks: a warp is the least
        (2111, 8, 0, 32),
        (2112, 8, 0, 64),  # 2 · 132 blocks
        (4224, 8, 0, 128),
        (10**6, 8, 0, 128),
        (10**6, 32, 16_000, 64),  # four of them would have more than 48 kB
        (10**6, 16, 40_000, 16),
        (1, 1, 0, 32),
    ],
)
def test_blocks_for_all_multiprocessors(standin, count, width, shared, threads):
    from lindiff_cuda import launching

    shapes = []

    def function(grid, block, arguments, shared_mem):
        shapes.append((grid, block, shared_mem))

    launching.launch(function, count, width, (), shared)
    items = threads // width
    assert shapes == [((-(-count // items),), (threads,), items * shared)]
