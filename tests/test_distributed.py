"""Sums over partitions on a cluster: their derivatives, what they may be over, lost workers, faults."""

from __future__ import annotations

import logging
import os
import pickle
import re
import signal
import threading
from pathlib import Path

import dask.array
import dask.bag
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import lindiff as ld
from lindiff.distributed import Sum, clusters, partitions, terms
from lindiff.scipy.optimize import minimize

QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        Client(cluster) as found,
    ):
        yield found


@pytest.fixture
def threads():
    """In this process: calls of it cost less."""
    with Client(processes=False, n_workers=1, threads_per_worker=2, **QUIET) as found:
        yield found


def of_rows():
    """A term; functions of functions go to workers as they are, those of modules by their names."""

    def term(params, X, y):
        residual = np.tanh(X @ params["w"][0]) * params["k"] - y
        return np.sum(residual**2 * np.exp(params["w"][1])) + params["rows"] * len(y)

    return term


def data_of(rng, rows=23):
    X, y = rng.standard_normal((rows, 3)), rng.standard_normal(rows)
    params = {"w": (rng.standard_normal(3), 0.3), "k": np.array([2]), "rows": 1}
    return params, X, y


def divided(x, parts=7):
    return np.array_split(x, parts)


# -- derivatives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [False, True])
def test_every_derivative_is_that_of_the_sum_here(client, rng, program):
    params, X, y = data_of(rng)
    term = of_rows()
    there = Sum(term, divided(X), divided(y), scheduler=client, program=program)

    def of_sum(w, b):
        return there({**params, "w": (w, b)})

    def here(w, b):
        return term({**params, "w": (w, b)}, X, y)

    w, b = params["w"]
    directions = (rng.standard_normal(3), 0.7)
    for _ in range(4):  # a program is known from the third time on
        np.testing.assert_allclose(of_sum(w, b), here(w, b), rtol=1e-13)
        for found, expected in zip(
            ld.grad(of_sum, argnums=(0, 1))(w, b), ld.grad(here, argnums=(0, 1))(w, b), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    for derivative in (
        lambda f: ld.value_and_grad(f)(w, b)[1],
        lambda f: ld.jvp(f, (w, b), directions)[1],
        lambda f: ld.hessian(f)(w, b),
        lambda f: ld.hessian(f, argnums=1)(w, b),
        lambda f: ld.jacobian(ld.grad(f), mode="reverse")(w, b),
        lambda f: ld.hvp(lambda w: f(w, b), (w,), (directions[0],))[0],
        lambda f: ld.grad(lambda w: np.sum(ld.grad(f)(w, b) ** 2))(w),
        lambda f: ld.jvp(lambda w: ld.jvp(lambda w: f(w, b), (w,), (directions[0],))[1], (w,), (w,))[1],
        lambda f: ld.grad(lambda b: ld.grad(lambda b: ld.grad(lambda b: f(w, b))(b) ** 2)(b))(b),
        lambda f: ld.hessian(ld.grad(f, argnums=1))(w, b),
    ):
        np.testing.assert_allclose(derivative(of_sum), derivative(here), rtol=1e-11, atol=1e-11)


def test_a_sum_is_a_function_in_programs_and_over_many_parameters(client):
    there = Sum(lambda p, x: np.sum(p**2 * x**2), [np.ones(2), np.arange(3.0)], scheduler=client)
    repeated, by_it = ld.program(ld.grad(there)), ld.grad(ld.program(lambda p: 2 * there(p)))
    for p in np.arange(12.0):  # they run without a program
        np.testing.assert_allclose([repeated(p), by_it(p)], [14 * p, 28 * p])
    assert ld.vmap(ld.grad(there))(np.arange(2.0)).tolist() == [0.0, 14.0]


def test_parameters_of_any_size_and_type(client, rng):
    x = rng.standard_normal(40_000)  # more than goes along with each task
    there = Sum(lambda p, scale: scale * np.sum(p["x"] ** 2) * len(p["name"]), [1.0, 2.0], scheduler=client)
    found = ld.grad(lambda x: there({"x": x, "name": "abc", "mask": np.arange(50_000) > 3, "no": None}))(x)
    np.testing.assert_allclose(found, 18 * x)
    single = ld.grad(lambda x: there({"x": x, "name": "a"}))(np.ones(3, np.float32))
    assert single.dtype == np.float32
    z = np.array([1 + 2j, 0.5])
    squares = Sum(lambda z, a: np.sum(np.abs(z) ** 2) * a, [1.0, 3.0], scheduler=client)
    np.testing.assert_allclose(ld.grad(squares)(z), ld.grad(lambda z: 4 * np.sum(np.abs(z) ** 2))(z))


def test_large_integers_that_differ_in_one_place_are_not_taken_for_each_other(client):
    there = Sum(lambda p, x: x * np.sum(p["x"]) * p["index"][2500], [1, 1.0], scheduler=client, program=True)
    index = np.zeros(5000, int)
    for k in range(6):
        index = index.copy()
        index[2500] = k
        assert ld.grad(lambda x, index=index: there({"x": x, "index": index}))(1.0) == 2 * k


def test_the_sum_is_the_same_to_the_last_bit_however_it_is_divided_among_tasks(client, rng, monkeypatch):
    X, y = rng.standard_normal((61, 3)), rng.standard_normal(61)
    term, found = of_rows(), set()
    for tasks in (1, 3, 40):
        monkeypatch.setattr(partitions, "TASKS", tasks)
        there = Sum(term, divided(X, 61), divided(y, 61), scheduler=client)
        value, gradient = ld.value_and_grad(there)({"w": (np.ones(3), 0.3), "k": 2.0, "rows": 0.1})
        found.add((float(value), *gradient["w"][0].tolist(), float(gradient["k"])))
    assert len(found) == 1


def test_trees_are_added_in_pairs():
    class Told(str):
        def __add__(self, other):
            return Told(f"({self}{other})")

    assert terms.added_in_pairs(Told(x) for x in "abcdefg") == "(((ab)(cd))((ef)g))"
    blocks = [terms.added_in_pairs(map(Told, part)) for part in ("abcd", "efg")]
    assert terms.added(blocks) == "(((ab)(cd))((ef)g))"


# -- what a sum may be over --------------------------------------------------------------------------------


def as_lists(client, X):
    return np.array_split(X, 5)


def as_tuple(client, X):
    return tuple(np.array_split(X, 3))


def as_dict(client, X):
    return {"first": X[:4], "second": X[4:]}


def as_array(client, X):
    return dask.array.from_array(X, chunks=(5, -1))


def as_blocks(client, X):
    return dask.array.from_array(X, chunks=(5, 2))


def as_bag(client, X):
    return dask.bag.from_sequence(list(X), npartitions=3)


def as_frame(client, X):
    return dask.dataframe.from_pandas(pd.DataFrame(X), npartitions=2)


def as_groups(client, X):
    frame = pd.DataFrame(X)
    return frame.groupby(np.arange(len(X)) % 3)


def as_delayed(client, X):
    return [dask.delayed(np.negative)(-part) for part in np.array_split(X, 4)]


def as_futures(client, X):
    return client.map(np.negative, np.array_split(-X, 4))


KINDS = [
    *(as_lists, as_tuple, as_dict, as_array, as_blocks, as_bag, as_frame, as_groups, as_delayed, as_futures)
]


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_of_every_kind(client, rng, kind):
    X = rng.standard_normal((13, 4))
    there = Sum(lambda p, part: np.sum(np.sin(p * np.asarray(part))), kind(client, X), scheduler=client)
    for p in (0.5, 1.5):
        value, slope = ld.value_and_grad(there)(p)
        np.testing.assert_allclose(value, np.sum(np.sin(p * X)), rtol=1e-12)
        np.testing.assert_allclose(slope, np.sum(np.cos(p * X) * X), rtol=1e-12)


def test_several_collections_are_divided_alike(client, rng):
    _, X, y = data_of(rng)
    X_there, y_there = dask.array.from_array(X, chunks=(6, -1)), dask.array.from_array(y, chunks=6)
    with pytest.raises(ValueError, match=r"not divided alike: .* of other names"):
        Sum(of_rows(), X_there.rechunk((12, 2)), y_there, scheduler=client)  # its blocks have two numbers

    term = of_rows()

    def here(w, X, y):
        return term({"w": (w, 0.3), "k": 2, "rows": 0}, X, np.ravel(y))

    there = Sum(here, X_there, y_there[:, None], scheduler=client)
    assert there.partitions == 4
    np.testing.assert_allclose(ld.grad(there)(np.ones(3)), ld.grad(here)(np.ones(3), X, y), rtol=1e-12)


def test_the_client_that_there_is(client):
    assert Sum(lambda p, x: p * x, [1.0]).client is client
    with Sum(lambda p, x: p * x, [1.0], scheduler=client.scheduler.address).client as other:
        assert other is not client


# -- lost workers ------------------------------------------------------------------------------------------


def test_what_a_lost_worker_had_is_computed_again(client, rng):
    params, X, y = data_of(rng)
    local = Sum(of_rows(), divided(X), divided(y), scheduler=client)
    remote = Sum(lambda p, part: np.sum(p * part), dask.array.from_array(X, chunks=(5, -1)), scheduler=client)
    gradients = [ld.grad(local)(params), ld.grad(remote)(2.0)]
    for pid in list(client.run(os.getpid).values()):
        os.kill(pid, signal.SIGKILL)
        again = [ld.grad(local)(params), ld.grad(remote)(2.0)]
        assert np.array_equal(again[0]["w"][0], gradients[0]["w"][0])
        assert np.array_equal(again[1], gradients[1])


def test_a_worker_that_dies_at_work(client, tmp_path):
    been = tmp_path / "been here"

    def term(p, x):
        if x == 2.0 and not been.exists():
            been.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return p * x

    assert ld.grad(Sum(term, [1.0, 2.0, 3.0], scheduler=client))(1.0) == 6.0


# -- searches ----------------------------------------------------------------------------------------------


def test_searches_take_a_sum(client, rng):
    X = rng.standard_normal((30, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.standard_normal(30)

    def squares(w, X, y):
        return np.sum((X @ w - y) ** 2)

    there = Sum(squares, divided(X), divided(y), scheduler=client)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    for method in ("BFGS", "trust-exact"):
        np.testing.assert_allclose(minimize(there, np.zeros(3), method=method).x, least, atol=1e-5)
    there_too = ld.descent.Descent(there, np.zeros(3), ld.descent.sgd(0.01)).run(5, progress=False)
    here = ld.descent.Descent(lambda w: squares(w, X, y), np.zeros(3), ld.descent.sgd(0.01))
    np.testing.assert_allclose(there_too.params, here.run(5, progress=False).params, rtol=1e-10)


def test_fit_of_a_panel_in_blocks(threads, rng):
    y = np.cumsum(rng.standard_normal((12, 30, 1)), 1) + rng.standard_normal((12, 30, 1))
    y[2] = y[7] = np.nan
    y[5, 10:20] = np.nan
    panel = dask.array.from_array(y, chunks=(5, -1, -1))
    for unit in (1.0, 1e60):  # of such numbers, in a unit of their own
        here = ld.statespace.fit(ld.statespace.local_level, unit * y, progress=False)
        there = ld.statespace.fit(ld.statespace.local_level, unit * panel, progress=False)
        np.testing.assert_allclose(there.loglikelihood, here.loglikelihood, rtol=1e-9)
        assert (there.notes, np.round(there.aic, 4)) == (here.notes, np.round(here.aic, 4))
        for name, estimate in here.params.items():
            np.testing.assert_allclose(there.params[name], estimate, rtol=1e-3)
            np.testing.assert_allclose(there.standard_errors[name], here.standard_errors[name], rtol=1e-3)
    first, second = (found.series(1).smoother_result.smoothed_state for found in (here, there))
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e57)
    for bad, message in (
        (panel[:, :, 0], r"\(S, T, p\)"),
        (panel.rechunk((5, 7, 1)), "rechunk"),
        (panel * np.nan, "no observations"),
        (panel.astype(complex), "real numbers"),
        (dask.bag.from_sequence([1, 2]), "is a Bag of Dask"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            ld.statespace.fit(ld.statespace.local_level, bad, progress=False)
    with pytest.raises(ValueError, match="cov_type 'opg'"):
        ld.statespace.fit(ld.statespace.local_level, panel, cov_type="opg", progress=False)


# -- faults ------------------------------------------------------------------------------------------------


def test_a_fault_is_what_it_is_here_and_names_its_partition(client):
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

    def raises(kind):
        def term(p, x):
            if x > 1:
                raise Odd(1, 2) if kind == "odd" else FloatingPointError("too large")
            return p * x

        return term

    with pytest.raises(FloatingPointError, match="partition 'b': too large"):
        ld.grad(Sum(raises("known"), {"a": 1.0, "b": 2.0}, scheduler=client))(1.0)
    with pytest.raises(RuntimeError, match=r"partition 1: Odd: \(1, 2\)"):
        Sum(raises("odd"), [1.0, 2.0], scheduler=client)(1.0)
    indefinite = Sum(
        lambda p, K: np.linalg.cholesky(p * K)[0, 0], {"good": np.eye(2), "bad": -np.eye(2)}, scheduler=client
    )
    with pytest.raises(np.linalg.LinAlgError, match="partition 'bad'"):
        ld.grad(indefinite)(1.0)
    array = dask.array.ones((4, 2), chunks=(2, 1))
    with pytest.raises(ValueError, match="partition 0: "):
        Sum(lambda p, x: np.sum(x @ np.ones(7)), array[:2, :1], scheduler=client)(1.0)


def test_a_term_cannot_change_what_stays(client, threads):
    def centred(p, x):
        x -= np.mean(x)
        return p * np.sum(x**2)

    def with_column(p, frame):
        frame["square"] = frame["x"] ** 2
        return p * frame["square"].sum()

    frames = {"a": pd.DataFrame({"x": [1.0, 2.0]})}
    for scheduler in (client, threads):
        with pytest.raises(ValueError, match=r"partition 0: .*read-only"):
            Sum(centred, [np.arange(3.0)], scheduler=scheduler)(1.0)
        there = Sum(with_column, frames, scheduler=scheduler)
        assert [there(1.0), there(2.0)] == [5.0, 10.0]
        assert list(frames["a"].columns) == ["x"]


def test_results_that_are_no_terms_of_a_sum(client):
    for result, message in (
        (np.ones(2), r"partition 0: .* array of shape \(2,\): take np.sum"),
        ("text", "returned a str"),
        ((1.0, 2.0), "returned a tuple"),
        (None, "returned a NoneType"),
        (1j, "returned 1j"),
        (dask.delayed(1.0), "partitions come as they are computed"),
    ):
        there = Sum(lambda p, x, result=result: result, [1.0], scheduler=client)
        with pytest.raises(TypeError, match=message):
            there(1.0)
        with pytest.raises(TypeError, match=message):
            ld.grad(there)(1.0)


def test_a_term_of_a_module_that_workers_have_not(client):
    with pytest.raises(ModuleNotFoundError, match=r"client\.upload_file"):
        Sum(data_of, [1.0], scheduler=client)(1.0)


def test_empty_partitions(client):
    frame = dask.dataframe.from_pandas(pd.DataFrame({"x": np.arange(4.0)}), npartitions=2)
    for data, name in (
        ([np.ones(2), np.ones(0)], 1),
        (frame[frame.x > 2], 0),
        (dask.bag.from_sequence(range(4), npartitions=2).filter(lambda x: x > 1), 0),
    ):
        with pytest.raises(ValueError, match=f"partition {name}: it is empty"):
            Sum(lambda p, x: p * np.sum(np.asarray(x)), data, scheduler=client)(1.0)


def test_what_cannot_be_a_sum(client):
    lock = threading.Lock()

    def locked(p, x):
        with lock:
            return p * x

    term = lambda p, x: p * x
    for arguments, kind, message in (
        ((term,), TypeError, "give the partitions"),
        ((term, []), ValueError, "no partitions"),
        ((term, pd.DataFrame({"a": []}).groupby("a")), ValueError, "no partitions"),
        ((term, np.ones(3)), TypeError, "np.array_split"),
        ((term, pd.DataFrame({"a": [1]})), TypeError, "frame.groupby"),
        ((term, "text"), TypeError, "str is not divided"),
        ((term, [1], [1, 2]), ValueError, "into 1 partitions and 2"),
        ((term, [1], dask.bag.from_sequence([1])), TypeError, "give all as one kind"),
        ((term, dask.delayed(1)), TypeError, "is one object"),
        ((locked, [1]), TypeError, "locked cannot be sent to workers for lock, which it uses"),
        ((term, {"a": 1, "b": lock}), TypeError, "partition 'b' cannot be sent"),
        ((dask.delayed(term), [1]), TypeError, "is a function .* not a Delayed"),
        ((3.0, [1]), TypeError, "is a function .* not a float"),
    ):
        with pytest.raises(kind, match=message):
            Sum(*arguments, scheduler=client)
    there = Sum(term, [1.0], scheduler=client)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(there)


class Versions:
    """A client whose workers have these versions."""

    asynchronous = False

    def __init__(self, found):
        self.found = found

    def run(self, function, *args, on_error):
        return {"tcp://there": self.found}


def test_workers_without_lindiff_or_with_another_one():
    from importlib.metadata import PackageNotFoundError

    with pytest.raises(ImportError, match="worker tcp://there has no lindiff: install"):
        clusters._refuse_other_versions(Versions(PackageNotFoundError("lindiff")))
    with pytest.raises(ImportError, match=r"has lindiff 0\.0\.1"):
        clusters._refuse_other_versions(Versions("0.0.1"))


def test_a_closed_client_says_so():
    with Client(processes=False, n_workers=1, threads_per_worker=2, set_as_default=False, **QUIET) as own:
        there = Sum(lambda p, x: p * x, [1.0, 2.0], scheduler=own)
        assert ld.grad(there)(1.0) == 3.0
    with pytest.raises(RuntimeError, match="closed"):
        there(1.0)


def test_threads_share_a_term():
    with Client(processes=False, n_workers=1, threads_per_worker=4, set_as_default=False, **QUIET) as own:
        data = [np.full(50, float(k)) for k in range(64)]
        there = Sum(lambda p, x: np.sum(np.sin(p * x)), data, scheduler=own, program=True)
        for p in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
            expected = sum(np.sum(np.cos(p * x) * x) for x in data)
            np.testing.assert_allclose(ld.grad(there)(p), expected, rtol=1e-9)


def test_without_dask(alone):
    printed = alone(
        "import sys; sys.modules['distributed'] = None\n"
        "import lindiff as ld\nfrom lindiff import *\n"
        "try:\n    ld.distributed\nexcept ImportError as error:\n    print(error)"
    )
    assert 'pip install "lindiff[dask]"' in printed


# -- other engines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["joblib", "concurrent.futures"])
def test_recipes_of_the_documentation(alone, tmp_path, engine):
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    recipes = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if engine in block]
    assert len(recipes) == 1
    (tmp_path / "recipe.py").write_text(recipes[0], encoding="utf-8")
    printed = alone("import runpy; runpy.run_path('recipe.py', run_name='__main__')")
    assert "[ 1. -2.]" in printed


@pytest.mark.parametrize("where", ["client", "threads"])
def test_a_term_that_has_changed_is_sent_again(where, request):
    def of_scale(scale):
        def term(w, x):
            return np.sum(scale * w * x)

        def change(to):
            nonlocal scale
            scale = to

        return term, change

    term, change = of_scale(1.0)
    parts = [np.ones(2), np.ones(3)]
    total = Sum(term, parts, scheduler=request.getfixturevalue(where))
    for scale in (1.0, 2.0, 1.0, 3.0, 4.0, 5.0, 6.0, 1.0):
        change(scale)
        assert ld.value_and_grad(total)(2.0) == (10.0 * scale, 5.0 * scale)


def test_partitions_are_those_of_when_the_sum_was_made(client):
    parts = [np.ones(2), np.ones(3)]
    total = Sum(of_products(), parts, scheduler=client)
    parts[0][:] = 7.0
    assert total(2.0) == 10.0


def of_products():
    return lambda w, x: np.sum(w * x)


def test_rows_of_a_matrix_beside_a_vector(client):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)

    def squares(w, X, y):
        return np.sum((X @ w - y) ** 2)

    chunked = dask.array.from_array(X, chunks=(2, 2)), dask.array.from_array(y, chunks=2)
    total, w = Sum(lambda w, X, y: squares(w, X, y), *chunked, scheduler=client), np.array([0.5, 0.25])
    np.testing.assert_allclose(ld.grad(total)(w), ld.grad(squares)(w, X, y), rtol=1e-12)
