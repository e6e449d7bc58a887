"""The competitors, each behind the same small face.

A peer turns a function and its arguments into `Calls`: functions of no arguments that the harness times.
Nothing here knows which function is measured, or how time is taken.
"""

from __future__ import annotations

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.linalg

Function = Callable[..., Any]
Cotangent = Callable[[Any], Any]


@dataclass
class Calls:
    """What one library offers to time on one case.

    Attributes
    ----------
    timed
        Quantity (``"forward"``, ``"value + gradient"``, ...) to a call without arguments.
    checked
        Results that all libraries must agree on before any of them is timed.
    operations
        How many operations one call performs; times are divided by it.
    first_call
        Seconds of the first call of each compiled quantity, compilation included.
    once
        Quantity to a call that is too long to be repeated: timed once.  It returns figures that go with its
        time, by name.
    """

    timed: dict[str, Callable[[], Any]]
    checked: dict[str, np.ndarray] = field(default_factory=dict)
    operations: float = 1
    first_call: dict[str, float] = field(default_factory=dict)
    once: dict[str, Callable[[], dict[str, float]]] = field(default_factory=dict)

    def symmetrize(self, *positions: int) -> Calls:
        """Compare the gradients at these argument positions by their symmetric parts.

        A function of a symmetric matrix fixes no more than that.
        """
        for key in (f"gradient {position}" for position in positions):
            if key in self.checked:
                self.checked[key] = (self.checked[key] + self.checked[key].swapaxes(-1, -2)) / 2
        return self


def _conjugate(y_bar: Any) -> Any:
    """A cotangent, or a tuple of them, conjugated."""
    return tuple(map(np.conj, y_bar)) if isinstance(y_bar, tuple) else np.conj(y_bar)


