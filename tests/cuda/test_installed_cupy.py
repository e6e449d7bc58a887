"""What can be known of the real CuPy without a GPU: names, parameters, types, that its compiler takes all.

Runs where CuPy is installed; ``.ci/run`` tries to, and says where it cannot.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import warnings
from importlib.resources import files

import numpy as np
import nvrtc
import pytest

ARCHITECTURE = "80"
ARRAY, SCALAR, INDEXER = 1, 3, 2  # kinds of arguments, as CuPy numbers them
PAIRS = ["ff", "fD", "dd", "Df", "FF"]


@pytest.fixture(scope="module")
def cupy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no CUDA toolkit is found
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed", exc_type=ImportError)
        import lindiff_cuda
    assert lindiff_cuda.cupy is cupy
    return cupy


@pytest.fixture
def compiled(cupy, monkeypatch):
    """What the compiler says of all that CuPy is asked to compile: for a device that is not there."""
    from cupy._core.core import assemble_cupy_compiler_options
    from cupy.cuda import compiler
    from cupy.cuda.function import Module

    if not nvrtc.available():
        pytest.skip("needs the package nvidia-cuda-nvrtc-cu12")
    try:
        compiler._get_nvrtc_version()
        assemble_cupy_compiler_options(())
    except RuntimeError as error:
        pytest.skip(f"CuPy finds no NVRTC, or no headers for it: {error}")
    logs = []

    def compile_for(source, options=(), *others, **more):
        stream = Log()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compiler.compile_using_nvrtc(
                    source, (*options, "-ftz=true"), ARCHITECTURE, "kernel.cu", log_stream=stream
                )
            except compiler.CompileException as error:
                if re.search('cannot open source file "cu', str(error)):
                    pytest.skip("needs CUDA's headers: the package nvidia-cuda-runtime-cu12")
                raise
        logs.append(stream.text)
        return Module()

    target = (f"-arch=sm_{ARCHITECTURE}", "cubin")
    monkeypatch.setattr(compiler, "_get_arch_for_options_for_nvrtc", lambda arch: target)
    monkeypatch.setattr(compiler, "_compile_module_with_cache", compile_for)
    return logs


class Log:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


def elementwise_kernels(cupy):
    """Of the package, with whether the second argument is a number."""
    from lindiff_cuda import elementwise

    for found in vars(elementwise).values():
        for number, kernel in enumerate(found if isinstance(found, tuple) else (found,)):
            if isinstance(kernel, cupy.ElementwiseKernel):
                yield kernel, bool(number)


@pytest.mark.parametrize("letters", [a + b for a, b in itertools.product("fdFD", repeat=2)])
def test_types_of_elementwise_kernels(cupy, letters):
    g, p = map(np.dtype, letters)
    z = np.result_type(g, p)
    kernels = list(elementwise_kernels(cupy))
    assert len(kernels) == 5
    for kernel, by_number in kernels:
        types = kernel._decide_params_type((g, None if by_number else p), (z,))
        assert types[:2] == ((g, z if by_number else p), (z,))


@pytest.mark.parametrize("letters", PAIRS)
def test_elementwise_kernels_compile(cupy, compiled, letters):
    from cupy._core._kernel import _ArgInfo, _get_elementwise_kernel_code
    from cupy._core.core import compile_with_cache

    g, p = map(np.dtype, letters)
    z = np.result_type(g, p)
    for kernel, by_number in elementwise_kernels(cupy):
        if "conj" in kernel.name and p.kind != "c":
            continue  # no case of it
        of_p = (SCALAR, z.type, z.type, 0) if by_number else (ARRAY, cupy.ndarray, p.type, 1)
        given = [(ARRAY, cupy.ndarray, g.type, 1), of_p, (ARRAY, cupy.ndarray, z.type, 1)]
        arguments = [_ArgInfo(*one, True, True) for one in given]
        arguments.append(_ArgInfo(INDEXER, object, None, 1, True, True))
        types = kernel._decide_params_type((g, None if by_number else p), (z,))[2]
        compile_with_cache(
            _get_elementwise_kernel_code(
                tuple(arguments), types, kernel.params, kernel.operation, kernel.name, ""
            )
        )
    assert len(compiled) >= 4


def test_sources_compile_as_modules(cupy, compiled):
    from cupy._core.core import compile_with_cache

    from lindiff_cuda import launching

    sources = sorted(path.name for path in (files("lindiff_cuda") / "sources").iterdir())
    for source in filter(re.compile(r".*\.cu$").match, sources):
        dtype = np.dtype(np.float64 if source in nvrtc.REAL_ONLY else np.complex128)
        constants = {"WIDTH": 1} | nvrtc.CONSTANTS.get(source, {})
        module = cupy.RawModule(
            code=launching.source_text(source), options=launching.options_of(dtype, constants)
        )
        compile_with_cache(module.code, module.options, prepend_cupy_headers=False)
    assert len(compiled) == len([source for source in sources if source.endswith(".cu")])
    assert not any("warning" in log for log in compiled)


def names_used(tree):
    """Dotted names that begin with ``cupy``, and the calls of such."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Call)):
            target = node.func if isinstance(node, ast.Call) else node
            text = ast.unparse(target)
            if re.fullmatch(r"cupyx?(\.\w+)+", text):
                yield text, node if isinstance(node, ast.Call) else None


def test_names_and_parameters(cupy):
    checked = 0
    for module in [name for name in sys.modules if name.partition(".")[0] == "lindiff_cuda"]:
        for text, call in names_used(ast.parse(inspect.getsource(sys.modules[module]))):
            found = cupy
            for part in text.split(".")[1:]:
                found = getattr(found, part)
            if call is not None:
                checked += bind(found, call)
    assert checked > 50


def bind(function, call):
    """Raise a TypeError where a call has arguments that the function does not take; whether that is known."""
    from cupy_names import signature_of

    text = signature_of(function)
    if text is None or any(isinstance(x, ast.Starred) for x in call.args):
        return False
    signature = inspect.signature(eval(f"lambda {text[1:-1]}: None"))
    keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg is not None}
    signature.bind(*call.args, **keywords)
    return True
