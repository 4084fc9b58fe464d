# SPDX-License-Identifier: MIT
"""ELF files that code comes from: the functions in them, and their lines.

Symbols are those of .symtab and .dynsym, of the file itself or of its debug file, which is looked
for by the build-id under /usr/lib/debug. Addresses here are the file's own (as nm shows them).
"""

from __future__ import annotations

import bisect
import os
import struct
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from elftools.elf.elffile import ELFFile

from pirn_tools import files
from pirn_tools.allowance import Allowance
from pirn_tools.damage import KINDS as DAMAGE
from pirn_tools.damage import said
from pirn_tools.limits import MIB, LimitError
from pirn_tools.prof.inlines import Inlined, Inlines
from pirn_tools.prof.lines import Lines, Place
from pirn_tools.prof.read import printable

DEBUG = Path("/usr/lib/debug/.build-id")
NOTYPE, FUNCTION, INDIRECT = 0, 2, 10  # types of symbols
LOCAL, GLOBAL, WEAK = 0, 1, 2
EXECUTABLE = 4  # flag of a section
SECONDS, MEMORY = 1.5, 192 * MIB  # for one file, and more for what it has on the disk:
SECONDS_PER_MIB, MEMORY_PER_MIB = 1.0, 32 * MIB
LARGEST_SHARE = 1 << 10  # MiB
Result = TypeVar("Result")


class Symbol(NamedTuple):
    """A function: from start to before end."""

    start: int
    end: int
    name: str


