"""Putting the stand-in in CuPy's place, and taking it away again."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from types import ModuleType

from standin import compiled, cublas, cusolver, functions, names
from standin.array import Device

__all__ = ["installed"]

NAMES = (
    *("cupy", "cupy._core", "cupy.cuda", "cupy.cuda.device", "cupy.cuda.runtime", "cupy.lib"),
    *("cupy.polynomial", "cupyx"),
    *("cupyx.scipy", "cupy_backends", "cupy_backends.cuda"),
    *("cupy_backends.cuda.libs", "cupy_backends.cuda.libs.cublas", "cupy_backends.cuda.libs.cusolver"),
)
PROPERTIES = {
    "name": b"stand-in",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 132,
    "totalGlobalMem": 1 << 36,
}


@contextmanager
def installed():
    """The module ``cupy``, for as long as the context lasts; `lindiff_cuda` is imported anew in it."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _concerned(name)}
    modules = {name: ModuleType(name) for name in dict.fromkeys((*NAMES, *functions.MODULES))}
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        module.__path__ = []
        if parent:
            setattr(modules[parent], child, module)
        module.__getattr__ = partial(functions.find, name)
    cupy = modules["cupy"]
    cupy.__version__ = names.TABLE["version"]
    cupy.RawModule = compiled.RawModule
    cupy.ElementwiseKernel = compiled.ElementwiseKernel
    cuda = modules["cupy.cuda"]
    cuda.Device = lambda device=None: Device()
    cuda.runtime.is_hip = False
    cuda.runtime.getDevice = lambda: Device.id
    cuda.runtime.getDeviceCount = lambda: 1
    cuda.runtime.deviceGetAttribute = compiled.attribute
    cuda.runtime.getDeviceProperties = lambda device: dict(PROPERTIES)
    cuda.runtime.driverGetVersion = cuda.runtime.runtimeGetVersion = lambda: 12040
    cupy.__version__ = "14.2.0"
    cuda.device.get_cublas_handle = cublas.handle
    cuda.device.get_cusolver_handle = cusolver.handle
    cuda.get_current_stream = compiled.get_current_stream
    modules["cupy._core"].get_compute_type = cublas.get_compute_type
    modules["cupy._core"].set_compute_type = cublas.set_compute_type
    cublas.fill(modules["cupy_backends.cuda.libs.cublas"])
    cusolver.fill(modules["cupy_backends.cuda.libs.cusolver"])
    sys.modules.update(modules)
    try:
        yield cupy
    finally:
        for name in [name for name in sys.modules if _concerned(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def _concerned(name):
    return name.partition(".")[0] in ("cupy", "cupyx", "cupy_backends", "lindiff_cuda")
