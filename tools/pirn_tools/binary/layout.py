# SPDX-License-Identifier: MIT
"""Where the runtime keeps what: pirn_debug_layout of a running process (src/sync/layout.h).

The table's address is that of a symbol which the library exports, so that a stripped one has it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from pirn_tools.binary import names
from pirn_tools.binary.memory import Memory
from pirn_tools.terminal import printable

SYMBOL = "pirn_debug_layout"
VERSION = 1
HEAD = struct.Struct("<8sIIQQQIIQ")
ENTRY = struct.Struct("<28sII")
MOST_ENTRIES = 4096
MOST_REASONS = 1024
LONGEST_REASON = 256


class LayoutError(Exception):
    """The table cannot be used; the text says why."""


def text_of(raw: bytes) -> str:
    """A C string."""
    return printable(raw.split(b"\0", 1)[0].decode(errors="replace"))


@dataclass(frozen=True)
class Layout:
    """The table, and where the runtime's data begin."""

    rt: int
    chunks: int
    entry: dict[str, tuple[int, int]]  # value or offset, size
    reasons: tuple[str, ...]  # of waiting, for people

    def __getitem__(self, name: str) -> int:
        """A constant or an offset."""
        return self.entry[name][0]

    def has(self, name: str) -> bool:
        """Older libraries know fewer names."""
        return name in self.entry

    def size(self, kind: str) -> int:
        """Of a structure."""
        return self.entry[f"sizeof.{kind}"][0]

    def get(self, raw: bytes, name: str, base: int = 0) -> int:
        """A field of the structure that lies at `base` in raw."""
        at, size = self.entry[name]
        return int.from_bytes(raw[base + at : base + at + size], "little")

    def read(self, memory: Memory, at: int, name: str) -> int:
        """A field of the structure at that address."""
        offset, size = self.entry[name]
        return int.from_bytes(memory.read(at + offset, size), "little")


def read(memory: Memory, at: int, whose: str, library: str) -> Layout:
    """The table at that address; raises UnreadableError, or LayoutError in words that name whose
    memory it is and the library."""
    head = _head(memory, at, whose, library)
    try:
        entry = _entries(memory, head)
    except LayoutError as error:
        raise _damaged(whose, str(error)) from None
    reasons = _reasons(memory, head)
    problem = names.check(entry)
    if problem:
        raise _damaged(whose, problem)
    return Layout(head.rt, head.chunks, entry, reasons)


class Head(NamedTuple):
    """Of the table."""

    magic: bytes
    version: int
    size: int  # entries
    entries: int
    rt: int
    chunks: int
    reasons: int
    width: int
    texts: int


def _head(memory: Memory, at: int, whose: str, library: str) -> Head:
    head = Head(*HEAD.unpack(memory.read(at, HEAD.size)))
    if head.magic != b"pirn-dbg":
        raise LayoutError(
            f"{whose}: {library} has no table at its symbol {SYMBOL}; "
            "the library's file is another one than the process has loaded"
        )
    if head.version != VERSION:
        raise LayoutError(
            f"{whose} has version {head.version} of the library's table, this "
            f"command reads version {VERSION}: use the pirn command that belongs to its library"
        )
    if head.size > MOST_ENTRIES:
        raise _damaged(whose, f"it has {head.size} entries")
    if head.reasons > MOST_REASONS or head.width > LONGEST_REASON:
        raise _damaged(whose, f"it has {head.reasons} reasons of {head.width} bytes")
    return head


def _entries(memory: Memory, head: Head) -> dict[str, tuple[int, int]]:
    entry: dict[str, tuple[int, int]] = {}
    for raw, value, size in ENTRY.iter_unpack(memory.read(head.entries, ENTRY.size * head.size)):
        name = text_of(raw)
        if name in entry:
            raise LayoutError(f"it has {name} twice")
        entry[name] = (value, size)
    return entry


def _reasons(memory: Memory, head: Head) -> tuple[str, ...]:
    raw = memory.read(head.texts, head.reasons * head.width)
    return tuple(text_of(raw[i : i + head.width]) for i in range(0, len(raw), head.width or 1))


def _damaged(whose: str, problem: str) -> LayoutError:
    return LayoutError(f"{whose}: the library's table is damaged: {problem}")
