# SPDX-License-Identifier: MIT
"""Symbols of ELF files: functions and data by address, names that are defined or asked for."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from elftools.elf.elffile import ELFFile

from pirn_tools.terminal import printable

NOTYPE, OBJECT, FUNCTION, INDIRECT = 0, 1, 2, 10  # types of symbols
LOCAL, GLOBAL, WEAK = 0, 1, 2
EXECUTABLE = 4  # flag of a section
NESTED = 3  # symbols in front of the nearest one that may contain the address, too


class Symbol(NamedTuple):
    """A function or an object: from start to before end."""

    start: int
    end: int
    name: str


class Spans:
    """Symbols in the order of their addresses; one name for each address."""

    def __init__(self) -> None:
        self._best: dict[int, tuple[tuple[Any, ...], int, str]] = {}
        self.all: list[Symbol] = []
        self._starts: list[int] = []

    def add(self, start: int, end: int, rank: tuple[Any, ...], name: str) -> None:
        """Of several names for an address the one with the least rank is kept. A negative end:
        the symbol has no size, and ends where the next one begins, or there."""
        if start not in self._best or rank < self._best[start][0]:
            self._best[start] = (rank, end, name)

    def finish(self) -> None:
        """All are there. A label within a function of known size is a place in that function."""
        self._starts = []
        inside = 0
        for start in sorted(self._best):
            rank, end, _ = self._best[start]
            label = rank[0] and end < 0
            if not (label and start < inside):
                self._starts.append(start)
                inside = max(inside, end)
        for place, start in enumerate(self._starts):
            _, end, name = self._best[start]
            if end < 0:
                end = min([-end, *self._starts[place + 1 : place + 2]])
            self.all.append(Symbol(start, end, name))
        self._best = {}

    def at(self, address: int) -> Symbol | None:
        """The symbol that has the address in it."""
        place = bisect.bisect_right(self._starts, address) - 1
        # A function may have another one's symbol in it (written in assembly, or an alias).
        for one in self.all[max(0, place - NESTED) : place + 1][::-1]:
            if one.start <= address < one.end:
                return one
        return None


class Table:
    """The symbols of a file and of its debug file."""

    def __init__(self) -> None:
        self.functions, self.data = Spans(), Spans()
        self.defined: dict[str, int] = {}
        self.undefined: set[str] = set()

    def add(self, elf: ELFFile) -> None:
        """Adds those of a file."""
        sections = list(elf.iter_sections())
        ends = {
            index: (one["sh_addr"] + one["sh_size"], bool(one["sh_flags"] & EXECUTABLE))
            for index, one in enumerate(sections)
        }
        thumb = 1 if elf["e_machine"] == "EM_ARM" else 0  # ARM marks Thumb code in the lowest bit
        for table in (".symtab", ".dynsym"):
            for name, info, index, value, size in _entries(elf, table):
                text = printable(name.decode("utf-8", "replace").split("@")[0])
                if index == 0:
                    self.undefined.add(text)
                elif value != 0 and text:
                    self.defined[text] = value
                    end, code = ends.get(index, (0, False))
                    kind = info & 15
                    at = value & ~thumb if kind == FUNCTION else value
                    self._put(text, kind, info >> 4, at, size, end, code)

    def _put(
        self, name: str, kind: int, binding: int, value: int, size: int, end: int, code: bool
    ) -> None:
        data = kind == OBJECT
        if not data and (not code or kind not in (NOTYPE, FUNCTION, INDIRECT)):
            return
        if kind == NOTYPE and name.startswith(("$", ".L")):
            return
        rank = (
            kind == NOTYPE,
            size == 0,
            (GLOBAL, WEAK, LOCAL).index(binding) if binding <= WEAK else 3,
            len(name) - len(name.lstrip("_")),
            name,
        )
        spans = self.data if data else self.functions
        spans.add(value, value + size if size else -end, rank, name)

    def finish(self) -> None:
        """All files are added."""
        self.functions.finish()
        self.data.finish()

    def at(self, address: int) -> Symbol | None:
        """The function or object that has the address in it."""
        return self.functions.at(address) or self.data.at(address)


def _entries(elf: ELFFile, name: str) -> Iterator[tuple[bytes, int, int, int, int]]:
    """Name, info, section, value, size of each symbol."""
    section = cast("Any", elf.get_section_by_name(name))
    if section is None or section["sh_type"] == "SHT_NOBITS":
        return
    raw, strings = section.data(), elf.get_section(section["sh_link"]).data()
    order = "<" if elf.little_endian else ">"
    wide = elf.elfclass == 64
    form = struct.Struct(order + ("IBBHQQ" if wide else "IIIBBH"))
    for row in form.iter_unpack(raw[: len(raw) - len(raw) % form.size]):
        if wide:
            at, info, _, index, value, size = row
        else:
            at, value, size, info, _, index = row
        yield strings[at : strings.find(b"\0", at)], info, index, value, size
