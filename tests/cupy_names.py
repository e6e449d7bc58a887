"""What CuPy has, read from the CuPy that is installed.

    python tests/cupy_names.py > tests/standin/cupy_names.json

The table is what makes the stand-in as strict as CuPy.  Reading it takes no GPU and none of CUDA's libraries.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import types
import warnings

MODULES = (
    *("cupy", "cupy.fft", "cupy.lib.stride_tricks", "cupy.linalg", "cupy.polynomial.polynomial"),
    *("cupyx", "cupyx.scipy.interpolate", "cupyx.scipy.linalg", "cupyx.scipy.signal", "cupyx.scipy.special"),
)
LIBRARIES = ("cublas", "cufft", "curand", "cusolver", "cusparse")


def table():
    """Names and signatures of functions, methods and properties; loops and methods of ufuncs."""
    import cupy

    without_libraries()
    read = {"version": cupy.__version__, "functions": {}, "ufuncs": {}}
    read["methods"], read["properties"] = of_arrays(cupy.ndarray)
    for name in MODULES:
        module = importlib.import_module(name)
        public = {key: getattr(module, key) for key in sorted(dir(module)) if not key.startswith("_")}
        read["functions"][name] = {
            key: signature for key, entry in public.items() if (signature := signature_of(entry)) is not None
        }
        read["ufuncs"][name] = {
            key: {"types": " ".join(entry.types), "methods": methods_of(entry)}
            for key, entry in public.items()
            if isinstance(entry, cupy.ufunc)
        }
    return read


def without_libraries():
    """Let modules be imported whose libraries of CUDA are not installed."""
    from cupy_backends.cuda import libs

    for name in LIBRARIES:
        try:
            getattr(libs, name)
        except (AttributeError, ImportError):
            module = types.ModuleType(f"{libs.__name__}.{name}")
            module.__getattr__ = lambda key: 0
            setattr(libs, name, module)
            sys.modules[module.__name__] = module


def signature_of(entry):
    """Of a function of CuPy's own, as text; None for anything else."""
    origin = getattr(entry, "__module__", None) or "cupy"
    if isinstance(entry, type) or not callable(entry) or not origin.startswith("cupy"):
        return None
    if isinstance(entry, types.BuiltinFunctionType):
        return signature_in(entry.__doc__)
    try:
        signature = inspect.signature(entry)
    except ValueError:
        return None
    parameters = [
        p.replace(annotation=p.empty, default=p.default if is_literal(p.default) else None)
        for p in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters))


def signature_in(doc):
    """That with which Cython begins a docstring, without types and ``self``."""
    head = re.match(r"\w+(?:\.\w+)?(\(.*\))", doc or "")
    if head is None:
        return None
    words = head[1][1:-1].split(", ")
    names = [re.sub(r"^[\w ]+ (?=\w)", "", word) for word in words if word not in ("", "self")]
    return f"({', '.join(names)})"


def is_literal(default):
    return default is inspect.Parameter.empty or isinstance(default, (str, int, float, tuple, type(None)))


def methods_of(ufunc):
    """Those but the call that do not say at once that they are not supported."""
    supported = ["at"] if ufunc._scatter_op else []
    for name in ("accumulate", "outer", "reduce", "reduceat"):
        try:
            getattr(ufunc, name)(*([None, None] if name in ("outer", "reduceat") else [None]))
        except NotImplementedError:
            continue
        except Exception:
            supported.append(name)
    return " ".join(sorted(supported))


def of_arrays(ndarray):
    """Methods with their signatures, and properties."""
    methods, properties = {}, []
    for name in sorted(dir(ndarray)):
        if name.startswith("_"):
            continue
        entry = getattr(ndarray, name)
        if callable(entry):
            methods[name] = signature_in(entry.__doc__)
        else:
            properties.append(name)
    return methods, " ".join(properties)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(table(), sys.stdout, indent=1)
    print()
