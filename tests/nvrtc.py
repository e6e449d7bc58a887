"""NVIDIA's runtime compiler by ctypes: it compiles for any device and needs none."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
from pathlib import Path

from standin.compiled import folder

__all__ = ["BLOCKS", "CONSTANTS", "REAL_ONLY", "available", "knows", "log_of", "ptx_of"]

BLOCKS = ("block_eigen.cu", "block_lq.cu", "block_svd.cu")
REAL_ONLY = {"eigen.cu", *BLOCKS}
# Macros that a source needs besides SCALAR, REAL and WIDTH.
CONSTANTS = {
    "kalman.cu": {"WIDTH": 2, "STATES": 2, "OUTPUTS": 2, "COLUMNS": 2}
    | {"INDEPENDENT": 0, "BLOCKWISE": 1, "STEPWISE": 1, "SMOOTHING": 1, "ROOM": 128},
    "faults.cu": {"COVARIANCE": 1},
    "triangles.cu": {"WIDTH": 32},
    **{source: {"WIDTH": 32, "PLACED": 0} for source in BLOCKS},
}


@functools.cache
def library():
    """The library of the package nvidia-cuda-nvrtc, or None."""
    for package in ("nvidia.cuda_nvrtc", "nvidia.cu13"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for place in spec.submodule_search_locations if spec else ():
            for part in sorted(Path(place).glob("lib/libnvrtc-builtins.so.*")):
                ctypes.CDLL(str(part), ctypes.RTLD_GLOBAL)
            for path in sorted(Path(place).glob("lib/libnvrtc.so.*")):
                return ctypes.CDLL(str(path))
    return None


def available():
    return library() is not None


def log_of(text, options):
    """What the compiler says of a text; RuntimeError if it does not compile.

    Kept where the stand-in keeps its libraries: a text that has compiled does so again.
    """
    return kept("log", text, options)


def ptx_of(text, options):
    """The text compiled for a ``compute_…``; kept, too."""
    return kept("ptx", text, options)


def kept(kind, text, options):
    key = hashlib.sha256("\0".join([text, *options, version()]).encode()).hexdigest()
    target = folder() / f"{key}.{kind}"
    if not target.exists():
        place = target.with_suffix(f".{os.getpid()}")
        place.write_text(compile_text(text, options)[kind], encoding="utf-8")
        place.replace(target)
    return target.read_text(encoding="utf-8")


def knows(device):
    """Whether it compiles for ``sm_…`` or ``compute_…``."""
    count = ctypes.c_int()
    check(library().nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    check(library().nvrtcGetSupportedArchs(numbers))
    return int(device.partition("_")[2]) in list(numbers)


def version():
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def compile_text(text, options):
    """The compiler's log, and what it has made, if that is a text."""
    nvrtc = library()
    program = ctypes.c_void_p()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None))
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        failed = nvrtc.nvrtcCompileProgram(program, len(options), given)
        log = result(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if failed:
            raise RuntimeError(log)
        return {"log": log, "ptx": result(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)}
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def result(size_of, get, program):
    """One of the texts of a program."""
    size = ctypes.c_size_t()
    check(size_of(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(max(size.value, 1))
    check(get(program, text))
    return text.value.decode()


def check(status):
    if status:
        raise RuntimeError(f"NVRTC's error {status}")
