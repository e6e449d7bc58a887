"""The numbers of a kernel by names, and as one vector of unconstrained numbers for a search."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from lindiff.core import pytree
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.moving import with_fields
from lindiff.statespace.transforms import Transform, positive, unconstrained

__all__ = ["Hyperparameters", "with_values"]


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
    for name, x in sorted(_children(kernel)):
        if isinstance(x, Kernel) or (not dataclasses.is_dataclass(x) and _has_kernels(x)):
            yield from _fields(x, f"{prefix}{name}__")
        elif hasattr(kernel, f"{name}_bounds"):
            x = np.asarray(x, np.float64) if isinstance(x, (list, tuple)) else x
            yield f"{prefix}{name}", x, getattr(kernel, f"{name}_bounds")
        elif x is not None:
            yield f"{prefix}{name}", x, None


def _children(tree: Any) -> list[tuple[str, Any]]:
    return [(str(key), pytree.item(tree, key)) for key in pytree.keys(tree)]


def _has_kernels(tree: Any) -> bool:
    if isinstance(tree, Kernel):
        return True
    return pytree.is_tree(tree) and any(_has_kernels(x) for _, x in _children(tree))


class Hyperparameters:
    """What a search changes of a kernel.

    Parameters
    ----------
    kernel : Kernel

    Attributes
    ----------
    names : list of str
        Of those that are searched for: ``"k1__length_scale"``, as scikit-learn has them.
    theta : (k,) array
        Their values: logarithms of what is positive, and other numbers as they are.
    bounds : (k, 2) array
        Of theta.

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

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._parameters, theta, bounds = [], [], []
        for name, x, limits in _fields(kernel):
            if isinstance(limits, str):
                if limits != "fixed":
                    raise ValueError(f'{name}_bounds is a pair of numbers or "fixed", got {limits!r}')
                continue
            leaves = [np.ravel(np.asarray(leaf, np.float64)) for leaf in pytree.flatten(x)[0]]
            numbers = np.concatenate(leaves) if leaves else np.zeros(0)
            if limits is not None and not np.all(numbers > 0):
                raise ValueError(f"{name} of the kernel must be positive, got {x}")
            transform = unconstrained if limits is None else positive
            self._parameters.append(_Parameter(name, x, len(numbers), transform))
            theta.append(transform.unconstrain(numbers))
            bounds.append(_limits(name, limits, len(numbers)))
        self.names = [parameter.name for parameter in self._parameters]
        self.bounds = np.concatenate([np.zeros((0, 2)), *bounds])
        self.theta = np.clip(np.concatenate([np.zeros(0), *theta]), *self.bounds.T)

    def values_at(self, theta: Any) -> dict[str, Any]:
        """The parameters by name at a vector; differentiable."""
        found, begin = {}, 0
        for parameter in self._parameters:
            part = parameter.transform.constrain(theta[begin : begin + parameter.size])
            found[parameter.name] = _like(parameter.start, part)
            begin += parameter.size
        return found

    def kernel_at(self, theta: Any) -> Kernel:
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
    if pairs.shape not in ((2,), (size, 2)) or not np.all(pairs[..., 0] <= pairs[..., 1]):
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
    names = [name for name, _ in _children(kernel)]
    for name, x in values.items():
        first, _, rest = name.partition("__")
        if first not in names:
            raise ValueError(f"the kernel {kernel!r} has no {first!r}")
        if rest:
            parts.setdefault(first, {})[rest] = x
        else:
            changed[first] = x
    if not values:
        return kernel
    for first, of_part in parts.items():
        changed[first] = with_values(dict(_children(kernel))[first], of_part)
    if not dataclasses.is_dataclass(kernel):
        return pytree.replace(kernel, [changed.get(name, x) for name, x in _children(kernel)])
    return with_fields(kernel, changed)
