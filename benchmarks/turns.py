"""Calls that take turns, in one process: their times beside each other, and what they allocate."""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Calls = dict[str, Callable[[], Any]]
Cases = Mapping[str, Callable[[np.random.Generator], Iterator[tuple[str, Calls]]]]


def timed(call: Callable[[], Any], seconds: float) -> float:
    """Seconds of a call, the mean of as many as take ``seconds``."""
    count, start = 0, time.perf_counter()
    while not count or time.perf_counter() - start < seconds:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def peak(call: Callable[[], Any]) -> float:
    """MB that a call allocates at most, with its result."""
    tracemalloc.start()
    call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def rows_of(name: str, calls: Calls, rounds: int, seconds: float) -> list[dict[str, Any]]:
    for call in calls.values():
        for _ in range(3):  # recorded, compiled
            call()
    times: dict[str, list[float]] = {by: [] for by in calls}
    for _ in range(rounds):
        for by, call in calls.items():
            times[by].append(timed(call, seconds))
    own = float(np.median(times["lindiff"]))
    return [
        {
            "case": name,
            "by": by,
            "us": 1e6 * float(np.median(times[by])),
            "ratio": float(np.median(times[by])) / own,
            "peak_MB": peak(calls[by]) if "numpy" in by or "lindiff" in by else None,
        }
        for by in calls
    ]


def main(cases: Cases, description: str | None, name: str) -> None:
    """Measure, print and write ``results/name.csv``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", default="all", choices=["all", *cases])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.02, help="of each call in a round")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / f"{name}.csv")
    options = parser.parse_args()
    threads = {name: os.environ.get(name, "not set") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    print(f"threads: {threads}; ratio: the time over lindiff's")
    rows = []
    for case in cases if "all" in options.cases else options.cases:
        for title, calls in cases[case](np.random.default_rng(0)):
            new = rows_of(title, calls, options.rounds, options.seconds)
            table = pd.DataFrame(new)
            print(table.to_string(index=False, float_format="{:.3g}".format, na_rep=""), flush=True)
            rows += new
    options.output.parent.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(options.output, index=False, float_format="%.4g")
