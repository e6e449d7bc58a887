"""A panel of series on worker processes beside one process: ``python -m benchmarks.clusters``.

Value and gradient of the log likelihood of many series of one model: by ``loglikelihood`` here, of all at
once and of blocks; by a process for each core, each with its share of the blocks, without Dask: what the
machine gives; and by ``lindiff.distributed.Sum`` on its own cluster.  Medians of the clock, all calls take
turns.  Then what a task costs, by sums of terms that do nothing.  Prints tables, writes
`results/clusters.csv` and `results/clusters_tasks.csv`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cloudpickle
import distributed
import numpy as np
import pandas as pd

import lindiff as ld
from lindiff import statespace

BLOCKS = 16


def trend(p: Any) -> Any:
    """A local linear trend: two states, three variances."""
    return statespace.local_linear_trend(*np.exp(p))


def seasons(p: Any) -> Any:
    """The same with months: thirteen states, four variances."""
    return statespace.local_linear_trend(*np.exp(p[:3])) + statespace.seasonal(12, np.exp(p[3]))


MODELS = {"trend": (trend, 3), "seasons": (seasons, 4)}


def loglikelihood_of(build: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """The log likelihood of some series, of parameters and data."""

    def loglikelihood(p: Any, y: Any) -> Any:
        return np.sum(statespace.loglikelihood(y, *build(p)))

    return loglikelihood


def panel(series: int, steps: int, missing: float) -> Any:
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.standard_normal((series, steps, 1)), 1)
    y += rng.standard_normal(y.shape)
    y[rng.random(y.shape) < missing] = np.nan
    return y


def in_blocks(both: Callable[[Any, Any], Any], blocks: list[Any], p: Any) -> Any:
    """Value and gradient, added up."""
    found = [both(p, y) for y in blocks]
    return sum(value for value, _ in found), sum(gradient for _, gradient in found)


class Process:
    """A process that has blocks of data."""

    _held: Any = None

    def __init__(self, loglikelihood: Callable[..., Any], blocks: list[Any]) -> None:
        packed = cloudpickle.dumps((ld.value_and_grad(loglikelihood), blocks))
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), Process._hold, (packed,))

    @staticmethod
    def _hold(packed: bytes) -> None:
        Process._held = cloudpickle.loads(packed)

    @staticmethod
    def _evaluated(p: Any) -> Any:
        return in_blocks(*Process._held, p)

    def evaluated(self, p: Any) -> Any:
        """What will be their value and gradient."""
        return self._pool.submit(Process._evaluated, p)

    def close(self) -> None:
        self._pool.shutdown()


def of_processes(processes: list[Process], p: Any) -> Any:
    found = [process.evaluated(p) for process in processes]
    return [one.result() for one in found]


def in_turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def row_of(name: str, series: int, steps: int, missing: float, rounds: int) -> dict[str, Any]:
    """One model of one panel."""
    build, size = MODELS[name]
    y, p, loglikelihood = panel(series, steps, missing), np.zeros(size), loglikelihood_of(build)
    blocks, both = np.array_split(y, BLOCKS), ld.value_and_grad(loglikelihood)
    cores = len(os.sched_getaffinity(0))
    processes = [Process(loglikelihood, blocks[k::cores]) for k in range(cores)]
    there = ld.value_and_grad(ld.distributed.Sum(loglikelihood, blocks))
    np.testing.assert_allclose(there(p)[1], both(p, y)[1], rtol=1e-8)
    calls = {
        "whole_s": partial(both, p, y),
        "blocks_s": partial(in_blocks, both, blocks, p),
        "processes_s": partial(of_processes, processes, p),
        "dask_s": partial(there, p),
    }
    found = in_turns(calls, rounds)
    for process in processes:
        process.close()
    return {
        "model": name,
        "series": series,
        "missing": missing,
        **found,
        "dask_of_whole": found["whole_s"] / found["dask_s"],
        "dask_of_blocks": found["blocks_s"] / found["dask_s"],
        "dask_of_processes": found["processes_s"] / found["dask_s"],
        "ns_a_step_of_a_series": 1e9 * found["blocks_s"] / series / steps,
    }


def seconds_of_tasks(rounds: int) -> pd.DataFrame:
    """Sums of terms that do nothing, of so many tasks."""
    rows = []
    for count in (1, 4, 16, 64, 256):
        there = ld.distributed.Sum(lambda p, x: p * x, distributed.default_client().map(float, range(count)))
        seconds = in_turns({"there": partial(ld.value_and_grad(there), 1.0)}, rounds)["there"]
        rows.append({"tasks": count, "ms": 1e3 * seconds, "ms_a_task": 1e3 * seconds / count})
    return pd.DataFrame(rows)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clusters", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--series", type=int, default=100_000, help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=100, help="of each series (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each call (default: %(default)s)")
    default = Path(__file__).parent / "results"
    parser.add_argument("--results", type=Path, default=default, help="folder to write to")
    options = parser.parse_args()
    # of series with gaps of their own each is filtered by itself: fewer of them take as long
    panels = ((options.series, 0.0), (options.series // 50, 0.02))
    table = pd.DataFrame(
        [
            row_of(name, series, options.steps, missing, options.rounds)
            for series, missing in panels
            for name in MODELS
        ]
    )
    print(table.to_string(index=False, float_format="{:.3g}".format))
    tasks = seconds_of_tasks(options.rounds)
    print(tasks.to_string(index=False, float_format="{:.3g}".format))
    table.to_csv(options.results / "clusters.csv", index=False, float_format="%.4g")
    tasks.to_csv(options.results / "clusters_tasks.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
