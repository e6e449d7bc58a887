"""Expressions as they are written: index notation and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Bracket,
    Condition,
    Coordinate,
    Number,
    Scalar,
    accesses,
    at_least,
    chain,
)
from lindiff.tensor.names import is_size
from lindiff.tensor.statements import Statement, Term, box_of

__all__ = ["latex_of", "scalar_text", "text_of"]

_SIGNS = {
    np.add: ("+", 1),
    np.subtract: ("-", 1),
    np.multiply: ("*", 2),
    np.divide: ("/", 2),
    chain: ("*", 2),
}
_UNARY, _POWER, _ATOM = 3, 4, 5


# The sizes of the axes of an array.
Axes = Mapping[str, tuple[Affine, ...]]


def text_of(statements: Iterable[Statement], axes: Axes) -> str:
    """Index notation, a line for each tensor.

    Indices that subscript an axis from its begin to its end are not said to.
    """
    return "\n".join(_statement(s, axes) for s in statements)


def _statement(s: Statement, axes: Axes) -> str:
    left = f"{s.name}[{', '.join(s.indices)}]" if s.indices else s.name
    terms = [_term(term, s.indices, axes) for term in s.terms] or ["0"]
    return f"{left} = " + " + ".join(terms).replace("+ -", "- ")


def _term(term: Term, indices: tuple[str, ...], axes: Axes) -> str:
    conditions = ", ".join(map(condition_text, _said(term, indices, axes)))
    body, level = _scalar(term.body)
    if not term.summed:
        if not conditions:
            return body
        return f"[{conditions}]*{body if level >= 2 else f'({body})'}"
    bound = ", ".join(term.summed) + (f" | {conditions}" if conditions else "")
    return f"{term.kind}[{bound}] {body if level >= 2 else f'({body})'}"


def _said(term: Term, indices: tuple[str, ...], axes: Axes) -> list[Condition]:
    """The conditions but for the ranges of indices that go over a whole axis, and what always holds."""
    implied: set[Condition] = set()
    for access in accesses(term.body):
        for subscript, size in zip(access.subscripts, axes[access.array], strict=True):
            index = subscript.text()
            if index in subscript.names:
                implied.update(box_of((index,), (size,)))
    for index in term.summed:  # what says no more than how far the index goes
        own = box_of((index,), (affine(f"size({index})"),))
        implied.update(own if set(own) <= set(term.domain) else ())
    from_zero = {*indices, *(index for index in term.summed if at_least(index, 0) in term.domain)}
    return [c for c in term.domain if c not in implied and not _holds_always(c, from_zero)]


def _holds_always(c: Condition, from_zero: set[str]) -> bool:
    """Whether a condition says nothing of names that count from 0, not even that one of them does."""
    if c.kind != ">=" or any(x < 0 for x in c.form.terms.values()):
        return False
    is_range = len(c.form.terms) == 1 and bool(c.form.names)
    return not is_range and all(name in from_zero or is_size(name) for name in c.form.names)


def condition_text(c: Condition) -> str:
    """One condition, with what is subtracted on its other side."""
    if c.kind == "%":
        form = c.form.text()
        return f"{form if len(c.form.terms) == 1 else f'({form})'} % {c.modulus.text()} == 0"
    left, right = _sides(c.form)
    if c.kind == "==":
        return f"{left.text()} == {right.text()}"
    if c.form.constant == -1 and left.names:
        return f"{(right - 1).text()} < {left.text()}"
    return f"{right.text()} <= {left.text()}"


def _sides(form: Affine) -> tuple[Affine, Affine]:
    """``left - right``, both without negative coefficients."""
    left = Affine({names: c for names, c in form.terms.items() if c > 0})
    return left, left - form


def scalar_text(x: Scalar) -> str:
    """What stands on the right, without sums."""
    return _scalar(x)[0]


def _scalar(x: Scalar) -> tuple[str, int]:
    """The text of an expression, and how strongly it holds together."""
    if isinstance(x, Number):
        text = repr(x.value)
        return text, _ATOM if not text.startswith("-") else _UNARY
    if isinstance(x, Access):
        return (f"{x.array}[{', '.join(s.text() for s in x.subscripts)}]" if x.subscripts else x.array), _ATOM
    if isinstance(x, Coordinate):
        return x.form.text(), _ATOM if len(x.form.names) == 1 and len(x.form.terms) == 1 else 1
    if isinstance(x, Bracket):
        return f"[{', '.join(map(condition_text, x.conditions))}]", _ATOM
    assert isinstance(x, Apply)
    if x.function in _SIGNS:
        sign, level = _SIGNS[x.function]
        left, right = _scalar(x.args[0]), _scalar(x.args[1])
        a = left[0] if left[1] >= level else f"({left[0]})"
        b = right[0] if right[1] > level or (right[1] == level and sign in "+*") else f"({right[0]})"
        return (f"{a} {sign} {b}" if level == 1 else f"{a}{sign}{b}"), level
    if x.function is np.negative:
        inner, level = _scalar(x.args[0])
        return f"-{inner if level >= _UNARY else f'({inner})'}", _UNARY
    if x.function is np.power:
        base, exponent = _scalar(x.args[0]), _scalar(x.args[1])
        a = base[0] if base[1] == _ATOM else f"({base[0]})"
        return f"{a}**{exponent[0] if exponent[1] >= _UNARY else f'({exponent[0]})'}", _POWER
    name = getattr(x.function, "__name__", "function")
    return f"{name}({', '.join(_scalar(part)[0] for part in x.args)})", _ATOM


# -- LaTeX -------------------------------------------------------------------------------------------------

_OPERATORS = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min"}
_NAMED = {"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan"}


def latex_of(statements: Iterable[Statement], axes: Axes) -> str:
    """The same for a page: one equation a line."""
    lines = [_latex_statement(s, axes) for s in statements]
    return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"


def _symbol(name: str) -> str:
    base, *marks = name.split("_")
    for mark in marks:
        if mark in ("bar", "dot"):
            base = rf"\{mark}{{{base}}}"
        else:
            base += rf"_{{\text{{{mark}}}}}"
    return base if len(name) == 1 or marks else rf"\mathit{{{base}}}"


def _form(x: Affine) -> str:
    text = x.text().replace("*", r" ")
    for name in sorted(x.names, key=len, reverse=True):
        if ".shape[" in name:
            array, axis = name.split(".shape[")
            text = text.replace(name, rf"n^{{{array}}}_{{{axis[:-1]}}}")
        elif name.startswith("size("):
            text = text.replace(name, rf"n_{{{name[5:-1]}}}")
    return text


def _latex_statement(s: Statement, axes: Axes) -> str:
    left = _symbol(s.name) + (rf"_{{{','.join(s.indices)}}}" if s.indices else "")
    return f"{left} &= " + (" + ".join(_latex_term(term, s.indices, axes) for term in s.terms) or "0")


def _latex_condition(c: Condition) -> str:
    if c.kind == "%":
        return rf"{_form(c.modulus)} \mid {_form(c.form)}"
    left, right = _sides(c.form)
    sign = "=" if c.kind == "==" else r"\le"
    return f"{_form(right)} {sign} {_form(left)}"


def _latex_term(term: Term, indices: tuple[str, ...], axes: Axes) -> str:
    conditions = [_latex_condition(c) for c in _said(term, indices, axes)]
    body, level = _latex(term.body)
    body = body if level >= 2 else rf"\left({body}\right)"
    if not term.summed:
        return rf"\left[{', '.join(conditions)}\right] {body}" if conditions else body
    below = ",".join(term.summed)
    if conditions:
        below = rf"\substack{{{below} \\ {', '.join(conditions)}}}"
    return rf"{_OPERATORS[term.kind]}_{{{below}}} {body}"


def _latex(x: Scalar) -> tuple[str, int]:
    if isinstance(x, Access):
        below = ",".join(_form(s) for s in x.subscripts)
        return _symbol(x.array) + (f"_{{{below}}}" if below else ""), _ATOM
    if isinstance(x, Coordinate):
        return _form(x.form), _ATOM if len(x.form.terms) == 1 else 1
    if isinstance(x, Bracket):
        return rf"\left[{', '.join(map(_latex_condition, x.conditions))}\right]", _ATOM
    if not isinstance(x, Apply):
        return _scalar(x)
    parts = [_latex(part) for part in x.args]
    if x.function is np.divide:
        return rf"\frac{{{parts[0][0]}}}{{{parts[1][0]}}}", _ATOM
    if x.function in _SIGNS:
        sign, level = _SIGNS[x.function]
        a, b = (text if at >= level else rf"\left({text}\right)" for text, at in parts)
        return (rf"{a} \, {b}" if sign == "*" else f"{a} {sign} {b}"), level
    if x.function is np.negative:
        return "-" + (parts[0][0] if parts[0][1] >= 2 else rf"\left({parts[0][0]}\right)"), _UNARY
    if x.function is np.power:
        base = parts[0][0] if parts[0][1] == _ATOM else rf"\left({parts[0][0]}\right)"
        return rf"{{{base}}}^{{{parts[1][0]}}}", _POWER
    name = getattr(x.function, "__name__", "f")
    shown = rf"\{name}" if name in _NAMED else rf"\operatorname{{{name}}}"
    return rf"{shown}\left({', '.join(text for text, _ in parts)}\right)", _ATOM
