"""Whose code a file holds: the user's, an installed package's, the standard library's, or this package's."""

from __future__ import annotations

import functools
import os
import sysconfig

__all__ = ["is_installed", "is_standard"]

_OURS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def is_standard(filename: str) -> bool:
    """Whether a file belongs to the standard library, or to this package."""
    return is_installed(filename) and not _is_of_packages(filename)


@functools.cache
def is_installed(filename: str) -> bool:
    """Whether a file belongs to an installed package, to this one, or to the standard library."""
    if _is_of_packages(filename) or filename.startswith("<frozen"):
        return True
    return filename.startswith((_OURS, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")))


def _is_of_packages(filename: str) -> bool:
    parts = os.path.normpath(filename).split(os.sep)
    return "site-packages" in parts or "dist-packages" in parts
