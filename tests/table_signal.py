"""Records of ``lindiff.scipy.signal``."""

from __future__ import annotations

import numpy as np
import scipy.signal
from table import Operator, sample

from lindiff.scipy import signal

SHAPES = [((5,), (3,)), ((3,), (6,)), ((4, 3), (2, 2)), ((2, 2), (3, 3)), ((), ())]


def pairs(rng, *shapes, **options):
    for first, second in shapes:
        yield sample(rng.standard_normal(first), rng.standard_normal(second), **options)


def convolutions(rng):
    for mode in ["full", "same", "valid"]:
        yield from pairs(rng, *SHAPES, mode=mode)
    yield from pairs(rng, *SHAPES[:2], method="direct")
    yield from pairs(rng, *SHAPES[:2], mode="same", method="fft")


def correlations(rng):
    for mode in ["full", "same", "valid"]:
        yield from pairs(rng, ((3,), (6,)), ((4, 3), (2, 2)), mode=mode)


def along_axes(rng):
    for mode in ["full", "same", "valid"]:
        yield from pairs(rng, ((1, 4), (2, 2)), mode=mode, axes=-1)
    yield from pairs(rng, ((4, 3), (2, 2)), mode="same")


def named(name, samples, **options):
    return Operator(
        f"scipy.signal.{name}",
        getattr(signal, name),
        samples,
        reference=getattr(scipy.signal, name),
        **options,
    )


def coefficients(rng, taps, poles):
    b, a = rng.standard_normal(taps), 0.3 * rng.standard_normal(poles)
    a[0] = 1.5
    return b, a


def filters(rng):
    for taps, poles, shape, axis in [
        (3, 3, (6,), -1),
        (2, 4, (2, 5), 1),
        (4, 2, (5, 2), 0),
        (3, 1, (5,), 0),
        (1, 3, (5,), 0),
        (1, 1, (3,), 0),
        (2, 2, (0, 3), -1),
    ]:
        b, a = coefficients(rng, taps, poles)
        x = rng.standard_normal(shape)
        yield sample(b, a, x, axis)
        state = [*shape]
        state[axis] = max(taps, poles) - 1
        yield sample(b, a, x, axis, rng.standard_normal(state))
    b, a = coefficients(rng, 5, 4)
    yield sample(b, a, rng.standard_normal(2), zi=rng.standard_normal(4))  # a state longer than the data


SECTIONS = (0.3 * np.random.default_rng(1).standard_normal((2, 6)) + [0, 0, 0, 1, 0, 0]).tolist()
for section in SECTIONS:
    section[3] = 1.0


def smoothings(rng):
    for mode in ["interp", "mirror", "nearest", "wrap", "constant"]:
        for window, degree, deriv in [(5, 3, 1), (4, 2, 0)]:
            yield sample(rng.standard_normal(7), window, degree, deriv, 0.5, mode=mode, cval=0.7)
    yield sample(rng.standard_normal((6, 2)), 3, 1, axis=0)


def planes(rng):
    for boundary in ["fill", "wrap", "symm"]:
        for mode in ["full", "same", "valid"]:
            yield from pairs(rng, ((3, 4), (2, 3)), mode=mode, boundary=boundary)
        yield from pairs(rng, ((2, 3), (4, 3)), mode="same", boundary=boundary)
        yield from pairs(rng, ((2, 2), (3, 3)), mode="valid", boundary=boundary)
    yield from pairs(rng, ((3, 2), (2, 2)), fillvalue=0.7)


def back_and_forth(rng):
    b, a = coefficients(rng, 3, 2)
    for padtype in ["odd", "even", "constant", None]:
        yield sample(b, a, rng.standard_normal(12), padtype=padtype)
    yield sample(b, a, rng.standard_normal((6, 2)), 0, padlen=3)


def analytic_signals(rng):
    for shape, n, axis in [((4,), None, -1), ((5, 2), None, 0), ((2, 5), 6, 1), ((5,), 3, -1)]:
        yield sample(rng.standard_normal(shape), n, axis)


def of_sections(function):
    def call(x, sos, **options):
        first = np.array([[1, 1, 1, 0, 1, 1]] * 2) * sos
        return function(first + np.array([0, 0, 0, 1, 0, 0]), x, **options)

    return call


def sections(rng):
    yield sample(rng.standard_normal(16), 0.3 * rng.standard_normal((2, 6)))
    yield sample(rng.standard_normal((8, 2)), 0.3 * rng.standard_normal((2, 6)), axis=0, padlen=2)


OPERATORS = [
    named("convolve2d", planes, complex=True),
    named("correlate2d", planes, complex=True),
    named("hilbert", analytic_signals),
    named("filtfilt", back_and_forth, single=False),
    Operator(
        "scipy.signal.sosfiltfilt",
        signal.sosfiltfilt,
        sections,
        call=of_sections(signal.sosfiltfilt),
        reference=of_sections(scipy.signal.sosfiltfilt),
        single=False,
    ),
    Operator(
        "scipy.signal.lfilter_zi",
        signal.lfilter_zi,
        lambda rng: [sample(*coefficients(rng, 3, 2)), sample(*coefficients(rng, 2, 4))],
        reference=scipy.signal.lfilter_zi,
    ),
    Operator(
        "scipy.signal.sosfilt_zi",
        signal.sosfilt_zi,
        lambda rng: [sample(0.3 * rng.standard_normal((2, 6)) + np.array([0, 0, 0, 2, 0, 0]))],
        reference=scipy.signal.sosfilt_zi,
    ),
    named("convolve", convolutions, complex=True),
    named("correlate", correlations, complex=True),
    named("fftconvolve", along_axes, complex=True),
    named("oaconvolve", along_axes, single=False),
    named("lfilter", filters, complex=True),
    Operator(
        "scipy.signal.sosfilt",
        signal.sosfilt,
        lambda rng: [sample(rng.standard_normal((2, 5))), sample(rng.standard_normal((5, 2)), axis=0)],
        call=lambda x, **options: signal.sosfilt(np.asarray(SECTIONS, np.float32), x, **options),
        reference=lambda x, **options: scipy.signal.sosfilt(np.asarray(SECTIONS, np.float32), x, **options),
    ),
    Operator(
        "scipy.signal.sosfilt (state)",
        signal.sosfilt,
        lambda rng: [sample(rng.standard_normal((2, 5)), rng.standard_normal((2, 2, 2)))],
        call=lambda x, zi: signal.sosfilt(np.asarray(SECTIONS, np.float32), x, zi=zi),
        reference=lambda x, zi: scipy.signal.sosfilt(np.asarray(SECTIONS, np.float32), x, zi=zi),
    ),
    named(
        "detrend",
        lambda rng: [
            sample(rng.standard_normal((6, 2)), 0),
            sample(rng.standard_normal(6), type="constant"),
            sample(rng.standard_normal(8), bp=[3]),
        ],
        complex=True,
    ),
    named("savgol_filter", smoothings),
]
