"""What to write instead, where a Variable would have lost its derivative.

NumPy's C code and Python's ``math`` ask a Variable for a plain array or number in calls that no protocol lets
us answer.  :func:`refusal` makes the error for them: it finds the line of the user's code, and for the calls
it knows the line that works.  It only reads source text and names; nothing is evaluated twice.
"""

from __future__ import annotations

import ast
import cmath
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.advice.abroad import has_ours, in_package, line_of, remember
from lindiff.advice.place import RANDOM, Place, own_frame, package_frame
from lindiff.core.variable import Variable

__all__ = ["refusal"]

_REFUSED = {
    "array": "a Variable does not turn into a plain array silently, because its derivative would be lost",
    "float": "a Variable does not turn into a plain number silently, because its derivative would be lost",
    "complex": "a Variable does not turn into a plain number silently, because its derivative would be lost",
    "int": "int(v) would lose the derivative",
    "index": "a Variable is no index",
    "view": "this plain array is a view of another one, which would not see the change",
    "held": "this plain array is held elsewhere, too, or may be, where the change would not be seen",
    "table": "a table holds plain arrays, the result is a Variable",
}

_TAKES_VARIABLES = (
    "an array that takes Variables (np.zeros(n, like=v) for some Variable v, or begin with "
    "`import lindiff.numpy as np`)"
)

_IN_GENERAL = {
    "array": "use ld.value(v) for the plain values; build arrays from Variables with np.stack([...]), "
    "np.concatenate, np.block or np.array([...], like=v), fill np.zeros(n, like=v), or "
    "`import lindiff.numpy as np`",
    "float": "use ld.value(v) for the plain number, and NumPy's functions (np.log(v), not math.log(v)) to go "
    "on computing; fill np.zeros(n, like=v) rather than np.zeros(n)",
    "complex": "use ld.value(v), or v + 0j to go on computing",
    "int": "write int(ld.value(v))",
    "index": "write int(ld.value(v))",
    "view": f"make the whole array {_TAKES_VARIABLES}",
    "table": "write a = a + v instead of a += v",
    "room": f"make it {_TAKES_VARIABLES}",
    "objects": "leave out dtype=object, or keep Variables in a list",
    "records": "make one array of each field",
    "masks": "compute with the array itself, np.where(mask, ..., 0.0) and where=~mask",
    "matrix": "make an array, np.array([...], like=v), and write @ for its products",
    "held": f"make it {_TAKES_VARIABLES} where it is made; or, if nobody else has to see the change, write "
    "a = a + v",
}


def refusal(variable: Any, wanted: str, message: str | None = None) -> TypeError:
    """The error that `lindiff.core.refusals.refusal` returns."""
    message = message or _REFUSED[wanted]
    frame = own_frame()
    if frame is None:
        return TypeError(f"{message}: {_IN_GENERAL[wanted]}")
    package = package_frame(frame)
    if package is not None:
        message += f"{line_of(package)}\n  called in"
    message += line_of(frame)
    try:
        place = Place(frame, variable)
        if package is not None:
            written = in_package(place, Place(package, variable)) or _plainly(place, place.node)
        else:
            written = _written(place, wanted)
    except Exception:  # advice that fails must not hide the error it was for
        written = None
    message += f"\n{written or _IN_GENERAL[wanted]}"
    remember(message)
    return TypeError(message)


_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp)
_EXPRESSIONS = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Call)


def _loaded(target: ast.expr) -> ast.expr:
    """The target of an assignment as an expression."""
    return ast.parse(ast.unparse(target), mode="eval").body


