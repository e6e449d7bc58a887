"""Differential equations beside SciPy's solvers, JAX's and Diffrax's: ``python -m benchmarks.equations``.

Solutions and gradients of a sum of squares of them, at the same tolerances.  JAX and Diffrax are compiled
before they are measured, and left out where they are not installed.  Times are medians, of the processor and
of the clock; all calls take turns, in each of which a call is repeated for a while, as a search repeats it.
Errors of gradients are beside differences of tight solutions.  Prints a table, writes
`results/equations.csv`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.integrate

import lindiff as ld
from lindiff.scipy import integrate

try:
    import diffrax
    import jax
    import jax.numpy as jnp
    from jax.experimental.ode import odeint as jax_odeint

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

TIGHT = {"rtol": 1e-12, "atol": 1e-14}


@dataclass(frozen=True)
class Problem:
    """``field(t, y, p, xp)`` in the functions of an array library.

    Attributes
    ----------
    times : ndarray
        The first one is where it begins.
    unit : str
        SciPy's solver whose solution is the unit.
    methods : tuple of str
        That are measured.
    tolerances : dict
    peer : str
        The solver of Diffrax's.
    steps : float
        Of differences, relative.
    """

    name: str
    field: Callable[..., Any]
    start: np.ndarray
    parameters: np.ndarray
    times: np.ndarray
    unit: str
    methods: tuple[str, ...]
    tolerances: dict[str, float]
    peer: str


def epidemic(t: Any, y: Any, p: Any, xp: Any) -> Any:
    """SIR."""
    new = p[0] * y[0] * y[1] / 1000.0
    return xp.stack([-new, new - p[1] * y[1], p[1] * y[1]])


def robertson(t: Any, y: Any, k: Any, xp: Any) -> Any:
    """Three reactions, whose rates differ by nine orders of magnitude."""
    first, second, third = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] * y[1]
    return xp.stack([second - first, first - second - third, third])


def network(t: Any, y: Any, p: Any, xp: Any) -> Any:
    """20 equations of 420 parameters."""
    n = y.shape[0]
    return xp.tanh(xp.reshape(p[: n * n], (n, n)) @ y + p[n * n :]) - 0.5 * y


def diffusion(t: Any, y: Any, p: Any, xp: Any) -> Any:
    """Fisher's equation: what spreads and grows, by its values on a grid."""
    around = xp.concatenate([xp.zeros(1), y, xp.zeros(1)])
    return p[0] * len(y) ** 2 * (around[2:] - 2 * y + around[:-2]) + p[1] * y * (1 - y)


def problems() -> list[Problem]:
    rng = np.random.default_rng(0)
    usual = {"rtol": 1.49012e-8, "atol": 1.49012e-8}
    weights = np.concatenate([rng.normal(size=400) / 20, 0.1 * rng.normal(size=20)])
    stiff = np.concatenate([[0.0], np.geomspace(1e-2, 1e5, 20)])
    return [
        Problem(
            "SIR, 2 parameters, 60 times",
            epidemic,
            np.array([990.0, 10.0, 0.0]),
            np.array([0.31, 0.09]),
            np.linspace(0.0, 160.0, 60),
            "odeint",
            ("odeint", "RK45"),
            usual,
            "Dopri8",
        ),
        Problem(
            "Robertson, 3 rates",
            robertson,
            np.array([1.0, 0.0, 0.0]),
            np.array([0.04, 1e4, 3e7]),
            stiff,
            "BDF",
            ("Radau", "BDF", "LSODA"),
            {"rtol": 1e-6, "atol": 1e-10},
            "Kvaerno5",
        ),
        Problem(
            "20 equations, 420 parameters",
            network,
            rng.normal(size=20),
            weights,
            np.linspace(0.0, 10.0, 21),
            "odeint",
            ("odeint", "RK45", "DOP853"),
            usual,
            "Dopri8",
        ),
        Problem(
            "diffusion, 200 places, 2 rates",
            diffusion,
            np.sin(np.pi * np.linspace(0.0, 1.0, 200)) ** 2,
            np.array([0.01, 1.0]),
            np.linspace(0.0, 1.0, 6),
            "BDF",
            ("Radau", "BDF"),
            {"rtol": 1e-6, "atol": 1e-8},
            "Kvaerno5",
        ),
    ]


def solution(module: Any, problem: Problem, method: str, parameters: Any, **tolerances: float) -> Any:
    """The states at the times, one a row, by SciPy's function or lindiff's in its place."""
    field, start, times = problem.field, problem.start, problem.times
    if method == "odeint":
        return module.odeint(
            lambda y, t, p: field(t, y, p, np), start, times, args=(parameters,), **tolerances
        )
    span = times[0], times[-1]
    by_columns = module.solve_ivp(
        lambda t, y, p: field(t, y, p, np), span, start, method, times, args=(parameters,), **tolerances
    ).y
    return by_columns.T


def size_of(states: Any) -> Any:
    return (states**2).sum()


