"""Update rules: ``sgd``, ``adam``, ``adamw``, ``rmsprop``.

A method is two plain functions, ``init(params)`` and ``update(gradient, state, params)``; it holds nothing
that changes.  Both are written in functions that dispatch: they run in programs, on CuPy's arrays, and on
Variables, which differentiates through the search.  Numbers of steps are data, as in :mod:`.rates`.
Step for step they are those of ``torch.optim``, whose defaults they have.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lindiff.core import pytree
from lindiff.descent.rates import Rate, rate_at

__all__ = ["Method", "State", "adam", "adamw", "rmsprop", "sgd"]


class State(NamedTuple):
    """What a method remembers: a tree, which pickles.

    Attributes
    ----------
    step : int
        Updates so far.
    moments : dict
        Running means of gradients and the like, by name; each is a tree like the parameters.
    """

    step: Any
    moments: dict[str, Any]


@dataclass(frozen=True)
class Method(abc.ABC):
    """An update rule.

    A new one says in ``moments`` what it remembers of each array, and in ``changed`` what it does with one.
    """

    rate: Rate
    moments: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        if not callable(self.rate) and not self.rate >= 0:
            raise ValueError(f"rate must be 0 or more, got {self.rate}")

    def init(self, params: Any) -> State:
        """The state before the first step.

        Parameters
        ----------
        params : tree of arrays
            Real or complex.

        Raises
        ------
        TypeError
            If an array holds integers.
        """
        for leaf in pytree.flatten(params)[0]:
            kind = np.result_type(leaf).kind
            if kind not in "fc":
                raise TypeError(
                    f"parameters must be real or complex numbers, got {np.result_type(leaf)}: "
                    "write 1.0 for 1, or x.astype(float)"
                )
        return State(np.int64(0), {name: pytree.zeros_like(params) for name in self.used()})

    def update(self, gradient: Any, state: State, params: Any) -> tuple[Any, State]:
        """Parameters and state after one more step.

        Parameters
        ----------
        gradient, params : trees of arrays
            As ``lindiff.grad`` gives the one for the other: of a complex number z, ∂/∂Re z + i ∂/∂Im z.
        state : State

        Returns
        -------
        params : tree
            New arrays, of the dtypes that they had.
        state : State

        Notes
        -----
        Cost: some 5 to 15 operations a number, and as much memory as the parameters for each moment.
        """
        leaves, restore = pytree.flatten(params)
        columns = [pytree.flatten_like(gradient, params, "gradient", "parameters")]
        names = self.used()
        columns += [pytree.flatten_like(state.moments[k], params, f"moment {k}", "parameters") for k in names]
        step, rate = state.step + 1, rate_at(self.rate, state.step)
        changed = [
            _by_parts(lambda p, g, *m: self.changed(p, g, m, rate, step), leaf, *others)
            for leaf, *others in zip(leaves, *columns, strict=True)
        ]
        rows = [[one[k] for one in changed] for k in range(1 + len(names))]
        moments = {name: restore.of_derivative(row) for name, row in zip(names, rows[1:], strict=True)}
        return restore(rows[0]), State(step, moments)

    def used(self) -> tuple[str, ...]:
        """The moments that these parameters of the method ask for."""
        return self.moments

    @abc.abstractmethod
    def changed(self, p: Any, g: Any, moments: tuple[Any, ...], rate: Any, step: Any) -> tuple[Any, ...]:
        """One real array and its moments after step number ``step``, the first of which is 1."""


def _by_parts(changed: Callable[..., tuple[Any, ...]], p: Any, *others: Any) -> list[Any]:
    """What ``changed`` makes of real and imaginary parts, which move as two numbers, in the dtype of p."""
    dtype = np.result_type(p)
    if dtype.kind != "c":
        return [_in_dtype(x, dtype) for x in changed(p, *others)]
    real = changed(np.real(p), *map(np.real, others))
    imag = changed(np.imag(p), *map(np.imag, others))
    return [_in_dtype(x + 1j * y, dtype) for x, y in zip(real, imag, strict=True)]


def _in_dtype(x: Any, dtype: np.dtype) -> Any:
    """Rates in double precision do not make single precision double."""
    return x.astype(dtype) if hasattr(x, "astype") and x.dtype != dtype else x


def _decaying(share: float, p: Any, g: Any) -> Any:
    """The gradient of what shrinks by so much of itself."""
    return g + share * p if share else g


def _check(name: str, value: float, below: float = np.inf) -> None:
    if not 0 <= value < below:
        bound = "" if below == np.inf else f" and less than {below:g}"
        raise ValueError(f"{name} must be 0 or more{bound}, got {value}")


@dataclass(frozen=True)
class sgd(Method):
    """Gradient descent, with momentum or Nesterov's.

    ``m ← momentum m + (1 - dampening) g``, at first g; ``p ← p - rate m``, with Nesterov's
    ``p - rate (g + momentum m)``.  Sutskever et al., ICML 2013.

    Parameters
    ----------
    rate : float or callable
        The learning rate, or a function of the number of steps before.
    momentum, dampening : float, optional
    nesterov : bool, optional
    weight_decay : float, optional
        So much of the parameters is added to their gradient.

    Raises
    ------
    ValueError
        If a number is out of its range, or with ``nesterov`` and no momentum or with dampening.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> method = ld.descent.sgd(0.1, momentum=0.9)
    >>> x = np.array([1.0, -2.0])
    >>> state = method.init(x)
    >>> for _ in range(200):
    ...     x, state = method.update(ld.grad(lambda x: np.sum(x**2))(x), state, x)
    >>> bool(np.max(np.abs(x)) < 1e-3), int(state.step)
    (True, 200)
    """

    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    moments: ClassVar[tuple[str, ...]] = ("velocity",)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check("momentum", self.momentum)
        _check("weight_decay", self.weight_decay)
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise ValueError("nesterov needs a momentum, and no dampening")

    def used(self) -> tuple[str, ...]:
        return self.moments if self.momentum else ()

    def changed(self, p: Any, g: Any, moments: tuple[Any, ...], rate: Any, step: Any) -> tuple[Any, ...]:
        g = _decaying(self.weight_decay, p, g)
        if not self.momentum:
            return (p - rate * g,)
        share = np.where(step == 1, 1.0, 1.0 - self.dampening)[()]
        velocity = self.momentum * moments[0] + share * g
        direction = g + self.momentum * velocity if self.nesterov else velocity
        return p - rate * direction, velocity


@dataclass(frozen=True)
class adam(Method):
    """Adam: steps of about the size of the rate, whatever the scale of the gradient.

    ``m ← β₁ m + (1 - β₁) g``, ``v ← β₂ v + (1 - β₂) g²``,
    ``p ← p - rate m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + eps)``.  Kingma and Ba, ICLR 2015, algorithm 1; with
    ``amsgrad`` the largest v so far stands below the root: Reddi et al., ICLR 2018.

    Parameters
    ----------
    rate : float or callable
        The learning rate, or a function of the number of steps before.
    beta_1, beta_2 : float, optional
        β₁ and β₂.
    eps : float, optional
    weight_decay : float, optional
        So much of the parameters is added to their gradient; :class:`adamw` has what is mostly meant.
    amsgrad : bool, optional

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> method = ld.descent.adam(0.1)
    >>> params = {"a": np.array([3.0, 1e-3]), "b": 2.0}
    >>> state = method.init(params)
    >>> loss = lambda p: np.sum((p["a"] - 1) ** 2) + 100 * (p["b"] + 1) ** 2
    >>> for _ in range(500):
    ...     params, state = method.update(ld.grad(loss)(params), state, params)
    >>> params["a"].round(3), params["b"].round(3)
    (array([1., 1.]), np.float64(-1.0))
    """

    rate: Rate = 1e-3
    beta_1: float = 0.9
    beta_2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False
    moments: ClassVar[tuple[str, ...]] = ("mean", "square", "largest_square")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check("beta_1", self.beta_1, 1)
        _check("beta_2", self.beta_2, 1)
        _check("eps", self.eps)
        _check("weight_decay", self.weight_decay)

    def used(self) -> tuple[str, ...]:
        return self.moments if self.amsgrad else self.moments[:2]

    def changed(self, p: Any, g: Any, moments: tuple[Any, ...], rate: Any, step: Any) -> tuple[Any, ...]:
        return self.moved(p, _decaying(self.weight_decay, p, g), moments, rate, step)

    def moved(self, p: Any, g: Any, moments: tuple[Any, ...], rate: Any, step: Any) -> tuple[Any, ...]:
        """Algorithm 1 of Kingma and Ba."""
        mean = self.beta_1 * moments[0] + (1 - self.beta_1) * g
        square = self.beta_2 * moments[1] + (1 - self.beta_2) * (g * g)
        largest = (np.maximum(moments[2], square),) if self.amsgrad else ()
        below = np.sqrt((*largest, square)[0] / (1 - self.beta_2**step)) + self.eps
        return p - rate / (1 - self.beta_1**step) * (mean / below), mean, square, *largest


@dataclass(frozen=True)
class adamw(adam):
    """Adam, with parameters that shrink by ``rate * weight_decay`` of themselves in each step.

    Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019, algorithm 2.

    Parameters
    ----------
    rate, beta_1, beta_2, eps, amsgrad
        As for :class:`adam`.
    weight_decay : float, optional

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> method = ld.descent.adamw(0.5, weight_decay=0.1)
    >>> x = np.array([2.0])
    >>> method.update(np.zeros(1), method.init(x), x)[0]
    array([1.9])
    """

    weight_decay: float = 1e-2

    def changed(self, p: Any, g: Any, moments: tuple[Any, ...], rate: Any, step: Any) -> tuple[Any, ...]:
        return self.moved(p * (1 - rate * self.weight_decay), g, moments, rate, step)


@dataclass(frozen=True)
class rmsprop(Method):
    """Gradients by the root of their mean square.

    ``v ← α v + (1 - α) g²``, ``p ← p - rate g / (√v + eps)``; ``centered`` takes the square of the mean
    gradient from v, ``momentum`` adds up the changes.  Tieleman and Hinton 2012, lecture 6.5; Graves 2013
    for the centered form.

    Parameters
    ----------
    rate : float or callable
        The learning rate, or a function of the number of steps before.
    alpha, eps, momentum : float, optional
    centered : bool, optional
    weight_decay : float, optional
        So much of the parameters is added to their gradient.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> method = ld.descent.rmsprop(0.1, alpha=0.75, eps=0.0)
    >>> x = np.array([2.0, -3e-9])
    >>> method.update(x, method.init(x), x)[0]
    array([1.8, 0.2])
    """

    rate: Rate = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False
    moments: ClassVar[tuple[str, ...]] = ("square", "velocity", "mean")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check("alpha", self.alpha, 1)
        for name in ("eps", "weight_decay", "momentum"):
            _check(name, getattr(self, name))

    def used(self) -> tuple[str, ...]:
        asked = {"square": True, "velocity": self.momentum > 0, "mean": self.centered}
        return tuple(name for name in self.moments if asked[name])

    def changed(self, p: Any, g: Any, moments: tuple[Any, ...], rate: Any, step: Any) -> tuple[Any, ...]:
        known = dict(zip(self.used(), moments, strict=True))
        g = _decaying(self.weight_decay, p, g)
        known["square"] = variance = self.alpha * known["square"] + (1 - self.alpha) * (g * g)
        if self.centered:
            known["mean"] = self.alpha * known["mean"] + (1 - self.alpha) * g
            variance = variance - known["mean"] ** 2
        direction = g / (np.sqrt(variance) + self.eps)
        if self.momentum:
            direction = known["velocity"] = self.momentum * known["velocity"] + direction
        return p - rate * direction, *known.values()