def _written(place: Place, wanted: str) -> str | None:
    """Advice for the expression at a place; None where none is known."""
    node = place.node
    if wanted == "objects":
        return None
    if isinstance(node, ast.Subscript):
        if isinstance(node.ctx, ast.Load):
            if isinstance(place.meaning(node.value), (type(np.r_), type(np.c_))):
                return _rows(place, node)
            return f"write {place.operand(node.value)}[int(ld.value(...))]; an index has no derivative"
        return _in_fields(place, node) or _make_room(place, node.value)
    if isinstance(node, ast.AugAssign) and wanted == "table":
        name = place.text(node.target) if isinstance(node.target, ast.Name) else "y"
        changed = ast.unparse(ast.BinOp(_loaded(node.target), node.op, node.value))
        return f"write {place.rewritten(node, f'{name} = {changed}')}"
    if isinstance(node, ast.AugAssign):
        return _in_fields(place, node.target) or _add_in_place(place, node.target, wanted)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = f"{place.operand(node.left)} % ld.value({place.text(node.right)})"
        return f"write {place.rewritten(node, text)}"
    if isinstance(node, ast.BinOp) and any(isinstance(part, _DISPLAYS) for part in (node.left, node.right)):
        return _stacked_operands(place, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return _product(place, node)
    if isinstance(node, ast.Call):
        return _call(place, node)
    return None


def _stacked_operands(place: Place, node: ast.BinOp) -> str:
    """``a @ [v, 1.0]``."""

    def array(part: ast.expr) -> ast.expr:
        stacked = f"{place.numpy()}.stack({place.text(part)})"
        return ast.parse(stacked, mode="eval").body if isinstance(part, _DISPLAYS) else part

    text = ast.unparse(ast.BinOp(array(node.left), node.op, array(node.right)))
    return _or_import(place, node, text)


def _product(place: Place, node: ast.BinOp) -> str | None:
    """``frame @ v``, ``sparse @ v``."""
    left, right = place.meaning(node.left), place.meaning(node.right)
    other, name = (right, node.right) if type(left) is Variable else (left, node.left)
    if type(other).__module__.startswith("scipy.sparse"):
        dense = f"{place.operand(name)}.toarray()"
    elif hasattr(type(other), "__array__"):
        dense = f"{place.numpy()}.asarray({place.text(name)})"
    else:
        return None
    parts = [dense if part is name else place.operand(part) for part in (node.left, node.right)]
    line = place.rewritten(node, " @ ".join(parts))
    return f"write {line}\nor give the product a rule of its own, ld.Linear"


def _make_room(place: Place, array: ast.AST) -> str:
    """A plain array that a Variable is written into: make it one that accepts Variables."""
    name = place.text(array)
    held = place.meaning(array)
    if hasattr(type(held), "__array__") and not isinstance(held, np.ndarray):
        return f"{name} holds plain arrays; go on with the Variable itself, and store there its ld.value(...)"
    if not isinstance(array, (ast.Name, ast.Attribute, ast.Subscript)):
        return f"{name} is a plain array: make it {_TAKES_VARIABLES}"
    if (around := place.around(array)) is not None:
        return _make_room(around, array)
    made = place.made(array)
    of_whole_numbers = getattr(getattr(held, "dtype", None), "kind", "f") in "biu"
    maker = _with_room(place, made, of_whole_numbers) if made is not None else None
    if made is None and place.is_given(array):
        if (call := place.caller_of(name)) is not None and isinstance(call[1], (ast.Name, ast.Attribute)):
            return _make_room(*call)
        return (
            f"{name} is a plain array that {place.frame.f_code.co_name} was given: where it is made, make it "
            f"{_TAKES_VARIABLES}"
        )
    if place.is_outer(array):
        return _make_inside(place, name, maker, of_whole_numbers)
    is_view = isinstance(held, np.ndarray) and held.base is not None and sys.getrefcount(held.base) > 2
    if maker is None and is_view:
        return _IN_GENERAL["view"]
    taken = isinstance(made, (ast.Subscript, ast.Attribute))  # from what keeps it
    if maker is None and (taken or place.has_other_names(array)):  # a copy would not be seen there
        return _IN_GENERAL["held"]
    if made is None or maker is None:
        like = "" if place.is_ours() else f", like={place.like()}"
        like = f", dtype=float{like}" if of_whole_numbers else like
        return (
            f"{name} is a plain array; write {place.above(f'{name} = {place.numpy()}.array({name}{like})')}"
        )
    return _or_import(place, made, maker)


def _make_inside(place: Place, name: str, maker: str | None, of_whole_numbers: bool) -> str:
    """A plain array that was made outside the function, whose names it is not among: one of its own."""
    function = place.frame.f_code.co_name
    if maker is not None and place.is_shared(name):
        return (
            f"{name} is a plain array, made outside {function}, and others use it, too: give it to them as "
            f"an argument; where it is made, make it {_TAKES_VARIABLES}"
        )
    outside = f"{name} is a plain array, made outside {function}; write"
    if maker is not None:
        return f"{outside} {place.above(f'{name} = {maker}', place.beginning())}"
    dtype = ", dtype=float" if of_whole_numbers else ""
    copied = f"own = {place.numpy()}.array({name}{dtype}, like={place.like()})"
    return f"{outside} {place.above(copied, place.beginning())}\nand own for {name} in {function}"


def _in_fields(place: Place, target: ast.expr) -> str | None:
    """``t["a"][i] = v`` in a structured array, whose fields take Variables as the items of a dict."""
    array = target
    while isinstance(array, ast.Subscript):
        array = array.value
    if isinstance(array, ast.Attribute) and array.attr in _fields(place, array.value):  # of a np.recarray
        array = array.value
    names, name = _fields(place, array), place.text(array)
    if not names or array is target:
        return None
    made = place.made(array)
    statement = place.statement(made) if made is not None else None
    if made is None or statement is None or place.is_used_whole(array, statement):
        return f"{name} is a structured array, which takes no Variables: {_IN_GENERAL['records']}"
    parts = f"{{k: {place.numpy()}.array({name}[k], like={place.like(made)}) for k in {name}.dtype.names}}"
    apart = place.rewritten(statement, f"{place.text(statement)}; {name} = {parts}")
    items = [(item, _by_field(place, item, name, names)) for item in place.items_of(array)]
    others = [(item, text) for item, text in items if text != ast.unparse(item).replace("'", '"')]
    return "\nand ".join([f"a structured array takes no Variables; write {apart}", *place.lines(others)])


def _by_field(place: Place, item: ast.Subscript | ast.Attribute, name: str, names: Sequence[str]) -> str:
    """``t["a"][i]`` for ``t[i]["a"]`` and ``t.a[i]``, ``t["a"][...]`` where ``t["a"]`` is written to."""
    path: list[ast.expr] = []
    rest: ast.expr = item
    while isinstance(rest, (ast.Subscript, ast.Attribute)) and place.text(rest) != name:
        path.insert(0, rest.slice if isinstance(rest, ast.Subscript) else ast.Constant(rest.attr))
        rest = rest.value
    fields = [place.constant(part) for part in path]
    index = "".join(f"[{ast.unparse(part)}]" for part in path if not isinstance(place.constant(part), str))
    wanted = [field for field in fields if isinstance(field, str)] or names
    whole = "[...]" if isinstance(item.ctx, ast.Store) else ""
    return ", ".join(f'{name}["{field}"]{index or whole}' for field in wanted)


def _fields(place: Place, array: ast.expr) -> tuple[str, ...]:
    """The names of an array's fields."""
    held = place.meaning(array)
    return (held.dtype.names or ()) if isinstance(held, np.ndarray) else ()


def _add_in_place(place: Place, target: ast.AST, wanted: str) -> str | None:
    """``a[1:] += v``, ``b += v`` after ``b = a[1:]``, or ``a += v`` after ``b = a``."""
    made = place.made(target)
    view = target if isinstance(target, ast.Subscript) else made
    if wanted == "held":
        return _make_room(place, target) if isinstance(made, ast.Call) else None
    return _make_room(place, view.value) if isinstance(view, ast.Subscript) else None


def _rows(place: Place, node: ast.Subscript) -> str:
    """``np.r_[v, w]``, ``np.c_[v, w]``."""
    numpy = place.numpy()
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(part, (ast.Slice, ast.Constant)) and not _is_number(part) for part in parts):
        return f"begin with `import lindiff.numpy as {numpy}`"
    if isinstance(place.meaning(node.value), type(np.c_)):
        join = "column_stack"
    else:
        join = "concatenate" if any(np.ndim(place.meaning(part)) > 1 for part in parts) else "hstack"
    return _or_import(place, node, f"{numpy}.{join}([{', '.join(map(place.text, parts))}])")


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))


