"""Measuring: one process a competitor, all of them kept alive and taking turns.

Separate processes keep the thread pools of several BLAS libraries out of each other's way, and keep one
library's objects out of another's garbage collection. Short turns (A B C A B C ...) let a drift of the
machine hit all alike; a turn ends when the threads that it woke have gone to sleep. The collector stays
as Python has it. Nothing here knows what is measured.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import threadpoolctl

from .peers import PEERS, Calls, Peer

TOLERANCE = 1e-8
LONG = 0.1  # seconds from which a call needs no warm-up at the start of each turn
SAMPLE = 1e-3  # seconds that one sample should last: shorter calls are repeated within it
MIN_SAMPLES = 3


@dataclass(frozen=True)
class Case:
    """One thing to measure; cases of a family differ in size and share a line of the plot.

    A family of many calls names the call as well.
    """

    family: str
    size: int | None = None
    call: str = ""

    def __str__(self) -> str:
        name = self.call or self.family
        return name if self.size is None else f"{name}, n={self.size}"


@dataclass(frozen=True)
class Ratio:
    """A ratio of times that a suite is about; `over` and `under` are places: (case, peer, quantity)."""

    label: str
    over: tuple[str, str, str]
    under: tuple[tuple[str, str, str], ...]
    """Times that are added up."""
    times: float = 1
    """How often `over` happens."""
    goal: str = ""


class Suite(Protocol):
    """What each suite's module offers.

    `memory_cases()` and `memory_call(peer, case)` are optional, and so are `SHARE`: how much of the time that
    is set for a measurement the suite takes; `RATIOS`: the `Ratio`s that the report names; `ON_GPU`: whether
    it measures the competitors of `cuda_peers`.
    """

    TITLE: str
    PEERS: tuple[str, ...]

    def cases(self) -> list[Case]:
        """List what is measured."""

    def prepare(self, peer: Peer, case: Case) -> Calls | None:
        """Set up a case for one library; None where it lacks the operation."""


@dataclass(frozen=True)
class Settings:
    """How long to measure: seconds for each competitor and quantity, split over this many turns."""

    seconds: float = 1.0
    rounds: int = 10


@dataclass(frozen=True)
class Record:
    """The result of one competitor on one quantity of one case."""

    suite: str
    family: str
    call: str
    size: int | None
    quantity: str
    peer: str
    version: str
    unit: str
    median: float
    q25: float
    q75: float
    samples: int


def run_suite(name: str, peers: list[str], settings: Settings, note: Callable[[str], None]) -> list[Record]:
    """Measure one suite and return its records; `note` is told what was skipped and why."""
    suite = load_suite(name)
    settings = replace(settings, seconds=settings.seconds * getattr(suite, "SHARE", 1.0))
    with _workers(name, [peer for peer in peers if peer in suite.PEERS], note) as workers:
        for worker in workers:
            note(f"{worker.peer} {worker.version}, threads: {worker.threads}")
        records: list[Record] = []
        for case in suite.cases():
            records += _run_case(case, workers, settings, note)
    for case in suite.memory_cases() if hasattr(suite, "memory_cases") else []:
        note(f"memory of {case} ...")
        for worker in workers:
            records += _run_memory(worker, case, note)
    return records


def load_suite(name: str) -> Any:
    """Import the module of a suite."""
    return importlib.import_module(f"{__package__}.{name}")


def make_peer(suite: Any, name: str) -> Peer:
    """The competitor of this name, on the device that the suite is about."""
    if not getattr(suite, "ON_GPU", False):
        return PEERS[name]()
    return importlib.import_module(f"{__package__}.cuda_peers").CUDA_PEERS[name]()


class Worker:
    """A competitor's process, seen from the parent."""

    def __init__(self, suite: str, peer: str) -> None:
        self.suite, self.peer = suite, peer
        context = multiprocessing.get_context("spawn")
        self._connection, remote = context.Pipe()
        self._process = context.Process(target=_serve, args=(remote, suite, peer), daemon=True)
        self._process.start()
        remote.close()
        try:
            self.version, self.threads = self._receive()
        except BaseException:
            self.close()
            raise

    def ask(self, request: str, *args: Any) -> Any:
        """Call a method of the process's `_Session` and return what it returns."""
        self._connection.send((request, args))
        return self._receive()

    def close(self) -> None:
        self._connection.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.terminate()

    def _receive(self) -> Any:
        try:
            succeeded, answer = self._connection.recv()
        except EOFError:
            raise WorkerError("its process ended") from None
        if not succeeded:
            raise WorkerError(answer)
        return answer


