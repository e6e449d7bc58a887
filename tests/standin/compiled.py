"""``cupy.RawModule`` compiled for the host: the same text, with ``cuda.hpp`` in front of it."""

from __future__ import annotations

import ctypes
import functools
import getpass
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from standin.array import ndarray, unwrap

__all__ = ["ElementwiseKernel", "RawKernel", "RawModule", "attribute", "compiler", "get_current_stream"]

SHIM = Path(__file__).with_name("cuda.hpp")
KERNEL = re.compile(r'extern "C" __global__ void(?:\s+__launch_bounds__\([^)]*\))?\s+(\w+)\(([^)]*)\)')
DYNAMIC = re.compile(r"extern __shared__\s+(?:__align__\(\d+\)\s+)?([\w ]+?)\s+(\w+)\[\];")
TYPES = {"?": "bool", "b": "signed char", "i": "int", "l": "long", "f": "float", "d": "double"} | {
    "F": "complex<float>",
    "D": "complex<double>",
}
NUMBERS = (float, int, complex, np.generic)
FREE_SHARED = 48 * 1024  # bytes that a block has without asking
ALL_SHARED = 227 * 1024  # and with, on the device that this stands for
MULTIPROCESSORS = 132  # of it
FLAGS = ("-std=c++17", "-O0", "-fPIC", "-shared", "-U_FORTIFY_SOURCE", "-ffp-contract=off", "-w")


def compiler():
    """The C++ compiler of this machine, or None; fibers are Linux's."""
    return shutil.which(os.environ.get("CXX", "c++")) if sys.platform == "linux" else None


class RawModule:
    """A module of kernels; compiled at the first request for one, as CuPy does."""

    def __init__(self, *, code=None, options=(), backend="nvrtc"):
        if not isinstance(code, str):
            raise TypeError(f"Argument 'code' has incorrect type (expected str, got {type(code).__name__})")
        if type(options) is not tuple or not all(isinstance(option, str) for option in options):
            raise TypeError("Argument 'options' has incorrect type (expected tuple of str)")
        assert backend == "nvrtc"
        assert "#include" not in code, "the text must be complete: NVRTC finds no headers"
        self.code = code
        self.options = options

    def get_function(self, name):
        """The kernel of that name."""
        return RawKernel(self.code, name, self.options)


def attribute(number, device):
    """That of a device: the shared memory that a block may have, and the number of multiprocessors."""
    return {97: ALL_SHARED, 16: MULTIPROCESSORS}[number]


class RawKernel:
    """One kernel, called with grid, block and arguments."""

    def __init__(self, code, name, options=()):
        self.code = code
        self.name = self.__name__ = name
        self.options = options
        library = load(code, options)
        if not hasattr(library, f"launch_{name}"):
            raise RuntimeError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        self._launch = library[f"launch_{name}"]
        self._kinds = ctypes.c_char_p.in_dll(library, f"kinds_{name}").value.decode()
        self._most_shared = FREE_SHARED

    def __call__(self, grid, block, args, *, shared_mem=0):
        assert type(grid) is tuple
        assert type(block) is tuple
        grid = tuple(max(1, x) for x in (*grid, 1, 1)[:3])
        block = tuple(max(1, x) for x in (*block, 1, 1)[:3])
        if grid[0] > 2**31 - 1 or max(grid[1:]) > 65535 or np.prod(block) > 1024:
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        if shared_mem > self._most_shared:
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE: more shared memory than the kernel may have")
        values = [ctypes.create_string_buffer(x, len(x)) for x in self._packed(args)]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        message = ctypes.create_string_buffer(256)
        sizes = ctypes.c_uint * 3
        if self._launch(sizes(*grid), sizes(*block), ctypes.c_size_t(shared_mem), pointers, message):
            raise RuntimeError(f"{self.name}: {message.value.decode()}")

    def _packed(self, args):
        """The bytes of the arguments; CuPy would let a wrong size or type pass unseen."""
        kinds = [self._kinds[i : i + 2] for i in range(0, len(self._kinds), 2)]
        if len(kinds) != len(args):
            raise TypeError(f"{self.name} takes {len(kinds)} arguments, got {len(args)}")
        for i, (x, (pointer, letter)) in enumerate(zip(args, kinds, strict=True)):
            if isinstance(x, ndarray):
                fits = pointer == "*" and x.dtype == np.dtype(letter)
                packed = np.uintp(x.data.ptr)
            else:
                fits = isinstance(x, np.generic) and x.dtype == np.dtype("P" if pointer == "*" else letter)
                packed = x
            if not fits:
                got = f"{type(x).__name__} of {getattr(x, 'dtype', 'no dtype')}"
                raise TypeError(f"{self.name}: argument {i} is a {got}, the parameter is '{pointer}{letter}'")
            yield packed.tobytes()

    @property
    def max_dynamic_shared_size_bytes(self):
        return self._most_shared

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size):
        if size > ALL_SHARED:
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        self._most_shared = size

    @property
    def attributes(self):
        return {
            "max_threads_per_block": 1024,
            "shared_size_bytes": 0,
            "const_size_bytes": 0,
            "local_size_bytes": 0,
            "num_regs": 32,
            "ptx_version": 90,
            "binary_version": 90,
            "cache_mode_ca": 0,
            "max_dynamic_shared_size_bytes": self._most_shared,
            "preferred_shared_memory_carveout": -1,
        }