def _with_room(place: Place, made: ast.AST, of_whole_numbers: bool) -> str | None:
    """The call that makes an array, ``np.zeros(n)``, with ``like=`` a Variable, and of floats."""
    if not isinstance(made, ast.Call):
        return None
    function, like = place.meaning(made.func), f", like={place.like(made)}"
    if of_whole_numbers:
        like = f", dtype=float{like}"
        made = _without_dtype(place, made)
    given = [place.text(argument) for argument in [*made.args, *made.keywords]]
    if function in _MAKERS:
        return f"{place.text(made.func)}({', '.join(given)}{like})"
    if function in _MAKERS_LIKE and made.args:
        given[0] = f"{place.numpy()}.shape({given[0]})"
        return f"{place.numpy()}.{_MAKERS_LIKE[function]}({', '.join(given)}{like})"
    return None


def _without_dtype(place: Place, call: ast.Call) -> ast.Call:
    """A call that makes an array, without its dtype."""
    args = [argument for argument in call.args if not isinstance(place.meaning(argument), (type, np.dtype))]
    keywords = [keyword for keyword in call.keywords if keyword.arg != "dtype"]
    return ast.Call(call.func, args, keywords)


def _call(place: Place, call: ast.Call) -> str | None:
    if isinstance(call.func, ast.Call) and place.meaning(call.func.func) is np.vectorize:
        return _vectorized(place, call)
    function = place.meaning(call.func)
    if (frozen := _frozen(place, call)) is not None:
        return frozen
    if isinstance(call.func, ast.Attribute):
        frozen = _frozen(place, call.func.value)
        if frozen is not None:
            return frozen
    if function is None:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "dot":
            return _method(place, call, call.func)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CHOICES and call.args:
            return _draw(place, call, call.func.attr)
        return _plainly(place, call)
    try:
        advise = _ADVICE.get(function)
    except TypeError:  # not hashable
        advise = None
    if advise is not None:
        return advise(place, call)
    if isinstance(function, np.vectorize):
        return _vectorized(place, call)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, RANDOM):
        return _draw(place, call, function.__name__)
    if isinstance(owner, np.ufunc) and function.__name__ == "at":
        return _make_room(place, call.args[0])
    if isinstance(owner, np.ndarray) and isinstance(call.func, ast.Attribute):
        return _method(place, call, call.func)
    module, _, _ = (getattr(function, "__module__", None) or "").partition("._")
    if module.startswith("scipy"):
        return _scipy(place, call, function, module)
    if module.startswith("lindiff.scipy.integrate"):
        return _given_as_args(place, call, f"scipy.integrate.{function.__name__}")
    if module.startswith("numpy.polynomial"):
        arguments = ", ".join(place.text(argument) for argument in [*call.args, *call.keywords])
        series = getattr(function, "__self__", function)  # of Polynomial.fit the class
        shared = getattr(np.polynomial, series.__name__, None) is series
        home = "numpy.polynomial" if shared else function.__module__
        name = function.__name__ if series is function else f"{series.__name__}.{function.__name__}"
        return _ours(place, call, f"{home}.{name}({arguments})")
    if module.startswith("numpy.ma"):
        return f"a masked array takes no Variables: {_IN_GENERAL['masks']}"
    if (module == "numpy" or module.startswith("numpy.")) and module != "numpy.testing":
        return _lists(place, call)
    return _plainly(place, call)


