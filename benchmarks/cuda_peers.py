"""The competitors on a GPU, behind the same face as those of `peers.py`.

Every call is timed until the GPU has finished it. `Card` is no library: it says what the card itself can do.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .peers import JAX, Calls, Cotangent, Function, Lindiff, Peer, Torch


class LindiffCuda(Lindiff):
    """lindiff on CuPy arrays, given the very function that NumPy is given."""

    def __init__(self) -> None:
        super().__init__()
        self.cupy = importlib.import_module("cupy")

    def asarray(self, x: Any) -> Any:
        return self.cupy.asarray(x)

    def asnumpy(self, x: Any) -> np.ndarray:
        return self.cupy.asnumpy(x)

    def solve_lower(self, L: Any, b: Any) -> Any:
        columns = b if b.ndim > 1 else b[:, None]
        return self.ld.linalg.trsm(L, columns).reshape(b.shape)

    def waiting(self, call: Callable[[], Any]) -> Callable[[], Any]:
        return _synchronized(call, self.cupy.cuda.Device().synchronize)

    def device_peak(self, call: Callable[[], Any]) -> int:
        pool = self.cupy.get_default_memory_pool()
        pool.free_all_blocks()
        peak = Peak(pool)
        with peak.hook:
            call()
        return peak.bytes


class Peak:
    """The most that CuPy's pool had given out at once, over what it had given out before."""

    def __init__(self, pool: Any) -> None:
        before, self.bytes = pool.used_bytes(), 0

        class Hook(importlib.import_module("cupy.cuda.memory_hook").MemoryHook):
            name = "peak"

            def malloc_postprocess(hook, **others: Any) -> None:
                self.bytes = max(self.bytes, pool.used_bytes() - before)

        self.hook = Hook()


class TorchCuda(Torch):
    """PyTorch on the GPU, eager, float64."""

    device = "cuda"

    def waiting(self, call: Callable[[], Any]) -> Callable[[], Any]:
        return _synchronized(call, self.xp.cuda.synchronize)

    def device_peak(self, call: Callable[[], Any]) -> int:
        self.xp.cuda.empty_cache()
        self.xp.cuda.reset_peak_memory_stats()
        before = self.xp.cuda.memory_allocated()
        call()
        return self.xp.cuda.max_memory_allocated() - before


class JAXCuda(JAX):
    """JAX on the GPU, compiled, float64; memory as it is needed, so that the others have room."""

    device = "cuda"

    def __init__(self) -> None:
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        super().__init__()

    def device_peak(self, call: Callable[[], Any]) -> int:
        statistics = self.jax.devices()[0].memory_stats
        before = statistics()["bytes_in_use"]
        call()
        return statistics()["peak_bytes_in_use"] - before


class LindiffCPU(Lindiff):
    """lindiff on the processor's cores, all of them."""

    name = "lindiff-cpu"


class Card(Peer):
    """The card's own limits: products of large matrices (cuBLAS), and copies."""

    name, distribution = "card", "cupy"
    xp = np
    ORDER = 8192

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")

    @property
    def version(self) -> str:
        return self.cupy.cuda.runtime.getDeviceProperties(self.cupy.cuda.Device().id)["name"].decode()

    def time_of_flops(self, quantity: str, flops: float) -> Calls:
        """The time that so many multiplications and additions take in one large product of matrices."""
        X = self.cupy.ones((self.ORDER, self.ORDER))
        out = self.cupy.empty_like(X)
        return self._limit(quantity, lambda: self.cupy.matmul(X, X, out=out), 2 * self.ORDER**3 / flops)

    def time_of_bytes(self, quantity: str, count: float) -> Calls:
        """The time that so many bytes, read or written, take in one large copy."""
        X = self.cupy.ones((self.ORDER, self.ORDER))
        out = self.cupy.empty_like(X)
        return self._limit(quantity, lambda: self.cupy.copyto(out, X), 2 * X.nbytes / count)

    def _limit(self, quantity: str, call: Callable[[], Any], share: float) -> Calls:
        timed = {quantity: _synchronized(call, self.cupy.cuda.Device().synchronize)}
        return Calls(timed, operations=share)

    def solve_lower(self, L: Any, b: Any) -> Any:
        raise NotImplementedError("a card has limits only")

    def vjp_calls(self, f: Function, args: Sequence[Any], cotangent: Cotangent) -> Calls:
        raise NotImplementedError("a card has limits only")

    def gradient_calls(self, f: Function, args: Sequence[Any]) -> Calls:
        raise NotImplementedError("a card has limits only")

    def gradient_once(self, f: Function, args: Sequence[Any]) -> Callable[[], Any]:
        raise NotImplementedError("a card has limits only")


def _synchronized(call: Callable[[], Any], synchronize: Callable[[], None]) -> Callable[[], Any]:
    def run() -> Any:
        result = call()
        synchronize()
        return result

    return run


CUDA_PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (LindiffCuda, LindiffCPU, JAXCuda, TorchCuda, Card)
}