class ObjectFile:
    """One file. Where it cannot be read, `problem` says why, and it has neither names nor lines."""

    def __init__(self, path: str, remarks: list[str] | None = None) -> None:
        """What takes too long later on is said in the remarks."""
        self.path = path
        self.name = printable(Path(path).name) if path.startswith("/") else printable(path)
        self.problem = ""
        self.build_id = ""
        self.modified_ns = 0
        self._remarks = remarks if remarks is not None else []
        self._elf: ELFFile | None = None
        self._segments: list[tuple[int, int, int, bool]] = []  # offset, size, address, executable
        self._allowance = Allowance(SECONDS, MEMORY)
        if path.startswith("["):
            self.problem = "is no file"
            return
        try:
            self._open()
        except files.RefusedError as error:
            self.problem = str(error.strerror)
        except OSError as error:
            self.problem = f"cannot be read: {error.strerror}"
        except ValueError:
            self.problem = "is no path"

    def _open(self) -> None:
        fd = files.open_ordinary(self.path)
        found = os.fstat(fd)
        self.modified_ns = found.st_mtime_ns
        stream = files.contents(fd)
        # By its blocks: a file with nothing in it may be as long as it likes.
        share = min(found.st_blocks * 512, found.st_size, LARGEST_SHARE * MIB) / MIB
        self._allowance = Allowance(
            SECONDS + share * SECONDS_PER_MIB, MEMORY + int(share * MEMORY_PER_MIB)
        )
        try:
            with self._allowance.use(f"reading {self.name}"):
                self._elf = ELFFile(cast("Any", stream))
                self._read_segments()
                self.build_id = _build_id(self._elf)
        except LimitError as error:
            self._elf, self.problem = None, f"is damaged: {error.message}"
        except DAMAGE as error:
            self.problem = f"is damaged, or no ELF file: {said(error)}"

    def _within(self, what: str, function: Callable[[], Result], otherwise: Result) -> Result:
        """Reads more of it; what takes too much, or is damaged, is not known."""
        try:
            with self._allowance.use(f"reading the {what} of {self.name}"):
                return function()
        except LimitError as error:
            if error.message not in self._remarks:
                self._remarks.append(f"{error.message}: they are not known")
            return otherwise
        except DAMAGE:
            return otherwise

    def _read_segments(self) -> None:
        for one in cast("Any", self._elf).iter_segments():
            if one["p_type"] == "PT_LOAD":
                executable = bool(one["p_flags"] & 1)
                self._segments.append(
                    (one["p_offset"], one["p_filesz"], one["p_vaddr"], executable)
                )

    def address(self, offset: int) -> int | None:
        """The address of a byte of the file."""
        for begin, size, address, executable in self._segments:
            if executable and begin <= offset < begin + size:
                return address + offset - begin
        return None

    @property
    def code(self) -> tuple[int, int]:
        """Where its executable segments begin and end; 0, 0 if there are none."""
        spans = [(s[2], s[2] + s[1]) for s in self._segments if s[3]]
        if not spans:
            return 0, 0
        return min(s[0] for s in spans), max(s[1] for s in spans)

    @property
    def wide(self) -> bool:
        """Whether its addresses have 64 bits."""
        return self._elf is None or self._elf.elfclass == 64

    @property
    def big_endian(self) -> bool:
        return self._elf is not None and not self._elf.little_endian

    @cached_property
    def _debug(self) -> ELFFile | None:
        """Its debug file, if there is one."""
        if len(self.build_id) < 4:
            return None
        path = DEBUG / self.build_id[:2] / f"{self.build_id[2:]}.debug"
        try:
            return ELFFile(cast("Any", files.contents(files.open_ordinary(path))))
        except (OSError, *DAMAGE):
            return None

    def _files(self) -> Iterator[ELFFile]:
        for one in (self._elf, self._debug):
            if one is not None:
                yield one

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Its functions, in the order of their addresses; one name for each address."""
        return self._within("functions", self._read_symbols, [])

    def _read_symbols(self) -> list[Symbol]:
        best: dict[int, tuple[tuple[Any, ...], int, str]] = {}
        for elf in self._files():
            try:
                _collect(elf, best)
            except DAMAGE:
                continue
        starts = sorted(best)
        found = []
        for place, start in enumerate(starts):
            _, end, name = best[start]
            if end < 0:
                end = min([-end, *starts[place + 1 : place + 2]])
            found.append(Symbol(start, end, name))
        return found

    def stub(self, address: int) -> bool:
        """Whether it is in a table of jumps to other files' functions."""
        return any(first <= address < last for first, last in self._stubs)

    @cached_property
    def _stubs(self) -> list[tuple[int, int]]:
        def read() -> list[tuple[int, int]]:
            return [
                (one["sh_addr"], one["sh_addr"] + one["sh_size"])
                for one in (self._elf.iter_sections() if self._elf is not None else ())
                if one.name.startswith(".plt")
            ]

        return self._within("sections", read, [])

    @cached_property
    def _starts(self) -> list[int]:
        return [one.start for one in self.symbols]

    def symbol(self, address: int) -> Symbol | None:
        """The function that has the address in it."""
        place = bisect.bisect_right(self._starts, address) - 1
        # A function may have another one's symbol in it (written in assembly, or an alias).
        for one in self.symbols[max(0, place - 3) : place + 1][::-1]:
            if one.start <= address < one.end:
                return one
        return None

    @cached_property
    def lines(self) -> Lines | None:
        """None: it has no debug information."""
        return self._within("lines", self._read_lines, None)

    def _read_lines(self) -> Lines | None:
        for elf in self._files():
            try:
                if elf.has_dwarf_info(strict=True):
                    return Lines(elf.get_dwarf_info())
            except DAMAGE:
                continue
        return None

    def line(self, address: int) -> Place | None:
        lines = self.lines
        return self._within("lines", lambda: lines.at(address), None) if lines else None

    @cached_property
    def named(self) -> dict[str, Symbol]:
        """Its functions by their names as in the file; of several the last."""
        return {one.name: one for one in self.symbols}

    @cached_property
    def _inlines(self) -> Inlines | None:
        return Inlines(self.lines.dwarf) if self.lines is not None else None

    def inlined(self, address: int) -> list[Inlined]:
        """Functions that are inlined there, outermost first."""
        return self._within("inlined functions", lambda: self._read_inlined(address), [])

    def _read_inlined(self, address: int) -> list[Inlined]:
        unit = self.lines.unit(address) if self.lines is not None else None
        if unit is None or self._inlines is None:
            return []
        return self._inlines.at(unit, address)

    def span(self, low: int, high: int) -> list[Place]:
        """Lines of the instructions from low to before high."""
        lines = self.lines
        return self._within("lines", lambda: list(lines.within(low, high)), []) if lines else []


def _build_id(elf: ELFFile) -> str:
    section = cast("Any", elf.get_section_by_name(".note.gnu.build-id"))
    if section is None:
        return ""
    for note in section.iter_notes():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            return str(note["n_desc"])
    return ""


def _collect(elf: ELFFile, best: dict[int, tuple[tuple[Any, ...], int, str]]) -> None:
    """Adds a file's functions; of several names at an address the best is kept."""
    ends = {
        index: section["sh_addr"] + section["sh_size"]
        for index, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & EXECUTABLE
    }
    for table in (".symtab", ".dynsym"):
        for name, info, index, value, size in _table(elf, table):
            kind, binding = info & 15, info >> 4
            if value == 0 or kind not in (NOTYPE, FUNCTION, INDIRECT) or index not in ends:
                continue
            text = printable(name.decode("utf-8", "replace").split("@")[0])
            if not text or (kind == NOTYPE and text.startswith(("$", ".L"))):
                continue
            rank = (
                kind == NOTYPE,
                size == 0,
                (GLOBAL, WEAK, LOCAL).index(binding) if binding <= WEAK else 3,
                len(text) - len(text.lstrip("_")),
                text,
            )
            if value not in best or rank < best[value][0]:
                # Without a size it ends where the next one begins, in its section at most.
                best[value] = (rank, value + size if size else -ends[index], text)


def _table(elf: ELFFile, name: str) -> Iterator[tuple[bytes, int, int, int, int]]:
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