def _plainly(place: Place, call: ast.AST | None) -> str | None:
    """A call into a library that takes plain arrays alone: ``plt.plot(t, v)``."""
    if not isinstance(call, ast.Call):
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    held = [argument for argument in given if place.holds_variable(argument)]
    if not held or not all(isinstance(argument, _EXPRESSIONS) for argument in held):
        return None
    ld = place.called("lindiff") or "ld"
    parts = [(f"{keyword.arg}=" if keyword.arg else "**", keyword.value) for keyword in call.keywords]
    parts = [*(("", argument) for argument in call.args), *parts]
    arguments = [
        f"{name}{ld}.value({place.text(argument)})" if argument in held else f"{name}{place.text(argument)}"
        for name, argument in parts
    ]
    line = place.rewritten(call, f"{place.text(call.func)}({', '.join(arguments)})")
    return f"this function takes plain arrays; where its derivative does not matter, write {line}"


def _ours(place: Place, node: ast.AST, text: str) -> str:
    """Advice to write ``text``, a name of ours that begins with ``numpy`` or ``scipy``, for ``node``."""
    ld = place.called("lindiff")
    name = f"{ld or 'lindiff'}.{text}"
    line = f"write {place.rewritten(node, name)}"
    return line if ld else f"{line}\nand begin with\n    import lindiff"


def _with_like(place: Place, call: ast.Call, like: str) -> str:
    return f"{place.text(call)[:-1].rstrip().rstrip(',')}, like={like})"


def _constructor(place: Place, call: ast.Call) -> str:
    """``np.array([v, 1.0])``."""
    first = call.args[0] if call.args else None
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "dtype")]
    names = [names for dtype in given if (names := _names_of(place, dtype))]
    if names:
        columns = f"zip({names[0]}, zip(*{place.text(call.args[0])}))"
        fields = f"{{k: {place.numpy()}.stack(column) for k, column in {columns}}}"
        return f"a structured array takes no Variables; write {place.rewritten(call, fields)}"
    if isinstance(first, _DISPLAYS) or isinstance(place.meaning(first), (list, tuple)):
        return _or_import(place, call, _with_like(place, call, place.like()))
    v = place.text(first) if first is not None else "v"
    if first is not None and place.is_variable(first):
        itself = _itself(place, call, first)
        if itself is None:
            return _in_ours("numpy")(place, call)
        line = place.rewritten(call, itself)
        return f"{v} is an array already: write {line}\nor ld.value({v}) for its numbers"
    return (
        f"if {v} is an array, write {v} alone, or ld.value({v}) for its numbers; if it goes through several, "
        f"write {place.numpy()}.stack([*{place.operand(first) if first is not None else v}])"
    )


def _names_of(place: Place, dtype: ast.expr) -> list[str]:
    """The names of the fields that a dtype says, by its name or written out."""
    if isinstance(dtype, ast.List) and all(isinstance(part, ast.Tuple) and part.elts for part in dtype.elts):
        return [place.constant(part.elts[0]) for part in dtype.elts]  # type: ignore[attr-defined]
    meaning = place.meaning(dtype)
    return (
        list(meaning.names or ())
        if isinstance(meaning, np.dtype)
        else [name for name, *_ in meaning if isinstance(name, str)]
        if isinstance(meaning, list)
        else []
    )


def _itself(place: Place, call: ast.Call, first: ast.expr) -> str | None:
    """What a constructor makes of its ``first`` argument, a Variable, and nothing else that it says; None
    where it says more: another order or dtype, for which it makes a copy or not."""
    said = {keyword.arg for keyword in call.keywords} | {"dtype" for _ in call.args[1:]}
    if said == {"ndmin"}:
        return f"{place.text(call)[:-1]}, like={place.text(first)})"
    if said or place.meaning(call.func) in (np.ascontiguousarray, np.asfortranarray, np.require):
        return None
    return f"{place.operand(first)}.copy()" if place.meaning(call.func) is np.array else place.text(first)


