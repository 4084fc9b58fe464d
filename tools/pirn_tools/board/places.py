# SPDX-License-Identifier: MIT
"""Functions and lines of a program's addresses, added to what it prints.

    pirn: at 0x80001234         the address of an instruction
    pirn: from 0x80001238       a return address: what is named is the call in front of it

Such a line gets `  function, file:line` at its end. All else goes through as it is, at once.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from pirn_tools.binary.demangle import plain_name
from pirn_tools.binary.elf import File

LINE = re.compile(rb"pirn: +(at|from) +0x([0-9a-fA-F]{1,16})\Z")
LONGEST = 200  # of a line that may be such a one


class Places:
    """Of one program. The file is read when the first address is asked for."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def of(self, address: int) -> str | None:
        """`function, file:line`, or what of it is known."""
        symbol, place = self._file.symbol(address), self._file.line(address)
        known = [
            plain_name(symbol.name) if symbol is not None else "",
            f"{place.file}:{place.line}" if place is not None else "",
        ]
        return ", ".join(text for text in known if text) or None

    @cached_property
    def _file(self) -> File:
        return File(str(self.program.absolute()))


class Filter:
    """Output on its way, in pieces as they come; an empty piece is its end."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._line = b""  # what has gone through since the last end of line
        self._held = b""  # "\r", which may be the first half of one

    def __call__(self, piece: bytes) -> bytes:
        if not piece:
            return self._held
        piece = self._held + piece
        self._held = b"\r" if piece.endswith(b"\r") else b""
        out = b""
        for part in re.split(rb"(\r?\n)", piece.removesuffix(self._held)):
            if part.endswith(b"\n"):
                out += self._addition() + part
                self._line = b""
            else:
                out += part
                self._line = (self._line + part)[: LONGEST + 1]
        return out

    def _addition(self) -> bytes:
        found = LINE.match(self._line.lstrip())
        if found is None:
            return b""
        address = int(found[2], 16) - (1 if found[1] == b"from" else 0)
        place = self.places.of(address)
        return f"  {place}".encode() if place else b""
