"""The numbers of a kernel by names, and as one vector of unconstrained numbers for a search."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from lindiff.core import pytree
from lindiff.statespace.transforms import Transform, positive, unconstrained

__all__ = ["Hyperparameters", "Parameterized", "with_values"]


class Parameterized:
    """A dataclass whose numbers have names and can be one vector, as scikit-learn's kernels have them.

    A field `x` that is searched for has another one beside it, `x_bounds`; others are found without bounds.
    """

    @property
    def theta(self) -> np.ndarray:
        """What a search changes, (k,): logarithms of what is positive, and other numbers as they are."""
        return Hyperparameters(self).theta

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of theta, (k, 2)."""
        return Hyperparameters(self).bounds

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Its numbers in the order of theta, and those that are fixed among them."""
        return [Hyperparameter(name, "numeric", limits, _count(x)) for name, x, limits in _fields(self)]

    @property
    def n_dims(self) -> int:
        """How many numbers a search changes."""
        return len(self.theta)

    def clone_with_theta(self, theta: Any) -> Any:
        """The same with other numbers, (k,); differentiable by them."""
        return Hyperparameters(self).kernel_at(theta)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What it is made of by names; with ``deep`` that of its parts, too, as ``part__name``."""
        found = {name: getattr(self, name) for name in _init_fields(self)}
        parts = [(name, x) for name, x in found.items() if deep and isinstance(x, Parameterized)]
        for name, part in parts:
            found.update({f"{name}__{rest}": x for rest, x in part.get_params().items()})
        return found

    def with_params(self, **params: Any) -> Any:
        """Another one, of other values for some of the names of `get_params`."""
        return with_values(self, params)

    def __sklearn_clone__(self) -> Any:
        return copy.deepcopy(self)  # what __post_init__ made of its arguments is not made of them once more


def _init_fields(x: Any) -> list[str]:
    return [of.name for of in dataclasses.fields(x) if of.init] if dataclasses.is_dataclass(x) else []


class Hyperparameter(NamedTuple):
    """Some of the numbers of a kernel.

    Attributes
    ----------
    name : str
    value_type : "numeric"
    bounds : tuple, "fixed" or None
        As they are given; None where there are none.
    n_elements : int
        How many numbers.
    """

    name: str
    value_type: str
    bounds: Any
    n_elements: int

    @property
    def fixed(self) -> bool:
        """Whether a search leaves them."""
        return isinstance(self.bounds, str)


class _Parameter(NamedTuple):
    """A field of a kernel, of so many numbers."""

    name: str
    start: Any
    size: int
    transform: Transform


