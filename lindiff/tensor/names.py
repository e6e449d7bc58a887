"""Names in expressions: which there are, new ones, and those of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lindiff.tensor.expressions import Access, Bracket, Coordinate, Reduction, Scalar

__all__ = ["Names", "bound_names", "free_names", "is_size", "size_of_axis"]


def size_of_axis(array: str, axis: int) -> str:
    """The name of an integer: how long an axis is."""
    return f"{array}.shape[{axis}]"


def is_size(name: str) -> bool:
    """Whether that is the size of an axis or of an index, and no integer that is given."""
    return ".shape[" in name or name.startswith("size(")


class Names:
    """Names that nothing has yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def take(self, names: Iterable[str]) -> None:
        """Let nothing else have these."""
        self._taken.update(names)

    def fresh(self, like: str) -> str:
        """``like`` itself, or with a number behind it."""
        name, k = like, self._last.get(like, 1)
        while name in self._taken:
            k += 1
            name = f"{like}{k}"
        self._last[like] = k
        self._taken.add(name)
        return name


def free_names(x: Scalar) -> frozenset[str]:
    """The indices and integers in an expression."""
    if isinstance(x, Access):
        return frozenset(name for s in x.subscripts for name in s.names)
    if isinstance(x, Coordinate):
        return x.form.names
    if isinstance(x, Bracket):
        return frozenset(name for c in x.conditions for name in c.names)
    found = frozenset(name for part in x.parts for name in free_names(part))
    if isinstance(x, Reduction):
        found = found.union(*(c.names for c in x.conditions)).difference(x.indices)
    return found


def bound_names(x: Scalar) -> Iterator[str]:
    """The indices of the reductions in an expression."""
    if isinstance(x, Reduction):
        yield from x.indices
    for part in x.parts:
        yield from bound_names(part)
