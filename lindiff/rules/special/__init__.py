"""Rules of ``scipy.special``: one file a family."""

from lindiff.rules.special import (  # noqa: F401
    bessel,
    distributions,
    elementary,
    elliptic,
    errors,
    gamma,
    hypergeometric,
    in_python,
    incomplete,
    information,
    integrals,
    orthogonal,
    refused,
    zeta,
)
