"""Rules of ``scipy.special``: one file a family."""

from lindiff.rules.special import (  # noqa: F401
    bessel,
    distributions,
    elementary,
    elliptic,
    errors,
    gamma,
    hypergeometric,
    incomplete,
    information,
    integrals,
    orthogonal,
    refused,
    zeta,
)