class WorkerError(Exception):
    """Something failed in a competitor's process."""


@contextmanager
def _workers(suite: str, peers: list[str], note: Callable[[str], None]) -> Iterator[list[Worker]]:
    workers: list[Worker] = []
    try:
        for peer in peers:
            try:
                workers.append(Worker(suite, peer))
            except WorkerError as error:
                note(f"{peer} skipped: {error}")
        yield workers
    finally:
        for worker in workers:
            worker.close()


def _run_case(
    case: Case, workers: list[Worker], settings: Settings, note: Callable[[str], None]
) -> list[Record]:
    note(f"{case} ...")
    offers: dict[Worker, _Offer] = {}
    for worker in workers:
        try:
            offer = worker.ask("prepare", case)
        except WorkerError as error:
            note(f"{case}: {worker.peer} skipped: {error}")
        else:
            if offer is not None:
                offers[worker] = offer
    _drop_disagreeing(case, offers, note)

    def record(worker: Worker, quantity: str, seconds: list[float]) -> Record:
        return _record(worker, case, quantity, [second * 1e6 for second in seconds], "µs")

    records = []
    for quantity in dict.fromkeys(quantity for offer in offers.values() for quantity in offer.quantities):
        offering = [worker for worker, offer in offers.items() if quantity in offer.quantities]
        for worker, seconds in _take_turns(offering, quantity, settings).items():
            records.append(record(worker, quantity, seconds))
    for worker, offer in offers.items():
        for quantity in offer.once:
            seconds, figures = worker.ask("once", quantity)
            records.append(record(worker, quantity, [seconds]))
            for figure, number in figures.items():
                records.append(_record(worker, case, f"{quantity}: {figure}", [number], ""))
        for quantity, seconds in offer.first_call.items():
            records.append(record(worker, f"first call of {quantity}", [seconds]))
    return records


def _record(worker: Worker, case: Case, quantity: str, samples: list[float], unit: str) -> Record:
    q25, median, q75 = (float(q) for q in np.percentile(samples, (25, 50, 75)))
    return Record(
        worker.suite, case.family, case.call, case.size, quantity,
        worker.peer, worker.version, unit, median, q25, q75, len(samples),
    )  # fmt: skip


def _drop_disagreeing(case: Case, offers: dict[Worker, _Offer], note: Callable[[str], None]) -> None:
    """Leave out whoever computes something else than the reference: of the peers that are not lindiff, the
    one that most others agree with."""
    candidates = [
        worker
        for worker, offer in offers.items()
        if worker.peer not in ("numpy", "lindiff", "lindiff-cpu") and offer.checked
    ]
    distances = {
        worker: [disagreement(offer.checked, offers[worker].checked) for offer in offers.values()]
        for worker in candidates
    }
    if not candidates:
        return
    reference = max(candidates, key=lambda worker: sum(d <= TOLERANCE for d in distances[worker]))
    for worker, distance in zip(list(offers), distances[reference], strict=True):
        if not distance <= TOLERANCE:
            note(f"{case}: {worker.peer} LEFT OUT, {distance:.1e} (relative) away from {reference.peer}")
            del offers[worker]


