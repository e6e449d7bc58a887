"""``Sum``: a function that is a sum over partitions, computed where these are."""

from __future__ import annotations

import concurrent.futures
import inspect
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.directions import Directions, array_of, count_of
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.distributed.clusters import Kept, client_of
from lindiff.distributed.partitions import blocks_of
from lindiff.distributed.terms import Place, Steps, Term, added

__all__ = ["Sum"]

# How many results a task adds: a power of two.
AT_ONCE = 8

# Of a term that changes from call to call, so many are kept on the workers.
MOST = 4

# How often what a lost worker had is computed anew.
TRIES = 4

# Parameters of more bytes go to each worker once, not with each task.
LARGE = 100_000


class Sum:
    """A sum of one term for each partition of data, computed on the workers of a Dask cluster.

    It is a function of parameters like any other: `lindiff.value_and_grad`, `hvp`, `minimize`, `Descent` take
    it.  Values and gradients are computed where the partitions are, and added there; one gradient comes back.

    Parameters
    ----------
    term : callable
        ``term(params, *partition)`` returns one real number, from a tree of arrays and one partition of each
        of the data, as they are computed: arrays, frames, lists.
    *data : partitions
        A list, where each element is a partition, any picklable object; a dict, by names; a pandas
        ``groupby``; a Dask array (its blocks), bag or data frame; a list of delayed objects or futures.
        Several of them are divided alike, and a term has a partition of each.
    scheduler : optional
        A ``distributed.Client``, a cluster, or the address of a scheduler.  By default the client that there
        is; where there is none, a ``LocalCluster`` of one process for each core, which the next sums share.
    program : bool
        Run the term, and its derivatives, on the workers without Python from the third time on, as
        :func:`lindiff.program` does.

    Attributes
    ----------
    client : distributed.Client
        ``client.dashboard_link`` is the address to watch it at.
    partitions : int
        How many.

    Raises
    ------
    ImportError
        If a worker has no lindiff, or another version.
    TypeError
        If the term or a partition cannot be sent, or the data are no partitions.
    ValueError
        If there are no partitions, or several data are not divided alike.

    Notes
    -----
    Called, it raises what a term raises, with the name of the partition before its message.

    The term goes to each worker once and stays there; so do the partitions of lists, which are kept here as
    well: leave them as they are.  Where a term has changed when it is called again (another global, another
    variable that it closes over) it is sent again; one that packs to more than 100 KB is what it was when the
    sum was made, and what a module has that workers import themselves is theirs.  What a lost worker had is
    sent, or computed by Dask, and evaluated again.  Neighbours are added in pairs, and pairs in pairs: the
    result is the same to the last bit on any number of workers.

    Cost: a value and gradient is one evaluation of the term's, in parallel, and about 1 ms for each task, of
    which there are four for each thread of the workers, or one for each partition of a collection.  A
    derivative of the gradient, as a Hessian product, is another one.

    A script that starts a ``LocalCluster`` has its work under ``if __name__ == "__main__":``, as all do that
    start processes.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from distributed import Client
    >>> def squares(w, X, y):
    ...     return np.sum((X @ w - y) ** 2)
    >>> X, w = np.arange(12.0).reshape(6, 2), np.array([1.0, 2.0])
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     loss = ld.distributed.Sum(squares, np.split(X, 3), np.split(X @ w, 3), scheduler=client)
    ...     value, gradient = ld.value_and_grad(loss)(np.zeros(2))
    >>> value, gradient
    (np.float64(2364.0), array([-1440., -1644.]))
    """

    def __init__(
        self, term: Callable[..., Any], *data: Any, scheduler: Any = None, program: bool = False
    ) -> None:
        if not callable(term) or hasattr(term, "__dask_graph__"):
            raise TypeError(
                f"lindiff.distributed.Sum: the term is a function term(params, partition), not a "
                f"{type(term).__name__}"
            )
        self._function, self._program = term, program
        sent = Term(term, program)
        _refuse_what_stays(sent)
        self.client = client_of(scheduler)
        self._blocks = blocks_of(self.client, data)
        self._blocks.on_workers()
        self._may_change = len(sent.packed()) <= LARGE
        self._terms: dict[bytes, Kept] = {}
        self._term = self._kept(sent)
        self.partitions = self._blocks.count
        self.__name__ = f"sum of {sent.name}"

    def __repr__(self) -> str:
        return f"<{self.__name__} over {self.partitions} partitions>"

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled: its partitions are on a cluster")

    def __call__(self, params: Any) -> Any:
        leaves, restore = pytree.flatten(params)
        inputs: list[Any] = []
        constants: list[Any] = []
        places = []
        for leaf in leaves:
            found = inputs if np.asarray(value(leaf)).dtype.kind in "fc" else constants
            places.append(Place(len(found), found is constants))
            found.append(leaf)
        form = cloudpickle.dumps(restore(places))
        return self._derivative((), form, constants, inputs)

    def _derivative(self, steps: Steps, form: bytes, constants: Any, inputs: Any) -> Any:
        """The sum of a derivative of the term, itself differentiable by the inputs."""

        def of(*more: str) -> Callable[[Any], Any]:
            return lambda inputs: self._derivative((*steps, *more), form, constants, inputs)

        if not any(type(leaf) is Variable for leaf in pytree.flatten(inputs)[0]):
            return self._computed(steps, form, constants, inputs)

        @rule
        def summed(inputs: Any) -> Any:
            if not steps:  # a number: it comes with its gradient
                y, gradient = of("gradient")(inputs)
                return y, lambda y_bar: pytree.tree_map(lambda x: y_bar * x, gradient)
            y = of()(inputs)
            return y, Differential(
                lambda x_dot: _walked(of, "pushforward", inputs, x_dot, inputs),
                lambda y_bar: (_walked(of, "pullback", inputs, y_bar, y),),
            )

        return summed(inputs)

    # -- on the cluster -------------------------------------------------------------------------------------

    def _computed(self, steps: Steps, form: bytes, constants: Any, inputs: Any) -> Any:
        for _ in range(TRIES):
            tasks = self._submitted(steps, form, constants, inputs)
            try:
                return tasks[-1].result()
            except concurrent.futures.CancelledError:
                if self.client.status != "running":
                    raise RuntimeError(f"{self!r}: its client is {self.client.status}") from None
            except BaseException:
                self.client.cancel(tasks)
                raise
        raise RuntimeError(f"{self!r}: workers were lost {TRIES} times while it was computed")

    def _kept(self, term: Term) -> Kept:
        """A term on the workers; one that has been sent before is there."""
        found = self._terms.pop(term.packed(), None) or Kept(self.client, [term], on_all=True)
        self._terms[term.packed()] = found
        if len(self._terms) > MOST:
            del self._terms[next(iter(self._terms))]
        return found

    def _submitted(self, steps: Steps, form: bytes, constants: Any, inputs: Any) -> list[Any]:
        """All tasks of a sum, as futures; the last one is the sum."""
        if self._may_change:
            self._term = self._kept(Term(self._function, self._program))
        [term] = self._term.futures()
        arguments = [inputs, constants]
        if len(pickle.dumps(arguments, protocol=5)) > LARGE:
            arguments = self.client.scatter(arguments, hash=False)

        def submit(function: Callable[..., Any], *args: Any) -> Any:
            return self.client.submit(function, *args, pure=False)

        blocks = zip(self._blocks.names, self._blocks.on_workers(), strict=True)
        results = [submit(Term.of_block, term, steps, form, *arguments, *block) for block in blocks]
        tasks = list(results)
        while len(results) > 1:
            results = [submit(added, results[i : i + AT_ONCE]) for i in range(0, len(results), AT_ONCE)]
            tasks += results
        return tasks