def in_jax(problem: Problem) -> Callable[[Any], Any]:
    """The states by ``jax.experimental.ode``."""
    field, start, times = problem.field, jnp.asarray(problem.start), jnp.asarray(problem.times)
    return lambda p: jax_odeint(
        lambda y, t, p: field(t, y, p, jnp), start, times, p, mxstep=100_000, **problem.tolerances
    )


def in_diffrax(problem: Problem) -> Callable[[Any], Any]:
    """The states by Diffrax, with the adjoint of its steps."""
    field, start, times = problem.field, jnp.asarray(problem.start), jnp.asarray(problem.times)
    solver = getattr(diffrax, problem.peer)()

    def states(p: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, p: field(t, y, p, jnp)),
            solver,
            times[0],
            times[-1],
            None,
            start,
            args=p,
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(**problem.tolerances),
            max_steps=100_000,
        ).ys

    return states


def calls_of(problem: Problem) -> dict[tuple[str, str], tuple[Callable[[], Any], Callable[[], Any] | None]]:
    """By who solves and the method: the solution, and its gradient."""
    p, tolerances = problem.parameters, problem.tolerances
    calls: dict[tuple[str, str], tuple[Callable[[], Any], Callable[[], Any] | None]] = {}
    for method in dict.fromkeys((problem.unit, *problem.methods)):
        theirs = lambda m=method: solution(scipy.integrate, problem, m, p, **tolerances)
        ours = lambda m=method: solution(integrate, problem, m, p, **tolerances)
        loss = lambda p, m=method: size_of(solution(integrate, problem, m, p, **tolerances))
        calls["scipy", method] = theirs, None
        if method in problem.methods:
            calls["lindiff", method] = ours, lambda loss=loss: ld.grad(loss)(p)
    for name, states in {"jax": in_jax, "diffrax": in_diffrax}.items() if jax is not None else ():
        compiled = jax.jit(states(problem))
        of_parameters = states(problem)
        gradient = jax.jit(jax.grad(lambda p, f=of_parameters: size_of(f(p))))
        calls[name, "odeint" if name == "jax" else problem.peer] = (
            lambda f=compiled: np.asarray(f(p)),
            lambda g=gradient: np.asarray(g(p)),
        )
    return calls


def timed(call: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """Milliseconds of a call, of the processor and of the clock: the mean of as many as take ``seconds``."""
    count, cpu, wall = 0, time.process_time(), time.perf_counter()
    while not count or time.perf_counter() - wall < seconds:
        call()
        count += 1
    return 1e3 * (time.process_time() - cpu) / count, 1e3 * (time.perf_counter() - wall) / count


def derivative_along(problem: Problem, direction: np.ndarray) -> float:
    """By differences of tight solutions."""
    method = "Radau" if problem.unit == "BDF" else "DOP853"
    values = [
        size_of(solution(integrate, problem, method, problem.parameters + step * direction, **TIGHT))
        for step in (1e-4, -1e-4)
    ]
    return float((values[0] - values[1]) / 2e-4)


def rows_of(problem: Problem, rounds: int, seconds: float) -> list[dict[str, Any]]:
    calls = calls_of(problem)
    direction = problem.parameters * np.random.default_rng(1).normal(size=len(problem.parameters))
    expected = derivative_along(problem, direction)
    errors: dict[tuple[str, str], float] = {}
    for key, (solve, gradient) in calls.items():
        for _ in range(3):  # recorded, compiled
            solve()
            found = None if gradient is None else gradient()
        if found is not None:
            errors[key] = abs(found @ direction / expected - 1)
    times: dict[Any, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for key, pair in calls.items():
            for what, call in zip(("solution", "gradient"), pair, strict=True):
                if call is not None:
                    times.setdefault((*key, what), []).append(timed(call, seconds))
    unit = np.median(times["scipy", problem.unit, "solution"], axis=0)[0]
    return [
        {
            "problem": problem.name,
            "by": by,
            "method": method,
            "what": what,
            "cpu_ms": cpu,
            "wall_ms": wall,
            f"solutions_of_scipys_{problem.unit}": cpu / unit,
            "error": errors.get((by, method)) if what == "gradient" else None,
        }
        for (by, method, what), measured in times.items()
        for cpu, wall in [np.median(measured, axis=0)]
    ]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.equations", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=15, help="turns of each call (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0.02, help="a turn takes at least (default: %(default)s)"
    )
    default = Path(__file__).parent / "results"
    parser.add_argument("--results", type=Path, default=default, help="folder to write to")
    options = parser.parse_args()
    tables = []
    for problem in problems():
        unit = f"solutions_of_scipys_{problem.unit}"
        table = pd.DataFrame(rows_of(problem, options.rounds, options.seconds))
        print(f"\n{table.to_string(index=False, float_format='{:.3g}'.format)}", flush=True)
        tables.append(table.rename(columns={unit: "scipys_solutions"}))
    pd.concat(tables).to_csv(options.results / "equations.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
