"""RawKernels: the sources of this package put together, compiled where they are first needed, launched.

A kernel works on many items of one kind, each with `WIDTH` lanes of a warp (``sources/tile.cuh``). Its text
is one file of ``sources`` with the headers that it includes, without the other kernels of that file: each is
compiled when it is first needed, by itself. Element type and sizes are given as macros.
"""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import Any

import cupy
import numpy as np

from lindiff_cuda import tuning

__all__ = [
    "ALL_SHARED",
    "MOST_ITEMS",
    "NOWHERE",
    "ORDER",
    "SHARED",
    "kernel",
    "launch",
    "launch_blocks",
    "most_shared",
    "run_text",
    "source_text",
    "width_of",
]

ORDER = 32  # of the largest matrices that one tile works on
SHARED = 48 * 1024  # bytes of shared memory that a block has on every device without asking
ALL_SHARED = 64 * 1024  # and that it may have there
MOST_SHARED = 97  # CUDA's number of the attribute that says what it may have on a device
MOST_ITEMS = np.iinfo(np.int32).max  # of a launch: blocks of a grid's first axis, and what kernels count with
MULTIPROCESSORS = 16  # and of that which counts multiprocessors
RESERVED = 1024  # of them for each block, on newer devices
WARP = 32  # threads

NOWHERE = np.uintp(0)  # the argument for a pointer that the kernel must not follow

SCALARS = {"f": "float", "d": "double", "F": "complex64", "D": "complex128"}
REALS = {"f": "float", "d": "double", "F": "float", "D": "double"}
COMMENT = re.compile(r"//.*")
INCLUDE = re.compile(r'^#include "(.+)"\n', re.MULTILINE)
# A kernel with its name: to the first brace that closes at the beginning of a line.
KERNEL = re.compile(r'^extern "C" __global__ void (?:__launch_bounds__\(.+?\) )?(\w+)\(.+?^}\n', re.M | re.S)


