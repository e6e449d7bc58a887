"""Every source compiles for every device and type, without a warning."""

import re
from importlib.resources import files
from itertools import cycle

import numpy as np
import nvrtc
import pytest

import lindiff as ld

pytestmark = pytest.mark.skipif(not nvrtc.available(), reason="needs the package nvidia-cuda-nvrtc-cu12")

DEVICES = ("compute_70", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


@pytest.fixture(scope="module")
def sources(standin):
    return sorted(path.name for path in (files("lindiff_cuda") / "sources").iterdir() if path.suffix == ".cu")


def warnings_of(source, text, dtype, width, device, **constants):
    from lindiff_cuda import launching

    constants = {"WIDTH": width} | nvrtc.CONSTANTS.get(source, {}) | constants
    options = launching.options_of(np.dtype(dtype), constants)
    options = (*options, "-ftz=true", f"--gpu-architecture={device}", "--ptxas-options=-O0")  # as CuPy
    log = nvrtc.log_of(text, options)
    return [line for line in log.splitlines() if "are deprecated" not in line]  # the device


@pytest.mark.parametrize(("device", "dtype"), [*zip(DEVICES, cycle(DTYPES), strict=False)])
def test_devices(sources, device, dtype):
    from lindiff_cuda.launching import source_text

    if not nvrtc.knows(device):
        pytest.skip(f"NVRTC {nvrtc.version()} does not compile for {device}")
    for source in sources:
        own = dtype(0).real.dtype if source in nvrtc.REAL_ONLY else dtype
        assert not warnings_of(source, source_text(source), own, 1, device), source


def test_each_kernel_by_itself(sources):
    """As it is compiled when it is needed."""
    from lindiff_cuda.launching import kernel_text, kernels_of

    for source in sources:
        for name in kernels_of(source):
            text = kernel_text(source, name)
            assert text.count("__global__") == 1
            assert not warnings_of(source, text, np.float64, 1, "sm_90"), name


@pytest.mark.parametrize("source", nvrtc.BLOCKS)
def test_matrices_in_shared_memory(standin, source):
    from lindiff_cuda.launching import source_text

    assert not warnings_of(source, source_text(source), np.float64, 32, "sm_90", PLACED=2)


# What waits for lanes of a warp; the last operand are these.
MASKED = re.compile(r"(?:shfl\.sync|bar\.warp\.sync|vote\.sync)[^;]*[\s,](\S+);")


@pytest.mark.parametrize("source", ["cholesky.cu", "lu.cu", "potri.cu", "triangular.cu"])
def test_masks_of_tiles_in_lockstep(standin, source):
    """They are constants: with one in a register a tile of 8 lanes may have to wait for the others."""
    from lindiff_cuda import launching

    for name in launching.kernels_of(source):
        options = launching.options_of(np.dtype(float), {"WIDTH": 8})
        options = (*options, "-ftz=true", "--gpu-architecture=compute_80")
        ptx = nvrtc.ptx_of(launching.kernel_text(source, name), options)
        assert set(MASKED.findall(ptx)) <= {"-1", *re.findall(r"mov\.[bu]32\s+(%r\d+), -1;", ptx)}, name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "text",
    [
        "f[i,j] = sum[k | k <= i, (i + k) % 2 == 0] tanh(x[i + 2*k - 1])*y[k,j]",
        "f[i] = max[k] where(greater(x[i], 0), x[i]**3, logaddexp(x[k], 1))/(1 + i)",
        "f = min[i] abs(x[i] - sign(x[i + 1]))*arctan2(x[i], 2)",
    ],
)
def test_kernels_of_tensor_expressions(standin, text, dtype):
    from lindiff.tensor.device import kernel_of
    from lindiff.tensor.layouts import Layout

    f = ld.tensor(text, outside="zero", ranges={"i": 9, "k": 7} if "k" in text else {"i": 9})
    layouts = [Layout.by_rows((12, 5)[:rank], np.dtype(dtype)) for _, rank in f._definition.arguments]
    bound = f._definition.bound({}, layouts)
    for filling in bound.fillings:
        places = dict(zip(filling.layouts, range(len(filling.layouts)), strict=True))
        for update in filling.updates:
            kernel = kernel_of(update, filling.layouts, places, filling.layouts[filling.name])
            log = nvrtc.log_of(kernel.text, ("-std=c++17", "--fmad=false", "--gpu-architecture=sm_90"))
            assert not log.strip(), log
