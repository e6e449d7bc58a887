"""Docstrings that say only what differs from another function's."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["documented_like"]

T = TypeVar("T", bound=Callable[..., Any])

# What a function has in common with the one in whose place it stands.  Notes and examples are its own: they
# tell of another algorithm, and would run as doctests here.
SHARED = {"Parameters", "Other Parameters", "Attributes", "Methods", "Returns", "Yields", "Raises", "Warns"}

_SIGNATURE = re.compile(r"\A\w+\([^\n]*\n+")  # which Cython puts before the text
_INDENT = re.compile(r"\n( *)\S")  # of the second line that is not empty
_ENTRY = re.compile(r"\n(?=\S)")


def documented_like(original: Callable[..., Any]) -> Callable[[T], T]:
    """Complete the docstring of a function or class by the original's.

    The docstring as written says what differs.  Under `help` there come with it:

    * the original's summary, before it, and its further text, after it;
    * the original's entries in the sections `SHARED`.  An entry for the same name takes its place.

    Parameters
    ----------
    original : callable
        A function or class that is public in a package.

    Examples
    --------
    >>> def double(x):
    ...     '''Twice a number.
    ...
    ...     Parameters
    ...     ----------
    ...     x : float
    ...     '''
    >>> @documented_like(double)
    ... def fast_double(x):
    ...     '''It is fast.'''
    >>> print(fast_double.__doc__)
    Twice a number, like ``lindiff._docstrings.double``.
    <BLANKLINE>
    It is fast.
    <BLANKLINE>
    Parameters
    ----------
    x : float
    """

    def decorate(function: T) -> T:
        if original.__doc__ and function.__doc__:  # python -OO leaves none
            function.__doc__ = _joined(original.__doc__, function.__doc__, _public_name(original))
        return function

    return decorate


def _public_name(function: Callable[..., Any]) -> str:
    """Its name in the first package on the way to its module that has it."""
    path = function.__module__.split(".")
    for i in range(1, len(path)):
        package = ".".join(path[:i])
        if vars(sys.modules[package]).get(function.__name__) is function:
            return f"{package}.{function.__name__}"
    return f"{function.__module__}.{function.__name__}"


def _joined(theirs: str, ours: str, name: str) -> str:
    """Both docstrings as one."""
    text, shared = _parts(theirs, SHARED)
    own_text, own = _parts(ours)
    summary, _, more = text.partition("\n\n")
    first, _, second = " ".join(summary.split()).rstrip(".").partition(". ")
    texts = [f"{first}, like ``{name}``.", own_text, f"{second}." if second else "", more]
    for title in shared.keys() & own.keys():
        shared[title] = _with_entries(shared[title], own.pop(title))
    sections = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in {**shared, **own}.items()]
    return "\n\n".join(part for part in (*texts, *sections) if part)


def _parts(doc: str, titles: set[str] | None = None) -> tuple[str, dict[str, str]]:
    """The text of a docstring and the bodies of its sections, of all or those of some titles."""
    doc = _SIGNATURE.sub("", doc.strip())
    indent = _INDENT.search(doc)
    new_line = f"\n{indent[1]}" if indent else "\n"
    text, *pieces = doc.split(f"{new_line}---")  # which comes after a title
    text, _, title = text.rpartition(new_line) if pieces else (text, "", "")
    sections = {}
    for piece in pieces:
        body, _, next_title = piece.rpartition(new_line) if piece is not pieces[-1] else (piece, "", "")
        if titles is None or title in titles:
            _, _, body = body.partition("\n")  # what is left of the line under the title
            sections[title] = f"\n{body}".replace(new_line, "\n").strip("\n ")
        title = next_title
    return text.replace(new_line, "\n").strip("\n "), sections


def _with_entries(body: str, own: str) -> str:
    """The entries of a section, own ones in the place of those of the same names."""
    if not own:
        return body
    new = {entry: _names(entry) for entry in _ENTRY.split(own)}
    entries = []
    for entry in _ENTRY.split(body):
        takes_its_place = [one for one, names in new.items() if names & _names(entry)]
        entries += [one for one in takes_its_place if one not in entries] or (
            [] if takes_its_place else [entry]
        )
    entries += [one for one in new if one not in entries]
    return "\n".join(entries)


def _names(entry: str) -> set[str]:
    """What an entry of a section stands for: ``a, b : number`` for a and for b."""
    header = entry.partition("\n")[0].partition(" :")[0]
    return {name.strip("* ") for name in header.split(",")}