def disagreement(results: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> float:
    """Return the largest difference of what both computed, relative to each result's largest entry."""
    common = results.keys() & reference.keys()
    return max((_distance(results[key], reference[key]) for key in common), default=0.0)


def _distance(x: np.ndarray, reference: np.ndarray) -> float:
    if x.shape != reference.shape or not np.isfinite(x).all():
        return math.inf
    return float(np.max(np.abs(x - reference)) / np.max(np.abs(reference)))


def _take_turns(workers: list[Worker], quantity: str, settings: Settings) -> dict[Worker, list[float]]:
    samples: dict[Worker, list[float]] = {worker: [] for worker in workers}
    spent = dict.fromkeys(workers, 0.0)
    for _ in range(settings.rounds):
        for worker in workers:
            if len(samples[worker]) >= MIN_SAMPLES and spent[worker] >= settings.seconds:
                continue
            start = time.perf_counter()
            samples[worker] += worker.ask("turn", quantity, settings.seconds / settings.rounds)
            spent[worker] += time.perf_counter() - start
            worker.ask("rest")
    return samples


def _run_memory(worker: Worker, case: Case, note: Callable[[str], None]) -> list[Record]:
    """Measure peak memory in a fresh process of the same competitor."""
    fresh = Worker(worker.suite, worker.peer)
    try:
        peak = fresh.ask("peak_memory", case)
    except WorkerError as error:
        note(f"peak memory of {case}: {worker.peer} skipped: {error}")
        return []
    finally:
        fresh.close()
    return [] if peak is None else [_record(worker, case, "peak memory over start", [peak / 1e6], "MB")]


@dataclass(frozen=True)
class _Offer:
    """The part of `Calls` that travels between processes."""

    quantities: tuple[str, ...]
    checked: dict[str, np.ndarray]
    first_call: dict[str, float]
    once: tuple[str, ...]


class _Session:
    """The measuring inside a competitor's process: its public methods answer `Worker.ask`."""

    def __init__(self, suite: str, peer: str) -> None:
        self._suite = load_suite(suite)
        self._peer = make_peer(self._suite, peer)
        self._calls = Calls({})
        self._repeats: dict[str, int] = {}

    def introduce(self) -> tuple[str, str]:
        """Return the version of the library and the threads of the pools that it has loaded."""
        pools = {f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpoolctl.threadpool_info()}
        if self._peer.name == "torch":
            pools.add(f"torch {self._peer.xp.get_num_threads()}")
        return self._peer.version, ", ".join(sorted(pools))

    def prepare(self, case: Case) -> _Offer | None:
        """Set up a case, and find out how often each call fits in a sample."""
        calls = self._suite.prepare(self._peer, case)
        if calls is None:
            return None
        self._calls = calls
        self._repeats = {quantity: _repeats(call) for quantity, call in calls.timed.items()}
        self.rest()
        return _Offer(tuple(calls.timed), calls.checked, calls.first_call, tuple(calls.once))

    def turn(self, quantity: str, seconds: float) -> list[float]:
        """Time one call for this long, at least once; return seconds for an operation, sample by sample."""
        call, repeats = self._calls.timed[quantity], self._repeats[quantity]
        if repeats * SAMPLE < LONG:
            call()
        samples = []
        end = time.perf_counter() + seconds
        while True:
            elapsed = _elapsed(call, repeats)
            samples.append(elapsed / (repeats * self._calls.operations))
            if time.perf_counter() >= end:
                return samples

    def once(self, quantity: str) -> tuple[float, dict[str, float]]:
        """Time a long call; return seconds and its figures."""
        start = time.perf_counter()
        figures = self._calls.once[quantity]()
        return time.perf_counter() - start, figures

    def rest(self) -> None:
        """Wait until this process is idle: threads of BLAS and OpenMP spin a while before they sleep."""
        for _ in range(100):
            before = time.process_time()
            time.sleep(0.002)
            if time.process_time() - before < 0.0005:
                return

    def peak_memory(self, case: Case) -> int | None:
        """Return the bytes that one call needs at its peak, over what the process held before it.

        None where the library lacks the operation.
        """
        call = self._suite.memory_call(self._peer, case)
        if call is None:
            return None
        before = _reset_peak()
        on_device = self._peer.device_peak(call)
        if on_device is not None:
            return on_device
        call()
        return _memory("VmHWM") - before


def _repeats(call: Callable[[], Any]) -> int:
    """Return how many calls make up one sample; the calls made to find out warm up as well."""
    first = _elapsed(call, 1)
    shortest = min(_elapsed(call, 1) for _ in range(5)) if first < LONG else first
    return max(1, math.ceil(SAMPLE / shortest))


def _elapsed(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - start


def _serve(connection: Connection, suite: str, peer: str) -> None:
    """Answer the parent's requests until it hangs up."""
    _prefer_installed_packages()
    session = None

    def answer(request: str, args: tuple[Any, ...]) -> Any:
        nonlocal session
        if session is None:
            session = _Session(suite, peer)
        return getattr(session, request)(*args)

    request, args = "introduce", ()
    while True:
        try:
            reply = True, answer(request, args)
        except Exception as error:
            reply = False, f"{type(error).__name__}: {error}"
        try:
            connection.send(reply)
            request, args = connection.recv()
        except (EOFError, OSError):
            return


def _prefer_installed_packages() -> None:
    """Take the source tree off the path: it would hide the installed lindiff."""
    root = Path(__file__).resolve().parents[1]
    sys.path[:] = [entry for entry in sys.path if Path(entry or os.curdir).resolve() != root]


def _reset_peak() -> int:
    """Forget the highest memory so far (Linux only) and return the memory held now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(field: str) -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[field].split()[0]) * 1024
