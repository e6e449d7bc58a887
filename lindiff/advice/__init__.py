"""What to write instead: of a line that was refused, a function without a rule, a name of another library."""

from __future__ import annotations

from typing import Any

from lindiff.advice.abroad import explain
from lindiff.core.linearization import explain_errors
from lindiff.core.refusals import use_advice

__all__: list[str] = []


def _refusal(variable: Any, wanted: str, message: str | None = None) -> TypeError:
    from lindiff.advice.refusals import refusal  # looks at source text; most programs never need it

    return refusal(variable, wanted, message)


use_advice(_refusal)
explain_errors(explain)
