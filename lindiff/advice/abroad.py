"""Errors that arise inside other packages: whose line, what stops it, and what the user can do.

A package's code cannot be edited.  Where it makes plain arrays with NumPy, ``patch_numpy`` lets these take
Variables; where it asks for types or computes with Python's numbers, it needs a rule.  Errors of a package
that hide ours (C code that drops it), or that come from looking at types, are explained when they leave a
transform.
"""

from __future__ import annotations

import ast
import contextvars
import importlib
import linecache
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.advice.place import Place
from lindiff.core.files import is_installed, is_standard
from lindiff.core.namespaces import is_patched
from lindiff.core.record import current_trace
from lindiff.core.variable import Variable

__all__ = ["explain", "has_ours", "in_package", "line_of", "remember"]

# Packages that hand arrays to compiled code, files or screens: no patch makes them take Variables.
_TAKE_PLAIN_ARRAYS = ("matplotlib", "mpl_toolkits", "pandas")

# The last refusal, and when the transform began that it came from.
_last: contextvars.ContextVar[tuple[int, str]] = contextvars.ContextVar("lindiff.refusal")


def line_of(frame: types.FrameType) -> str:
    """The line that a frame is at, as tracebacks show it."""
    return _line(frame.f_code, frame.f_lineno, frame.f_globals)


def _line(code: types.CodeType, number: int, names: dict[str, Any]) -> str:
    text = linecache.getline(code.co_filename, number, names).strip()
    return f'\n  File "{code.co_filename}", line {number}' + (f"\n    {text}" if text else "")


# -- what to do about a package's line ---------------------------------------------------------------------


def in_package(place: Place, inside: Place) -> str | None:
    """Advice for the user's ``place`` where a package that it called refuses a Variable ``inside``.

    Parameters
    ----------
    place, inside : Place
        The user's line, and the package's.

    Returns
    -------
    str or None
        None where the package is for plain arrays alone.
    """
    package = _name(inside.frame)
    statement = place.statement()
    drawn = isinstance(statement, ast.Expr) and statement.value is place.node  # nobody uses a result
    if package in _TAKE_PLAIN_ARRAYS or drawn:
        return None
    if is_patched(inside.frame.f_globals):
        return _needs_rule(
            place, inside, "is patched already, and gives arrays to what takes none of ours there"
        )
    reason = _mended(inside)
    if reason is None:
        return _needs_rule(place, inside, "computes in compiled code there")
    return f"{package} {reason}; {_patched(place, package)}"


def _name(frame: types.FrameType) -> str:
    """The package that a frame's code belongs to."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _mended(inside: Place) -> str | None:
    """What the package's refused expression does, where ``patch_numpy`` lets it take Variables."""
    node = inside.node
    function = inside.meaning(node.func) if isinstance(node, ast.Call) else None
    if function in (float, int, complex) or _module(function) in ("math", "cmath"):
        return "computes with Python's numbers"
    if _module(function).startswith("scipy."):
        return "calls SciPy" if has_ours(_module(function).partition("._")[0], _name_of(function)) else None
    if not any(map(_is_numpys, inside.frame.f_globals.values())):
        return None
    owner = getattr(function, "__self__", None)
    of_numpy = function is None or isinstance(owner, np.ndarray) or _is_numpys(function)
    return "makes plain arrays" if of_numpy else None


def _name_of(function: Any) -> str:
    """The name of a function of SciPy, or of the distribution whose method it is."""
    return str(getattr(getattr(function, "__self__", None), "name", None) or function.__name__)


def has_ours(module: str, name: str) -> bool:
    """Whether ``lindiff`` has a module of SciPy, and in it the name, ``quad`` or ``norm.logpdf``."""
    try:
        ours = importlib.import_module(f"lindiff.scipy.{module.removeprefix('scipy.')}")
    except ImportError:
        return False
    name, _, method = name.partition(".")
    if name not in ours.__all__:
        return False
    found = getattr(ours, name)
    return not method or hasattr(found if isinstance(found, type) else type(found), method)


def _is_numpys(x: Any) -> bool:
    """Whether ``x`` is NumPy, one of its functions, or what stands for them while patched."""
    if isinstance(x, types.ModuleType):
        return x.__name__ in ("numpy", "lindiff.numpy")
    return callable(x) and (isinstance(x, np.ufunc) or _module(x).startswith(("numpy", "lindiff.numpy")))


def _module(x: Any) -> str:
    return getattr(x, "__module__", None) or ""


