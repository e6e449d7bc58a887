"""What a worker does: a function of parameters and one partition, its derivatives, and sums of their results.

Results are added in pairs, and the pairs in pairs: neighbours, in the order of the partitions.  So the sum is
the same to the last bit, whatever part of it is added where.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from lindiff.core import pytree
from lindiff.core.directions import Directions, array_of
from lindiff.core.linearization import Linearization
from lindiff.core.variable import value
from lindiff.programs.program import Program
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["Place", "Term", "added", "added_in_pairs"]

# The names of derivatives, each of the function of the one before it.
Steps = tuple[str, ...]


class Place:
    """A leaf in the tree of the parameters.

    Parameters
    ----------
    number : int
        Which one.
    is_constant : bool
        Of the constants, not of the inputs.
    """

    def __init__(self, number: int, is_constant: bool) -> None:
        self.number, self.is_constant = number, is_constant


class Term:
    """A term of a sum: ``function(params, *partition)``, one real number; and its derivatives.

    All of these are functions ``of(inputs, constants, *partition)``, differentiated by a tree of arrays.  It
    goes to a worker once, and stays there, with its programs.

    Parameters
    ----------
    function : callable
    program : bool
        Run each of them as a :func:`lindiff.program`.
    """

    def __init__(self, function: Callable[..., Any], program: bool) -> None:
        self.function, self.program = function, program
        self.name = getattr(function, "__name__", type(function).__name__)
        self._sent: bytes | None = None
        self._known: dict[Any, Callable[..., Any]] = {}

    def packed(self) -> bytes:
        """As it is sent."""
        if self._sent is None:
            self._sent = cloudpickle.dumps((self.function, self.program))
        return self._sent

    def __reduce__(self) -> Any:
        return _received, (self.packed(),)

    # -- derivatives ----------------------------------------------------------------------------------------

    def derivative(self, steps: Steps, form: bytes) -> Callable[..., Any]:
        """A derivative; `form` is the tree of the parameters, with a `Place` at each leaf, as it is sent."""
        key = steps, form
        if key not in self._known:
            found = self._value(cloudpickle.loads(form))
            for step in steps:
                found = DERIVATIVES[step](found)
            self._known[key] = Program(found) if self.program else found
        return self._known[key]

    def _value(self, form: Any) -> Callable[..., Any]:
        def term(inputs: Any, constants: Any, *partition: Any) -> Any:
            def at(place: Place) -> Any:
                return (constants if place.is_constant else inputs)[place.number]

            return self._number(self.function(pytree.tree_map(at, form), *partition))

        return term

    def _number(self, y: Any) -> Any:
        """A result as one real number, a value or a Variable."""
        plain = value(y)
        kind = type(plain)
        advice = _ADVICE.get(kind.__module__.split(".")[0])
        is_number = isinstance(plain, int | float | complex | np.number) or hasattr(plain, "dtype")
        if advice is not None or not is_number:
            raise TypeError(
                f"a term of a sum is one real number, {self.name} returned a {kind.__name__}{advice or ''}"
            )
        if np.shape(plain) != ():
            raise TypeError(
                f"a term of a sum is one real number, {self.name} returned an array of shape "
                f"{np.shape(plain)}: take np.sum of it"
            )
        if getattr(plain, "dtype", np.dtype(type(plain))).kind not in "fiub":
            raise TypeError(f"a term of a sum is one real number, {self.name} returned {plain!r}")
        return y

    # -- sums -----------------------------------------------------------------------------------------------

    def of_block(
        self,
        steps: Steps,
        form: bytes,
        inputs: Any,
        constants: Any,
        names: Sequence[Any],
        block: Sequence[tuple[Any, ...]],
    ) -> Any:
        """The sum of a derivative over some partitions; a fault says at which one.

        Parameters
        ----------
        steps, form
            As :meth:`derivative` takes them.
        inputs : tree of arrays
        constants : list
        names : sequence
            Of the partitions.
        block : sequence of tuples
            The partitions, of all data.
        """
        of = self.derivative(steps, form)

        def at(name: Any, partition: tuple[Any, ...]) -> Any:
            try:
                for part in partition:
                    _refuse_empty(part)
                return of(inputs, constants, *map(_held, partition))
            except Exception as error:
                raise _at_partition(error, name) from error.__cause__

        return added_in_pairs(at(name, partition) for name, partition in zip(names, block, strict=True))


# What was received and is still in use: sent again, it has its programs.
_terms: weakref.WeakValueDictionary[bytes, Term] = weakref.WeakValueDictionary()


def _received(packed: bytes) -> Term:
    term = _terms.get(packed)
    if term is None:
        term = Term(*cloudpickle.loads(packed))
        term._sent = packed
        _terms[packed] = term
    return term


_ADVICE = dict.fromkeys(
    ("dask", "distributed"),
    ": its partitions come as they are computed, arrays, frames or lists; call NumPy or pandas on them",
)


def _gradient(of: Callable[..., Any]) -> Callable[..., Any]:
    """A number, and its cotangents: its way back comes from the same run."""

    def value_and_gradient(inputs: Any, *others: Any) -> Any:
        y, pull = vjp(lambda inputs: of(inputs, *others), inputs)
        return y, pull(np.ones_like(value(y)))[0]

    return value_and_gradient


def _pushforward(of: Callable[..., Any]) -> Callable[..., Any]:
    """Tangents of the results, from ``(inputs, their tangents)``."""

    def pushed(inputs: Any, *others: Any) -> Any:
        x, x_dot = inputs
        return jvp(lambda x: of(x, *others), (x,), (x_dot,))[1]

    return pushed


def _pullback(of: Callable[..., Any]) -> Callable[..., Any]:
    """Cotangents of the inputs, from ``(inputs, cotangents of the results)``."""

    def pulled(inputs: Any, *others: Any) -> Any:
        x, y_bar = inputs
        return vjp(lambda x: of(x, *others), x)[1](y_bar)[0]

    return pulled


def _pushforwards(of: Callable[..., Any]) -> Callable[..., Any]:
    """The same of many tangents, along the first axis of each array, in one walk."""

    def pushed(inputs: Any, *others: Any) -> Any:
        x, x_dots = inputs
        linearization = Linearization(lambda x: of(x, *others), (x,), False)
        leaves, _ = pytree.flatten(x_dots)
        y_dots = linearization.push_leaves([Directions(leaf) for leaf in leaves])
        _, restore = pytree.flatten(linearization.value)
        return restore.of_derivative([array_of(y_dot, len(leaves[0])) for y_dot in y_dots])

    return pushed


def _pullbacks(of: Callable[..., Any]) -> Callable[..., Any]:
    """The same of many cotangents."""

    def pulled(inputs: Any, *others: Any) -> Any:
        x, y_bars = inputs
        linearization = Linearization(lambda x: of(x, *others), (x,), False)
        leaves, _ = pytree.flatten(y_bars)
        x_bars = linearization.pull_arrays([Directions(leaf) for leaf in leaves])
        _, restore = pytree.flatten(x)
        return restore.of_derivative([array_of(x_bar, len(leaves[0])) for x_bar in x_bars])

    return pulled


DERIVATIVES = {
    "gradient": _gradient,
    "pushforward": _pushforward,
    "pullback": _pullback,
    "pushforwards": _pushforwards,
    "pullbacks": _pullbacks,
}


def added(results: Sequence[Any]) -> Any:
    """The sum of some trees, next to each other."""
    return added_in_pairs(iter(results))


def added_in_pairs(results: Any) -> Any:
    """The sum of trees, of neighbours first; at most log₂ of their number are in memory at a time."""
    sums: list[tuple[int, Any]] = []  # of 2ᵏ neighbours each, k falling
    for result in results:
        level = 0
        while sums and sums[-1][0] == level:
            result = _plus(sums.pop()[1], result)
            level += 1
        sums.append((level, result))
    total = sums.pop()[1]
    while sums:
        total = _plus(sums.pop()[1], total)
    return total


def _plus(x: Any, y: Any) -> Any:
    return pytree.tree_map(lambda a, b: a + b, x, y)


# -- faults ------------------------------------------------------------------------------------------------


def _refuse_empty(part: Any) -> None:
    """Raise where there is no row in it: a frame after a filter, say."""
    size = part.size if hasattr(part, "dtype") else len(part) if hasattr(part, "__len__") else 1
    if size == 0:
        raise ValueError(
            "it is empty; leave it out, or divide the data anew (repartition of Dask's frames and bags, "
            "rechunk of its arrays)"
        )


def _held(part: Any) -> Any:
    """A partition for a term: its arrays are read only, for they stay for the next evaluation."""

    def of_leaf(x: Any) -> Any:
        if type(x) is np.ndarray:
            x = x.view()
            x.flags.writeable = False
        elif hasattr(x, "columns") and hasattr(x, "copy"):
            x = x.copy(deep=False)  # a frame, to which columns may be added
        return x

    return pytree.tree_map(of_leaf, part)


def _at_partition(error: Exception, name: Any) -> Exception:
    """The same error, with the name of the partition before what it says."""
    before, where = error.args, f"partition {name!r}: "
    if before and isinstance(before[0], str):
        error.args = (where + before[0], *before[1:])
        if where in str(error):
            return error
        error.args = before
    other = RuntimeError(f"{where}{type(error).__name__}: {error}")
    other.__cause__ = error
    return other
