"""Kernels of CuPy's arrays for tests that hold NumPy's."""

from __future__ import annotations

import numpy as np

from standin.array import ndarray

__all__ = ["OnDevice"]


class OnDevice:
    """`lindiff_cuda` for NumPy's arrays, lists and numbers.

    An argument that comes back as the result does so as itself. The stand-in's arrays share memory with those
    that they are made of; what a GPU has written into one is copied back.
    """

    def __init__(self, module, cupy):
        self.module = module
        self.cupy = cupy
        self.__name__ = module.__name__

    def __getattr__(self, name):
        function = getattr(self.module, name)

        def call(*args, **options):
            given = []  # arrays, and their twins on the device

            def handed_over(x):
                if not isinstance(x, (np.ndarray, np.generic, list, float)):
                    return x
                given.append((x, self.twin(np.asarray(x))))
                return given[-1][1]

            args = [handed_over(x) for x in args]
            options = {key: handed_over(x) if isinstance(x, np.ndarray) else x for key, x in options.items()}
            with np.errstate(all="ignore"):  # a GPU does not warn
                result = function(*args, **options)
            for x, twin in given:
                if not isinstance(twin, ndarray) and isinstance(x, np.ndarray) and x.flags.writeable:
                    x[...] = twin.get()

            def handed_back(result):
                for x, twin in given:
                    if result is twin:
                        return x
                if isinstance(result, ndarray):
                    return result._host
                return result.get() if isinstance(result, self.cupy.ndarray) else result

            return tuple(map(handed_back, result)) if isinstance(result, tuple) else handed_back(result)

        return call

    def twin(self, x):
        return ndarray.of(x) if self.cupy.ndarray is ndarray else self.cupy.asarray(x)
