"""Exact derivatives for plain NumPy code, with linear algebra at the speed of LAPACK."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

try:
    from lindiff.core import record as _record
except ImportError as error:
    raise ImportError(
        "lindiff's compiled modules are missing. If you are in a clone of its repository, Python found the "
        "source tree there instead of the installed package: change to another folder, or install with "
        "`pip install -e .`"
    ) from error

from lindiff import _libraries, linalg
from lindiff import rules as _rules  # gives NumPy's functions their rules
from lindiff.advice.classification import supported
from lindiff.advice.elsewhere import hint as _hint
from lindiff.advice.elsewhere import is_import as _is_import
from lindiff.core.differential import Bilinear, Differential, Elementwise, Linear
from lindiff.core.pytree import tree_map
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.numpy._patch import patch_numpy
from lindiff.transforms.checkpoint import checkpoint
from lindiff.transforms.constants import stop_gradient
from lindiff.transforms.curvature import ggnvp, hvp
from lindiff.transforms.forward import jvp
from lindiff.transforms.implicit import implicit
from lindiff.transforms.jacobian import hessian, jacobian, value_and_jacobian
from lindiff.transforms.linearize import linear_transpose, linearize
from lindiff.transforms.ravel import ravel
from lindiff.transforms.reverse import grad, value_and_grad, vjp

__version__ = "0.1.0"

__all__ = [
    "Bilinear",
    "Differential",
    "Elementwise",
    "Linear",
    "Variable",
    "checkpoint",
    "descent",
    "draw",
    "explain",
    "ggnvp",
    "gp",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "linalg",
    "linear_transpose",
    "linearize",
    "nan_check",
    "patch_numpy",
    "program",
    "ravel",
    "rule",
    "statespace",
    "stop_gradient",
    "supported",
    "tensor",
    "testing",
    "tree_map",
    "value",
    "value_and_grad",
    "value_and_jacobian",
    "vjp",
    "vmap",
]


# Not in __all__: a star import would put them in the place of NumPy and SciPy, and needs no Dask.
_NAMESPACES = ["distributed", "numpy", "scipy"]

if TYPE_CHECKING:
    from lindiff import descent as descent
    from lindiff import distributed as distributed
    from lindiff import gp, statespace, testing
    from lindiff import numpy as numpy
    from lindiff import scipy as scipy
    from lindiff.programs.program import program as program
    from lindiff.seeing import draw as draw
    from lindiff.seeing import explain as explain
    from lindiff.seeing import nan_check as nan_check
    from lindiff.tensor import tensor as tensor
    from lindiff.transforms.vmap import vmap as vmap
else:
    # Functions whose modules are imported when they are first asked for, as modules are.
    _LATE = {
        **dict.fromkeys(("draw", "explain", "nan_check"), "lindiff.seeing"),
        "program": "lindiff.programs",
        "vmap": "lindiff.transforms.vmap",
    }

    def __getattr__(name):
        if name in _LATE:
            globals()[name] = getattr(_import_module(_LATE[name]), name)
            return globals()[name]
        if name in __dir__():
            return _import_module(f"lindiff.{name}")
        hint = _hint(name)
        if hint and _is_import():
            raise ImportError(f"cannot import name {name!r} from 'lindiff'{hint}")
        raise AttributeError(f"module 'lindiff' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_NAMESPACES])


del _libraries, _record, _rules
