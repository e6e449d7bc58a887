"""Stochastic descent: update rules, learning rates, minibatches, and a loop that stops and goes on."""

from lindiff.descent.batches import minibatches
from lindiff.descent.loop import Descent, Snapshot
from lindiff.descent.methods import Method, State, adam, adamw, rmsprop, sgd
from lindiff.descent.rates import cosine, exponential, linear, piecewise, warmup

__all__ = [
    "Descent",
    "Method",
    "Snapshot",
    "State",
    "adam",
    "adamw",
    "cosine",
    "exponential",
    "linear",
    "minibatches",
    "piecewise",
    "rmsprop",
    "sgd",
    "warmup",
]
