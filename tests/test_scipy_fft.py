"""``lindiff.scipy.fft``: what it refuses; values and derivatives are in table_scipy_fft.py."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff.scipy import fft


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: fft.dct(x, 5), ValueError, "type"),
        (lambda x: fft.dct(x * 1j, orthogonalize=True), TypeError, r"dct\(x\.imag"),
        (lambda x: fft.fftn(np.outer(x, x), axes=(-2, 0)), ValueError, "unique"),
        (lambda x: fft.dctn(np.outer(x, x), axes=(1, 1)), ValueError, "unique"),
        (lambda x: fft.fftn(x[0]), ValueError, "no axis"),
        (lambda x: fft.rfft(x * 1j), TypeError, "real sequence"),
        (lambda x: fft.fft(x, plan=1), NotImplementedError, "plan"),
        (lambda x: fft.fht(x, 0.1, 0.5), TypeError, "has no derivative in lindiff: .*rfft"),
    ],
)
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        ld.vjp(call, np.ones(4))
