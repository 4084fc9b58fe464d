# SPDX-License-Identifier: MIT
"""The one loader of ELF files: all tools open programs, libraries and debug files here.

1. A file is opened through files.py: ordinary files only, up to 4 GiB.
2. Everything that is read of it is read within an Allowance of CPU time and memory: its own, which
   grows with the file, or one that several files share.
3. A part that is damaged, or takes too much, is not known: no method raises because of the
   file's contents. `error` says why nothing is known of a file; the allowance names other gaps.

Symbols are those of .symtab and .dynsym, of the file itself and, if asked for, of its debug file,
which is looked for by the build-id under /usr/lib/debug. Addresses are the file's own (as nm shows
them).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from pirn_tools import files
from pirn_tools.allowance import Allowance
from pirn_tools.binary.inlines import Inlined, Inlines
from pirn_tools.binary.lines import Lines, Place
from pirn_tools.binary.symbols import Symbol, Table
from pirn_tools.damage import KINDS as DAMAGE
from pirn_tools.damage import said
from pirn_tools.limits import MIB, LimitError
from pirn_tools.terminal import printable

MAGIC = b"\x7fELF"
DEBUG = Path("/usr/lib/debug/.build-id")
SECONDS, MEMORY = 1.5, 192 * MIB  # for one file, and more for what it has on the disk:
SECONDS_PER_MIB, MEMORY_PER_MIB = 1.0, 32 * MIB
LARGEST_SHARE = 1 << 10  # MiB
Result = TypeVar("Result")
Opener = Callable[[], int]


class NotElfError(ELFError):
    """The file begins like something else."""


class Segment(NamedTuple):
    """A part of the file that is loaded."""

    offset: int
    size: int
    address: int
    executable: bool


class Links(NamedTuple):
    """The libraries that it asks the dynamic linker for."""

    dynamic: bool
    needed: tuple[str, ...]
    search: tuple[str, ...]  # RPATH and RUNPATH, as they are written


class File:
    """One file. Where it cannot be read, `problem` says why, and it has neither names nor lines."""

    machine = ""  # as pyelftools names it: EM_X86_64
    kind = ""  # ET_DYN, ET_EXEC
    bits = 64
    big_endian = False
    build_id = ""
    modified_ns = 0
    interpreter = ""  # the dynamic linker that it asks for; empty: static
    dynamic = False  # it has a dynamic segment; of those without an interpreter: static-pie

    def __init__(
        self,
        path: str,
        opener: Opener | None = None,
        allowance: Allowance | None = None,
        *,
        debug: bool = False,
    ) -> None:
        """opener: gives the descriptor; allowance: shared; debug: its debug file is used."""
        self.path = path
        self.name = printable(Path(path).name) if path.startswith("/") else printable(path)
        self.segments: list[Segment] = []
        self.end = 0  # of its memory, data without bytes in the file included
        self.error: Exception | None = None
        self._elf: ELFFile | None = None
        self._use_debug = debug
        self.allowance = allowance or Allowance(SECONDS, MEMORY)
        if opener is None and path.startswith("["):  # what profiles call code of no file
            return
        try:
            fd = (opener or (lambda: files.open_ordinary(path)))()
        except (OSError, ValueError) as error:
            self.error = error
            return
        self._open(fd, own=allowance is None)

    def _open(self, fd: int, own: bool) -> None:
        found = os.fstat(fd)
        self.modified_ns = found.st_mtime_ns
        if own:
            # By its blocks: a file with nothing in it may be as long as it likes.
            share = min(found.st_blocks * 512, found.st_size, LARGEST_SHARE * MIB) / MIB
            self.allowance = Allowance(
                SECONDS + share * SECONDS_PER_MIB, MEMORY + int(share * MEMORY_PER_MIB)
            )
        try:
            stream = files.contents(fd)
            with self.allowance.use(f"reading {self.name}"):
                if stream.read(4) != MAGIC:
                    raise NotElfError("Magic number does not match")
                elf = ELFFile(cast("Any", stream))
                self._read_head(elf)
            self._elf = elf
        except (LimitError, OSError, *DAMAGE) as error:
            self.error = error

    def _read_head(self, elf: ELFFile) -> None:
        self.machine, self.kind = str(elf["e_machine"]), str(elf["e_type"])
        self.bits, self.big_endian = elf.elfclass, not elf.little_endian
        segments = list(elf.iter_segments())
        loaded = [one for one in segments if one["p_type"] == "PT_LOAD"]
        self.dynamic = any(one["p_type"] == "PT_DYNAMIC" for one in segments)
        asked = [one for one in segments if one["p_type"] == "PT_INTERP"]
        self.interpreter = printable(cast("Any", asked[0]).get_interp_name()) if asked else ""
        self.segments = [
            Segment(one["p_offset"], one["p_filesz"], one["p_vaddr"], bool(one["p_flags"] & 1))
            for one in loaded
        ]
        self.end = max((one["p_vaddr"] + one["p_memsz"] for one in loaded), default=0)
        self.build_id = _build_id(elf)

    @property
    def problem(self) -> str:
        """Why nothing is known of it, behind its name; empty: it is an ELF file."""
        if self.error is None:
            return "is no file" if self.path.startswith("[") else ""
        if isinstance(self.error, files.RefusedError):
            return str(self.error.strerror)
        if isinstance(self.error, OSError):
            return f"cannot be read: {self.error.strerror}"
        if isinstance(self.error, LimitError):
            return f"is damaged: {self.error.message}"
        return f"is damaged, or no ELF file: {said(self.error)}"

    def _read(self, what: str, function: Callable[[ELFFile], Result], otherwise: Result) -> Result:
        """A part of it; `otherwise` if that is damaged, or takes too much."""
        elf = self._elf
        if elf is None:
            return otherwise
        found = self.allowance.call(self.name, what, lambda: function(elf))
        return otherwise if found is None else found

    def address(self, offset: int) -> int | None:
        """The address of a byte of the file."""
        for one in self.segments:
            if one.executable and one.offset <= offset < one.offset + one.size:
                return one.address + offset - one.offset
        return None

    @property
    def code(self) -> tuple[int, int]:
        """Where its executable segments begin and end; 0, 0 if there are none."""
        spans = [(s.address, s.address + s.size) for s in self.segments if s.executable]
        if not spans:
            return 0, 0
        return min(s[0] for s in spans), max(s[1] for s in spans)

    @cached_property
    def _debug(self) -> ELFFile | None:
        """Its debug file, if there is one."""
        if not self._use_debug or len(self.build_id) < 4:
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
    def table(self) -> Table:
        """All its symbols."""
        return self._read("symbols", self._read_table, Table())

    def _read_table(self, _: ELFFile) -> Table:
        table = Table()
        for elf in self._files():
            try:
                table.add(elf)
            except DAMAGE as error:
                self.allowance.failed(self.name, "symbols", error)
        table.finish()
        return table

    @property
    def symbols(self) -> list[Symbol]:
        """Its functions, in the order of their addresses; one name for each address."""
        return self.table.functions.all

    def symbol(self, address: int) -> Symbol | None:
        """The function that has the address in it."""
        return self.table.functions.at(address)

    @cached_property
    def named(self) -> dict[str, Symbol]:
        """Its functions by their names as in the file; of several the last."""
        return {one.name: one for one in self.symbols}

    @cached_property
    def links(self) -> Links:
        """The libraries that it asks the dynamic linker for."""
        return self._read("dynamic section", _links, Links(False, (), ()))

    def stub(self, address: int) -> bool:
        """Whether it is in a table of jumps to other files' functions."""
        return any(first <= address < last for first, last in self._stubs)

    @cached_property
    def _stubs(self) -> list[tuple[int, int]]:
        return self._read("sections", _stubs, [])

    @cached_property
    def lines(self) -> Lines | None:
        """None: it has no debug information."""
        return self._read("lines", self._read_lines, None)

    def _read_lines(self, _: ELFFile) -> Lines | None:
        for elf in self._files():
            try:
                if elf.has_dwarf_info(strict=True):
                    return Lines(elf.get_dwarf_info())
            except DAMAGE:
                continue
        return None

    def line(self, address: int) -> Place | None:
        """The line that the instruction comes from, of whichever function."""
        lines = self.lines
        return self._read("lines", lambda _: lines.at(address), None) if lines else None

    def own_line(self, address: int) -> Place | None:
        """The line in the function that has a symbol; of inlined code the line of its call."""
        inlined = self.inlined(address)
        if inlined and inlined[0].call.line:
            return inlined[0].call
        return self.line(address)

    def span(self, low: int, high: int) -> list[Place]:
        """Lines of the instructions from low to before high."""
        lines = self.lines
        return self._read("lines", lambda _: list(lines.within(low, high)), []) if lines else []

    @cached_property
    def _inlines(self) -> Inlines | None:
        return Inlines(self.lines) if self.lines is not None else None

    def inlined(self, address: int) -> list[Inlined]:
        """Functions that are inlined there, outermost first."""
        inlines = self._inlines
        if inlines is None:
            return []
        return self._read("inlined functions", lambda _: inlines.at(address), [])

    def part(self, what: str, function: Callable[[ELFFile], Result]) -> Result | None:
        """Another part of it, in words and for a function; None: damaged, or too much."""
        return self._read(what, function, None)


