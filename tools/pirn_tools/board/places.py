# SPDX-License-Identifier: MIT
"""Functions and lines of a program's addresses, added to what it prints.

    pirn: at 0x80001234         the address of an instruction
    pirn: from 0x80001238       a return address: what is named is the call in front of it

Such a line gets `  function, file:line` at its end. All else goes through as it is, at once.
"""

from __future__ import annotations

import bisect
import re
from functools import cached_property
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pirn_tools.damage import KINDS as DAMAGE
from pirn_tools.prof.lines import Lines
from pirn_tools.prof.read import printable

LINE = re.compile(rb"pirn: +(at|from) +0x([0-9a-fA-F]{1,16})\Z")
LONGEST = 200  # of a line that may be such a one


class Places:
    """Of one program. The file is read when the first address is asked for."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def of(self, address: int) -> str | None:
        """`function, file:line`, or what of it is known."""
        known = [self._function(address), self._line(address)]
        return ", ".join(text for text in known if text) or None

    @cached_property
    def _elf(self) -> ELFFile:
        return ELFFile(self.program.open("rb"))

    @cached_property
    def _functions(self) -> list[tuple[int, int, str]]:
        """Low, size, name; ARM marks Thumb code in the lowest bit."""
        found: set[tuple[int, int, str]] = set()
        thumb = 1 if self._elf["e_machine"] == "EM_ARM" else 0
        for section in self._elf.iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.iter_symbols():
                    if symbol.entry.st_info.type == "STT_FUNC":
                        low = symbol.entry.st_value & ~thumb
                        found.add((low, symbol.entry.st_size, printable(symbol.name)))
        return sorted(found)

    def _function(self, address: int) -> str | None:
        try:
            functions = self._functions
        except DAMAGE:
            return None
        place = bisect.bisect_right(functions, (address, 1 << 64, "")) - 1
        if place < 0:
            return None
        low, size, name = functions[place]
        return name if address < low + max(size, 1) else None

    @cached_property
    def _lines(self) -> Lines | None:
        if not self._elf.has_dwarf_info():
            return None
        return Lines(self._elf.get_dwarf_info())

    def _line(self, address: int) -> str | None:
        try:
            found = self._lines.at(address) if self._lines is not None else None
        except DAMAGE:
            return None
        return f"{found.file}:{found.line}" if found is not None else None


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