def _patched(place: Place, package: str) -> str:
    """Advice to run the user's statement under the patch."""
    around = place if place.frame.f_code.co_name != "<lambda>" else place.transforming() or place
    ld = around.called("lindiff")
    context = f'with {ld or "ld"}.patch_numpy(modules=["{package}"]):'
    statement = around.statement()
    if statement is None or hasattr(statement, "body") or around.shares_line(statement):
        advice = f"run it within\n    {context}"
    else:
        advice = f"write {around.rewritten(statement, f'{context} {around.text(statement)}')}"
    return advice if ld else f"{advice}\nand begin with\n    import lindiff as ld"


def _needs_rule(place: Place, inside: Place, reason: str) -> str:
    ld = place.called("lindiff") or "ld"
    called = place.text(place.node.func) if isinstance(place.node, ast.Call) else inside.frame.f_code.co_name
    return (
        f"{_name(inside.frame)} {reason}: give {called} a rule of its own (@{ld}.rule), or give it "
        f"{ld}.value(v) where its derivative does not matter"
    )


# -- errors of others ------------------------------------------------------------------------------------


def remember(message: str) -> None:
    """Keep what a refusal says, in case that the code which gets it drops it."""
    _last.set((current_trace().began, message))


def explain(error: Exception) -> None:
    """Give an error that leaves a transform the cause that it hides, if there is one.

    Parameters
    ----------
    error : Exception
        Its ``__cause__`` is set where a refusal was dropped on the way, or where it comes from code of a
        package that looks at the type of a Variable.
    """
    if error.__cause__ is not None or error.__traceback__ is None:
        return
    began, message = _last.get((0, ""))
    if began == current_trace().began:
        if all(message not in str(other) for other in _chain(error)):
            error.__cause__ = TypeError(message)
        return
    try:
        looked = _look_at_types(error.__traceback__)
    except Exception:  # an explanation that fails must not hide the error
        return
    if looked is not None:
        error.__cause__ = TypeError(looked)


_OF_CYTHON = (".pyx", ".pxd", ".pxi", "<stringsource>")  # whose frames are not Python's


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that were being handled when it was raised."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _look_at_types(traceback: types.TracebackType) -> str | None:
    """What to say of an error in a package that looks at a Variable's type, or lets C code do so."""
    levels: list[types.TracebackType] = [traceback]
    while levels[-1].tb_next is not None:
        levels.append(levels[-1].tb_next)
    levels = [level for level in levels if not level.tb_frame.f_code.co_filename.endswith(_OF_CYTHON)]
    last = levels[-1]
    filename = last.tb_frame.f_code.co_filename
    if (
        not is_installed(filename)
        or is_standard(filename)
        or _name(last.tb_frame) in ("lindiff", "numpy", "scipy")
    ):
        return None
    inside = Place(last.tb_frame, None, last)
    asked, given = _question(inside, last.tb_lineno), _given_to_compiled_code(inside)
    if asked is not None:
        seen = f"looks at types, and {inside.text(asked.args[0])}, a Variable, is no np.ndarray and no float"
        reason, line = "takes no other types", asked.lineno
    elif given is not None:
        seen = f"gives {inside.text(given)}, a Variable, to compiled code"
        reason, line = "computes in compiled code there", last.tb_lineno
    else:
        return None
    shown = _line(last.tb_frame.f_code, line, last.tb_frame.f_globals)
    package = _name(last.tb_frame)
    message = f"{package} {seen}{shown}"
    users = [level for level in levels if not is_installed(level.tb_frame.f_code.co_filename)]
    if not users:
        return message
    place = Place(users[-1].tb_frame, None, users[-1])
    shown = _line(users[-1].tb_frame.f_code, users[-1].tb_lineno, users[-1].tb_frame.f_globals)
    if asked is not None and not is_patched(last.tb_frame.f_globals):
        advice = f"{package} {reason}; {_patched(place, package)}"
    else:
        advice = _needs_rule(place, inside, reason)
    return f"{message}\n  called in{shown}\n{advice}"


def _given_to_compiled_code(inside: Place) -> ast.expr | None:
    """The Variable that the call under way gives to a function that is not written in Python."""
    call = inside.node
    if not isinstance(call, ast.Call) or isinstance(inside.meaning(call.func), types.FunctionType):
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return next((x for x in given if isinstance(x, ast.Name) and inside.is_variable(x)), None)


def _question(inside: Place, line: int) -> ast.Call | None:
    """``isinstance(x, ...)`` or ``type(x)`` of a Variable, the last in the function before a line."""
    if inside.tree is None:
        return None
    first = inside.frame.f_code.co_firstlineno
    calls = [
        node
        for node in ast.walk(inside.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "type")
        and node.args
        and first <= node.lineno <= line
        and type(inside.meaning(node.args[0])) is Variable
    ]
    return max(calls, key=lambda call: call.lineno, default=None)
