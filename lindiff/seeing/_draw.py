"""``draw``: the graph of a computation."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from lindiff.programs import Program
from lindiff.seeing import _layout
from lindiff.seeing._graph import Box, Graph, graph_of
from lindiff.seeing._programs import graph_of_program
from lindiff.seeing._recording import record
from lindiff.transforms._arguments import Argnums
from lindiff.transforms._transformed import transformed

__all__ = ["Drawing", "draw"]


def draw(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    file: str | os.PathLike[str] | None = None,
    collapse: bool = True,
) -> Callable[..., Drawing]:
    """The graph of the operations between a function's arguments and its results.

    Parameters
    ----------
    function : callable
        May be a derivative itself: ``ld.draw(ld.grad(f))`` shows the operations of the pullbacks as well, in
        another colour.  Of a program (:class:`lindiff.programs.Program`) what it does is drawn, from all of
        its arguments, as :meth:`~lindiff.programs.Program.explain` tells it: guards as diamonds, and behind
        one that has given several values a way for each; a long one by its lines of source.
    argnums : int or tuple of int
        The positional arguments to draw from, as for :func:`lindiff.grad`; others are constants.
    file : path, optional
        Where to write it: ``.dot`` (text for Graphviz), or ``.svg``, ``.png``, ``.pdf``, which need the
        packages matplotlib and igraph.
    collapse : bool
        Draw only the first and the last of five or more equal blocks of operations (a loop), and how many are
        in between.

    Returns
    -------
    callable
        Of the same arguments; returns a :class:`lindiff.seeing.Drawing`, which a notebook shows.

    Raises
    ------
    ValueError
        For a file of another kind, and for a program that is not known: it runs as its function does.
    ImportError
        Says what to install.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> graph = ld.draw(lambda x: np.sum(np.sin(x)))(np.ones(3))
    >>> [(box.label, box.detail) for box in graph.boxes]
    [('x', '(3,)'), ('sin', '(3,)'), ('sum', '()'), ('result', '')]
    >>> graph.edges
    [(0, 1), (1, 2), (2, 3)]
    """

    @transformed(draw, function, argnums=argnums, collapse=collapse, file=file)
    def drawn(*args: Any, **kwargs: Any) -> Drawing:
        if isinstance(function, Program):
            drawing = Drawing(graph_of_program(function.explain(*args, **kwargs), collapse))
        else:
            recording, names = record(function, argnums, args, kwargs, backward=False)
            drawing = Drawing(graph_of(recording, names, collapse))
        if file is not None:
            drawing.save(file)
        return drawing

    return drawn


class Drawing:
    """The graph of a computation.  Made by :func:`lindiff.draw`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @property
    def boxes(self) -> list[Box]:
        """Inputs, operations and results, in the order of the computation, with ``label``, ``detail`` (the
        shapes), ``kind`` ("input", "operation", "output" or "repeated") and ``part`` ("pullback",
        "pushforward" or "")."""
        return self._graph.boxes

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Which boxes an array flows between, by their numbers."""
        return self._graph.edges

    @property
    def dot(self) -> str:
        """The graph in the DOT language of Graphviz."""
        return self._graph.dot()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the graph as ``.dot``, ``.svg``, ``.png`` or ``.pdf``."""
        suffix = os.path.splitext(os.fspath(file))[1].lower()
        if suffix in (".dot", ".gv"):
            with open(file, "w", encoding="utf-8") as stream:
                stream.write(self.dot)
        elif suffix in (".svg", ".png", ".pdf"):
            _layout.figure(self._graph).savefig(file, dpi=150)
        else:
            raise ValueError(f"draw writes .dot, .svg, .png and .pdf, not {suffix!r}: {os.fspath(file)}")

    def plot(self, axes: Any) -> None:
        """Draw into Matplotlib axes."""
        _layout.plot(self._graph, axes)

    def _repr_svg_(self) -> str:
        stream = io.StringIO()
        _layout.figure(self._graph).savefig(stream, format="svg")
        return stream.getvalue()

    def __repr__(self) -> str:
        return f"<Drawing of {len(self.boxes)} boxes and {len(self.edges)} edges>"
