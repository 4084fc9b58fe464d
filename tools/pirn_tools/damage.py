# SPDX-License-Identifier: MIT
"""The exceptions of reading a damaged ELF or DWARF file, by our code and by pyelftools.

The library checks little: a wrong number becomes whatever the next statement raises. Limits of time
and memory are guarded elsewhere (limits.py); OSError is not of the file's contents.
"""

from __future__ import annotations

import struct
import zlib

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError

KINDS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ConstructError,
    DWARFError,
    ELFError,
    EOFError,
    LookupError,
    RuntimeError,  # too deep a recursion, not implemented
    StopIteration,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def said(error: Exception) -> str:
    """For people, in one line. Parts of the file may be in it: not to move the cursor."""
    text = "".join(c if c.isprintable() else "?" for c in " ".join(str(error).split()))
    return text[:100] if text else type(error).__name__
