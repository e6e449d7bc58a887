"""``python -m lindiff_cuda.check``, on the stand-in: a dozen seconds instead of an hour on a card."""

import json

import numpy as np
import pytest
from standin import compiled

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")


@pytest.fixture
def command(standin):
    """The command's module, and a plan of small sizes."""
    from lindiff_cuda.check import __main__ as command
    from lindiff_cuda.check import deciding

    trials = tuple(
        trial._replace(cases=tuple(case._replace(many=2, n=3, k=4) for case in trial.cases[:1]))
        for trial in deciding.LIMITS
        if trial.name in ("BLOCKS", "TRSM_BATCHED", "THREADS")
    )
    tuning = deciding.Plan(trials, {"FUSED": (2, 4), "BLOCKWISE": (5,)}, {"FUSED": 2, "BLOCKWISE": 4}, "d")
    return command, command.Plan(((3, 4), (2, 6), (1, 9)), "d", 16, 0.0, tuning)


def without_tuning(plan):
    return plan._replace(tuning=None)


def test_every_operator_is_in_the_table(standin):
    import lindiff_cuda
    from lindiff_cuda import tuning
    from lindiff_cuda.check import deciding, problems

    computing = set(lindiff_cuda.__all__) - {"unchecked"}
    assert set(problems.OPERATORS) | set(problems.IN_MODELS) == computing
    assert set(problems.IN_MODELS.values()) <= set(problems.MODELS)
    kernels = {*tuning.FUSED, *tuning.BLOCKWISE}
    assert {deciding.OPERATOR_OF.get(kernel, kernel) for kernel in kernels} <= set(problems.OPERATORS)
    numbers = {name for name in tuning.__all__ if name.isupper()}
    tables, of_memory = {"FUSED", "BLOCKWISE"}, {"STEPS_IN_PASSING", "BYTES_OF_PARTS"}
    assert {trial.name for trial in deciding.LIMITS} | tables | of_memory == numbers
    assert {case.operator for trial in deciding.LIMITS for case in trial.cases} <= set(problems.OPERATORS)


def test_a_card_that_is_right(command, tmp_path, capsys):
    module, plan = command
    path = tmp_path / "report.json"
    assert module.main(["--output", str(path)], plan) == 0
    report, said = json.loads(path.read_text()), capsys.readouterr().out
    assert report["card"]["card"] == "stand-in"
    assert report["card"]["CUDA"] == "12.4"
    sizes = len(plan.sizes)
    assert len(report["comparisons"]) == sizes * (len(module.OPERATORS) + len(module.MODELS))
    assert not any(comparison["failed"] for comparison in report["comparisons"])
    assert max(comparison["distance"] for comparison in report["comparisons"]) > 0
    assert len(report["timings"]) == sizes * len(module.OPERATORS)
    assert all(timing["seconds"] > 0 for timing in report["timings"])
    assert report["rates"]["copy"] > 0
    assert f"{len(report['comparisons'])} comparisons, 0 failed" in said
    assert report["tuning"] in said


def test_the_table_is_python(command, standin):
    """It can stand in tuning.py, and says what was measured."""
    from lindiff_cuda import tuning
    from lindiff_cuda.check import deciding

    before = {name: getattr(tuning, name) for name in tuning.__all__}
    decided, measured = deciding.decide(command[1].tuning, 0.0, lambda line: None)
    written = {}
    exec(deciding.as_python(decided), written)
    assert {name: written[name] for name in decided} == decided
    assert set(decided) == {"FUSED", "BLOCKWISE", "BLOCKS", "TRSM_BATCHED", "THREADS"}
    assert {name: getattr(tuning, name) for name in tuning.__all__} == before
    for name in ("FUSED", "BLOCKWISE"):
        assert decided[name].keys() == before[name].keys()
    for kernel, row in decided["FUSED"].items():
        assert row[1] in (0, 2, 4)
        assert row[:1] + row[2:] == before["FUSED"][kernel][:1] + before["FUSED"][kernel][2:]
    assert {m.name for m in measured} >= {"FUSED potrf d", "BLOCKWISE gesvd d", "THREADS"}


def test_what_is_decided_for(standin):
    from lindiff_cuda.check.deciding import best

    assert best({8: (1.0, 4.0), 16: (1.0, 2.0), 32: (3.0, 2.0)}, 8) == 16
    assert best({8: (1.0, 2.02), 16: (1.0, 2.0)}, 8) == 8  # hardly worse: it stays
    assert best({8: (1.0,), 16: (2.0,)}, 64) == 8


