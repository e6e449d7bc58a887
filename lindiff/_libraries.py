"""What other libraries are told of Variables, once they are imported, where they cannot find it out."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from lindiff.core.awaited import when_imported
from lindiff.core.variable import Variable, inside

__all__ = ["AUTORAY", "tell_autoray", "tell_einops", "tell_pandas"]

AUTORAY = "lindiff.numpy"  # the module whose functions it calls

kept: list[type] = []  # what lists of subclasses hold by weak references


def tell_einops() -> None:
    """einops looks for the library of an array among the subclasses of its ``AbstractBackend``."""
    with suppress(ImportError, AttributeError):  # another version, which does it in another way
        from einops._backends import NumpyBackend

        import lindiff.numpy

        class Backend(NumpyBackend):  # type: ignore[misc]
            framework_name = "lindiff"

            def __init__(self) -> None:
                self.np = lindiff.numpy

            def is_appropriate_type(self, tensor: Any) -> bool:
                return isinstance(tensor, Variable)

        kept.append(Backend)


def tell_autoray() -> None:
    """autoray has a backend for each type of array, and functions that are not NumPy's."""
    with suppress(ImportError, AttributeError):
        import autoray

        from lindiff.scipy import linalg

        autoray.register_backend(Variable, AUTORAY)
        autoray.register_function(AUTORAY, "complex", lambda real, imag: real + 1j * imag)
        autoray.register_function(AUTORAY, "linalg.expm", linalg.expm)
        autoray.register_function(AUTORAY, "linalg.lu", linalg.lu)
        autoray.register_function(AUTORAY, "linalg.svd", lambda x: np.linalg.svd(x, full_matrices=False))


def tell_pandas() -> None:
    """pandas takes for a number what is no sequence to C code."""
    with suppress(ImportError, AttributeError):
        from pandas.core.dtypes import missing

        are_missing = missing._isna

        def isna(obj: Any) -> Any:
            return are_missing(np.asarray(inside(obj)) if isinstance(obj, Variable) and obj.ndim else obj)

        missing._isna = isna


when_imported("einops", tell_einops)
when_imported("autoray", tell_autoray)
when_imported("pandas", tell_pandas)
