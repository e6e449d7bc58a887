"""The command line: ``python -m benchmarks [suite ...]``.

Threads are set before NumPy or any other library is loaded; this is why the imports stand inside `main`.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
from pathlib import Path

SUITES = (
    "kalman",
    "statespace",
    "overhead",
    "families",
    "networks",
    "programs",
    "operators",
    "batches",
    "memory",
    "gp",
    "sparse_gp",
)
ON_GPU = ("cuda_operators", "cuda_batches", "cuda_gp", "cuda_series")
PEERS = (
    "numpy",
    "lindiff",
    "program",
    "statsmodels",
    "dynamax",
    "jax",
    "torch",
    "autograd",
    "advect",
    "mygrad",
)
ALSO_ON_GPU = ("lindiff-cpu", "card")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Measure the chosen suites, print their tables, and write a CSV file and a plot for each."""
    options = _options()
    _set_threads(options.threads)
    from .harness import Settings, load_suite, run_suite
    from .report import report_of

    print(_environment(options.threads), flush=True)
    settings = Settings(options.seconds, options.rounds)
    for name in options.suites or SUITES:
        suite = load_suite(name)
        print(f"\n## {name}: {suite.TITLE}\n", flush=True)
        records = run_suite(name, options.peers, settings, _note)
        report = report_of(name, suite, records, options.threads)
        print(report.tables(), flush=True)
        for path in report.write(options.results):
            print(f"wrote {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add(
        "suites",
        nargs="*",
        metavar="suite",
        help=f"any of {', '.join(SUITES)}; default: all of these; with a GPU also {', '.join(ON_GPU)}",
    )
    peers = (*PEERS, *ALSO_ON_GPU)
    add("--peers", nargs="+", choices=peers, default=list(peers), help="default: all")
    add("--seconds", type=float, default=1.0, help="for each measurement (default: %(default)s)")
    add("--rounds", type=int, default=10, help="turns that share it (default: %(default)s)")
    add("--threads", type=int, default=_cores(), help="for every library (default: all cores)")
    add("--results", type=Path, default=Path(__file__).parent / "results", help="folder to write to")
    options = parser.parse_args()
    if unknown := set(options.suites) - {*SUITES, *ON_GPU}:
        parser.error(
            f"no such suite: {', '.join(sorted(unknown))} (choose from {', '.join((*SUITES, *ON_GPU))})"
        )
    if options.rounds < 1 or options.threads < 1 or not options.seconds > 0:
        parser.error("--seconds, --rounds and --threads must be positive")
    return options


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _set_threads(threads: int) -> None:
    """Give every library the same threads, and (where the system can) no more cores than that."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    if hasattr(os, "sched_setaffinity") and threads < _cores():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _environment(threads: int) -> str:
    lines = [
        f"Python {platform.python_version()}, {platform.platform()}, {_processor()}",
        f"threads: {threads} for every library ({', '.join(THREAD_VARIABLES)}), float64",
        f"garbage collector: {'on' if gc.isenabled() else 'off'}, thresholds {gc.get_threshold()}",
    ]
    if hasattr(os, "getloadavg") and (load := os.getloadavg()[0]) > 0.5:
        lines.append(
            f"WARNING: others use this machine (load {load:.1f}); times with several threads suffer most"
        )
    return "\n".join(lines)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
