"""Two small models on real data: logistic regression, and a network of 200 parameters.

The models are plain NumPy; autograd, advect and MyGrad run the same text in their own namespaces, PyTorch in
its own with its fused loss. Each step is value and gradient by all parameters; a whole training run is
gradient descent with momentum, whose last parameters all libraries must agree on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits

from .harness import Case
from .peers import Calls, NumPy, Peer, Torch

TITLE = "logistic regression on the digits, and a network of 200 parameters on the diabetes data"
PEERS = ("numpy", "lindiff", "program", "jax", "torch", "autograd", "advect", "mygrad")
STEPS, RATE, MOMENTUM = 100, 0.1, 0.9
LAYERS = (10, 11, 6, 1)  # 10·11 + 11 + 11·6 + 6 + 6·1 + 1 = 200 parameters
BATCH = 32

Parameters = list[np.ndarray]


# -- the models --------------------------------------------------------------------------------------------


def cross_entropy(W, b, X, labels, peer):
    """Mean negative log probability of the labels under softmax(X W + b), with a penalty on W."""
    xp = peer.xp
    scores = X @ W + b
    penalty = 1e-3 * xp.sum(W * W)
    if isinstance(peer, Torch):
        return xp.nn.functional.cross_entropy(scores, labels) + penalty
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    log_total = xp.log(xp.sum(xp.exp(scores), axis=1))
    return xp.mean(log_total - scores[np.arange(len(labels)), labels]) + penalty


def squared_error(W_1, b_1, W_2, b_2, W_3, b_3, X, y, peer):
    """Mean squared error of a network with two hidden layers."""
    tanh = peer.xp.tanh
    hidden = tanh(tanh(X @ W_1 + b_1) @ W_2 + b_2)
    residual = (hidden @ W_3 + b_3)[:, 0] - y
    return peer.xp.mean(residual * residual)


# -- their data and first parameters -----------------------------------------------------------------------


def digits() -> tuple[Parameters, list[np.ndarray]]:
    X, labels = load_digits(return_X_y=True)
    return [np.zeros((64, 10)), np.zeros(10)], [X / 16, labels]


def diabetes(rows: int | None = None) -> tuple[Parameters, list[np.ndarray]]:
    X, y = load_diabetes(return_X_y=True)
    data = [(X / X.std(axis=0))[:rows], ((y - y.mean()) / y.std())[:rows]]
    rng = np.random.default_rng(0)
    parameters = []
    for inputs, outputs in itertools.pairwise(LAYERS):
        parameters += [rng.standard_normal((inputs, outputs)) / np.sqrt(inputs), np.zeros(outputs)]
    return parameters, data


@dataclass(frozen=True)
class Model:
    """A loss of parameters and data, and how to get both."""

    loss: Callable[..., Any]
    start: Callable[[], tuple[Parameters, list[np.ndarray]]]


MODELS = {
    "digits, 1797 images": Model(cross_entropy, digits),
    "network, 442 patients": Model(squared_error, diabetes),
    "network, batch of 32": Model(squared_error, partial(diabetes, BATCH)),
}


def training(peer: Peer, loss: Callable[..., Any], start: Parameters) -> Callable[[], list[Any]]:
    """A run of gradient descent with momentum, in the arrays of the library."""
    gradients_at = peer.gradients_at(loss, len(start))

    @peer.compiled
    def step(parameters: list[Any], velocities: list[Any]) -> tuple[list[Any], list[Any]]:
        both = zip(velocities, gradients_at(*parameters), strict=True)
        velocities = [MOMENTUM * velocity - RATE * gradient for velocity, gradient in both]
        both = zip(parameters, velocities, strict=True)
        return [parameter + velocity for parameter, velocity in both], velocities

    def run() -> list[Any]:
        parameters = [peer.asarray(parameter) for parameter in start]
        velocities = [peer.asarray(np.zeros_like(parameter)) for parameter in start]
        for _ in range(STEPS):
            parameters, velocities = step(parameters, velocities)
        return [np.array(parameter) for parameter in parameters]

    return run


def cases() -> list[Case]:
    return [Case(name) for name in MODELS]


def prepare(peer: Peer, case: Case) -> Calls:
    model = MODELS[case.family]
    parameters, data = model.start()
    data = [peer.asarray(part) for part in data]

    def loss(*parameters: Any) -> Any:
        return model.loss(*parameters, *data, peer)

    calls = peer.gradient_calls(loss, [peer.asarray(parameter) for parameter in parameters])
    if isinstance(peer, NumPy):
        return calls
    run = training(peer, loss, parameters)
    calls.timed[f"training, {STEPS} steps"] = run
    calls.checked |= {f"trained {i}": parameter for i, parameter in enumerate(run())}
    return calls
