"""Registers, local and shared memory of the kernels stay within the table of `tests/resources.json`."""

import json
from importlib.resources import files

import nvrtc
import pytest
import resources

LIMITS = json.loads(resources.TABLE.read_text())
COMPILED = [(name, key) for name, row in LIMITS.items() for key in row if key.startswith("sm_")]
REGISTERS = 65_536  # of a multiprocessor
STEP = 8  # by which a warp gets registers
# Kernels whose lanes have one entry of an array each: nothing of them could spill.
LEFT_OUT = {"faults"}


@pytest.fixture(scope="module")
def launches(standin):
    return resources.launches(standin)


def in_steps(registers):
    return -(-registers // STEP) * STEP


def test_every_kernel_is_in_the_table(launches):
    from lindiff_cuda import launching

    sources = [x.name for x in (files("lindiff_cuda") / "sources").iterdir() if x.name.endswith(".cu")]
    kernels = {
        (name, launching.kernel_text(source, name))
        for source in sources
        for name in launching.kernels_of(source)
    }
    assert launches.keys() == LIMITS.keys()
    left_out = kernels - {launch[:2] for launch in launches.values()}
    assert {name for name, _ in left_out} <= LEFT_OUT


def test_shapes_of_blocks(launches):
    for name, (_, _, _, threads, shared) in launches.items():
        assert threads >= LIMITS[name]["threads"], name
        assert shared <= LIMITS[name]["shared"], name


@pytest.mark.skipif(not nvrtc.available(), reason="needs the package nvidia-cuda-nvrtc-cu12")
@pytest.mark.parametrize(("name", "architecture"), COMPILED)
def test_registers_and_local_memory(launches, name, architecture):
    """Registers may be one step more than in the table, for compilers differ; the others may not."""
    if not nvrtc.knows(architecture):
        pytest.skip(f"NVRTC {nvrtc.version()} does not compile for {architecture}")
    registers, local, spilled = resources.measured(launches[name], architecture)
    most_registers, most_local, most_spilled = LIMITS[name][architecture]
    assert registers <= in_steps(most_registers) + STEP
    assert local <= most_local
    assert spilled <= most_spilled
    assert in_steps(registers) * launches[name][3] <= REGISTERS