class Files:
    """The files of one run of a command: each is opened once, and what is read of it is kept."""

    def __init__(self, allowance: Allowance | None = None, *, debug: bool = False) -> None:
        """allowance: one for all of them; else each has its own."""
        self.allowance, self._debug = allowance, debug
        self._known: dict[object, File] = {}

    def get(self, path: str, opener: Opener | None = None, key: object = None) -> File:
        """The file of that path. key: what tells it from others, if that is not the path."""
        key = path if key is None else key
        if key not in self._known:
            self._known[key] = File(path, opener, self.allowance, debug=self._debug)
        return self._known[key]

    def all(self) -> Iterator[File]:
        """Those that were asked for."""
        return iter(self._known.values())


def _build_id(elf: ELFFile) -> str:
    section = cast("Any", elf.get_section_by_name(".note.gnu.build-id"))
    if section is None:
        return ""
    for note in section.iter_notes():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            return str(note["n_desc"])
    return ""


def _stubs(elf: ELFFile) -> list[tuple[int, int]]:
    return [
        (one["sh_addr"], one["sh_addr"] + one["sh_size"])
        for one in elf.iter_sections()
        if one.name.startswith(".plt")
    ]


def _links(elf: ELFFile) -> Links:
    needed: list[str] = []
    search: list[str] = []
    dynamic = False
    # By segments, as the dynamic linker does: sections may have been stripped.
    for segment in elf.iter_segments():
        if not isinstance(segment, DynamicSegment):
            continue
        dynamic = True
        for tag in cast("Iterator[Any]", segment.iter_tags()):
            if tag.entry.d_tag == "DT_NEEDED":
                needed.append(tag.needed)
            elif tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                search.append(tag.rpath if tag.entry.d_tag == "DT_RPATH" else tag.runpath)
    return Links(dynamic, tuple(needed), tuple(search))
