# SPDX-License-Identifier: MIT
"""Source files and lines of addresses, from a file's DWARF line programs (versions 2 to 5).

pyelftools reads the headers; the programs themselves are executed here, as what is wanted of each
row is three numbers. A unit is read when an address in it is asked for.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from elftools.dwarf.aranges import ARanges
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.dwarfinfo import DWARFInfo

from pirn_tools.damage import KINDS as DAMAGE
from pirn_tools.prof.read import printable


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
        self._all = False

    def at(self, address: int) -> Place | None:
        """The line that the instruction at the address comes from."""
        found = self._sequence(address)
        if found is None:
            return None
        file, line = found.rows[bisect.bisect_right(found.addresses, address) - 1]
        if line == 0:
            return None
        return Place(found.files[file] if 0 <= file < len(found.files) else "?", line)

    def unit(self, address: int) -> int | None:
        """The offset of the unit that the instruction comes from."""
        found = self._sequence(address)
        return found.unit if found is not None else None

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
        if found is None and not self._all:
            unit = self._unit(address)
            if unit is not None:
                self._add(unit)
            else:
                self._add_rest()
            found = self._lookup(address)
        return found

    def _lookup(self, address: int) -> Sequence | None:
        place = bisect.bisect_right(self._lows, address) - 1
        if place < 0 or address >= self._sequences[place].high:
            return None
        return self._sequences[place]

    def _unit(self, address: int) -> CompileUnit | None:
        """The unit that the file's table names, if it has one."""
        if self._aranges is None:
            return None
        offset = self._aranges.cu_offset_at_addr(address)
        if offset is None or offset in self._read:
            return None
        return self.dwarf.get_CU_at(offset)

    def _add_rest(self) -> None:
        """All units: not all compilers write that table."""
        self._all = True
        for unit in self.dwarf.iter_CUs():
            if unit.cu_offset not in self._read:
                self._add(unit)

    def _add(self, unit: CompileUnit) -> None:
        self._read.add(unit.cu_offset)
        program = self.dwarf.line_program_for_CU(unit)
        if program is None:
            return
        try:
            files = _files(program.header, unit)
            found = list(_execute(program, files, unit.cu_offset))
        except DAMAGE:
            return
        for one in found:
            place = bisect.bisect(self._lows, one.low)
            self._lows.insert(place, one.low)
            self._sequences.insert(place, one)


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


def _leb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number, and where the next thing begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _signed_leb(data: bytes, at: int) -> tuple[int, int]:
    first = at
    value, at = _leb(data, at)
    bits = 7 * (at - first)
    return value - (1 << bits) if value >> (bits - 1) else value, at


def _execute(program: Any, files: list[str], unit: int) -> Iterator[Sequence]:  # noqa: ANN401, C901
    """The sequences of a line program.

    Length: one instruction after the other, a case for each, as the standard lists them.
    """
    header = program.header
    first, last = program.program_start_offset, program.program_end_offset
    program.stream.seek(first)
    data = cast("bytes", program.stream.read(last - first))
    quantum = header["minimum_instruction_length"]
    base, span, opcodes = header["line_base"], header["line_range"], header["opcode_base"]
    lengths = header["standard_opcode_lengths"]
    constant = (255 - opcodes) // span * quantum
    at, size = 0, len(data)
    address, file, line = 0, 1, 1
    addresses: list[int] = []
    rows: list[tuple[int, int]] = []
    while at < size:
        code = data[at]
        at += 1
        if code >= opcodes:
            code -= opcodes
            address += code // span * quantum
            line += base + code % span
            addresses.append(address)
            rows.append((file, line))
        elif code == 1:
            addresses.append(address)
            rows.append((file, line))
        elif code == 2:
            value = data[at]
            at += 1
            if value > 127:
                value, at = _leb(data, at - 1)
            address += value * quantum
        elif code == 3:
            value = data[at]
            at += 1
            if value > 127:
                value, at = _signed_leb(data, at - 1)
            elif value > 63:
                value -= 128
            line += value
        elif code == 4:
            file, at = _leb(data, at)
        elif code == 8:
            address += constant
        elif code == 9:
            address += int.from_bytes(data[at : at + 2], "little")
            at += 2
        elif code == 0:
            length, at = _leb(data, at)
            kind = data[at]
            if kind == 1:
                done = _sequence(addresses, rows, address, files, unit)
                if done is not None:
                    yield done
                address, file, line = 0, 1, 1
                addresses, rows = [], []
            elif kind == 2:
                address = int.from_bytes(data[at + 1 : at + length], "little")
            at += length
        else:  # 5 to 7, 10 to 12 change nothing that matters here
            for _ in range(lengths[code - 1]):
                while data[at] > 127:
                    at += 1
                at += 1


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