def _or_import(place: Place, node: ast.AST, text: str) -> str:
    """Advice to write ``text`` for ``node``."""
    text = f"write {place.rewritten(node, text)}"
    return text if place.is_ours() else f"{text}\nor begin with `import lindiff.numpy as {place.numpy()}`"


def _range(place: Place, call: ast.Call) -> str:
    numpy = place.numpy()
    return (
        f"write start + step * {numpy}.arange(n) with a plain n, or {place.text(call.func)}(ld.value(...)) "
        f"where its derivative does not matter; `import lindiff.numpy as {numpy}` has an arange of Variables"
    )


def _vectorized(place: Place, call: ast.Call) -> str:
    """``np.vectorize(f)(v)``, or ``f(v)`` of a name for one."""
    made = call.func
    alone = len(call.args) == 1 and not call.keywords and np.ndim(place.meaning(call.args[0])) < 2
    if not isinstance(made, ast.Call):
        ours = f"{place.called('lindiff') or 'lindiff'}.numpy.vectorize"
        if not alone:
            return f"where {place.text(made)} is made, write {ours}"
        f = f"{place.text(made)}.pyfunc"
    elif not alone or len(made.args) != 1 or made.keywords:
        return _in_ours("numpy")(place, made)
    else:
        f = place.operand(made.args[0])
    return _or_import(place, call, f"{place.numpy()}.stack([{f}(_) for _ in {place.text(call.args[0])}])")


def _in_ours(module: str) -> Callable[[Place, ast.Call], str]:
    """A function that NumPy does not dispatch, and ``module`` has."""

    def advise(place: Place, call: ast.Call) -> str:
        name = place.text(call.func).rpartition(".")[2]
        arguments = ", ".join(place.text(argument) for argument in [*call.args, *call.keywords])
        return _ours(place, call, f"{module}.{name}({arguments})")

    return advise


def _in_general(kind: str, wanted: str) -> Callable[[Place, ast.Call], str]:
    """For arrays of a ``kind`` that has no derivatives, whose operations are others."""
    return lambda place, call: f"a {kind} takes no Variables: {_IN_GENERAL[wanted]}"


def _into(position: int) -> Callable[[Place, ast.Call], str]:
    """A function that writes into its argument at ``position``."""
    return lambda place, call: _make_room(place, call.args[position])


def _mathematics(place: Place, call: ast.Call, function: str) -> str:
    arguments = ", ".join(place.text(argument) for argument in call.args)
    if function.startswith("scipy."):
        return _ours(place, call, f"{function}({arguments})")
    return f"write {place.rewritten(call, f'{function.format(np=place.numpy())}({arguments})')}"


def _formula(place: Place, call: ast.Call, formula: str) -> str:
    """A function that NumPy has not, in its functions."""
    arguments = [place.operand(argument) for argument in call.args]
    return f"write {place.rewritten(call, formula.format(*arguments, np=place.numpy()))}"


def _logarithm(place: Place, call: ast.Call) -> str:
    """``math.log(v)``, and to a base."""
    return _formula(place, call, "{np}.log({0}) / {np}.log({1})" if len(call.args) > 1 else "{np}.log({0})")


def _complex_function(place: Place, call: ast.Call, function: str) -> str:
    """Of ``cmath``, whose results are complex, also of real numbers."""
    return f"write {place.rewritten(call, f'{place.numpy()}.{function}({place.operand(call.args[0])} + 0j)')}"


def _hypotenuse(place: Place, call: ast.Call) -> str:
    """``math.hypot`` of any number of numbers."""
    if len(call.args) == 2 and not any(isinstance(argument, ast.Starred) for argument in call.args):
        return _mathematics(place, call, "{np}.hypot")
    numpy, arguments = place.numpy(), ", ".join(map(place.text, call.args))
    return f"write {place.rewritten(call, f'{numpy}.linalg.norm({numpy}.stack([{arguments}]))')}"


def _pairs(place: Place, call: ast.Call) -> str:
    """``for i, x in np.ndenumerate(A)``."""
    A, numpy = place.operand(call.args[0]), place.numpy()
    return _or_import(place, call, f"((i, {A}[i]) for i in {numpy}.ndindex({numpy}.shape({A})))")


def _number(place: Place, call: ast.Call) -> str:
    v = place.text(call.args[0]) if call.args else "v"
    of = f"{place.text(call.func)}(ld.value({v}))"
    kind = place.meaning(call.func)
    if kind is int or not call.args:
        return f"write {place.rewritten(call, of)}"
    if isinstance(call.args[0], _DISPLAYS):
        return _or_import(place, call, f"{place.numpy()}.array({v}, like={place.like()})")
    parts = [place.operand(argument) for argument in call.args]
    if len(parts) == 2:
        return f"write {place.rewritten(call, f'{parts[0]} + 1j * {parts[1]}')}"
    itself = f"{parts[0]} + 0j" if kind in (complex, np.complex128) else v
    return f"write {place.rewritten(call, itself)}\nto go on computing, or {of} for the plain number"