class Peer(ABC):
    """A library that computes functions and, all but NumPy, their derivatives."""

    name: str
    distribution: str
    xp: Any
    """The namespace that speaks NumPy's words (`sin`, `exp`, `linalg.cholesky`, ...)."""
    scipy: str
    """The name of the package that speaks SciPy's (`special.erf`, ...)."""

    @property
    def version(self) -> str:
        return version(self.distribution)

    @property
    def special(self) -> Any:
        """The namespace of SciPy's special functions."""
        return importlib.import_module(f"{self.scipy}.special")

    @property
    def transforms(self) -> Any:
        """The namespace of `grad`, `jacobian`, `vmap`."""
        raise NotImplementedError(f"{self.name} has no transforms")

    def asarray(self, x: Any) -> Any:
        """Turn a NumPy array or number into the library's own array."""
        return x

    def asnumpy(self, x: Any) -> np.ndarray:
        """Turn a result of the library into a NumPy array."""
        return np.array(x)

    def waiting(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """The call, and the wait until its result is there."""
        return call

    def device_peak(self, call: Callable[[], Any]) -> int | None:
        """Bytes that the call needs at its peak on the library's device; None where that is the CPU."""
        return None

    def checked(self, value: Any, gradients: Sequence[Any]) -> dict[str, np.ndarray]:
        """The value and the gradients to be checked."""
        return {"value": self.asnumpy(value), **self.gradients_of(gradients)}

    def gradients_of(self, gradients: Sequence[Any]) -> dict[str, np.ndarray]:
        """The results to be checked."""
        return {f"gradient {i}": self.asnumpy(gradient) for i, gradient in enumerate(gradients)}

    def like(self, y: Any, cotangent: Cotangent) -> Any:
        """The cotangent of a result or of a tuple of them, as the library's arrays."""
        if isinstance(y, tuple):
            return tuple(map(self.asarray, cotangent(tuple(map(self.asnumpy, y)))))
        return self.asarray(cotangent(self.asnumpy(y)))

    @abstractmethod
    def solve_lower(self, L: Any, b: Any) -> Any:
        """Solve with a lower triangular matrix, the fastest way that the library documents."""

    @abstractmethod
    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        """Time `f` recorded (forward), its pullback of ``cotangent(y)`` (backward), and both."""

    @abstractmethod
    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        """Time the scalar `f` (value), and its value with the gradients of all arguments."""

    @abstractmethod
    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        """Give value and gradient (NumPy: the value) as one call that has not run yet."""

    def gradients_at(self, f: Function, count: int) -> Function:
        """Give the gradients of the scalar `f` as a function of its ``count`` arguments."""
        raise NotImplementedError(f"{self.name} has no gradients")

    def compiled(self, f: Function) -> Function:
        """Compile a function where the library does that."""
        return f


class NumPy(Peer):
    """Plain NumPy: values only, for scale."""

    name = distribution = "numpy"
    xp = np
    scipy = "scipy"

    def solve_lower(self, L: Any, b: Any) -> Any:
        return scipy.linalg.solve_triangular(L, b, lower=True)

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        return Calls({"forward": partial(f, *args)})

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        value = self.gradient_once(f, args)
        return Calls({"value": value}, {"value": self.asnumpy(value())})

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        return partial(f, *args)


class Statsmodels(NumPy):
    """statsmodels, whose state-space models are compiled for the CPU: values only."""

    name = distribution = "statsmodels"

    def __init__(self) -> None:
        self.kalman_filter = importlib.import_module("statsmodels.tsa.statespace.kalman_filter")
        self.dynamic_factor = importlib.import_module("statsmodels.tsa.statespace.dynamic_factor")
        self.sarimax = importlib.import_module("statsmodels.tsa.statespace.sarimax")
        self.structural = importlib.import_module("statsmodels.tsa.statespace.structural")


class Lindiff(Peer):
    """lindiff, given the very function that NumPy is given."""

    name = distribution = "lindiff"
    xp = np
    scipy = "lindiff.scipy"

    def __init__(self) -> None:
        self.ld = importlib.import_module("lindiff")

    @property
    def transforms(self) -> Any:
        return self.ld

    def solve_lower(self, L: Any, b: Any) -> Any:
        return np.linalg.solve(L, b)

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        y, pullback = self.ld.vjp(f, *args)
        y_bar = self.like(y, cotangent)

        def both() -> Any:
            _, pullback = self.ld.vjp(f, *args)
            return pullback(y_bar)

        timed = {
            "forward": self.waiting(partial(self.ld.vjp, f, *args)),
            "backward": self.waiting(partial(pullback, y_bar)),
            "forward + backward": self.waiting(both),
        }
        return Calls(timed, self.gradients_of(both()))

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        both = self.gradient_once(f, args)
        return Calls({"value + gradient": both}, self.checked(*both()))

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        return self.waiting(partial(self.ld.value_and_grad(f, argnums=tuple(range(len(args)))), *args))

    def gradients_at(self, f: Function, count: int) -> Function:
        return self.ld.grad(f, argnums=tuple(range(count)))


class LindiffProgram(Lindiff):
    """The same, repeated without Python by ``lindiff.programs``."""

    name = "program"

    def __init__(self) -> None:
        super().__init__()
        self.program = importlib.import_module("lindiff.programs").program

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        timed = {
            "value": self.waiting(partial(self.program(f), *args)),
            "value + gradient": self.gradient_once(f, args),
        }
        first_call = {quantity: self._until_repeated(call) for quantity, call in timed.items()}
        return Calls(timed, self.checked(*timed["value + gradient"]()), first_call=first_call)

    def _until_repeated(self, call: Callable[[], Any]) -> float:
        """Seconds of the calls that record, and of the first one that repeats them."""
        return sum(_timed(call)[0] for _ in range(3))

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        both = self.program(self.ld.value_and_grad(f, argnums=tuple(range(len(args)))))
        return self.waiting(partial(both, *args))

    def compiled(self, f: Function) -> Function:
        return self.program(f)


class Autograd(Peer):
    """autograd, through its own namespace `autograd.numpy`; its complex gradients are the conjugates."""

    name = distribution = "autograd"
    scipy = "autograd.scipy"

    def __init__(self) -> None:
        self.autograd = importlib.import_module("autograd")
        self.builtins = importlib.import_module("autograd.builtins")
        self.xp = importlib.import_module("autograd.numpy")

    def solve_lower(self, L: Any, b: Any) -> Any:
        linalg = importlib.import_module("autograd.scipy.linalg")
        return linalg.solve_triangular(L, b, lower=True)

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        single = len(args) == 1

        def boxed(*args: Any) -> Any:
            y = f(*args)
            return self.builtins.tuple(y) if isinstance(y, tuple) else y

        record = self.autograd.make_vjp(boxed, 0 if single else tuple(range(len(args))))
        pullback, y = record(*args)
        y_bar = _conjugate(cotangent(y))

        def both() -> Any:
            pullback, _ = record(*args)
            return pullback(y_bar)

        timed = {
            "forward": partial(record, *args),
            "backward": partial(pullback, y_bar),
            "forward + backward": both,
        }
        gradients = [both()] if single else both()
        return Calls(timed, self.gradients_of([np.conj(gradient) for gradient in gradients]))

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        both = self.gradient_once(f, args)
        return Calls({"value + gradient": both}, self.checked(*both()))

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        return partial(self.autograd.value_and_grad(f, tuple(range(len(args)))), *args)

    def gradients_at(self, f: Function, count: int) -> Function:
        return self.autograd.grad(f, tuple(range(count)))


class Advect(Peer):
    """advect, through its own namespace `advect.numpy`, traced anew in each call; a pullback runs once."""

    name = distribution = "advect"
    scipy = "advect.scipy"

    def __init__(self) -> None:
        self.advect = importlib.import_module("advect")
        self.xp = importlib.import_module("advect.numpy")

    def solve_lower(self, L: Any, b: Any) -> Any:
        return self.xp.linalg.solve(L, b)

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        record = self.advect.vjp(f, tuple(range(len(args))))
        y_bar = cotangent(record(*args)[0])

        def both() -> Any:
            _, pullback = record(*args)
            return pullback(y_bar)

        return Calls(
            {"forward": partial(record, *args), "forward + backward": both}, self.gradients_of(both())
        )

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        both = self.gradient_once(f, args)
        return Calls({"value + gradient": both}, self.checked(*both()))

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        return partial(self.advect.value_and_grad(f, tuple(range(len(args)))), *args)

    def gradients_at(self, f: Function, count: int) -> Function:
        return self.advect.grad(f, tuple(range(count)))


class MyGrad(Peer):
    """MyGrad: tensors that know where they come from, first derivatives."""

    name = distribution = "mygrad"

    def __init__(self) -> None:
        self.xp = importlib.import_module("mygrad")

    def solve_lower(self, L: Any, b: Any) -> Any:
        raise NotImplementedError("MyGrad has no solvers")

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        leaves = self._leaves(args)
        y_bar = cotangent(f(*leaves).data)

        def both() -> Any:
            f(*leaves).backward(y_bar)
            return [leaf.grad for leaf in leaves]

        return Calls({"forward": partial(f, *leaves), "forward + backward": both}, self.gradients_of(both()))

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        both = self.gradient_once(f, args)
        value, gradients = both()
        return Calls({"value + gradient": both}, self.checked(value.data, gradients))

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        leaves = self._leaves(args)

        def value_and_gradient() -> Any:
            value = f(*leaves)
            value.backward()
            return value, [leaf.grad for leaf in leaves]

        return value_and_gradient

    def gradients_at(self, f: Function, count: int) -> Function:
        def gradients(*args: Any) -> list[Any]:
            leaves = self._leaves(args)
            f(*leaves).backward()
            return [leaf.grad for leaf in leaves]

        return gradients

    def _leaves(self, args: Sequence[Any]) -> list[Any]:
        return [self.xp.tensor(arg) for arg in args]


class Torch(Peer):
    """PyTorch, eager, float64."""

    name = distribution = "torch"
    device = "cpu"

    def __init__(self) -> None:
        self.xp = importlib.import_module("torch")
        self.xp.set_default_dtype(self.xp.float64)

    def asarray(self, x: Any) -> Any:
        return self.xp.tensor(np.asarray(x), device=self.device)

    def asnumpy(self, x: Any) -> np.ndarray:
        return np.array(x.detach().cpu())

    def solve_lower(self, L: Any, b: Any) -> Any:
        columns = b if b.ndim > 1 else b[:, None]
        return self.xp.linalg.solve_triangular(L, columns, upper=False).reshape(b.shape)

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        leaves = self._leaves(args)
        y = f(*leaves)
        y_bar = self.like(y, cotangent)
        pull_back = self.xp.autograd.grad

        timed = {
            "forward": partial(f, *leaves),
            "backward": partial(pull_back, y, leaves, y_bar, retain_graph=True),
            "forward + backward": lambda: pull_back(f(*leaves), leaves, y_bar),
        }
        timed = {name: self.waiting(call) for name, call in timed.items()}
        return Calls(timed, self.gradients_of(timed["forward + backward"]()))

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        both = self.gradient_once(f, args)
        timed = {"value": self.waiting(partial(f, *args)), "value + gradient": both}
        return Calls(timed, self.checked(*both()))

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        leaves = self._leaves(args)

        def value_and_gradient() -> Any:
            value = f(*leaves)
            return value, self.xp.autograd.grad(value, leaves)

        return self.waiting(value_and_gradient)

    def gradients_at(self, f: Function, count: int) -> Function:
        def gradients(*args: Any) -> Any:
            leaves = [arg.detach().requires_grad_() for arg in args]
            return self.xp.autograd.grad(f(*leaves), leaves)

        return gradients

    def _leaves(self, args: Sequence[Any]) -> list[Any]:
        return [arg.clone().requires_grad_() for arg in args]


class JAX(Peer):
    """JAX, compiled, float64; every call waits for its result."""

    name = distribution = "jax"
    scipy = "jax.scipy"
    device = "cpu"

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.jax.config.update("jax_platforms", self.device)
        self.xp = importlib.import_module("jax.numpy")

    @property
    def transforms(self) -> Any:
        return self.jax

    def asarray(self, x: Any) -> Any:
        return self.xp.asarray(x)

    def solve_lower(self, L: Any, b: Any) -> Any:
        return self.jax.scipy.linalg.solve_triangular(L, b, lower=True)

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        vjp = self.jax.vjp
        record = self.jax.jit(lambda *args: vjp(f, *args))
        pull_back = self.jax.jit(lambda pullback, y_bar: pullback(y_bar))

        @self.jax.jit
        def forward_backward(y_bar: Any, *args: Any) -> Any:
            y, pullback = vjp(f, *args)
            return y, pullback(y_bar)

        y, pullback = record(*args)
        y_bar = self.like(y, cotangent)
        timed = {
            "forward": self.waiting(partial(record, *args)),
            "backward": self.waiting(partial(pull_back, pullback, y_bar)),
            "forward + backward": self.waiting(partial(forward_backward, y_bar, *args)),
        }
        first_call, (_, gradients) = _timed(timed["forward + backward"])
        return Calls(timed, self.gradients_of(gradients), first_call={"forward + backward": first_call})

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        both = self.jax.jit(self.jax.value_and_grad(f, tuple(range(len(args)))))
        timed = {
            "value": self.waiting(partial(self.jax.jit(f), *args)),
            "value + gradient": self.waiting(partial(both, *args)),
        }
        value_seconds, _ = _timed(timed["value"])
        both_seconds, (value, gradients) = _timed(timed["value + gradient"])
        checked = self.checked(value, gradients)
        return Calls(timed, checked, first_call={"value": value_seconds, "value + gradient": both_seconds})

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        gradient = self.jax.jit(self.jax.value_and_grad(f, tuple(range(len(args)))))
        return self.waiting(partial(gradient.lower(*args).compile(), *args))

    def gradients_at(self, f: Function, count: int) -> Function:
        return self.jax.grad(f, tuple(range(count)))

    def compiled(self, f: Function) -> Function:
        return self.jax.jit(f)

    def waiting(self, call: Callable[[], Any]) -> Callable[[], Any]:
        wait = self.jax.block_until_ready
        return lambda: wait(call())


class Dynamax(JAX):
    """dynamax: state-space models in JAX, compiled and differentiated by it."""

    name = distribution = "dynamax"

    def __init__(self) -> None:
        super().__init__()
        self.inference = importlib.import_module("dynamax.linear_gaussian_ssm.inference")


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (NumPy, Lindiff, LindiffProgram, Statsmodels, Dynamax, JAX, Torch, Autograd, Advect, MyGrad)
}
"""All competitors, in the order of their turns and of the columns of the tables."""
