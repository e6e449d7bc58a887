"""What the stand-in finds wrong with kernels and their arguments."""

import numpy as np
import pytest


@pytest.fixture
def launching(standin):
    from lindiff_cuda import launching

    return launching


@pytest.fixture
def compile_text(standin, launching):
    """A kernel of a text behind the header `tile.cuh`."""

    def kernel(text, name, width=4):
        text = launching.source_text("tile.cuh") + text
        options = launching.options_of(np.dtype(float), {"WIDTH": width})
        return standin.RawModule(code=text, options=options).get_function(name)

    return kernel


@pytest.mark.parametrize(
    ("argument", "message"),
    [(3, "int of no dtype"), (np.int64(3), "int64 of int64"), (np.float64(3), "float64 of float64")],
)
def test_arguments_have_the_parameters_types(standin, compile_text, argument, message, sums):
    x, y = standin.ones((3, 4)), standin.zeros((3, 4))
    function = compile_text(sums, "sums")
    with pytest.raises(TypeError, match=message):
        function((1,), (128,), (x, y, argument, np.float64(1)))
    with pytest.raises(TypeError, match="takes 4 arguments"):
        function((1,), (128,), (x, y))
    with pytest.raises(TypeError, match="parameter is '\\*d'"):
        function((1,), (128,), (x.astype(np.float32), y, np.int32(3), np.float64(1)))


def test_what_lacks_a_barrier_is_wrong(standin, launching, compile_text, sums):
    function = compile_text(sums.replace("sync();", ""), "sums", width=32)
    x, y = standin.ones((9, 32)), standin.zeros((9, 32))
    launching.launch(function, 9, 32, (x, y, 9, np.float64(1)), shared=32 * 8)
    assert np.isnan(y.get()).any()


WRONG = {
    "lanes of one mask are at different operations": "if (lane()) sync(); else broadcast(0, 0);",
    "a mask names a lane that has left": "if (lane()) sync();",
    "a write outside of shared memory": "shared_of_tile<SCALAR>(1)[blockDim.x / WIDTH] = 0;",
    "threads wait for each other for ever": "if (lane()) sync(); else __syncthreads();",
    "a lane is not in the mask it gives": "__syncwarp(1);",
    "a shuffle reads from outside": "__shfl_sync(tile_mask(), 0, 0, 32);",
}


@pytest.mark.parametrize("message", WRONG)
def test_the_stand_in_reports(compile_text, message):
    function = compile_text(f'extern "C" __global__ void wrong(int count) {{ {WRONG[message]} }}', "wrong")
    with pytest.raises(RuntimeError, match=message):
        function((2,), (64,), (np.int32(1),), shared_mem=16 * 8)