def _method(place: Place, call: ast.Call, method: ast.Attribute) -> str | None:
    """``plain.dot(v)``, ``plain.fill(v)``."""
    if method.attr == "dot" and len(call.args) == 1:
        return (
            f"write {place.rewritten(call, f'{place.operand(method.value)} @ {place.operand(call.args[0])}')}"
        )
    if method.attr.startswith("__"):
        return None
    array = place.text(method.value)
    arguments = ", ".join(place.text(argument) for argument in [*call.args, *call.keywords])
    if method.attr in ("fill", "put", "itemset", "setfield", "partition", "sort"):
        return _make_room(place, method.value)
    return f"write {place.rewritten(call, f'{place.numpy()}.{method.attr}({array}, {arguments})')}"


_CHOICES = ("choice", "permutation", "permuted", "shuffle")  # of the elements of an array

# The distributions of NumPy that are a plain draw, shifted and scaled: parameters with their defaults.
_DRAWS: dict[str, tuple[dict[str, str], str]] = {
    "exponential": ({"scale": "1.0"}, "{0} * {rng}.standard_exponential({size})"),
    "gumbel": ({"loc": "0.0", "scale": "1.0"}, "{0} + {1} * {rng}.gumbel({size=})"),
    "laplace": ({"loc": "0.0", "scale": "1.0"}, "{0} + {1} * {rng}.laplace({size=})"),
    "logistic": ({"loc": "0.0", "scale": "1.0"}, "{0} + {1} * {rng}.logistic({size=})"),
    "lognormal": (
        {"mean": "0.0", "sigma": "1.0"},
        "{np}.exp({0} + {1} * {rng}.standard_normal({size}))",
    ),
    "normal": ({"loc": "0.0", "scale": "1.0"}, "{0} + {1} * {rng}.standard_normal({size})"),
    "rayleigh": ({"scale": "1.0"}, "{0} * {rng}.rayleigh({size=})"),
    "uniform": ({"low": "0.0", "high": "1.0"}, "{0} + ({1} - {0}) * {rng}.random({size})"),
}


def _draw(place: Place, call: ast.Call, name: str) -> str:
    """``rng.normal(loc=v)``: a plain draw, shifted and scaled by Variables."""
    rng = place.text(call.func.value) if isinstance(call.func, ast.Attribute) else f"{place.numpy()}.random"
    if name in _CHOICES and call.args:
        plain = name == "choice" and not place.holds_variable(call.args[0])  # not so what it is weighted with
        return (_plainly(place, call) if plain else None) or _choice(place, call, name, rng)
    if name == "multivariate_normal" and len(call.args) > 1:
        return _normal_vectors(place, call, rng)
    if name not in _DRAWS:
        return f"write {rng}.{name}(ld.value(...)): this draw has no derivative by its parameters"
    parameters, formula = _DRAWS[name]
    nodes = _named(call, [*parameters, "size"])
    given = parameters | {parameter: place.operand(x) for parameter, x in nodes.items()}
    size = given.get("size", "") or _size_of(place, [x for name, x in nodes.items() if name != "size"])
    by_name = f"size={size}" if size else ""
    values = [given[parameter] for parameter in parameters]
    line = formula.replace("{size=}", by_name).format(*values, rng=rng, np=place.numpy(), size=size)
    return f"write {place.rewritten(call, line)}"


def _named(call: ast.Call, names: Sequence[str]) -> dict[str, ast.expr]:
    """What a call gives, by the names of the function's parameters."""
    by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return dict(zip(names, call.args, strict=False)) | by_name


def _size_of(place: Place, parameters: list[ast.expr]) -> str:
    """How many numbers are drawn where the call does not say it: one for each of the parameters, if these
    are arrays."""
    arrays = [
        place.text(x)
        for x in parameters
        if not _is_number(x) and (place.meaning(x) is None or np.ndim(place.meaning(x)) > 0)
    ]
    arrays = [x for x in arrays if any(name.isalpha() for name in x)]
    shapes = [f"{place.numpy()}.shape({x})" for x in arrays]
    return (
        shapes[0]
        if len(shapes) == 1
        else f"{place.numpy()}.broadcast_shapes({', '.join(shapes)})" * bool(shapes)
    )


