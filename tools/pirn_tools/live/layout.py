# SPDX-License-Identifier: MIT
"""Where the runtime keeps what: pirn_debug_layout of a running process (src/sync/layout.h).

The table's address is that of a symbol which the library exports, so that a stripped one has it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pirn_tools.errors import UserError
from pirn_tools.live.objects import Object, Objects
from pirn_tools.live.process import Process, UnreadableError, printable

SYMBOL = "pirn_debug_layout"
VERSION = 1
HEAD = struct.Struct("<8sIIQQQIIQ")
ENTRY = struct.Struct("<28sII")
MOST_ENTRIES = 4096


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


def _foreign(pid: int) -> UserError:
    return UserError(
        f"process {pid} has no Pirn runtime: it is not linked with libpirn or libpirn-pthread "
        "(nor preloaded), or its libraries are not loaded yet"
    )


def find(process: Process, objects: Objects) -> Layout:
    """The table of the process."""
    for candidate in objects.likely():
        at = candidate.symbol(SYMBOL)
        if at is not None:
            return _read(process, candidate, at)
    if not process.lives():
        raise UserError(f"process {process.pid} has ended, and waits for its parent")
    raise _foreign(process.pid)


def _read(process: Process, library: Object, at: int) -> Layout:
    try:
        head = HEAD.unpack(process.read(at, HEAD.size))
        magic, version, count, entries, rt, chunks, reasons, width, texts = head
        if magic != b"pirn-dbg":
            raise UserError(
                f"process {process.pid}: {library.name} has no table at its symbol {SYMBOL}; "
                "the library's file is another one than the process has loaded"
            )
        if version != VERSION:
            raise UserError(
                f"process {process.pid} has version {version} of the library's table, this "
                f"command reads version {VERSION}: use the pirn command that belongs to its library"
            )
        if count > MOST_ENTRIES or width > 256:
            raise UserError(
                f"process {process.pid}: the library's table is damaged: it has {count} entries"
            )
        table = ENTRY.iter_unpack(process.read(entries, ENTRY.size * count))
        entry = {text_of(name): (value, size) for name, value, size in table}
        raw = process.read(texts, min(reasons, 1024) * width)
    except UnreadableError:
        raise UserError(f"process {process.pid}: the library's table cannot be read yet") from None
    names = tuple(text_of(raw[i : i + width]) for i in range(0, len(raw), width))
    return Layout(library, rt, chunks, entry, names)