class ElementwiseKernel:
    """An operation on elements of arrays that broadcast, with an array for the result."""

    def __init__(self, in_params, out_params, operation, name="kernel"):
        self.parameters = [p.split() for p in f"{in_params}, {out_params}".split(", ")]
        self.operation = operation
        self.name = name

    def __call__(self, *args):
        assert all(isinstance(x, (ndarray, *NUMBERS)) for x in args)
        types = self.types(args)
        given = [
            np.asarray(x, types[kind]) if isinstance(x, NUMBERS) else unwrap(x)
            for x, (kind, _) in zip(args, self.parameters, strict=True)
        ]
        shape, out = np.broadcast_shapes(*(x.shape for x in given)), given[-1]
        assert out.shape == shape, "the result does not broadcast"
        operands = [np.ascontiguousarray(np.broadcast_to(x, shape)) for x in given[:-1]]
        result = np.empty(shape, out.dtype)
        places = [ctypes.c_void_p(x.ctypes.data) for x in (*operands, result)]
        loop(self.text([x.dtype.char for x in given])).run(ctypes.c_long(result.size), *places)
        out[...] = result

    def types(self, args):
        """Those of the placeholders, which CuPy takes from arrays alone."""
        types = {}
        for x, (kind, name) in zip(args, self.parameters, strict=True):
            if isinstance(x, ndarray) and types.setdefault(kind, x.dtype) != x.dtype:
                raise TypeError(f"Type is mismatched. {name} {x.dtype} {types[kind]} {kind}")
        for x, (kind, _) in zip(args, self.parameters, strict=True):
            if isinstance(x, (complex, np.complexfloating)) and types[kind].kind != "c":
                raise TypeError(f"can't convert complex to {types[kind]}")
        return {kind: types[kind] for kind, _ in self.parameters}

    def text(self, letters):
        """A loop over the elements, for arrays of these types."""
        pairs = list(zip(self.parameters, letters, strict=True))
        types = "".join(f"typedef {TYPES[letter]} {kind};\n" for (kind, _), letter in pairs)
        pointers = ", ".join(f"{kind} *{name}_all" for kind, name in self.parameters)
        elements = " ".join(f"{kind} &{name} = {name}_all[i];" for kind, name in self.parameters)
        head = "#include <complex>\nusing std::complex;\nusing std::conj;\n" if "complex" in types else ""
        return (
            f"{head}{types}"
            f'extern "C" void run(long count, {pointers}) {{\n'
            f"    for (long i = 0; i < count; i++) {{ {elements} {self.operation}; }}\n}}\n"
        )


@functools.cache
def loop(text):
    """The compiled loop as a library."""
    return ctypes.CDLL(str(library(text)))


def host_text(code, macros=()):
    """The text for a host compiler: the shim, macros, the code, and a launcher for each kernel."""
    launchers = []
    for name, parameters in KERNEL.findall(re.sub(r"//[^\n]*", "", code)):
        types = [re.sub(r"\b__restrict__\b|\w+$", "", p.strip()).strip() for p in parameters.split(",")]
        kinds = ", ".join(f"standin::Kind<{t}>::pointer, standin::Kind<{t}>::letter" for t in types)
        values = ", ".join(f"*({t} *) arguments[{i}]" for i, t in enumerate(types))
        launchers.append(f"""
static const char letters_{name}[] = {{{kinds}, 0}};
extern "C" const char *const kinds_{name};
const char *const kinds_{name} = letters_{name};
static void call_{name}(void **arguments) {{ {name}({values}); }}
extern "C" int launch_{name}(const unsigned *grid, const unsigned *block, std::size_t bytes, void **arguments,
                             char *message) {{
    return standin::launch(grid, block, bytes, call_{name}, arguments, message);
}}
""")
    code = DYNAMIC.sub(r"\1 *const \2 = (\1 *) standin::shared;", code)
    defined = [f"#define {macro.removeprefix('-D').replace('=', ' ', 1)}" for macro in macros]
    return "\n".join([f'#include "{shim()}"', *defined, code.replace("#pragma once", ""), *launchers])


@functools.cache
def load(code, options):
    """The compiled text as a library."""
    return ctypes.CDLL(str(build(code, options)))


def build(code, options):
    """The file of the compiled text, in a folder that all processes of this user share."""
    macros = [option for option in options if option.startswith("-D")]
    others = set(options) - set(macros)
    assert others <= {"-std=c++17", "--fmad=false"}, f"options that the stand-in does not know: {others}"
    return library(host_text(code, macros))


@functools.cache
def shim():
    """The shim's file, which is compiled once for all texts, which begin with it: half of what they take."""
    text = SHIM.read_text(encoding="utf-8")
    place = folder() / f"{hashed(compiler() or '', *FLAGS, text)}.hpp"
    if compiler() is not None:
        made(place, lambda target: target.write_text(text, encoding="utf-8"))
        made(place.with_suffix(".hpp.gch"), lambda target: run("-x", "c++-header", place, "-o", target))
    return place


def library(text):
    """The file of the compiled text, which is complete."""
    if compiler() is None:
        pytest.skip("RawKernels run on the host with Linux and a C++ compiler only")

    def make(target):
        source = target.with_name("kernel.cpp")
        source.write_text(text, encoding="utf-8")
        run("-o", target, source)

    return made(folder() / f"{hashed(compiler(), *FLAGS, text)}.so", make)


def hashed(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def run(*arguments):
    """Run the compiler."""
    done = subprocess.run([compiler(), *FLAGS, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)


def made(target, make):
    """The file `target`, which is made if it does not exist; other processes see all of it or nothing."""
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder()) as place:
            make(Path(place) / target.name)
            (Path(place) / target.name).replace(target)
    return target


def folder():
    """Where compiled texts are kept: nobody else may write there."""
    path = Path(tempfile.gettempdir()) / f"lindiff-standin-{getpass.getuser()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if os.name == "posix":
        state = path.lstat()
        assert state.st_uid == os.getuid()
        assert not state.st_mode & 0o022
    return path


class Stream:
    ptr = 0

    def synchronize(self):
        pass


def get_current_stream():
    return Stream()
