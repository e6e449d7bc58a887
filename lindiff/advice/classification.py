"""What every public function of NumPy does with Variables.

The rules say it of the functions they are for; listed here is the rest of ``numpy``, ``numpy.linalg`` and
``numpy.fft``: what makes constants, what does not reach a library through NumPy's protocols, and what has
nothing to do with derivatives.  A name that only some versions of NumPy have is marked with them.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.core.registry import Rule, handler_kind, raise_unsupported, refuse
from lindiff.rules.ufuncs import method_of_ufunc

__all__ = ["Support", "supported"]

# Made without Variables, or from their shapes alone.
CONSTANT_MAKERS = """
    arange bartlett blackman broadcast_shapes diag_indices diag_indices_from einsum_path empty eye
    fft.fftfreq fft.rfftfreq fromfunction hamming hanning identity indices mask_indices ones
    ravel_multi_index tri tril_indices tril_indices_from triu_indices triu_indices_from unravel_index zeros
"""

# Written in Python without a protocol, in functions that act on Variables.
OF_OTHERS = {
    "isfortran": "zero derivative",
    "isscalar": "zero derivative",
    "iterable": "zero derivative",
    "row_stack": "differentiable",
    "trapz": "differentiable",
}

# Have a rule, but make arrays of anything: NumPy does not hand a Variable among their arguments over.
MAKERS_OF_ARRAYS = """
    array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray fromiter full kaiser require
"""

# By the reason why there is no derivative.
OUT_OF_SCOPE = {
    "acts on integers, bits or booleans": """
        bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor gcd invert lcm left_shift packbits right_shift unpackbits
    """,
    "acts on dates": """
        busday_count busday_offset datetime_as_string datetime_data is_busday isnat
    """,
    "reads, writes or prints": """
        base_repr binary_repr format_float_positional format_float_scientific fromfile fromregex
        fromstring genfromtxt get_printoptions info load loadtxt printoptions save savetxt savez
        savez_compressed set_printoptions
    """,
    "is about dtypes": """
        isdtype issubdtype min_scalar_type mintypecode promote_types typename
    """,
    "takes the memory of other objects, or Python objects, into plain arrays": """
        from_dlpack frombuffer frompyfunc nested_iters
    """,
    "makes np.matrix, whose operators mean something else": """
        asmatrix bmat
    """,
    "has given way to np.isin": """
        in1d
    """,
    "is about the library itself": """
        fft.test get_include getbufsize geterr geterrcall linalg.test setbufsize seterr seterrcall
        show_config show_runtime test
    """,
}

# Names that not every supported NumPy has: since when, until when.
SINCE = {
    "cumulative_prod": "2.1",
    "cumulative_sum": "2.1",
    "unstack": "2.1",
    "matvec": "2.2",
    "vecmat": "2.2",
}
UNTIL = {"in1d": "2.3", "trapz": "2.3", "row_stack": "2.4"}


@dataclass(frozen=True)
class Support:
    """What a function does with Variables; true where it may be called while differentiating.

    Parameters
    ----------
    kind : str
        "differentiable"; "zero derivative": takes Variables and gives plain results; "constant": makes
        arrays that depend on no Variable; "out of scope" or "unsupported": does not take Variables.
    note : str
        What to write instead, where it does not take Variables or NumPy does not hand them over.
    """

    kind: str
    note: str = ""

    def __bool__(self) -> bool:
        return self.kind not in ("out of scope", "unsupported")


def supported(function: Callable[..., Any] | str) -> Support:
    """Whether and how a function of NumPy or SciPy may be called on Variables.

    Parameters
    ----------
    function : callable or str
        A function, a ufunc or a method of a ufunc, or its dotted name.

    Returns
    -------
    Support
        True or false; its ``kind`` is "differentiable", "zero derivative", "constant", "out of scope" or
        "unsupported", its ``note`` says what to write instead of the last two.

    Raises
    ------
    ValueError
        For a dotted name under which the installed packages have nothing.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.supported(np.linalg.cholesky)
    Support(kind='differentiable', note='')
    >>> ld.supported("numpy.argmax").kind
    'zero derivative'
    >>> ld.supported(np.add.reduce).kind
    'differentiable'
    >>> bool(ld.supported(np.gcd))
    False
    """
    if isinstance(function, str):
        function = _named(function)
    if isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, np.ufunc):
        return _of_method(function.__self__, function.__name__)
    if function in _listed():
        return _listed()[function]
    kind = handler_kind(function)
    if kind is not None:
        return Support("zero derivative" if kind == "Constant" else "differentiable")
    module = _module(function)
    if isinstance(function, Rule) or (module.startswith("lindiff.") and not _refuses(function, module)):
        return Support("differentiable")
    return Support("unsupported", _instead_of(function, module))


@functools.cache
def _listed() -> dict[Any, Support]:
    """The functions of the lists above."""
    listed = {name: Support("constant") for name in CONSTANT_MAKERS.split()}
    listed |= {name: Support(kind) for name, kind in OF_OTHERS.items()}
    for name in MAKERS_OF_ARRAYS.split():
        note = f"use lindiff.numpy.{name}; NumPy's own sees Variables only with like= one, where it has that"
        listed[name] = Support("differentiable", note)
    for reason, names in OUT_OF_SCOPE.items():
        for name in names.split():
            listed[name] = Support("out of scope", f"write {_of_value(name, reason)}")
    return {
        _named(f"numpy.{name}"): support
        for name, support in listed.items()
        if hasattr(np, name) or not (name in SINCE or name in UNTIL)
    }


def _of_value(name: str, reason: str) -> str:
    return f"numpy.{name}(ld.value(v)), which {reason}"


def _named(name: str) -> Any:
    """The object of a dotted name."""
    package, *path = name.split(".")
    try:
        found = importlib.import_module("numpy" if package == "np" else package)
        for part in path:
            if not hasattr(found, part) and isinstance(found, types.ModuleType):
                importlib.import_module(".".join([found.__name__, part]))
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise ValueError(f"there is nothing called {name!r}") from None
    return found


def _of_method(ufunc: np.ufunc, method: str) -> Support:
    if method_of_ufunc(ufunc, method) is not None:
        return supported(ufunc)
    return Support("unsupported", f"np.{ufunc.__name__}.{method} has no derivative rule")


def _instead_of(function: Any, module: str) -> str:
    """What to write instead: the function of lindiff's namespace of that name, or what the error says."""
    public, name = _public_name(function, module)
    if public.partition(".")[0] == "scipy":
        if _is_offered(f"lindiff.{public}", name):
            return f"write lindiff.{public}.{name}"
        full = f"{public}.{name}" if _is_found(public, name) else name
        return (
            f"{full} has no derivative rule in lindiff: call it in a function of your own that has one "
            f"(@ld.rule), or use {full}(ld.value(v)) where its derivative does not matter"
        )
    try:
        raise_unsupported(function)
    except TypeError as error:
        return str(error)


