# SPDX-License-Identifier: MIT
"""Names of C++ functions and objects as they stand in the source."""

from __future__ import annotations

import functools

from pirn_tools.limits import MIB, LimitError, guard
from pirn_tools.terminal import printable

LONGEST = 8192  # characters of a name, mangled or not
SECONDS, MEMORY = 1, 16 * MIB  # a short name may stand for a very long one
MOST_KNOWN = 1 << 14  # names that are kept

try:
    from cxxfilt import InvalidName
    from cxxfilt import demangle as _demangle
except Exception:  # its library may be missing in several ways
    _demangle = None


@functools.lru_cache(MOST_KNOWN)
def plain_name(mangled: str) -> str:
    """The name as it was written; a name that is not of C++, or too long, as it is."""
    if _demangle is None or not mangled.startswith("_Z") or len(mangled) > LONGEST:
        return mangled
    try:
        with guard(SECONDS, MEMORY, "the name of a function"):
            plain = str(_demangle(mangled))
    except (InvalidName, LimitError, ValueError):
        return mangled
    return printable(plain) if len(plain) <= LONGEST else mangled
