"""The functions of ``scipy.linalg`` that have no derivatives here, for plain arrays only."""

from __future__ import annotations

import scipy.linalg

from lindiff.scipy._rest import rest_of

__all__ = ["other"]

other = rest_of(
    scipy.linalg,
    {
        "subspace_angles": "write it with qr and svdvals, which have derivatives",
        "hessenberg": "its reflections are one choice among many; schur and eig have derivatives",
        "qz": "its reflections are one choice among many; eig(a, b) has derivatives",
        "ordqz": "its reflections are one choice among many; eig(a, b) has derivatives",
        "cossin": "write it with svd of the blocks",
        "cdf2rdf": "take the real and the imaginary parts of eigenvectors",
    },
)
