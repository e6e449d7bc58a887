"""What a sum is over: partitions of data, in blocks of which each is the work of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cloudpickle
import dask
import distributed
import numpy as np
from dask.delayed import Delayed

from lindiff.distributed.clusters import Kept

__all__ = ["Blocks", "blocks_of"]

# Tasks for each thread of the workers: one waits for another at most half the time, and a task costs some ms.
TASKS = 2

KINDS = (
    "a list, a dict by names, a pandas groupby, or a collection of Dask (array, bag, data frame, list of "
    "delayed objects or futures)"
)


class Blocks:
    """Partitions by blocks.

    Parameters
    ----------
    names : sequence of sequences
        Of the partitions of each block.
    """

    def __init__(self, names: Sequence[Sequence[Any]]) -> None:
        self.names = names
        self.count = sum(map(len, names))

    def on_workers(self) -> Sequence[Any]:
        """For each block, a list of tuples with one part of all data: a future of it, or one with futures."""
        raise NotImplementedError


class Local(Blocks):
    """Of lists: they are sent to the workers, and kept here to be sent again."""

    def __init__(self, client: Any, names: Sequence[Any], partitions: Sequence[tuple[Any, ...]]) -> None:
        for name, partition in zip(names, partitions, strict=True):
            _refuse_what_stays(name, partition)
        size = _power_of_two(-(-len(names) // (TASKS * max(1, sum(client.nthreads().values())))))
        starts = range(0, len(names), size)
        super().__init__([names[i : i + size] for i in starts])
        self._kept = Kept(client, [partitions[i : i + size] for i in starts])

    def on_workers(self) -> Sequence[Any]:
        return self._kept.futures()


class Remote(Blocks):
    """Of collections of Dask: the scheduler knows how to compute each, and does it anew if need be."""

    def __init__(self, client: Any, names: Sequence[Any], partitions: Sequence[tuple[Any, ...]]) -> None:
        super().__init__([[name] for name in names])
        self._blocks = [[tuple(map(client.compute, partition))] for partition in partitions]

    def on_workers(self) -> Sequence[Any]:
        return self._blocks


def blocks_of(client: Any, given: Sequence[Any]) -> Blocks:
    """The partitions of some data that are divided alike.

    Raises
    ------
    TypeError
        If data are no partitions.
    ValueError
        If there are none, or not the same of all data.
    """
    if not given:
        raise TypeError(f"lindiff.distributed.Sum(term, partitions): give the partitions: {KINDS}")
    collections = [dask.is_dask_collection(data) for data in given]
    if any(collections) and not all(collections):
        raise TypeError(
            "lindiff.distributed.Sum: some data are collections of Dask, and others not; give all as one kind"
        )
    named = [_of_collection(data) if all(collections) else _of_sequence(data) for data in given]
    names = named[0][0]
    for others, _ in named:
        if list(others) != list(names):
            raise ValueError(
                f"lindiff.distributed.Sum: the data are not divided alike: into {len(names)} partitions and "
                f"{len(others)}" + ("" if len(names) != len(others) else ", of other names")
            )
    if not names:
        raise ValueError("lindiff.distributed.Sum: there are no partitions to add up")
    partitions = list(zip(*(parts for _, parts in named), strict=True))
    is_remote = all(collections) or all(map(_is_remote, named[0][1]))
    return (Remote if is_remote else Local)(client, names, partitions)


def _of_sequence(data: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Names and partitions of what is in this process, or a list of futures."""
    if isinstance(data, Mapping):
        return list(data), list(data.values())
    if hasattr(data, "groups") and hasattr(data, "ngroups"):  # a groupby of pandas
        names, parts = zip(*data, strict=True) if data.ngroups else ((), ())
        return names, parts
    if isinstance(data, list | tuple):
        return range(len(data)), data
    advice = ""
    if hasattr(data, "dtype") and hasattr(data, "shape"):
        advice = "; divide it, as by np.array_split(y, 32)"
    elif hasattr(data, "groupby"):
        advice = "; group it, as by frame.groupby('shop')"
    raise TypeError(
        f"lindiff.distributed.Sum: {type(data).__name__} is not divided into partitions: give {KINDS}{advice}"
    )


def _of_collection(data: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Names and delayed partitions of a collection; blocks of an array are named by their places.

    Those of a matrix that is divided by its rows are named as those of a vector.
    """
    if isinstance(data, Delayed) or not hasattr(data, "to_delayed"):
        raise TypeError(
            f"lindiff.distributed.Sum: {type(data).__name__} is one object, not divided into partitions: "
            f"give {KINDS}"
        )
    delayed = data.to_delayed()
    if not hasattr(delayed, "ravel"):
        return range(len(delayed)), delayed
    if delayed.size == len(delayed):  # divided along the first axis alone
        return range(delayed.size), list(delayed.ravel())
    return list(np.ndindex(delayed.shape)), list(delayed.ravel())


def _is_remote(part: Any) -> bool:
    """Whether this is a partition that a worker has or makes."""
    return isinstance(part, Delayed | distributed.Future)


def _refuse_what_stays(name: Any, partition: Any) -> None:
    """Raise where a partition cannot be pickled; its arrays are not copied for that."""
    try:
        cloudpickle.dumps(partition, protocol=5, buffer_callback=lambda _: None)
    except Exception as error:
        raise TypeError(
            f"lindiff.distributed.Sum: partition {name!r} cannot be sent to workers: {error}"
        ) from error


def _power_of_two(n: int) -> int:
    """The next one: neighbours are then added in the same pairs, however many tasks there are."""
    return 1 << (n - 1).bit_length()
