# SPDX-License-Identifier: MIT
"""Functions that the compiler has put into others, from a file's DWARF.

Every entry of a unit has to be looked at to find them, which takes a while: they are asked for
only by --inlines, and only in units that samples are in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry

TAG = "DW_TAG_inlined_subroutine"
SCOPES = ("DW_TAG_subprogram", "DW_TAG_lexical_block", TAG)
FURTHEST = 8  # entries that refer to each other for a name


class Inlined(NamedTuple):
    """A function in another one: as its symbol would be called, and the line that calls it."""

    name: str
    line: int


class Span(NamedTuple):
    """Code of an inlined function; deeper ones are in the ones above."""

    low: int
    high: int
    depth: int
    inlined: Inlined


class Inlines:
    """Of one file."""

    def __init__(self, dwarf: DWARFInfo) -> None:
        self._dwarf = dwarf
        self._ranges: Any = dwarf.range_lists()
        self._units: dict[int, list[Span]] = {}

    def at(self, unit: int, address: int) -> list[Inlined]:
        """Those whose code it is, outermost first; unit: its offset."""
        if unit not in self._units:
            self._units[unit] = self._read(self._dwarf.get_CU_at(unit))
        found = [one for one in self._units[unit] if one.low <= address < one.high]
        return [one.inlined for one in sorted(found, key=lambda one: one.depth)]

    def _read(self, unit: CompileUnit) -> list[Span]:
        spans: list[Span] = []
        waiting = [(unit.get_top_DIE(), 0)]
        while waiting:
            entry, depth = waiting.pop()
            if entry.tag == TAG:
                inlined = Inlined(_name(entry), _number(entry, "DW_AT_call_line"))
                spans += [Span(low, high, depth, inlined) for low, high in self._code(unit, entry)]
                depth += 1
            below = entry.iter_children() if entry.has_children else ()
            waiting += [
                (one, depth)
                for one in below
                if one.tag in SCOPES or one.tag in ("DW_TAG_namespace", "DW_TAG_class_type")
            ]
        return spans

    def _code(self, unit: CompileUnit, entry: DIE) -> list[tuple[int, int]]:
        attributes = entry.attributes
        if "DW_AT_ranges" in attributes:
            return self._listed(unit, attributes["DW_AT_ranges"].value)
        if "DW_AT_low_pc" not in attributes or "DW_AT_high_pc" not in attributes:
            return []
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return [(low, high.value if high.form == "DW_FORM_addr" else low + high.value)]

    def _listed(self, unit: CompileUnit, offset: int) -> list[tuple[int, int]]:
        base = _number(unit.get_top_DIE(), "DW_AT_low_pc")
        found = []
        for one in self._ranges.get_range_list_at_offset(offset, cu=unit):
            if isinstance(one, BaseAddressEntry):
                base = one.base_address
            else:
                start = 0 if one.is_absolute else base
                found.append((start + one.begin_offset, start + one.end_offset))
        return found


def _number(entry: DIE, name: str) -> int:
    value = entry.attributes[name].value if name in entry.attributes else 0
    return value if isinstance(value, int) else 0


def _name(entry: DIE) -> str:
    """Of the function that the entry is a copy of."""
    for _ in range(FURTHEST):
        for name in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name", "DW_AT_name"):
            if name in entry.attributes:
                return str(entry.attributes[name].value.decode("utf-8", "replace"))
        for name in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if name in entry.attributes:
                entry = entry.get_DIE_from_attribute(name)
                break
        else:
            break
    return "?"
