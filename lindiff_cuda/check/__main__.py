"""The card's numbers against the CPU's, its times beside what it can do, and the numbers of tuning.py."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lindiff_cuda.check import card, deciding
from lindiff_cuda.check.comparing import Comparison, compare_model, compare_operator
from lindiff_cuda.check.problems import MODELS, OPERATORS, Matrices
from lindiff_cuda.check.timing import Rates, Timing, card_rates, time_operator

__all__ = ["FULL", "QUICK", "Plan", "main"]

REPORT = "lindiff_cuda_check.json"


class Plan(NamedTuple):
    """What is computed and measured."""

    sizes: tuple[tuple[int, int], ...]
    """Matrices and their order: of operators, and of models what they make of it."""
    letters: str
    """Dtypes of operators, in NumPy's letters."""
    order: int
    """Of the matrices that are copied and multiplied to know the card."""
    seconds: float
    """For each measurement."""
    tuning: deciding.Plan | None


FULL = Plan(((10_000, 8), (200, 100), (1, 1024)), "fdFD", 8192, 0.1, deciding.FULL)
QUICK = Plan(((100, 8), (8, 40), (1, 100)), "fd", 2048, 0.01, None)


class Report(NamedTuple):
    """All that was found."""

    card: dict[str, Any]
    rates: Rates
    comparisons: list[Comparison]
    timings: list[Timing]
    measured: list[deciding.Measured]
    tuning: str

    @property
    def failed(self) -> list[Comparison]:
        return [comparison for comparison in self.comparisons if comparison.failed]

    def as_json(self) -> str:
        """The report as text in JSON."""
        parts = {
            **self._asdict(),
            "rates": self.rates._asdict(),
            "comparisons": [{**x._asdict(), "failed": x.failed} for x in self.comparisons],
            "timings": [x._asdict() for x in self.timings],
            "measured": [x._asdict() for x in self.measured],
        }
        return json.dumps(parts, indent=1)


def say(line: str) -> None:
    print(line, flush=True)


def say_comparison(x: Comparison) -> None:
    verdict = f"FAILED {x.error}".rstrip() if x.failed else "ok"
    say(f"{x.name:24} {x.size:20} {x.dtype:11} {x.distance:9.1e} of {x.tolerance:7.1e}  {verdict}")


def say_timing(x: Timing) -> None:
    say(f"{x.name:24} {x.size:20} {x.seconds * 1e6:12.1f} µs {100 * x.share:6.1f} % of the card")


def run(plan: Plan) -> Report:
    """Compare, time and decide, and say so."""
    described = card.described()
    for what, which in described.items():
        say(f"{what:20} {which}")
    say("\nThe card against the CPU: the largest difference, relative to each result's largest entry")
    comparisons = compare(plan)
    say("\nTimes, and the share of them that copying in and out, or the flops in a product, would take")
    rates = card_rates(plan.order, plan.seconds)
    say(f"copy {rates.copy / 1e9:.1f} GB/s, product of doubles {rates.gemm / 1e9:.1f} GFlop/s")
    timings = time_all(plan, rates, {x.name for x in comparisons if x.failed})
    measured: list[deciding.Measured] = []
    tuning = ""
    if plan.tuning:
        say("\nMeasured for lindiff_cuda/tuning.py")
        decided, measured = deciding.decide(plan.tuning, plan.seconds, say)
        tuning = deciding.as_python(decided)
        say(f"\nTo put there:\n\n{tuning}")
    return Report(described, rates, comparisons, timings, measured, tuning)


def compare(plan: Plan) -> list[Comparison]:
    """Compare all operators and models at the sizes of a plan, and say each result."""
    comparisons = []

    def add(comparison: Comparison) -> None:
        comparisons.append(comparison)
        say_comparison(comparison)

    for count, n in plan.sizes:
        for letter in plan.letters:
            matrices = Matrices(count, n, letter)
            for name, operator in OPERATORS.items():
                if letter in operator.letters:
                    add(compare_operator(name, matrices))
        for name in MODELS:
            add(compare_model(name, count, n))
    return comparisons


def time_all(plan: Plan, rates: Rates, failed: set[str]) -> list[Timing]:
    """Of what has not failed."""
    timings = []
    for count, n in plan.sizes:
        matrices = Matrices(count, n, float)
        for name in OPERATORS:
            if name not in failed:
                timings.append(time_operator(name, matrices, rates, plan.seconds))
                say_timing(timings[-1])
    return timings


def main(arguments: Sequence[str] | None = None, full: Plan = FULL) -> int:
    """Run the command; returns its exit code, 1 if a comparison has failed."""
    parser = argparse.ArgumentParser(prog="python -m lindiff_cuda.check", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes in a minute or two, without tuning")
    parser.add_argument(
        "--output", type=Path, default=Path(REPORT), metavar="FILE", help=f"the report, by default {REPORT}"
    )
    options = parser.parse_args(arguments)
    card.require_gpu()
    try:
        options.output.open("a").close()
    except OSError as error:  # said now, not after an hour
        parser.error(f"--output: {error}")
    report = run(QUICK if options.quick else full)
    options.output.write_text(report.as_json(), encoding="utf-8")
    say(f"\n{len(report.comparisons)} comparisons, {len(report.failed)} failed; report: {options.output}")
    for comparison in report.failed:
        say_comparison(comparison)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
