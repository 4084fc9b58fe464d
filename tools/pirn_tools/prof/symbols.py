# SPDX-License-Identifier: MIT
"""Names for the addresses of a profile: functions, their files, source lines.

The profile's `map` lines lead from an address to a file and an offset in it; the file's segments
from there to the address that its symbols have. An address behind a call (a call site, a frame) is
looked up one byte before, in the call.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator

from pirn_tools.binary.demangle import plain_name
from pirn_tools.binary.elf import File, Files
from pirn_tools.binary.lines import Place
from pirn_tools.prof.read import Mapping, Profile
from pirn_tools.terminal import printable

SECOND_NS = 1_000_000_000


class Function:
    """One function; the same one is the same object.

    start and end are the file's addresses. Without a symbol it is all code of its file that has
    none, or, where its address was called, that address.
    """

    __slots__ = ("end", "file", "known", "name", "start")

    def __init__(self, name: str, file: File | None, start: int, end: int, known: bool) -> None:
        self.name = name
        self.file = file
        self.start, self.end = start, end
        self.known = known  # whether a symbol says its name

    @property
    def module(self) -> str:
        """The file's name without its folder."""
        return self.file.name if self.file is not None else ""

    def __repr__(self) -> str:
        return f"Function({self.name!r}, {self.module!r}, {self.start:#x})"


