"""Tables as text: columns that stand below each other, times, sizes and counts in units that suit them."""

from __future__ import annotations

from typing import Any

__all__ = ["aligned", "arrays", "bytes_of", "count", "pandas", "seconds"]


def aligned(titles: list[str], rows: list[list[str]], left: set[int]) -> list[str]:
    """Lines of columns; a column without content is left out."""
    shown = [i for i in range(len(titles)) if any(row[i] for row in rows)]
    widths = {i: max(len(row[i]) for row in [titles, *rows]) for i in shown}
    return [
        "  ".join(row[i].ljust(widths[i]) if i in left else row[i].rjust(widths[i]) for i in shown).rstrip()
        for row in [titles, *rows]
    ]


def arrays(forms: list[tuple[tuple[int, ...], str]]) -> str:
    """``(3, 4), (4,)``; dtypes only where they are not float64."""
    parts = []
    for shape, dtype in forms:
        if dtype in ("int", "float", "complex"):
            parts.append(dtype)
        else:
            parts.append(str(shape) if dtype == "float64" else f"{shape} {dtype}")
    return ", ".join(parts)


def seconds(t: float | None) -> str:
    """A time in a unit that suits it; nothing for None."""
    if t is None:
        return ""
    if t < 1e-7:
        return f"{t / 1e-9:.0f} ns"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if t >= size:
            return f"{t / size:.3g} {unit}" if t < 100 * size else f"{t / size:.0f} {unit}"
    return f"{t / 1e-6:.1f} µs"


def bytes_of(n: int) -> str:
    """A size in a unit that suits it."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}" if n < 100 * size else f"{n / size:.0f} {unit}"
    return f"{n} B"


def count(n: float | None) -> str:
    """A count with a prefix for thousands; nothing for None."""
    if n is None:
        return ""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.0f}"


def pandas() -> Any:
    """The package, or an ImportError that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from None
    return pandas
