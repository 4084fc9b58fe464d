# SPDX-License-Identifier: MIT
"""The program and its libraries, as they are mapped into a process: symbols and unwind tables."""

from __future__ import annotations

import bisect
import struct
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from elftools.elf.elffile import ELFFile

from pirn_tools import files
from pirn_tools.allowance import Allowance
from pirn_tools.limits import MIB
from pirn_tools.live.process import Mapping, Process, printable

SYMBOL = struct.Struct("<IBBHQQ")
DATA, FUNCTION = 1, 2  # types of symbols
PAGE = 4096
FRESH = 1.0  # s, for which the mappings are taken for unchanged
SECONDS = 1.0  # of CPU time
MEMORY = 128 * MIB  # for each second


class Object:
    """An ELF file that is mapped; addresses are those in the process."""

    def __init__(self, path: str, elf: ELFFile, first: Mapping, allowance: Allowance) -> None:
        self.path, self.elf, self.allowance = path, elf, allowance
        self.name = printable(Path(path).name)
        self.bias = 0
        for segment in elf.iter_segments():
            lies_there = segment["p_offset"] & -PAGE == first.offset
            if elf["e_type"] == "ET_DYN" and segment["p_type"] == "PT_LOAD" and lies_there:
                self.bias = first.start - (segment["p_vaddr"] & -PAGE)
                break
        self.machine = cast("str", elf["e_machine"])

    @cached_property
    def _table(self) -> tuple[list[int], list[tuple[int, int, str]], dict[str, int]]:
        """Starts of functions and data, in order; those; all symbols that are defined."""
        found = self.allowance.call(self.name, "symbols", self._read_table)
        return found if found is not None else ([], [], {})

    def _read_table(self) -> tuple[list[int], list[tuple[int, int, str]], dict[str, int]]:
        entries: dict[int, tuple[int, int, str]] = {}
        names: dict[str, int] = {}
        for section in (".dynsym", ".symtab"):
            for name, kind, size, value in _symbols(self.elf, section):
                names[name] = value
                if kind in (DATA, FUNCTION):
                    entries[value] = (value, size, name)
        ordered = sorted(entries.values())
        return [e[0] for e in ordered], ordered, names

    def symbol(self, name: str) -> int | None:
        """Its address, if the file defines it."""
        value = self._table[2].get(name)
        return value + self.bias if value is not None else None

    def nearest(self, address: int) -> tuple[str, int] | None:
        """The symbol that has this address in it, and how far."""
        starts, entries, _ = self._table
        value = address - self.bias
        i = bisect.bisect_right(starts, value) - 1
        if i < 0:
            return None
        start, size, name = entries[i]
        # What was written in assembly has no size.
        inside = value - start < size or (size == 0 and value - start < PAGE)
        return (name, value - start) if inside else None


def _symbols(elf: ELFFile, section: str) -> Iterator[tuple[str, int, int, int]]:
    """Name, type, size, value of what is defined."""
    table = cast("Any", elf.get_section_by_name(section))
    if table is None or table["sh_type"] == "SHT_NOBITS":
        return
    raw, strings = table.data(), elf.get_section(table["sh_link"]).data()
    usable = len(raw) - len(raw) % SYMBOL.size
    for name, info, _, index, value, size in SYMBOL.iter_unpack(raw[:usable]):
        if index != 0 and value != 0:
            end = strings.find(b"\0", name)
            text = strings[name:end].decode(errors="replace")
            yield printable(text.split("@")[0]), info & 15, size, value


class Objects:
    """All files that are mapped into a process. Read again where an address is in none of them."""

    def __init__(self, process: Process, allowance: Allowance | None = None) -> None:
        self.process = process
        self.allowance = allowance or Allowance(SECONDS, int(SECONDS * MEMORY))
        self._groups: dict[tuple[str, int], list[Mapping]] = {}
        self._opened: dict[tuple[str, int], Object | None] = {}
        self._look()

    def _look(self) -> None:
        groups: dict[tuple[str, int], list[Mapping]] = {}
        for mapping in self.process.mappings():
            groups.setdefault((mapping.device, mapping.inode), []).append(mapping)
        self._groups, self._looked = groups, time.monotonic()
        spans = [
            (m.start, m.end, key) for key, maps in groups.items() for m in maps if _is_elf(maps)
        ]
        self._spans = sorted(spans)

    def likely(self) -> Iterator[Object]:
        """Those that may contain the runtime, its own libraries first."""
        keys = [key for key, maps in self._groups.items() if _is_elf(maps)]
        keys.sort(key=lambda key: "libpirn" not in Path(self._groups[key][0].path).name)
        for key in keys:
            found = self._open(key)
            if found is not None:
                yield found

    def at(self, address: int) -> Object | None:
        """The file that is mapped there."""
        key = self._key_at(address)
        if key is None and time.monotonic() - self._looked > FRESH:
            self._look()
            key = self._key_at(address)
        return self._open(key) if key is not None else None

    def _key_at(self, address: int) -> tuple[str, int] | None:
        i = bisect.bisect_right(self._spans, (address, 1 << 64, ("", 0))) - 1
        if i < 0 or address >= self._spans[i][1]:
            return None
        return self._spans[i][2]

    def _open(self, key: tuple[str, int]) -> Object | None:
        if key not in self._opened:
            first = self._groups[key][0]
            name = printable(Path(first.path).name)
            self._opened[key] = self.allowance.call(name, "head", lambda: self._read(first))
        return self._opened[key]

    def _read(self, first: Mapping) -> Object | None:
        elf = ELFFile(cast("Any", files.contents(self.process.file_of(first))))
        if elf.elfclass != 64 or not elf.little_endian:
            return None
        return Object(first.path, elf, first, self.allowance)


def _is_elf(maps: list[Mapping]) -> bool:
    return any(m.executable for m in maps)
