"""What the kernels take of a multiprocessor: registers, local memory, spills, and shared memory.

    python tests/resources.py > tests/resources.json

The table is what they may take, in `tests/cuda/test_resources.py`.  Compiling takes no GPU.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import nvrtc
from standin import installed

__all__ = ["TABLE", "launches", "measured"]

TABLE = Path(__file__).with_suffix(".json")
EVERYTHING = "sm_90"  # what all kernels are compiled for
SOME = ("sm_70", "sm_80")  # and what those are that take the most
GREEDY = (
    "trsm_pullback",
    "trmm_pullback",
    "getrs",
    "kalman_gradient, 8",
    "kalman_gradient, 16",
    "kalman_gradient, 32",
)
USED = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", re.S
)
COUNT = 100_000  # items: blocks have as many threads as they may have


@contextmanager
def recorded(cupy):
    """Launches that are not carried out: kernel, text, options, threads of a block, its shared memory."""
    from lindiff_cuda import launching

    found, compiled = [], cupy.RawModule

    class Module:
        def __init__(self, *, code, options):
            self.code, self.options = code, options

        def get_function(self, name):
            def function(grid, block, arguments, *, shared_mem):
                found.append((name, self.code, self.options, block[0], shared_mem))

            return function

    cupy.RawModule = Module
    launching._kernel.cache_clear()
    try:
        yield found
    finally:
        cupy.RawModule = compiled
        launching._kernel.cache_clear()


def launches(cupy):
    """The launches of the table, by name."""
    cases = (
        dict(_of_small(cupy)) | dict(_of_blocks(cupy)) | dict(_of_any_order(cupy)) | dict(_of_kalman(cupy))
    )
    results = {}
    for name, call in cases.items():
        with recorded(cupy) as found, np.errstate(all="ignore"):  # nothing is computed
            call()
        *_, results[name] = found  # the last one, where another prepares it
    return results


def _stack(cupy, dtype, *shape):
    """COUNT arrays in the memory of one."""
    return cupy.broadcast_to(cupy.empty((1, *shape), dtype), (COUNT, *shape))


def _of_small(cupy):
    from lindiff_cuda import small

    for n, dtype in ((8, np.float64), (32, np.float64), (16, np.complex128)):
        A, lam = _stack(cupy, dtype, n, n), _stack(cupy, np.dtype(dtype).char.lower(), n)
        piv = _stack(cupy, np.int32, n)
        calls = {
            "potrf": (A,),
            "potrf_pullback": (A, A),
            "potrf_pushforward": (A, A),
            "potri": (A,),
            "potri_pullback": (A, A),
            "potri_pushforward": (A, A),
            "trsm": (A, A, False, True),
            "trmm": (A, A, False, True),
            "trsm_pullback": (A, A, A, A),
            "trmm_pullback": (A, A, A, A),
            "getrf": (A, piv),
            "getrs": (A, piv, A),
            "getri": (A, piv),
            "gelqf": (A, A),
            "gelqf_pullback": (A, A, A, A),
        }
        if A.dtype.kind == "f":
            calls |= {
                "syevd": (A, lam),
                "syevd_pullback": (A, lam, A, lam),
                "syevd_pushforward": (A, lam, A, lam),
            }
        for name, arguments in calls.items():
            yield f"{name}, {n} {np.dtype(dtype)}", functools.partial(getattr(small, name), *arguments)


def _of_blocks(cupy):
    from lindiff_cuda import blocks

    for n in (64, 256):
        A, lam = _stack(cupy, np.float64, n, n), _stack(cupy, np.float64, n)
        yield f"block gelqf, {n} float64", functools.partial(blocks.gelqf, A, A)
        yield f"block syevd, {n} float64", functools.partial(blocks.syevd, A[:4], lam)
        yield f"block gesvd, {n} float64", functools.partial(blocks.gesvd, A[:4], lam, A, A)


def _of_any_order(cupy):
    from lindiff_cuda import checks, structure

    X, lam = _stack(cupy, np.float64, 64, 64), _stack(cupy, np.float64, 64)
    X, lam = X[:100], lam[:100]
    for name in ("keep_triangle", "fix_signs", "mirror", "symmetrize", "find_unpaired"):
        yield f"{name}, float64", functools.partial(getattr(structure, name), X)
    flags = cupy.empty(X.shape, bool)
    yield "refuse, float64", lambda: structure.refuse(X, cupy.empty(100, np.int32))
    yield "give_to_unpaired, float64", lambda: structure.give_to_unpaired(X, flags)
    yield "largest_entry, float64", lambda: structure.largest_entries(X)
    yield "divide_by_gaps, float64", lambda: structure.divide_by_gaps(X, lam)
    yield "rotate_by_gaps, float64", lambda: structure.rotate_by_gaps(X, lam, lam)
    yield "first_bad, float64", lambda: checks.first_bad(X)


def _of_kalman(cupy):
    cases = [(n, 1, 0, True) for n in (2, 4, 8, 13, 16, 17, 24, 32)]
    cases += [(n, 2, 0, False) for n in (4, 8, 16, 32)]
    cases += [(4, 8, 0, True), (16, 2, 4, True), (32, 32, 0, False)]
    for n, p, d, independent in cases:
        sizes = f"{n} states, {p} observations, {d} diffuse, {'variances' if independent else 'covariance'}"
        for dtype in (np.float64,) if n != 8 else (np.float32, np.float64):
            for name in ("kalman_filter", "kalman_gradient"):
                key = f"{name}, {sizes}, {np.dtype(dtype)}"
                yield key, functools.partial(_sweep, cupy, name, n, p, d, independent, dtype)


def _sweep(cupy, name, n, p, d, independent, dtype):
    from lindiff_cuda import kalman, unchecked

    steps = 2
    shapes = [
        (1, 1, n, n),
        (1, 1, p, n),
        (1, 1, n, n),
        (1, 1, 1, p) if independent else (1, 1, p, p),
        (1, n),
        (1, n, n),
    ]
    arrays = _stack(cupy, dtype, steps, p), *(cupy.empty(shape, dtype) for shape in shapes), None
    plan = SimpleNamespace(
        name="", independent=independent, diffuse=tuple(range(d)), shift=0, stepwise=False, block=0
    )
    with unchecked():
        sweeps = kalman.Sweeps(arrays, plan)
        if name == "kalman_gradient":
            bars = [cupy.empty(shape, dtype) for shape in [(COUNT,), (COUNT, d), (COUNT, d, d), (COUNT,)]]
            sweeps.pull(tuple(bars), (True,) * 8)


def measured(launch, architecture):
    """Registers, bytes of local memory and spilled bytes of a launch's kernel, compiled as by CuPy."""
    _, text, options, _, _ = launch
    options = (*options, "-ftz=true", f"--gpu-architecture={architecture}", "--ptxas-options=-v")
    stack, stores, loads, registers = map(int, USED.search(nvrtc.log_of(text, options)).groups())
    return [registers, stack, stores + loads]


def architectures(name):
    """Those that a launch of the table is compiled for."""
    return (*SOME, EVERYTHING) if name.startswith(GREEDY) else (EVERYTHING,)


def table(cupy):
    """What there is now, by name."""
    return {
        name: {"threads": launch[3], "shared": launch[4]}
        | {architecture: measured(launch, architecture) for architecture in architectures(name)}
        for name, launch in launches(cupy).items()
    }


if __name__ == "__main__":
    with installed() as cupy:
        rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table(cupy).items()]
    sys.stdout.write("{\n" + ",\n".join(rows) + "\n}\n")