class Symbols:
    """For one profile. Files are read when an address in them is asked for."""

    def __init__(self, profile: Profile) -> None:
        self._maps = sorted(profile.maps)
        self._starts = [one.start for one in self._maps]
        self._files = Files(debug=True)
        self._checked: set[str] = set()
        self._functions: dict[tuple[str, int | str], Function] = {}
        self._inlined: dict[int, list[tuple[Function, int]]] = {}
        self._inside: dict[int, Function] = {}
        self._called: dict[int, Function] = {}
        self._memory: dict[int, int] = {}  # starts, by the ids of functions
        self._sites: dict[int, Place | None] = {}
        start_ns = profile.number("start_unix_ns")
        # Boards' hosts tell whole seconds only.
        unsure_ns = SECOND_NS - 1 if start_ns % SECOND_NS == 0 else 0
        self._written_ns = start_ns + unsure_ns + profile.number("elapsed_ns") if start_ns else 0
        self.profile = profile
        self._remarks: list[str] = []

    @property
    def remarks(self) -> list[str]:
        """Remarks: names that are not known, or may be wrong."""
        limits = [text for file in self._files.all() for text in file.allowance.limits]
        return [*self._remarks, *(f"{text}: they are not known" for text in limits)]

    def mapping(self, address: int) -> Mapping | None:
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._maps[place].end:
            return None
        return self._maps[place]

    def file(self, path: str) -> File:
        """The file of that name; says once what keeps its functions from having names."""
        found = self._files.get(path)
        if path not in self._checked:
            self._checked.add(path)
            if found.problem and not path.startswith("["):
                self._remarks.append(
                    f"{printable(path)} {found.problem}: its functions have no names"
                )
            elif self._written_ns and found.modified_ns > self._written_ns:
                self._remarks.append(
                    f"{printable(path)} is newer than the profile: names and lines may be wrong"
                )
        return found

    def locate(self, address: int) -> tuple[File, int] | None:
        """The file, and the address that the file itself gives to that byte."""
        mapping = self.mapping(address)
        if mapping is None:
            return None
        file = self.file(mapping.path)
        offset = address - mapping.start + mapping.offset
        found = file.address(offset)
        # Of a file that cannot be read the offset is all that is known.
        return file, offset if found is None else found

    def inside(self, address: int) -> Function:
        """The function that has this address in it."""
        if address not in self._inside:
            self._inside[address] = self._function(address, called=False)
        return self._inside[address]

    def called(self, address: int) -> Function:
        """The function that begins there."""
        if address not in self._called:
            self._called[address] = self._function(address, called=True)
        return self._called[address]

    def before(self, address: int) -> Function:
        """The function that has the call in it that ends there."""
        return self.inside(max(0, address - 1))

    def _function(self, address: int, called: bool) -> Function:
        found = self.locate(address)
        if found is None:
            name = f"{address:#x}" if called else "[unknown]"
            return self._intern("", address if called else 0, name, None, address, address + 1)
        file, place = found
        symbol = file.symbol(place)
        if symbol is not None:
            key: tuple[str, int | str] = (file.path, symbol.start)
            if key not in self._functions:
                name = plain_name(symbol.name)
                self._functions[key] = Function(name, file, symbol.start, symbol.end, known=True)
            return self._functions[key]
        if called:
            name = f"{file.name}+{place:#x}"
            return self._intern(file.path, place, name, file, place, place + 1)
        if file.stub(place):
            return self._intern(file.path, -2, f"[plt of {file.name}]", file, 0, 0)
        name = file.name if file.name.startswith("[") else f"[{file.name}]"
        return self._intern(file.path, -1, name, file, 0, 0)

    def _intern(
        self, path: str, key: int, name: str, file: File | None, start: int, end: int
    ) -> Function:
        where: tuple[str, int | str] = (path, key)
        if where not in self._functions:
            self._functions[where] = Function(name, file, start, end, known=False)
        return self._functions[where]

    def inlined(self, address: int) -> list[tuple[Function, int]]:
        """Functions that are inlined in the one there, outermost first, each with the line of the
        call in the one around it."""
        if address not in self._inlined:
            found = self.locate(address)
            file = found[0] if found is not None else None
            self._inlined[address] = [
                (self._inner(file, one.name), one.line)
                for one in (file.inlined(found[1]) if file is not None and found else ())
            ]
        return self._inlined[address]

    def _inner(self, file: File | None, name: str) -> Function:
        """The function of that name, the same one as its copy that is not inlined."""
        symbol = file.named.get(name) if file is not None else None
        path = file.path if file is not None else ""
        where: tuple[str, int | str] = (path, symbol.start if symbol is not None else name)
        if where not in self._functions:
            start, end = (symbol.start, symbol.end) if symbol is not None else (0, 0)
            words = printable(plain_name(name))
            self._functions[where] = Function(words, file, start, end, known=True)
        return self._functions[where]

    def start(self, function: Function) -> int:
        """Where the function is in memory; 0: not known."""
        if id(function) not in self._memory:
            self._memory[id(function)] = self._in_memory(function)
        return self._memory[id(function)]

    def _in_memory(self, function: Function) -> int:
        file = function.file
        if file is None:
            return function.start
        for one in self._maps:
            if one.path == file.path and function.end:
                found = file.address(one.offset)
                address = one.start + function.start - (one.offset if found is None else found)
                if one.start <= address < one.end:
                    return address
        return 0

    def data(self, address: int) -> str:
        """The name of the variable that has this address in it, `name+0x8` behind its beginning;
        empty: it has none, as memory of the heap and of stacks."""
        for file, bias in self._loaded():
            if address - bias < file.end:
                found = file.table.data.at(address - bias)
                if found is not None:
                    offset = address - bias - found.start
                    return plain_name(found.name) + (f"+{offset:#x}" if offset else "")
        return ""

    def _loaded(self) -> Iterator[tuple[File, int]]:
        """Files, and what their addresses in memory are more than their own."""
        for one in self._maps:
            file = self.file(one.path) if one.path.startswith("/") else None
            for part in file.segments if file is not None else ():
                inside = part.offset < one.offset + one.end - one.start
                if part.executable and inside and one.offset < part.offset + part.size:
                    assert file is not None  # noqa: S101, it has segments
                    yield file, one.start - one.offset - part.address + part.offset
                    break

    def line(self, address: int) -> Place | None:
        """The line of the instruction at that address."""
        if address not in self._sites:
            found = self.locate(address)
            self._sites[address] = found[0].line(found[1]) if found is not None else None
        return self._sites[address]

    def site(self, address: int) -> str:
        """Where a call that ends there stands, for people: `file.c:12`, as much as is known."""
        if address == 0:
            return "-"
        place = self.line(address - 1)
        if place is not None:
            return f"{place.file.rpartition('/')[2]}:{place.line}"
        return self.offset(address)

    def offset(self, address: int) -> str:
        """`function+0x12`, `file+0x1234`, or the address."""
        found = self.locate(address)
        if found is None:
            return f"{address:#x}"
        file, value = found
        function = self.before(address)
        if function.known:
            return f"{function.name}+{value - function.start:#x}"
        return f"{file.name}+{value:#x}"


def finder(names: tuple[str, ...]) -> Callable[[Function], bool]:
    """Whether a function is one of these: its name, with parameters or without."""
    wanted = frozenset(names)

    def found(function: Function) -> bool:
        return function.name in wanted or function.name.partition("(")[0] in wanted

    return found