def _refuses(function: Any, module: str) -> bool:
    """Whether a distribution of lindiff's namespace is SciPy's own, for plain arrays alone."""
    name = getattr(function, "name", None)
    return isinstance(name, str) and not _is_offered(module.partition("._")[0], name)


def _public_name(function: Any, module: str) -> tuple[str, str]:
    """The module and the name by which users have a function, a distribution, or a method of one."""
    owner = getattr(function, "__self__", function)
    distribution = getattr(owner, "dist", owner)  # of a frozen one
    name = getattr(function, "__name__", "")
    if _is_distribution(distribution):
        family = distribution.name
        return "scipy.stats", family if owner is function else f"{family}.{name}"
    return module.partition("._")[0], name


def _is_found(module: str, name: str) -> bool:
    """Whether a module of SciPy has what is called so."""
    return hasattr(importlib.import_module(module), name.partition(".")[0])


def _is_distribution(x: Any) -> bool:
    return type(x).__module__.startswith(("scipy.stats.", "lindiff.scipy.stats.")) and isinstance(
        getattr(x, "name", None), str
    )


def _is_offered(module: str, name: str) -> bool:
    """Whether a namespace of lindiff has a derivative of what it has by that name."""
    first, *rest = name.split(".")
    try:
        namespace = importlib.import_module(module)
    except ImportError:
        return False
    found = functools.reduce(lambda x, part: getattr(x, part, None), rest, getattr(namespace, first, None))
    return first in namespace.__all__ and (not rest or _module(found).startswith("lindiff."))


def _module(x: Any) -> str:
    return getattr(x, "__module__", None) or ""


for _reason, _names in OUT_OF_SCOPE.items():
    for _name in _names.split():
        if hasattr(_named("numpy"), _name):
            refuse(_named(f"numpy.{_name}"), f"it {_reason}")
