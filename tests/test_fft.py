"""Facts special to the discrete Fourier transforms."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_adjoint_of_fft_is_the_unscaled_inverse(rng, n, norm):
    x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    F = np.fft.fft(np.eye(n), norm=norm)
    _, pullback = ld.vjp(lambda x: np.fft.fft(x, norm=norm), x)
    np.testing.assert_allclose(pullback(x)[0], F.conj().T @ x)


@pytest.mark.parametrize("n", [5, 6])
def test_energy_by_parseval(rng, n):
    x = rng.standard_normal(n)
    gradient = ld.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x)
    np.testing.assert_allclose(gradient, 2 * n * x)


def test_convolution_by_fft(rng):
    x, h = rng.standard_normal(7), rng.standard_normal(3)
    weights = rng.standard_normal(9)

    def by_fft(h):
        return weights @ np.fft.irfft(np.fft.rfft(x, 9) * np.fft.rfft(h, 9), 9)

    expected = [weights @ np.convolve(x, unit) for unit in np.eye(3)]
    np.testing.assert_allclose(ld.grad(by_fft)(h), expected)


def test_imaginary_parts_that_irfft_does_not_read_have_gradient_zero(rng):
    z = rng.standard_normal(4) + 1j * rng.standard_normal(4)
    weights = rng.standard_normal(6)
    gradient = ld.grad(lambda z: weights @ np.fft.irfft(z))(z)
    np.testing.assert_allclose(gradient.imag[[0, 3]], 0, atol=1e-15)


def test_single_precision_stays():
    x = np.arange(4, dtype=np.float32)
    assert ld.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))(x).dtype == np.float32


def test_lengths_and_axes_must_agree():
    with pytest.raises(ValueError, match="different lengths"):
        np.fft.fftn(ld.Variable(np.ones((2, 2))), s=(2,), axes=(0, 1))