def test_limits_are_set_by_both_ways(standin, monkeypatch):
    """Of a table: kernels that are faster up to order 8."""
    from lindiff_cuda.check import deciding

    def times_of(case, name, values, least):
        return [case.n**2 if case.n <= rows["potrf"][1] else 100.0 for rows in values]

    monkeypatch.setattr(deciding, "times_of", times_of)
    found = deciding.measure_table("FUSED", "potrf", 1, (4, 8, 16, 32), 10, 0.0)
    assert found.value == 8
    assert found.seconds[16] == (16, 64, 256, 100.0)
    assert found.seconds[0] == (100.0,) * 4


def test_what_cannot_be_measured(command, monkeypatch):
    """It stays as it is, and the rest is measured."""
    import lindiff_cuda
    from lindiff_cuda import tuning
    from lindiff_cuda.check import deciding

    def refuse(A):
        raise MemoryError("too much")

    monkeypatch.setattr(lindiff_cuda, "potrf", refuse)
    notes = []
    decided, measured = deciding.decide(command[1].tuning, 0.0, notes.append)
    assert decided["FUSED"]["potrf"] == tuning.FUSED["potrf"]
    assert "FUSED potrf d: not measured, MemoryError: too much" in notes
    assert "FUSED trsm d" in {m.name for m in measured}


def test_an_operator_that_is_wrong(command, tmp_path, capsys, monkeypatch):
    import lindiff_cuda

    module, plan = command
    potri = lindiff_cuda.potri
    monkeypatch.setattr(lindiff_cuda, "potri", lambda L: potri(L) * 1.001)
    path = tmp_path / "report.json"
    assert module.main(["--output", str(path)], without_tuning(plan)) == 1
    report, said = json.loads(path.read_text()), capsys.readouterr().out
    assert {x["name"] for x in report["comparisons"] if x["failed"]} == {"potri"}
    assert "potri" not in {x["name"] for x in report["timings"]}
    assert "3 failed" in said
    assert said.count("FAILED") == 6  # where it was found, and at the end


def test_an_operator_that_raises(standin, monkeypatch):
    import lindiff_cuda
    from lindiff_cuda.check.comparing import compare_operator
    from lindiff_cuda.check.problems import Matrices

    def refuse(A):
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(lindiff_cuda, "potrf", refuse)
    found = compare_operator("potrf", Matrices(2, 3, "d"))
    assert found.failed
    assert found.error == "RuntimeError: no such kernel"


@pytest.mark.parametrize("got", [np.ones((2, 3)), np.full((2, 2), np.nan), np.ones((2, 2)) + 1e-3])
def test_what_counts_as_wrong(standin, got):
    from lindiff_cuda.check.comparing import compared

    wanted = np.ones((2, 2))
    assert compared("x", "", "d", 1e-6, lambda: (standin.asarray(got), wanted)).failed
    assert not compared("x", "", "d", 1e-6, lambda: (standin.asarray(wanted), wanted)).failed


def test_no_gpu(command, standin, monkeypatch):
    def fail():
        raise RuntimeError("cudaErrorNoDevice")

    monkeypatch.setattr(standin.cuda.runtime, "getDeviceCount", fail)
    with pytest.raises(SystemExit, match=r"CuPy finds no GPU \(cudaErrorNoDevice\)"):
        command[0].main([])


@pytest.mark.parametrize("output", ["", "missing/report.json"])
def test_a_report_that_cannot_be_written(command, tmp_path, capsys, output):
    """Is refused before anything is measured."""
    module, plan = command
    with pytest.raises(SystemExit) as exit:
        module.main(["--output", str(tmp_path / output)], plan)
    assert exit.value.code == 2
    said = capsys.readouterr()
    assert "--output: " in said.err
    assert said.out == ""


def test_single_and_complex(standin):
    """Every dtype that the table says an operator has."""
    from lindiff_cuda.check.comparing import compare_operator
    from lindiff_cuda.check.problems import OPERATORS, Matrices

    wrong = [
        found
        for matrices in (Matrices(2, 3, letter) for letter in "fFD")
        for name, operator in OPERATORS.items()
        if matrices.dtype.char in operator.letters and (found := compare_operator(name, matrices)).failed
    ]
    assert wrong == []


def test_no_cupy(alone):
    script = """
import runpy, sys
sys.modules["cupy"] = None
try:
    runpy.run_module("lindiff_cuda.check", run_name="__main__")
except ImportError as error:
    print(error)
"""
    assert "needs CuPy, which is not installed: pip install" in alone(script)
