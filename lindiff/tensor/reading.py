"""Reading index notation: ``f[i, j] = sum[l | l <= i] tanh(x[i + 2*l - 1]) * w[l, j]``.

A reduction (``sum``, ``prod``, ``max``, ``min``) takes the factors behind it, or what is in parentheses.
Names with brackets behind them are arrays, names in brackets and conditions are indices or integers that are
given later.  ``[i <= j]`` is 1 where the condition holds and 0 elsewhere.  Functions are NumPy's, or those
that are given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import (
    GROUP,
    Access,
    Apply,
    Bracket,
    Condition,
    Coordinate,
    Number,
    Outside,
    Reduction,
    Scalar,
    accesses,
    applied,
    at_least,
    equal,
    is_elementwise,
    scalar,
    total,
)
from lindiff.tensor.names import free_names

__all__ = ["Equation", "TensorSyntaxError", "form_of", "read"]

REDUCTIONS = ("sum", "prod", "max", "min")
NAMES_OF_NUMBERS = {"pi": np.pi}
FUNCTIONS = {"abs": np.absolute, "where": np.where}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?j?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|\*\*|[-+*/%()\[\],|<>=]))"
)


class TensorSyntaxError(ValueError):
    """What is wrong with an expression, and where."""


@dataclass(frozen=True)
class Equation:
    """``name[indices | conditions] = body``"""

    name: str
    indices: tuple[str, ...]
    conditions: tuple[Condition, ...]
    body: Scalar


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


def read(
    text: str, functions: Mapping[str, Callable[..., Any]], outside: Outside | Mapping[str, Outside]
) -> Equation:
    """The equation that a text says.

    Parameters
    ----------
    text : str
    functions : dict
        Elementwise functions by name, besides NumPy's.
    outside : {"error", "zero", "wrap"} or dict
        What lies outside an array; of each array by name.

    Raises
    ------
    TensorSyntaxError
        With the place marked.
    """
    return _Reader(text, functions, outside).equation()


def form_of(text: str) -> Affine:
    """The sum of integers that a text says."""
    reader = _Reader(text, {}, "error")
    form = reader.form()
    reader.expect_end()
    return form


class _Reader:
    def __init__(self, text: str, functions: Mapping[str, Callable[..., Any]], outside: Any) -> None:
        self.text, self.functions, self.outside = text, functions, outside
        self.tokens = self._split()
        self.place = 0
        self.scope: list[str] = []

    def _split(self) -> list[Token]:
        tokens, at = [], 0
        while at < len(self.text.rstrip()):
            match = _TOKEN.match(self.text, at)
            if match is None:
                start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                self.fail("this is not understood", start, start + 1)
            kind = str(match.lastgroup)
            tokens.append(Token(kind, match[kind], match.start(kind), match.end(kind)))
            at = match.end()
        return [*tokens, Token("end", "", len(self.text), len(self.text) + 1)]

    def fail(self, message: str, start: int, end: int) -> NoReturn:
        raise TensorSyntaxError(f"{message}\n  {self.text}\n  {' ' * start}{'^' * max(end - start, 1)}")

    # -- tokens --------------------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def take(self, *texts: str) -> Token | None:
        token = self.next
        if token.text in texts and token.kind != "end":
            self.place += 1
            return token
        return None

    def expect(self, text: str) -> Token:
        token = self.take(text)
        if token is None:
            self.fail(f"here {text!r} is missing", self.next.start, self.next.end)
        return token

    def expect_end(self) -> None:
        if self.next.kind != "end":
            self.fail("the expression ends before this", self.next.start, self.next.end)

    def name(self, what: str) -> Token:
        token = self.next
        if token.kind != "name":
            self.fail(f"here a name is missing, of {what}", token.start, token.end)
        self.place += 1
        return token

    # -- the equation --------------------------------------------------------------------------------------

    def equation(self) -> Equation:
        name = self.name("the result")
        indices: tuple[str, ...] = ()
        conditions: tuple[Condition, ...] = ()
        if self.take("["):
            indices, conditions = self.bound("]")
        self.expect("=")
        body = self.sum_of_terms()
        self.expect_end()
        if any(access.array == name.text for access in accesses(body)):
            self.fail(f"{name.text} is what is defined: it cannot be used", name.start, name.end)
        integers = free_names(body).union(*(c.names for c in conditions))
        return Equation(name.text, indices, conditions, _with_integers(body, integers))

    def bound(self, closing: str) -> tuple[tuple[str, ...], tuple[Condition, ...]]:
        """Indices and conditions up to a bracket; they stay in scope."""
        indices: list[str] = []
        if self.next.text not in (closing, "|"):
            while True:
                token = self.name("an index")
                if token.text in self.scope:
                    self.fail(f"the index {token.text} is bound twice", token.start, token.end)
                self.scope.append(token.text)
                indices.append(token.text)
                if not self.take(","):
                    break
        conditions = self.conditions(closing) if self.take("|") else ()
        self.expect(closing)
        return tuple(indices), conditions

    def conditions(self, closing: str) -> tuple[Condition, ...]:
        found: list[Condition] = []
        while True:
            found += self.comparison()
            if not self.take(","):
                return tuple(found)

    def comparison(self) -> list[Condition]:
        left = self.form()
        if self.take("%"):
            return self.remainder(left)
        found = []
        first = self.next
        while sign := self.take("<", "<=", ">", ">=", "==", "!="):
            if sign.text == "!=":
                self.fail("write two sums, of < and of >", sign.start, sign.end)
            right = self.form()
            found.append(
                {
                    "<": lambda a, b: at_least(b, affine(a) + 1),
                    "<=": lambda a, b: at_least(b, a),
                    ">": lambda a, b: at_least(a, affine(b) + 1),
                    ">=": at_least,
                    "==": equal,
                }[sign.text](left, right)
            )
            left = right
        if not found:
            self.fail("here a comparison is missing", first.start, first.end)
        return found

    def remainder(self, left: Affine) -> list[Condition]:
        token = self.next
        modulus = self.form()
        number = modulus.number
        if modulus.names & set(self.scope) or (number is not None and number < 1):
            self.fail("a remainder is one of a positive integer", token.start, token.end)
        self.expect("==")
        start, right = self.next.start, self.form()
        found = [Condition("%", left - right, modulus)]
        if self.take("%"):
            if self.form() != modulus:
                self.fail("two remainders are of one integer", token.start, self.next.start)
        elif not _is_remainder(right.number, number):
            self.fail("a remainder is a number from 0 on below its integer", start, self.next.start)
        elif number is None and right.number:
            found.append(at_least(modulus, right + 1))
        return found

    # -- forms of indices ----------------------------------------------------------------------------------

    def form(self) -> Affine:
        start = self.next.start
        total = affine(0)
        sign = self.take("+", "-")
        while True:
            term = self.form_term()
            total = total - term if sign is not None and sign.text == "-" else total + term
            sign = self.take("+", "-")
            if sign is None:
                break
        if total.product_of_two(self.scope) is not None:
            self.fail(
                f"a product of two indices, {'*'.join(total.product_of_two(self.scope) or ())}: subscripts "
                f"and conditions are sums of indices times integers",
                start,
                self.tokens[self.place - 1].end,
            )
        return total

    def form_term(self) -> Affine:
        product = self.form_factor()
        while self.take("*"):
            product = product * self.form_factor()
        token = self.next
        if token.text in ("/", "**", "//"):
            self.fail("subscripts are sums of indices times integers", token.start, token.end)
        return product

    def form_factor(self) -> Affine:
        token = self.next
        if self.take("("):
            inside = self.form()
            self.expect(")")
            return inside
        if token.kind == "number" and token.text.isdigit():
            self.place += 1
            return affine(int(token.text))
        if token.kind == "name":
            self.place += 1
            return affine(token.text)
        if self.take("-"):
            return -self.form_factor()
        self.fail("here an index or an integer is missing", token.start, token.end)

    # -- elements ------------------------------------------------------------------------------------------

    def sum_of_terms(self) -> Scalar:
        x = self.term()
        groups, count = [], 1
        while sign := self.take("+", "-"):
            y = self.term()
            if count % GROUP == 0:
                groups.append(x)
                x = y if sign.text == "+" else -y
            else:
                x = x + y if sign.text == "+" else x - y
            count += 1
        return total([*groups, x])

    def term(self) -> Scalar:
        x = self.signed()
        while sign := self.take("*", "/"):
            y = self.signed()
            x = x * y if sign.text == "*" else x / y
        return x

    def signed(self) -> Scalar:
        if self.take("-"):
            return -self.signed()
        if self.take("+"):
            return self.signed()
        return self.power()

    def power(self) -> Scalar:
        base = self.atom()
        return base ** self.signed() if self.take("**") else base

    def atom(self) -> Scalar:
        token = self.next
        if self.take("("):
            inside = self.sum_of_terms()
            self.expect(")")
            return inside
        if self.take("["):
            conditions = self.conditions("]")
            self.expect("]")
            return Bracket(conditions)
        if token.kind == "number":
            self.place += 1
            return Number(_number(token.text))
        if token.kind != "name":
            self.fail("here something is missing", token.start, token.end)
        self.place += 1
        if token.text in REDUCTIONS and self.next.text == "[":
            return self.reduction(token)
        if self.next.text == "(":
            return self.call(token)
        if self.take("["):
            return self.element(token)
        return self.bare(token)

    def reduction(self, token: Token) -> Scalar:
        self.expect("[")
        depth = len(self.scope)
        indices, conditions = self.bound("]")
        body = self.term()
        del self.scope[depth:]
        return Reduction(token.text, indices, conditions, body)  # type: ignore[arg-type]

    def call(self, token: Token) -> Scalar:
        function: Any = self.functions.get(
            token.text, FUNCTIONS.get(token.text, getattr(np, token.text, None))
        )
        is_own = token.text in self.functions and not isinstance(function, np.ufunc)
        if not (is_own or is_elementwise(function) or function is np.where):
            self.fail(
                f"there is no elementwise function {token.text}: give functions={{'{token.text}': ...}}",
                token.start,
                token.end,
            )
        self.expect("(")
        args = [self.sum_of_terms()]
        while self.take(","):
            args.append(self.sum_of_terms())
        self.expect(")")
        if not is_own:
            count = 3 if function is np.where else function.nin
            if len(args) != count:
                self.fail(
                    f"{token.text} is a function of {count}, not of {len(args)}", token.start, token.end
                )
            return applied(function, *args)
        try:
            found = function(*args)
        except Exception as error:
            self.fail(f"{token.text} cannot be read, {error}: write it in ufuncs", token.start, token.end)
        return scalar(found)

    def element(self, token: Token) -> Access:
        subscripts: list[Affine] = []
        if self.next.text != "]":
            subscripts.append(self.form())
            while self.take(","):
                subscripts.append(self.form())
        self.expect("]")
        for subscript in subscripts:
            for name in subscript.names:
                if name == token.text:
                    self.fail(f"{name} is an array and an index", token.start, token.end)
        outside: Any = (
            self.outside if isinstance(self.outside, str) else self.outside.get(token.text, "error")
        )
        return Access(token.text, tuple(subscripts), outside)

    def bare(self, token: Token) -> Scalar:
        """A name on its own: an index as a number, or an array without axes."""
        if token.text in self.scope:
            return Coordinate(affine(token.text))
        if token.text in NAMES_OF_NUMBERS:
            return scalar(NAMES_OF_NUMBERS[token.text])
        return Access(token.text, ())


def _with_integers(x: Scalar, integers: Collection[str]) -> Scalar:
    """With the values of integers of subscripts and conditions, where they stand on their own."""
    if isinstance(x, Access) and not x.subscripts and x.array in integers:
        return Coordinate(affine(x.array))
    if isinstance(x, Apply):
        return Apply(x.function, tuple(_with_integers(part, integers) for part in x.args))
    if isinstance(x, Reduction):
        return replace(x, body=_with_integers(x.body, integers))
    return x


def _is_remainder(x: Any, modulus: Any) -> bool:
    return x is not None and x >= 0 and (modulus is None or x < modulus)


def _number(text: str) -> Any:
    return int(text) if text.isdigit() else complex(text) if text[-1] == "j" else float(text)
