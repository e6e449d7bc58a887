"""``lindiff.scipy.signal``: errors and edges; values and derivatives are in table_signal.py."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import lindiff as ld
from lindiff.scipy import signal


def test_plain_arrays_get_scipys_own():
    x = np.arange(4)
    got, expected = signal.convolve(x, x[:2]), scipy.signal.convolve(x, x[:2])
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_empty_arrays():
    got = ld.vjp(lambda x: signal.fftconvolve(x, np.ones(2)), np.ones(0))[0]
    assert got.shape == scipy.signal.fftconvolve(np.ones(0), np.ones(2)).shape


def test_integers_beside_variables():
    got = ld.grad(lambda x: signal.convolve(x, [1, 2], "valid")[0])(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(got, [2.0, 1.0, 0.0])
    got = ld.grad(lambda x: signal.lfilter([1, 2], [1], x)[1])(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(got, [2.0, 1.0, 0.0])


def test_filter_in_a_loop_is_the_filter_at_once():
    """States carry on: derivatives through them, too."""
    b, a, x = np.array([0.5, 0.2]), np.array([1.0, -0.4, 0.1]), np.sin(np.arange(12.0))

    def at_once(b, a, x):
        return signal.lfilter(b, a, x)

    def in_pieces(b, a, x):
        state, pieces = np.zeros(2), []
        for k in range(0, 12, 4):
            y, state = signal.lfilter(b, a, x[k : k + 4], zi=state)
            pieces.append(y)
        return np.concatenate(pieces)

    for got, expected in zip(
        ld.vjp(in_pieces, b, a, x)[1](np.ones(12)), ld.vjp(at_once, b, a, x)[1](np.ones(12)), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: signal.convolve(x, np.ones((2, 2))), "as many axes"),
        (lambda x: signal.convolve(x, np.ones(2), "half"), "mode"),
        (lambda x: signal.convolve(x, np.ones(2), method="slow"), "method"),
        (lambda x: signal.correlate(x, np.ones(2), method="slow"), "method"),
        (lambda x: signal.convolve(np.outer(x, x[:2]), np.ones((2, 3)), "valid"), "along every axis"),
        (lambda x: signal.convolve2d(x, np.ones(2)), "two axes"),
        (lambda x: signal.convolve2d(x, np.ones(2), boundary="half"), "boundary"),
        (lambda x: signal.lfilter(np.ones((2, 2)), [1.0], x), "one axis"),
        (lambda x: signal.lfilter_zi(np.outer(x, x), [1.0]), "one axis"),
        (lambda x: signal.filtfilt([1.0, 2.0], [1.0], x), "longer than padlen"),
        (lambda x: signal.filtfilt([1.0, 0.5], [1.0], x, padtype="half"), "padtype"),
        (lambda x: signal.filtfilt([1.0], [1.0], x, method="half"), "method"),
        (lambda x: signal.sosfilt_zi(x), "shape"),
        (lambda x: signal.hilbert(x * 1j), "real"),
        (lambda x: signal.hilbert(x, 0), "positive"),
        (lambda x: signal.sosfilt(np.ones((1, 5)), x), "shape"),
        (lambda x: signal.sosfilt(np.full((1, 6), 2.0), x), "ones"),
        (lambda x: signal.savgol_filter(x, 5, 2), "window_length"),
        (lambda x: signal.savgol_filter(x, 3, 2, mode="half"), "mode"),
    ],
)
def test_errors(call, says):
    with pytest.raises(ValueError, match=says):
        ld.vjp(call, np.ones(4))


@pytest.mark.parametrize("a", [[0.0, 1.0], []])
def test_filters_need_a_first_coefficient(a):
    with pytest.raises(ValueError, match="lfilter: a"):
        ld.vjp(lambda x: signal.lfilter([1.0, 2.0], a, x), np.ones(4))


def test_gustafssons_method_is_refused():
    with pytest.raises(TypeError, match='method="pad"'):
        ld.vjp(lambda x: signal.filtfilt([1.0, 0.5], [1.0], x, method="gust"), np.ones(9))
