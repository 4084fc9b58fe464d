# SPDX-License-Identifier: MIT
"""Where the runtime keeps what: pirn_debug_layout of a running process (src/sync/layout.h).

The table's address is that of a symbol which the library exports, so that a stripped one has it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from pirn_tools.errors import UserError, listing
from pirn_tools.live import names
from pirn_tools.live.objects import Object, Objects
from pirn_tools.live.process import Process, UnreadableError, printable

SYMBOL = "pirn_debug_layout"
VERSION = 1
HEAD = struct.Struct("<8sIIQQQIIQ")
ENTRY = struct.Struct("<28sII")
MOST_ENTRIES = 4096
MOST_REASONS = 1024
LONGEST_REASON = 256
MOST_PROBLEMS = 3  # said at once


def text_of(raw: bytes) -> str:
    """A C string."""
    return printable(raw.split(b"\0", 1)[0].decode(errors="replace"))


@dataclass(frozen=True)
class Layout:
    """The table, and where the runtime's data begin."""

    library: Object
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

    def read(self, process: Process, at: int, name: str) -> int:
        """A field of the structure at that address."""
        offset, size = self.entry[name]
        return int.from_bytes(process.read(at + offset, size), "little")


def _foreign(pid: int, problems: list[str]) -> UserError:
    unread = f"; not read: {listing(problems[:MOST_PROBLEMS])}" if problems else ""
    return UserError(
        f"process {pid} has no Pirn runtime: it is not linked with libpirn or libpirn-pthread "
        f"(nor preloaded), or its libraries are not loaded yet{unread}"
    )


def find(process: Process, objects: Objects) -> Layout:
    """The table of the process."""
    for candidate in objects.likely():
        at = candidate.symbol(SYMBOL)
        if at is not None:
            return _read(process, candidate, at)
    if not process.lives():
        raise UserError(f"process {process.pid} has ended, and waits for its parent")
    raise _foreign(process.pid, objects.allowance.problems)


def _read(process: Process, library: Object, at: int) -> Layout:
    try:
        head = _head(process, library, at)
        entry = _entries(process, head)
        reasons = _reasons(process, head)
    except UnreadableError:
        raise UserError(f"process {process.pid}: the library's table cannot be read yet") from None
    problem = names.check(entry)
    if problem:
        raise _damaged(process, problem)
    return Layout(library, head.rt, head.chunks, entry, reasons)


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


def _head(process: Process, library: Object, at: int) -> Head:
    head = Head(*HEAD.unpack(process.read(at, HEAD.size)))
    if head.magic != b"pirn-dbg":
        raise UserError(
            f"process {process.pid}: {library.name} has no table at its symbol {SYMBOL}; "
            "the library's file is another one than the process has loaded"
        )
    if head.version != VERSION:
        raise UserError(
            f"process {process.pid} has version {head.version} of the library's table, this "
            f"command reads version {VERSION}: use the pirn command that belongs to its library"
        )
    if head.size > MOST_ENTRIES:
        raise _damaged(process, f"it has {head.size} entries")
    if head.reasons > MOST_REASONS or head.width > LONGEST_REASON:
        raise _damaged(process, f"it has {head.reasons} reasons of {head.width} bytes")
    return head


def _entries(process: Process, head: Head) -> dict[str, tuple[int, int]]:
    entry: dict[str, tuple[int, int]] = {}
    for raw, value, size in ENTRY.iter_unpack(process.read(head.entries, ENTRY.size * head.size)):
        name = text_of(raw)
        if name in entry:
            raise _damaged(process, f"it has {name} twice")
        entry[name] = (value, size)
    return entry


def _reasons(process: Process, head: Head) -> tuple[str, ...]:
    raw = process.read(head.texts, head.reasons * head.width)
    return tuple(text_of(raw[i : i + head.width]) for i in range(0, len(raw), head.width or 1))


def _damaged(process: Process, problem: str) -> UserError:
    return UserError(f"process {process.pid}: the library's table is damaged: {problem}")
