"""The numbers of `tuning.py`, decided by measuring with each of the values that they may have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import lindiff_cuda
from lindiff_cuda import tuning
from lindiff_cuda.check.comparing import call_of, on_device
from lindiff_cuda.check.problems import OPERATORS, Matrices
from lindiff_cuda.check.timing import seconds

__all__ = ["FULL", "LIMITS", "Case", "Measured", "Plan", "Trial", "as_python", "decide"]

WORTH = 0.95  # of the time with the present value: less changes it

MOST_COMPLEX = 16  # above it the compiler works for half a minute
OPERATOR_OF = {"gesvd": "gesdd"}  # of a kernel, where the names differ


class Case(NamedTuple):
    """A call to measure: an operator on `count` matrices of order n, with k columns."""

    operator: str
    many: int
    n: int
    k: int | None = None
    letter: str = "d"


class Trial(NamedTuple):
    """The values that a number may have, and calls on both sides of them."""

    name: str
    values: tuple[int, ...]
    cases: tuple[Case, ...]


LIMITS = (
    Trial("BLOCKS", (2, 4, 8, 16), tuple(Case("syevd", count, 128) for count in (2, 3, 6, 12))),
    Trial("WARPS", (2, 4, 8), (Case("syevd", 200, 64), Case("gelqf", 200, 128), Case("syevd", 200, 192))),
    Trial("VECTORS", (32, 128, 512), tuple(Case("trsm", 500, 16, k) for k in (64, 256, 1024))),
    Trial("COLUMNS", (128, 512, 2048), tuple(Case("gelqf_pullback", 500, 16, k) for k in (256, 1024, 4096))),
    Trial("MATRICES", (256, 1024, 4096), tuple(Case("trsm", count, 16, 4096) for count in (128, 512, 2048))),
    Trial(
        "THREADS",
        (64, 128, 256),
        (Case("potrf", 10_000, 8), Case("trsm_pullback", 10_000, 32), Case("syevd", 10_000, 16)),
    ),
    Trial(
        "BLOCKS_EACH",
        (1, 2, 4),
        (Case("potrf", 500, 8), Case("trsm_pullback", 500, 16), Case("getrf", 2000, 8)),
    ),
    Trial("TRSM_BATCHED", (32, 64, 128), tuple(Case("trsm", 200, n) for n in (48, 96, 192))),
    Trial("CHOLESKY_BATCHED", (32, 64, 128), tuple(Case("potrf", 200, n) for n in (48, 96, 192))),
    Trial("LU_BATCHED", (128, 256, 512), tuple(Case("inverse", 50, n) for n in (192, 384, 768))),
    Trial("CHOLESKY_LEAF", (128, 256, 512), tuple(Case("potrf_pullback", 1, n) for n in (512, 1024, 4096))),
    Trial("GEMMT_LEAF", (512, 1024, 2048), tuple(Case("trsm_pullback", 1, n) for n in (768, 1536, 4096))),
    Trial("SYRK_ALONE", (256, 512, 1024), tuple(Case("syrk", 8, n) for n in (192, 384, 768))),
    Trial("INFO_AS_IT_IS", (1 << 8, 1 << 12, 1 << 16), tuple(Case("potrf", 4**k, 2) for k in (5, 7, 9))),
    Trial("LANES_OF_FAULTS", (1 << 16, 1 << 18, 1 << 20), (Case("faults", 1, 512), Case("faults", 1, 4096))),
)
"""All numbers but those of tables, and those that set memory against time."""


class Plan(NamedTuple):
    """What is measured: numbers, and for each table the orders at which kernels are set against what else
    there is (no limit is set beyond the last one), how many matrices, and the dtypes, of "fdFD".
    """

    trials: tuple[Trial, ...]
    orders: dict[str, tuple[int, ...]]
    many: dict[str, int]
    letters: str


FULL = Plan(
    LIMITS,
    {"FUSED": (4, 8, 12, 16, 24, 32), "BLOCKWISE": (64, 128, 192, 256)},
    {"FUSED": 10_000, "BLOCKWISE": 200},
    "fdFD",
)


class Measured(NamedTuple):
    """Seconds of each case for each value of a number, and the value that is decided for."""

    name: str
    seconds: dict[int, tuple[float, ...]]
    value: int


@contextmanager
def setting(name: str, value: Any) -> Iterator[None]:
    """A number of `tuning` within this context."""
    before = getattr(tuning, name)
    setattr(tuning, name, value)
    try:
        yield
    finally:
        setattr(tuning, name, before)


def decide(plan: Plan, least: float, note: Callable[[str], None]) -> tuple[dict[str, Any], list[Measured]]:
    """The tables and numbers of `tuning` that measurements decide for, and these measurements.

    Parameters
    ----------
    plan : Plan
    least : float
        Seconds for each measurement.
    note : callable
        Is told what is being measured.
    """
    decided: dict[str, Any] = {}
    measured: list[Measured] = []

    def value_of(name: str, present: int, measure: Callable[[], Measured]) -> int:
        note(f"{name} ...")
        try:
            found = measure()
        except Exception as error:  # the rest is worth measuring
            note(f"{name}: not measured, {type(error).__name__}: {error}")
            return present
        measured.append(found)
        return found.value

    for table, orders in plan.orders.items():
        decided[table] = {}
        for kernel, row in getattr(tuning, table).items():
            limits = list(row)
            for place, letter in enumerate(tuning.LETTERS):
                if letter in plan.letters and letter in operator_of(kernel).letters:
                    arguments = table, kernel, place, orders, plan.many[table], least
                    measure = functools.partial(measure_table, *arguments)
                    limits[place] = value_of(f"{table} {kernel} {letter}", row[place], measure)
            decided[table][kernel] = tuple(limits)
    for trial in plan.trials:
        measure = functools.partial(measure_number, trial, least)
        decided[trial.name] = value_of(trial.name, getattr(tuning, trial.name), measure)
    return decided, measured


def operator_of(kernel: str) -> Any:
    return OPERATORS[OPERATOR_OF.get(kernel, kernel)]


def measure_table(
    table: str, kernel: str, place: int, orders: tuple[int, ...], many: int, least: float
) -> Measured:
    """A limit in a table: with it, and without any, at every order; then the best limit is known."""
    letter, rows = tuning.LETTERS[place], getattr(tuning, table)
    orders = tuple(n for n in orders if letter in "fd" or n <= MOST_COMPLEX)
    ways = []
    for limit in (0, orders[-1]):
        row = tuple(limit if i == place else x for i, x in enumerate(rows[kernel]))
        ways.append({**rows, kernel: row})
    operator = OPERATOR_OF.get(kernel, kernel)
    both = [times_of(Case(operator, many, n, letter=letter), table, ways, least) for n in orders]
    of_limit = {
        limit: tuple(
            fused if n <= limit else without for n, (without, fused) in zip(orders, both, strict=True)
        )
        for limit in (0, *orders)
    }
    return Measured(f"{table} {kernel} {letter}", of_limit, best(of_limit, rows[kernel][place]))


def measure_number(trial: Trial, least: float) -> Measured:
    """A number: every case with every value."""
    of_case = [times_of(case, trial.name, trial.values, least) for case in trial.cases]
    times = dict(zip(trial.values, zip(*of_case, strict=True), strict=True))
    return Measured(trial.name, times, best(times, getattr(tuning, trial.name)))


def times_of(case: Case, name: str, values: Sequence[Any], least: float) -> list[float]:
    """Seconds of a case with each of these values of a number, or table, of `tuning`."""
    operator = OPERATORS[case.operator]
    matrices = Matrices(case.many, case.n, case.letter, case.k)
    arguments = on_device(operator.arguments(matrices))
    call = call_of(case.operator, operator, lindiff_cuda)
    times = []
    for value in values:
        with setting(name, value):
            times.append(seconds(lambda: call(*arguments), least))
    return times


def best(times: dict[int, tuple[float, ...]], present: int) -> int:
    """The value with the least time, each case counting relative to its fastest; the present one, if it is
    hardly worse.
    """
    fastest = [min(of_case) for of_case in zip(*times.values(), strict=True)]
    totals = {
        value: sum(x / least for x, least in zip(of_value, fastest, strict=True))
        for value, of_value in times.items()
    }
    value = min(totals, key=totals.__getitem__)
    return present if present in totals and totals[value] > WORTH * totals[present] else value


def as_python(decided: dict[str, Any]) -> str:
    """What to put into tuning.py in the place of what has these names there."""
    return "\n".join(f"{name} = {written(value)}" for name, value in decided.items())


def written(value: Any) -> str:
    """A value as it stands in the source of `tuning`."""
    if not isinstance(value, dict):
        return repr(value)
    rows = [f'    "{kernel}": ({", ".join(map(str, row))}),' for kernel, row in value.items()]
    return "\n".join(["{", *rows, "}  # fmt: skip"])
