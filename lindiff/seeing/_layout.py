"""Pictures of a graph: layers by igraph, drawn by Matplotlib."""

from __future__ import annotations

import itertools
from typing import Any

from lindiff.seeing._graph import Box, Graph, fill

POINTS = 72.0
FONT = 9.0  # points
LETTER = 0.62 * FONT  # the width of an average one
LINE = 1.3 * FONT
GAP = 16.0  # between boxes of a layer
LAYER = 26.0  # between layers

_ROUND = {"operation": "round,pad=0,rounding_size=8", "repeated": "round,pad=0,rounding_size=2"}
_DIAMOND = 1.7  # how much wider and higher than its text


def _needs(package: str) -> ImportError:
    """The error that says which packages pictures need."""
    return ImportError(
        f"pictures of graphs need {package}: pip install 'lindiff[draw]', which is matplotlib and igraph.  "
        f"Without them, a file that ends in .dot holds the graph as text for Graphviz"
    )


def plot(graph: Graph, axes: Any) -> None:
    """Draw a graph into Matplotlib axes, in points, one unit a point."""
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path

    sizes = [_size(box) for box in graph.boxes]
    points, routes = _places(graph, sizes)
    for (x, y), (width, height), box in zip(points, sizes, graph.boxes, strict=True):
        style: dict[str, Any] = {"facecolor": fill(box), "edgecolor": "0.35", "linewidth": 0.8}
        style["linestyle"] = ":" if box.kind in ("repeated", "way") else "-"
        if box.kind == "guard":
            corners = [(x - width / 2, y), (x, y + height / 2), (x + width / 2, y), (x, y - height / 2)]
            axes.add_patch(Polygon(corners, **style))
        else:
            shape = _ROUND.get(box.kind, "square,pad=0")
            low = (x - width / 2, y - height / 2)
            axes.add_patch(FancyBboxPatch(low, width, height, boxstyle=shape, **style))
        text = f"{box.label}\n{box.detail}" if box.detail else box.label
        axes.text(x, y, text, ha="center", va="center", fontsize=FONT, linespacing=1.15)
    for (start, end), through in zip(graph.edges, routes, strict=True):
        x0, y0 = points[start][0], points[start][1] - sizes[start][1] / 2
        x1, y1 = points[end][0], points[end][1] + sizes[end][1] / 2
        path = _curve([(x0, y0), *through, (x1, y1)], Path)
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor="0.35", linewidth=0.8))
        head = FancyArrowPatch((x1, y1 + 1), (x1, y1), arrowstyle="-|>", mutation_scale=7, color="0.35")
        axes.add_patch(head)
    xs = [x + s * w / 2 for (x, _), (w, _) in zip(points, sizes, strict=True) for s in (-1, 1)] or [0.0, 1.0]
    ys = [y + s * h / 2 for (_, y), (_, h) in zip(points, sizes, strict=True) for s in (-1, 1)] or [0.0, 1.0]
    axes.set(xlim=(min(xs) - GAP, max(xs) + GAP), ylim=(min(ys) - GAP, max(ys) + GAP), aspect="equal")
    axes.set_axis_off()


def figure(graph: Graph) -> Any:
    """A Matplotlib figure of the size that the graph needs."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise _needs("matplotlib") from None
    drawn = Figure()
    axes = drawn.add_axes((0, 0, 1, 1))
    plot(graph, axes)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    drawn.set_size_inches((right - left) / POINTS, (top - bottom) / POINTS)
    return drawn


def _size(box: Box) -> tuple[float, float]:
    lines = [box.label, *box.detail.splitlines()]
    scale = _DIAMOND if box.kind == "guard" else 1.0
    return scale * (max(map(len, lines)) * LETTER + 10), scale * (len(lines) * LINE + 6)


def _places(
    graph: Graph, sizes: list[tuple[float, float]]
) -> tuple[list[tuple[float, float]], list[list[tuple[float, float]]]]:
    """The middle of every box, and the points that every edge passes on its way through the layers.

    Sugiyama, Tagawa & Toda (1981): layers, then an order in each with few crossings.
    """
    try:
        import igraph
    except ImportError:
        raise _needs("igraph") from None
    width = sum(w for w, _ in sizes) / max(len(sizes), 1) + GAP
    height = max((h for _, h in sizes), default=0.0) + LAYER
    drawn = igraph.Graph(n=len(sizes), edges=graph.edges, directed=True)
    layout = drawn.layout_sugiyama(hgap=width, vgap=height)
    routes = [[(x, -y) for x, y in route] for route in layout.edge_routing]
    places = [(x, -y) for x, y in layout]
    widths = [w for w, _ in sizes]
    for layer in {y for _, y in places}:
        members = sorted((i for i, (_, y) in enumerate(places) if y == layer), key=lambda i: places[i][0])
        apart = _apart([places[i][0] for i in members], [widths[i] for i in members])
        for i, x in zip(members, apart, strict=True):
            places[i] = (x, layer)
    return places, routes


def _apart(middles: list[float], widths: list[float]) -> list[float]:
    """The boxes of one layer, moved to the right until none overlap, then back towards their middle."""
    moved: list[float] = []
    for i, (x, width) in enumerate(zip(middles, widths, strict=True)):
        moved.append(max(x, moved[-1] + (widths[i - 1] + width) / 2 + GAP) if moved else x)
    back = sum(new - old for new, old in zip(moved, middles, strict=True)) / len(moved)
    return [x - back for x in moved]


def _curve(points: list[tuple[float, float]], Path: Any) -> Any:
    """A smooth line down through the points, upright at each."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)
