# SPDX-License-Identifier: MIT
"""Source files and lines of addresses, from a file's DWARF line programs (versions 2 to 5).

pyelftools executes the programs. A unit is read when an address in it is asked for.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple, cast

from elftools.dwarf.aranges import ARanges
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.lineprogram import LineProgram
from elftools.dwarf.ranges import BaseAddressEntry

from pirn_tools.damage import KINDS as DAMAGE
from pirn_tools.terminal import printable


class Place(NamedTuple):
    """A line of a source file."""

    file: str
    line: int


class Sequence(NamedTuple):
    """Rows of addresses that follow each other: from `low` to before `high`."""

    low: int
    high: int
    addresses: list[int]
    rows: list[tuple[int, int]]  # file, line
    files: list[str]
    unit: int  # its offset


class Lines:
    """Of one file."""

    def __init__(self, dwarf: DWARFInfo) -> None:
        self.dwarf = dwarf
        self._sequences: list[Sequence] = []
        self._lows: list[int] = []
        self._read: set[int] = set()  # units, by their offsets
        self._aranges: ARanges | None = dwarf.get_aranges()

    def at(self, address: int) -> Place | None:
        """The line that the instruction at the address comes from."""
        found = self._sequence(address)
        if found is None:
            return None
        file, line = found.rows[bisect.bisect_right(found.addresses, address) - 1]
        if line == 0:
            return None
        return Place(_name(found.files, file), line)

    def unit(self, address: int) -> tuple[int, list[str]] | None:
        """The unit that the instruction comes from: its offset and its source files."""
        found = self._sequence(address)
        return (found.unit, found.files) if found is not None else None

    def within(self, low: int, high: int) -> Iterator[Place]:
        """Lines of the instructions from low to before high."""
        found = self._sequence(low)
        if found is not None:
            first = bisect.bisect_right(found.addresses, low) - 1
            last = bisect.bisect_left(found.addresses, high)
            for file, line in found.rows[first:last]:
                if line and 0 <= file < len(found.files):
                    yield Place(found.files[file], line)

    def _sequence(self, address: int) -> Sequence | None:
        found = self._lookup(address)
        if found is None:
            for unit in self._units(address):
                self._add(unit)
            found = self._lookup(address)
        return found

    def _lookup(self, address: int) -> Sequence | None:
        place = bisect.bisect_right(self._lows, address) - 1
        if place < 0 or address >= self._sequences[place].high:
            return None
        return self._sequences[place]

    def _units(self, address: int) -> list[CompileUnit]:
        """Those that may have the address in them and were not read yet. Not all compilers write
        a table of addresses (.debug_aranges)."""
        offset = None
        if self._aranges is not None and self._aranges.entries:
            offset = self._aranges.cu_offset_at_addr(address)
        if offset is not None:
            return [] if offset in self._read else [self.dwarf.get_CU_at(offset)]
        spans, others = self._spans
        units = [unit for low, high, unit in spans if low <= address < high] or others
        return [unit for unit in units if unit.cu_offset not in self._read]

    @cached_property
    def _spans(self) -> tuple[list[tuple[int, int, CompileUnit]], list[CompileUnit]]:
        """Begin, end, unit; units that do not say where their code is."""
        spans: list[tuple[int, int, CompileUnit]] = []
        others: list[CompileUnit] = []
        for unit in self.dwarf.iter_CUs():
            found = code_of(self.dwarf, unit, unit.get_top_DIE())
            spans += [(low, high, unit) for low, high in found]
            if not found:
                others.append(unit)
        return spans, others

    def _add(self, unit: CompileUnit) -> None:
        self._read.add(unit.cu_offset)
        try:
            program = self.dwarf.line_program_for_CU(unit)
            if program is None:
                return
            files = _files(program.header, unit)
            found = list(_sequences(program, files, unit.cu_offset))
        except DAMAGE:
            return
        for one in found:
            place = bisect.bisect(self._lows, one.low)
            self._lows.insert(place, one.low)
            self._sequences.insert(place, one)


def code_of(dwarf: DWARFInfo, unit: CompileUnit, entry: DIE) -> list[tuple[int, int]]:
    """Begin and end of each piece of the entry's code."""
    attributes = entry.attributes
    if "DW_AT_ranges" in attributes:
        return _listed(dwarf, unit, attributes["DW_AT_ranges"].value)
    if "DW_AT_low_pc" not in attributes or "DW_AT_high_pc" not in attributes:
        return []
    low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
    return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]


def _listed(dwarf: DWARFInfo, unit: CompileUnit, offset: int) -> list[tuple[int, int]]:
    base = number(unit.get_top_DIE(), "DW_AT_low_pc")
    ranges = cast("Any", dwarf.range_lists())
    found = []
    for one in ranges.get_range_list_at_offset(offset, cu=unit):
        if isinstance(one, BaseAddressEntry):
            base = one.base_address
        else:
            start = 0 if one.is_absolute else base
            found.append((start + one.begin_offset, start + one.end_offset))
    return found


def number(entry: DIE, name: str) -> int:
    """An attribute; 0: it has none."""
    value = entry.attributes[name].value if name in entry.attributes else 0
    return value if isinstance(value, int) else 0


def _name(files: list[str], number: int) -> str:
    return files[number] if 0 <= number < len(files) else "?"


def _files(header: Any, unit: CompileUnit) -> list[str]:  # noqa: ANN401
    """The unit's source files, in the order of their numbers."""
    top = unit.get_top_DIE().attributes
    base = _text(top["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in top else ""
    modern = header["version"] >= 5
    folders = [_text(one) for one in header["include_directory"]]
    if not modern:
        folders.insert(0, base)
    files = [] if modern else ["?"]
    for entry in header["file_entry"]:
        folder = folders[entry.dir_index] if entry.dir_index < len(folders) else ""
        files.append(_join(_join(base, folder), _text(entry.name)))
    return files


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _join(folder: str, name: str) -> str:
    """As a compiler means it; "." and ".." are taken out."""
    path = name if name.startswith("/") or not folder else f"{folder}/{name}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] not in ("", ".."):
            parts.pop()
        elif part not in ("", ".") or not parts:
            parts.append(part)
    return printable("/".join(parts))


def _sequences(program: LineProgram, files: list[str], unit: int) -> Iterator[Sequence]:
    """The sequences of a line program."""
    # One of our own: what pyelftools has decoded stays in its object, a kilobyte for each row.
    start, end = program.program_start_offset, program.program_end_offset
    own = LineProgram(program.header, program.stream, program.structs, start, end)
    addresses: list[int] = []
    rows: list[tuple[int, int]] = []
    for entry in own.get_entries():
        state = entry.state
        if state is None:
            continue
        if not state.end_sequence:
            addresses.append(state.address)
            rows.append((state.file, state.line))
            continue
        done = _sequence(addresses, rows, state.address, files, unit)
        if done is not None:
            yield done
        addresses, rows = [], []


def _sequence(
    addresses: list[int], rows: list[tuple[int, int]], end: int, files: list[str], unit: int
) -> Sequence | None:
    """None for code that the linker has left out: it begins at 0."""
    if not addresses or addresses[0] == 0 or end <= addresses[0]:
        return None
    if addresses != sorted(addresses):
        both = sorted(zip(addresses, rows, strict=True), key=lambda pair: pair[0])
        addresses, rows = [pair[0] for pair in both], [pair[1] for pair in both]
    return Sequence(addresses[0], end, addresses, rows, files, unit)
