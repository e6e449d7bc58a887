"""Records of ``lindiff.scipy.fft``."""

from __future__ import annotations

import scipy.fft
from table import Operator, sample

from lindiff.scipy import fft

NORMS = ["backward", "ortho", "forward"]


def lines(rng):
    for length in [4, 5]:
        yield sample(rng.standard_normal((length, 2)), axis=0, norm=NORMS[length - 3])
    yield sample(rng.standard_normal(4), 3)
    yield sample(rng.standard_normal((2, 3)), 6)


def boxes(rng):
    yield sample(rng.standard_normal((2, 3, 4)))
    yield sample(rng.standard_normal((2, 3, 4)), (5, 2), (-1, 0), "ortho")
    yield sample(rng.standard_normal((3, 4)), axes=(1,), norm="forward")


def planes(rng):
    yield sample(rng.standard_normal((2, 3, 4)))
    yield sample(rng.standard_normal((3, 4)), s=(2, 5))


def of_types(rng):
    for type in [1, 2, 3, 4]:
        for norm in NORMS:
            yield sample(rng.standard_normal((2, 5)), type, norm=norm)


def of_types_orthogonal_or_not(rng):
    for type in [1, 2, 3, 4]:
        yield sample(rng.standard_normal((5, 2)), type, 4, 0, "ortho", orthogonalize=False)
        yield sample(rng.standard_normal(4), type, 6, orthogonalize=True)


def of_types_along_axes(rng):
    for type in [1, 2, 3, 4]:
        yield sample(rng.standard_normal((2, 3)), type)
        yield sample(rng.standard_normal((2, 3, 4)), type, s=(5, 3), axes=(2, 0), norm="ortho")
        yield sample(rng.standard_normal((2, 3)), type, orthogonalize=True)


def named(name, samples, what="", **options):
    return Operator(
        f"scipy.fft.{name}{what}", getattr(fft, name), samples, reference=getattr(scipy.fft, name), **options
    )


OPERATORS = [
    *(named(name, lines, complex=True) for name in ["fft", "ifft", "irfft", "hfft"]),
    *(named(name, lines) for name in ["rfft", "ihfft"]),
    *(named(name, boxes, complex=True) for name in ["fftn", "ifftn", "irfftn", "hfftn"]),
    *(named(name, boxes) for name in ["rfftn", "ihfftn"]),
    *(named(name, planes, complex=True) for name in ["fft2", "ifft2", "irfft2", "hfft2"]),
    *(named(name, planes) for name in ["rfft2", "ihfft2"]),
    *(
        named(
            name,
            lambda rng: [sample(rng.standard_normal(5)), sample(rng.standard_normal((2, 3)), axes=1)],
            complex=True,
        )
        for name in ["fftshift", "ifftshift"]
    ),
    *(named(name, of_types, complex=True) for name in ["dct", "idct", "dst", "idst"]),
    *(named(name, of_types_orthogonal_or_not, " (real)") for name in ["dct", "idct", "dst", "idst"]),
    *(named(name, of_types_along_axes) for name in ["dctn", "idctn", "dstn", "idstn"]),
]
