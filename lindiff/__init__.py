"""Exact derivatives for plain NumPy code, with linear algebra at the speed of LAPACK."""

try:
    from lindiff.core import record as _record
except ImportError as error:
    raise ImportError(
        "lindiff's compiled modules are missing. If you are in a clone of its repository, Python found the "
        "source tree there instead of the installed package: change to another folder, or install with "
        "`pip install -e .`"
    ) from error

from lindiff import linalg
from lindiff import rules as _rules  # gives NumPy's functions their rules
from lindiff.core.differential import Bilinear, Differential, Elementwise, Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.transforms.checkpoint import checkpoint
from lindiff.transforms.constants import stop_gradient
from lindiff.transforms.curvature import ggnvp, hvp
from lindiff.transforms.forward import jvp
from lindiff.transforms.implicit import implicit
from lindiff.transforms.jacobian import hessian, jacobian
from lindiff.transforms.linearize import linear_transpose, linearize
from lindiff.transforms.reverse import grad, value_and_grad, vjp

__all__ = [
    "Bilinear",
    "Differential",
    "Elementwise",
    "Linear",
    "Variable",
    "checkpoint",
    "ggnvp",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "linalg",
    "linear_transpose",
    "linearize",
    "rule",
    "stop_gradient",
    "value",
    "value_and_grad",
    "vjp",
]

del _record, _rules
