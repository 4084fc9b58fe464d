# SPDX-License-Identifier: MIT
"""Labels of waits (<pirn/label.h>), read from a process: what a library's thread waits for.

The label lies on the stack of a thread that goes on meanwhile, so its bytes may be anything.
"""

from __future__ import annotations

import contextlib
import struct

from pirn_tools.binary.layout import text_of
from pirn_tools.binary.memory import UnreadableError
from pirn_tools.live.snapshot import Runtime

FIELDS = 6
WORD_MAX = 64  # bytes of a name, and of a value that is text
NAMES_MAX = 256  # bytes of the names of the fields
PAGE = 4096
NONE = -(1 << 63)
ANY = NONE + 1


def read(runtime: Runtime, label: int) -> tuple[str, str]:
    """The name, and `source=1 tag=7`."""
    layout, process = runtime.layout, runtime.process
    name = _text(runtime, layout.read(process, label, "pirn_label.name"), WORD_MAX)
    fields = layout.read(process, label, "pirn_label.fields")
    names = _text(runtime, fields, NAMES_MAX).split(" ") if fields else []
    raw = process.read(label + layout["pirn_label.values"], 8 * FIELDS)
    values = struct.unpack(f"<{FIELDS}q", raw)
    words = (_field(runtime, field, value) for field, value in zip(names, values, strict=False))
    return name, " ".join(word for word in words if word)


def _field(runtime: Runtime, field: str, value: int) -> str:
    name, _, how = field.partition(":")
    if not name or value == NONE or (how == "s" and value == 0):
        return ""
    if value == ANY:
        return f"{name}=any"
    if how == "s":
        return f"{name}={_text(runtime, value & (1 << 64) - 1, WORD_MAX)}"
    return f"{name}={value & (1 << 64) - 1:#x}" if how == "x" else f"{name}={value}"


def _text(runtime: Runtime, at: int, most: int) -> str:
    """A string of the process, which may end at the last byte before memory that is not there."""
    here = min(most, PAGE - at % PAGE)
    raw = runtime.process.read(at, here)
    if b"\0" not in raw and here < most:
        with contextlib.suppress(UnreadableError):
            raw += runtime.process.read(at + here, most - here)
    return text_of(raw)
