"""How often intervals hold what they should: ``python -m benchmarks.coverage``.

Series are simulated from known parameters, fitted, and asked for their 95 % intervals: of parameters, by
standard errors of each kind and by profiles of the likelihood; of the level given all data; of observations
ahead.  Prints a table with the standard errors of simulation, writes `results/coverage.csv`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lindiff import statespace

STEPS, AHEAD = 150, 8
WALD = "by standard errors, {}"


def level_and_seasons(level_var: Any, seasonal_var: Any, obs_var: Any) -> statespace.Model:
    return statespace.local_level(level_var, obs_var) + statespace.seasonal(4, seasonal_var)


MODELS: dict[str, tuple[Callable[..., statespace.Model], dict[str, float]]] = {
    "local level": (statespace.local_level, {"level_var": 0.5, "obs_var": 1.0}),
    "level, seasons": (level_and_seasons, {"level_var": 0.5, "seasonal_var": 0.2, "obs_var": 1.0}),
}


def simulated(build: Callable[..., statespace.Model], truth: dict[str, float], rng: Any) -> tuple[Any, Any]:
    """States (T, n) and observations (T,), from states of zero on."""
    model = build(**truth)
    n = model.transition.shape[-1]
    start = model._replace(diffuse=None, initial_state=np.zeros(n), initial_state_cov=np.eye(n))
    states, y = statespace.simulate(STEPS + AHEAD, *start, rng=rng)
    return states, y[:, 0]


def held(
    build: Callable[..., statespace.Model], truth: dict[str, float], rng: Any
) -> Iterator[tuple[str, Any]]:
    """What is asked of one series, and whether its intervals hold the truth."""
    states, y = simulated(build, truth, rng)
    seen = y[:STEPS]
    found = statespace.fit(build, seen, progress=False)
    intervals = {WALD.format("observed"): found.interval()}
    for kind in ("opg", "robust"):
        other = statespace.fit(build, seen, found_start(found), progress=False, restarts=False, cov_type=kind)
        intervals[WALD.format(kind)] = other.interval()
    intervals["by profiles"] = {name: found.profile_interval(name) for name in truth}
    for kind, bounds in intervals.items():
        inside = [inside_of(bounds[name], x) for name, x in truth.items()]
        yield f"parameters, {kind}", np.nanmean(np.where(np.isnan(inside), np.nan, inside))
    level = next(iter(found.components.values())).states["level"]
    yield "level given all data", np.mean(inside_of(level.interval(), states[:STEPS, 0]))
    yield "observations ahead", np.mean(inside_of(found.forecast(AHEAD).interval(), y[STEPS:]))


def found_start(found: Any) -> dict[str, Any]:
    """Where a fit ended; a variance of zero begins anew."""
    return {name: float(x) or None for name, x in found.params.items()}


def inside_of(bounds: Any, x: Any) -> Any:
    """Whether it is between them; NaN where there are none."""
    lower, upper = bounds
    return np.where(np.isnan(lower), np.nan, (lower <= x) & (x <= upper))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--series", type=int, default=400, help="of each model (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, (build, truth) in MODELS.items():
        shares: dict[str, list[float]] = {}
        for seed in range(options.series):
            for asked, share in held(build, truth, np.random.default_rng(seed)):
                shares.setdefault(asked, []).append(float(share))
        for asked, each in shares.items():
            error = np.nanstd(each) / np.sqrt(np.count_nonzero(~np.isnan(each)))
            rows.append({"model": name, "interval of": asked, "holds": np.nanmean(each), "std_error": error})
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format=lambda x: f"{x:.3f}"))
    table.to_csv(options.results / "coverage.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