def _normal_vectors(place: Place, call: ast.Call, rng: str) -> str:
    """``rng.multivariate_normal(mean, cov, size)``."""
    given, numpy = _named(call, ["mean", "cov", "size"]), place.numpy()
    mean, root = place.operand(given["mean"]), f"{numpy}.linalg.cholesky({place.text(given['cov'])})"
    line = f"{mean} + {root} @ {rng}.standard_normal(len({mean}))"
    if "size" in given:
        size = place.text(given["size"])
        several = isinstance(given["size"], ast.Tuple) or isinstance(place.meaning(given["size"]), tuple)
        shape = f"({'*' if several else ''}{size}, len({mean}))"
        line = f"{mean} + {rng}.standard_normal({shape}) @ {root}.T"
    others = "" if "method" in given else '\nwhich draws as with method="cholesky"'
    return f"write {place.rewritten(call, line)}{others}"


def _choice(place: Place, call: ast.Call, name: str, rng: str) -> str:
    """``rng.permutation(v)``: the elements of ``v`` at plain places."""
    numpy, x, operand = place.numpy(), place.text(call.args[0]), place.operand(call.args[0])
    names = ["a", "size", "replace", "p", "axis", "shuffle"] if name == "choice" else ["x", "axis"]
    given = {parameter: place.text(node) for parameter, node in _named(call, names).items()}
    if "p" in given:
        given["p"] = f"{place.called('lindiff') or 'ld'}.value({given['p']})"
    axis = given.pop("axis", "None" if name == "permuted" else "0")
    others = ", ".join(f"{parameter}={text}" for parameter, text in [*given.items()][1:])
    if name == "permuted":
        places = f"{numpy}.arange({numpy}.size({x})).reshape({numpy}.shape({x}))"
        return f"write {place.rewritten(call, f'{numpy}.take({x}, {rng}.permuted({places}, axis={axis}))')}"
    count = f"len({x})" if axis == "0" else f"{numpy}.shape({x})[{axis}]"
    places = f"{rng}.{'choice' if name == 'choice' else 'permutation'}({count}{others and ', ' + others})"
    drawn = f"{operand}[{places}]" if axis == "0" else f"{numpy}.take({x}, {places}, axis={axis})"
    return f"write {place.rewritten(call, f'{operand}[:] = {drawn}' if name == 'shuffle' else drawn)}"


def _scipy(place: Place, call: ast.Call, function: Any, module: str) -> str | None:
    """``scipy.linalg.expm(v)``, ``stats.norm.logpdf(v)``: what has that name in ``lindiff.scipy``."""
    name = function.__name__
    if isinstance(call.func, ast.Attribute):
        owner = place.meaning(call.func.value)
        if owner is not None and not isinstance(owner, types.ModuleType):  # a distribution
            name = f"{_public_name(owner, module) or type(owner).__name__}.{name}"
    ours = has_ours(module, name)
    if module == "scipy.integrate" and ours:
        line = _given_as_args(place, call, f"{module}.{name}")
        if line is not None:
            return line
    if ours:
        arguments = ", ".join(place.text(argument) for argument in [*call.args, *call.keywords])
        return _ours(place, call, f"{module}.{name}({arguments})")
    if module == "scipy.optimize":
        return (
            "the steps of a search have no derivative: ld.implicit(solver, residual) gives that of what it "
            "finds; use ld.value(v) where its derivative does not matter"
        )
    return f"lindiff has no derivative of {module}.{name}; use ld.value(v) where it does not matter"


def _public_name(x: Any, module: str) -> str | None:
    """Under which name a module has an object, whatever it was imported as."""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    return next((name for name, other in names.items() if other is x), None)


def _frozen(place: Place, distribution: ast.expr) -> str | None:
    """``norm(m, 1.0)``, of which a method was called: with derivatives where it is made."""
    made = distribution if isinstance(distribution, ast.Call) else place.made(distribution)
    if not isinstance(made, ast.Call):
        return None
    family = place.meaning(made.func)
    module = (getattr(type(family), "__module__", None) or "").partition("._")[0]
    name = place.text(made.func).rpartition(".")[2]
    if module != "scipy.stats" or not has_ours(module, name):
        return None
    arguments = ", ".join(place.text(argument) for argument in [*made.args, *made.keywords])
    return _ours(place, made, f"{module}.{name}({arguments})")


def _given_as_args(place: Place, call: ast.Call, name: str) -> str | None:
    """``quad(lambda x: v * x, 0, 1)``: Variables that a function closes over go through ``args``."""
    if not call.args or any(keyword.arg == "args" for keyword in call.keywords):
        return None
    first = call.args[0]
    held = _closed_over(place, first)
    if not held:
        return None
    names = ", ".join(held)
    rest = [place.text(argument) for argument in [*call.args[1:], *call.keywords]]
    if isinstance(first, ast.Lambda):
        function, where = f"lambda {ast.unparse(first.args)}, {names}: {place.text(first.body)}", ""
    else:
        function = place.text(first)
        header = place.header_with(place.meaning(first), names)
        where = (
            f"\nwith the further parameters {names} of {function}" if header is None else f"\nand {header}"
        )
    tail = ", ".join([function, *rest, f"args=({names},)"])
    return f"{_ours(place, call, f'{name}({tail})')}{where}"


