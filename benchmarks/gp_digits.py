"""A deep Gaussian process of handwritten digits: ``python -m benchmarks.gp_digits --data DIR``.

Table 2 of Seeger et al. (2017) is of deep processes on MNIST without labels: log densities of images by
importance sampling, by recognition networks.  This is their supervised sibling, the doubly stochastic bound
of Salimbeni & Deisenroth (2017), NIPS 30: layers of processes by inducing points, ``--hidden`` wide, each the
points of the next one for one draw, then ten processes and a softmax.  Adam for all numbers, minibatches,
single precision.  The first mean function is the data's principal components, further ones are the identity.
DIR has MNIST's four files, as they are distributed.  Prints the error and the log density of test labels,
seconds and memory, and writes `results/gp_digits.csv`.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lindiff as ld
from lindiff import gp

CLASSES = 10
JITTER = 1e-4  # of single precision
LIKELIHOOD = gp.Softmax(CLASSES)


def read(folder: Path, which: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 784) between 0 and 1, and labels (n,)."""
    images = gzip.decompress((folder / f"{which}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{which}-labels-idx1-ubyte.gz").read_bytes())
    return np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784) / np.float32(255), np.frombuffer(
        labels, np.uint8, offset=8
    ).astype(np.intp)


def components(X: np.ndarray, count: int) -> np.ndarray:
    """The data's first principal components, (784, count), such that projections have variance 1."""
    values, vectors = np.linalg.eigh(np.cov(X[:10_000].T))
    return (vectors[:, -count:] / np.sqrt(values[-count:])).astype(np.float32)


def start(X: np.ndarray, hidden: list[int], inducing: int, rng: Any) -> tuple[list[dict[str, Any]], Any]:
    """The layers' numbers, and the projection that the first one's mean is."""
    projection = components(X, hidden[0]) if hidden else None
    layers = []
    points = gp.inducing_points(X[rng.choice(len(X), 5000, replace=False)].astype(np.float64), inducing, rng)
    for depth, width in enumerate([*hidden, CLASSES]):
        shape = (width, inducing, inducing)
        is_last = depth == len(hidden)
        layers.append(
            {
                "logs": np.log(np.array([1.0 if is_last else 0.1, np.sqrt(points.shape[1])], np.float32)),
                "Z": points.astype(np.float32),
                "m": np.zeros((inducing, width), np.float32),
                "R": np.broadcast_to(
                    (1.0 if is_last else 1e-2) * np.eye(inducing, dtype=np.float32), shape
                ).copy(),
            }
        )
        points = points @ projection if depth == 0 and hidden else points
    return layers, projection


def kernel(layer: dict[str, Any]) -> gp.kernels.Kernel:
    variance, length = np.exp(layer["logs"])
    return variance * gp.kernels.RBF(length)


def draws(layers: list[dict[str, Any]], projection: Any, X: Any, normals: list[Any]) -> Any:
    """The points of the last layer, for standard normal numbers of each layer before."""
    for depth, (layer, normal) in enumerate(zip(layers[:-1], normals, strict=True)):
        posterior = gp.variational_posterior(kernel(layer), layer["Z"], layer["m"], layer["R"], jitter=JITTER)
        mean, var = posterior.mean_and_var(X)
        X = (X @ projection if depth == 0 else X) + mean + np.sqrt(var + np.float32(1e-6)) * normal
    return X


def loss(
    layers: list[dict[str, Any]], projection: Any, X: Any, y: Any, normals: list[Any], total: int
) -> Any:
    """Minus an unbiased estimate of the bound of the log marginal likelihood, for one observation."""
    *hidden, last = layers
    given = draws(layers, projection, X, normals)
    bound = gp.variational_bound(
        kernel(last), given, y, last["Z"], last["m"], last["R"], LIKELIHOOD, total=total, jitter=JITTER
    )
    return (sum((gp.divergence(layer["m"], layer["R"]) for layer in hidden), 0.0) - bound) / total


def fit(X: np.ndarray, y: np.ndarray, options: Any, rng: Any) -> tuple[list[dict[str, Any]], Any]:
    """Adam, at a rate that falls to a hundredth."""
    layers, projection = start(X, options.hidden, options.inducing, rng)
    steps = int(options.epochs * len(X) / options.batch)
    method = ld.descent.adam(ld.descent.cosine(options.rate, steps, options.rate / 100))
    state, began = method.init(layers), time.perf_counter()
    slopes = ld.program(
        ld.value_and_grad(lambda layers, X, y, normals: loss(layers, projection, X, y, normals, 60_000))
    )
    for step in range(steps):
        rows = rng.integers(0, len(X), options.batch)
        normals = [rng.standard_normal((options.batch, width), np.float32) for width in options.hidden]
        value, slope = slopes(layers, X[rows], y[rows], normals)
        layers, state = method.update(slope, state, layers)
        if step % max(steps // 10, 1) == 0:
            print(f"  step {step} of {steps}: {value:.4f}, {time.perf_counter() - began:.0f} s", flush=True)
    return layers, projection


def predict(layers: list[dict[str, Any]], projection: Any, X: np.ndarray, rng: Any, size: int) -> np.ndarray:
    """Probabilities of classes (n, 10), means over draws of the layers before."""
    last = layers[-1]
    posterior = gp.variational_posterior(
        kernel(last), last["Z"], last["m"], last["R"], LIKELIHOOD, jitter=JITTER
    )
    found = []
    for rows in np.array_split(X, 20):
        shapes = [(len(rows), layer["m"].shape[1]) for layer in layers[:-1]]
        each = [
            posterior.expected(
                draws(layers, projection, rows, [rng.standard_normal(s, np.float32) for s in shapes])
            )
            for _ in range(size if shapes else 1)
        ]
        found.append(np.mean(each, axis=0))
    return np.concatenate(found)


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with MNIST's four files")
    parser.add_argument(
        "--hidden", type=int, nargs="*", default=[30, 30], help="widths of layers before the last"
    )
    parser.add_argument("--inducing", type=int, default=100)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--draws", type=int, default=10, help="of hidden layers, for predictions")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gp_digits.csv")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    (X, y), (new, others) = read(options.data, "train"), read(options.data, "t10k")
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    layers, projection = fit(X, y, options, rng)
    seconds = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    probabilities = predict(layers, projection, new, rng, options.draws)
    row = {
        "layers": "-".join(map(str, [784, *options.hidden, CLASSES])),
        "inducing": options.inducing,
        "epochs": options.epochs,
        "error_percent": 100 * float(np.mean(np.argmax(probabilities, axis=1) != others)),
        "TLL": float(np.mean(np.log(np.maximum(probabilities[np.arange(len(others)), others], 1e-30)))),
        "seconds": seconds,
        "peak_MB": (most - before) / 1e3,
    }
    print(pd.DataFrame([row]).to_string(index=False, float_format="{:.4g}".format))
    known = pd.read_csv(options.output) if options.output.exists() else pd.DataFrame()
    table = pd.concat([known, pd.DataFrame([row])]).drop_duplicates(
        ["layers", "inducing", "epochs"], keep="last"
    )
    table.to_csv(options.output, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
