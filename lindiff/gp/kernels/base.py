"""What all covariance functions are and can do, and how they are put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.variable import Variable, value
from lindiff.gp.covariances import covariances
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.hyperparameters import Parameterized
from lindiff.gp.points import as_points

__all__ = [
    *("BOUNDS", "STATIC", "Active", "Bounds", "ConstantKernel", "Exponentiation", "Kernel", "Product", "Sum"),
    *("Warped", "is_none"),
]

# Of a search: a field of numbers greater than zero has one beside it, called `name_bounds`.
Bounds = tuple[float, float] | str
BOUNDS = (1e-5, 1e5)
STATIC = {"static": True}  # metadata of fields that are no part of the tree


class Kernel(Parameterized):
    """A covariance function k(x, x') of points.

    Called with points (n, d) it gives the matrix of their covariances, called with two sets of points those
    between them.  Kernels are trees of their numbers: ``ld.grad(lambda kernel: ...)(kernel)`` is a kernel of
    derivatives, and so is what any other transform takes and gives.  ``k1 + k2``, ``k1 * k2``, ``2.0 * k``
    and ``k ** 2`` are kernels.  They are never changed: `with_params` and `clone_with_theta` give others.

    A kernel of your own is a dataclass (``frozen``, with static fields as ``metadata={"static": True}``) that
    inherits from this class and says `between` and `variances`, written in NumPy's functions.  What its
    `__post_init__` makes of the fields in NumPy's functions is differentiated, too, and made anew of others.

    Notes
    -----
    A matrix costs its own memory and no more; its derivatives by the kernel's numbers and by the points are
    computed from the points anew, in pieces that fit the cache, so that the matrix may be overwritten and
    nothing is kept.
    """

    __array_ufunc__ = None  # so that arrays leave sums and products with a kernel to it

    # -- what kinds of kernels say ------------------------------------------------------------------------

    def features(self, X: Any) -> Any:
        """What the kernel looks at of each point: a tree of arrays with a row for each."""
        return X

    def of_features(self) -> Kernel:
        """The kernel that `between` is of, another one where features are all that this one does."""
        return self

    def between(self, F: Any, G: Any) -> Any:
        """Covariances between points of features F and of G, (n, m), or what broadcasts to it.

        Of each pair by itself: it is asked of parts of the points.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method 'between'")

    def variances(self, F: Any) -> Any:
        """Covariances of points of features F with themselves, (n,), or what broadcasts to it."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'variances'")

    def noise(self, F: Any) -> Any:
        """Variance that each point has besides, and that it shares with no other, be it at the same place."""
        return 0.0

    # -- matrices -----------------------------------------------------------------------------------------

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """Covariances between points.

        Parameters
        ----------
        X : (n, d) array, or (n,) for points of one dimension
        Z : (m, d) or (m,) array, optional
            Without it the covariances are those of X, its noise on the diagonal.

        Returns
        -------
        (n, n) or (n, m) array
        """
        F = self.features(as_points(X))
        if Z is not None:
            return covariances(self, F, self.features(as_points(Z, like=X)))
        K, noise = covariances(self, F), self.noise(F)
        if is_none(noise):
            return K
        return add_to_diagonal(K, noise)

    def smooth(self, X: Any) -> tuple[Any, Any]:
        """The covariances of points without their noise (n, n), and the noise (n,), or a number."""
        F = self.features(as_points(X))
        return covariances(self, F), self.noise(F)

    def diag(self, X: Any, noisy: bool = True) -> Any:
        """The variances of points, the diagonal of ``kernel(X)``, (n,); without noise unless `noisy`."""
        F = self.features(as_points(X))
        found = self.all_variances(F)
        return found + self.noise(F) if noisy else found

    def all_variances(self, F: Any) -> Any:
        """The variances of all points of features F, (n,), without noise."""
        found, first = self.variances(F), pytree.flatten(F)[0][0]
        if np.shape(found) == first.shape[:1] and found.dtype.kind == "f":
            return found
        if np.shape(found) not in ((), (1,), first.shape[:1]):
            raise ValueError(
                f"{type(self).__name__}.variances gives shape {np.shape(found)} for {len(first)} points: it "
                f"is a number for each, ({len(first)},)"
            )
        return found + np.zeros(len(first), first.dtype, like=first)

    # -- others made of it --------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, as_kernel(other))

    def __radd__(self, other: Any) -> Kernel:
        if isinstance(other, int) and other == 0:  # sum([...]) begins with it
            return self
        return Sum(as_kernel(other), self)

    def __mul__(self, other: Any) -> Kernel:
        return Product(self, as_kernel(other))

    def __rmul__(self, other: Any) -> Kernel:
        return Product(as_kernel(other), self)

    def __pow__(self, exponent: float) -> Kernel:
        if exponent < 0:
            raise ValueError(f"a kernel to the power {exponent} is no covariance function")
        return Exponentiation(self, exponent)

    def on(self, columns: int | Sequence[int]) -> Kernel:
        """The kernel of some columns of the points: of these numbers, or where a mask says True."""
        given = np.atleast_1d(columns)
        if given.dtype == bool:
            given = np.flatnonzero(given)
        if given.dtype.kind not in "iu":
            raise TypeError(f"on: numbers of columns, or a mask of them, not {columns!r}")
        return Active(self, tuple(given.tolist()))

    def warped(self, function: Callable[[Any, Any], Any], params: Any = ()) -> Kernel:
        """The kernel of ``function(params, X)``: of features that a network finds, for example."""
        return Warped(self, function, params)

    # -- for readers --------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        searched = {x.name.removesuffix("_bounds") for x in fields if x.name.endswith("_bounds")}
        shown = (
            f"{x.name}={_shown(getattr(self, x.name))}"
            for x in fields
            if x.name in searched or not (x.name.endswith("_bounds") or _is_default(self, x))
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_default(node: Any, of: Any) -> bool:
    value = getattr(node, of.name)
    return value is of.default or (isinstance(value, (tuple, str)) and value == of.default)


def _shown(x: Any) -> str:
    if isinstance(x, Variable):
        return repr(x)
    if isinstance(x, (float, np.floating)) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return f"{float(x):.3g}"
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind == "f":
        return "[" + ", ".join(f"{number:.3g}" for number in x) + "]"
    return getattr(x, "__name__", None) or repr(x)


def is_none(noise: Any) -> bool:
    """Whether a kernel has no noise at all."""
    return type(noise) is float and noise == 0


def as_kernel(x: Any) -> Kernel:
    """A number as the kernel of constant covariance; raises TypeError for what is neither."""
    if isinstance(x, Kernel):
        return x
    if isinstance(x, (int, float, np.generic, np.ndarray, Variable)) and np.ndim(x) == 0:
        if value(x) < 0:
            raise ValueError(f"a kernel is no covariance function with the factor or summand {value(x)}")
        return ConstantKernel(x)
    raise TypeError(f"a kernel is added to, or multiplied by, a kernel or a number, not a {type(x).__name__}")


@dataclass(frozen=True, eq=False, repr=False)
class ConstantKernel(Kernel):
    """The same covariance between all points.

    Parameters
    ----------
    constant_value : number
        Its value.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import ConstantKernel, RBF
    >>> ConstantKernel(2.0)(np.zeros((2, 1)))
    array([[2., 2.],
           [2., 2.]])
    >>> 2.0 * RBF()
    ConstantKernel(constant_value=2) * RBF(length_scale=1)
    """

    constant_value: Any = 1.0
    constant_value_bounds: Bounds = field(default=BOUNDS, metadata=STATIC)

    def features(self, X: Any) -> Any:
        if np.any(np.less(value(self.constant_value), 0)):
            raise ValueError(
                f"ConstantKernel: constant_value is a variance, and not negative: got "
                f"{value(self.constant_value)}"
            )
        return X[:, :0]

    def between(self, F: Any, G: Any) -> Any:
        return self.variances(F)

    def variances(self, F: Any) -> Any:
        if np.ndim(self.constant_value):
            raise ValueError(
                f"ConstantKernel: constant_value is a number, got shape {np.shape(self.constant_value)}"
            )
        return self.constant_value


@dataclass(frozen=True, eq=False, repr=False)
class _OfTwo(Kernel):
    k1: Kernel
    k2: Kernel

    def of_features(self) -> Kernel:
        return dataclasses.replace(self, k1=self.k1.of_features(), k2=self.k2.of_features())

    def features(self, X: Any) -> Any:
        return self.k1.features(X), self.k2.features(X)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(_OfTwo):
    """``k1(x, x') + k2(x, x')``.

    Parameters
    ----------
    k1, k2 : Kernel
    """

    def between(self, F: Any, G: Any) -> Any:
        return self.k1.between(F[0], G[0]) + self.k2.between(F[1], G[1])

    def variances(self, F: Any) -> Any:
        return self.k1.variances(F[0]) + self.k2.variances(F[1])

    def noise(self, F: Any) -> Any:
        return self.k1.noise(F[0]) + self.k2.noise(F[1])

    def __repr__(self) -> str:
        return f"{self.k1!r} + {self.k2!r}"


@dataclass(frozen=True, eq=False, repr=False)
class Product(_OfTwo):
    """``k1(x, x') k2(x, x')``.

    Parameters
    ----------
    k1, k2 : Kernel
    """

    def between(self, F: Any, G: Any) -> Any:
        return self.k1.between(F[0], G[0]) * self.k2.between(F[1], G[1])

    def variances(self, F: Any) -> Any:
        return self.k1.variances(F[0]) * self.k2.variances(F[1])

    def noise(self, F: Any) -> Any:
        first, second = self.k1.noise(F[0]), self.k2.noise(F[1])
        if is_none(first) and is_none(second):
            return 0.0
        return first * self.k2.variances(F[1]) + second * self.k1.variances(F[0]) + first * second

    def __repr__(self) -> str:
        return " * ".join(f"({k!r})" if isinstance(k, Sum) else repr(k) for k in (self.k1, self.k2))


@dataclass(frozen=True, eq=False, repr=False)
class _OfOne(Kernel):
    """A kernel that says of features what another one does."""

    kernel: Kernel

    def of_features(self) -> Kernel:
        return self.kernel.of_features()

    def between(self, F: Any, G: Any) -> Any:
        return self.kernel.between(F, G)

    def variances(self, F: Any) -> Any:
        return self.kernel.variances(F)

    def noise(self, F: Any) -> Any:
        return self.kernel.noise(F)

    def _base(self) -> str:
        return f"({self.kernel!r})" if isinstance(self.kernel, _OfTwo) else repr(self.kernel)


@dataclass(frozen=True, eq=False, repr=False)
class Exponentiation(_OfOne):
    """``k(x, x')ᵖ``.

    Parameters
    ----------
    kernel : Kernel
    exponent : number
        p, without derivative.
    """

    exponent: float = field(default=2, metadata=STATIC)

    def of_features(self) -> Kernel:
        return dataclasses.replace(self, kernel=self.kernel.of_features())

    def features(self, X: Any) -> Any:
        return self.kernel.features(X)

    def between(self, F: Any, G: Any) -> Any:
        return self.kernel.between(F, G) ** self.exponent

    def variances(self, F: Any) -> Any:
        return self.kernel.variances(F) ** self.exponent

    def noise(self, F: Any) -> Any:
        smooth, noise = self.kernel.variances(F), self.kernel.noise(F)
        if is_none(noise):
            return 0.0
        return (smooth + noise) ** self.exponent - smooth**self.exponent

    def __repr__(self) -> str:
        return f"{self._base()} ** {self.exponent}"


@dataclass(frozen=True, eq=False, repr=False)
class Active(_OfOne):
    """The kernel of some columns of the points; :meth:`Kernel.on` makes it.

    Parameters
    ----------
    kernel : Kernel
    columns : tuple of int

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.kernels import RBF
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0]])
    >>> RBF().on(0)(X)
    array([[1., 1.],
           [1., 1.]])
    """

    columns: tuple[int, ...] = field(default=(), metadata=STATIC)

    def features(self, X: Any) -> Any:
        if not all(-X.shape[1] <= k < X.shape[1] for k in self.columns):
            raise ValueError(f"kernel on columns {list(self.columns)}: points have {X.shape[1]} columns")
        return self.kernel.features(X[:, list(self.columns)])

    def __repr__(self) -> str:
        return f"{self._base()}.on({list(self.columns)})"


@dataclass(frozen=True, eq=False, repr=False)
class Warped(_OfOne):
    """The kernel of functions of the points; :meth:`Kernel.warped` makes it.

    Parameters
    ----------
    kernel : Kernel
    function : callable
        ``function(params, X)`` gives an array with a row for each of X's, in functions of NumPy.  It is
        called once for each set of points.
    params : tree
        Differentiated, and fitted with the kernel.

    Notes
    -----
    With a network this is deep kernel learning: Wilson, Hu, Salakhutdinov & Xing (2016), AISTATS 51.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.gp.kernels import RBF
    >>> kernel = RBF().warped(lambda power, X: X**power, 2.0)
    >>> kernel(np.array([1.0, -1.0]))
    array([[1., 1.],
           [1., 1.]])
    >>> ld.grad(lambda kernel: kernel(np.array([1.0]), np.array([2.0]))[0, 0])(kernel).params.round(4)
    np.float64(-0.0924)
    """

    function: Any = field(default=None, metadata=STATIC)
    params: Any = ()

    def warp(self, X: Any) -> Any:
        """What the function makes of points (n, d): other points (n, e)."""
        found = self.function(self.params, X)
        if np.ndim(found) == 0 or np.shape(found)[0] != len(X):
            raise ValueError(
                f"warped kernel: the function gives shape {np.shape(found)} for {len(X)} points; it needs a "
                f"row for each"
            )
        return as_points(found)

    def features(self, X: Any) -> Any:
        return self.kernel.features(self.warp(X))