def _walked(of: Callable[..., Any], step: str, inputs: Any, start: Any, like: Any) -> Any:
    """What becomes of a tangent or cotangent, or of many at once; None in it stands for zeros."""
    leaves = pytree.flatten_like(start, like, "tangent", "value", or_none=True)
    others, restore = pytree.flatten(like)
    count = count_of(leaves)
    if count is None:
        filled = [np.zeros_like(x) if dot is None else dot for dot, x in zip(leaves, others, strict=True)]
        return of(step)((inputs, restore(filled)))
    stacked = [
        np.zeros((count, *np.shape(x)), x.dtype) if dot is None else array_of(dot, count)
        for dot, x in zip(leaves, others, strict=True)
    ]
    return pytree.tree_map(Directions, of(f"{step}s")((inputs, restore(stacked))))


def _refuse_what_stays(term: Term) -> None:
    """Raise where a function cannot be pickled; says which of the names in it is the cause."""
    try:
        term.packed()
        return
    except Exception as error:
        reason = error
    culprits = [name for name, x in _named(term.function) if not _can_be_sent(x)]
    raise TypeError(
        f"lindiff.distributed.Sum: {term.name} cannot be sent to workers"
        + (f" for {', '.join(culprits)}, which it uses" if culprits else "")
        + f": {reason}; make such things inside of it, on the worker"
    ) from reason


def _named(function: Callable[..., Any]) -> Sequence[tuple[str, Any]]:
    """What a function closes over, and what it finds in its module."""
    try:
        found = inspect.getclosurevars(function)
    except TypeError:
        return ()
    return [*found.nonlocals.items(), *found.globals.items()]


def _can_be_sent(x: Any) -> bool:
    try:
        cloudpickle.dumps(x)
    except Exception:
        return False
    return True
