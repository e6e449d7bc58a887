"""Dask's clients: where the work goes, and what is kept there."""

from __future__ import annotations

import atexit
import importlib.metadata
from collections.abc import Sequence
from typing import Any

import dask
import distributed

__all__ = ["Kept", "client_of"]


def client_of(scheduler: Any) -> Any:
    """A client of Dask's for what a user gives as a scheduler.

    Without one: the client that there is, or one of a new ``LocalCluster`` with a process for each core.

    Raises
    ------
    ImportError
        If a worker has no lindiff, or another version.
    TypeError
        If the client is asynchronous.
    """
    if scheduler is None:
        try:
            client = distributed.default_client()
        except ValueError:
            client = _of_this_machine()
    elif isinstance(scheduler, distributed.Client):
        client = scheduler
    else:
        client = distributed.Client(scheduler)
    if client.asynchronous:
        raise TypeError(
            "lindiff.distributed.Sum: the client is asynchronous, and functions that are differentiated are "
            "not; give a client made without asynchronous=True"
        )
    client.wait_for_workers(1)
    _refuse_other_versions(client)
    return client


def _of_this_machine() -> Any:
    """A client of a new cluster with a process for each core."""
    # Dask has workers give back memory at once; arrays that come and go cost twice their time then.
    with dask.config.set({"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}):
        client = distributed.Client(distributed.LocalCluster(threads_per_worker=1))
    atexit.register(_closed, client)
    return client


def _closed(client: Any) -> None:
    """Close a client, and then its cluster: what is left on workers is then nobody's, and not lost."""
    client.close()
    client.cluster.close()


def _refuse_other_versions(client: Any) -> None:
    """Raise where a worker has no lindiff, or another one: its derivatives might be others."""
    here = importlib.metadata.version("lindiff")
    for worker, found in client.run(importlib.metadata.version, "lindiff", on_error="return").items():
        if isinstance(found, importlib.metadata.PackageNotFoundError):
            raise ImportError(f"the worker {worker} has no lindiff: install lindiff=={here} where it runs")
        if isinstance(found, BaseException):
            raise found
        if found != here:
            raise ImportError(f"the worker {worker} has lindiff {found}, and here it is {here}: install one")


class Kept:
    """Objects that stay on the workers, each on one of them or on all.

    They stay here, too: those of a worker that is lost can be sent again.

    Parameters
    ----------
    client : distributed.Client
    objects : sequence
    on_all : bool
    """

    def __init__(self, client: Any, objects: Sequence[Any], on_all: bool = False) -> None:
        self._client, self._objects, self._on_all = client, objects, on_all
        self._futures: list[Any] = [None] * len(objects)

    def futures(self) -> list[Any]:
        """Those of all the objects; what is not on a worker is sent."""
        missing = [i for i, future in enumerate(self._futures) if future is None or future.cancelled()]
        if missing:
            sent = self._sent([self._objects[i] for i in missing])
            for i, future in zip(missing, sent, strict=True):
                self._futures[i] = future
        return self._futures

    def _sent(self, objects: list[Any]) -> list[Any]:
        try:
            return self._client.scatter(objects, broadcast=self._on_all, hash=False)
        except Exception as error:
            if "ModuleNotFoundError" not in str(error):
                raise
            raise ModuleNotFoundError(
                f"a worker has not all modules that it needs: {error}; give it those of yours by "
                "client.upload_file, or send what is in them by cloudpickle.register_pickle_by_value(module)"
            ) from error