def _closed_over(place: Place, function: ast.expr) -> list[str]:
    """The names of Variables that a function, which is an argument, takes from around it."""
    if isinstance(function, ast.Lambda):
        own = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
        names = [part.id for part in ast.walk(function.body) if isinstance(part, ast.Name)]
        return [
            n for n in dict.fromkeys(names) if n not in own and type(place.meaning(ast.Name(n))) is Variable
        ]
    meaning = place.meaning(function)
    if not inspect.isfunction(meaning):
        return []
    around = inspect.getclosurevars(meaning)
    return [n for n, x in {**around.nonlocals, **around.globals}.items() if type(x) is Variable]


def _lists(place: Place, call: ast.Call) -> str | None:
    """``np.sum([v, w])``: lists that hide Variables where NumPy wants an array."""
    numpy = place.numpy()
    given = [place.text(argument) for argument in [*call.args, *call.keywords]]
    found = False
    for i, argument in enumerate(call.args):
        held = place.meaning(argument)
        if isinstance(held, (list, tuple)) and any(type(item) is Variable for item in held):
            found = True
            given[i] = f"{numpy}.stack({given[i]})"
        if not isinstance(argument, _DISPLAYS) or not place.may_vary(argument):
            continue
        found = True
        items = [argument.elt] if isinstance(argument, ast.ListComp) else argument.elts
        if any(isinstance(item, (ast.List, ast.Tuple)) for item in items):
            given[i] = f"{numpy}.array({given[i]}, like={place.like()})"
        else:
            given[i] = f"{numpy}.stack({given[i]})"
    return _or_import(place, call, f"{place.text(call.func)}({', '.join(given)})") if found else None


_MAKERS = {np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.array, np.asarray, np.arange}
_MAKERS_LIKE = {np.zeros_like: "zeros", np.ones_like: "ones", np.empty_like: "empty", np.full_like: "full"}

_ADVICE: dict[Any, Callable[[Place, ast.Call], str | None]] = {
    float: _number,
    int: _number,
    complex: _number,
    np.float64: _number,
    np.float32: _number,
    np.longdouble: _number,
    np.complex128: _number,
    np.full: lambda place, call: _or_import(place, call, _with_like(place, call, place.like())),
    np.arange: _range,
    np.copyto: _into(0),
    np.fill_diagonal: _into(0),
    np.place: _into(0),
    np.put: _into(0),
    np.putmask: _into(0),
    np.put_along_axis: _into(0),
    np.lib.stride_tricks.as_strided: _in_ours("numpy.lib.stride_tricks"),
    np.ndenumerate: _pairs,
}
_CONSTRUCTORS: list[Any] = [
    np.array,
    np.asanyarray,
    np.asarray,
    np.asarray_chkfinite,
    np.ascontiguousarray,
    np.asfortranarray,
    np.fromiter,
    np.require,
]
_ADVICE |= dict.fromkeys(_CONSTRUCTORS, _constructor)
_MATRICES: list[Any] = [np.matrix, np.asmatrix, np.bmat]
_ADVICE |= dict.fromkeys(_MATRICES, _in_general("matrix", "matrix"))
_ADVICE |= dict.fromkeys(
    [np.rec.array, np.rec.fromarrays, np.rec.fromrecords], _in_general("record array", "records")
)
# Functions of math that have another name elsewhere; the others have NumPy's.
_OTHER_NAMES = {
    "erf": "scipy.special.erf",
    "erfc": "scipy.special.erfc",
    "fsum": "sum",
    "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln",
}
# Functions of math and cmath that NumPy has not, or under their name others.
_FORMULAS = {
    cmath.phase: "{np}.angle({0})",
    cmath.polar: "({np}.abs({0}), {np}.angle({0}))",
    cmath.rect: "{0} * {np}.exp(1j * {1})",
    math.dist: "{np}.linalg.norm({np}.subtract({0}, {1}))",
    math.remainder: "{0} - {1} * {np}.round({0} / {1})",
}
_OTHERWISE = {"isclose", "remainder"}  # of NumPy: with other tolerances, another remainder
for _name in {*vars(np), *_OTHER_NAMES} - _OTHERWISE:
    if callable(getattr(math, _name, None)):
        _ADVICE[getattr(math, _name)] = functools.partial(
            _mathematics, function=_OTHER_NAMES.get(_name, "{np}." + _name)
        )
    if callable(getattr(cmath, _name, None)):
        _ADVICE[getattr(cmath, _name)] = functools.partial(_complex_function, function=_name)
_ADVICE |= {function: functools.partial(_formula, formula=formula) for function, formula in _FORMULAS.items()}
_ADVICE |= {math.hypot: _hypotenuse, math.log: _logarithm}