@functools.cache
def source_text(source: str) -> str:
    """The text of ``sources/<source>``, every header that it includes in its place, once.

    Without its comments, whose formulas are not ASCII.
    """
    seen = set()

    def text(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        own = (files("lindiff_cuda") / "sources" / name).read_text(encoding="utf-8")
        return INCLUDE.sub(lambda include: text(include[1]), own)

    return COMMENT.sub("", text(source))


def kernels_of(source: str) -> list[str]:
    """The names of the kernels in ``sources/<source>``."""
    return KERNEL.findall(source_text(source))


def kernel_text(source: str, name: str) -> str:
    """`source_text` with one kernel alone."""
    return KERNEL.sub(lambda found: found[0] if found[1] == name else "", source_text(source))


def width_of(n: int) -> int:
    """Lanes for a matrix of order n <= ORDER: the least power of two that is not smaller."""
    return 1 << max(n - 1, 0).bit_length()


def options_of(dtype: Any, constants: Any) -> tuple[str, ...]:
    """What the compiler is told: C++17, `SCALAR` and `REAL` of a dtype, and constants as macros."""
    macros = {"SCALAR": SCALARS[dtype.char], "REAL": REALS[dtype.char], **constants}
    return ("-std=c++17", *(f"-D{name}={int(x) if isinstance(x, bool) else x}" for name, x in macros.items()))


@functools.cache
def _kernel(source: str, name: str, dtype: Any, constants: Any) -> Any:
    module = cupy.RawModule(code=kernel_text(source, name), options=options_of(dtype, dict(constants)))
    return module.get_function(name)


def kernel(source: str, name: str, dtype: Any, **constants: Any) -> Any:
    """The kernel `name` of a source file, compiled for an element type and constants.

    Parameters
    ----------
    source : str
        File name in ``sources``, such as "cholesky.cu".
    name : str
        An ``extern "C" __global__`` function.
    dtype : dtype
        float32, float64, complex64 or complex128: the macros `SCALAR` and `REAL`.
    **constants : int or str
        Further macros, such as ``WIDTH=8``.

    Returns
    -------
    cupy.RawKernel
        Compiled once for each device (CuPy keeps the binary on disk, too).
    """
    return _kernel(source, name, np.dtype(dtype), tuple(sorted(constants.items())))


def check_number(count: int) -> None:
    """Raise for more items than a launch can number."""
    if count > MOST_ITEMS:
        raise ValueError(
            f"lindiff_cuda: {count} matrices or series at once, where a launch numbers up to {MOST_ITEMS}; "
            "take the batch in parts"
        )


def launch(function: Any, count: int, width: int, arguments: Any, shared: int = 0) -> None:
    """Run a kernel on `count` items, `width` lanes for each, in the current stream.

    Parameters
    ----------
    function : cupy.RawKernel
    count, width : int
    arguments : sequence
        CuPy arrays, NumPy scalars of the parameters' types, and Python's integers and booleans for ``int``.
    shared : int
        Bytes of dynamic shared memory for one item.

    Notes
    -----
    Without items nothing is launched.
    """
    if count == 0:
        return
    check_number(count)
    threads = threads_of(count, width, shared)
    items = threads // width
    if items * shared > SHARED - RESERVED:
        function.max_dynamic_shared_size_bytes = ALL_SHARED  # one value, whatever thread sets it
    function((-(-count // items),), (threads,), _arguments(arguments), shared_mem=items * shared)


def threads_of(count: int, width: int, shared: int) -> int:
    """Threads of a block of `launch`: `tuning.THREADS`.

    Fewer, but whole warps, where blocks would not go round all multiprocessors. Fewer, where its items'
    shared memory would exceed what a block has on every device, or, from less than a warp on, what it may
    have there.
    """
    threads, blocks = tuning.THREADS, tuning.BLOCKS_EACH * multiprocessors()
    while threads > WARP and count * width < blocks * threads:
        threads //= 2
    while threads > width and threads // width * shared > (SHARED if threads > WARP else ALL_SHARED):
        threads //= 2
    return threads


@functools.cache
def _attribute(number: int, device: int) -> int:
    return int(cupy.cuda.runtime.deviceGetAttribute(number, device))


def most_shared() -> int:
    """Bytes of shared memory that a block may have on the current device: 64 kB to 227 kB."""
    return _attribute(MOST_SHARED, cupy.cuda.runtime.getDevice())


def multiprocessors() -> int:
    """Those of the current device."""
    return _attribute(MULTIPROCESSORS, cupy.cuda.runtime.getDevice())


def launch_blocks(function: Any, count: int, threads: int, arguments: Any, shared: int) -> None:
    """Run a kernel on `count` items, a block of threads for each, in the current stream.

    Parameters
    ----------
    function : cupy.RawKernel
    count, threads : int
    arguments : sequence
        As `launch` takes them.
    shared : int
        Bytes of dynamic shared memory for a block.
    """
    if count == 0:
        return
    check_number(count)
    function.max_dynamic_shared_size_bytes = most_shared()  # one value, whatever thread sets it
    function((count,), (threads,), _arguments(arguments), shared_mem=shared)


@functools.cache
def _kernel_of_text(text: str, name: str) -> Any:
    # an expression in two kernels is the same number in both
    return cupy.RawModule(code=text, options=("-std=c++17", "--fmad=false")).get_function(name)


def run_text(text: str, name: str, count: int, arrays: Any) -> None:
    """Run a kernel that is given as text, in the current stream: a thread for each of `count` numbers.

    Parameters
    ----------
    text : str
    name : str
        An ``extern "C" __global__`` function of `count` and pointers.
    count : int
    arrays : sequence of cupy.ndarray
    """
    if count == 0:
        return
    check_number(count)
    blocks = -(-count // tuning.THREADS)
    _kernel_of_text(text, name)((blocks,), (tuning.THREADS,), (np.int32(count), *arrays))


def _arguments(arguments: Any) -> tuple[Any, ...]:
    return tuple(np.int32(x) if isinstance(x, (int, np.bool_)) else x for x in arguments)
