"""What sharing work between value and derivative gains: `python examples/custom_rules [--csv FILE]`.

Each module beside this one holds a rule, and a naive one for the same function, whose pullback sees nothing
but arguments and result.  Measured is the value together with one pullback.
"""

import argparse
import csv
import importlib
import time

import numpy as np

import lindiff as ld

RULES = {
    "sine": "sine",
    "sigmoid": "sigmoid",
    "masked": "masked",
    "matrix_exponential": "matrix_exponential",
    "eigenvalues": "eigenvalues",
    "division": "divide",
}


def seconds(rule, args, at_least):
    """The median time of value and pullback together."""
    times, stop = [], time.perf_counter() + at_least
    while len(times) < 5 or time.perf_counter() < stop:
        start = time.perf_counter()
        y, pullback = ld.vjp(lambda *floats: rule(*floats, *args[len(floats) :]), *floats_of(args))
        pullback(np.ones_like(y))
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def floats_of(args):
    """The arguments that are differentiated: the first ones."""
    return [argument for argument in args if argument.dtype.kind == "f"]


def measure(name, size, at_least=1.0):
    """Milliseconds of the naive rule and of the one that shares, which take turns."""
    module = importlib.import_module(name)
    args = module.arguments(size, np.random.default_rng(0))
    rule = getattr(module, RULES[name])
    turns = [(seconds(module.naive, args, at_least / 5), seconds(rule, args, at_least / 5)) for _ in range(5)]
    return 1e3 * np.median(turns, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", help="write the figures to this file as well")
    parser.add_argument("--seconds", type=float, default=1.0, help="to measure each rule for")
    parser.add_argument("--small", action="store_true", help="only the smaller size of each")
    options = parser.parse_args()
    rows = [("rule", "size", "naive_ms", "shared_ms", "gain")]
    print(f"{'rule':20} {'size':>8} {'naive':>10} {'shared':>10}  gain")
    for name in RULES:
        for size in importlib.import_module(name).SIZES[: 1 if options.small else None]:
            naive, shared = measure(name, size, options.seconds)
            print(f"{name:20} {size:8} {naive:7.3g} ms {shared:7.3g} ms  {naive / shared:.2f}")
            rows.append((name, size, f"{naive:.4g}", f"{shared:.4g}", f"{naive / shared:.2f}"))
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main()