def _fields(kernel: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Names, numbers and bounds of a kernel's parameters, by the alphabet as in scikit-learn.

    Names of parts are joined by two underscores; kernels may be in tuples, lists and dicts.
    """
    children = _children(kernel)
    if not isinstance(kernel, (list, tuple)):
        children.sort(key=lambda pair: pair[0])
    names = {name for name, _ in children}
    for name, x in children:
        if name.endswith("_bounds") and name.removesuffix("_bounds") in names:
            continue
        if isinstance(x, Parameterized) or (not dataclasses.is_dataclass(x) and _has_kernels(x)):
            yield from _fields(x, f"{prefix}{name}__")
        elif hasattr(kernel, f"{name}_bounds"):
            x = np.asarray(x, np.float64) if isinstance(x, (list, tuple)) else x
            yield f"{prefix}{name}", x, getattr(kernel, f"{name}_bounds")
        elif x is not None:
            yield f"{prefix}{name}", x, None


def _count(tree: Any) -> int:
    return sum(int(np.size(leaf)) for leaf in pytree.flatten(tree)[0])


def _children(tree: Any) -> list[tuple[str, Any]]:
    return [(str(key), pytree.item(tree, key)) for key in pytree.keys(tree)]


def _has_kernels(tree: Any) -> bool:
    if isinstance(tree, Parameterized):
        return True
    return pytree.is_tree(tree) and any(_has_kernels(x) for _, x in _children(tree))


class Hyperparameters:
    """What a search changes of a kernel.

    Parameters
    ----------
    kernel : Parameterized

    Attributes
    ----------
    names : list of str
        Of those that are searched for: ``"k1__length_scale"``, as scikit-learn has them.
    theta : (k,) array
        Their values: logarithms of what is positive, and other numbers as they are.
    bounds : (k, 2) array
        Of theta.
    start : (k,) array
        Theta within the bounds, where a search begins.

    Raises
    ------
    ValueError
        If a number that has bounds is not positive, or bounds are none.

    Examples
    --------
    >>> from lindiff.gp.kernels import RBF, WhiteKernel
    >>> found = Hyperparameters(2.0 * RBF(1.0) + WhiteKernel(0.5, "fixed"))
    >>> found.names, found.theta.round(2)
    (['k1__k1__constant_value', 'k1__k2__length_scale'], array([0.69, 0.  ]))
    >>> found.kernel_at([0.0, 0.0])
    ConstantKernel(constant_value=1) * RBF(length_scale=1) + WhiteKernel(noise_level=0.5)
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self._parameters, theta, bounds = [], [], []
        for name, x, limits in _fields(kernel):
            if isinstance(limits, str):
                if limits != "fixed":
                    raise ValueError(f'{name}_bounds is a pair of numbers or "fixed", got {limits!r}')
                continue
            leaves = [np.ravel(np.asarray(leaf, np.float64)) for leaf in pytree.flatten(x)[0]]
            numbers = np.concatenate([np.zeros(0), *leaves])
            if limits is not None and not np.all(numbers > 0):
                raise ValueError(f"{name} of the kernel must be positive, got {x}")
            transform = unconstrained if limits is None else positive
            self._parameters.append(_Parameter(name, x, len(numbers), transform))
            theta.append(transform.unconstrain(numbers))
            bounds.append(_limits(name, limits, len(numbers)))
        self.names = [parameter.name for parameter in self._parameters]
        self.bounds = np.concatenate([np.zeros((0, 2)), *bounds])
        self.theta = np.concatenate([np.zeros(0), *theta])
        self.start = np.clip(self.theta, *self.bounds.T)

    def drawn(self, rng: Any) -> np.ndarray:
        """A vector from between its bounds, each number as likely; about theta where bounds are infinite."""
        low, high = self.bounds.T
        is_finite = np.isfinite(low) & np.isfinite(high)
        between = rng.uniform(np.where(is_finite, low, 0.0), np.where(is_finite, high, 1.0))
        near = np.clip(self.theta + rng.standard_normal(len(self.theta)), low, high)
        return np.where(is_finite, between, near)

    def at_bounds(self) -> Iterator[tuple[str, str, float]]:
        """Of each number that is at a bound: its name, ``"lower"`` or ``"upper"``, and the bound."""
        names = [
            parameter.name if parameter.size == 1 else f"{parameter.name}[{k}]"
            for parameter in self._parameters
            for k in range(parameter.size)
        ]
        for name, x, (low, high) in zip(names, self.theta, self.bounds, strict=True):
            for side, limit in (("lower", low), ("upper", high)):
                if low < high and np.isclose(x, limit):
                    yield name, side, float(np.exp(limit))

    def values_at(self, theta: Any) -> dict[str, Any]:
        """The parameters by name at a vector; differentiable."""
        found, begin = {}, 0
        for parameter in self._parameters:
            part = parameter.transform.constrain(theta[begin : begin + parameter.size])
            found[parameter.name] = _like(parameter.start, part)
            begin += parameter.size
        return found

    def kernel_at(self, theta: Any) -> Any:
        """The kernel at a vector; differentiable."""
        if np.shape(theta) != self.theta.shape:
            raise ValueError(f"theta has shape {np.shape(theta)}; {len(self.theta)} numbers are searched for")
        return with_values(
            self.kernel, self.values_at(np.asarray(theta) if isinstance(theta, list) else theta)
        )


def _limits(name: str, limits: Any, size: int) -> np.ndarray:
    """Bounds of so many numbers of theta: given as one pair, or one for each."""
    if limits is None:
        return np.tile([-np.inf, np.inf], (size, 1))
    pairs = np.asarray(limits, np.float64)
    if pairs.shape not in ((2,), (1, 2), (size, 2)) or not np.all(pairs[..., 0] <= pairs[..., 1]):
        raise ValueError(f"{name}_bounds is a pair (lower, upper), or one for each of {size}, got {limits}")
    if not np.all(pairs[..., 0] >= 0):
        raise ValueError(f"{name}_bounds are of positive numbers, got {limits}")
    with np.errstate(divide="ignore"):
        return np.log(np.broadcast_to(pairs, (size, 2)))


def _like(x: Any, numbers: Any) -> Any:
    """A tree of the shape of x with these numbers."""
    leaves, restore = pytree.flatten(x)
    found, begin = [], 0
    for leaf in leaves:
        size = int(np.size(leaf))
        found.append(np.reshape(numbers[begin : begin + size], np.shape(leaf)))
        begin += size
    return restore(found)


def with_values(kernel: Any, values: Mapping[str, Any]) -> Any:
    """The kernel with other numbers, by names; of no others."""
    changed: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    known = {**dict(_children(kernel)), **{name: getattr(kernel, name) for name in _init_fields(kernel)}}
    for name, x in values.items():
        first, _, rest = name.partition("__")
        if first not in known:
            raise ValueError(f"the kernel {kernel!r} has no {first!r}: it has {[*known]}")
        if rest:
            parts.setdefault(first, {})[rest] = x
        else:
            changed[first] = x
    if not values:
        return kernel
    for first, of_part in parts.items():
        part = changed.get(first, known[first])
        if not pytree.is_tree(part):
            missing = f"{first}__{next(iter(of_part))}"
            raise ValueError(f"the kernel {kernel!r} has no {missing!r}: {first} is {part!r}")
        changed[first] = with_values(part, of_part)
    if not dataclasses.is_dataclass(kernel):
        return pytree.replace(kernel, [changed.get(name, x) for name, x in _children(kernel)])
    return pytree.remade(kernel, changed)
