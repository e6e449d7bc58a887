"""A loop over steps and minibatches that can be stopped, kept, and gone on with: ``Descent``."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core import pytree
from lindiff.descent.batches import Passes
from lindiff.descent.methods import Method, State
from lindiff.programs.program import program as program_of
from lindiff.transforms.reverse import value_and_grad

__all__ = ["Descent", "Snapshot"]


class Snapshot(NamedTuple):
    """Where a descent is: a tree of arrays and numbers, which pickles.

    Attributes
    ----------
    params : tree of arrays
    state : State
        The method's.
    losses : ndarray
        Of the batch of each step, before the step.
    shuffled : dict or None
        The state of the random generator from which the rows are shuffled in the pass over the data that the
        next step is of.
    """

    params: Any
    state: State
    losses: Any
    shuffled: dict[str, Any] | None


class Descent:
    """Steps of a method down a loss.

    Parameters
    ----------
    loss : callable
        ``loss(params, *data)`` where the data are a tuple, ``loss(params, data)`` else, ``loss(params)``
        without data; a real number, as a rule the mean over the rows.
    params : tree of arrays
        Where to begin.
    method : Method
        Such as ``lindiff.descent.adam(1e-3)``.
    data : tree of arrays, optional
        With the same number of rows, along the first axis.
    size : int, optional
        The rows of a batch; all of them, if not given.
    rng : numpy.random.Generator or int, optional
        Shuffles the rows before each pass over the data.
    program : bool, optional
        Run a step as a :func:`lindiff.program`: of what the loss does, only the result recurs.

    Attributes
    ----------
    params : tree of arrays
        After the last step that was completed.
    losses : ndarray
        Of the batch of each step, before the step.
    step : int
        How many steps were made.

    Raises
    ------
    TypeError
        If parameters are no real or complex numbers.
    ValueError
        If the data do not fit together.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> y = X @ np.array([1.0, -2.0, 0.5])
    >>> def loss(w, X, y):
    ...     return np.mean((X @ w - y) ** 2)
    >>> training = ld.descent.Descent(loss, np.zeros(3), ld.descent.adam(0.1), (X, y), size=20, rng=0)
    >>> training.run(epochs=30, progress=False).params.round(2)
    array([ 1. , -2. ,  0.5])
    >>> training.step, bool(training.losses[-1] < 1e-4)
    (300, True)
    """

    def __init__(
        self,
        loss: Callable[..., Any],
        params: Any,
        method: Method,
        data: Any = None,
        *,
        size: int | None = None,
        rng: int | np.random.Generator | None = None,
        program: bool = False,
    ) -> None:
        self.params = pytree.tree_map(_own, params)
        self._state = method.init(self.params)
        self._losses: list[float] = []
        if data is None and size is not None:
            raise ValueError("size is of the batches of data, and there are no data")
        self._passes = None if data is None else Passes(data, size, np.random.default_rng(rng))
        self._spread = type(data) is tuple
        stepped = _step_of(loss, method)
        self._stepped = program_of(stepped) if program else stepped

    @property
    def step(self) -> int:
        return len(self._losses)

    @property
    def losses(self) -> Any:
        return np.array(self._losses)

    @property
    def steps_per_epoch(self) -> int:
        """The steps of one pass over the data; 1 without data."""
        return 1 if self._passes is None else self._passes.steps

    def run(
        self,
        steps: int | None = None,
        *,
        epochs: int | None = None,
        progress: bool | None = None,
        callback: Callable[[Descent], Any] | None = None,
    ) -> Descent:
        """Make steps until there are so many of them, or so many passes over the data, in all.

        Parameters
        ----------
        steps, epochs : int
            One of both.  Those made before count: after an interrupt, the same call goes on to the same end.
        progress : bool, optional
            Show a bar (tqdm) with the loss; by default where tqdm is installed.
        callback : callable, optional
            ``callback(descent)`` after each step; true ends the run.

        Returns
        -------
        Descent
            Itself.

        Raises
        ------
        FloatingPointError
            If the loss or a parameter is not finite; the parameters are those before that step.
        KeyboardInterrupt
            As it comes; the step that was interrupted has not been made.
        """
        if (steps is None) == (epochs is None):
            raise TypeError("give steps or epochs, one of both")
        last = steps if steps is not None else (epochs or 0) * self.steps_per_epoch
        with _bar(progress, self.step, last) as bar:
            while self.step < last:
                self._make_step()
                bar.set_postfix(loss=f"{self._losses[-1]:.4g}", refresh=False)
                bar.update()
                if callback is not None and callback(self):
                    break
        return self

    def snapshot(self) -> Snapshot:
        """Where it is, to go on from later or elsewhere with :meth:`resume`.

        Examples
        --------
        >>> import pickle
        >>> import numpy as np, lindiff as ld
        >>> def made():
        ...     return ld.descent.Descent(lambda x: np.sum(x**2), np.ones(2), ld.descent.adam(0.1))
        >>> kept = pickle.dumps(made().run(5, progress=False).snapshot())
        >>> again = made().resume(pickle.loads(kept)).run(8, progress=False)
        >>> bool(np.all(again.params == made().run(8, progress=False).params))
        True
        """
        shuffled = None if self._passes is None else self._passes.shuffled(self.step)
        params, state = pytree.tree_map(_own, (self.params, self._state))
        return Snapshot(params, state, self.losses, shuffled)

    def resume(self, snapshot: Snapshot) -> Descent:
        """Go on from a snapshot, of a descent with the same data and method: the steps are those that follow.

        Raises
        ------
        ValueError
            If parameters or moments have another structure, or another shape, than those here.
        """
        for found, here, what in (
            (snapshot.params, self.params, "parameters"),
            (snapshot.state.moments, self._state.moments, "moments"),
        ):
            leaves = pytree.flatten_like(found, here, f"{what} of the snapshot", what)
            for x, y in zip(leaves, pytree.flatten(here)[0], strict=True):
                if np.shape(x) != np.shape(y):
                    raise ValueError(f"{what} of the snapshot: shape {np.shape(x)}, here {np.shape(y)}")
        self.params, self._state = pytree.tree_map(_own, (snapshot.params, snapshot.state))
        self._losses = np.asarray(snapshot.losses).tolist()
        if self._passes is not None:
            self._passes.restore(snapshot.shuffled)
        return self

    def _make_step(self) -> None:
        loss, params, state = self._stepped(self.params, self._state, *self._batch())
        value = float(loss)
        if not np.isfinite(value):
            raise FloatingPointError(f"the loss of step {self.step + 1} is {value}")
        if not all(np.all(np.isfinite(leaf)) for leaf in pytree.flatten(params)[0]):
            raise FloatingPointError(
                f"step {self.step + 1} makes a parameter inf or nan: its gradient is not finite, or the rate "
                "too large"
            )
        self.params, self._state = params, state
        self._losses.append(value)

    def _batch(self) -> tuple[Any, ...]:
        """The data of the next step, as arguments of the loss."""
        if self._passes is None:
            return ()
        found = self._passes.at(self.step)
        return found if self._spread else (found,)


def _step_of(loss: Callable[..., Any], method: Method) -> Callable[..., tuple[Any, Any, State]]:
    """A step as a function: from parameters, state and data the loss, new parameters and the new state."""

    def step(params: Any, state: State, *data: Any) -> tuple[Any, Any, State]:
        value, gradient = value_and_grad(loss)(params, *data)
        return value, *method.update(gradient, state, params)

    return step


def _own(x: Any) -> Any:
    """A copy of an array, which nobody else writes into."""
    return x.copy() if hasattr(x, "shape") else x


class _NoBar:
    """What is called of a bar."""

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self) -> None:
        pass

    def set_postfix(self, **shown: Any) -> None:
        pass


def _bar(progress: bool | None, done: int, last: int) -> Any:
    """A progress bar, or what is none."""
    if progress is None:
        progress = importlib.util.find_spec("tqdm") is not None
    if not progress:
        return _NoBar()
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm, or progress=False") from error
    return tqdm(total=last, initial=done, unit="step")
