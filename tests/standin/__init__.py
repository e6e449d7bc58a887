"""CuPy where there is no GPU: what `lindiff_cuda` and Variables that hold CuPy arrays are tested with.

``installed()`` puts modules of CuPy's names into ``sys.modules``.  Their arrays live in host memory and
behave as CuPy's do: they never turn into NumPy arrays by themselves, refuse to meet them, and know CuPy's
functions and keywords only (`cupy_names.json`).  cuBLAS and cuSOLVER calls are evaluated in column-major
NumPy on the pointers they are given; RawKernels are compiled for the host, thread for thread.

This is test code and never a backend: it proves flags, arithmetic and dispatch, and is slow.
"""

from standin.session import installed

__all__ = ["installed"]
