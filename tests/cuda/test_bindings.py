"""The stand-in's routines have the parameters of CuPy's bindings, in their order."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from standin import cublas, cusolver

SIGNATURE = re.compile(rb"(\w+)\((intptr_t handle[^)]*)\)")
# CuPy calls the matrices of its single solve what those of the batched one are: arrays.
ALIASES = {"Aarray": "A", "Barray": "B", "infoArray": "info"}


def evaluators(module):
    """The functions that stand for routines, by name."""
    found = {}
    for name, function in vars(module).items():
        parameters = list(inspect.signature(function).parameters) if inspect.isfunction(function) else []
        if parameters[:3] == ["check", "dtype", "handle"]:
            found[name] = parameters[2:]
    return found


def bindings(library):
    """Parameters of the routines, from the texts in CuPy's compiled module: to import it needs CUDA."""
    spec = importlib.util.find_spec("cupy_backends")
    if spec is None or spec.origin is None:
        pytest.skip("CuPy is not installed")
    (path,) = (Path(spec.origin).parent / "cuda" / "libs").glob(f"{library}.*")
    return {
        name.decode(): [parameter.split()[-1] for parameter in parameters.decode().split(",")]
        for name, parameters in SIGNATURE.findall(path.read_bytes())
    }


@pytest.mark.parametrize("module", [cublas, cusolver], ids=["cublas", "cusolver"])
def test_parameters(module):
    library = module.__name__.rpartition(".")[2]
    theirs, ours = bindings(library), evaluators(module)
    assert ours
    for name, parameters in ours.items():
        wanted = theirs.get(f"d{name}") or theirs[name]
        assert list(map(plain, parameters)) == list(map(plain, wanted)), name


def plain(name):
    return ALIASES.get(name, name).lower()
