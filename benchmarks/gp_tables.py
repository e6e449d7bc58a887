"""Table 1 of Seeger et al. (2017) again: ``python -m benchmarks.gp_tables --data DIR``.

Sparse Gaussian process regression, by Titsias's bound, on three data sets of the UCI repository, two of whose
columns are targets in one (naval1, naval2); 90 % of the rows are trained on, columns are normalized.  The
search is L-BFGS-B for kernel, noise and inducing points together.  DIR has a folder for each (power, kin8nm,
naval) with ``data.txt``, numbers in columns, and ``index_features.txt`` and ``index_target.txt`` which say
what these are.  Prints root mean squared errors and mean log densities of the rows left out, in the units of
the data, beside those of the text, and writes `results/gp_tables.csv`.  Memory is the peak over the start
that ``tracemalloc`` sees.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lindiff import gp

# RMSE and log density of the text, of GPy with 50 inducing points and of MXNet with 50 and 3200.
TEXT = {
    "naval1": {"GPy 50": (3.5e-5, 8.58), "MXNet 50": (3.7e-5, 8.69), "MXNet 3200": (0.6e-5, 10.70)},
    "naval2": {"GPy 50": (3.1e-4, 6.66), "MXNet 50": (3.1e-4, 6.67), "MXNet 3200": (2.97e-4, 6.70)},
    "kin8nm": {"GPy 50": (8.7e-2, 0.98), "MXNet 50": (8.85e-2, 0.98), "MXNet 3200": (6.79e-2, 1.28)},
    "power": {"GPy 50": (3.98, -2.80), "MXNet 50": (3.98, -2.80), "MXNet 3200": (3.08, -2.53)},
}


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features without constant columns, and the target."""
    which = {"naval1": 0, "naval2": 1}.get(name)
    folder = folder / ("naval" if which is not None else name)
    numbers = np.loadtxt(folder / "data.txt")
    features = np.loadtxt(folder / "index_features.txt", dtype=float).astype(int)
    targets = np.atleast_1d(np.loadtxt(folder / "index_target.txt", dtype=float).astype(int))
    if which is not None:  # the last two columns, whatever the file says of one of them
        targets = np.array([numbers.shape[1] - 2 + which])
        features = np.arange(numbers.shape[1] - 2)
    X = numbers[:, features]
    return X[:, np.std(X, axis=0) > 0], numbers[:, targets[0]]


def split(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, Any, float]:
    """Normalized rows to train on and to test with, and the unit of the targets."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: int(0.9 * len(y))], order[int(0.9 * len(y)) :]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    unit = float(y[train].std())
    y = (y - y[train].mean()) / unit
    return (X[train], y[train]), (X[test], y[test]), unit


def row_of(folder: Path, name: str, count: int, seed: int, iterations: int) -> dict[str, Any]:
    (X, y), (new, others), unit = split(*read(folder, name), seed)
    kernel = gp.kernel_for(X, y)
    start = time.perf_counter()
    found = gp.fit(X, y, kernel, inducing=count, rng=seed, options={"maxiter": iterations, "maxcor": 20})
    seconds = time.perf_counter() - start
    mean, var = found.posterior().mean_and_var(new, noise=True)
    density = -0.5 * ((others - mean) ** 2 / var + np.log(2 * np.pi * var)) - np.log(unit)
    tracemalloc.start()
    gp.fit(X, y, found.kernel, inducing=found.Z, options={"maxiter": 1})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "data": name,
        "inducing": count,
        "split": seed,
        "RMSE": unit * float(np.sqrt(np.mean((mean - others) ** 2))),
        "TLL": float(np.mean(density)),
        "bound": float(found.log_likelihood),
        "evaluations": found.evaluations,
        "seconds": seconds,
        "peak_MB": most / 1e6,
    }


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Means and standard deviations over splits, beside the text."""
    found = rows.groupby(["data", "inducing"], sort=False).agg(
        RMSE=("RMSE", "mean"),
        RMSE_std=("RMSE", "std"),
        TLL=("TLL", "mean"),
        TLL_std=("TLL", "std"),
        seconds=("seconds", "median"),
        evaluations=("evaluations", "median"),
        peak_MB=("peak_MB", "max"),
    )
    for column, place in (("RMSE of GPy 50", 0), ("TLL of GPy 50", 1)):
        found[column] = [TEXT[name]["GPy 50"][place] for name, _ in found.index]
    for column, place in (("RMSE of MXNet 3200", 0), ("TLL of MXNet 3200", 1)):
        found[column] = [TEXT[name]["MXNet 3200"][place] for name, _ in found.index]
    return found


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=list(TEXT), help=f"of {', '.join(TEXT)}; all by default")
    parser.add_argument("--data", type=Path, required=True, help="the folder with a folder for each data set")
    parser.add_argument("--inducing", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gp_tables.csv")
    options = parser.parse_args()
    rows = []
    for name in options.sets:
        if name not in TEXT:
            parser.error(f"there is no data set {name!r}: {', '.join(TEXT)}")
        for count in options.inducing:
            for seed in range(options.splits):
                row = row_of(options.data, name, count, seed, options.iterations)
                told = (f"{key} {x:.4g}" for key, x in row.items() if key != "data")
                print(name, *told, sep="  ", flush=True)
                rows.append(row)
    table = pd.DataFrame(rows)
    options.output.parent.mkdir(exist_ok=True)
    table.to_csv(options.output, index=False, float_format="%.5g")
    with pd.option_context("display.width", 250, "display.max_columns", None):
        print(summary(table).to_string(float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
