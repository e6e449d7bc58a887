from typing import Any

from lindiff.linalg._operation import Operation

eigh: Operation
eigvalsh: Operation
_svd: Operation
_svdvals: Operation

def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any: ...
def svdvals(x: Any, /) -> Any: ...
