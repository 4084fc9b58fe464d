# SPDX-License-Identifier: MIT
"""Files and lines of addresses, from a file's debug information."""

from __future__ import annotations

import bisect
from functools import cached_property
from pathlib import Path

from elftools.dwarf.aranges import ARanges
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.dwarfinfo import DWARFInfo

from pirn_tools.live.objects import Object, Objects
from pirn_tools.live.process import printable

Row = tuple[int, bool, str, int]  # address, whether code follows, file, line


class Lines:
    """Of one file; without debug information there are none."""

    def __init__(self, found: Object) -> None:
        self._file, self._bias = found, found.bias
        self._elf = found.elf
        self._rows: dict[int, list[Row]] = {}

    @cached_property
    def _dwarf(self) -> DWARFInfo | None:
        if not self._elf.has_dwarf_info(strict=True):
            return None
        return self._elf.get_dwarf_info()

    @cached_property
    def _ranges(self) -> list[tuple[int, int, CompileUnit]]:
        """Of the units, where there is no table of them: begin, end, unit."""
        found: list[tuple[int, int, CompileUnit]] = []
        for unit in self._dwarf.iter_CUs() if self._dwarf is not None else ():
            attributes = unit.get_top_DIE().attributes
            if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
                low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
                end = high.value if high.form == "DW_FORM_addr" else low + high.value
                found.append((low, end, unit))
        return sorted(found, key=lambda span: span[0])

    @cached_property
    def _aranges(self) -> ARanges | None:
        return self._dwarf.get_aranges() if self._dwarf is not None else None

    def at(self, address: int) -> str | None:
        """`file.c:12`."""
        return self._file.allowance.call(
            self._file.name, "lines", lambda: self._at(address - self._bias)
        )

    def _at(self, value: int) -> str | None:
        dwarf = self._dwarf
        unit = self._unit(dwarf, value) if dwarf is not None else None
        if dwarf is None or unit is None:
            return None
        if unit.cu_offset not in self._rows:
            self._rows[unit.cu_offset] = self._read(dwarf, unit)
        rows = self._rows[unit.cu_offset]
        i = bisect.bisect_right(rows, (value, True, "\U0010ffff", 0)) - 1
        if i < 0 or not rows[i][1] or rows[i][3] == 0:
            return None
        return f"{rows[i][2]}:{rows[i][3]}"

    def _unit(self, dwarf: DWARFInfo, value: int) -> CompileUnit | None:
        if self._aranges is not None:
            offset = self._aranges.cu_offset_at_addr(value)
            if offset is not None:
                return dwarf.get_CU_at(offset)
        spans = self._ranges
        i = bisect.bisect_right([span[0] for span in spans], value) - 1
        return spans[i][2] if i >= 0 and value < spans[i][1] else None

    def _read(self, dwarf: DWARFInfo, unit: CompileUnit) -> list[Row]:
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            return []
        files = program.header["file_entry"]
        first = 0 if program.header["version"] >= 5 else 1
        names = [printable(Path(f.name.decode(errors="replace")).name) for f in files]
        rows: list[Row] = []
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            i = state.file - first
            name = names[i] if 0 <= i < len(names) else "?"
            rows.append((state.address, not state.end_sequence, name, state.line))
        return sorted(rows, key=lambda row: row[:2])  # stable: the last line of an address counts


class Places:
    """Where an address is, for people."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._lines: dict[int, Lines] = {}
        self._known: dict[int, str] = {}

    def text(self, address: int) -> str:
        """`function at file.c:12`, or as much of that as is known."""
        if address not in self._known:
            self._known[address] = self._text(address)
        return self._known[address]

    def _text(self, address: int) -> str:
        found = self._objects.at(address)
        if found is None:
            return f"{address:#x}"
        symbol = found.nearest(address)
        lines = self._lines.setdefault(id(found), Lines(found))
        line = lines.at(address)
        name = symbol[0] if symbol is not None else f"{address:#x}"
        if line is not None:
            return f"{name} at {line}"
        offset = f"+{symbol[1]:#x}" if symbol is not None and symbol[1] else ""
        return f"{name}{offset} in {found.name}"
