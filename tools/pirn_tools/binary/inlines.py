# SPDX-License-Identifier: MIT
"""Functions that the compiler has put into others, from a file's DWARF.

The entries of a function have to be looked at one by one to find them, which takes a while: only
functions that are asked for are read.
"""

from __future__ import annotations

from typing import NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE

from pirn_tools.binary.lines import Lines, Place, code_of, number

TAG = "DW_TAG_inlined_subroutine"
FUNCTION = "DW_TAG_subprogram"
AROUND = ("DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type")
SCOPES = (FUNCTION, "DW_TAG_lexical_block", TAG)
FURTHEST = 8  # entries that refer to each other for a name


class Inlined(NamedTuple):
    """A function in another one: as its symbol would be called, and the line that calls it."""

    name: str
    call: Place

    @property
    def line(self) -> int:
        """The number of that line."""
        return self.call.line


class Span(NamedTuple):
    """Code of an inlined function; deeper ones are in the ones above."""

    low: int
    high: int
    depth: int
    inlined: Inlined


class Function(NamedTuple):
    """Code of a function that is not inlined."""

    low: int
    high: int
    entry: DIE


class Inlines:
    """Of one file."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._dwarf = lines, lines.dwarf
        self._functions: dict[int, list[Function]] = {}  # by the offset of the unit
        self._spans: dict[int, list[Span]] = {}  # by the offset of the function's entry

    def at(self, address: int) -> list[Inlined]:
        """Those whose code it is, outermost first."""
        found = self._lines.unit(address)
        if found is None:
            return []
        offset, files = found
        unit = self._dwarf.get_CU_at(offset)
        if offset not in self._functions:
            self._functions[offset] = self._read_functions(unit)
        spans: list[Span] = []
        for function in self._functions[offset]:
            if function.low <= address < function.high:
                spans += self._of(function, unit, files)
        inside = [one for one in spans if one.low <= address < one.high]
        return [one.inlined for one in sorted(inside, key=lambda one: one.depth)]

    def _read_functions(self, unit: CompileUnit) -> list[Function]:
        found: list[Function] = []
        waiting = [unit.get_top_DIE()]
        while waiting:
            for entry in waiting.pop().iter_children():
                if entry.tag == FUNCTION:
                    code = code_of(self._dwarf, unit, entry)
                    found += [Function(low, high, entry) for low, high in code]
                elif entry.tag in AROUND and entry.has_children:
                    waiting.append(entry)
        return found

    def _of(self, function: Function, unit: CompileUnit, files: list[str]) -> list[Span]:
        key = function.entry.offset
        if key not in self._spans:
            self._spans[key] = self._read(unit, function.entry, files)
        return self._spans[key]

    def _read(self, unit: CompileUnit, top: DIE, files: list[str]) -> list[Span]:
        spans: list[Span] = []
        waiting = [(top, 0)]
        while waiting:
            entry, depth = waiting.pop()
            if entry.tag == TAG:
                inlined = Inlined(_name(entry), _call(entry, files))
                code = code_of(self._dwarf, unit, entry)
                spans += [Span(low, high, depth, inlined) for low, high in code]
                depth += 1
            below = entry.iter_children() if entry.has_children else ()
            waiting += [(one, depth) for one in below if one.tag in SCOPES]
        return spans


def _call(entry: DIE, files: list[str]) -> Place:
    file = number(entry, "DW_AT_call_file")
    name = files[file] if 0 <= file < len(files) else "?"
    return Place(name, number(entry, "DW_AT_call_line"))


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
