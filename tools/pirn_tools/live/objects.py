# SPDX-License-Identifier: MIT
"""The program and its libraries, as they are mapped into a process."""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator
from pathlib import Path

from pirn_tools.allowance import Allowance
from pirn_tools.binary.demangle import plain_name
from pirn_tools.binary.elf import File, Files
from pirn_tools.limits import MIB
from pirn_tools.live.process import Mapping, Process

PAGE = 4096
FRESH = 1.0  # s, for which the mappings are taken for unchanged
SECONDS = 1.0  # of CPU time
MEMORY = 128 * MIB  # for each second


class Object:
    """An ELF file that is mapped; addresses are those in the process."""

    def __init__(self, file: File, first: Mapping) -> None:
        self.file = file
        self.bias = 0
        for segment in file.segments:
            lies_there = segment.offset & -PAGE == first.offset
            if file.kind == "ET_DYN" and lies_there:
                self.bias = first.start - (segment.address & -PAGE)
                break

    def symbol(self, name: str) -> int | None:
        """Its address, if the file defines it."""
        value = self.file.table.defined.get(name)
        return value + self.bias if value is not None else None

    def nearest(self, address: int) -> tuple[str, int] | None:
        """The function or object that has this address in it, and how far."""
        found = self.file.table.at(address - self.bias)
        if found is None:
            return None
        return plain_name(found.name), address - self.bias - found.start


class Objects:
    """All files that are mapped into a process. Read again where an address is in none of them."""

    def __init__(self, process: Process, allowance: Allowance | None = None) -> None:
        self.process = process
        self.allowance = allowance or Allowance(SECONDS, int(SECONDS * MEMORY))
        self._files = Files(self.allowance)
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
            self._opened[key] = None if self.allowance.spent else self._read(key)
        return self._opened[key]

    def _read(self, key: tuple[str, int]) -> Object | None:
        first = self._groups[key][0]
        file = self._files.get(first.path, lambda: self.process.file_of(first), key)
        if file.error is not None:
            self.allowance.failed(file.name, "head", file.error)
            return None
        if file.bits != 64 or file.big_endian:
            return None
        return Object(file, first)


def _is_elf(maps: list[Mapping]) -> bool:
    return any(m.executable for m in maps)
